//go:build unix

package e2e_test

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

// R24, R2: a worker is frozen when the server hands a poll to it, and goes on after the deadline, or after the server has given
// the poll up. Nothing is sent for it then. Another worker runs the workflow meanwhile.
func TestFrozenWorkerSendsNothingLate(t *testing.T) {
	t.Parallel()
	workerBinary(t) // building it would outlast the first poll
	for name, c := range map[string]struct {
		spec  func(*wire.Spec)
		until time.Duration
		then  func(*wait)
	}{
		"past the deadline": {
			spec: func(spec *wire.Spec) {
				spec.Schedule.RequestTimeoutSeconds = new(10)
				deadline(19 * time.Second)(spec)
			},
			until: 20 * time.Second, then: requireNotSent,
		},
		"past the time-out": {
			spec: func(spec *wire.Spec) {
				spec.Schedule.BaseDelaySeconds, spec.Schedule.MaxDelaySeconds = new(10), new(10)
				spec.Schedule.RequestTimeoutSeconds = new(1)
			},
			until: 23 * time.Second, then: requireLost,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := afresh("frozen-" + name[len("past the "):])
			stop, err := shared.Work(bed.WorkerOptions{TaskQueue: job, Worker: worker.Options{LocalActivityWorkerOnly: true}})
			require.NoError(t, err)
			t.Cleanup(stop)
			w := plan{job: job, queue: job, script: waittest.Script(result(job)), spec: func(spec *wire.Spec) {
				spec.Schedule.InitialDelaySeconds = new(15)
				c.spec(spec)
			}}.begin(t)
			began := time.Now()
			w.event(is(enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED)) // the worker in this process has the workflow from here on
			frozen := newCrew(t, shared, job, bed.Key).start()
			w.until(func(view wire.OperationView) bool { return view.NextPollAt != nil })
			require.NoError(t, frozen.cmd.Process.Signal(syscall.SIGSTOP))
			w.past(began.Add(c.until))
			require.NoError(t, frozen.cmd.Process.Signal(syscall.SIGCONT))
			c.then(w)
		})
	}
}

// requireNotSent: the deadline stops the wait, with its one request reserved and not sent.
func requireNotSent(w *wait) {
	w.Helper()
	open := w.escalated()
	require.Equal(w, wire.ReasonDeadlineExceeded, open.Reason)
	require.Equal(w, 1, w.view().Counters.StatusRequestsUsed, "the poll was handed out")
	require.Equal(w, 1, count(w.audit(), wire.EventRequestNotSent))
	require.Empty(w, w.log())
	w.decide(decision(wire.DecisionClose, open.ID, "d-1"))
	require.Equal(w, wire.StatusUnresolved, w.outcome().Status)
}

// requireLost: the poll counts as lost, and the next one is the first that the provider sees.
func requireLost(w *wait) {
	w.Helper()
	outcome := w.outcome()
	require.Equal(w, wire.StatusSucceeded, outcome.Status)
	require.Equal(w, 1, outcome.TransportFailuresUsed)
	require.Equal(w, 2, outcome.StatusRequestsUsed)
	require.Len(w, w.log(), 1)
}
