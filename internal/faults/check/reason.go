package check

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/jobwait/jobwait/wire"
)

// extendable are the reasons after which a person may let a wait go on, from the documentation.
var extendable = []wire.Reason{ //nolint:gochecknoglobals // a constant in all but the language
	wire.ReasonDeadlineExceeded, wire.ReasonRetryAfterExceedsDeadline, wire.ReasonRequestBudgetExhausted,
	wire.ReasonTransportBudgetExhausted, wire.ReasonRateLimited, wire.ReasonUnknownState, wire.ReasonNeedsInput,
	wire.ReasonMalformedResponse, wire.ReasonJobNotFound, wire.ReasonIntegrationFailure, wire.ReasonCancelUnconfirmed,
}

// pointless are the reasons after which there is nothing to decide but the end.
var pointless = []wire.Reason{ //nolint:gochecknoglobals // a constant in all but the language
	wire.ReasonProviderFailure, wire.ReasonProviderCancelled, wire.ReasonProviderExpired,
}

// asks: a question comes at once, has a reason that holds, and leaves a choice.
func (s *story) asks(entry wire.Entry) {
	s.atOnce(entry, entry.At)
	reason := wire.Reason(entry.Reason)
	if s.cancels && reason == wire.ReasonCancelUnconfirmed {
		s.say(RuleCancel, "entry %d asks about a cancel that was decided and did not leave", entry.Seq)
	}
	s.planned, s.cancels, s.asked, s.through = nil, false, true, min(s.through, s.reserved)
	if s.activity != wire.ActivityPollStatus {
		return // whose reasons are of another kind
	}
	if why := s.unfounded(reason, entry.At); why != "" {
		s.say(RuleReason, "entry %d asks for %s, and %s", entry.Seq, reason, why)
	}
	if s.Spec.Escalation.EscalateOn == nil && slices.Contains(pointless, reason) {
		s.say(RuleReason, "entry %d asks for %s, where there is nothing to decide", entry.Seq, reason)
	}
	if last := s.last(); last != nil && s.provenFirst(last) {
		s.say(RuleReason, "entry %d asks for %s, and the job had succeeded", entry.Seq, reason)
	}
}

// unfounded says why a reason does not hold at that time; empty: it does, or nobody can tell.
func (s *story) unfounded(reason wire.Reason, at time.Time) string {
	switch reason { //nolint:exhaustive // the others are said by an answer
	case wire.ReasonDeadlineExceeded, wire.ReasonBusinessDeadlineExceeded, wire.ReasonRetryAfterExceedsDeadline:
		return s.hasTime(reason, at)
	case wire.ReasonRequestBudgetExhausted, wire.ReasonTransportBudgetExhausted, wire.ReasonRateLimited:
		return s.hasBudget(reason, at)
	case wire.ReasonCancelUnconfirmed:
		return unless(s.limitsAt(at).cancels > 0, "nobody had decided to cancel")
	case wire.ReasonApprovalRequired:
		return unless(s.Approval != "", "its credential needs no approval")
	case wire.ReasonWaitCancelled:
		return unless(s.told, "nobody has told it to stop")
	case wire.ReasonSubmissionAmbiguous, wire.ReasonSubmissionRefused, wire.ReasonExtensionRequested, wire.ReasonHistoryReset,
		wire.ReasonPollURLRejected:
		return "a wait of this run has no such reason"
	default:
		return s.notSaid(reason)
	}
}

func unless(holds bool, why string) string {
	if holds {
		return ""
	}
	return why
}

// rounding is what the times of the audit and of the limits may differ by.
const rounding = 5 * time.Millisecond

// hasTime says what time is left to a wait that has stopped for none.
func (s *story) hasTime(reason wire.Reason, at time.Time) string {
	allowed := s.limitsAt(at)
	by := allowed.deadline
	if reason == wire.ReasonBusinessDeadlineExceeded {
		if allowed.business == nil {
			return "it has no such deadline"
		}
		by = *allowed.business
	}
	if reason == wire.ReasonRetryAfterExceedsDeadline {
		return unless(s.asksForLonger(at, s.stopAt(at).Add(-rounding)), "no answer has asked for that long")
	}
	return unless(!at.Before(by.Add(-rounding)), "the deadline is "+clock(by))
}

