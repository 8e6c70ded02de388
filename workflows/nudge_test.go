package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

// slowly is a spec whose polls are five minutes and more apart.
func slowly() wire.Spec {
	s := spec()
	s.Schedule = wire.Schedule{BaseDelaySeconds: new(600), MaxDelaySeconds: new(600), InitialDelaySeconds: new(0)}
	return s
}

func nudge(w *world, after time.Duration, payload any) {
	w.RegisterDelayedCallback(func() { w.SignalWorkflow(wire.SignalNudge, payload) }, after)
}

// R21: a nudge brings the next poll forward; the timer for the poll as it was planned is cancelled.
func TestNudgeBringsThePollForward(t *testing.T) {
	t.Parallel()
	var at []time.Time
	var w *world
	w = newWorld(t, func(n int, _ wire.PollRequest) (wire.PollResult, error) {
		at = append(at, w.Now())
		if n < 2 {
			return running()
		}
		return succeeded()
	})
	nudge(w, time.Minute, wire.Nudge{Source: "webhook"})
	outcome := w.run(slowly())
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, 1, outcome.NudgesReceived)
	require.Len(t, at, 2)
	require.Equal(t, time.Minute, at[1].Sub(start))
	require.Equal(t, 1, w.dropped)
	require.Contains(t, events(w), wire.EventNudged)
}

// TestForeignSignal: a signal that nobody takes keeps no wait awake, moves no poll and hides none of its own signals.
func TestForeignSignal(t *testing.T) {
	t.Parallel()
	var at []time.Duration
	var w *world
	w = newWorld(t, func(n int, _ wire.PollRequest) (wire.PollResult, error) {
		at = append(at, w.Now().Sub(start))
		if n < 2 {
			return running()
		}
		return succeeded()
	})
	w.RegisterDelayedCallback(func() { w.SignalWorkflow("of_another_program", "hello") }, time.Minute)
	nudge(w, 2*time.Minute, wire.Nudge{Source: "webhook"})
	outcome := w.run(slowly())
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, []time.Duration{0, 2 * time.Minute}, at)
	require.Equal(t, 1, outcome.NudgesReceived)
}

// A flood is drained as it comes: one nudge counts, whatever else is between, and every signal is taken in.
func TestNudgesOfAnyShape(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(n int, _ wire.PollRequest) (wire.PollResult, error) {
		if n < 3 {
			return running()
		}
		return succeeded()
	})
	for i, payload := range []any{"now", 7, nil, []string{"webhook"}, map[string]any{"source": 1}, map[string]any{"source": ""}} {
		nudge(w, time.Minute+time.Duration(i)*time.Second, payload)
	}
	for range 200 {
		nudge(w, 2*time.Minute, wire.Nudge{Source: "webhook"})
	}
	outcome := w.run(slowly())
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, 206, outcome.NudgesReceived)
	require.Len(t, w.polls, 3)
	effects := map[string]int{}
	for _, entry := range w.audit().Entries {
		if entry.Event == wire.EventNudged {
			effects[entry.Reason]++
		}
	}
	// The flood's first brings the second poll forward; the rest of it arrives before that request is answered.
	require.Equal(t, 1, effects[string(wire.NudgeUnparsable)])
	require.Equal(t, 1, effects[string(wire.NudgeFollowed)])
	require.LessOrEqual(t, effects[string(wire.NudgeInFlight)], 1)
}

// R49: what a nudge has planned is carried over to the next run.
func TestNudgedPollIsCarriedOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(n int, _ wire.PollRequest) (wire.PollResult, error) {
		if n < 2 {
			return running()
		}
		return succeeded()
	})
	s := slowly()
	s.Schedule.MinDelaySeconds = new(120)
	w.RegisterDelayedCallback(func() {
		w.SetContinueAsNewSuggested(true)
		w.SignalWorkflow(wire.SignalNudge, wire.Nudge{Source: "webhook"})
	}, time.Minute)
	var carried wire.Record
	outcome, runs := w.runAll(s, func(record wire.Record) { carried = record })
	require.Equal(t, 2, runs)
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, wire.DelayNudge, carried.Poll.Source)
	require.True(t, carried.Nudges.Counted)
	require.Equal(t, 1, carried.Counters.NudgesReceived)
}

// What nudges a wait that is told to stop, or that never began, changes nothing.
func TestNudgeOfAWaitThatNeverBegan(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	nudge(w, 0, wire.Nudge{Source: "webhook"})
	bad := spec()
	bad.MaxStatusRequests = 0
	w.ExecuteWorkflow(wire.WorkflowAwaitJob, bad)
	require.ErrorContains(t, w.GetWorkflowError(), "max_status_requests is missing")
}
