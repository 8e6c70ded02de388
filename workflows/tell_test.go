package workflows_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/jobwait/jobwait/wire"
)

// telling is a wait whose people are told of decisions, that stops at an unknown state and succeeds afterwards.
func telling(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, func(n int, _ wire.PollRequest) (wire.PollResult, error) {
		if n == 1 {
			return state("archiving", wire.CategoryUnknown)
		}
		return succeeded()
	})
	w.knowledge.TellDecisions = true
	return w
}

func (w *world) told() []wire.NotificationKind {
	var kinds []wire.NotificationKind
	for _, notice := range w.notices {
		kinds = append(kinds, notice.Notification.Kind)
	}
	return kinds
}

func (w *world) noticeDetails() map[string]string {
	details := map[string]string{}
	for _, entry := range w.audit().Entries {
		if entry.Event == wire.EventNotified {
			details[entry.Reason] = entry.Detail
		}
	}
	return details
}

// Whoever was asked learns who answered what, and how it ended; the end goes to a workflow of its own.
func TestPeopleAreToldOfDecisionAndEnd(t *testing.T) {
	t.Parallel()
	w := telling(t)
	w.RegisterDelayedCallback(func() { w.decide(w.openDecision("d-1", extend(3600, 4))) }, time.Minute)
	outcome := w.run(spec())
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, []wire.NotificationKind{wire.NotifyEscalated, wire.NotifyDecided, wire.NotifyEnded}, w.told())
	decided := w.notices[1].Notification
	require.Equal(t, "ana@example.com", decided.Briefing.Decided.Decision.DecidedBy)
	require.Equal(t, wire.ReasonUnknownState, decided.Briefing.Decided.Reason)
	require.Equal(t, 16, decided.Briefing.Limits.MaxStatusRequests, "what holds from now on")
	require.Contains(t, w.noticeDetails()["ended"], "handed over to workflow ")
	ids := map[string]bool{}
	for _, notice := range w.notices {
		ids[notice.Notification.ID] = true
	}
	require.Len(t, ids, 3)
}

// A wait that was prepared before people were told of decisions goes on telling what it told.
func TestOlderWaitTellsWhatItTold(t *testing.T) {
	t.Parallel()
	w := telling(t)
	w.knowledge.TellDecisions = false
	w.RegisterDelayedCallback(func() { w.decide(w.openDecision("d-1", extend(3600, 4))) }, time.Minute)
	w.run(spec())
	require.Equal(t, []wire.NotificationKind{wire.NotifyEscalated}, w.told())
}

// Channels that never take anything hold up neither the wait nor its end, and the audit says what every channel made of each
// message.
func TestDeadChannelsHoldUpNothing(t *testing.T) {
	t.Parallel()
	w := telling(t)
	w.notify = func(request wire.NotifyRequest) error {
		result := wire.NotifyResult{Channels: []wire.Delivery{
			{Channel: "mail", State: wire.DeliveryDelivered}, {Channel: "pager", State: wire.DeliveryPending, Detail: "HTTP 500"},
		}}
		return temporal.NewApplicationErrorWithOptions("not delivered", wire.ErrorNotDelivered, temporal.ApplicationErrorOptions{
			Details: []any{result}, NonRetryable: request.Notification.Kind == wire.NotifyEscalated,
		})
	}
	w.RegisterDelayedCallback(func() { w.decide(w.openDecision("d-1", extend(3600, 4))) }, time.Minute)
	outcome := w.run(spec())
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Less(t, outcome.ClosedAt.Sub(start), 5*time.Minute)
	details := w.noticeDetails()
	require.Equal(t, "not delivered: pager (HTTP 500); delivered: mail", details["escalated"])
	require.Contains(t, []string{details["escalated"], "still being delivered"}, details["decided"], "given up, or under way at the end")
	require.Contains(t, details["ended"], "handed over")
}

// What an older notifier's error says is not looked into: it is "not delivered", as it was.
func TestPlainErrorOfANotifier(t *testing.T) {
	t.Parallel()
	w := telling(t)
	w.notify = func(wire.NotifyRequest) error {
		return temporal.NewNonRetryableApplicationError("no", "other", errors.New("cause"), wire.NotifyResult{Nobody: true})
	}
	w.RegisterDelayedCallback(func() { w.decide(w.openDecision("d-1", extend(3600, 4))) }, time.Minute)
	w.run(spec())
	require.Equal(t, "not delivered", w.noticeDetails()["escalated"])
	require.Equal(t, "not delivered", w.noticeDetails()["decided"])
}

// The view says whether people could be told.
func TestViewHasTheLatestNotice(t *testing.T) {
	t.Parallel()
	w := telling(t)
	w.notify = func(wire.NotifyRequest) error { return temporal.NewNonRetryableApplicationError("no", "other", nil) }
	w.RegisterDelayedCallback(func() {
		notice := w.view().Notice
		require.Equal(t, wire.NotifyEscalated, notice.Kind)
		require.False(t, notice.Pending)
		require.Equal(t, "not delivered", notice.Detail)
		w.decide(w.openDecision("d-1", func(d *wire.Decision) { d.Kind = wire.DecisionClose }))
	}, time.Minute)
	outcome := w.run(spec())
	require.Equal(t, start.Add(time.Minute), outcome.ClosedAt.UTC())
	require.True(t, slices.Contains(w.told(), wire.NotifyDecided))
	require.False(t, slices.Contains(w.told(), wire.NotifyEnded), "the decision says it already")
}

// The message about an end is a workflow that anybody can look at: its result says who has it.
func TestTellPeople(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.ExecuteWorkflow(wire.WorkflowTellPeople, wire.NotifyRequest{Notification: wire.Notification{ID: "n-1", Kind: wire.NotifyEnded}})
	require.NoError(t, w.GetWorkflowError())
	require.Equal(t, []wire.NotificationKind{wire.NotifyEnded}, w.told())

	w = newWorld(t, nil)
	w.notify = func(wire.NotifyRequest) error {
		return temporal.NewApplicationErrorWithOptions("not delivered: a (HTTP 500)", wire.ErrorNotDelivered, temporal.ApplicationErrorOptions{})
	}
	w.ExecuteWorkflow(wire.WorkflowTellPeople, wire.NotifyRequest{Notification: wire.Notification{ID: "n-1", Kind: wire.NotifyEnded}})
	require.ErrorContains(t, w.GetWorkflowError(), "not delivered: a (HTTP 500)")
	require.Greater(t, len(w.notices), 5, "it is tried again and again")
}
