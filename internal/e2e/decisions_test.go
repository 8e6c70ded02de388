package e2e_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/worker"

	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// R41: the reply to an update has the limits that the decision set.
func TestDecisionAnswersAtOnce(t *testing.T) {
	t.Parallel()
	w := plan{job: "at-once", script: waittest.Script(waittest.State("paused"), result("at-once"))}.begin(t)
	open := w.escalated()
	more := extend(open.ID, "d-1")
	more.Seconds = 3600
	reply := w.decide(more)
	require.Equal(t, "d-1", reply.DecisionID)
	require.Equal(t, 16, reply.MaxStatusRequests)
	require.WithinDuration(t, at(time.Hour), reply.DeadlineAt, longest)
	require.Equal(t, wire.StatusSucceeded, w.outcome().Status)
}

// R40: a person at the plain temporal command sends JSON by the signal extend.
func TestPlainSignal(t *testing.T) {
	t.Parallel()
	w := plan{job: "plain-signal", script: waittest.Script(waittest.State("paused"), result("plain-signal"))}.begin(t)
	open := w.escalated()
	w.signal(wire.SignalExtend, json.RawMessage(
		`{"decision_id":"d-1","escalation_id":"`+open.ID+`","decided_by":"ana@example.com","comment":"by hand","seconds":600,"status_requests":2}`))
	outcome := w.outcome()
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, "ana@example.com", outcome.DecidedBy)
}

// D1, R40: the answer to the first escalation arrives again while the second is open: as it was, under another id, and with
// other content. It has no effect.
func TestAnswerToAnEarlierEscalation(t *testing.T) {
	t.Parallel()
	w := plan{
		job: "d1", script: waittest.Script(waittest.State("paused").Times(2), result("d1")),
		spec: func(spec *wire.Spec) { spec.Escalation.MaxExtensions = new(2) },
	}.begin(t)
	first := w.escalated()
	answer := extend(first.ID, "d-1")
	w.decide(answer)
	second := w.escalatedAfter(first.ID)
	before := w.view()

	require.Equal(t, wire.RefusalDuplicate, w.refused(answer).Reason)
	require.Equal(t, wire.RefusalWrongEscalation, w.refused(extend(first.ID, "d-2")).Reason)
	changed := answer
	changed.Seconds++
	require.Equal(t, wire.RefusalConflict, w.refused(changed).Reason)
	w.signal(wire.SignalDecide, answer)
	after := w.until(func(wire.OperationView) bool { return count(w.audit(), wire.EventDecisionRefused) == 4 })
	require.Equal(t, before.Limits, after.Limits)
	require.Equal(t, second.ID, after.Escalation.ID)
	require.Len(t, w.log(), 2)

	w.decide(extend(second.ID, "d-3"))
	require.Equal(t, 2, w.outcome().ExtensionsUsed)
}

// D2, R37, R40: nobody answers in the window. The wait closes as close would, undecided, and whoever comes too late learns
// from the server that there is nothing to decide any more.
func TestLapseAndALateAnswer(t *testing.T) {
	t.Parallel()
	w := plan{job: "d2", script: waittest.Script(waittest.State("awaiting_review")), spec: shortestWindow}.begin(t)
	open := w.escalated()
	outcome := w.outcome()
	require.Equal(t, wire.StatusUnresolved, outcome.Status)
	require.Equal(t, wire.ReasonNeedsInput, outcome.Reason)
	require.True(t, outcome.Undecided)
	require.Empty(t, outcome.DecidedBy)
	require.Len(t, w.log(), 1, "R36: nothing is sent while people are asked")
	require.GreaterOrEqual(t, outcome.ClosedAt.Sub(open.OpenedAt), time.Minute)

	var gone *serviceerror.NotFound
	_, err := w.bed.Decide(w.ctx, w.id(), decision(wire.DecisionClose, open.ID, "d-late"))
	require.ErrorAs(t, err, &gone)
	err = w.bed.Client.SignalWorkflow(w.ctx, w.id(), "", wire.SignalDecide, decision(wire.DecisionClose, open.ID, "d-late"))
	require.ErrorAs(t, err, &gone)
}

