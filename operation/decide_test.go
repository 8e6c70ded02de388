package operation_test

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// unknown is a wait that stopped in a state nobody listed.
func unknown(t require.TestingT, changes ...func(*wire.Spec)) (*operation.Operation, time.Time) {
	op := opened(t, cancelTable(), changes...)
	now := polled(t, op, result(read("archiving")))
	require.NotNil(t, op.Escalation(), "went on by itself in a state nobody listed (R3)")
	return op, now
}

// TestRefusals gives every refusal its word and a detail that names the value, the rule and what would do (R39, R40, R41).
// No proposal is open, so that refuse is not offered (R42).
func TestRefusals(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 257)
	for name, c := range map[string]struct {
		kind   wire.DecisionKind
		fields map[string]any
		reason wire.RefusalReason
		detail string
	}{
		"missing name":              {"close", map[string]any{"decided_by": ""}, wire.RefusalIncomplete, "decided_by is missing"},
		"blank name":                {"close", map[string]any{"decided_by": " \t"}, wire.RefusalIncomplete, "decided_by is missing"},
		"missing comment":           {"close", map[string]any{"comment": ""}, wire.RefusalIncomplete, "comment is missing"},
		"missing decision id":       {"close", map[string]any{"decision_id": ""}, wire.RefusalIncomplete, "decision_id is missing"},
		"missing kind":              {"", nil, wire.RefusalIncomplete, "kind is missing"},
		"missing escalation id":     {"cancel", map[string]any{"escalation_id": ""}, wire.RefusalIncomplete, "escalation_id is missing"},
		"missing credential":        {"use_credential", nil, wire.RefusalIncomplete, "credential_ref is missing"},
		"missing state":             {"treat_as_pending", nil, wire.RefusalIncomplete, "raw_state is missing"},
		"wrong escalation":          {"close", map[string]any{"escalation_id": "x#1"}, wire.RefusalWrongEscalation, `escalation_id "x#1", open is "report-export-1#1-00000001"`},
		"unknown kind":              {"shrug", nil, wire.RefusalNotOffered, `kind "shrug" is not among the options of this escalation`},
		"kind of another reason":    {"accept_result", nil, wire.RefusalNotOffered, `kind "accept_result" is not among the options of this escalation`},
		"negative seconds":          {"extend", map[string]any{"seconds": -1}, wire.RefusalOutOfBounds, "seconds is -1, allowed is 0 to 604800"},
		"eight days":                {"extend", map[string]any{"seconds": 691200}, wire.RefusalOutOfBounds, "seconds is 691200, allowed is 0 to 604800"},
		"absurd requests":           {"extend", map[string]any{"status_requests": 1 << 60}, wire.RefusalOutOfBounds, "status_requests is 1152921504606846976, allowed is 0 to 10000"},
		"absurd failures":           {"extend", map[string]any{"transport_failures": 1001}, wire.RefusalOutOfBounds, "transport_failures is 1001, allowed is 0 to 1000"},
		"absurd limits":             {"extend", map[string]any{"rate_limited": 1001}, wire.RefusalOutOfBounds, "rate_limited is 1001, allowed is 0 to 1000"},
		"name of 257 characters":    {"close", map[string]any{"decided_by": long}, wire.RefusalOutOfBounds, "decided_by has 257 characters, at most 256 are allowed"},
		"id of 257 characters":      {"close", map[string]any{"decision_id": long}, wire.RefusalOutOfBounds, "decision_id has 257 characters, at most 256 are allowed"},
		"comment of 4,097":          {"close", map[string]any{"comment": strings.Repeat("c", 4097)}, wire.RefusalOutOfBounds, "comment has 4097 characters, at most 4096 are allowed"},
		"close that grants":         {"close", map[string]any{"seconds": 60}, wire.RefusalOutOfBounds, "seconds is 60, allowed is 0 to 0"},
		"extend with a credential":  {"extend", map[string]any{"credential_ref": "spare"}, wire.RefusalOutOfBounds, "credential_ref is not used by extend, leave it empty"},
		"extend with a state":       {"extend", map[string]any{"raw_state": "archiving"}, wire.RefusalOutOfBounds, "raw_state is not used by extend, leave it empty"},
		"cancel that waives":        {"cancel", map[string]any{"past_business_deadline": true}, wire.RefusalOutOfBounds, "past_business_deadline is not used by cancel, leave it false"},
		"pending in another state":  {"treat_as_pending", map[string]any{"raw_state": "Archiving"}, wire.RefusalOutOfBounds, `raw_state is "Archiving", the state that stopped the wait is "archiving"`},
		"no time before the next":   {"extend", map[string]any{"seconds": 1}, wire.RefusalOutOfBounds, "seconds is 1, at least 2 are needed before the next request may go out"},
		"no time given":             {"extend", nil, wire.RefusalOutOfBounds, "seconds is 0, at least 2 are needed before the next request may go out"},
		"use_credential unasked":    {"use_credential", map[string]any{"credential_ref": "spare"}, wire.RefusalNotOffered, `kind "use_credential" is not among the options of this escalation`},
		"refuse answers a proposal": {"refuse", nil, wire.RefusalNotOffered, `kind "refuse" is not among the options of this escalation`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op, _ := unknown(t)
			deadline := op.Record().Limits.DeadlineAt
			before := op.Record()
			_, refusal := op.Decide(deadline, answer(op, c.kind, c.fields), "")
			require.Equal(t, &wire.Refusal{Reason: c.reason, Detail: c.detail}, refusal)
			requireNoEffect(t, op, before)
		})
	}
}

