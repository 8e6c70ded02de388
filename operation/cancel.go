package operation

import (
	"strconv"
	"time"

	"github.com/jobwait/jobwait/wire"
)

// nextCancel sends the cancel request as soon as the least time after the last request has passed (R21).
func (o *Operation) nextCancel(now time.Time) Command {
	if soonest := o.rec.LastAnsweredAt.Add(o.minDelay()); now.Before(soonest) {
		return Wait{Until: ceilMillisecond(soonest), Summary: "cancel, min_delay"}
	}
	return o.sendCancel(now)
}

// sendCancel gives the one cancel request of a decision to the shell (R43).
func (o *Operation) sendCancel(now time.Time) Command {
	o.rec.Cancel = wire.CancelInFlight
	o.inFlight = cancelRequest
	return SendCancel{Request: wire.CancelRequest{
		Target: o.target(), Authority: o.authority(), TimeoutSeconds: o.rec.Prepared.Pace.RequestTimeoutSeconds,
		HoldBackBefore: o.holdCancelBefore(now),
	}}
}

// holdCancelBefore lets a cancel be held back for half of the time that is left, and keeps the other half to see it confirmed.
func (o *Operation) holdCancelBefore(now time.Time) time.Time {
	deadline, _ := o.deadline()
	if !o.rec.Prepared.HoldBack || !now.Before(deadline) {
		return time.Time{}
	}
	return ceilMillisecond(now.Add(deadline.Sub(now) / 2)).UTC()
}

// CancelAnswered handles the result of the cancel request. Cancel is an intent: unless the table says that an accepted
// cancel is done at once, only status answers decide (R43).
func (o *Operation) CancelAnswered(now time.Time, result wire.CancelResult) {
	o.inFlight = nothing
	if result.NotSent != "" {
		o.cancelNotSent(now, result)
		return
	}
	o.rec.Cancel, o.rec.LastAnsweredAt = wire.CancelSent, now
	o.rec.CancelDetail = cancelDetail(result)
	o.note(wire.Entry{
		At: now, Event: wire.EventCancelSent, HTTPStatus: result.HTTPStatus,
		Detail: withHeldBack(o.rec.CancelDetail, now, result.HeldBack, result.SentAt),
	})
	o.heed(now, result.Guidance)
	switch {
	case result.Confirmed:
		o.decided(now, wire.StatusCancelled, wire.ReasonProviderCancelled, "")
	case !o.stopping:
		o.planNext(now, result.Guidance, false)
	}
}

// cancelNotSent goes back to where the cancel was decided: nothing was asked of the provider.
func (o *Operation) cancelNotSent(now time.Time, result wire.CancelResult) {
	o.rec.Cancel = ""
	o.note(wire.Entry{
		At: now, Event: wire.EventRequestNotSent, Reason: string(result.NotSent), Detail: withHeldBack("cancel", now, result.HeldBack, nil),
	})
	switch result.NotSent { //nolint:exhaustive // the others are withheld's
	case wire.NotSentHistoryReset:
		o.reset(now, result.RunID)
		return
	case wire.NotSentHeldBack:
		if o.keepAway(result.HeldUntil); result.HeldUntil != nil {
			o.stop(now, wire.ReasonRetryAfterExceedsDeadline, timestamp(o.rec.ProviderMinimum))
			return
		}
	}
	o.withheld(now, result.Withheld)
}

// cancelDetail says in a word how the provider took the cancel.
func cancelDetail(result wire.CancelResult) string {
	switch {
	case result.Accepted:
		return "cancel_accepted"
	case result.HTTPStatus != 0:
		return "cancel_answered_" + strconv.Itoa(result.HTTPStatus)
	case result.Detail != "":
		return "cancel_" + result.Detail
	default:
		return "cancel_" + wire.TransportLost
	}
}
