package operation

import (
	"time"

	"github.com/jobwait/jobwait/wire"
)

const (
	// lateWake is how late a poll may wake before it counts as an outage (R22).
	lateWake = 5 * time.Second
	// maxSpread bounds what is added after a provider's minimum (R16).
	maxSpread = 10 * time.Second
	// maxFinalLookLead bounds the unit of the final look's lead (R23).
	maxFinalLookLead = 10 * time.Second
	// rateLimitFactor multiplies the local delay after a 429 without guidance (R20).
	rateLimitFactor = 4
	// longestDelay is where delays saturate: no deadline is that far away.
	longestDelay = 100 * 365 * 24 * time.Hour
)

// candidate is a possible time of the next request, with what suggests it.
type candidate struct {
	at     time.Time
	source wire.DelaySource
}

// planFirst plans the first poll, counted from the start of the wait (R27).
func (o *Operation) planFirst(now time.Time) {
	if deadline, _ := o.deadline(); o.rec.Prepared.FirstCatchesUpSoon && !now.Before(deadline) {
		return // it was prepared too late: what is planned would be in the past, and may not leave
	}
	delay := o.jittered(o.localDelay(o.rec.OpenedAt), drawBackoff)
	if initial := o.rec.Prepared.Pace.InitialDelaySeconds; initial != nil {
		delay = seconds(int64(*initial))
	}
	o.schedule(now, candidate{o.rec.OpenedAt.Add(delay), wire.DelayLocalBackoff})
}

// heed records when the provider wants to be asked again. That holds whatever the answer means for the wait, so the first poll after
// a grant keeps to it as well (R16, R41).
func (o *Operation) heed(now time.Time, guidance wire.Guidance) {
	o.noteRejected(now, guidance.Rejected)
	if minimum := guidance.RetryAfterSeconds; minimum != nil {
		o.rec.ProviderMinimum = later(o.rec.ProviderMinimum, now.Add(seconds(*minimum)))
	}
}

// planNext plans the poll after an answer with which the wait continues. The checks are in the order of reasons (R12): deadline,
// request budget, a Retry-After past the deadline.
func (o *Operation) planNext(now time.Time, guidance wire.Guidance, rateLimited bool) {
	deadline, reason := o.deadline()
	switch {
	case !now.Before(deadline):
		o.stop(now, reason, "")
	case o.rec.Counters.StatusRequestsUsed >= o.rec.Limits.MaxStatusRequests:
		o.stop(now, wire.ReasonRequestBudgetExhausted, "")
	case !o.rec.ProviderMinimum.Before(deadline):
		o.stop(now, wire.ReasonRetryAfterExceedsDeadline, timestamp(o.rec.ProviderMinimum))
	default:
		o.schedule(now, o.hurry(now, o.nextCandidate(now, deadline, guidance, rateLimited)))
	}
}

// nextCandidate is the latest of the provider's minimum, the table's minimum and the hint or backoff (R18).
func (o *Operation) nextCandidate(now, deadline time.Time, guidance wire.Guidance, rateLimited bool) candidate {
	next := o.localCandidate(now, rateLimited && guidance.RetryAfterSeconds == nil)
	if hinted, ok := o.hintCandidate(now, deadline, guidance.PollHintSeconds); ok {
		next = hinted
	}
	return o.afterMinimum(now, next)
}

func (o *Operation) localCandidate(now time.Time, rateLimited bool) candidate {
	if rateLimited {
		raw := max(o.rateLimitDelay(), o.localDelay(now))
		return candidate{now.Add(o.aboveMinimum(raw, drawBackoff)), wire.DelayRateLimitBackoff}
	}
	return candidate{now.Add(o.aboveMinimum(o.localDelay(now), drawBackoff)), wire.DelayLocalBackoff}
}

// hintCandidate follows the provider's hint unless that is past the deadline (R17).
func (o *Operation) hintCandidate(now, deadline time.Time, hint *int64) (candidate, bool) {
	if hint == nil {
		return candidate{}, false
	}
	delay := seconds(*hint)
	if !now.Add(delay).Before(deadline) {
		o.noteRejected(now, []wire.RejectedGuidance{{Source: wire.DelayProviderPollHint, Detail: wire.GuidancePastDeadline}})
		return candidate{}, false
	}
	return candidate{now.Add(delay + o.spread(delay)), wire.DelayProviderPollHint}, true
}

