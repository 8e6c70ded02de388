package operation

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/jobwait/jobwait/wire"
)

// stop ends polling: the wait may not continue by itself. It asks a person if there is a choice; if there is none, it closes the wait
// as the decision close would (R34).
func (o *Operation) stop(now time.Time, reason wire.Reason, detail string) {
	o.rec.Poll = nil
	if o.rec.Cancel != "" {
		reason, detail = o.whileCancelling(reason, detail)
	}
	if o.submits() {
		reason, detail = o.whileSubmitting(now, reason, detail)
	}
	switch options := o.options(now, reason, detail); {
	case o.stopping:
		o.stoppedWith(now, stopFor(reason, detail))
	case o.rec.Cancel != "" && reason == wire.ReasonProviderCancelled:
		o.decided(now, wire.StatusCancelled, reason, detail) // what a person decided is done (R43)
	case o.asksPerson(reason, options):
		o.escalate(now, reason, detail, options)
	default:
		o.closeUnasked(now, reason, detail)
	}
}

// closeUnasked closes the wait as the decision close would, but with no one who decided (R34).
func (o *Operation) closeUnasked(now time.Time, reason wire.Reason, detail string) {
	o.decided(now, closeStatus(reason), reason, detail)
	o.rec.Outcome.DecidedBy = ""
	o.tell(now, wire.NotifyClosed)
}

// whileCancelling turns every exhaustion within a confirmation budget into cancel_unconfirmed (R43).
func (o *Operation) whileCancelling(reason wire.Reason, detail string) (wire.Reason, string) {
	switch reason { //nolint:exhaustive // only exhaustion is renamed, any other reason keeps its name
	case wire.ReasonDeadlineExceeded, wire.ReasonBusinessDeadlineExceeded, wire.ReasonRetryAfterExceedsDeadline,
		wire.ReasonRequestBudgetExhausted, wire.ReasonTransportBudgetExhausted, wire.ReasonRateLimited:
		return wire.ReasonCancelUnconfirmed, joinWords(o.rec.CancelDetail, string(reason))
	default:
		return reason, detail
	}
}

func joinWords(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	default:
		return a + "; " + b
	}
}

// escalate opens a question. Its window begins now, whether or not the message is delivered (R37).
func (o *Operation) escalate(now time.Time, reason wire.Reason, detail string, options []wire.Option) {
	o.endConfirming()
	if o.rec.Cancel == wire.CancelWanted {
		o.rec.Cancel = "" // the job ended before the cancel was sent: whether to send it is a new question
	}
	o.lapseProposal(now, string(reason)) // one question at a time, and this one says more
	o.renewNudges()                      // people hear of one that comes while they decide
	o.rec.Escalations++
	o.rec.Phase = wire.PhaseEscalated
	o.rec.Escalation = &wire.Escalation{
		ID:           o.escalationID(),
		Kind:         wire.EscalationStop,
		Reason:       reason,
		Detail:       detail,
		OpenedAt:     now.UTC(),
		WindowEndsAt: now.UTC().Add(seconds(int64(o.rec.Prepared.DecisionWindowSeconds))),
		Options:      options,
	}
	o.rec.RemindAt = o.nextReminder(now)
	o.note(wire.Entry{At: now, Event: wire.EventEscalated, Reason: string(reason), Detail: detail})
	o.tell(now, wire.NotifyEscalated)
}

// escalationID is unique to this opening: neither a reopened wait nor a reset repeats one.
func (o *Operation) escalationID() string { return o.openingID("", o.rec.Escalations) }

func (o *Operation) openingID(mark string, n int) string {
	return fmt.Sprintf("%s#%s%d-%s", o.rec.Prepared.Spec.OperationID, mark, n, eightHex(o.lineage()))
}

// lineage is the run id that tells this wait from others of the same operation id: the first run's, or that of the last
// reset.
func (o *Operation) lineage() string {
	if o.rec.ResetRunID != "" {
		return o.rec.ResetRunID
	}
	if n := len(o.rec.AcknowledgedRuns); n > 0 {
		return o.rec.AcknowledgedRuns[n-1]
	}
	return o.rec.FirstRunID
}

// eightHex is the end of a run id, which is a UUID on every server; of anything else it is the start of a hash. The start
// of a UUID will not do: that of version 7, which servers give, is the time in units of about a minute, so that a wait that
// is reopened at once would repeat the ids of the one before.
func eightHex(runID string) string {
	if len(runID) >= 8 {
		end := runID[len(runID)-8:]
		if _, err := hex.DecodeString(end); err == nil {
			return end
		}
	}
	sum := sha256.Sum256([]byte(runID))
	return hex.EncodeToString(sum[:4])
}

// nextEscalated waits for a decision, reminds, and closes when the window lapses. Nothing is sent to the provider
// meanwhile (R36), and silence is never approval (R37).
func (o *Operation) nextEscalated(now time.Time) Command {
	open := o.rec.Escalation
	if !now.Before(open.WindowEndsAt) {
		o.lapse(now)
		return o.Next(now)
	}
	if o.remindDue(now) {
		o.rec.RemindAt = o.nextReminder(now)
		o.note(wire.Entry{At: now, Event: wire.EventReminded, Reason: string(open.Reason)})
		o.tell(now, wire.NotifyReminded)
		return o.Next(now)
	}
	until := open.WindowEndsAt
	if !o.rec.RemindAt.IsZero() {
		until = earlier(until, o.rec.RemindAt)
	}
	return Wait{Until: until, Summary: "decision window, " + string(open.Reason)}
}

func (o *Operation) remindDue(now time.Time) bool {
	return !o.rec.RemindAt.IsZero() && !now.Before(o.rec.RemindAt)
}

// nextReminder is zero when no further reminder fits into the window. Missed reminders are not caught up.
func (o *Operation) nextReminder(now time.Time) time.Time {
	every := seconds(int64(o.rec.Prepared.ReminderSeconds))
	next := now.UTC().Add(every)
	if every == 0 || !next.Before(o.rec.Escalation.WindowEndsAt) {
		return time.Time{}
	}
	return next
}

func (o *Operation) lapse(now time.Time) {
	open := o.rec.Escalation
	o.decided(now, closeStatus(open.Reason), open.Reason, open.Detail)
	o.rec.Outcome.Undecided = true
	o.tell(now, wire.NotifyClosed)
}
