package operation

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/jobwait/jobwait/wire"
)

// SendSubmit sends one submit request. The shell adds the body from the spec. The request must start before StartBy, or not at all.
type SendSubmit struct {
	Request wire.SubmitRequest
	StartBy time.Time
	Summary string
}

func (SendSubmit) command() {}

// openSubmission begins the first generation if the snapshot is that of a submission.
func (o *Operation) openSubmission() {
	if o.rec.Prepared.Submission == nil {
		return
	}
	o.rec.Submission = &wire.SubmissionRecord{}
	o.nextGeneration()
	o.rec.Phase = wire.PhaseSubmitting
}

// nextGeneration begins another generation of the submission, of which nothing has been sent yet.
func (o *Operation) nextGeneration() {
	before := o.rec.Submission
	facts := o.rec.Prepared.Submission
	o.rec.Submission = &wire.SubmissionRecord{Generation: before.Generation + 1, Before: before.Before}
	if o.wasReset() {
		o.keyUsed(o.rec.OpenedAt) // the run that was reset may have used it
	}
	if facts.Idempotency.Repeatable() {
		spec := o.rec.Prepared.Spec
		id := wire.SubmitWorkflowID(spec.Provider, spec.Account, spec.OperationID)
		o.rec.Submission.Key = submissionKey(id, o.rec.Submission.Generation, facts.KeyLength)
	}
}

// submissionKey returns the idempotency key of one generation of a submission: a UUID (RFC 9562, version 8) from the SHA-256 of the
// workflow id and the generation, so that it is the same in every run. If the provider accepts fewer than 36 characters, it is as
// many of the UUID's hex digits.
func submissionKey(workflowID string, generation, most int) string {
	sum := sha256.Sum256([]byte("jobwait submission\x00" + workflowID + "\x00" + strconv.Itoa(generation)))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	digits := hex.EncodeToString(sum[:16])
	if most > 0 && most < 36 {
		return digits[:min(most, 32)]
	}
	return digits[:8] + "-" + digits[8:12] + "-" + digits[12:16] + "-" + digits[16:20] + "-" + digits[20:]
}

func (o *Operation) submits() bool { return o.rec.Submission != nil }

// activePhase returns the phase of an operation that neither asks people nor has ended.
func (o *Operation) activePhase() wire.Phase {
	switch {
	case !o.submits():
		return wire.PhasePolling
	case o.rec.Submission.Await != "":
		return wire.PhaseAwaiting
	default:
		return wire.PhaseSubmitting
	}
}

// sendSubmit reserves the request before it can be sent and records its key. So a crash costs only a reservation, and the audit
// tells under which key there may be a job.
func (o *Operation) sendSubmit(now, deadline time.Time) Command {
	summary := o.pollSummary(o.rec.Poll.Source)
	o.rec.Counters.StatusRequestsUsed++
	o.rec.Poll = nil
	o.inFlight, o.startBy, o.reservedAt = submitRequest, deadline, now
	o.note(wire.Entry{At: now, Event: wire.EventRequestReserved, Detail: o.generationText()})
	authority := o.authority()
	authority.ApprovalUnasked = o.approvalUnasked()
	facts, s := o.rec.Prepared.Submission, o.rec.Submission
	return SendSubmit{
		Request: wire.SubmitRequest{
			Target: o.target(), Authority: authority, Key: s.Key, Fingerprint: facts.Fingerprint, KeyPlace: facts.KeyPlace,
			Generation: s.Generation, NotAfter: deadline, TimeoutSeconds: o.rec.Prepared.Pace.RequestTimeoutSeconds, MayHoldBack: o.rec.Prepared.HoldBack,
		},
		StartBy: deadline, Summary: summary,
	}
}

// generationText names what is sent: "generation 1, key 0f...".
func (o *Operation) generationText() string {
	text := "generation " + strconv.Itoa(o.rec.Submission.Generation)
	if o.rec.Submission.Key != "" {
		text += ", key " + o.rec.Submission.Key
	}
	return text
}

// SubmitAnswered handles the result of the submit request in flight.
func (o *Operation) SubmitAnswered(now time.Time, result wire.SubmitResult) {
	o.inFlight = nothing
	if result.NotSent != "" {
		o.notSent(now, result.Withheld, result.HeldBack)
		return
	}
	if result.Observation == nil || result.Verdict == "" {
		result = LostSubmission()
	}
	o.submitObserved(now, result)
}

