package operation_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// Whatever an entry holds, the journal gives it back, and its hash comes out as it was.
func TestJournalGivesBackWhatItWasGiven(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		given := make([]wire.Entry, rapid.IntRange(0, 100).Draw(rt, "entries"))
		prev, seq := rapid.String().Draw(rt, "head before"), rapid.IntRange(0, 1_000_000).Draw(rt, "seq before")
		for i := range given {
			given[i] = anyEntry(rt)
			given[i].Seq, given[i].Prev = seq+i+1, prev
			given[i].Hash = operation.EntryHash(given[i])
			prev = given[i].Hash
		}
		kept, _ := operation.Journalled(given)
		require.Equal(rt, given, kept)
	})
}

func anyEntry(rt *rapid.T) wire.Entry {
	words := rapid.OneOf(rapid.SampledFrom([]string{"", "running", "response_received", strings.Repeat("x", 200)}), rapid.String())
	word := func(name string) string { return words.Draw(rt, name) }
	number := func(name string) int { return rapid.IntRange(0, 1_000_000).Draw(rt, name) }
	e := wire.Entry{
		At: *anyMoment(rt, "at"), Event: wire.Event(word("event")), RawState: word("raw_state"), Category: wire.Category(word("category")),
		HTTPStatus: number("http_status"), ProviderRequestID: word("provider_request_id"), DelaySource: wire.DelaySource(word("delay_source")),
		StatusRequestsUsed: number("used"), MaxStatusRequests: number("max"), Reason: word("reason"), Detail: word("detail"),
		TableDigest: word("digest"),
	}
	if rapid.Bool().Draw(rt, "planned") {
		e.NextPollAt = anyMoment(rt, "next_poll_at")
	}
	if rapid.Bool().Draw(rt, "with deadline") {
		e.DeadlineAt = anyMoment(rt, "deadline_at")
	}
	if rapid.Bool().Draw(rt, "decided") {
		e.Decision = json.RawMessage(fmt.Sprintf(`{"seconds":%d}`, number("seconds")))
	}
	return e
}

func anyMoment(rt *rapid.T, name string) *time.Time {
	at := time.UnixMilli(rapid.Int64Range(-62135596800000, 4102444800000).Draw(rt, name)).UTC()
	return &at
}

// The entries of a run's polls fit into a few kilobytes, because a worker keeps those of every wait.
func TestJournalOfManyPollsIsSmall(t *testing.T) {
	t.Parallel()
	const polls = 150
	op := opened(t, wire.TableFacts{}, func(s *wire.Spec) {
		s.DeadlineAt, s.MaxStatusRequests = start.Add(24*time.Hour), 1000
	})
	for range polls {
		at := op.Record().Poll.At
		op.Next(at)
		op.StatusAnswered(at.Add(40*time.Millisecond), result(read("running")))
	}
	entries := op.Audit().Entries
	require.GreaterOrEqual(t, len(entries), 3*polls)
	require.Zero(t, operation.VerifyChain("", entries))
	_, size := operation.Journalled(entries)
	require.Less(t, size, len(entries)*32)
}

// A field that is added to the entries is not in the journal by itself.
func TestJournalKnowsEveryField(t *testing.T) {
	t.Parallel()
	require.Equal(t, 18, reflect.TypeFor[wire.Entry]().NumField(), "teach journal.add and journalReader.entry the new field, and anyEntry above")
}
