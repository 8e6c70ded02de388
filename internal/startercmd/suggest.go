package startercmd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobwait/jobwait/wire"
)

// What a suggested grant gives: enough to see whether it helps.
const (
	suggestedSpan     = 15 * time.Minute
	suggestedRequests = 4
	suggestedFailures = 3
)

// suggestion is one answer as it would be typed, and as it would be accepted now; empty when nothing is offered.
func suggestion(name string, view wire.OperationView, now time.Time) string {
	open := *question(view)
	option, ok := sensible(open)
	if !ok {
		return ""
	}
	command := strings.ReplaceAll(string(option.Kind), "_", "-")
	text := fmt.Sprintf("answer for instance with: %s %s '%s' --comment WHY", name, command, open.ID)
	if open.Request != nil {
		return text + wantedText(*open.Request)
	}
	switch option.Kind { //nolint:exhaustive // the kinds that need more than a comment
	case wire.DecisionUseCredential:
		text += " --credential NAME"
	case wire.DecisionAttach:
		return text + " --provider-job ID"
	case wire.DecisionExtend, wire.DecisionTreatAsPending:
	default:
		return text
	}
	return text + grantText(view, option, now)
}

// wantedText grants what a proposal asks for.
func wantedText(request wire.ExtensionRequest) string {
	text := ""
	if request.Seconds > 0 {
		text += " --for " + spanFlag(request.Seconds)
	}
	if request.StatusRequests > 0 {
		text += fmt.Sprintf(" --requests %d", request.StatusRequests)
	}
	return text
}

// sensible is the offered option that changes least. A cancel may destroy what the job has done, so it is never the example.
func sensible(open wire.EscalationView) (wire.Option, bool) {
	kinds := []wire.DecisionKind{
		wire.DecisionApproveRequest, wire.DecisionUseCredential, wire.DecisionExtend, wire.DecisionTreatAsPending, wire.DecisionAcceptResult, wire.DecisionAttach, wire.DecisionClose,
	}
	if open.Reason == wire.ReasonUnknownState { // looking again helps only once the table is corrected
		kinds = slices.Insert(kinds, 0, wire.DecisionTreatAsPending)
	}
	for _, kind := range kinds {
		if i := slices.IndexFunc(open.Options, func(o wire.Option) bool { return o.Kind == kind }); i >= 0 {
			return open.Options[i], true
		}
	}
	return wire.Option{}, false
}

// sensibleGrant gives what the wait has used up, and for kinds that are about time a little besides (R41).
func sensibleGrant(view wire.OperationView, option wire.Option, now time.Time) wire.Decision {
	spare := option.Kind != wire.DecisionUseCredential
	used, limits := view.Counters, view.Limits
	some := func(used, limit, ask, most int, always bool) int {
		missing := used - limit + 1
		if !always && missing <= 0 {
			return 0
		}
		return max(min(max(ask, missing), most), 0)
	}
	business := limits.BusinessDeadlineAt
	return wire.Decision{
		Kind:                 option.Kind,
		Seconds:              max(min(spanNeeded(view, spare, now), option.MaxSeconds), 0),
		StatusRequests:       some(used.StatusRequestsUsed, limits.MaxStatusRequests, suggestedRequests, option.MaxStatusRequests, spare),
		TransportFailures:    some(used.TransportFailuresUsed, limits.MaxTransportFailures, suggestedFailures, option.MaxTransportFailures, false),
		RateLimited:          some(used.RateLimitedUsed, limits.MaxRateLimited, suggestedFailures, option.MaxRateLimited, false),
		PastBusinessDeadline: business != nil && !business.After(soonest(view, now)) && option.MaxSeconds > 0,
	}
}

// grantText is a grant as flags.
func grantText(view wire.OperationView, option wire.Option, now time.Time) string {
	grant, text := sensibleGrant(view, option, now), ""
	if grant.Seconds > 0 {
		text += " --for " + spanFlag(grant.Seconds)
	}
	for _, budget := range []struct {
		flag string
		n    int
	}{{"requests", grant.StatusRequests}, {"transport-failures", grant.TransportFailures}, {"rate-limited", grant.RateLimited}} {
		if budget.n > 0 {
			text += fmt.Sprintf(" --%s %d", budget.flag, budget.n)
		}
	}
	if grant.PastBusinessDeadline {
		text += " --past-business-deadline"
	}
	return text
}

// spanNeeded is 0 where the deadline leaves time enough and none is given to spare.
func spanNeeded(view wire.OperationView, spare bool, now time.Time) int {
	first := soonest(view, now)
	if !spare && view.Limits.DeadlineAt.After(first.Add(time.Minute)) {
		return 0
	}
	wait := first.Sub(now)
	if whole := wait.Truncate(time.Minute); whole < wait {
		wait = whole + time.Minute
	}
	return int((wait + suggestedSpan) / time.Second)
}

// soonest is when the provider takes the next request.
func soonest(view wire.OperationView, now time.Time) time.Time {
	seen := view.LastObservation
	if seen == nil || seen.ReceivedAt == nil || seen.Guidance.RetryAfterSeconds == nil {
		return now
	}
	minimum := seen.ReceivedAt.Add(time.Duration(*seen.Guidance.RetryAfterSeconds) * time.Second)
	if minimum.Before(now) {
		return now
	}
	return minimum
}

func spanFlag(seconds int) string {
	if seconds%60 == 0 {
		return fmt.Sprintf("%dm", seconds/60)
	}
	return fmt.Sprintf("%ds", seconds)
}
