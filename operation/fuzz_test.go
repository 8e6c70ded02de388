package operation_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// FuzzDecide: whatever arrives as a decision is applied within the bounds of the option it takes, or refused without any
// effect but its audit entry; the chain holds either way.
func FuzzDecide(f *testing.F) {
	op, _ := unknown(f)
	for _, kind := range []wire.DecisionKind{
		wire.DecisionExtend, wire.DecisionTreatAsPending, wire.DecisionUseCredential, wire.DecisionCancel, wire.DecisionAcceptResult,
		wire.DecisionClose, wire.DecisionRefuse, wire.DecisionApproveRequest, wire.DecisionAttach, wire.DecisionResubmit, "shrug",
	} {
		f.Add(answer(op, kind, map[string]any{"raw_state": "archiving", "seconds": 60}), "")
		f.Add(answer(op, kind, map[string]any{"kind": "", "status_requests": 10_000}), string(kind))
	}
	f.Add([]byte(`{"kind":"close","kind":"extend"}`), "")
	f.Add([]byte("\xff{"), "cancel")
	f.Fuzz(func(t *testing.T, payload []byte, kind string) {
		op, now := unknown(t)
		before := overJSON(t, op.Record())
		reply, refusal := op.Decide(now, payload, wire.DecisionKind(kind))
		after := overJSON(t, op.Record())
		require.Equal(t, before.AuditSeq+1, after.AuditSeq-len(entriesOf(op, wire.EventPollPlanned))+1, "one entry, and one for a poll")
		require.Zero(t, operation.VerifyChain("", op.Audit().Entries))
		for _, entry := range op.Audit().Entries {
			require.True(t, entry.Decision == nil || json.Valid(entry.Decision))
		}
		if refusal != nil {
			after.AuditSeq, after.AuditHead = before.AuditSeq, before.AuditHead
			require.Equal(t, before, after)
			return
		}
		require.True(t, reply.Accepted)
		require.Nil(t, after.Escalation)
		requireGrantInBounds(t, before.Limits, after.Limits)
	})
}

// FuzzNudge: whatever arrives as a nudge plans a poll within the limits, or changes nothing but the audit and its own count.
func FuzzNudge(f *testing.F) {
	f.Add([]byte(`{"source":"webhook"}`), int64(3))
	f.Add([]byte(`{"source":" "}`), int64(0))
	f.Add([]byte("\xff{"), int64(2_400))
	f.Fuzz(func(t *testing.T, payload []byte, after int64) {
		op := opened(t, cancelTable(), func(s *wire.Spec) { s.Schedule.InitialDelaySeconds = new(0) })
		now := polled(t, op, result(retryAfter(read("running"), 30)))
		before := op.Record()
		moment := now.Add(time.Duration(after%2400) * time.Second)
		op.Nudge(moment, payload)
		op.Nudge(moment, payload)
		seen := op.Record()
		require.Equal(t, 2, seen.Counters.NudgesReceived)
		require.LessOrEqual(t, len(entriesOf(op, wire.EventNudged)), 1)
		require.Equal(t, before.Limits, seen.Limits)
		require.Nil(t, seen.Outcome)
		require.False(t, seen.Poll.At.Before(now.Add(30*time.Second)), "R16")
		require.False(t, seen.Poll.At.After(before.Poll.At), "a nudge never puts a poll off")
		require.Zero(t, operation.VerifyChain("", op.Audit().Entries))
	})
}

func requireGrantInBounds(t *testing.T, before, after wire.Limits) {
	t.Helper()
	require.False(t, after.DeadlineAt.Before(before.DeadlineAt))
	for _, grown := range []struct{ before, after, most int }{
		{before.MaxStatusRequests, after.MaxStatusRequests, 10_000},
		{before.MaxTransportFailures, after.MaxTransportFailures, 1000},
		{before.MaxRateLimited, after.MaxRateLimited, 1000},
	} {
		require.GreaterOrEqual(t, grown.after, grown.before)
		require.LessOrEqual(t, grown.after-grown.before, grown.most)
	}
}
