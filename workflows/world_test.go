package workflows_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
	"github.com/jobwait/jobwait/workflows"
)

// start is when every wait of these tests starts.
var start = time.Date(2025, 4, 18, 10, 20, 0, 0, time.UTC)

// world is a test environment with activities that are played by functions: they stand in for the network, which is
// tested where it is, in activities and in the tests of the whole.
type world struct {
	*testsuite.TestWorkflowEnvironment
	t *testing.T

	// poll answers status requests; n counts them from 1.
	poll func(n int, request wire.PollRequest) (wire.PollResult, error)
	// cancelled answers the cancel request.
	cancelled func(request wire.CancelRequest) (wire.CancelResult, error)
	// notify delivers a notification.
	notify func(request wire.NotifyRequest) error
	// knowledge is what prepare knows; registered says that the search attributes are.
	knowledge  operation.Knowledge
	registered bool
	// holdBack says that requests may be held back: one that is answered with activity.ErrResultPending is.
	holdBack bool
	// keys are the trusted decision keys when the wait begins and whenever it asks, unreadable why they cannot be read.
	keys       []wire.DecisionKey
	unreadable error
	// approval is the rule of the spec's credential.
	approval wire.ApprovalRule
	// unprepared is why prepare has no answer.
	unprepared error
	// later runs ten minutes into the next run that continues this one.
	later func()

	polls    []wire.PollRequest
	cancels  []wire.CancelRequest
	notices  []wire.NotifyRequest
	timers   []time.Duration
	timerIDs map[string]bool
	dropped  int
	// askedKeys counts how often the trusted keys were asked for, beside the workflow; locked is for it and the keys.
	askedKeys int
	locked    sync.Mutex
}

func newWorld(t *testing.T, poll func(n int, request wire.PollRequest) (wire.PollResult, error)) *world {
	t.Helper()
	suite := testsuite.WorkflowTestSuite{}
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	w := &world{TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(), t: t, poll: poll, timerIDs: map[string]bool{}}
	w.SetStartTime(start)
	w.SetTestTimeout(time.Minute)
	w.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute}) // a busy machine is no deadlock
	workflows.Register(w)
	w.registerActivities()
	w.SetOnTimerScheduledListener(func(id string, length time.Duration) {
		w.timers = append(w.timers, length)
		w.timerIDs[id] = true
	})
	w.SetOnTimerCanceledListener(func(string) { w.dropped++ })
	return w
}

func (w *world) registerActivities() {
	w.RegisterActivityWithOptions(w.prepare, activity.RegisterOptions{Name: wire.ActivityPrepare})
	w.RegisterActivityWithOptions(func(_ context.Context, request wire.PollRequest) (wire.PollResult, error) {
		w.polls = append(w.polls, request)
		return w.poll(len(w.polls), request)
	}, activity.RegisterOptions{Name: wire.ActivityPollStatus})
	w.RegisterActivityWithOptions(func(_ context.Context, request wire.CancelRequest) (wire.CancelResult, error) {
		w.cancels = append(w.cancels, request)
		return w.cancelled(request)
	}, activity.RegisterOptions{Name: wire.ActivityCancelAtProvider})
	w.RegisterActivityWithOptions(func(_ context.Context, request wire.NotifyRequest) error {
		w.notices = append(w.notices, request)
		if w.notify == nil {
			return nil
		}
		return w.notify(request)
	}, activity.RegisterOptions{Name: wire.ActivityNotify})
	w.RegisterActivityWithOptions(func(context.Context) (wire.TrustedKeys, error) {
		w.locked.Lock()
		defer w.locked.Unlock()
		w.askedKeys++
		return wire.TrustedKeys{Keys: w.keys}, w.unreadable
	}, activity.RegisterOptions{Name: wire.ActivityTrustedKeys})
}

func (w *world) prepare(_ context.Context, request wire.PrepareRequest) (wire.Prepared, error) {
	if w.unprepared != nil {
		return wire.Prepared{}, w.unprepared
	}
	spec, err := wire.DecodeSpec(request.Spec)
	if err != nil {
		return wire.Prepared{}, temporal.NewNonRetryableApplicationError(err.Error(), wire.ErrorInvalidSpec, nil)
	}
	prepared, err := operation.Prepare(spec, request.StartedAt, w.knowledge)
	if err != nil {
		return wire.Prepared{}, temporal.NewNonRetryableApplicationError(err.Error(), wire.ErrorInvalidSpec, nil)
	}
	prepared.AttributesRegistered, prepared.DecisionKeys, prepared.Approval = w.registered, w.keys, w.approval
	prepared.HoldBack = w.holdBack
	return prepared, nil
}

// run executes the wait and returns its outcome.
func (w *world) run(spec wire.Spec) wire.Outcome {
	w.t.Helper()
	w.ExecuteWorkflow(wire.WorkflowAwaitJob, spec)
	return w.outcome()
}

