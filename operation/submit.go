package operation

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/jobwait/jobwait/wire"
)

// attachedWord is the detail of a job that a person named.
const attachedWord = "attached"

// maxGenerations is how often people may have one submission sent anew.
const maxGenerations = 20

// SendSubmit sends one request to submit. The shell adds the body, which is the spec's. It must start before StartBy, or not
// at all.
type SendSubmit struct {
	Request wire.SubmitRequest
	StartBy time.Time
	Summary string
}

// AwaitSubmitted has the job waited for by the workflow that owns it. The shell reports back with AwaitEnded.
type AwaitSubmitted struct {
	Spec wire.Spec
}

func (SendSubmit) command()     {}
func (AwaitSubmitted) command() {}

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
	if facts.Idempotency.Repeatable() {
		spec := o.rec.Prepared.Spec
		id := wire.SubmitWorkflowID(spec.Provider, spec.Account, spec.OperationID)
		o.rec.Submission.Key = SubmissionKey(id, o.rec.Submission.Generation, facts.KeyLength)
	}
}

// SubmissionKey is the idempotency key of one generation of a submission: a UUID (RFC 9562, version 8) made of the SHA-256 of
// the workflow id and the generation, so that it is the same in every run. Where the provider takes fewer than 36 characters
// it is as many of its hex digits.
func SubmissionKey(workflowID string, generation, most int) string {
	sum := sha256.Sum256([]byte("jobwait submission\x00" + workflowID + "\x00" + strconv.Itoa(generation)))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	digits := hex.EncodeToString(sum[:16])
	if most > 0 && most < 36 {
		return digits[:min(most, 32)]
	}
	return digits[:8] + "-" + digits[8:12] + "-" + digits[12:16] + "-" + digits[16:20] + "-" + digits[20:]
}

func (o *Operation) submits() bool { return o.rec.Submission != nil }

// Submitting reports whether the operation submits the job.
func (o *Operation) Submitting() bool { return o.submits() }

// Following reports whether the job's wait was started, or is followed, and has not ended.
func (o *Operation) Following() bool {
	return o.submits() && o.rec.Submission.Await == wire.AwaitRunning
}

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
	o.inFlight, o.startBy = submitRequest, deadline
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
		o.notSent(now, wire.PollResult{
			NotSent: result.NotSent, Detail: result.Detail, RunID: result.RunID, CredentialVersion: result.CredentialVersion,
			HeldUntil: result.HeldUntil, HeldBack: result.HeldBack,
		})
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

// whileSubmitting gives every stop behind which there may be a job the one reason that says so.
func (o *Operation) whileSubmitting(reason wire.Reason, detail string) (wire.Reason, string) {
	if !o.rec.Submission.MaybeSent || o.rec.Submission.Job != nil {
		return reason, detail
	}
	switch reason { //nolint:exhaustive // these have options of their own, or say it already
	case wire.ReasonHistoryReset, wire.ReasonAuthorizationDenied, wire.ReasonApprovalRequired, wire.ReasonSubmissionAmbiguous:
		return reason, detail
	default:
		return wire.ReasonSubmissionAmbiguous, joinWords(string(reason), detail)
	}
}

// submissionOffer is the table of options per reason of a submission, besides close.
func (o *Operation) submissionOffer(reason wire.Reason) offer {
	s := o.rec.Submission
	repeats := o.rec.Prepared.Submission.Idempotency.Repeatable()
	again := s.Generation < maxGenerations
	switch reason { //nolint:exhaustive // the others leave nothing but the end
	case wire.ReasonSubmissionAmbiguous:
		return offer{extend: repeats && s.Job == nil, attach: true, resubmit: again}
	case wire.ReasonHistoryReset:
		return offer{extend: repeats, attach: true, resubmit: again}
	case wire.ReasonIntegrationFailure:
		return offer{extend: s.Job == nil, attach: s.Job != nil}
	case wire.ReasonPollURLRejected:
		return offer{attach: s.Job != nil}
	case wire.ReasonSubmissionRefused:
		return offer{resubmit: again}
	case wire.ReasonProviderFailure, wire.ReasonProviderExpired:
		return offer{resubmit: again}
	case wire.ReasonAuthorizationDenied:
		return offer{useCredential: true, attach: s.MaybeSent}
	case wire.ReasonApprovalRequired:
		return offer{approve: true, attach: s.MaybeSent}
	case wire.ReasonDeadlineExceeded, wire.ReasonBusinessDeadlineExceeded, wire.ReasonRetryAfterExceedsDeadline,
		wire.ReasonRequestBudgetExhausted, wire.ReasonTransportBudgetExhausted, wire.ReasonRateLimited:
		return offer{extend: s.Job == nil, attach: s.Job != nil}
	default:
		return offer{}
	}
}

