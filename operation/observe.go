package operation

import (
	"slices"
	"strconv"
	"time"

	"github.com/jobwait/jobwait/wire"
)

// clockTolerance is how far a provider's clock may be off before a pending answer contradicts its own expiry (R5).
const clockTolerance = 30 * time.Second

// verdict is what one answer means for the wait.
type verdict struct {
	kind   verdictKind
	reason wire.Reason
	detail string
}

type verdictKind int

const (
	waits verdictKind = iota
	succeeds
	stops
)

// terminal reports whether the provider has said how the job ended, and is believed.
func (v verdict) terminal() bool {
	return v.kind == succeeds || v.kind == stops && closeStatus(v.reason) != wire.StatusUnresolved
}

func stopFor(reason wire.Reason, detail string) verdict { return verdict{stops, reason, detail} }

// StatusAnswered handles the result of the status request in flight.
func (o *Operation) StatusAnswered(now time.Time, result wire.PollResult) {
	o.inFlight = nothing
	if result.NotSent != "" {
		o.notSent(now, result.Withheld, result.HeldBack)
		return
	}
	if result.Observation == nil {
		// An unreadable result leaves the request where a lost worker leaves it: it may have been sent (R32).
		result.Observation = &wire.Observation{Answer: wire.AnswerTransportFailure, Detail: wire.TransportLost}
	}
	o.observed(now, *result.Observation, result.HeldBack)
}

func (o *Operation) observed(now time.Time, seen wire.Observation, held *wire.HeldBack) {
	o.rec.LastObservation, o.rec.LastAnsweredAt = &seen, now
	o.count(seen)
	o.learnApproval(seen)
	found := o.judge(now, seen)
	before, changed := o.remember(seen)
	o.noteAnswer(now, seen, held)
	if changed {
		o.note(wire.Entry{At: now, Event: wire.EventStateChanged, Detail: before, TableDigest: seen.TableDigest})
	}
	o.heed(now, seen.Guidance)
	o.follow(now, seen, found)
}

// follow acts on the verdict. A cancel that is decided but not sent yet takes precedence, unless the job is over.
func (o *Operation) follow(now time.Time, seen wire.Observation, found verdict) {
	if found.terminal() {
		o.noteLate(seen)
	}
	switch {
	case found.kind == succeeds:
		o.succeed(now, seen)
	case o.stopping:
		o.stoppedWith(now, found)
	case o.rec.Cancel == wire.CancelWanted && !ended(seen):
	case found.kind == stops:
		o.stop(now, found.reason, found.detail)
	default:
		o.planNext(now, seen.Guidance, seen.Answer == wire.AnswerRateLimited)
	}
}

// ended reports whether the answer says that the job is over, believed or not.
func ended(seen wire.Observation) bool {
	return seen.Answer == wire.AnswerRead && seen.Job != nil && !seen.Job.OtherJob && seen.Job.Category.Terminal()
}

// stoppedWith ends a wait that was told to stop: a terminal answer decides, nothing else does (R48).
func (o *Operation) stoppedWith(now time.Time, found verdict) {
	if found.terminal() {
		o.decided(now, closeStatus(found.reason), found.reason, found.detail)
		return
	}
	o.decided(now, wire.StatusUnresolved, wire.ReasonWaitCancelled, "")
}

// count charges the budgets: a failure costs one unit, a good answer gives nothing back (R11).
func (o *Operation) count(seen wire.Observation) {
	o.rec.Answers[answerKey(seen)]++
	switch seen.Answer {
	case wire.AnswerTransportFailure, wire.AnswerServerError:
		o.rec.Counters.TransportFailuresUsed++
	case wire.AnswerRateLimited:
		o.rec.Counters.RateLimitedUsed++
	case wire.AnswerDenied, wire.AnswerNotFound, wire.AnswerUnexpected, wire.AnswerMalformed, wire.AnswerRead:
	default:
	}
}

