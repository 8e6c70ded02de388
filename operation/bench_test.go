package operation_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// BenchmarkDecision is one decision of the core without its audit entries: read an answer, and find the next poll.
func BenchmarkDecision(b *testing.B) {
	for name, seen := range map[string]wire.Observation{
		"backoff": read("running"), "retry_after": retryAfter(read("running"), 60),
	} {
		b.Run(name, func(b *testing.B) {
			op := opened(b, wire.TableFacts{}, func(s *wire.Spec) { s.DeadlineAt = start.Add(24 * time.Hour) })
			b.ReportAllocs()
			for b.Loop() {
				operation.DecideOn(op, start, seen)
			}
		})
	}
}

// BenchmarkEntry is one audit entry: its canonical form and its hash.
func BenchmarkEntry(b *testing.B) {
	deadline := start.Add(time.Hour)
	entry := wire.Entry{
		Seq: 4, At: start, Event: wire.EventPollPlanned, RawState: "running", Category: wire.CategoryPending, HTTPStatus: 200,
		NextPollAt: &deadline, DelaySource: wire.DelayLocalBackoff, StatusRequestsUsed: 3, MaxStatusRequests: 12,
		DeadlineAt: &deadline, TableDigest: fmt.Sprintf("sha256:%064d", 1), Prev: fmt.Sprintf("sha256:%064d", 2),
	}
	b.ReportAllocs()
	for b.Loop() {
		entry.Hash = operation.EntryHash(entry)
	}
}

// BenchmarkPoll is everything the core does for one poll, its three entries included.
func BenchmarkPoll(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		op := opened(b, wire.TableFacts{})
		at := op.Record().Poll.At
		seen := result(read("running"))
		b.StartTimer()
		op.Next(at)
		op.StatusAnswered(at, seen)
		op.Next(at)
	}
}