func (w *world) outcome() wire.Outcome {
	w.t.Helper()
	require.True(w.t, w.IsWorkflowCompleted())
	require.NoError(w.t, w.GetWorkflowError())
	var outcome wire.Outcome
	require.NoError(w.t, w.GetWorkflowResult(&outcome))
	return outcome
}

// runAll executes the wait over all its runs: the input of each continue-as-new starts the next one.
func (w *world) runAll(spec wire.Spec, between func(carried wire.Record)) (wire.Outcome, int) {
	w.t.Helper()
	w.ExecuteWorkflow(wire.WorkflowAwaitJob, spec)
	return w.continueWith(between)
}

// continueWith goes on from the first run to the last.
func (w *world) continueWith(between func(carried wire.Record)) (wire.Outcome, int) {
	w.t.Helper()
	for runs := 1; ; runs++ {
		var next *workflow.ContinueAsNewError
		if !errors.As(w.GetWorkflowError(), &next) {
			return w.outcome(), runs
		}
		var carried wire.Record
		var raw converter.RawValue
		require.NoError(w.t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &raw, &carried))
		between(carried)
		w.next(raw, carried)
	}
}

// next replaces the environment by a new run at the time at which the last one ended.
func (w *world) next(spec converter.RawValue, carried wire.Record) {
	now := w.Now()
	fresh := newWorld(w.t, w.poll)
	w.TestWorkflowEnvironment = fresh.TestWorkflowEnvironment
	w.SetStartTime(now)
	w.registerActivitiesOn(fresh)
	w.SetContinuedExecutionRunID("the-run-before")
	if w.later != nil {
		w.RegisterDelayedCallback(w.later, 10*time.Minute)
	}
	w.ExecuteWorkflow(wire.WorkflowAwaitJob, spec, carried)
}

// registerActivitiesOn lets the activities of a new environment count on.
func (w *world) registerActivitiesOn(fresh *world) {
	fresh.poll = func(_ int, request wire.PollRequest) (wire.PollResult, error) {
		w.polls = append(w.polls, request)
		return w.poll(len(w.polls), request)
	}
	fresh.cancelled, fresh.notify, fresh.knowledge, fresh.keys = w.cancelled, w.notify, w.knowledge, w.keys
}

func (w *world) view() wire.OperationView {
	w.t.Helper()
	return asked[wire.OperationView](w, wire.QueryOperation)
}

func (w *world) audit() wire.AuditView {
	w.t.Helper()
	return asked[wire.AuditView](w, wire.QueryAudit)
}

func asked[T any](w *world, name string) T {
	w.t.Helper()
	var answer T
	value, err := w.QueryWorkflow(name)
	require.NoError(w.t, err)
	require.NoError(w.t, value.Get(&answer))
	return answer
}

// answer is the reply to an update, as far as the test environment has it.
type answer struct {
	reply wire.DecisionReply
	err   error
}

// decide sends a decision as an update and returns where its answer will stand.
func (w *world) decide(decision any) *answer {
	got := &answer{err: errors.New("not answered")}
	w.UpdateWorkflow(wire.UpdateDecide, "", &testsuite.TestUpdateCallback{
		OnAccept: func() {},
		OnReject: func(err error) { got.err = err },
		OnComplete: func(result any, err error) {
			got.err = err
			if reply, ok := result.(wire.DecisionReply); ok {
				got.reply = reply
			}
		},
	}, decision)
	return got
}

// openDecision is a decision on the escalation that is open now.
func (w *world) openDecision(id string, fill func(*wire.Decision)) wire.Decision {
	w.t.Helper()
	open := asked[*wire.EscalationView](w, wire.QueryEscalation)
	require.NotNil(w.t, open, "nothing is open")
	decision := wire.Decision{DecisionID: id, EscalationID: open.ID, DecidedBy: "ana@example.com", Comment: "test"}
	fill(&decision)
	return decision
}

func extend(seconds, requests int) func(*wire.Decision) {
	return func(d *wire.Decision) { d.Kind, d.Seconds, d.StatusRequests = wire.DecisionExtend, seconds, requests }
}

func spec() wire.Spec {
	return wire.Spec{
		OperationID: "report-1", Provider: "demo-export", Account: "acct-42", ProviderJobID: "exp_71c",
		DeadlineAt: start.Add(40 * time.Minute), MaxStatusRequests: 12, MaxTransportFailures: 3,
	}
}

func read(status int, job wire.JobFact) (wire.PollResult, error) {
	return wire.PollResult{Observation: &wire.Observation{Answer: wire.AnswerRead, HTTPStatus: status, Job: &job}}, nil
}

func running() (wire.PollResult, error) {
	return read(200, wire.JobFact{RawState: "running", Category: wire.CategoryPending})
}

func succeeded() (wire.PollResult, error) {
	return read(200, wire.JobFact{
		RawState: "succeeded", Category: wire.CategorySuccess, Result: map[string]string{"file": "https://files.example.com/1.csv"},
	})
}

func state(raw string, category wire.Category) (wire.PollResult, error) {
	return read(200, wire.JobFact{RawState: raw, Category: category})
}