// afterMinimum moves a candidate behind the provider's minimum, spread so that a fleet that obeys the same header does not come back
// in one wave (R16).
func (o *Operation) afterMinimum(now time.Time, next candidate) candidate {
	if !o.rec.ProviderMinimum.After(now) {
		return next
	}
	spread := o.rec.ProviderMinimum.Add(o.spread(o.rec.ProviderMinimum.Sub(now)))
	if spread.Before(next.at) {
		return next
	}
	return candidate{spread, wire.DelayProviderRetryAfter}
}

// schedule is the one place where a poll gets its time: never sooner than the minimum after the last request (R21),
// and as a final look where the deadline comes first (R23).
func (o *Operation) schedule(now time.Time, next candidate) {
	deadline, _ := o.deadline()
	next.at = ceilMillisecond(later(next.at, o.soonest(now)))
	if !next.at.Before(deadline) {
		look, ok := o.finalLook(now, deadline)
		if !ok {
			o.rec.Poll = nil
			return
		}
		next = look
	}
	o.plan(now, next, next.source == wire.DelayCatchUp)
}

func (o *Operation) plan(now time.Time, next candidate, caughtUp bool) {
	o.rec.Poll = &wire.PlannedPoll{
		At: next.at, Source: next.source, RawDelaySeconds: int64(o.rawDelay() / time.Second), CaughtUp: caughtUp,
	}
	o.note(wire.Entry{At: now, Event: wire.EventPollPlanned, NextPollAt: &next.at, DelaySource: next.source})
}

// soonest is the earliest time that the minimum delay allows. The first request has no minimum.
func (o *Operation) soonest(now time.Time) time.Time {
	if o.rec.Counters.StatusRequestsUsed == 0 && o.rec.Cancel == "" {
		return time.Time{}
	}
	return now.Add(o.minDelay())
}

// finalLook is one last request before a deadline, so that an escalation reports a fresh state (R23).
func (o *Operation) finalLook(now, deadline time.Time) (candidate, bool) {
	if o.rec.FinalLookFor.Equal(deadline) || o.needsApproval() || o.submits() { // nobody approves in a few seconds
		return candidate{}, false
	}
	lead := min(seconds(int64(o.rec.Prepared.Pace.RequestTimeoutSeconds)), maxFinalLookLead)
	lead += time.Duration(o.draw(drawFinalLook) * float64(lead))
	at := later(deadline.Add(-lead), later(o.rec.ProviderMinimum, o.soonest(now)))
	at = ceilMillisecond(later(at, now))
	if !at.Before(deadline) {
		return candidate{}, false
	}
	return candidate{at, wire.DelayFinalLook}, true
}

// late reports whether the poll is so late that there was an outage, and has not been postponed for that yet (R22).
func (o *Operation) late(now time.Time) bool {
	poll := o.rec.Poll
	return !poll.CaughtUp && now.Sub(poll.At) > lateWake
}

// planCatchUp postpones a late poll once, so that a recovering fleet does not send all its requests at once (R22).
func (o *Operation) planCatchUp(now time.Time) {
	raw := max(o.catchUpWithin(now), time.Second)
	delay := time.Second + time.Duration(o.draw(drawCatchUp)*float64(raw-time.Second))
	o.schedule(now, candidate{now.Add(delay), wire.DelayCatchUp})
}

// catchUpWithin is the longest time by which a late poll is postponed: its own delay before jitter. A first poll that
// initial_delay_seconds brought forward has no such delay of its own, and that of the polls after it may be an hour, while the
// worker was busy for some seconds. It is postponed for no longer than it was late, so such waits come no faster than they began.
func (o *Operation) catchUpWithin(now time.Time) time.Duration {
	own := seconds(o.rec.Poll.RawDelaySeconds)
	initial := o.rec.Prepared.Pace.InitialDelaySeconds
	if !o.rec.Prepared.FirstCatchesUpSoon || initial == nil || o.rec.Counters.StatusRequestsUsed > 0 {
		return own
	}
	return min(own, now.Sub(o.rec.Poll.At))
}

// planManual plans the first poll after a grant: soon, jittered, and behind the provider's minimum (R41).
func (o *Operation) planManual(now time.Time) {
	delay := o.jittered(seconds(int64(o.rec.Prepared.Pace.BaseDelaySeconds)), drawManual)
	next := candidate{now.Add(delay), wire.DelayManualExtension}
	next.at = o.afterMinimum(now, next).at
	if deadline, _ := o.deadline(); !next.at.Before(deadline) && o.rec.FinalLookFor.Equal(deadline) {
		// The final look before this deadline is spent: without an earlier moment the grant would lead to no request at all.
		next.at = later(o.rec.ProviderMinimum, o.soonest(now))
	}
	o.schedule(now, next)
}