// asksForLonger reports whether an answer has asked to be left alone until then, counted from when the wait stopped: it counts from
// when the wait has learned of it. What others were answered, or a cancel that was held back, explains it too.
func (s *story) asksForLonger(at, until time.Time) bool {
	last := s.last()
	if n := len(s.cancelsBefore(at)); n > 0 || last != nil && last.poll != nil && last.poll.NotSent == wire.NotSentHeldBack {
		return true
	}
	return slices.ContainsFunc(s.heeded(), func(asked wanted) bool { return !at.Add(asked.until.Sub(asked.from)).Before(until) })
}

func (s *story) cancelsBefore(at time.Time) []sending {
	return slices.DeleteFunc(slices.Clone(s.sendings), func(c sending) bool {
		return c.activity != wire.ActivityCancelAtProvider || c.scheduled.After(at)
	})
}

// hasBudget says what is left of a budget for which a wait has stopped.
func (s *story) hasBudget(reason wire.Reason, at time.Time) string {
	allowed := s.limitsAt(at)
	transport, limited := s.failures()
	used, most := s.reserved, allowed.requests
	switch reason { //nolint:exhaustive // the third is the request budget
	case wire.ReasonTransportBudgetExhausted:
		used, most = transport, allowed.transport
	case wire.ReasonRateLimited:
		used, most = limited, allowed.rateLimited
	}
	return unless(used >= most, fmt.Sprintf("%d of %d are used", used, most))
}

// notSaid says what the provider had answered where that is another thing than the reason says.
func (s *story) notSaid(reason wire.Reason) string {
	last := s.last()
	switch {
	case last == nil:
		return "nothing was sent"
	case last.poll != nil && last.poll.NotSent != "":
		return unless(reason == wire.ReasonAuthorizationDenied || reason == wire.ReasonIntegrationFailure, "the last request was not sent: "+string(last.poll.NotSent))
	case last.request == nil:
		return "the last request has not come to the provider"
	default:
		return unless(s.says(reason, last), fmt.Sprintf("the provider had answered %d, state %q", last.request.Status, last.request.State))
	}
}

// says reports whether an answer can be the cause of a reason.
func (s *story) says(reason wire.Reason, last *sending) bool {
	status, state := last.request.Status, last.request.State
	of := map[wire.Reason]string{
		wire.ReasonNeedsInput: "awaiting_review", wire.ReasonPartialResult: "partially_succeeded", wire.ReasonProviderFailure: "failed",
		wire.ReasonProviderCancelled: "cancelled", wire.ReasonProviderExpired: "expired",
	}
	switch reason { //nolint:exhaustive // the others are one word of the provider each, or not an answer's
	case wire.ReasonUnknownState:
		return status == http.StatusOK && !slices.Contains(listed, state)
	case wire.ReasonContradictoryResponse:
		return status == http.StatusOK && !s.provenFirst(last)
	case wire.ReasonMalformedResponse:
		return status == http.StatusOK
	case wire.ReasonAuthorizationDenied:
		return status == http.StatusUnauthorized || status == http.StatusForbidden
	case wire.ReasonJobNotFound:
		return status == http.StatusNotFound || status == http.StatusGone
	case wire.ReasonIntegrationFailure:
		return status != http.StatusOK && status != http.StatusUnauthorized && status != http.StatusTooManyRequests && status < http.StatusInternalServerError
	default:
		return status == http.StatusOK && of[reason] == state && state != ""
	}
}

// listed are the states of demo-export, from the provider's documentation.
var listed = append([]string{ //nolint:gochecknoglobals // a constant in all but the language
	"succeeded", "partially_succeeded", "failed", "cancelled", "expired", "awaiting_review",
}, waits...)

// provenFirst reports whether an answer is the job's success, with its result, and nothing else had been said of its end.
func (s *story) provenFirst(last *sending) bool {
	job := last.read()
	if job == nil || last.request == nil || last.request.State != "succeeded" || len(job.Result) == 0 {
		return false
	}
	polls := s.polls()
	return !slices.ContainsFunc(polls[:s.reserved-1], func(before sending) bool {
		said := before.read()
		return said != nil && slices.Contains([]string{"partially_succeeded", "failed", "cancelled", "expired"}, said.RawState)
	})
}
