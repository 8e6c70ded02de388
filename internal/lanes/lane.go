// Package lanes decides when a request may leave for one origin with one credential, where many waits share them. Time
// arrives as a value and nothing is drawn at random, so that a fleet can be simulated by the code that a worker runs.
//
// A request asks before it is sent. It goes, or waits for a moment and asks again, or comes back at a time that the verdict
// names, with a ticket that gives it its place. What others were answered is what holds it back: a lane is told of answers,
// and keeps requests away for as long as the provider wants to be left alone.
package lanes

import (
	"time"

	"github.com/jobwait/jobwait/wire"
)

// longestSleep is how long a request may wait where it is, in all; what takes longer comes back. A request that comes back
// comes that much early, because who keeps its time may be that much late.
const longestSleep = time.Second

// leastBack is the shortest time after which a request comes back.
const leastBack = 100 * time.Millisecond

// longestBack is how long after the end of a hold a request with a place far down the queue looks whether the queue has
// become shorter.
const longestBack = time.Minute

// Limits bound one lane.
type Limits struct {
	// Rate is how many requests may leave in a second; 0: as many as come.
	Rate float64
	// Concurrent is how many may be under way at once; 0: any number.
	Concurrent int
	// MaxHold is how long one answer may keep the others back; 0: no answer does.
	MaxHold time.Duration
}

// Ticket is what a request that was held back brings along. The zero ticket is that of a request that comes for the first
// time.
type Ticket struct {
	// Slot is when it may leave.
	Slot time.Time
	// NotBefore is the end of the hold that it was held back by, which no lane shortens: who gets it early, as a process that
	// was not there, knows of the hold by this alone. Zero: by none. Held is the cause of that hold.
	NotBefore time.Time
	Held      wire.HoldCause
	// Times is how often it was held back.
	Times int
}

func (t Ticket) none() bool { return t.Slot.IsZero() }

// late reports that the slot is gone. A place in the queue stands for a moment; after an outage nobody may rely on it, or
// all would leave at once. Who is late again and again is given more time, so that a slow clock cannot send it around for
// ever.
func (t Ticket) late(now time.Time) bool {
	return !t.none() && now.Sub(t.Slot) > 2*time.Duration(max(t.Times, 1))*time.Second
}

// Request asks to leave.
type Request struct {
	Ticket Ticket
	// Slept is how long it has waited where it is.
	Slept time.Duration
	// By is when it has to have left; zero: any time will do.
	By time.Time
	// Wait names the wait that it is of.
	Wait string
	// Exempt requests go at once, and count.
	Exempt bool
}

// Verdict says what a request does.
type Verdict struct {
	Do Action
	// For is how long to sleep, or how long to stay away.
	For time.Duration
	// Ticket is what to ask with the next time.
	Ticket Ticket
	Cause  wire.HoldCause
	// Until is when it may leave. With Refuse it is the time that the provider asked for or that the limits lead to, which is not
	// before the request's By.
	Until time.Time
	// Named says, of a Refuse, that Until is the provider's own word.
	Named bool
	// Probe says that the request which goes is the one that finds out whether a hold is over.
	Probe bool
}

// Action is what a request does.
type Action int

// The actions.
const (
	// Go sends it; Done is told what came of it.
	Go Action = iota
	// Sleep waits where it is, for a second at most over all, and asks again.
	Sleep
	// Back gives up its place and comes back.
	Back
	// Refuse gives it up: it cannot leave in time.
	Refuse
)

// Lane is the way to one origin with one credential. It is not safe for concurrent use.
type Lane struct {
	limits Limits
	asked  minute
	hold   hold
	// tail is where the queue ends: the first slot that nobody has.
	tail time.Time
	// free is when the next request could leave if all that have left had kept the rate, however they came to their slots.
	free     time.Time
	left     time.Time
	underWay int
	// takes is how long an answer takes, on average.
	takes time.Duration
}

// New makes a lane on which nothing has happened yet.
func New(limits Limits) *Lane { return &Lane{limits: limits, takes: longestSleep / 4} }