// LostSubmission returns the result of a request whose activity gave no readable answer: it may have been sent.
func LostSubmission() wire.SubmitResult {
	return wire.SubmitResult{
		Verdict:     wire.SubmitAmbiguous,
		Observation: &wire.Observation{Answer: wire.AnswerTransportFailure, Detail: wire.TransportLost},
	}
}

func (o *Operation) submitObserved(now time.Time, result wire.SubmitResult) {
	seen := *result.Observation
	o.rec.LastObservation, o.rec.LastAnsweredAt = &seen, now
	o.rec.Answers[answerKey(seen)]++
	o.learnApproval(seen)
	if seen.Answer == wire.AnswerDenied {
		o.deny(seen.CredentialRef, seen.CredentialVersion)
	}
	o.learnKeyUse(result)
	found := o.judgeSubmission(result)
	o.noteAnswer(now, seen, result.HeldBack)
	o.heed(now, seen.Guidance)
	switch {
	case result.Verdict == wire.SubmitAccepted && found.kind == waits:
		o.accepted(now, result)
	case o.stopping:
		o.decided(now, wire.StatusUnresolved, wire.ReasonWaitCancelled, found.detail)
	case found.kind == stops:
		o.stop(now, found.reason, found.detail)
	default:
		o.planNext(now, seen.Guidance, result.Verdict == wire.SubmitLater)
	}
}

// judgeSubmission decides how a submission continues after an answer: by itself if no job was made, or if a repetition with the
// same key cannot make a second one; by a person's decision if there may be a job that nobody knows.
func (o *Operation) judgeSubmission(result wire.SubmitResult) verdict {
	s, seen := o.rec.Submission, *result.Observation
	switch result.Verdict {
	case wire.SubmitAccepted:
		if result.Job == nil || o.badJobID(result.Job.ProviderJobID) != "" {
			return o.judgeAmbiguous(wire.DetailNoJobID)
		}
		return verdict{}
	case wire.SubmitRefused:
		return o.judgeRefused(result)
	case wire.SubmitLater:
		if o.rec.Counters.RateLimitedUsed++; o.rec.Counters.RateLimitedUsed >= o.rec.Limits.MaxRateLimited {
			return stopFor(wire.ReasonRateLimited, "")
		}
		return verdict{}
	case wire.SubmitNeverLeft:
		if o.rec.Counters.TransportFailuresUsed++; o.rec.Counters.TransportFailuresUsed >= o.rec.Limits.MaxTransportFailures {
			return stopFor(wire.ReasonTransportBudgetExhausted, seen.Detail)
		}
		return verdict{}
	case wire.SubmitAmbiguous:
		return o.judgeAmbiguous(joinWords(result.Detail, answerKey(seen)))
	default: // a verdict of another version: there may be a job
		s.MaybeSent = true
		return stopFor(wire.ReasonSubmissionAmbiguous, "unknown verdict "+strconv.Quote(string(result.Verdict)))
	}
}

// judgeRefused concludes that there is no job only if no earlier request can have made one.
func (o *Operation) judgeRefused(result wire.SubmitResult) verdict {
	detail := joinWords(result.Detail, answerKey(*result.Observation))
	switch {
	case result.Observation.Answer == wire.AnswerDenied:
		return stopFor(wire.ReasonAuthorizationDenied, "")
	case o.rec.Submission.MaybeSent:
		return stopFor(wire.ReasonSubmissionAmbiguous, joinWords(wire.DetailAfterAmbiguous, detail))
	default:
		return stopFor(wire.ReasonSubmissionRefused, detail)
	}
}

// judgeAmbiguous repeats a submission only if the provider documents an idempotency key, and within the failure budget.
func (o *Operation) judgeAmbiguous(detail string) verdict {
	o.rec.Submission.MaybeSent = true
	o.rec.Counters.TransportFailuresUsed++
	switch {
	case !o.rec.Prepared.Submission.Idempotency.Repeatable():
		return stopFor(wire.ReasonSubmissionAmbiguous, detail)
	case o.rec.Counters.TransportFailuresUsed >= o.rec.Limits.MaxTransportFailures:
		return stopFor(wire.ReasonTransportBudgetExhausted, detail)
	default:
		return verdict{}
	}
}

// whileSubmitting replaces the reason of a stop by submission_ambiguous if there may be a job, and keeps the original in the
// detail. A reset keeps its reason, and so do reasons that ask how to send the same request again, as long as its key may still be
// used.
func (o *Operation) whileSubmitting(now time.Time, reason wire.Reason, detail string) (wire.Reason, string) {
	if !o.rec.Submission.MaybeSent || o.rec.Submission.Job != nil {
		return reason, detail
	}
	spent := o.keySpent(now)
	switch reason { //nolint:exhaustive // the others do not tell whether there is a job
	case wire.ReasonHistoryReset:
		return reason, detail
	case wire.ReasonSubmissionAmbiguous:
	case wire.ReasonAuthorizationDenied, wire.ReasonApprovalRequired:
		if !spent {
			return reason, detail
		}
		fallthrough
	default:
		detail = joinWords(string(reason), detail)
	}
	if spent {
		detail = joinWords(detail, wire.DetailKeyExpired)
	}
	return wire.ReasonSubmissionAmbiguous, detail
}

