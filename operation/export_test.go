package operation

import (
	"time"

	"github.com/jobwait/jobwait/wire"
)

// Bounds of a spec.
const (
	MaxDelaySeconds    = maxDelaySeconds
	MaxExpectedSeconds = maxExpectedSeconds
)

// AppendCanonical appends an entry's canonical JSON without its hash.
func AppendCanonical(dst []byte, e wire.Entry) []byte { return appendCanonical(dst, e) }

// SubmissionKey is the idempotency key of one generation.
func SubmissionKey(workflowID string, generation, most int) string {
	return submissionKey(workflowID, generation, most)
}

// RawDelay is the undrawn local delay after so many completed polls.
func RawDelay(pace wire.Pace, completed int) time.Duration {
	return atPoll(pace, completed).rawDelay()
}

// LocalDelay is the undrawn local delay at an age of the job.
func LocalDelay(pace wire.Pace, completed int, age time.Duration) time.Duration {
	op := atPoll(pace, completed)
	op.rec.OpenedAt = time.Date(2025, 4, 18, 10, 20, 0, 0, time.UTC)
	return op.localDelay(op.rec.OpenedAt.Add(age))
}

// RateLimitDelay is the undrawn delay after a 429 without guidance.
func RateLimitDelay(pace wire.Pace, completed int) time.Duration {
	return atPoll(pace, completed).rateLimitDelay()
}

// Draw is the draw of one purpose.
func Draw(operationID, firstRun string, completed int, why string) float64 {
	op := atPoll(wire.Pace{}, completed)
	op.rec.Prepared.Spec.OperationID, op.rec.FirstRunID = operationID, firstRun
	return op.draw(purpose(why))
}

// Purposes are what draws are made for.
func Purposes() []string {
	return []string{
		string(drawBackoff), string(drawSpread), string(drawFinalLook), string(drawCatchUp), string(drawManual),
	}
}

// DecideOn is one decision of the core without its audit entries: read an answer, and find the time of the next poll.
func DecideOn(op *Operation, now time.Time, seen wire.Observation) time.Time {
	op.count(seen)
	if found := op.judge(now, seen); found.kind != waits {
		return time.Time{}
	}
	op.remember(seen)
	deadline, _ := op.deadline()
	return op.nextCandidate(now, deadline, seen.Guidance, false).at
}

func atPoll(pace wire.Pace, completed int) *Operation {
	op := &Operation{}
	op.rec.Prepared.Pace = pace
	op.rec.Counters.StatusRequestsUsed = completed
	return op
}

// Journalled is what a journal gives back of entries, and how many bytes it needs for them.
func Journalled(entries []wire.Entry) (kept []wire.Entry, size int) {
	j := journal{}
	for _, entry := range entries {
		j.add(entry)
	}
	return j.entries(), len(j.text)
}