// answerKey names a kind of answer in the counts people see: the status code, else the kind of transport failure.
func answerKey(seen wire.Observation) string {
	if seen.HTTPStatus != 0 {
		return strconv.Itoa(seen.HTTPStatus)
	}
	if seen.Detail != "" {
		return seen.Detail
	}
	return string(seen.Answer)
}

// judge reads an answer in the order of R12: first what HTTP says, then what the job says, then the failure budgets.
func (o *Operation) judge(now time.Time, seen wire.Observation) verdict {
	switch seen.Answer {
	case wire.AnswerRead:
		return o.judgeJob(now, seen)
	case wire.AnswerDenied:
		return stopFor(wire.ReasonAuthorizationDenied, "")
	case wire.AnswerNotFound:
		return stopFor(wire.ReasonJobNotFound, "")
	case wire.AnswerMalformed:
		return stopFor(wire.ReasonMalformedResponse, seen.Detail)
	case wire.AnswerUnexpected:
		return stopFor(wire.ReasonIntegrationFailure, seen.Detail)
	case wire.AnswerTransportFailure, wire.AnswerServerError:
		return o.judgeTransport(seen)
	case wire.AnswerRateLimited:
		if o.rec.Counters.RateLimitedUsed >= o.rec.Limits.MaxRateLimited {
			return stopFor(wire.ReasonRateLimited, "")
		}
		return verdict{}
	default:
		// A word from another version of the worker is not a reason to go on asking.
		return stopFor(wire.ReasonIntegrationFailure, "unknown answer "+strconv.Quote(string(seen.Answer)))
	}
}

func (o *Operation) judgeTransport(seen wire.Observation) verdict {
	if o.rec.Counters.TransportFailuresUsed < o.rec.Limits.MaxTransportFailures {
		return verdict{}
	}
	if ambiguous(seen) {
		return stopFor(wire.ReasonTransportBudgetExhausted, wire.DetailAmbiguousDelivery)
	}
	return stopFor(wire.ReasonTransportBudgetExhausted, "")
}

// ambiguous reports whether the request may have been delivered although no answer came. It cannot have been if it timed out before
// anything was sent.
func ambiguous(seen wire.Observation) bool {
	return seen.Detail == wire.TransportLost || seen.Detail == wire.TransportTimeout && seen.SentAt != nil
}

// judgeJob judges the job fact: is it the right job, does it agree with an earlier terminal reading, and then its category.
func (o *Operation) judgeJob(now time.Time, seen wire.Observation) verdict {
	job := seen.Job
	switch {
	case job == nil:
		return stopFor(wire.ReasonMalformedResponse, "")
	case job.OtherJob:
		return stopFor(wire.ReasonContradictoryResponse, wire.DetailOtherJob)
	case o.regressed(*job):
		return stopFor(wire.ReasonContradictoryResponse, wire.DetailStateRegressed)
	default:
		return o.judgeCategory(now, seen)
	}
}

func (o *Operation) judgeCategory(now time.Time, seen wire.Observation) verdict {
	switch job := *seen.Job; job.Category {
	case wire.CategoryPending, wire.CategoryCancelling:
		return o.judgePending(now, seen)
	case wire.CategorySuccess:
		return o.judgeSuccess(job)
	case wire.CategoryPartial:
		return o.judgePartial(job)
	case wire.CategoryFailure:
		return stopFor(wire.ReasonProviderFailure, "")
	case wire.CategoryCancelled:
		return stopFor(wire.ReasonProviderCancelled, "")
	case wire.CategoryExpired:
		return stopFor(wire.ReasonProviderExpired, "")
	case wire.CategoryNeedsInput:
		return stopFor(wire.ReasonNeedsInput, "")
	case wire.CategoryUnknown:
		return o.judgeUnknown(now, seen)
	default:
		return stopFor(wire.ReasonUnknownState, "")
	}
}

