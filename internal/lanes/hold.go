package lanes

import (
	"time"

	"github.com/jobwait/jobwait/wire"
)

const (
	// firstHold and longestHold bound what a 429 without Retry-After holds back.
	firstHold   = 5 * time.Second
	longestHold = time.Minute
	// probeTime is how long the others wait for what a probe is answered.
	probeTime = 30 * time.Second
	// maxHeeding bounds how many waits are remembered that heed an answer by themselves.
	maxHeeding = 10_000
)

// hold is the time for which the provider is left alone.
type hold struct {
	until time.Time
	// asked is what the provider said, which may be later.
	asked time.Time
	// named says that it did; after a 429 without guidance, asked is ours.
	named bool
	cause wire.HoldCause
	// learned is when the answer came that the hold is of.
	learned time.Time
	// strikes counts the 429 without guidance that followed each other.
	strikes int
	// capped says that the provider asked for more than the hold is long: what follows it is one request, the probe, and the
	// others wait for its answer until then.
	capped bool
	probe  time.Time
	// pace is how many requests came in the minute before.
	pace int
	// heeding are the waits whose own answers asked for the hold.
	heeding map[string]struct{}
}

// heeded reports, once, whether a wait has obeyed its own answer.
func (h *hold) heeded(wait string) bool {
	_, ok := h.heeding[wait]
	delete(h.heeding, wait)
	return ok
}

// Kind is what a request was answered with, as far as a lane is concerned.
type Kind int

// The kinds of answers.
const (
	// NotSent: it did not leave.
	NotSent Kind = iota
	// Lost: nobody knows.
	Lost
	// Answered: by anything but the next two.
	Answered
	// Limited: 429.
	Limited
	// Down: 503 with a Retry-After.
	Down
)

// Answer is what came of a request that went.
type Answer struct {
	Kind Kind
	// Went is when the lane let the request go.
	Went time.Time
	// RetryAfter is what the answer asked for; 0: nothing.
	RetryAfter time.Duration
	// Least is the provider's least time between two requests; 0: not known.
	Least time.Duration
	Probe bool
	Wait  string
}

// Done takes in what came of a request. It reports whether a hold began or became longer.
func (l *Lane) Done(now time.Time, a Answer) (held bool) {
	l.underWay = max(l.underWay-1, 0)
	if a.Kind != NotSent && a.Kind != Lost {
		l.takes += (now.Sub(a.Went) - l.takes) / 8
	}
	if a.Probe {
		l.hold.probe = time.Time{}
	}
	switch a.Kind {
	case Limited, Down:
		return l.throttled(now, a)
	case Answered:
		l.well(a)
	case NotSent, Lost:
	}
	return false
}

// well ends what a hold left behind, if the request left after the hold was known.
func (l *Lane) well(a Answer) {
	if a.Went.After(l.hold.learned) {
		l.hold.strikes, l.hold.capped = 0, false
	}
}

func (l *Lane) throttled(now time.Time, a Answer) (held bool) {
	if l.limits.MaxHold == 0 {
		return false
	}
	asked, cause := a.RetryAfter, wire.HoldUnavailable
	if a.Kind == Limited {
		cause = wire.HoldRateLimited
	}
	if asked == 0 {
		asked = l.unguided(a)
	}
	l.hold.remember(a.Wait)
	until := now.Add(min(asked, l.limits.MaxHold))
	if !until.After(l.hold.until) {
		return false // an older answer shortens nothing
	}
	if !now.Before(l.hold.until) {
		l.hold.pace, l.hold.heeding = l.asked.sum(now), map[string]struct{}{a.Wait: {}}
	}
	l.hold.until, l.hold.asked, l.hold.cause, l.hold.learned = until, now.Add(asked), cause, now
	l.hold.named = a.RetryAfter > 0
	l.hold.capped, l.hold.probe = asked > l.limits.MaxHold, time.Time{}
	l.tail = latest(l.tail, until)
	return true
}

// unguided is how long a 429 without Retry-After holds: twice as long after each further one. One that left before the last
// was known is not a further one.
func (l *Lane) unguided(a Answer) time.Duration {
	first := firstHold
	if a.Least > 0 {
		first = a.Least
	}
	if a.Went.After(l.hold.learned) {
		l.hold.strikes++
	}
	asked := first
	for range l.hold.strikes - 1 {
		if asked >= longestHold {
			break
		}
		asked *= 2
	}
	return min(asked, max(longestHold, first))
}

func (h *hold) remember(wait string) {
	if h.heeding != nil && len(h.heeding) < maxHeeding {
		h.heeding[wait] = struct{}{}
	}
}

// minute counts what happened in the last sixty seconds.
type minute struct {
	counts [60]int
	last   int64 // the second, since the epoch, that was counted last
}

func (m *minute) add(now time.Time) {
	m.forget(now)
	m.counts[m.last%60]++
}

func (m *minute) sum(now time.Time) (n int) {
	m.forget(now)
	for _, count := range m.counts {
		n += count
	}
	return n
}

func (m *minute) forget(now time.Time) {
	second := max(now.Unix(), m.last) // a wall clock that was set back stands still here
	for range min(second-m.last, 60) {
		m.last++
		m.counts[m.last%60] = 0
	}
	m.last = second
}
