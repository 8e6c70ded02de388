package operation_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// TestCanonicalEntry: keys in the documented order without hash, all present, no white space, strings as RFC 8785, times
// in UTC with milliseconds, unset times and decision null (section 7). The hashes were computed apart from this code, with
// sha256sum over the literal text.
func TestCanonicalEntry(t *testing.T) {
	t.Parallel()
	deadline, next := start.Add(40*time.Minute), start.Add(17*time.Second+250*time.Millisecond)
	for name, c := range map[string]struct {
		entry     wire.Entry
		want, sum string
	}{
		"empty": {
			wire.Entry{Seq: 1, At: start, Event: wire.EventOpened},
			`{"seq":1,"at":"2025-04-18T10:20:00.000Z","event":"opened","raw_state":"","category":"","http_status":0,` +
				`"provider_request_id":"","next_poll_at":null,"delay_source":"","status_requests_used":0,"max_status_requests":0,` +
				`"deadline_at":null,"reason":"","detail":"","decision":null,"table_digest":"","prev":""}`,
			"sha256:89db8f283e7e7ba3d2729693cdd7e623b3d6917a98a1688f5e82bea8426f383c",
		},
		"full": {
			wire.Entry{
				Seq: 7, At: start.In(time.FixedZone("", 7200)), Event: wire.EventDecisionApplied, RawState: "a\"b\\c\n\u2028é",
				Category: wire.CategoryUnknown, HTTPStatus: 503, ProviderRequestID: "req-1", NextPollAt: &next,
				DelaySource: wire.DelayLocalBackoff, StatusRequestsUsed: 3, MaxStatusRequests: 12, DeadlineAt: &deadline,
				Reason: "extend", Detail: "<&>", Decision: json.RawMessage(`{"comment":"<&>","kind":"extend"}`),
				TableDigest: "sha256:table", Prev: "sha256:00", Hash: "is not part of it",
			},
			`{"seq":7,"at":"2025-04-18T10:20:00.000Z","event":"decision_applied","raw_state":"a\"b\\c\n` + "\u2028é" + `","category":"unknown",` +
				`"http_status":503,"provider_request_id":"req-1","next_poll_at":"2025-04-18T10:20:17.250Z","delay_source":"local_backoff",` +
				`"status_requests_used":3,"max_status_requests":12,"deadline_at":"2025-04-18T11:00:00.000Z","reason":"extend",` +
				`"detail":"<&>","decision":{"comment":"<&>","kind":"extend"},"table_digest":"sha256:table","prev":"sha256:00"}`,
			"sha256:8afee9bb228ac62967ac6539a25ca8b2efbf6d83cc5a55343715c342b07908b1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, string(operation.AppendCanonical(nil, c.entry)))
			require.Equal(t, c.sum, operation.EntryHash(c.entry))
		})
	}
}

// TestEntryKeysInOrder: the fields of wire.Entry stand in the order of the canonical form, so that the two cannot part.
func TestEntryKeysInOrder(t *testing.T) {
	t.Parallel()
	text := string(operation.AppendCanonical(nil, wire.Entry{}))
	at := 0
	for i := range reflect.TypeFor[wire.Entry]().NumField() {
		key := reflect.TypeFor[wire.Entry]().Field(i).Tag.Get("json")
		if key == "hash" {
			continue
		}
		found := strings.Index(text, `"`+key+`":`)
		require.Greater(t, found, at-1, "key %s", key)
		at = found
	}
}

// story is a wait with one of nearly everything in its audit.
func story(t *testing.T) []wire.Entry {
	t.Helper()
	op, now := unknown(t)
	_, refusal := op.Decide(now, answer(op, wire.DecisionExtend, map[string]any{"seconds": 3600}), "")
	require.Nil(t, refusal)
	next(op, now)
	polled(t, op, result(retryAfter(failed(wire.AnswerServerError, 503, ""), 30)))
	now = polled(t, op, result(done()))
	closed(t, op, now)
	return op.Audit().Entries
}

// TestVerifyChain finds every single change of every field, a missing entry, and two that changed places.
func TestVerifyChain(t *testing.T) {
	t.Parallel()
	entries := story(t)
	require.Greater(t, len(entries), 10)
	require.Zero(t, operation.VerifyChain("", entries))
	require.Equal(t, 1, operation.VerifyChain("sha256:another head", entries))
	require.Zero(t, operation.VerifyChain(entries[4].Hash, entries[5:]), "a later run stands on the head before it")
	for i := range entries {
		for field := range reflect.TypeFor[wire.Entry]().NumField() {
			changed := append([]wire.Entry{}, entries...)
			change(t, reflect.ValueOf(&changed[i]).Elem().Field(field))
			require.NotZero(t, operation.VerifyChain("", changed), "entry %d, field %d", i+1, field)
		}
	}
	missing := append(append([]wire.Entry{}, entries[:3]...), entries[4:]...)
	require.Equal(t, 5, operation.VerifyChain("", missing))
	swapped := append([]wire.Entry{}, entries...)
	swapped[3], swapped[4] = swapped[4], swapped[3]
	require.Equal(t, 5, operation.VerifyChain("", swapped))
}

