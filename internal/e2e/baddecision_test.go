package e2e_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// badDecision is a change of a good decision, and what must be said of it.
type badDecision struct {
	name   string
	change func(fields)
	reason wire.RefusalReason
	want   string
}

func badDecisions() []badDecision {
	const tooLong = 300
	return []badDecision{
		{"no kind", without("kind"), wire.RefusalIncomplete, "kind is missing"},
		{"no name", with("decided_by", ""), wire.RefusalIncomplete, "decided_by is missing"},
		{"blank name", with("decided_by", "  "), wire.RefusalIncomplete, "decided_by is missing"},
		{"no comment", without("comment"), wire.RefusalIncomplete, "comment is missing"},
		{"no decision id", without("decision_id"), wire.RefusalIncomplete, "decision_id is missing"},
		{"no escalation id", without("escalation_id"), wire.RefusalIncomplete, "escalation_id is missing"},
		{"wrong escalation id", with("escalation_id", "op#9-00000000"), wire.RefusalWrongEscalation, `escalation_id "op#9-00000000", open is "`},
		{"unknown kind", with("kind", "approve"), wire.RefusalNotOffered, `kind "approve" is not among the options`},
		{"kind of another stop", with("kind", "accept_result"), wire.RefusalNotOffered, `kind "accept_result"`},
		{"negative seconds", with("seconds", -5), wire.RefusalOutOfBounds, "seconds is -5, allowed is 0 to 604800"},
		{"absurd seconds", with("seconds", 1_000_000_000), wire.RefusalOutOfBounds, "seconds is 1000000000, allowed is 0 to 604800"},
		{"absurd requests", with("status_requests", 10_001), wire.RefusalOutOfBounds, "status_requests is 10001, allowed is 0 to 10000"},
		{"negative failures", with("transport_failures", -1), wire.RefusalOutOfBounds, "transport_failures is -1, allowed is 0 to 1000"},
		{"a long name", with("decided_by", string(slices.Repeat([]byte("a"), tooLong))), wire.RefusalOutOfBounds, "decided_by has 300 characters, at most 256"},
		{"a field of another kind", with("raw_state", "paused"), wire.RefusalOutOfBounds, "raw_state is not used by extend"},
		{"number as text", with("seconds", "900"), wire.RefusalUnparsable, `field "seconds": a string where a whole number belongs`},
		{"fraction", with("seconds", 1.5), wire.RefusalUnparsable, `field "seconds"`},
		{"beyond every integer", with("seconds", json.Number("1e30")), wire.RefusalUnparsable, `field "seconds"`},
		{"unknown field", with("second", 900), wire.RefusalUnparsable, `field "second" is not known`},
		{"name as a list", with("decided_by", []string{"ana"}), wire.RefusalUnparsable, `field "decided_by": a list where a string belongs`},
	}
}

// R39, R40: every bad decision is refused with a word and one line, whether it comes as an update or as a signal, and none
// has an effect. The audit holds each refusal, save those of updates that cannot be parsed, which leave no trace.
func TestBadDecisions(t *testing.T) {
	t.Parallel()
	w := plan{job: "bad-decisions", script: waittest.Script(waittest.State("paused"), result("bad-decisions"))}.begin(t)
	open := w.settled()
	var want []wire.RefusalReason
	for _, bad := range badDecisions() {
		payload := fieldsOf(t, extend(open.ID, "update-"+bad.name))
		bad.change(payload)
		refusal := w.refused(payload)
		require.Equal(t, bad.reason, refusal.Reason, bad.name)
		require.Contains(t, refusal.Detail, bad.want, bad.name)
		if bad.reason != wire.RefusalUnparsable {
			want = append(want, bad.reason)
		}
	}
	for _, bad := range badDecisions() {
		payload := fieldsOf(t, extend(open.ID, "signal-"+bad.name))
		bad.change(payload)
		w.signal(wire.SignalDecide, payload)
		want = append(want, bad.reason)
	}
	for _, payload := range []any{nil, "extend please", []byte{0xff, 0x00}, 42} {
		w.signal(wire.SignalDecide, payload)
		want = append(want, wire.RefusalUnparsable)
	}
	w.signal(wire.SignalExtend, decision(wire.DecisionClose, open.ID, "close-in-extend"))
	want = append(want, wire.RefusalUnparsable)

	w.decide(extend(open.ID, "good"))
	outcome := w.outcome()
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, 1, outcome.ExtensionsUsed)
	require.Equal(t, want, refusals(w.audit()))
	w.bounded(16, w.spec.DeadlineAt)
}

func refusals(entries []wire.Entry) []wire.RefusalReason {
	var out []wire.RefusalReason
	for _, entry := range entries {
		if entry.Event == wire.EventDecisionRefused {
			out = append(out, wire.RefusalReason(entry.Reason))
		}
	}
	return out
}
