package e2e_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// B2, R30, R32: the worker is killed five times while the provider holds the answer. Every reservation is counted, and the
// provider received no more than was reserved.
func TestKilledWorkersCostReservations(t *testing.T) {
	t.Parallel()
	const kills = 5
	crew := newCrew(t, shared, "kills", bed.Key)
	w := plan{
		job: "kills", queue: "kills",
		script: waittest.Script(
			waittest.Status(503).RetryAfter("3"), waittest.State("running").Held().Times(kills), waittest.State("running").RetryAfter("2"), result("kills"),
		),
		spec: func(spec *wire.Spec) {
			spec.MaxStatusRequests, spec.MaxTransportFailures = 8, 9
		},
	}.begin(t)
	worker := crew.start()
	for n := range kills {
		w.requests(n + 2)
		worker.kill()
		worker = crew.start()
	}
	outcome := w.outcome()

	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, kills+3, outcome.StatusRequestsUsed)
	require.Len(t, w.log(), outcome.StatusRequestsUsed, "a request that nobody reserved, or a reservation that was never sent")
	require.Equal(t, kills+1, outcome.TransportFailuresUsed, "the kills and the 503")
	w.bounded(8, w.spec.DeadlineAt)
	require.Equal(t, kills, count(w.audit(), wire.EventRequestLost))
	gone := slices.DeleteFunc(w.log(), func(e waittest.LogEntry) bool { return e.Ending != waittest.EndingClientGone })
	require.Len(t, gone, kills)
}

// R30: kills use up the request budget like answers do, and the wait stops at it.
func TestKilledWorkersNeverPassTheBudget(t *testing.T) {
	t.Parallel()
	crew := newCrew(t, shared, "kills-budget", bed.Key)
	w := plan{
		job: "kills-budget", queue: "kills-budget", script: waittest.Script(waittest.State("running").Held()),
		spec: func(spec *wire.Spec) {
			spec.MaxStatusRequests, spec.MaxTransportFailures = 2, 9
		},
	}.begin(t)
	for n := range 2 {
		worker := crew.start()
		w.requests(n + 1)
		worker.kill()
	}
	crew.start()
	open := w.escalated()
	require.Equal(t, wire.ReasonRequestBudgetExhausted, open.Reason)
	require.Equal(t, 2, w.view().Counters.StatusRequestsUsed)
	w.decide(decision(wire.DecisionClose, open.ID, "d-1"))
	require.Equal(t, wire.StatusUnresolved, w.outcome().Status)
	w.bounded(2, w.spec.DeadlineAt)
}

// T3, R22, R24: the worker is away from the third poll until after the deadline, once with that poll under way and once
// before it.
func TestWorkerAwayPastTheDeadline(t *testing.T) {
	t.Parallel()
	for name, third := range map[string]waittest.Step{
		"held":    waittest.State("running").Held(),
		"not yet": waittest.State("running"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := "away-" + name[:3]
			crew := newCrew(t, shared, job, bed.Key)
			w := plan{
				job: job, queue: job, script: waittest.Script(waittest.State("running"), waittest.State("running").RetryAfter("4"), third),
				spec: func(spec *wire.Spec) {
					deadline(16 * time.Second)(spec)
				},
			}.begin(t)
			worker := crew.start()
			sent := 2
			if third.Hold {
				sent = 3
				w.requests(sent)
			} else {
				w.until(func(view wire.OperationView) bool {
					return view.Counters.StatusRequestsUsed == 2 && view.NextPollAt != nil
				})
			}
			worker.kill()
			w.past(w.spec.DeadlineAt)
			crew.start()
			open := w.escalated()

			require.Equal(t, wire.ReasonDeadlineExceeded, open.Reason)
			require.Len(t, w.log(), sent, "asked after the restart")
			require.Equal(t, sent, w.view().Counters.StatusRequestsUsed)
			w.decide(decision(wire.DecisionClose, open.ID, "d-1"))
			w.bounded(12, w.spec.DeadlineAt)
			require.Equal(t, wire.StatusUnresolved, w.outcome().Status)
		})
	}
}

// A graceful stop lets the request in flight finish: its answer counts, and nothing is asked twice.
func TestTerminatedWorkerFinishesItsRequest(t *testing.T) {
	t.Parallel()
	crew := newCrew(t, shared, "terminate", bed.Key)
	w := plan{
		job: "terminate", queue: "terminate", script: waittest.Script(result("terminate").Held()),
		spec: func(spec *wire.Spec) { spec.Schedule.RequestTimeoutSeconds = new(60) },
	}.begin(t)
	worker := crew.start()
	w.requests(1)
	worker.terminate()
	worker.await(w.ctx, "stopping; requests in flight may finish")
	require.Equal(t, 1, shared.Provider.Release(w.job))
	require.Zero(t, worker.exitCode(w.ctx), worker.output)
	w.event(is(enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED))
	crew.start()
	outcome := w.outcome()

	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, 1, outcome.StatusRequestsUsed)
	require.Zero(t, outcome.TransportFailuresUsed)
	require.Len(t, w.log(), 1)
}

// past waits for a moment at which nothing happens that could be waited for.
func (w *wait) past(moment time.Time) {
	w.Helper()
	timer := time.NewTimer(time.Until(moment))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.ctx.Done():
		require.NoError(w, w.ctx.Err())
	}
}
