package operation_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// told is a wait whose people are told of decisions, stopped at an unknown state, with the time of it.
func told(t *testing.T) (*operation.Operation, time.Time) {
	t.Helper()
	known := operation.Knowledge{Table: cancelTable(), TellDecisions: true}
	op := operation.Open(prepared(t, specWith(), known), firstRun, start, start)
	now := polled(t, op, result(read("archiving")))
	require.Equal(t, wire.NotifyEscalated, notification(t, op, now).Kind)
	return op, now
}

// notification is the one that is given next.
func notification(t *testing.T, op *operation.Operation, now time.Time) wire.Notification {
	t.Helper()
	notify, ok := op.Next(now).(operation.Notify)
	require.True(t, ok, "nothing is told")
	return notify.Request.Notification
}

// TestDecidedMessages prints what people read of every decision: who, why, and what holds from then on.
func TestDecidedMessages(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	for _, d := range []struct {
		kind   wire.DecisionKind
		fields map[string]any
	}{
		{wire.DecisionExtend, map[string]any{"seconds": 3600, "status_requests": 4}},
		{wire.DecisionTreatAsPending, map[string]any{"raw_state": "archiving"}},
		{wire.DecisionCancel, nil},
		{wire.DecisionClose, nil},
	} {
		op, now := told(t)
		now = now.Add(time.Minute)
		_, refusal := op.Decide(now, answer(op, d.kind, d.fields), "")
		require.Nil(t, refusal)
		message := notification(t, op, now)
		require.Equal(t, wire.NotifyDecided, message.Kind)
		require.Equal(t, "report-export-1#1-00000001/decided/", message.ID[:len(message.ID)-1])
		fmt.Fprintf(&out, "=== %s\n%s\n\n", d.kind, operation.Message(message.Briefing))
	}
	golden(t, "messages-decided.golden", out.String())
}

// A long comment is told in part, on a character, and in its line.
func TestDecidedMessageIsBounded(t *testing.T) {
	t.Parallel()
	op, now := told(t)
	_, refusal := op.Decide(now, answer(op, wire.DecisionClose, map[string]any{"comment": "x\n\x1b[2J" + strings.Repeat("é", 4000)}), "")
	require.Nil(t, refusal)
	message := operation.Message(notification(t, op, now).Briefing)
	require.Less(t, len(message), 2500)
	require.Contains(t, message, "comment: x  [2Jé")
	require.Contains(t, message, "é...\n")
}

// A reopened wait of the same operation does not repeat the keys of the one before, with or without a question.
func TestKeysOfAReopenedWait(t *testing.T) {
	t.Parallel()
	keys := map[string]bool{}
	for _, run := range []string{firstRun, firstRun[:len(firstRun)-1] + "2", "another-run"} {
		op := operation.Open(prepared(t, specWith(), operation.Knowledge{TellDecisions: true}), run, start, start)
		now := polled(t, op, result(read("failed")))
		message := notification(t, op, now)
		require.Equal(t, wire.NotifyClosed, message.Kind)
		keys[message.ID] = true
	}
	require.Len(t, keys, 3, "%v", keys)
}

// TestOutcomeIsToldOnce: whatever ends a wait, people hear of it once, and nobody hears of a plain success.
func TestOutcomeIsToldOnce(t *testing.T) {
	t.Parallel()
	op := operation.Open(prepared(t, specWith(), operation.Knowledge{TellDecisions: true}), firstRun, start, start)
	now := polled(t, op, result(done()))
	require.IsType(t, operation.Close{}, op.Next(now))

	op, now = told(t)
	end := op.Escalation().WindowEndsAt
	require.Equal(t, wire.NotifyReminded, notification(t, op, now.Add(4*time.Hour)).Kind)
	lapsed := notification(t, op, end)
	require.Equal(t, wire.NotifyClosed, lapsed.Kind)
	require.True(t, lapsed.Briefing.Outcome.Undecided)
	require.IsType(t, operation.Wait{}, op.Next(end), "the word on the end is being handed over")
	op.Notified(end, lapsed.ID, operation.NoticeHandedOver("w-1"))
	require.IsType(t, operation.Close{}, op.Next(end))
	require.Len(t, entriesOf(op, wire.EventNotified), 3, "what was under way is noted, too")
}

// TestNoticeText: what a delivery leaves in the audit, and how it reads.
func TestNoticeText(t *testing.T) {
	t.Parallel()
	delivered := func(names ...string) wire.NotifyResult {
		var result wire.NotifyResult
		for _, name := range names {
			result.Channels = append(result.Channels, wire.Delivery{Channel: name, State: wire.DeliveryDelivered})
		}
		return result
	}
	mixed := delivered("mail")
	mixed.Channels = append(mixed.Channels, wire.Delivery{Channel: "pager", State: wire.DeliveryPending, Detail: "HTTP 500"},
		wire.Delivery{Channel: "slow", State: wire.DeliveryPending})
	for _, c := range []struct {
		result wire.NotifyResult
		failed bool
		detail string
		text   string
	}{
		{wire.NotifyResult{}, false, "", "told people (decided)"},
		{wire.NotifyResult{}, true, "not delivered", "could not tell people (decided): not delivered"},
		{wire.NotifyResult{Nobody: true}, false, "no channel takes it", "told nobody (decided): no channel takes it"},
		{delivered("mail", "pager"), false, "delivered: mail, pager", "told people (decided) by mail, pager"},
		{mixed, true, "not delivered: pager (HTTP 500), slow; delivered: mail", "could not tell people (decided): pager (HTTP 500), slow; delivered: mail"},
	} {
		detail := operation.NoticeDetail(c.result, c.failed)
		require.Equal(t, c.detail, detail)
		require.Equal(t, c.text, operation.NoticeText(wire.NotifyDecided, detail))
	}
	require.Equal(t, "telling people (ended) goes on as workflow w-1", operation.NoticeText(wire.NotifyEnded, operation.NoticeHandedOver("w-1")))
	long := delivered(strings.Split(strings.Repeat("a-channel-with-a-long-name ", 60), " ")...)
	require.LessOrEqual(t, len(operation.NoticeDetail(long, false)), 1024)
}