// Ask decides on one request.
func (l *Lane) Ask(now time.Time, r Request) Verdict {
	late := r.Ticket.late(now)
	if r.Ticket.none() || late {
		l.asked.add(now)
	}
	switch {
	case r.Exempt:
		return l.leave(now)
	case now.Before(l.hold.until) && r.Ticket.Slot.Before(l.hold.until):
		r.Ticket.NotBefore, r.Ticket.Held = l.hold.until, l.hold.cause
		return l.queue(now, r, l.hold.until, l.hold.cause)
	case !r.Ticket.none() && !late:
		return l.atSlot(now, r)
	case late || l.mustQueue(now, r.Wait):
		return l.queue(now, r, now, l.queueCause())
	default:
		r.Ticket.Slot = now
		return l.atSlot(now, r)
	}
}

// mustQueue reports whether a newcomer finds others before it. One that heeded the provider by itself is let through: its
// wait has stayed away for as long as the others.
func (l *Lane) mustQueue(now time.Time, wait string) bool {
	l.forgetPhantoms(now)
	if l.limits.Rate > 0 {
		return true // takes a slot, which is now where nobody queues
	}
	return l.tail.After(now) && !l.hold.heeded(wait)
}

// forgetPhantoms shortens a queue that nobody stands in any more: its slots pass and nobody uses them.
func (l *Lane) forgetPhantoms(now time.Time) {
	quiet := max(5*time.Second, 3*l.spacing(now))
	full := l.limits.Concurrent > 0 && l.underWay >= l.limits.Concurrent
	if now.Sub(l.left) > quiet && now.Sub(l.hold.until) > quiet && !full {
		l.tail = time.Time{}
	}
}

func (l *Lane) queueCause() wire.HoldCause {
	if l.limits.Rate > 0 {
		return wire.HoldRate
	}
	return wire.HoldQueue
}

// queue gives a request the next slot from a time on.
func (l *Lane) queue(now time.Time, r Request, from time.Time, cause wire.HoldCause) Verdict {
	if r.tooLate(from) {
		return Verdict{Do: Refuse, Cause: cause, Until: latest(from, l.hold.asked), Named: cause == l.hold.cause && l.hold.named}
	}
	slot := latest(now, from, l.tail)
	switch {
	case !r.tooLate(slot):
		l.tail = slot.Add(l.spacing(now))
	case l.limits.Rate > 0:
		return Verdict{Do: Refuse, Cause: wire.HoldRate, Until: slot}
	default: // rather before its turn than never: the provider's word is kept all the same
		slot = latest(now, from, r.By.Add(-lastMoment))
	}
	r.Ticket.Slot = slot
	if !slot.After(now) {
		return l.atSlot(now, r)
	}
	return l.comeBack(now, r, cause)
}

// lastMoment is how long before its time a request leaves that would be too late if it waited for its turn.
const lastMoment = 10 * time.Second

// atSlot lets a request go whose slot has come, if nothing else stands in its way.
func (l *Lane) atSlot(now time.Time, r Request) Verdict {
	switch slot := r.Ticket.Slot; {
	case slot.After(now) && !l.skips(now, r.Ticket):
		return l.comeBack(now, r, l.queueCause())
	case l.hold.capped && l.hold.probe.After(now):
		return l.behindProbe(now, r)
	case l.free.Sub(now) > l.play():
		return l.keepPace(now, r, l.free.Add(-l.play()))
	case l.limits.Concurrent > 0 && l.underWay >= l.limits.Concurrent:
		return l.again(now, r, now.Add(max(l.takes/2, 10*time.Millisecond)), wire.HoldConcurrency)
	default:
		return l.leave(now)
	}
}

// skips reports whether a slot far ahead need not be waited for, because the queue before it is gone. Who comes back for its
// last second has been sent away until then, maybe by another process, which knew why.
func (l *Lane) skips(now time.Time, t Ticket) bool {
	l.forgetPhantoms(now)
	return l.tail.IsZero() && t.Slot.Sub(now) > 2*longestSleep && !now.Before(t.NotBefore)
}

