package simulate

import "time"

// Plain states the core's own backoff anew, to try changes of it that the core does not have: it is much faster than the
// core and leaves out the final look and the catch-up.
type Plain struct {
	Base, Max, Min time.Duration
	// JitteredMinimum raises the raw delay to twice Min, so that the lower half of the jitter is not cut off.
	JitteredMinimum bool
	// FirstSpread is how much of the first Retry-After in a row is added to it at most; later ones get a tenth, as now.
	FirstSpread float64
}

// Delays states the pauses.
func (p Plain) Delays() Delays {
	pause := func(at At) time.Duration { return max(p.jittered(at), p.Min, time.Second) }
	return Delays{
		First: p.jittered, // nothing was sent yet that it could come too soon after
		Pause: pause,
		Heeds: func(at At, asked time.Duration) time.Duration { return max(pause(at), asked+p.spread(at, asked)) },
	}
}

func (p Plain) jittered(at At) time.Duration {
	raw := p.Base
	for n := 0; n < at.Requests && raw < p.Max; n++ {
		raw *= 2
	}
	raw = min(raw, p.Max)
	if p.JitteredMinimum {
		raw = max(raw, 2*p.Min)
	}
	return raw/2 + time.Duration(at.Draw()*float64(raw-raw/2))
}

func (p Plain) spread(at At, asked time.Duration) time.Duration {
	width := min(asked/10, 10*time.Second)
	if at.Asked == 0 && p.FirstSpread > 0 {
		width = time.Duration(p.FirstSpread * float64(asked))
	}
	return time.Duration(at.Draw() * float64(width))
}