// localDelay is the backoff, or a longer delay while the job is unlikely to end by its expected duration, which never makes polling
// more frequent. The expectation does not apply while a cancellation is being confirmed.
func (o *Operation) localDelay(now time.Time) time.Duration {
	if o.rec.Cancel != "" {
		return o.rawDelay()
	}
	return max(o.rawDelay(), ExpectedDelay(o.rec.Prepared.Pace, now.Sub(o.submittedAt())))
}

// submittedAt is when the job was submitted, by the spec, or else the start of the wait.
func (o *Operation) submittedAt() time.Time {
	if at := o.rec.Prepared.Spec.SubmittedAt; at != nil {
		return *at
	}
	return o.rec.OpenedAt
}

// rawDelay is min(max_delay, base_delay * 2^completed_polls), computed without overflow (R15).
func (o *Operation) rawDelay() time.Duration {
	delay, limit := seconds(int64(o.rec.Prepared.Pace.BaseDelaySeconds)), o.maxDelay()
	for range o.rec.Counters.StatusRequestsUsed {
		if delay >= limit {
			return limit
		}
		delay *= 2
	}
	return min(delay, limit)
}

// maxDelay is that of the schedule. While a cancellation is being confirmed it is short enough for all confirming requests to be sent
// in time.
func (o *Operation) maxDelay() time.Duration {
	limit := seconds(int64(o.rec.Prepared.Pace.MaxDelaySeconds))
	facts := o.rec.Prepared.Table.Cancel
	if o.rec.Cancel == "" || facts == nil || facts.ConfirmRequests == 0 {
		return limit
	}
	confirm := seconds(int64(facts.ConfirmSeconds)) / time.Duration(facts.ConfirmRequests)
	return max(min(limit, confirm), time.Second)
}

// rateLimitDelay is four times the local delay, at most twice max_delay and never above the table's cap (R20).
func (o *Operation) rateLimitDelay() time.Duration {
	delay := min(rateLimitFactor*o.rawDelay(), 2*o.maxDelay())
	if limit := o.rec.Prepared.Pace.CapSeconds; limit > 0 {
		delay = min(delay, seconds(int64(limit)))
	}
	return delay
}

func (o *Operation) minDelay() time.Duration {
	return max(seconds(int64(o.rec.Prepared.Pace.MinDelaySeconds)), time.Second)
}

// jittered is uniform in [50 %, 100 %] of raw.
func (o *Operation) jittered(raw time.Duration, why purpose) time.Duration {
	half := raw / 2
	return half + time.Duration(o.draw(why)*float64(raw-half))
}

// aboveMinimum is jittered if the minimum delay does not cut into the jitter. Otherwise it is uniform from the minimum to twice that,
// or to max_delay if that lies between: if R21 raised every draw to the minimum, a fleet that started together would stay together.
func (o *Operation) aboveMinimum(raw time.Duration, why purpose) time.Duration {
	least := o.minDelay()
	if !o.rec.Prepared.Pace.JitterAboveMinimum || raw >= 2*least {
		return o.jittered(raw, why)
	}
	most := 2 * least
	for _, limit := range []time.Duration{o.maxDelay(), seconds(int64(o.rec.Prepared.Pace.CapSeconds))} {
		if limit > least {
			most = min(most, limit)
		}
	}
	return least + time.Duration(o.draw(why)*float64(max(raw, most)-least))
}

func (o *Operation) spread(delay time.Duration) time.Duration {
	if delay <= 0 {
		return 0
	}
	return time.Duration(o.draw(drawSpread) * float64(min(delay/10, maxSpread)))
}

// seconds saturates, so that an absurd number of seconds never becomes a negative delay (R16).
func seconds(n int64) time.Duration {
	return time.Duration(min(max(n, 0), int64(longestDelay/time.Second))) * time.Second
}

// ceilMillisecond keeps planned times at the precision in which they are recorded.
func ceilMillisecond(t time.Time) time.Time {
	if floor := t.Truncate(time.Millisecond); floor.Before(t) {
		return floor.Add(time.Millisecond)
	}
	return t
}

func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