// judgeUnknown stops, unless a person has decided to treat this very state as pending.
func (o *Operation) judgeUnknown(now time.Time, seen wire.Observation) verdict {
	if slices.Contains(o.rec.Overrides, seen.Job.RawState) {
		return o.judgePending(now, seen)
	}
	return stopFor(wire.ReasonUnknownState, "")
}

// judgePending stops for a job that is pending after the provider's own expiry (R5), and for a next URL that the table does not accept
// (R51).
func (o *Operation) judgePending(now time.Time, seen wire.Observation) verdict {
	expires := seen.Job.ExpiresAt
	if expires == nil {
		expires = o.rec.Prepared.Spec.ProviderExpiresAt
	}
	if expires != nil && receivedAt(now, seen).After(expires.Add(clockTolerance)) {
		return stopFor(wire.ReasonContradictoryResponse, wire.DetailPastProviderExpiry)
	}
	if seen.NextURLRejected {
		return stopFor(wire.ReasonPollURLRejected, "next_url")
	}
	return verdict{}
}

// judgeSuccess accepts a success only if its requirements hold and the caller expects its state (R4).
func (o *Operation) judgeSuccess(job wire.JobFact) verdict {
	expected := o.rec.Prepared.Spec.ExpectedStates
	switch {
	case len(job.Unproven) > 0:
		return stopFor(wire.ReasonContradictoryResponse, wire.DetailSuccessWithoutResult)
	case len(expected) > 0 && !slices.Contains(expected, job.RawState):
		return stopFor(wire.ReasonContradictoryResponse, wire.DetailUnexpectedSuccessState)
	default:
		return verdict{kind: succeeds}
	}
}

func (o *Operation) judgePartial(job wire.JobFact) verdict {
	if !o.rec.Prepared.Spec.AcceptPartial {
		return stopFor(wire.ReasonPartialResult, "")
	}
	return o.judgeSuccess(job)
}

// regressed reports whether a reading contradicts the first terminal one (R13). Only an unproven success may still become a proven one.
func (o *Operation) regressed(job wire.JobFact) bool {
	first := o.rec.Terminal
	return first != nil && job.Category != first.Category
}

// remember records what later answers are compared with and what later requests need. It returns the previous state, and whether this
// answer changed it.
func (o *Operation) remember(seen wire.Observation) (before string, changed bool) {
	if seen.Answer == wire.AnswerDenied {
		o.deny(seen.CredentialRef, seen.CredentialVersion)
	}
	if notFound(seen) {
		o.rec.NotFound++
	}
	if seen.Answer != wire.AnswerRead || seen.Job == nil || seen.Job.OtherJob {
		return "", false
	}
	o.rec.Answered = o.rec.Answered || !notFound(seen)
	if seen.NextStatusURL != "" {
		o.rec.NextStatusURL = seen.NextStatusURL
	}
	return o.rememberState(*seen.Job)
}

func (o *Operation) rememberState(job wire.JobFact) (before string, changed bool) {
	if job.Category.Terminal() && o.rec.Terminal == nil {
		o.rec.Terminal = &wire.Terminal{
			RawState: job.RawState, Category: job.Category, Unproven: len(job.Unproven) > 0,
		}
	}
	before = o.rec.LastRawState
	changed = job.RawState != before || job.Category != o.rec.LastCategory
	o.rec.LastRawState, o.rec.LastCategory = job.RawState, job.Category
	return before, changed
}

func notFound(seen wire.Observation) bool {
	return seen.HTTPStatus == 404 || seen.HTTPStatus == 410
}

func (o *Operation) deny(ref, version string) {
	denied := wire.CredentialVersion{Ref: ref, Version: version}
	if !slices.Contains(o.rec.Denied, denied) {
		o.rec.Denied = append(o.rec.Denied, denied)
	}
}

// noteLate marks a terminal answer that came after the deadline its request was sent before (R25).
func (o *Operation) noteLate(seen wire.Observation) {
	deadline, _ := o.deadline()
	if seen.ReceivedAt != nil && !seen.ReceivedAt.Before(deadline) {
		o.annotate(wire.NoteAnsweredAfterDeadline)
	}
}

