package workflows_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

func TestWaitPollsUntilSuccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(n int, _ wire.PollRequest) (wire.PollResult, error) {
		if n < 4 {
			return running()
		}
		return succeeded()
	})
	outcome := w.run(spec())

	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Empty(t, outcome.Reason)
	require.Equal(t, map[string]string{"file": "https://files.example.com/1.csv"}, outcome.Result)
	require.Equal(t, wire.Counters{StatusRequestsUsed: 4}, outcome.Counters)
	require.Equal(t, map[string]int{"200": 4}, outcome.Answers)
	require.Len(t, w.timers, 4, "one timer a poll")
	for i, raw := range []time.Duration{5, 10, 20, 40} {
		require.GreaterOrEqual(t, w.timers[i], raw*time.Second/2)
		require.LessOrEqual(t, w.timers[i], raw*time.Second)
	}
	audit := w.audit()
	require.Equal(t, outcome.AuditHead, audit.Head)
	require.Len(t, audit.Entries, outcome.AuditEntries)
	require.Zero(t, operation.VerifyChain("", audit.Entries))
}

// W4, R49: a wait of 2,000 polls goes on over several runs with its counters, its deadline and an unbroken audit.
func TestTwoThousandPollsContinueAsNew(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(n int, _ wire.PollRequest) (wire.PollResult, error) {
		if n < 2000 {
			return running()
		}
		return succeeded()
	})
	long := spec()
	long.DeadlineAt, long.MaxStatusRequests = start.Add(100*24*time.Hour), 2500
	head, used := "", 0
	outcome, runs := w.runAll(long, func(carried wire.Record) {
		audit := w.audit()
		require.Zero(t, operation.VerifyChain(head, audit.Entries), "the chain goes on over runs")
		head = audit.Head
		require.Equal(t, head, carried.AuditHead)
		require.LessOrEqual(t, len(audit.Entries), 1000)
		require.Greater(t, carried.Counters.StatusRequestsUsed, used)
		used = carried.Counters.StatusRequestsUsed
		require.Equal(t, long.DeadlineAt, carried.Limits.DeadlineAt)
		require.Equal(t, start, carried.OpenedAt.UTC())
	})
	require.GreaterOrEqual(t, runs, 3)
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, 2000, outcome.StatusRequestsUsed)
	last := w.audit()
	require.Zero(t, operation.VerifyChain(head, last.Entries))
	require.Equal(t, outcome.AuditEntries, last.FirstSeq+len(last.Entries)-1)
}

func TestOnlyAContinuedRunMayBringARecord(t *testing.T) {
	t.Parallel()
	for _, second := range []any{wire.Record{Phase: wire.PhasePolling}, 3, map[string]any{}} {
		w := newWorld(t, nil)
		w.ExecuteWorkflow(wire.WorkflowAwaitJob, spec(), second)
		require.ErrorContains(t, w.GetWorkflowError(), "start with the spec alone")
		requireInvalidSpec(t, w.GetWorkflowError())
		require.Empty(t, w.polls)
	}
}

// R28: what cannot be run fails with one clear line and sends nothing.
func TestBadSpecFailsTheWorkflow(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		input any
		want  string
	}{
		"no deadline":   {map[string]any{"operation_id": "o", "provider": "p", "account": "a", "provider_job_id": "j", "max_status_requests": 1, "max_transport_failures": 1}, "deadline_at is missing"},
		"unknown field": {map[string]any{"deadline": "soon"}, `field "deadline" is not known`},
		"wrong type":    {map[string]any{"max_status_requests": "many"}, `field "max_status_requests": a string where a whole number belongs`},
		"not an object": {"wait, please", "a JSON object is wanted, got a string"},
		"not JSON":      {[]byte("{wait"), "not valid JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			w.ExecuteWorkflow(wire.WorkflowAwaitJob, test.input)
			require.ErrorContains(t, w.GetWorkflowError(), test.want)
			requireInvalidSpec(t, w.GetWorkflowError())
			require.Empty(t, w.polls)
		})
	}
}

func requireInvalidSpec(t *testing.T, err error) {
	t.Helper()
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	require.Equal(t, wire.ErrorInvalidSpec, application.Type())
	require.True(t, application.NonRetryable())
}

// R24, T4: an activity that never left the queue proves that nothing was sent; the reservation stays used.
func TestRequestStuckInTheQueueIsNotSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(int, wire.PollRequest) (wire.PollResult, error) {
		return wire.PollResult{}, temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
	})
	none := spec()
	none.Escalation.EscalateOn = []wire.Reason{}
	outcome := w.run(none)
	require.Equal(t, wire.ReasonDeadlineExceeded, outcome.Reason)
	require.Equal(t, wire.Counters{StatusRequestsUsed: 1}, outcome.Counters, "used, and no transport failure")
	require.Contains(t, events(w), wire.EventRequestNotSent)
	require.Len(t, w.polls, 1)
}

