package operation

import (
	"maps"
	"slices"
	"time"

	"github.com/jobwait/jobwait/wire"
)

// closeStatus is what close makes of a reason. Failed, cancelled and expired are said only when the provider said so; a
// wait that ran out of time, budget, access or understanding is unresolved.
func closeStatus(reason wire.Reason) wire.OutcomeStatus {
	switch reason { //nolint:exhaustive // every other reason, known or not, is unresolved
	case wire.ReasonProviderFailure:
		return wire.StatusFailed
	case wire.ReasonProviderCancelled:
		return wire.StatusCancelled
	case wire.ReasonProviderExpired:
		return wire.StatusExpired
	case wire.ReasonSubmissionRefused:
		return wire.StatusRefused
	default:
		return wire.StatusUnresolved
	}
}

// succeed ends the wait at once with its result (R33).
func (o *Operation) succeed(now time.Time, seen wire.Observation) {
	if o.rec.Cancel != "" {
		o.annotate(wire.NoteCompletedDespiteCancel)
	}
	o.decided(now, wire.StatusSucceeded, "", "")
	o.rec.Outcome.Partial = seen.Job.Category == wire.CategoryPartial
}

// acceptResult ends the wait as a success on a person's word, with whatever result there is.
func (o *Operation) acceptResult(now time.Time) {
	open := o.rec.Escalation
	o.decided(now, wire.StatusSucceeded, open.Reason, open.Detail)
	if len(o.rec.Outcome.Result) == 0 {
		o.annotate(wire.NoteResultNotProven)
	}
}

// NeverBegan returns the outcome of a wait that was told to stop before it was prepared. It has no audit.
func NeverBegan(spec wire.Spec, openedAt, now time.Time) wire.Outcome {
	return wire.Outcome{
		Status: wire.StatusUnresolved, Reason: wire.ReasonWaitCancelled,
		OperationID: spec.OperationID, Provider: spec.Provider, Account: spec.Account, ProviderJobID: spec.ProviderJobID,
		Result: map[string]string{}, Notes: []string{}, Answers: map[string]int{},
		OpenedAt: openedAt.UTC(), ClosedAt: now.UTC(),
	}
}

// decided fixes how the wait ends. The counts and the audit head are added by finish, when nothing more can be noted.
func (o *Operation) decided(now time.Time, status wire.OutcomeStatus, reason wire.Reason, detail string) {
	o.lapseProposal(now, string(status))
	spec := o.rec.Prepared.Spec
	outcome := &wire.Outcome{
		Status: status, Reason: reason, Detail: detail, DecidedBy: o.rec.DecidedBy,
		OperationID: spec.OperationID, Provider: spec.Provider, Account: spec.Account,
		ProviderJobID: spec.ProviderJobID, RawState: o.rec.LastRawState,
		Result: map[string]string{}, OpenedAt: o.rec.OpenedAt.UTC(), ClosedAt: now.UTC(),
	}
	if o.submits() && o.rec.Submission.Job != nil {
		outcome.ProviderJobID = o.rec.Submission.Job.ProviderJobID
	}
	if job := o.lastJob(); job != nil {
		outcome.ProviderError = job.Error
		attachResult(outcome, *job)
	}
	o.rec.Poll, o.rec.Escalation, o.rec.RemindAt = nil, nil, time.Time{}
	o.rec.Phase = wire.PhaseClosed
	o.rec.Outcome = outcome
}

// attachResult keeps the references of the last answer; beside anything but a success they are partial (R13). Whether
// they may be used is said by the status.
func attachResult(outcome *wire.Outcome, job wire.JobFact) {
	if len(job.Result) == 0 {
		return
	}
	outcome.Result = maps.Clone(job.Result)
	outcome.Partial = job.Category != wire.CategorySuccess
}

func (o *Operation) lastJob() *wire.JobFact {
	if o.rec.LastObservation == nil || o.rec.LastObservation.Job == nil || o.rec.LastObservation.Job.OtherJob {
		return nil
	}
	return o.rec.LastObservation.Job
}

// finish waits for the word on how it ended and, for a while, for the messages before it; then it closes.
func (o *Operation) finish(now time.Time) Command {
	if until, wait := o.lastWords(now); wait {
		return Wait{Until: until, Summary: "telling people how it ended"}
	}
	o.giveUpTelling(now)
	outcome := *o.rec.Outcome
	o.note(wire.Entry{At: now, Event: wire.EventClosed, Reason: closedReason(outcome), Detail: outcome.Detail})
	outcome.Notes = slices.Clone(o.rec.Notes)
	if outcome.Notes == nil {
		outcome.Notes = []string{}
	}
	outcome.Counters = o.rec.Counters
	outcome.Answers = maps.Clone(o.rec.Answers)
	outcome.AuditEntries, outcome.AuditHead = o.rec.AuditSeq, o.rec.AuditHead
	return Close{Outcome: outcome}
}

// closedReason is the status, with the reason where there is one: "unresolved: deadline_exceeded".
func closedReason(outcome wire.Outcome) string {
	if outcome.Reason == "" {
		return string(outcome.Status)
	}
	return string(outcome.Status) + ": " + string(outcome.Reason)
}