// asksOfSubmission decides whether a stop goes to a person where the spec does not name the reasons. A refusal is the
// caller's to answer: the body is his. A job that failed is offered to be submitted again only where the spec says so.
func (o *Operation) asksOfSubmission(reason wire.Reason, options []wire.Option) bool {
	switch reason { //nolint:exhaustive // every other reason asks where there is a choice
	case wire.ReasonSubmissionRefused:
		return false
	default:
		return len(options) > 1
	}
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
	case found.kind == stops && closeStatus(found.reason) != wire.StatusUnresolved:
		o.jobEnded(now, found.reason, found.detail)
	default:
		o.wantAwait(now) // what needs more than one look is the wait's
	}
}

// wantAwait goes on with the wait for the job. A job that is known and cannot be asked for by what the answer says, and an
// answer that came after the wait's deadline, leave no wait that could be run: whether and how it is waited for is a person's
// to say. Nothing is sent again, for there is a job.
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

// jobEnded ends as the job did, or asks whether to submit it again.
func (o *Operation) jobEnded(now time.Time, reason wire.Reason, detail string) {
	own := o.rec.Submission.Owner == nil && !o.stopping
	failed := reason == wire.ReasonProviderFailure || reason == wire.ReasonProviderExpired
	if own && failed && o.rec.Prepared.Submission.OfferResubmit {
		o.stop(now, reason, detail)
		return
	}
	o.decided(now, closeStatus(reason), reason, detail)
}

// startAwait hands the job over to the workflow that owns it.
func (o *Operation) startAwait(now time.Time) Command {
	o.rec.Submission.Await = wire.AwaitRunning
	spec := o.WaitSpec(now)
	o.note(wire.Entry{At: now, Event: wire.EventAwaitStarted, Reason: spec.ProviderJobID})
	return AwaitSubmitted{Spec: spec}
}

// waitIsOver is the deadline of the job's wait that has passed before it began; empty: none has.
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

