package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"

	"github.com/jobwait/jobwait/wire"
)

// R48: who stops a wait stops what it has not sent: a cancel that is held back is taken back.
func TestStoppingTakesBackAHeldCancel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(int, wire.PollRequest) (wire.PollResult, error) { return running() })
	w.holdBack, w.knowledge.Table.Cancel = true, &wire.CancelFacts{ConfirmRequests: 3, ConfirmSeconds: 60}
	w.cancelled = func(wire.CancelRequest) (wire.CancelResult, error) {
		return wire.CancelResult{}, activity.ErrResultPending
	}
	w.RegisterDelayedCallback(func() {
		w.SignalWorkflow(wire.SignalCancel, wire.Decision{DecisionID: "d-1", DecidedBy: "ana@example.com", Comment: "not needed"})
	}, time.Minute)
	w.RegisterDelayedCallback(w.CancelWorkflow, 2*time.Minute)
	outcome := w.run(spec())
	require.Equal(t, wire.ReasonWaitCancelled, outcome.Reason)
	require.Len(t, w.cancels, 1)
	require.False(t, w.cancels[0].HoldBackBefore.IsZero())
	require.WithinDuration(t, start.Add(2*time.Minute), outcome.ClosedAt, time.Minute)
}

// R49: a request may be held back for long, and a run must not grow for as long: it is taken back, and the next run goes on.
func TestAHeldRequestDoesNotKeepARunFromEnding(t *testing.T) {
	t.Parallel()
	for name, grow := range map[string]func(w *world){
		"history": func(w *world) {
			w.SetContinueAsNewSuggested(true)
			w.SetCurrentHistoryLength(5000)
			w.SignalWorkflow(wire.SignalNudge, wire.Nudge{Source: "webhook"})
		},
		"audit": func(w *world) {
			for range 1000 {
				w.SignalWorkflow(wire.SignalDecide, "no decision")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(n int, _ wire.PollRequest) (wire.PollResult, error) {
				if n == 1 {
					return wire.PollResult{}, activity.ErrResultPending
				}
				return succeeded()
			})
			w.holdBack = true
			w.RegisterDelayedCallback(func() { grow(w) }, time.Minute)
			var carried wire.Record
			outcome, runs := w.runAll(spec(), func(record wire.Record) { carried = record })
			require.Equal(t, 2, runs)
			require.Equal(t, wire.StatusSucceeded, outcome.Status)
			require.Equal(t, 1, carried.Counters.StatusRequestsUsed, "its reservation stays used")
			require.NotNil(t, carried.Poll)
			require.Zero(t, carried.Counters.TransportFailuresUsed)
		})
	}
}

// R30, R49: that a run should continue comes up when a request is due, as often as not. It is sent all the same, and the next run
// begins after its answer: a reservation is not given for nothing.
func TestARunThatShouldContinueSendsWhatIsDue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(n int, _ wire.PollRequest) (wire.PollResult, error) {
		if n == 1 {
			return running()
		}
		return succeeded()
	})
	w.holdBack = true
	w.SetOnTimerFiredListener(func(string) {
		w.SetCurrentHistoryLength(5000)
		w.SetContinueAsNewSuggested(true)
	})
	var carried wire.Record
	outcome, runs := w.runAll(spec(), func(record wire.Record) { carried = record })
	require.Equal(t, 2, runs)
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, map[string]int{"200": 1}, carried.Answers, "the one request that the first run reserved was answered")
	require.Equal(t, wire.Counters{StatusRequestsUsed: 2}, outcome.Counters)
}
