package waittest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// TestingT is the part of *testing.T that the assertions of this package need.
type TestingT interface {
	Helper()
	Errorf(format string, args ...any)
	FailNow()
}

// EarlyTolerance is how long before the end of a Retry-After a request may be received without counting as early. It allows for the
// provider and the Temporal server reading the clock in different processes and rounding to milliseconds.
const EarlyTolerance = 5 * time.Millisecond

// RequireNeverEarly fails the test if a status request arrived, by more than EarlyTolerance, before the end of a Retry-After in an
// earlier answer about the same job. Answers that were not written completely do not count. The Retry-After of a cancel call binds
// later status requests, but cancel calls may arrive at any time: they carry out a person's decision.
func RequireNeverEarly(t TestingT, log []LogEntry) {
	t.Helper()
	if early := findEarly(log); early != "" {
		fail(t, early)
	}
}

func findEarly(log []LogEntry) string {
	binding := map[string][]LogEntry{}
	for _, entry := range log {
		for _, earlier := range binding[entry.Job] {
			answeredBefore := earlier.AnsweredAt.Before(entry.ReceivedAt) // not one that crossed it
			if entry.Kind == KindStatus && answeredBefore && entry.ReceivedAt.Before(earlier.NotBefore.Add(-EarlyTolerance)) {
				return fmt.Sprintf("request %d about job %q came %s early: at %s, while the answer to request %d (%d, Retry-After %q) permits it from %s",
					entry.Seq, entry.Job, earlier.NotBefore.Sub(entry.ReceivedAt), stamp(entry.ReceivedAt),
					earlier.Seq, earlier.Status, earlier.RetryAfter, stamp(earlier.NotBefore))
			}
		}
		if entry.Ending == EndingAnswered && !entry.NotBefore.IsZero() {
			binding[entry.Job] = append(binding[entry.Job], entry)
		}
	}
	return ""
}

// RequireWithinBudget fails the test if there were more than maximum status requests for a job, or none at all: a log without
// requests proves nothing.
func RequireWithinBudget(t TestingT, log []LogEntry, maximum int) {
	t.Helper()
	counts := countStatus(log)
	if len(counts) == 0 {
		fail(t, "the log holds no status request; was the right provider and job asked?")
		return
	}
	for job, count := range counts {
		if count > maximum {
			fail(t, fmt.Sprintf("job %q was asked for its status %d times; the budget is %d", job, count, maximum))
			return
		}
	}
}

func countStatus(log []LogEntry) map[string]int {
	counts := map[string]int{}
	for _, entry := range log {
		if entry.Kind == KindStatus {
			counts[entry.Job]++
		}
	}
	return counts
}

// RequireNoneFrom fails the test if a status request was received at or after the deadline.
func RequireNoneFrom(t TestingT, log []LogEntry, deadline time.Time) {
	t.Helper()
	for _, entry := range log {
		if entry.Kind == KindStatus && !entry.ReceivedAt.Before(deadline) {
			fail(t, fmt.Sprintf("request %d about job %q came at %s, %s after the deadline %s",
				entry.Seq, entry.Job, stamp(entry.ReceivedAt), entry.ReceivedAt.Sub(deadline), stamp(deadline)))
			return
		}
	}
}

// ReadLog reads the JSON lines that a Provider wrote.
func ReadLog(from io.Reader) ([]LogEntry, error) {
	var log []LogEntry
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var entry LogEntry
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			return nil, fmt.Errorf("waittest: log line %d: %w", len(log)+1, err)
		}
		log = append(log, entry)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("waittest: log: %w", err)
	}
	return log, nil
}

func fail(t TestingT, message string) {
	t.Helper()
	t.Errorf("waittest: %s", message)
	t.FailNow()
}

func stamp(at time.Time) string { return at.UTC().Format("15:04:05.000") }
