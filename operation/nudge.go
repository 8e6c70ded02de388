package operation

import (
	"time"

	"github.com/jobwait/jobwait/wire"
)

// Nudge handles a hint from outside that the job may have changed: the next poll comes as soon as the provider's
// minimum (R16), min_delay (R21) and the budgets allow. It adds no budget, ends nothing, and keeps the last request for its
// own time. Between two requests one nudge counts and is noted, so that a flood of them neither polls faster nor fills the
// audit. After the end it has no effect.
func (o *Operation) Nudge(now time.Time, payload []byte) {
	if o.rec.Outcome != nil || o.stopping || o.submits() { // nothing outside hurries a submission
		return
	}
	o.rec.Counters.NudgesReceived++
	nudge, err := wire.DecodeNudge(payload)
	switch {
	case err != nil && !o.rec.Nudges.Refused:
		o.rec.Nudges.Refused = true
		o.noteNudge(now, wire.NudgeUnparsable, err.Error())
	case err == nil && !o.rec.Nudges.Counted:
		o.rec.Nudges.Counted = true
		o.followNudge(now, nudge.Source)
	}
}

// followNudge decides what one nudge does, and notes it before what follows from it.
func (o *Operation) followNudge(now time.Time, source string) {
	switch next := o.nudged(now); {
	case o.rec.Escalation != nil:
		o.noteNudge(now, wire.NudgeEscalated, source)
	case o.lastRequest():
		o.noteNudge(now, wire.NudgeLastRequest, source)
	case o.inFlight != nothing || o.rec.Cancel == wire.CancelWanted:
		o.rec.Nudges.Hurry = true
		o.noteNudge(now, wire.NudgeInFlight, source)
	case !o.sooner(next):
		o.noteNudge(now, wire.NudgeNotSooner, source)
	default:
		o.noteNudge(now, wire.NudgeFollowed, source)
		o.plan(now, next, o.rec.Poll != nil && o.rec.Poll.CaughtUp)
	}
}

// nudged is the earliest moment for the next request: not before min_delay after the last one (R21), nor before the
// provider's minimum and the spread that was drawn for it (R16).
func (o *Operation) nudged(now time.Time) candidate {
	at, last := later(now, o.rec.Nudges.NotBefore), o.rec.LastAnsweredAt
	if !last.IsZero() {
		at = later(at, last.Add(o.minDelay()))
	}
	if minimum := o.rec.ProviderMinimum; !minimum.IsZero() {
		at = later(at, minimum.Add(o.spread(minimum.Sub(last))))
	}
	return candidate{ceilMillisecond(at), wire.DelayNudge}
}

// sooner reports whether a moment is before the next poll as planned, and before the deadline where none is.
func (o *Operation) sooner(next candidate) bool {
	until, _ := o.deadline()
	if o.rec.Poll != nil {
		until = earlier(until, o.rec.Poll.At)
	}
	return next.at.Before(until)
}

// lastRequest reports that the budget has one request left, or none.
func (o *Operation) lastRequest() bool {
	return o.rec.Counters.StatusRequestsUsed+1 >= o.rec.Limits.MaxStatusRequests
}

// hurry gives the poll after an answer the moment that a nudge has asked for while the request was under way.
func (o *Operation) hurry(now time.Time, next candidate) candidate {
	hurry := o.rec.Nudges.Hurry
	o.rec.Nudges.Hurry = false
	if soonest := o.nudged(now); hurry && !o.lastRequest() && soonest.at.Before(next.at) {
		return soonest
	}
	return next
}

// renewNudges lets one more nudge count.
func (o *Operation) renewNudges() {
	o.rec.Nudges = wire.Nudges{NotBefore: o.rec.Nudges.NotBefore}
}

func (o *Operation) noteNudge(now time.Time, effect wire.NudgeEffect, detail string) {
	o.note(wire.Entry{At: now, Event: wire.EventNudged, Reason: string(effect), Detail: detail})
}