// change gives a field another value.
func change(t *testing.T, field reflect.Value) {
	t.Helper()
	switch value := field.Interface().(type) {
	case int:
		field.SetInt(int64(value + 1))
	case time.Time:
		field.Set(reflect.ValueOf(value.Add(time.Millisecond)))
	case *time.Time:
		moved := start.Add(time.Hour * 999)
		field.Set(reflect.ValueOf(&moved))
	case json.RawMessage:
		field.SetBytes([]byte(`{"kind":"other"}`))
	default:
		require.Equal(t, reflect.String, field.Kind())
		field.SetString(field.String() + "x")
	}
}

// TestEntriesOverJSON: what a reader gets over the wire still verifies.
func TestEntriesOverJSON(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(story(t))
	require.NoError(t, err)
	var read []wire.Entry
	require.NoError(t, json.Unmarshal(data, &read))
	require.Zero(t, operation.VerifyChain("", read))
}

// TestMarkupOverJSON: Go's encoder writes <, > and & as escapes, whatever a person typed; the chain holds all the same.
func TestMarkupOverJSON(t *testing.T) {
	t.Parallel()
	op, now := unknown(t)
	_, refusal := op.Decide(now, answer(op, wire.DecisionExtend, map[string]any{"seconds": 3600, "comment": "R&D <ana@example.com>\u2028"}), "")
	require.Nil(t, refusal)
	data, err := json.Marshal(op.Audit())
	require.NoError(t, err)
	require.Contains(t, string(data), `R\u0026D`)
	var read wire.AuditView
	require.NoError(t, json.Unmarshal(data, &read))
	require.Zero(t, operation.VerifyChain("", read.Entries))
}

// TestAuditFields: poll_planned carries next_poll_at and delay_source, response_received leaves them unset and has the HTTP
// fact; every entry shows the limits that hold (section 7, R14).
func TestAuditFields(t *testing.T) {
	t.Parallel()
	for _, entry := range story(t) {
		planned := entry.Event == wire.EventPollPlanned
		require.Equal(t, planned, entry.NextPollAt != nil, entry.Event)
		require.Equal(t, planned, entry.DelaySource != "", entry.Event)
		require.Equal(t, entry.Event == wire.EventResponseReceived, entry.HTTPStatus != 0, entry.Event)
		require.Equal(t, entry.Event == wire.EventDecisionApplied, entry.Decision != nil, entry.Event)
		require.Equal(t, 12, entry.MaxStatusRequests)
		require.NotNil(t, entry.DeadlineAt)
		require.NotContains(t, string(operation.AppendCanonical(nil, entry)), "SECRETSIG", "R14: no URL stands in the audit")
	}
}

// TestAuditOfARun: the view of a run names its first entry, and the head that the next one stands on (R49).
func TestAuditOfARun(t *testing.T) {
	t.Parallel()
	op := opened(t, wire.TableFacts{})
	now := polled(t, op, result(read("running")))
	before := op.Audit()
	require.Equal(t, 1, before.FirstSeq)

	resumed := operation.Resume(overJSON(t, op.Record()))
	empty := resumed.Audit()
	require.Equal(t, wire.AuditView{Entries: []wire.Entry{}, Head: before.Head, FirstSeq: len(before.Entries) + 1}, empty)
	require.IsType(t, operation.Wait{}, resumed.Next(now))
	polled(t, resumed, result(read("running")))
	after := resumed.Audit()
	require.Equal(t, len(before.Entries)+1, after.FirstSeq)
	require.Equal(t, after.FirstSeq, after.Entries[0].Seq)
	require.Zero(t, operation.VerifyChain(before.Head, after.Entries))
}

// TestStory: an answer and the poll planned because of it are one line; a lone entry is a line of its own (section 7).
func TestStory(t *testing.T) {
	t.Parallel()
	got := operation.StoryOf(story(t))
	golden(t, "story.golden", strings.Join(got, "\n")+"\n")
	for _, entry := range story(t) {
		require.Contains(t, operation.Story(entry), entry.At.Format("15:04:05 "))
	}
}

// TestStoryStaysInItsLine: neither a provider's word nor a person's breaks out of its line or reaches a terminal's escapes.
func TestStoryStaysInItsLine(t *testing.T) {
	t.Parallel()
	for _, e := range []wire.Entry{
		{At: start, Event: wire.EventResponseReceived, Reason: string(wire.AnswerRead), RawState: "run\nning\x1b[31m"},
		{At: start, Event: wire.EventStateChanged, Detail: "a\r\n10:20:00 closed succeeded", RawState: "\u202egnp"},
		{At: start, Event: wire.EventDecisionRefused, Decision: json.RawMessage(`{"decided_by":"ana\n10:20:01 closed"}`)},
	} {
		line := operation.Story(e)
		require.Equal(t, -1, strings.IndexFunc(line, func(r rune) bool { return r < ' ' || r == '\u202e' || r == 0x7f }), "%q", line)
	}
}