// requireNoEffect: a refused decision is an audit entry and nothing else.
func requireNoEffect(t *testing.T, op *operation.Operation, before wire.Record) {
	t.Helper()
	refused := entriesOf(op, wire.EventDecisionRefused)
	require.NotEmpty(t, refused)
	after := op.Record()
	require.Equal(t, before.AuditSeq+1, after.AuditSeq)
	after.AuditSeq, after.AuditHead = before.AuditSeq, before.AuditHead
	require.Equal(t, before, after)
}

// TestTheNumberThatWouldDo: where a grant is refused with a number, that number is enough and one less is not (R41).
func TestTheNumberThatWouldDo(t *testing.T) {
	t.Parallel()
	at := start.Add(40 * time.Minute)
	for name, c := range map[string]struct {
		answer wire.Observation
		spec   func(*wire.Spec)
		field  string
		given  map[string]any
		needed int
	}{
		"seconds after the minimum": {
			retryAfter(read("archiving"), 7200), func(s *wire.Spec) { s.Schedule.InitialDelaySeconds = new(0) }, "seconds", nil, 4801,
		},
		"requests": {read("archiving"), func(s *wire.Spec) { s.MaxStatusRequests = 1 }, "status_requests", map[string]any{"seconds": 60}, 1},
		"failures": {
			failed(wire.AnswerServerError, 500, ""), func(s *wire.Spec) { s.MaxTransportFailures = 1 }, "transport_failures",
			map[string]any{"seconds": 60},
			1,
		},
		"rate limits": {
			failed(wire.AnswerRateLimited, 429, ""), func(s *wire.Spec) { s.MaxRateLimited = new(1) }, "rate_limited",
			map[string]any{"seconds": 60},
			1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op := opened(t, cancelTable(), c.spec)
			polled(t, op, result(c.answer))
			given := map[string]any{c.field: c.needed - 1, "decision_id": "less"}
			maps.Copy(given, c.given)
			_, refusal := op.Decide(at, answer(op, wire.DecisionExtend, given), "")
			require.NotNil(t, refusal)
			require.Equal(t, wire.RefusalOutOfBounds, refusal.Reason)
			require.Contains(t, refusal.Detail, c.field+" is "+strconv.Itoa(c.needed-1)+", at least "+strconv.Itoa(c.needed))

			given[c.field], given["decision_id"] = c.needed, "enough"
			_, refusal = op.Decide(at, answer(op, wire.DecisionExtend, given), "")
			require.Nil(t, refusal)
			require.NotNil(t, op.Record().Poll, "a grant that is enough leads to a poll")
		})
	}
}

// TestExtendRaisesLimits: deadline = max(deadline, decided_at + seconds), maxima rise, nothing ever falls (R31, R41).
func TestExtendRaisesLimits(t *testing.T) {
	t.Parallel()
	for seconds, want := range map[int]time.Duration{0: 40 * time.Minute, 60: 40 * time.Minute, 3600: time.Hour + 5*time.Minute} {
		op, _ := unknown(t)
		reply, refusal := op.Decide(start.Add(5*time.Minute), answer(op, wire.DecisionExtend, map[string]any{
			"seconds": seconds, "status_requests": 4, "transport_failures": 2, "rate_limited": 1,
		}), "")
		require.Nil(t, refusal)
		require.Equal(t, wire.DecisionReply{
			Accepted: true, DecisionID: "d-1", DeadlineAt: start.Add(want), MaxStatusRequests: 16,
		}, reply)
		require.Equal(t, wire.Limits{
			DeadlineAt: start.Add(want), MaxStatusRequests: 16, MaxTransportFailures: 5, MaxRateLimited: 4, MaxExtensions: 1,
		}, op.Record().Limits)
		require.Equal(t, wire.Counters{StatusRequestsUsed: 1, ExtensionsUsed: 1}, op.Record().Counters)
	}
}

