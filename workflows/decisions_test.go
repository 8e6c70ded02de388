package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// unknownOnce stops the wait at its first answer and lets it end after that.
func unknownOnce(n int, _ wire.PollRequest) (wire.PollResult, error) {
	if n == 1 {
		return state("paused", wire.CategoryUnknown)
	}
	return succeeded()
}

// R40: an update is answered in the workflow task that it arrives in, with the limits that hold from then on.
func TestUpdateIsAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, unknownOnce)
	var got *answer
	var asked time.Time
	w.RegisterDelayedCallback(func() {
		asked = w.Now()
		got = w.decide(w.openDecision("d-1", extend(3600, 4)))
	}, time.Minute)
	outcome := w.run(spec())
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, "ana@example.com", outcome.DecidedBy)
	require.NoError(t, got.err)
	require.Equal(t, wire.DecisionReply{
		Accepted: true, DecisionID: "d-1", DeadlineAt: asked.Add(time.Hour).UTC(), MaxStatusRequests: 16,
	}, got.reply)
}

func TestRefusedUpdateSaysWhy(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*wire.Decision)
		want   wire.RefusalReason
	}{
		"incomplete":       {func(d *wire.Decision) { d.Comment = "" }, wire.RefusalIncomplete},
		"wrong escalation": {func(d *wire.Decision) { d.EscalationID = "report-1#7-00000000" }, wire.RefusalWrongEscalation},
		"D4 not offered":   {func(d *wire.Decision) { d.Kind = wire.DecisionCancel; d.Seconds, d.StatusRequests = 0, 0 }, wire.RefusalNotOffered},
		"out of bounds":    {func(d *wire.Decision) { d.Seconds = -1 }, wire.RefusalOutOfBounds},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, unknownOnce)
			var got *answer
			w.RegisterDelayedCallback(func() {
				got = w.decide(w.openDecision("d-1", func(d *wire.Decision) { extend(900, 4)(d); test.change(d) }))
			}, time.Minute)
			w.RegisterDelayedCallback(func() {
				w.SignalWorkflow(wire.SignalDecide, w.openDecision("d-2", extend(900, 4)))
			}, 2*time.Minute)
			outcome := w.run(spec())
			require.Equal(t, wire.StatusSucceeded, outcome.Status, "a refusal loses nothing")
			require.Equal(t, test.want, refusalOf(t, got.err).Reason)
			require.Contains(t, events(w), wire.EventDecisionRefused)
		})
	}
}

// An update that cannot be parsed is refused by its validator and leaves no trace.
func TestUnparsableUpdateIsRejected(t *testing.T) {
	t.Parallel()
	w := newWorld(t, unknownOnce)
	var got *answer
	w.RegisterDelayedCallback(func() { got = w.decide(map[string]any{"kind": "extend", "seconds": "many"}) }, time.Minute)
	w.RegisterDelayedCallback(func() {
		w.SignalWorkflow(wire.SignalDecide, w.openDecision("d-2", extend(900, 4)))
	}, 2*time.Minute)
	w.run(spec())
	refusal := refusalOf(t, got.err)
	require.Equal(t, wire.RefusalUnparsable, refusal.Reason)
	require.Contains(t, refusal.Detail, `"seconds"`)
	require.NotContains(t, events(w), wire.EventDecisionRefused)
}

// R40: a signal of the wrong type would be dropped silently if it were typed; received raw it is an audit entry.
func TestSignalOfAnyShapeIsRecorded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, unknownOnce)
	for i, payload := range []any{"close it", 7, nil, []string{"extend"}, map[string]any{"kind": 1}} {
		w.RegisterDelayedCallback(func() { w.SignalWorkflow(wire.SignalDecide, payload) }, time.Minute+time.Duration(i)*time.Second)
	}
	w.RegisterDelayedCallback(func() {
		w.SignalWorkflow(wire.SignalDecide, w.openDecision("d-1", extend(900, 4)))
	}, 2*time.Minute)
	require.Equal(t, wire.StatusSucceeded, w.run(spec()).Status)
	refused := 0
	for _, entry := range w.audit().Entries {
		if entry.Event == wire.EventDecisionRefused {
			require.Equal(t, string(wire.RefusalUnparsable), entry.Reason)
			refused++
		}
	}
	require.Equal(t, 5, refused)
}

// For people at the plain Temporal command line: the signals extend and cancel take the payload without its kind.
func TestPlainSignals(t *testing.T) {
	t.Parallel()
	t.Run("extend", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, unknownOnce)
		w.RegisterDelayedCallback(func() {
			w.SignalWorkflow(wire.SignalExtend, w.openDecision("d-1", func(d *wire.Decision) { d.StatusRequests = 4 }))
		}, time.Minute)
		outcome := w.run(spec())
		require.Equal(t, wire.StatusSucceeded, outcome.Status)
		require.Equal(t, 1, outcome.ExtensionsUsed)
	})
	t.Run("cancel while polling", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, nil)
		w.knowledge.Table.Cancel = &wire.CancelFacts{ConfirmRequests: 4, ConfirmSeconds: 60}
		w.poll = func(int, wire.PollRequest) (wire.PollResult, error) {
			if len(w.cancels) > 0 {
				return state("cancelled", wire.CategoryCancelled)
			}
			return running()
		}
		w.cancelled = func(wire.CancelRequest) (wire.CancelResult, error) {
			return wire.CancelResult{HTTPStatus: 202, Accepted: true}, nil
		}
		w.RegisterDelayedCallback(func() {
			w.SignalWorkflow(wire.SignalCancel, map[string]any{"decision_id": "d-1", "decided_by": "ana", "comment": "not needed"})
		}, time.Minute)
		outcome := w.run(spec())
		require.Equal(t, wire.StatusCancelled, outcome.Status)
		require.Len(t, w.cancels, 1)
	})
}

