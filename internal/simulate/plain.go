package simulate

import (
	"time"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// Plain states the core's own delays anew, to try many of them and changes that the core does not have: it is much faster
// than the core and leaves out the final look and the catch-up.
type Plain struct {
	Base, Max, Min time.Duration
	// Expects is the core's pace of a schedule that knows how long such jobs take; nil: nothing is known.
	Expects *wire.Pace
	// CutJitter lets the minimum cut the jitter off, as it did in waits that began before it was drawn above the minimum.
	CutJitter bool
	// FirstSpread is how much of the first Retry-After in a row is added to it at most; later ones get a tenth, as now.
	FirstSpread float64
}

// Delays states the pauses.
func (p Plain) Delays() Delays {
	pause := func(at At) time.Duration { return max(p.aboveMinimum(at), p.Min, time.Second) }
	return Delays{
		First: p.jittered, // nothing was sent yet that it could come too soon after
		Pause: pause,
		Heeds: func(at At, asked time.Duration) time.Duration { return max(pause(at), asked+p.spread(at, asked)) },
	}
}

func (p Plain) raw(at At) time.Duration {
	raw := p.Base
	for n := 0; n < at.Requests && raw < p.Max; n++ {
		raw *= 2
	}
	raw = min(raw, p.Max)
	if p.Expects != nil {
		raw = max(raw, operation.ExpectedDelay(*p.Expects, at.Age))
	}
	return raw
}

func (p Plain) jittered(at At) time.Duration {
	raw := p.raw(at)
	return raw/2 + time.Duration(at.Draw()*float64(raw-raw/2))
}

func (p Plain) aboveMinimum(at At) time.Duration {
	raw, least := p.raw(at), max(p.Min, time.Second)
	if p.CutJitter || raw >= 2*least {
		return p.jittered(at)
	}
	most := 2 * least
	if p.Max > least {
		most = min(most, p.Max)
	}
	return least + time.Duration(at.Draw()*float64(max(raw, most)-least))
}

func (p Plain) spread(at At, asked time.Duration) time.Duration {
	width := min(asked/10, 10*time.Second)
	if at.Asked == 0 && p.FirstSpread > 0 {
		width = time.Duration(p.FirstSpread * float64(asked))
	}
	return time.Duration(at.Draw() * float64(width))
}