// TestPlainSignals: extend and cancel are decisions without their kind; another kind in them is unparsable (R40).
func TestPlainSignals(t *testing.T) {
	t.Parallel()
	op, now := unknown(t)
	payload := map[string]any{
		"decision_id": "d-1", "decided_by": "ana", "comment": "c", "escalation_id": op.Escalation().ID, "status_requests": 3,
	}
	plain, err := json.Marshal(payload)
	require.NoError(t, err)
	_, refusal := op.Decide(now, plain, wire.DecisionExtend)
	require.Nil(t, refusal)
	require.Equal(t, 15, op.Record().Limits.MaxStatusRequests)
	require.Contains(t, string(entriesOf(op, wire.EventDecisionApplied)[0].Decision), `"kind":"extend"`, "the audit names the kind")

	payload["kind"] = "extend"
	full, err := json.Marshal(payload)
	require.NoError(t, err)
	_, refusal = op.Decide(now, full, "")
	require.Equal(t, wire.RefusalDuplicate, refusal.Reason, "the same content by the other way is a duplicate, not a conflict")

	_, refusal = op.Decide(now, full, wire.DecisionCancel)
	require.Equal(t, wire.RefusalUnparsable, refusal.Reason)
	require.Equal(t, `kind "extend" in the signal "cancel"`, refusal.Detail)
}

// TestLost: of two decisions in one moment the first wins, the other learns of it; a moment later nothing is open (R40).
func TestLost(t *testing.T) {
	t.Parallel()
	op, now := unknown(t)
	escalation := op.Escalation().ID
	decide := func(at time.Time, id string) *wire.Refusal {
		_, refusal := op.Decide(at, answer(op, wire.DecisionClose, map[string]any{"decision_id": id, "escalation_id": escalation}), "")
		return refusal
	}
	require.Nil(t, decide(now, "first"))
	require.Equal(t, &wire.Refusal{Reason: wire.RefusalLost, Winner: "first", Detail: "another decision was applied first"}, decide(now, "second"))
	require.Equal(t, wire.RefusalDuplicate, decide(now, "first").Reason)
	late := decide(now.Add(time.Millisecond), "third")
	require.Equal(t, wire.RefusalNotOpen, late.Reason)
	require.Equal(t, "first", late.Winner)
	require.Equal(t, wire.StatusUnresolved, closed(t, op, now).Status)
}

// TestCancelWhilePolling: accepted with an empty escalation_id, once, only where documented for the last state (D4, R43).
func TestCancelWhilePolling(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		table  wire.TableFacts
		reason wire.RefusalReason
	}{
		"documented":               {cancelTable(), ""},
		"documented for its state": {cancelIn("running", "queued"), ""},
		"not for its state":        {cancelIn("queued"), wire.RefusalNotOffered},
		"not documented":           {wire.TableFacts{}, wire.RefusalNotOffered},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op := opened(t, c.table)
			now := polled(t, op, result(read("running")))
			_, refusal := op.Decide(now, answer(op, wire.DecisionCancel, nil), "")
			if c.reason != "" {
				require.Equal(t, c.reason, refusal.Reason)
				require.IsType(t, operation.Wait{}, op.Next(now))
				return
			}
			require.Nil(t, refusal)
			require.Equal(t, wire.PhaseCancelling, op.Phase())
			now = afterMinDelay(t, op, now)
			require.IsType(t, operation.SendCancel{}, op.Next(now))
			require.IsType(t, operation.Wait{}, op.Next(now), "one request per decision")
			_, refusal = op.Decide(now, answer(op, wire.DecisionCancel, map[string]any{"decision_id": "d-2"}), "")
			require.Equal(t, wire.RefusalNotOpen, refusal.Reason)
		})
	}
}

func cancelIn(states ...string) wire.TableFacts {
	table := cancelTable()
	table.Cancel.States = states
	return table
}

// TestDecisionIDsAreBounded: the last hundred are remembered and carried (R40, R49).
func TestDecisionIDsAreBounded(t *testing.T) {
	t.Parallel()
	op := opened(t, cancelTable(), func(s *wire.Spec) {
		s.MaxStatusRequests, s.Escalation.MaxExtensions = 1000, new(100)
		s.DeadlineAt = start.Add(100 * time.Hour)
	})
	for i := range 100 {
		now := polled(t, op, result(read("archiving")))
		_, refusal := op.Decide(now, answer(op, wire.DecisionExtend, map[string]any{"decision_id": strconv.Itoa(i)}), "")
		require.Nil(t, refusal)
		next(op, now)
	}
	now := polled(t, op, result(read("archiving")))
	_, refusal := op.Decide(now, answer(op, wire.DecisionClose, map[string]any{"decision_id": "last"}), "")
	require.Nil(t, refusal)
	remembered := op.Record().Decisions
	require.Len(t, remembered, 100)
	require.Equal(t, "1", remembered[0].ID)
	require.Equal(t, "last", remembered[99].ID)
}