// WaitSpec is the spec of the wait for the submitted job.
func (o *Operation) WaitSpec(now time.Time) wire.Spec {
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

// waitDeadlines are the spec's. A job that a person attached, or had submitted again or for longer, is waited for as long from
// then on as the first would have been; a business deadline that was over by then was seen by who decided.
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

// waitExpiry is the spec's. It is about the first job: one that was submitted in its place has as long from that decision on.
func (o *Operation) waitExpiry() *time.Time {
	s, expires := o.rec.Submission, o.rec.Prepared.Submission.Wait.ProviderExpiresAt
	if expires == nil || s.Generation == 1 {
		return expires
	}
	return new(later(*expires, ceilMillisecond(s.DecidedAt.Add(expires.Sub(o.rec.OpenedAt))).UTC()))
}

// prolong has the wait last from a grant on, where that gave the submission more time: it would be over before it began.
func (o *Operation) prolong(now time.Time, d wire.Decision) {
	if o.submits() && grants(d.Kind) && (d.Seconds > 0 || d.PastBusinessDeadline) {
		o.rec.Submission.DecidedAt = now.UTC()
	}
}

// waitWorkflowID is the workflow id of the wait for the submitted job.
func (o *Operation) waitWorkflowID() string {
	spec := o.rec.Prepared.Spec
	return wire.WorkflowID(spec.Provider, spec.Account, o.rec.Submission.Job.ProviderJobID)
}

// KnowsItsWait reports whether the submission tells its own wait from another's.
func (o *Operation) KnowsItsWait() bool { return o.rec.Prepared.Submission.KnowsItsWait }

// AwaitStarted takes in under which run the wait was started.
func (o *Operation) AwaitStarted(runID string) {
	if o.KnowsItsWait() {
		o.rec.Submission.WaitRunID = runID
	}
}

// OwnerFound takes in who waits for the job already. A wait that a run of this submission started, which was reset since, is its
// own; another's is followed, and its outcome taken.
func (o *Operation) OwnerFound(found wire.FoundOwner) {
	s, spec := o.rec.Submission, o.rec.Prepared.Spec
	if found.ParentWorkflowID == wire.SubmitWorkflowID(spec.Provider, spec.Account, spec.OperationID) {
		s.WaitRunID = cmp.Or(found.FirstRunID, found.Owner.RunID)
		return
	}
	s.Owner = &found.Owner
}

// Followed names the wait whose outcome is waited for.
func (o *Operation) Followed() wire.OwnerRequest {
	return wire.OwnerRequest{WorkflowID: o.waitWorkflowID(), RunID: o.rec.Submission.WaitRunID}
}

// OwnWait reports whether the wait that is followed is known to be the submission's own.
func (o *Operation) OwnWait() bool { return o.rec.Submission.WaitRunID != "" }

// AwaitResult is how the wait for a submitted job ended.
type AwaitResult struct {
	// Owner is who was followed, where that was found out. It counts only where it is another than the submission.
	Owner *wire.Owner
	// Outcome is null where there is none.
	Outcome *wire.Outcome
	// Invalid is why the wait could not be run, Lost why it ended without an outcome.
	Invalid, Lost string
}

// AwaitEnded takes in how the wait for the submitted job ended.
func (o *Operation) AwaitEnded(now time.Time, result AwaitResult) {
	s := o.rec.Submission
	s.Await, s.Wait = wire.AwaitEnded, result.Outcome
	if s.Owner != nil && result.Owner != nil {
		s.Owner = result.Owner
	}
	switch {
	case result.Invalid != "" && s.Owner != nil: // that never waited, so the job has no owner
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

// awaitNotRun asks for another job where a person named this one, and stops where the provider did.
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
	switch outcome.Reason { //nolint:exhaustive // every other reason, and none, ends as the wait did
	case wire.ReasonProviderFailure, wire.ReasonProviderExpired:
		o.jobEnded(now, outcome.Reason, outcome.Detail)
	default:
		o.decided(now, outcome.Status, outcome.Reason, outcome.Detail)
	}
}

// attach goes on with the job that a person found at the provider.
func (o *Operation) attach(now time.Time, d wire.Decision) {
	s := o.rec.Submission
	s.Job = attachedJob(d, s.Named)
	s.Attached, s.DecidedAt, s.SubmittedAt = true, now.UTC(), nil
	s.Await, s.WaitRunID = wire.AwaitWanted, ""
	o.note(wire.Entry{At: now, Event: wire.EventSubmitted, Reason: d.ProviderJobID, Detail: attachedWord})
	o.goOn()
}

// attachedJob is the job that a person names. Of one that the provider named as well, what its answer said is kept where the
// person says nothing else.
func attachedJob(d wire.Decision, named *wire.SubmittedJob) *wire.SubmittedJob {
	job := &wire.SubmittedJob{ProviderJobID: d.ProviderJobID, StatusURL: d.StatusURL, Params: d.Params}
	if named != nil && named.ProviderJobID == d.ProviderJobID {
		job.StatusURL, job.Params = cmp.Or(d.StatusURL, named.StatusURL), merged(named.Params, d.Params)
	}
	return job
}

// merged are the params of both, the later ones over the earlier; nil where there are none.
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

// resubmit sends it once more as a new generation with a new key, and makes room for that one request.
func (o *Operation) resubmit(now time.Time, d wire.Decision) {
	o.rec.Submission.Before = append(o.rec.Submission.Before, o.replaced(d))
	o.nextGeneration()
	o.rec.Submission.DecidedAt = now.UTC()
	o.rec.LastRawState, o.rec.LastCategory, o.rec.Terminal = "", "", nil
	limits, used := &o.rec.Limits, o.rec.Counters
	limits.MaxStatusRequests = max(limits.MaxStatusRequests, used.StatusRequestsUsed+1)
	limits.MaxTransportFailures = max(limits.MaxTransportFailures, used.TransportFailuresUsed+1)
	limits.MaxRateLimited = max(limits.MaxRateLimited, used.RateLimitedUsed+1)
	length := o.rec.Prepared.Limits.DeadlineAt.Sub(o.rec.OpenedAt)
	limits.DeadlineAt = later(limits.DeadlineAt, ceilMillisecond(now.Add(length)).UTC())
	if business := limits.BusinessDeadlineAt; business != nil && !business.After(now) {
		limits.BusinessDeadlineAt = nil
	}
	o.pollAgain(now)
}

// replaced is the generation that a person has just replaced.
func (o *Operation) replaced(d wire.Decision) wire.EarlierSubmission {
	s, open := o.rec.Submission, o.rec.Escalation
	earlier := wire.EarlierSubmission{
		Generation: s.Generation, Status: closeStatus(open.Reason), Reason: open.Reason, DecidedBy: d.DecidedBy,
	}
	if s.Job != nil {
		earlier.ProviderJobID = s.Job.ProviderJobID
	}
	return earlier
}

// badJobID names what is wrong with a job's id. One that makes a workflow id which the server refuses must not get as far as
// the child: the server would refuse the workflow task that starts it, for ever.
func (o *Operation) badJobID(id string) string {
	if err := checkID("provider_job_id", id); err != nil {
		return err.(*SpecError).Problem //nolint:errorlint,forcetypeassert // checkID makes no other
	}
	spec := o.rec.Prepared.Spec
	if n := len(wire.WorkflowID(spec.Provider, spec.Account, id)); n > wire.MaxWorkflowIDBytes {
		return fmt.Sprintf("provider_job_id gives a workflow id of %d bytes, at most %d are allowed", n, wire.MaxWorkflowIDBytes)
	}
	return ""
}

// badAttachment names what is wrong with the job that a person names. What only the table knows, the wait says.
func (o *Operation) badAttachment(d wire.Decision) string {
	if d.Kind != wire.DecisionAttach {
		return ""
	}
	if bad := o.badJobID(d.ProviderJobID); bad != "" {
		return bad
	}
	if bad := badParams(d.Params); bad != "" || d.StatusURL == "" {
		return bad
	}
	at, err := url.Parse(d.StatusURL)
	switch {
	case len(d.StatusURL) > MaxFetchURLBytes:
		return fmt.Sprintf("status_url has %d bytes, at most %d are allowed", len(d.StatusURL), MaxFetchURLBytes)
	case err != nil || at.Scheme != "https" && at.Scheme != "http" || at.Host == "":
		return "status_url is not absolute, write https://host/path"
	case at.User != nil:
		return "status_url has a user or a password in it"
	default:
		return ""
	}
}

// The bounds of what a person says of a job in params.
const (
	maxAttachedParams = 20
	maxParamName      = 64   // characters
	maxParam          = 1024 // characters
)

// badParams names the first bound that params break. Which of them there are, and how they look, is the table's to say.
func badParams(params map[string]string) string {
	if len(params) > maxAttachedParams {
		return fmt.Sprintf("params has %d entries, at most %d are allowed", len(params), maxAttachedParams)
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if name == "" || params[name] == "" {
			return fmt.Sprintf("params: %q has no name or no value", bounded(name, maxParamName))
		}
		if why := tooLong(givenText{"the name of a param", name, maxParamName}, givenText{"param " + name, params[name], maxParam}); why != "" {
			return why
		}
	}
	return ""
}

// SubmitOutcome is how a submission ended: the outcome of the operation, with what is known of the job.
func (o *Operation) SubmitOutcome(closed wire.Outcome) wire.SubmitOutcome {
	s, facts := o.rec.Submission, o.rec.Prepared.Submission
	outcome := wire.SubmitOutcome{
		Status: closed.Status, Reason: closed.Reason, Detail: closed.Detail, Undecided: closed.Undecided, DecidedBy: closed.DecidedBy,
		SubmissionID: closed.OperationID, Provider: closed.Provider, Account: closed.Account,
		Owner: s.Owner, Wait: s.Wait, Result: closed.Result,
		Fingerprint: facts.Fingerprint, Idempotency: facts.Idempotency, IdempotencyKey: s.Key,
		Generation: s.Generation, Before: s.Before, SubmitRequestsUsed: closed.StatusRequestsUsed,
		OpenedAt: closed.OpenedAt, ClosedAt: closed.ClosedAt, AuditEntries: closed.AuditEntries, AuditHead: closed.AuditHead,
	}
	if s.Wait != nil {
		outcome.Result = s.Wait.Result
	}
	if s.Job != nil {
		outcome.ProviderJobID, outcome.StatusURL = s.Job.ProviderJobID, s.Job.StatusURL
	}
	if s.Await == wire.AwaitEnded || s.Await == wire.AwaitRunning {
		outcome.WaitWorkflowID = wire.WorkflowID(closed.Provider, closed.Account, outcome.ProviderJobID)
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
		Generation: 1, OpenedAt: openedAt.UTC(), ClosedAt: now.UTC(),
	}
}

// submissionView is what queries and messages tell of a submission; nil for a wait.
func (o *Operation) submissionView() *wire.SubmissionView {
	if !o.submits() {
		return nil
	}
	s, facts, spec := o.rec.Submission, o.rec.Prepared.Submission, o.rec.Prepared.Spec
	view := &wire.SubmissionView{
		Fingerprint: facts.Fingerprint, Idempotency: facts.Idempotency, IdempotencyKey: s.Key, Generation: s.Generation,
		Owner: s.Owner, Before: s.Before, MaybeSent: s.MaybeSent && s.Job == nil,
	}
	if s.Job != nil {
		view.ProviderJobID = s.Job.ProviderJobID
	}
	if s.Job != nil && s.Await != "" {
		view.WaitWorkflowID = wire.WorkflowID(spec.Provider, spec.Account, s.Job.ProviderJobID)
	}
	return view
}
