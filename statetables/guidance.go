package statetables

import (
	"errors"

	"github.com/jobwait/jobwait/wire"
)

// handedOut reads the URL for the next poll, which matters only where the wait goes on.
func (r *reader) handedOut(into *wire.Observation) {
	if r.table.nextURL == nil || into.Job == nil || !into.Job.Category.Waits() {
		return
	}
	value, err := r.table.nextURL.eval(r.in)
	if errors.Is(err, errAbsent) || err == nil && (value == nil || value == "") {
		return
	}
	text, ok := value.(string)
	if !ok || !r.accepts(text) {
		into.NextURLRejected = true
		return
	}
	into.NextStatusURL = text
}

func (r *reader) accepts(address string) bool {
	origins, err := r.table.origins(valuesOf(r.asked, r.table.defaults))
	if err != nil {
		return false
	}
	_, err = acceptURL(address, origins)
	return err == nil
}

// guidance reads when the provider wants to be asked again: Retry-After, and the hints that the table names.
func (r *reader) guidance() wire.Guidance {
	var found wire.Guidance
	date := headerValue(r.response.Header, "date")
	retryAfter := headerValues(r.response.Header, "retry-after")
	seconds, rejected := ParseRetryAfter(retryAfter, date, r.response.ReceivedAt)
	found.RetryAfterSeconds = seconds
	if rejected != "" {
		found.Rejected = append(found.Rejected, wire.RejectedGuidance{Source: wire.DelayProviderRetryAfter, Detail: rejected})
	}
	found.PollHintSeconds, rejected = r.hint(date)
	if rejected != "" {
		found.Rejected = append(found.Rejected, wire.RejectedGuidance{Source: wire.DelayProviderPollHint, Detail: rejected})
	}
	return found
}

// hint is the largest of the hints that the answer gives.
func (r *reader) hint(date string) (seconds *int64, rejected string) {
	base := r.response.ReceivedAt
	if own, ok := parseHTTPDate(date, base); ok {
		base = own
	}
	for _, hint := range r.table.hints {
		value, err := hint.read.eval(r.in)
		if errors.Is(err, errAbsent) || err == nil && value == nil {
			continue
		}
		found, word := parseHint(value, hint.unit, base)
		if found != nil && hint.atMost != nil {
			*found = min(*found, int64(*hint.atMost))
		}
		seconds, rejected = largest(seconds, rejected, found, word)
	}
	return seconds, rejected
}