// TestDecisionsInTheAudit: the payload by RFC 8785 as it was sent; an unparsable one as a string of at most 1 KiB
// (section 7).
func TestDecisionsInTheAudit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ payload, want string }{
		"canonical":     {`{"kind": "shrug", "comment":"\u00e9<&>", "seconds": 10}`, `{"comment":"é<&>","kind":"shrug","seconds":10}`},
		"no JSON":       {"close, please\x07", `"close, please\u0007"`},
		"another shape": {`[1, 2]`, `"[1, 2]"`},
		"another field": {`{"kind":"close","reason":"x"}`, `"{\"kind\":\"close\",\"reason\":\"x\"}"`},
		"not UTF-8":     {"\xff\xfe", "\"\uFFFD\""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op, now := unknown(t)
			_, refusal := op.Decide(now, []byte(c.payload), "")
			require.NotNil(t, refusal)
			entry := entriesOf(op, wire.EventDecisionRefused)[0]
			require.True(t, json.Valid(entry.Decision))
			require.Equal(t, c.want, string(entry.Decision))
		})
	}
	op, now := unknown(t)
	_, refusal := op.Decide(now, []byte(`{"comment":"`+strings.Repeat("\xf0\x9f\x9b\x91", 100_000)), "")
	require.NotNil(t, refusal)
	var stored string
	require.NoError(t, json.Unmarshal(entriesOf(op, wire.EventDecisionRefused)[0].Decision, &stored))
	require.LessOrEqual(t, len(stored), 1024)
	require.Greater(t, len(stored), 1000)
}

// TestGrantAfterTheFinalLookLeadsToARequest: a grant of requests alone, taken after the final look and before the deadline,
// still leads to one (R41).
func TestGrantAfterTheFinalLookLeadsToARequest(t *testing.T) {
	t.Parallel()
	op := opened(t, wire.TableFacts{}, func(s *wire.Spec) {
		s.MaxStatusRequests, s.DeadlineAt = 1, start.Add(30*time.Second)
		s.Schedule.BaseDelaySeconds, s.Schedule.MaxDelaySeconds = new(60), new(60)
	})
	now := polled(t, op, result(read("running")))
	require.Equal(t, wire.ReasonRequestBudgetExhausted, op.Escalation().Reason)
	_, refusal := op.Decide(now, answer(op, wire.DecisionExtend, map[string]any{"status_requests": 4}), "")
	require.Nil(t, refusal)
	require.NotNil(t, op.Record().Poll, "the only extension is not spent on nothing")
	require.True(t, op.Record().Poll.At.Before(start.Add(30*time.Second)))
	require.False(t, op.Record().Poll.At.Before(now.Add(time.Second)))
}

// TestLongRefusedDecisionStandsShort: a flood of refused decisions leaves the audit short enough to be asked for (R40).
func TestLongRefusedDecisionStandsShort(t *testing.T) {
	t.Parallel()
	op := opened(t, wire.TableFacts{})
	now := polled(t, op, result(read("archiving")))
	_, refusal := op.Decide(now, answer(op, wire.DecisionClose, map[string]any{
		"escalation_id": "another", "comment": strings.Repeat("why ", 1000),
	}), "")
	require.Equal(t, wire.RefusalWrongEscalation, refusal.Reason)
	entries := op.Audit().Entries
	last := entries[len(entries)-1]
	require.Equal(t, wire.EventDecisionRefused, last.Event)
	require.Less(t, len(last.Decision), 1500)
	require.Equal(t, byte('"'), last.Decision[0], "a string that begins as the payload does")
}

// TestNamelessStateIsNotWaitedIn: treat_as_pending names its state, so it is not offered for one without a name.
func TestNamelessStateIsNotWaitedIn(t *testing.T) {
	t.Parallel()
	nameless := wire.Observation{Answer: wire.AnswerRead, HTTPStatus: 200, Job: &wire.JobFact{Category: wire.CategoryUnknown}}
	op := opened(t, wire.TableFacts{})
	polled(t, op, result(nameless))
	requireReason(t, op, wire.ReasonUnknownState, "")
	require.NotContains(t, kinds(op.Escalation().Options), wire.DecisionTreatAsPending)
}

// TestCredentialWithoutARequestIsNoChoice: where neither a request nor an extension is left, another credential could not
// be tried, and the wait closes at once (R34).
func TestCredentialWithoutARequestIsNoChoice(t *testing.T) {
	t.Parallel()
	op := opened(t, wire.TableFacts{}, func(s *wire.Spec) {
		s.MaxStatusRequests, s.Escalation.MaxExtensions = 1, new(0)
	})
	now := polled(t, op, result(failed(wire.AnswerDenied, 401, "")))
	require.Nil(t, op.Escalation())
	require.Equal(t, wire.ReasonAuthorizationDenied, closed(t, op, now).Reason)
}
