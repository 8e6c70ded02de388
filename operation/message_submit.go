package operation

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/jobwait/jobwait/wire"
)

// submission says of a submission what the lines about a job say of a wait.
func (f *facts) submission(b wire.Briefing) {
	s := b.Submission
	f.add("submission", "generation %d to %s, account %s; job: %s", s.Generation, b.Provider, b.Account, cmp.Or(s.ProviderJobID, "none known"))
	f.add("request", "%s, idempotency %s", s.Fingerprint, keyText(s))
	if s.RepeatBefore != nil {
		f.add("sent again", "not after %s, when the provider may forget the key", timestamp(*s.RepeatBefore))
	}
	if s.WaitWorkflowID != "" {
		f.add("waited for by", "%s", s.WaitWorkflowID)
	}
	f.add("since", "%s, %s ago, submit by %s", timestamp(b.OpenedAt), Span(b.At.Sub(b.OpenedAt)), deadlinesText(b.Limits))
	f.add("requests to submit", "%d of %d (answers: %s)", b.Counters.StatusRequestsUsed, b.Limits.MaxStatusRequests, cmp.Or(AnswersText(b.Answers), "none"))
	for _, earlier := range s.Before {
		f.add("before", "generation %d, job %s, %s, replaced by %s", earlier.Generation, cmp.Or(earlier.ProviderJobID, "unknown"), earlier.Reason, earlier.DecidedBy)
	}
	if s.Predecessor != nil {
		f.add("in place of", "%s", ReplacedText(*s.Predecessor))
	}
}

func keyText(s *wire.SubmissionView) string {
	if s.IdempotencyKey == "" {
		return string(s.Idempotency)
	}
	return string(s.Idempotency) + ", key " + s.IdempotencyKey
}

func submissionHeadline(b wire.Briefing) string {
	why := reasonText(b.Escalation.Reason, b.Escalation.Detail)
	switch {
	case b.Submission.ProviderJobID != "":
		return "the submitted job needs a decision: " + why
	case b.Submission.MaybeSent:
		return "submitted, and it is not known whether there is a job: " + why
	default:
		return "not submitted: " + why
	}
}

// submissionCheck is what to look at before answering; empty where it is the same as for a wait.
func submissionCheck(b wire.Briefing, open wire.Escalation) string {
	look := "look at the provider's list of jobs"
	if key := b.Submission.IdempotencyKey; key != "" {
		look += " for key " + key + ","
	}
	switch open.Reason { //nolint:exhaustive // the others read as for a wait
	case wire.ReasonSubmissionAmbiguous, wire.ReasonHistoryReset:
		return look + " from " + timestamp(b.OpenedAt) + " on: if the job is there, attach it; resubmit only if it is not."
	case wire.ReasonSubmissionRefused:
		return "why did the provider refuse it? The same request is refused again unless something changes there."
	case wire.ReasonProviderFailure, wire.ReasonProviderExpired:
		return "why did the job end like that? A new one may cost as much and end the same."
	case wire.ReasonDeadlineExceeded, wire.ReasonBusinessDeadlineExceeded:
		if job := b.Submission.ProviderJobID; job != "" {
			return "is it still wanted? Job " + job + " was submitted, and its answer came after the deadline: attach it to wait for it all the same."
		}
		return "is it still wanted? Nothing was submitted."
	case wire.ReasonPollURLRejected:
		return "job " + b.Submission.ProviderJobID + " was submitted, and its answer does not say how to ask for it as the state table demands: attach it with what the provider's console shows."
	case wire.ReasonRequestBudgetExhausted:
		return "why did none of the requests leave?"
	case wire.ReasonIntegrationFailure:
		return "the worker cannot submit this, or not wait for what came of it; is the state table right for this API?"
	default:
		return ""
	}
}

// submissionOption is the cost and effect of an option; empty where it is the same as for a wait.
func submissionOption(b wire.Briefing, option wire.Option) string {
	next := b.Submission.Generation + 1
	switch option.Kind { //nolint:exhaustive // the others read as for a wait
	case wire.DecisionAttach:
		return "wait for the job whose provider_job_id you give (and status_url or params, where the answer has them); nothing is submitted"
	case wire.DecisionResubmit:
		return fmt.Sprintf("submit it once more, as generation %d with a new key; if generation %d has made a job, there are TWO", next, next-1)
	case wire.DecisionExtend:
		text := fmt.Sprintf("go on submitting for up to %s with up to %d more requests", Span(time.Duration(option.MaxSeconds)*time.Second), option.MaxStatusRequests)
		if b.Submission.MaybeSent {
			text += ", with the same key, under which the provider makes one job only"
		}
		return text + "; counts as an extension"
	case wire.DecisionUseCredential:
		if b.Submission.MaybeSent { // a key is known to the account that it came from
			return credentialText(option) + "; of another account at the provider, the key is not known there: if generation " + strconv.Itoa(next-1) + " has made a job, there are TWO"
		}
		return ""
	case wire.DecisionApproveRequest:
		return fmt.Sprintf("submit with credential %q", b.CredentialRef)
	case wire.DecisionClose:
		return fmt.Sprintf("end it; ends %s, and nothing is done at the provider", closeStatus(b.Escalation.Reason))
	default:
		return ""
	}
}
