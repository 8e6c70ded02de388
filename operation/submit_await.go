package operation

import (
	"cmp"
	"maps"
	"time"

	"github.com/jobwait/jobwait/wire"
)

// AwaitSubmitted starts the workflow that waits for the job, or follows the one that owns it. The shell reports back with
// AwaitEnded.
type AwaitSubmitted struct {
	Spec wire.Spec
}

func (AwaitSubmitted) command() {}

// Following reports whether the job's wait was started or is being followed, and has not ended.
func (o *Operation) Following() bool {
	return o.submits() && o.rec.Submission.Await == wire.AwaitRunning
}

// wantAwait continues with the wait for the job. If the answer does not tell how to ask for the job's status, or came after the
// wait's deadline, no wait can be run, and a person decides whether and how to wait. Nothing is submitted again, because there is a
// job.
func (o *Operation) wantAwait(now time.Time) {
	job := o.rec.Submission.Job
	if job.Unusable != "" {
		o.stop(now, wire.ReasonPollURLRejected, joinWords(job.Unusable, "job "+job.ProviderJobID))
		return
	}
	if reason := o.waitIsOver(now); reason != "" {
		o.stop(now, reason, "job "+job.ProviderJobID)
		return
	}
	o.rec.Poll = nil
	o.rec.Submission.Await = wire.AwaitWanted
	o.rec.Phase = wire.PhaseAwaiting
}

// jobEnded ends the submission as the job ended, or asks whether to submit it again.
func (o *Operation) jobEnded(now time.Time, reason wire.Reason, detail string) {
	own := o.rec.Submission.Owner == nil && !o.stopping
	failed := reason == wire.ReasonProviderFailure || reason == wire.ReasonProviderExpired
	if own && failed && o.rec.Prepared.Submission.OfferResubmit {
		o.stop(now, reason, detail)
		return
	}
	o.decided(now, closeStatus(reason), reason, detail)
}

// startAwait leaves the job to the workflow that waits for it.
func (o *Operation) startAwait(now time.Time) Command {
	o.rec.Submission.Await = wire.AwaitRunning
	spec := o.waitSpec(now)
	o.note(wire.Entry{At: now, Event: wire.EventAwaitStarted, Reason: spec.ProviderJobID})
	return AwaitSubmitted{Spec: spec}
}

// waitIsOver returns the reason of a deadline of the job's wait that passed before the wait began; empty if none has.
func (o *Operation) waitIsOver(now time.Time) wire.Reason {
	switch deadline, business := o.waitDeadlines(now); {
	case business != nil && !business.After(now) && business.Before(deadline):
		return wire.ReasonBusinessDeadlineExceeded
	case !deadline.After(now):
		return wire.ReasonDeadlineExceeded
	default:
		return ""
	}
}

// waitSpec returns the spec of the wait for the submitted job.
func (o *Operation) waitSpec(now time.Time) wire.Spec {
	s, facts, spec := o.rec.Submission, o.rec.Prepared.Submission, o.rec.Prepared.Spec
	deadline, business := o.waitDeadlines(now)
	return wire.Spec{
		OperationID: spec.OperationID, Provider: spec.Provider, Account: spec.Account, ProviderJobID: s.Job.ProviderJobID,
		Params: merged(spec.Params, s.Job.Params), StatusURL: s.Job.StatusURL, CredentialRef: o.rec.CredentialRef,
		RequestFingerprint: facts.Fingerprint, SubmittedAt: s.SubmittedAt,
		DeadlineAt: deadline, BusinessDeadlineAt: business, ProviderExpiresAt: o.waitExpiry(),
		MaxStatusRequests: facts.Wait.MaxStatusRequests, MaxTransportFailures: facts.Wait.MaxTransportFailures,
		MaxRateLimited: facts.Wait.MaxRateLimited, ExpectedStates: facts.Wait.ExpectedStates,
		AcceptPartial: facts.Wait.AcceptPartial, Schedule: facts.Wait.Schedule, Escalation: facts.Wait.Escalation,
	}
}

// waitDeadlines returns the deadlines of the job's wait. These are the spec's until a person attaches a job, resubmits, or grants
// more time. From then on the wait may last as long again as the first would have, and a business deadline that has passed no
// longer applies: whoever decided has seen it.
func (o *Operation) waitDeadlines(now time.Time) (time.Time, *time.Time) {
	wait, decidedAt := o.rec.Prepared.Submission.Wait, o.rec.Submission.DecidedAt
	deadline, business := wait.DeadlineAt, wait.BusinessDeadlineAt
	if decidedAt.IsZero() {
		return deadline, business
	}
	deadline = later(deadline, ceilMillisecond(decidedAt.Add(wait.DeadlineAt.Sub(o.rec.OpenedAt))).UTC())
	if business != nil && !business.After(now) {
		business = nil
	}
	return deadline, business
}

// waitExpiry returns when the provider expires the job. The spec's time is about the first job; one that was submitted in its place
// has as long from that decision on.
func (o *Operation) waitExpiry() *time.Time {
	s, expires := o.rec.Submission, o.rec.Prepared.Submission.Wait.ProviderExpiresAt
	if expires == nil || s.Generation == 1 {
		return expires
	}
	return new(later(*expires, ceilMillisecond(s.DecidedAt.Add(expires.Sub(o.rec.OpenedAt))).UTC()))
}

