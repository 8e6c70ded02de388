package operation

import (
	"fmt"
	"time"

	"github.com/jobwait/jobwait/wire"
)

// A key that the provider has forgotten lets two requests make two jobs. The end of a key is counted from the first request that
// may have arrived with it, whatever its answer, and acts like a deadline for repetitions.

// keyUsed records that a request with this generation's key may have been sent at a time. Only the first one counts.
func (o *Operation) keyUsed(at time.Time) {
	if s := o.rec.Submission; o.rec.Prepared.Submission.KeySeconds > 0 && s.KeyUsedAt.IsZero() {
		s.KeyUsedAt = at.UTC()
	}
}

// learnKeyUse records when the answered request was sent. If that is not known, the time of its reservation is a lower bound.
func (o *Operation) learnKeyUse(result wire.SubmitResult) {
	switch at := result.Observation.SentAt; {
	case result.Verdict == wire.SubmitNeverLeft:
	case at != nil:
		o.keyUsed(*at)
	default:
		o.keyUsed(o.reservedAt)
	}
}

// wasReset reports whether this run or one that it continues was made by a reset.
func (o *Operation) wasReset() bool {
	return o.rec.ResetRunID != "" || len(o.rec.AcknowledgedRuns) > 0
}

// keyEnd returns the time from which a request that may have made a job is not repeated. It is one request timeout before the
// provider forgets the key, because the request could arrive that late. ends is false if there is no such request, or if the key
// has no end.
func (o *Operation) keyEnd() (end time.Time, ends bool) {
	s, facts := o.rec.Submission, o.rec.Prepared.Submission
	if s == nil || facts.KeySeconds == 0 || !s.MaybeSent || s.Job != nil {
		return time.Time{}, false
	}
	known := seconds(int64(facts.KeySeconds)) - seconds(int64(o.rec.Prepared.Pace.RequestTimeoutSeconds))
	return s.KeyUsedAt.Add(known), true
}

// keySpent reports whether the same key must not be used again, so that the submission is handled like one without a key.
func (o *Operation) keySpent(now time.Time) bool {
	end, ends := o.keyEnd()
	return ends && !o.soonestGrant(now).Before(end)
}

// repeatsTooLate refuses a grant of time if the key has none left.
func (o *Operation) repeatsTooLate(now time.Time, d wire.Decision) string {
	if d.Kind != wire.DecisionExtend || !o.keySpent(now) {
		return ""
	}
	end, _ := o.keyEnd()
	return fmt.Sprintf("%s sends it again with its key, which the provider may have forgotten by then: not after %s; attach the job, or resubmit", d.Kind, timestamp(end))
}