// R43: the one cancel request is never repeated, whatever became of it.
func TestLostCancelIsNotRepeated(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(int, wire.PollRequest) (wire.PollResult, error) { return running() })
	w.knowledge.Table.Cancel = &wire.CancelFacts{ConfirmRequests: 2, ConfirmSeconds: 60}
	w.cancelled = func(wire.CancelRequest) (wire.CancelResult, error) {
		return wire.CancelResult{}, temporal.NewApplicationError("lost", "")
	}
	w.RegisterDelayedCallback(func() {
		w.SignalWorkflow(wire.SignalCancel, map[string]any{"decision_id": "d-1", "decided_by": "ana", "comment": "not needed"})
	}, time.Minute)
	none := spec()
	none.Escalation.EscalateOn = []wire.Reason{}
	none.DeadlineAt = start.Add(2 * time.Minute)
	outcome := w.run(none)
	require.Equal(t, wire.ReasonCancelUnconfirmed, outcome.Reason)
	require.Len(t, w.cancels, 1)
}

// The queries of a wait that waits for a decision hold all that a decision needs.
func TestQueriesOfAnEscalatedWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t, unknownOnce)
	var view wire.OperationView
	w.RegisterDelayedCallback(func() {
		view = w.view()
		w.SignalWorkflow(wire.SignalDecide, w.openDecision("d-1", extend(900, 4)))
	}, time.Minute)
	w.run(spec())
	require.Equal(t, wire.PhaseEscalated, view.Phase)
	require.Nil(t, view.NextPollAt)
	require.Equal(t, wire.ReasonUnknownState, view.Escalation.Reason)
	require.Equal(t, "paused", view.LastObservation.Job.RawState)
	require.Contains(t, view.Escalation.Message, "unknown_state")
	for _, option := range view.Escalation.Options {
		require.NotEmpty(t, option.Text, option.Kind)
	}
	require.Nil(t, asked[*wire.EscalationView](w, wire.QueryEscalation), "nothing is open after the end")
}

// R37: reminders go out at their interval and stop with the answer.
func TestReminders(t *testing.T) {
	t.Parallel()
	w := newWorld(t, unknownOnce)
	w.RegisterDelayedCallback(func() {
		w.SignalWorkflow(wire.SignalDecide, w.openDecision("d-1", extend(12*3600, 4)))
	}, 10*time.Hour)
	outcome := w.run(spec())
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	kinds := map[wire.NotificationKind]int{}
	for _, notice := range w.notices {
		kinds[notice.Notification.Kind]++
	}
	require.Equal(t, map[wire.NotificationKind]int{wire.NotifyEscalated: 1, wire.NotifyReminded: 2}, kinds, "every four hours")
}

// An open escalation goes over continue-as-new with its window, and a decision in the next run answers it.
func TestEscalationIsCarriedOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, unknownOnce)
	w.RegisterDelayedCallback(func() {
		w.SetContinueAsNewSuggested(true)
		w.SignalWorkflow(wire.SignalDecide, "wakes the loop")
	}, time.Minute)
	var before wire.Record
	w.ExecuteWorkflow(wire.WorkflowAwaitJob, spec())
	outcome, runs := w.continueWith(func(carried wire.Record) {
		before = carried
		w.later = func() {
			require.Equal(t, carried.Escalation.ID, asked[*wire.EscalationView](w, wire.QueryEscalation).ID)
			w.SignalWorkflow(wire.SignalDecide, w.openDecision("d-1", extend(3600, 4)))
		}
	})
	require.Equal(t, 2, runs)
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, wire.PhaseEscalated, before.Phase)
	require.Zero(t, operation.VerifyChain(before.AuditHead, w.audit().Entries))
}

// Search attributes are upserted on a change of phase only, and only where they are registered.
func TestSearchAttributes(t *testing.T) {
	t.Parallel()
	for name, registered := range map[string]bool{"registered": true, "not registered": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(n int, _ wire.PollRequest) (wire.PollResult, error) {
				if n < 5 {
					return running()
				}
				return unknownOnce(n-4, wire.PollRequest{})
			})
			w.registered = registered
			upserts := 0
			w.OnUpsertTypedSearchAttributes(mock.Anything).Run(func(mock.Arguments) { upserts++ }).Return(nil).Maybe()
			w.RegisterDelayedCallback(func() {
				w.SignalWorkflow(wire.SignalDecide, w.openDecision("d-1", extend(3600, 4)))
			}, 20*time.Minute)
			outcome := w.run(spec())
			require.Equal(t, wire.StatusSucceeded, outcome.Status)
			if registered {
				require.Equal(t, 4, upserts, "polling, escalated, polling, closed")
			} else {
				require.Zero(t, upserts)
			}
		})
	}
}

func refusalOf(t *testing.T, err error) wire.Refusal {
	t.Helper()
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	require.Equal(t, wire.ErrorDecisionRefused, application.Type())
	var refusal wire.Refusal
	require.NoError(t, application.Details(&refusal))
	return refusal
}