func (o *Operation) annotate(word string) {
	if !slices.Contains(o.rec.Notes, word) {
		o.rec.Notes = append(o.rec.Notes, word)
	}
}

// notSent handles a request that was not sent. Its reservation stays used (R24).
func (o *Operation) notSent(now time.Time, why wire.Withheld, held *wire.HeldBack) {
	o.note(wire.Entry{
		At: now, Event: wire.EventRequestNotSent, Reason: string(why.NotSent), Detail: withHeldBack(why.Detail, now, held, nil),
	})
	o.rec.Nudges.NotBefore = now.Add(o.minDelay())
	switch why.NotSent { //nolint:exhaustive // the others are withheld's
	case wire.NotSentTooLate:
		if deadline, _ := o.deadline(); deadline.After(o.startBy) { // a proposal was granted meanwhile
			o.planNext(now, wire.Guidance{}, false)
			return
		}
		// Nothing can leave before the deadline any more, nudged or not; Next escalates there.
		deadline, _ := o.deadline()
		o.rec.Poll, o.rec.Nudges.NotBefore = nil, later(o.rec.Nudges.NotBefore, deadline)
	case wire.NotSentHistoryReset:
		o.reset(now, why.RunID)
	case wire.NotSentHeldBack:
		o.heldBack(now, why.HeldUntil)
	default:
		o.withheld(now, why)
	}
}

// heldBack handles a request that was held back for too long, or that was withdrawn. The time before which the provider told another
// wait not to ask applies here too (R16), and if it is not before the deadline, the wait stops as for a Retry-After of its own
// (R19).
func (o *Operation) heldBack(now time.Time, until *time.Time) {
	o.keepAway(until)
	deadline, _ := o.deadline()
	switch {
	case o.stopping, o.rec.Cancel == wire.CancelWanted: // Next does what the request was withdrawn for
	case !o.rec.ProviderMinimum.Before(deadline) && now.Before(deadline):
		o.stop(now, wire.ReasonRetryAfterExceedsDeadline, timestamp(o.rec.ProviderMinimum))
	default:
		o.planNext(now, wire.Guidance{}, false)
	}
}

// keepAway records a time before which the provider does not want to be asked.
func (o *Operation) keepAway(until *time.Time) {
	if until != nil {
		o.rec.ProviderMinimum = later(o.rec.ProviderMinimum, *until)
	}
}

// withheld stops the wait because a request of any kind must not be sent.
func (o *Operation) withheld(now time.Time, why wire.Withheld) {
	word := string(why.NotSent)
	switch why.NotSent {
	case wire.NotSentCredentialDenied:
		o.deny(o.rec.CredentialRef, why.CredentialVersion)
		o.stop(now, wire.ReasonAuthorizationDenied, word)
	case wire.NotSentCredentialUnresolved:
		o.stop(now, wire.ReasonAuthorizationDenied, word)
	case wire.NotSentURLRejected:
		o.stop(now, wire.ReasonPollURLRejected, why.Detail)
	case wire.NotSentApprovalRequired:
		o.mustApprove(now, why.Detail)
	case wire.NotSentTableMissing, wire.NotSentTooLate, wire.NotSentHistoryReset, wire.NotSentHeldBack:
		o.stop(now, wire.ReasonIntegrationFailure, word)
	default:
		o.stop(now, wire.ReasonIntegrationFailure, word)
	}
}

// reset stops a run that was found to be a reset: its counters may be older than what the provider saw (R31).
func (o *Operation) reset(now time.Time, runID string) {
	o.rec.ResetRunID = runID
	if o.submits() {
		o.rec.Submission.MaybeSent = true // by the run that was reset
		o.keyUsed(o.rec.OpenedAt)
	}
	o.stop(now, wire.ReasonHistoryReset, "")
}

func receivedAt(now time.Time, seen wire.Observation) time.Time {
	if seen.ReceivedAt != nil {
		return *seen.ReceivedAt
	}
	return now
}
