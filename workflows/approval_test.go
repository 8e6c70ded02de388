package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

func approve(d *wire.Decision) { d.Kind = wire.DecisionApproveRequest }

// R54: each request waits for its own approval, and each approval lets out one request.
func TestEachRequestIsApproved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(n int, _ wire.PollRequest) (wire.PollResult, error) {
		if n == 1 {
			return running()
		}
		return succeeded()
	})
	w.approval = wire.ApprovalPerRequest
	var sent []int
	var got []*answer
	for i, at := range []time.Duration{5 * time.Minute, 20 * time.Minute} {
		w.RegisterDelayedCallback(func() {
			sent = append(sent, len(w.polls))
			got = append(got, w.decide(w.openDecision([]string{"d-1", "d-2"}[i], approve)))
		}, at)
	}
	outcome := w.run(spec())
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Zero(t, outcome.ExtensionsUsed)
	require.Equal(t, []int{0, 1}, sent)
	require.NoError(t, got[0].err)
	require.NoError(t, got[1].err)
	require.Len(t, w.polls, 2)
}

// R54: an approval that comes after the deadline sends nothing.
func TestApprovalAfterTheDeadlineSendsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(int, wire.PollRequest) (wire.PollResult, error) { return succeeded() })
	w.approval = wire.ApprovalPerOperation
	var reason wire.Reason
	w.RegisterDelayedCallback(func() { w.decide(w.openDecision("d-1", approve)) }, 41*time.Minute)
	w.RegisterDelayedCallback(func() {
		reason = asked[*wire.EscalationView](w, wire.QueryEscalation).Reason
		w.decide(w.openDecision("d-2", func(d *wire.Decision) { d.Kind = wire.DecisionClose }))
	}, 42*time.Minute)
	outcome := w.run(spec())
	require.Equal(t, wire.ReasonDeadlineExceeded, reason)
	require.Equal(t, wire.ReasonDeadlineExceeded, outcome.Reason)
	require.Empty(t, w.polls)
}
