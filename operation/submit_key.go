package operation

import (
	"fmt"
	"time"

	"github.com/jobwait/jobwait/wire"
)

// A key that the provider forgets makes two jobs of two requests. Its end is counted from the first request that may have
// arrived with it, whatever that was answered, and counts like a deadline for all that repeat it.

// keyUsed takes in that a request with this generation's key may have left at a time. The first counts.
func (o *Operation) keyUsed(at time.Time) {
	if s := o.rec.Submission; o.rec.Prepared.Submission.KeySeconds > 0 && s.KeyUsedAt.IsZero() {
		s.KeyUsedAt = at.UTC()
	}
}

// learnKeyUse notes when the request that was answered left. Where that is not known it left after it was reserved.
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

// keyEnd is when a request that may have made a job is not sent again any more: by its time-out before the provider forgets the
// key, it could arrive after that. It is false where there is no such request, or no such end.
func (o *Operation) keyEnd() (end time.Time, ends bool) {
	s, facts := o.rec.Submission, o.rec.Prepared.Submission
	if s == nil || facts.KeySeconds == 0 || !s.MaybeSent || s.Job != nil {
		return time.Time{}, false
	}
	known := seconds(int64(facts.KeySeconds)) - seconds(int64(o.rec.Prepared.Pace.RequestTimeoutSeconds))
	return s.KeyUsedAt.Add(known), true
}

// keySpent reports whether the same key must not go out again, so that the submission counts as one without a key.
func (o *Operation) keySpent(now time.Time) bool {
	end, ends := o.keyEnd()
	return ends && !o.soonestGrant(now).Before(end)
}

// repeatsTooLate refuses a grant of time to a key that has none left.
func (o *Operation) repeatsTooLate(now time.Time, d wire.Decision) string {
	if d.Kind != wire.DecisionExtend || !o.keySpent(now) {
		return ""
	}
	end, _ := o.keyEnd()
	return fmt.Sprintf("%s sends it again with its key, which the provider may have forgotten by then: not after %s; attach the job, or resubmit", d.Kind, timestamp(end))
}