// D4, R39, R43: a cancel that the provider does not document is refused, while polling and when people are asked.
func TestCancelThatIsNotDocumented(t *testing.T) {
	t.Parallel()
	workWithoutCancel(t, "d4")
	w := plan{
		job: "d4", queue: "d4", script: waittest.Script(waittest.State("running").Times(2), waittest.State("paused")),
		spec: func(spec *wire.Spec) { spec.Provider = "no-cancel" },
	}.begin(t)
	w.requests(1)
	require.Equal(t, wire.RefusalNotOffered, w.refused(decision(wire.DecisionCancel, "", "d-1")).Reason)
	open := w.escalated()
	for _, option := range open.Options {
		require.NotEqual(t, wire.DecisionCancel, option.Kind)
	}
	require.Equal(t, wire.RefusalNotOffered, w.refused(decision(wire.DecisionCancel, open.ID, "d-2")).Reason)
	w.decide(decision(wire.DecisionClose, open.ID, "d-3"))
	require.Equal(t, wire.StatusUnresolved, w.outcome().Status)
	for _, entry := range w.log() {
		require.Equal(t, waittest.KindStatus, entry.Kind)
	}
}

// D6, R34, R39, R41: extensions are used up. With a documented cancel the second stop asks and refuses another extension;
// without one nothing is left to ask, and it closes at once.
func TestSecondExtension(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T, job, provider string) *wait {
		t.Helper()
		workWithoutCancel(t, job)
		w := plan{job: job, queue: job, script: waittest.Script(waittest.State("running")), spec: func(spec *wire.Spec) {
			spec.Provider, spec.MaxStatusRequests = provider, 1
		}}.begin(t)
		open := w.escalated()
		more := extend(open.ID, "d-1")
		more.Seconds, more.StatusRequests = 900, 4
		w.decide(more)
		return w
	}
	t.Run("with a cancel", func(t *testing.T) {
		t.Parallel()
		w := begin(t, "d6-with", "demo-export")
		open := w.escalatedAfter(w.spec.OperationID + "#1-" + w.run.GetRunID()[28:])
		require.Equal(t, wire.RefusalNotOffered, w.refused(extend(open.ID, "d-2")).Reason)
		require.Equal(t, wire.ReasonRequestBudgetExhausted, w.view().Escalation.Reason)
		w.decide(decision(wire.DecisionCancel, open.ID, "d-3"))
		require.Equal(t, wire.StatusCancelled, w.outcome().Status)
	})
	t.Run("without", func(t *testing.T) {
		t.Parallel()
		w := begin(t, "d6-without", "no-cancel")
		outcome := w.outcome()
		require.Equal(t, wire.ReasonRequestBudgetExhausted, outcome.Reason)
		require.False(t, outcome.Undecided)
		require.Len(t, w.log(), 5)
		require.Equal(t, 1, count(w.audit(), wire.EventEscalated))
	})
}

// T4, R24: the request waits in the task queue past the deadline, because no worker takes activities. It is not sent, the
// reservation stays used, and it is no transport failure.
func TestRequestStuckInTheQueue(t *testing.T) {
	t.Parallel()
	workOn(t, shared, "t4", worker.Options{LocalActivityWorkerOnly: true})
	active := worker.Options{DisableWorkflowWorker: true}
	stop := workOn(t, shared, "t4", active)
	w := plan{
		job: "t4", queue: "t4", script: waittest.Script(waittest.State("running").RetryAfter("4"), result("t4")), spec: deadline(16 * time.Second),
	}.begin(t)
	w.until(func(view wire.OperationView) bool { return view.LastObservation != nil })
	stop()
	open := w.escalated()

	require.Equal(t, wire.ReasonDeadlineExceeded, open.Reason)
	require.Equal(t, wire.Counters{StatusRequestsUsed: 2}, w.view().Counters)
	require.Len(t, w.log(), 1)
	notSent := 0
	for _, entry := range w.audit() {
		if entry.Event == wire.EventRequestNotSent {
			notSent++
			require.Contains(t, entry.Detail, "task queue")
		}
	}
	require.Equal(t, 1, notSent)

	workOn(t, shared, "t4", active)
	w.bounded(2, w.spec.DeadlineAt)
	w.decide(extend(open.ID, "d-1"))
	outcome := w.outcome()
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, 3, outcome.StatusRequestsUsed)
	require.Len(t, w.log(), 2)
}

