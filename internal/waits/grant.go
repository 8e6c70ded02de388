package waits

import (
	"time"

	"github.com/jobwait/jobwait/wire"
)

// What a suggested grant gives: enough to see whether it helps.
const (
	suggestedSpan     = 15 * time.Minute
	suggestedRequests = 4
	suggestedFailures = 3
)

// SuggestGrant is a grant to begin with when a question is answered by an option: what a proposal asks for; else what the wait
// has used up and, with kinds that are about time, a little besides. The wait takes it (R41) unless the option's maxima allow
// too little.
func SuggestGrant(view wire.OperationView, open wire.EscalationView, option wire.Option, now time.Time) wire.Decision {
	if wanted := open.Request; wanted != nil {
		return wire.Decision{Seconds: min(wanted.Seconds, option.MaxSeconds), StatusRequests: min(wanted.StatusRequests, option.MaxStatusRequests)}
	}
	spare := option.Kind != wire.DecisionUseCredential
	used, limits := view.Counters, view.Limits
	business := limits.BusinessDeadlineAt
	return wire.Decision{
		Seconds:              max(min(spanNeeded(view, spare, now), option.MaxSeconds), 0),
		StatusRequests:       some(used.StatusRequestsUsed, limits.MaxStatusRequests, suggestedRequests, option.MaxStatusRequests, spare),
		TransportFailures:    some(used.TransportFailuresUsed, limits.MaxTransportFailures, suggestedFailures, option.MaxTransportFailures, false),
		RateLimited:          some(used.RateLimitedUsed, limits.MaxRateLimited, suggestedFailures, option.MaxRateLimited, false),
		PastBusinessDeadline: business != nil && !business.After(soonest(view, now)) && option.MaxSeconds > 0,
	}
}

// some is how many more of a budget to give: none where there is one left and none is given to spare.
func some(used, limit, usual, most int, spare bool) int {
	missing := used - limit + 1
	if !spare && missing <= 0 {
		return 0
	}
	return max(min(max(usual, missing), most), 0)
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