// R32: a lost worker leaves a request that may have been sent; it counts as sent and as a transport failure.
func TestLostRequestCountsAsSent(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]error{
		"start-to-close time-out": temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_START_TO_CLOSE, nil),
		"activity that panicked":  errors.New("panic"),
		// A server puts the failure of the attempt before into the time-out of the one that came back.
		"start-to-close time-out of a request that was held back before": temporal.NewTimeoutError(
			enumspb.TIMEOUT_TYPE_START_TO_CLOSE, temporal.NewApplicationError("held back", wire.ErrorHeldBack)),
		"heartbeat time-out of a request that was held back before": temporal.NewTimeoutError(
			enumspb.TIMEOUT_TYPE_HEARTBEAT, temporal.NewApplicationError("held back", wire.ErrorHeldBack)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(n int, _ wire.PollRequest) (wire.PollResult, error) {
				if n == 1 {
					return wire.PollResult{}, lost
				}
				return succeeded()
			})
			outcome := w.run(spec())
			require.Equal(t, wire.StatusSucceeded, outcome.Status)
			require.Equal(t, wire.Counters{StatusRequestsUsed: 2, TransportFailuresUsed: 1}, outcome.Counters)
			require.Equal(t, map[string]int{"200": 1, "lost": 1}, outcome.Answers)
			require.Len(t, w.polls, 2, "R2: never retried by Temporal")
		})
	}
}

// R48: cancelling the workflow means to stop waiting; nothing is cancelled at the provider.
func TestCancellingTheWorkflowStopsWaiting(t *testing.T) {
	t.Parallel()
	t.Run("between polls", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, func(int, wire.PollRequest) (wire.PollResult, error) { return running() })
		w.RegisterDelayedCallback(w.CancelWorkflow, time.Minute)
		outcome := w.run(spec())
		require.Equal(t, wire.StatusUnresolved, outcome.Status)
		require.Equal(t, wire.ReasonWaitCancelled, outcome.Reason)
		require.Empty(t, w.cancels)
	})
	t.Run("while a request is in flight its terminal answer decides", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, nil)
		w.poll = func(int, wire.PollRequest) (wire.PollResult, error) {
			w.CancelWorkflow()
			return succeeded()
		}
		outcome := w.run(spec())
		require.Equal(t, wire.StatusSucceeded, outcome.Status)
	})
	t.Run("while a decision is open", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, func(int, wire.PollRequest) (wire.PollResult, error) { return state("paused", wire.CategoryUnknown) })
		w.RegisterDelayedCallback(w.CancelWorkflow, time.Hour)
		outcome := w.run(spec())
		require.Equal(t, wire.ReasonWaitCancelled, outcome.Reason)
		require.False(t, outcome.Undecided)
	})
}

// R48: a wait that is cancelled while prepare has no answer yet has sent nothing, and ends with an outcome all the same.
func TestCancellingBeforeTheWaitBegan(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.unprepared = errors.New("visibility is down")
	var refused *answer
	w.RegisterDelayedCallback(func() {
		refused = w.decide(wire.Decision{Kind: wire.DecisionCancel, DecisionID: "d", DecidedBy: "ana", Comment: "too early"})
	}, 10*time.Second)
	w.RegisterDelayedCallback(w.CancelWorkflow, time.Minute)
	outcome := w.run(spec())
	require.Equal(t, wire.StatusUnresolved, outcome.Status)
	require.Equal(t, wire.ReasonWaitCancelled, outcome.Reason)
	require.Equal(t, "report-1", outcome.OperationID)
	require.Equal(t, wire.RefusalNotOpen, refusalOf(t, refused.err).Reason)
	require.Empty(t, w.polls)
}

// T6, R37: a slow message does not move the window; its lapse is not a refusal.
func TestSlowNotificationDoesNotHoldUpTheWindow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(int, wire.PollRequest) (wire.PollResult, error) { return state("paused", wire.CategoryUnknown) })
	w.notify = func(wire.NotifyRequest) error { return errors.New("mail server is down") }
	short := spec()
	short.Escalation.DecisionWindowSeconds, short.Escalation.ReminderSeconds = new(300), new(0)
	outcome := w.run(short)
	require.Equal(t, wire.StatusUnresolved, outcome.Status)
	require.True(t, outcome.Undecided)
	require.Equal(t, wire.ReasonUnknownState, outcome.Reason)
	var opened, closed time.Time
	for _, entry := range w.audit().Entries {
		switch entry.Event { //nolint:exhaustive // only these two count
		case wire.EventEscalated:
			opened = entry.At
		case wire.EventNotified:
			require.Equal(t, "not delivered", entry.Detail)
		default:
		}
	}
	closed = outcome.ClosedAt
	require.Equal(t, 300*time.Second, closed.Sub(opened).Round(time.Second))
}

// W2: of 200 windows of 24 h that are answered within a second, none leaves its timer behind.
func TestAnsweredWindowsLeaveNoTimers(t *testing.T) {
	t.Parallel()
	const windows = 50 // max_extensions allows 100; several waits make up the number
	for range 4 {
		w := newWorld(t, nil)
		w.poll = func(n int, _ wire.PollRequest) (wire.PollResult, error) {
			if n > windows {
				return succeeded()
			}
			w.RegisterDelayedCallback(func() {
				w.SignalWorkflow(wire.SignalDecide, w.openDecision("d-"+string(rune('0'+n)), extend(0, 1)))
			}, time.Second)
			return state("paused", wire.CategoryUnknown)
		}
		many := spec()
		many.MaxStatusRequests, many.Escalation.MaxExtensions = 100, new(windows)
		many.Escalation.ReminderSeconds = new(0)
		many.DeadlineAt = start.Add(30 * 24 * time.Hour)
		outcome := w.run(many)
		require.Equal(t, wire.StatusSucceeded, outcome.Status)
		require.Equal(t, windows, w.dropped, "every window's timer was cancelled")
		require.Len(t, w.timerIDs, 2*windows+1, "a poll and a window each")
	}
}

func events(w *world) []wire.Event {
	var out []wire.Event
	for _, entry := range w.audit().Entries {
		out = append(out, entry.Event)
	}
	return out
}