// behindProbe waits for what a probe is answered, unless that may come too late.
func (l *Lane) behindProbe(now time.Time, r Request) Verdict {
	if r.tooLate(l.hold.probe) {
		return l.queue(now, r, now.Add(2*longestSleep), wire.HoldProbe)
	}
	return l.queue(now, r, l.hold.probe, wire.HoldProbe)
}

// keepPace has a request whose slot has come wait until those before it are far enough ahead. Its slot stands, however often it
// has to come back: a new one would be taken from others.
func (l *Lane) keepPace(now time.Time, r Request, at time.Time) Verdict {
	switch {
	case r.tooLate(at):
		return Verdict{Do: Refuse, Cause: wire.HoldRate, Until: at}
	case r.Slept+at.Sub(now) <= longestSleep:
		return Verdict{Do: Sleep, For: at.Sub(now), Ticket: r.Ticket, Cause: wire.HoldRate, Until: at}
	}
	r.Ticket.Times++
	return Verdict{Do: Back, For: max(at.Sub(now)-longestSleep, leastBack), Ticket: r.Ticket, Cause: wire.HoldRate, Until: at}
}

// again has a request try once more soon, or come back if it has done that for long enough.
func (l *Lane) again(now time.Time, r Request, at time.Time, cause wire.HoldCause) Verdict {
	if r.Slept+at.Sub(now) <= longestSleep && !r.tooLate(at) {
		return Verdict{Do: Sleep, For: at.Sub(now), Ticket: r.Ticket, Cause: cause, Until: at}
	}
	return l.queue(now, r, now.Add(2*longestSleep), cause)
}

// comeBack sends a request away until its slot, or lets it wait where it is for the last second.
func (l *Lane) comeBack(now time.Time, r Request, cause wire.HoldCause) Verdict {
	slot := r.Ticket.Slot
	left := slot.Sub(now)
	if now.Before(r.Ticket.NotBefore) {
		cause = r.Ticket.Held
	}
	if r.Slept+left <= longestSleep {
		return Verdict{Do: Sleep, For: left, Ticket: r.Ticket, Cause: cause, Until: slot}
	}
	r.Ticket.Times++
	most := max(l.hold.until.Sub(now), 0) + longestBack
	return Verdict{Do: Back, For: min(max(left-longestSleep, leastBack), most), Ticket: r.Ticket, Cause: cause, Until: slot}
}

// leave counts a request that goes.
func (l *Lane) leave(now time.Time) Verdict {
	l.underWay++
	l.left = now
	if l.limits.Rate > 0 {
		l.free = latest(now, l.free).Add(l.spacing(now))
	}
	if !l.hold.capped || now.Before(l.hold.until) {
		return Verdict{Do: Go}
	}
	l.hold.probe = now.Add(probeTime)
	return Verdict{Do: Go, Probe: true}
}

// spacing is the time between two slots: that of the rate, else four fifths of that between requests in the last minute,
// so that those who come back do it a quarter faster than requests used to come, and at four a second at least, if so many
// can be under way.
func (l *Lane) spacing(now time.Time) time.Duration {
	if l.limits.Rate > 0 {
		return time.Duration(float64(time.Second) / l.limits.Rate)
	}
	spacing := min(slowestReturn, 4*time.Minute/5/time.Duration(max(l.asked.sum(now), l.hold.pace, 1)))
	if l.limits.Concurrent > 0 {
		spacing = max(spacing, l.takes/time.Duration(l.limits.Concurrent))
	}
	return spacing
}

const slowestReturn = time.Second / 4

// play is how far requests may be ahead of the rate, so that a moment in which nobody left can be made up for: an eighth of a
// second's worth in any second. Where that is less than a request there is nothing to make up for, and workers with less than
// a request a second each stay at one each in any second.
func (l *Lane) play() time.Duration {
	const play = time.Second / 8
	if l.limits.Rate*play.Seconds() < 1 {
		return 0
	}
	return play
}

func (r Request) tooLate(at time.Time) bool { return !r.By.IsZero() && !at.Before(r.By) }

func latest(times ...time.Time) time.Time {
	var latest time.Time
	for _, t := range times {
		if t.After(latest) {
			latest = t
		}
	}
	return latest
}
