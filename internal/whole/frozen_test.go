//go:build unix

package whole_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/worker"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// R24: a worker is frozen when the server hands a poll to it, and goes on after the deadline. The time that the task lay there
// counts, and nothing is sent. Another worker runs the workflow meanwhile.
func TestFrozenWorkerSendsNothingLate(t *testing.T) {
	t.Parallel()
	workerBinary(t) // building it would outlast the first poll
	queue := afresh("frozen")
	stop, err := shared.Work(bed.WorkerOptions{TaskQueue: queue, Worker: worker.Options{LocalActivityWorkerOnly: true}})
	require.NoError(t, err)
	t.Cleanup(stop)
	w := plan{
		job: "frozen", queue: queue, script: waittest.Script(waittest.State("running")),
		spec: func(spec *wire.Spec) {
			spec.Schedule.InitialDelaySeconds, spec.Schedule.RequestTimeoutSeconds = new(15), new(10)
			deadline(19 * time.Second)(spec)
		},
	}.begin(t)
	w.event(is(enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED)) // the worker in this process has the workflow from here on
	frozen := newCrew(t, shared, queue, bed.Key).start()
	w.until(func(view wire.OperationView) bool { return view.NextPollAt != nil })
	require.NoError(t, frozen.cmd.Process.Signal(syscall.SIGSTOP))
	w.past(w.spec.DeadlineAt.Add(time.Second))
	require.NoError(t, frozen.cmd.Process.Signal(syscall.SIGCONT))
	open := w.escalated()

	require.Equal(t, wire.ReasonDeadlineExceeded, open.Reason)
	require.Equal(t, 1, w.view().Counters.StatusRequestsUsed, "the poll was handed out")
	require.Equal(t, 1, count(w.audit(), wire.EventRequestNotSent))
	require.Empty(t, w.log())
	w.decide(decision(wire.DecisionClose, open.ID, "d-1"))
	require.Equal(t, wire.StatusUnresolved, w.outcome().Status)
}