// accepted records the job, and waits for it unless it is already finished.
func (o *Operation) accepted(now time.Time, result wire.SubmitResult) {
	s := o.rec.Submission
	s.Job, s.SubmittedAt = result.Job, result.Observation.SentAt
	if s.Job.Unusable != "" {
		s.Named = s.Job
	}
	o.note(wire.Entry{At: now, Event: wire.EventSubmitted, Reason: result.Job.ProviderJobID, Detail: result.Detail})
	job := result.Observation.Job
	if job == nil || !job.Category.Terminal() {
		o.wantAwait(now)
		return
	}
	o.rememberState(*job)
	switch found := o.judgeCategory(now, *result.Observation); {
	case found.kind == succeeds:
		o.succeed(now, *result.Observation)
	case found.terminal():
		o.jobEnded(now, found.reason, found.detail)
	default:
		o.wantAwait(now) // left to the wait, which can ask again
	}
}

// SubmitOutcome returns the outcome of a submission: that of the operation, with what is known of the job.
func (o *Operation) SubmitOutcome(closed wire.Outcome) wire.SubmitOutcome {
	s, facts := o.rec.Submission, o.rec.Prepared.Submission
	outcome := wire.SubmitOutcome{
		Status: closed.Status, Reason: closed.Reason, Detail: closed.Detail, Undecided: closed.Undecided, DecidedBy: closed.DecidedBy,
		SubmissionID: closed.OperationID, Provider: closed.Provider, Account: closed.Account,
		Owner: s.Owner, Wait: s.Wait, Result: closed.Result,
		Fingerprint: facts.Fingerprint, Idempotency: facts.Idempotency, IdempotencyKey: s.Key,
		Generation: s.Generation, Before: s.Before, Predecessor: facts.Predecessor, SubmitRequestsUsed: closed.StatusRequestsUsed,
		OpenedAt: closed.OpenedAt, ClosedAt: closed.ClosedAt, AuditEntries: closed.AuditEntries, AuditHead: closed.AuditHead,
	}
	if s.Wait != nil {
		outcome.Result = s.Wait.Result
	}
	if s.Job != nil {
		outcome.ProviderJobID, outcome.StatusURL = s.Job.ProviderJobID, s.Job.StatusURL
	}
	if s.Await == wire.AwaitEnded || s.Await == wire.AwaitRunning {
		outcome.WaitWorkflowID = o.waitWorkflowID()
	}
	if outcome.Result == nil {
		outcome.Result = map[string]string{}
	}
	return outcome
}

// NeverSubmitted returns the outcome of a submission that was told to stop before it was prepared. It has no audit.
func NeverSubmitted(spec wire.SubmitSpec, openedAt, now time.Time) wire.SubmitOutcome {
	return wire.SubmitOutcome{
		Status: wire.StatusUnresolved, Reason: wire.ReasonWaitCancelled,
		SubmissionID: spec.SubmissionID, Provider: spec.Provider, Account: spec.Account, Result: map[string]string{},
		Generation: 1, Predecessor: unasked(spec.Predecessor), OpenedAt: openedAt.UTC(), ClosedAt: now.UTC(),
	}
}

// submissionView returns what queries and messages show of a submission; nil for a wait.
func (o *Operation) submissionView() *wire.SubmissionView {
	if !o.submits() {
		return nil
	}
	s, facts := o.rec.Submission, o.rec.Prepared.Submission
	view := &wire.SubmissionView{
		Fingerprint: facts.Fingerprint, Idempotency: facts.Idempotency, IdempotencyKey: s.Key, Generation: s.Generation,
		Owner: s.Owner, Before: s.Before, Predecessor: facts.Predecessor, MaybeSent: s.MaybeSent && s.Job == nil,
	}
	if s.Job != nil {
		view.ProviderJobID = s.Job.ProviderJobID
	}
	if end, ends := o.keyEnd(); ends {
		view.RepeatBefore = new(end.UTC())
	}
	if s.Job != nil && s.Await != "" {
		view.WaitWorkflowID = o.waitWorkflowID()
	}
	return view
}