// prolong makes the job's wait last from a grant on, if that gave the submission more time. Otherwise the wait could be over before
// it begins.
func (o *Operation) prolong(now time.Time, d wire.Decision) {
	if o.submits() && grants(d.Kind) && (d.Seconds > 0 || d.PastBusinessDeadline) {
		o.rec.Submission.DecidedAt = now.UTC()
	}
}

// waitWorkflowID returns the workflow id of the wait for the submitted job.
func (o *Operation) waitWorkflowID() string {
	spec := o.rec.Prepared.Spec
	return wire.WorkflowID(spec.Provider, spec.Account, o.rec.Submission.Job.ProviderJobID)
}

// KnowsItsWait reports whether the submission can tell its own wait from another's.
func (o *Operation) KnowsItsWait() bool { return o.rec.Prepared.Submission.KnowsItsWait }

// AwaitStarted records the run of the wait that was started.
func (o *Operation) AwaitStarted(runID string) {
	if o.KnowsItsWait() {
		o.rec.Submission.WaitRunID = runID
	}
}

// OwnerFound records who waits for the job already. A wait that another run of this submission started, before a reset, is its own;
// another's is followed for its outcome.
func (o *Operation) OwnerFound(found wire.FoundOwner) {
	s, spec := o.rec.Submission, o.rec.Prepared.Spec
	if found.ParentWorkflowID == wire.SubmitWorkflowID(spec.Provider, spec.Account, spec.OperationID) {
		s.WaitRunID = cmp.Or(found.FirstRunID, found.Owner.RunID)
		return
	}
	s.Owner = &found.Owner
}

// Followed returns which wait is followed for its outcome.
func (o *Operation) Followed() wire.OwnerRequest {
	return wire.OwnerRequest{WorkflowID: o.waitWorkflowID(), RunID: o.rec.Submission.WaitRunID}
}

// OwnWait reports whether the followed wait is known to be the submission's own.
func (o *Operation) OwnWait() bool { return o.rec.Submission.WaitRunID != "" }

// AwaitResult is the end of the wait for a submitted job.
type AwaitResult struct {
	// Owner is the owner that was followed, if it was looked up. It is used only if the job belongs to another operation.
	Owner *wire.Owner
	// Outcome is nil if the wait ended without one.
	Outcome *wire.Outcome
	// Invalid is why the wait could not be run; Lost is why it ended without an outcome.
	Invalid, Lost string
}

// AwaitEnded handles the end of the wait for the submitted job.
func (o *Operation) AwaitEnded(now time.Time, result AwaitResult) {
	s := o.rec.Submission
	s.Await, s.Wait = wire.AwaitEnded, result.Outcome
	if s.Owner != nil && result.Owner != nil {
		s.Owner = result.Owner
	}
	switch {
	case result.Invalid != "" && s.Owner != nil: // the owner never waited, so the job has none
		o.note(wire.Entry{At: now, Event: wire.EventAwaitEnded, Detail: notRun(result.Invalid)})
		s.Owner, s.Await = nil, ""
		o.wantAwait(now)
	case result.Invalid != "":
		o.awaitNotRun(now, result.Invalid)
	case result.Outcome == nil:
		detail := joinWords(wire.DetailWaitLost, result.Lost)
		o.note(wire.Entry{At: now, Event: wire.EventAwaitEnded, Detail: bounded(detail, maxNoticeDetail)})
		o.decided(now, wire.StatusUnresolved, wire.ReasonWaitCancelled, bounded(detail, maxNoticeDetail))
	default:
		o.awaitDecided(now, *result.Outcome)
	}
}

// awaitNotRun asks for another job if a person named this one, and stops if the provider did.
func (o *Operation) awaitNotRun(now time.Time, why string) {
	s, detail := o.rec.Submission, notRun(why)
	o.note(wire.Entry{At: now, Event: wire.EventAwaitEnded, Detail: detail})
	s.Await, s.WaitRunID = "", ""
	if s.Attached {
		s.Job, s.Attached = s.Named, false
	}
	if s.Job == nil {
		s.MaybeSent = true
		o.stop(now, wire.ReasonSubmissionAmbiguous, detail)
		return
	}
	o.stop(now, wire.ReasonIntegrationFailure, detail)
}

func notRun(why string) string {
	return bounded(joinWords(wire.DetailWaitNotRun, oneLine(why)), maxNoticeDetail)
}

func (o *Operation) awaitDecided(now time.Time, outcome wire.Outcome) {
	o.note(wire.Entry{
		At: now, Event: wire.EventAwaitEnded, Reason: closedReason(outcome), Detail: outcome.ProviderJobID,
	})
	switch outcome.Reason { //nolint:exhaustive // for every other reason, or none, it ends as the wait did
	case wire.ReasonProviderFailure, wire.ReasonProviderExpired:
		o.jobEnded(now, outcome.Reason, outcome.Detail)
	default:
		o.decided(now, outcome.Status, outcome.Reason, outcome.Detail)
	}
}

// merged returns the params of both; those of over win. It is nil if there are none.
func merged(params, over map[string]string) map[string]string {
	if len(params)+len(over) == 0 {
		return nil
	}
	both := maps.Clone(params)
	if both == nil {
		both = map[string]string{}
	}
	maps.Copy(both, over) //workflowcheck:ignore
	return both
}