// T5, R43: cancel is chosen after the deadline. Its request goes out nevertheless, and the grant that comes with it lets the
// wait see what became of it.
func TestCancelAfterTheDeadline(t *testing.T) {
	t.Parallel()
	w := plan{job: "t5", script: waittest.Script(waittest.State("running")), spec: deadline(6 * time.Second)}.begin(t)
	open := w.escalated()
	require.Equal(t, wire.ReasonDeadlineExceeded, open.Reason)
	waittest.RequireNoneFrom(t, w.log(), w.spec.DeadlineAt)
	asked := w.view().Counters.StatusRequestsUsed
	w.decide(decision(wire.DecisionCancel, open.ID, "d-1"))
	outcome := w.outcome()
	require.Equal(t, wire.StatusCancelled, outcome.Status)
	require.Equal(t, asked+2, outcome.StatusRequestsUsed, "cancelling, then cancelled")
	cancels := slices.DeleteFunc(w.log(), func(e waittest.LogEntry) bool { return e.Kind != waittest.KindCancel })
	require.Len(t, cancels, 1)
	require.True(t, cancels[0].ReceivedAt.After(w.spec.DeadlineAt))
}

// B3, R11, R30: whatever fails, fast or slowly, no request goes out beyond the maximum, and the reason names the limit that
// was hit first.
func TestLimitThatIsHitFirst(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step      waittest.Step
		transport int
		reason    wire.Reason
		detail    string
		used      int
	}{
		"502":                    {waittest.Status(502), 9, wire.ReasonRequestBudgetExhausted, "", 5},
		"time-outs":              {waittest.State("running").Held(), 9, wire.ReasonRequestBudgetExhausted, "", 5},
		"502, fewer failures":    {waittest.Status(502), 3, wire.ReasonTransportBudgetExhausted, "", 3},
		"time-outs, fewer still": {waittest.State("running").Held(), 2, wire.ReasonTransportBudgetExhausted, wire.DetailAmbiguousDelivery, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := "b3-" + wire.EscapeSegment(name)
			w := plan{job: job, script: waittest.Script(c.step), spec: func(spec *wire.Spec) {
				if c.step.Hold {
					spec.Schedule.RequestTimeoutSeconds = new(1)
				}
				spec.MaxStatusRequests, spec.MaxTransportFailures = 5, c.transport
			}}.begin(t)
			open := w.escalated()
			require.Equal(t, c.reason, open.Reason)
			require.Equal(t, c.detail, open.Detail)
			require.Equal(t, c.used, w.view().Counters.StatusRequestsUsed)
			require.Equal(t, c.used, w.view().Counters.TransportFailuresUsed)
			require.Len(t, w.log(), c.used)
			w.decide(decision(wire.DecisionClose, open.ID, "d-1"))
			require.Equal(t, wire.StatusUnresolved, w.outcome().Status)
		})
	}
}

// X1, R51, R52: an address that is not the provider's is never asked, and nobody is asked whether it should be.
func TestForeignStatusURL(t *testing.T) {
	t.Parallel()
	w := plan{job: "x1", script: waittest.Script(result("x1")), spec: func(spec *wire.Spec) {
		spec.StatusURL = "http://169.254.169.254/latest/meta-data"
	}}.begin(t)
	outcome := w.outcome()
	require.Equal(t, wire.StatusUnresolved, outcome.Status)
	require.Equal(t, wire.ReasonPollURLRejected, outcome.Reason)
	require.Equal(t, 1, count(w.audit(), wire.EventRequestNotSent))
	require.Empty(t, w.log())
}

// X2, R2: a redirect is not followed, so that no key goes where it leads.
func TestRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	other, err := waittest.NewProvider(waittest.ProviderOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, other.Close()) })
	w := plan{job: "x2", script: waittest.Script(waittest.Redirect(other.StatusURL("x2")))}.begin(t)
	open := w.escalated()
	require.Equal(t, wire.ReasonIntegrationFailure, open.Reason)
	w.decide(decision(wire.DecisionClose, open.ID, "d-1"))
	require.Equal(t, wire.StatusUnresolved, w.outcome().Status)
	require.Empty(t, other.Log(""))
	require.Len(t, w.log(), 1)
}
