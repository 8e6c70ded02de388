package operation

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/jobwait/jobwait/wire"
)

// SendSubmit sends one request to submit. The shell adds the body, which is the spec's. It must start before StartBy, or not
// at all.
type SendSubmit struct {
	Request wire.SubmitRequest
	StartBy time.Time
	Summary string
}

func (SendSubmit) command() {}

// openSubmission begins a submission where the snapshot is one.
func (o *Operation) openSubmission() {
	if o.rec.Prepared.Submission == nil {
		return
	}
	o.rec.Submission = &wire.SubmissionRecord{}
	o.nextGeneration()
	o.rec.Phase = wire.PhaseSubmitting
}

// nextGeneration begins one more submission of the same thing: nothing of it was sent.
func (o *Operation) nextGeneration() {
	before := o.rec.Submission
	facts := o.rec.Prepared.Submission
	o.rec.Submission = &wire.SubmissionRecord{Generation: before.Generation + 1, Before: before.Before}
	if o.wasReset() {
		o.keyUsed(o.rec.OpenedAt) // by the run that was reset, for all that is known
	}
	if facts.Idempotency.Repeatable() {
		spec := o.rec.Prepared.Spec
		id := wire.SubmitWorkflowID(spec.Provider, spec.Account, spec.OperationID)
		o.rec.Submission.Key = submissionKey(id, o.rec.Submission.Generation, facts.KeyLength)
	}
}

// submissionKey is the idempotency key of one generation of a submission: a UUID (RFC 9562, version 8) made of the SHA-256 of
// the workflow id and the generation, so that it is the same in every run. Where the provider takes fewer than 36 characters
// it is as many of its hex digits.
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

// activePhase is the phase of an operation that neither asks nor has ended.
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

// sendSubmit reserves the request before it can leave, and notes its key: a crash costs a reservation, and whoever looks
// afterwards knows under which key there may be a job.
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

// SubmitAnswered takes in what came of the request to submit that is in flight.
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

// LostSubmission is what is known of a request whose activity has given no readable answer: it may have been sent.
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

// judgeSubmission decides what one answer leaves open: going on where nothing was made, or where the same key makes nothing
// twice; a person, where there may be a job that nobody knows.
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
	default: // a word from another version of the worker says nothing for certain
		s.MaybeSent = true
		return stopFor(wire.ReasonSubmissionAmbiguous, "unknown verdict "+strconv.Quote(string(result.Verdict)))
	}
}

// judgeRefused believes that there is no job only where none can have been made before.
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

// judgeAmbiguous lets a submission be repeated with its key where the provider documents one, and never without.
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

// whileSubmitting gives every stop behind which there may be a job the one reason that says so. Those that ask how to send it
// again keep their own as long as it may be sent again.
func (o *Operation) whileSubmitting(now time.Time, reason wire.Reason, detail string) (wire.Reason, string) {
	if !o.rec.Submission.MaybeSent || o.rec.Submission.Job != nil {
		return reason, detail
	}
	spent := o.keySpent(now)
	switch reason { //nolint:exhaustive // the others say nothing of a job
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

// accepted takes in the job. One that is finished already is not waited for.
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
		o.wantAwait(now) // what needs more than one look is the wait's
	}
}

// SubmitOutcome is how a submission ended: the outcome of the operation, with what is known of the job.
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

// NeverSubmitted is the outcome of a submission that was told to stop before it was prepared. It has no audit.
func NeverSubmitted(spec wire.SubmitSpec, openedAt, now time.Time) wire.SubmitOutcome {
	return wire.SubmitOutcome{
		Status: wire.StatusUnresolved, Reason: wire.ReasonWaitCancelled,
		SubmissionID: spec.SubmissionID, Provider: spec.Provider, Account: spec.Account, Result: map[string]string{},
		Generation: 1, Predecessor: unasked(spec.Predecessor), OpenedAt: openedAt.UTC(), ClosedAt: now.UTC(),
	}
}

// submissionView is what queries and messages tell of a submission; nil for a wait.
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
