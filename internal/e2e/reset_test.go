package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// R31, R46: a reset to any point is found out before anything is sent, and asks a person. The decision acknowledges the new
// run, and the wait goes on.
func TestResetAsksBeforeItSends(t *testing.T) {
	t.Parallel()
	for name, task := range map[string]int{"before prepare": 1, "before the first poll": 2, "between polls": 4} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := "reset-" + name[len(name)-5:]
			w := plan{job: job, script: waittest.Script(waittest.State("running").Times(4), result(job))}.begin(t)
			w.requests(2)
			w.until(func(view wire.OperationView) bool {
				return view.Counters.StatusRequestsUsed >= 2 && view.NextPollAt != nil
			})
			run, err := w.bed.Reset(w.ctx, w.run, w.taskCompleted(task))
			require.NoError(t, err)
			open := w.escalated()
			sent := len(w.log())

			require.Equal(t, wire.ReasonHistoryReset, open.Reason)
			require.Equal(t, w.spec.OperationID+"#1-"+run.GetRunID()[28:], open.ID)
			require.NotEqual(t, w.run.GetRunID()[28:], run.GetRunID()[28:])
			w.settled()
			require.Len(t, w.log(), sent, "sent before the decision")
			w.decide(extend(open.ID, "d-1"))
			outcome := w.outcome()
			require.Equal(t, wire.StatusSucceeded, outcome.Status)
			require.Equal(t, 1, outcome.ExtensionsUsed)
			w.bounded(16, w.spec.DeadlineAt)
			require.Len(t, w.log(), 5, "the script's own length")
		})
	}
}

// R31: every reset asks anew, also one of a run that a person has acknowledged.
func TestSecondResetAsksAgain(t *testing.T) {
	t.Parallel()
	w := plan{job: "reset-twice", script: waittest.Script(waittest.State("running")), spec: func(spec *wire.Spec) {
		spec.Escalation.MaxExtensions = new(3)
		spec.MaxStatusRequests = 30
	}}.begin(t)
	w.requests(1)
	first, err := w.bed.Reset(w.ctx, w.run, w.taskCompleted(1))
	require.NoError(t, err)
	open := w.escalated()
	sent := len(w.log())
	w.decide(extend(open.ID, "d-1"))
	w.requests(sent + 2)

	w.until(func(view wire.OperationView) bool {
		return view.NextPollAt != nil && view.Counters.StatusRequestsUsed >= 2
	})
	second, err := w.bed.Reset(w.ctx, first, w.taskCompleted(1))
	require.NoError(t, err)
	again := w.escalatedAfter(open.ID)
	require.Equal(t, wire.ReasonHistoryReset, again.Reason)
	require.Contains(t, again.ID, second.GetRunID()[28:])
	require.NotEqual(t, open.ID, again.ID)
	w.decide(decision(wire.DecisionClose, again.ID, "d-2"))
	outcome := w.outcome()
	require.Equal(t, wire.StatusUnresolved, outcome.Status)
	require.Equal(t, wire.ReasonHistoryReset, outcome.Reason)
}

// taskCompleted is the id of the n-th completion of a workflow task.
func (w *wait) taskCompleted(n int) int64 {
	w.Helper()
	return w.event(is(enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED).nth(n)).GetEventId()
}
