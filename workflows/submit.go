package workflows

import (
	"errors"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// askServer is the retry policy of activities that only ask the Temporal server.
var askServer = &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: time.Minute} //nolint:gochecknoglobals // a constant in all but the language

const (
	// ownerHeartbeat is how long an activity that follows an owner may send no heartbeat before its worker counts as lost.
	ownerHeartbeat = 30 * time.Second
	// ownerAttempt bounds one attempt to follow an owner, which is retried as long as the owner waits.
	ownerAttempt = 24 * time.Hour
	// findAttempt bounds one attempt to find out who an owner is, which is retried until there is an answer.
	findAttempt = 10 * time.Second
)

// SubmitAndAwait submits a job and has AwaitJob wait for it. Its first input is a wire.SubmitSpec. The second is the wire.Record of
// the previous run; only a run that continues another has one. However the submission ends, the workflow completes with an outcome;
// it fails only with the application error InvalidSpec.
func SubmitAndAwait(ctx workflow.Context, spec, carried converter.RawValue) (*wire.SubmitOutcome, error) {
	wait := newAwait(ctx, spec)
	wait.kind = wire.WorkflowSubmitAndAwait
	if outcome, err := begin(wait, carried, wait.neverSubmitted); outcome != nil || err != nil {
		return outcome, err
	}
	outcome, err := wait.run()
	if err != nil {
		return nil, err
	}
	return wait.submitted(outcome), nil
}

// submitted is a separate function so that its large values are not on the stack of a sleeping submission; see run.
//
//go:noinline
func (a *await) submitted(outcome *wire.Outcome) *wire.SubmitOutcome {
	submitted := a.op.SubmitOutcome(*outcome)
	return &submitted
}

// neverSubmitted returns the outcome of a submission that was cancelled before prepare had a result: nothing was sent.
func (a *await) neverSubmitted() (*wire.SubmitOutcome, error) {
	spec, err := wire.DecodeSubmitSpec(a.spec.Payload().GetData())
	if err != nil {
		return nil, a.fail(invalidSpec(err.Error()))
	}
	outcome := operation.NeverSubmitted(spec, workflow.GetInfo(a.ctx).WorkflowStartTime, workflow.Now(a.ctx))
	return &outcome, a.fail(nil)
}

// submit sends a submit request. Like a status request it may not start at or after the deadline (R24). Temporal does not retry one
// that may have been sent, because it could make two jobs.
func (a *await) submit(command operation.SendSubmit) {
	request := command.Request
	request.OriginalRunID = workflow.GetInfo(a.ctx).OriginalRunID
	var spec wire.SubmitSpec
	readOwn(a.spec.Payload().GetData(), &spec) // prepare has accepted it
	request.Body = spec.Body
	options := sending(a.ctx, command.StartBy, request.TimeoutSeconds, command.Summary)
	a.send(wire.ActivitySubmit, request, options, request.MayHoldBack, answered(a, unsubmitted, a.op.SubmitAnswered))
}

// unsubmitted is unanswered for a submission.
func unsubmitted(why wire.Withheld) wire.SubmitResult {
	if why.NotSent != "" {
		return wire.SubmitResult{Withheld: why}
	}
	return operation.LostSubmission()
}

// followed is the wait for the submitted job while it lasts.
type followed struct {
	future workflow.Future
	took   func(workflow.Future)
	// letGo stops following. It also tells a child whose run is not known to stop.
	letGo workflow.CancelFunc
	// told reports whether the wait was told to stop.
	told bool
	// started is ready when the server has started the child, or will not. It is nil if that is known, or if there is none to start.
	started workflow.Future
	// finding reports whether it is not known yet whose wait it is. A run that continued now would have to ask again.
	finding bool
}

// awaitSubmitted starts the wait for the job as a child that owns the job by its id, and that continues if this workflow ends
// first.
func (a *await) awaitSubmitted(command operation.AwaitSubmitted) {
	spec := command.Spec
	id := wire.WorkflowID(spec.Provider, spec.Account, spec.ProviderJobID)
	ctx, stop := workflow.WithCancel(a.ctx)
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            id,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
		WaitForCancellation:   true,
		Memo:                  map[string]any{wire.MemoOperationID: spec.OperationID},
		StaticSummary:         "wait for what was submitted",
	})
	child := workflow.ExecuteChildWorkflow(ctx, wire.WorkflowAwaitJob, spec)
	a.followed = &followed{
		future: child, letGo: stop, started: child.GetChildWorkflowExecution(),
		took: func(future workflow.Future) { a.childEnded(future, id) },
	}
}

// starting reports whether the server has not yet started the job's wait, or not yet said whose it is. A run that ends before that
// prevents the start of its child, even of an abandoned one: the server starts no children of a run that has ended.
func (a *await) starting() bool {
	return a.followed != nil && (a.followed.started != nil || a.followed.finding)
}

func (a *await) startReady() bool {
	return a.followed != nil && a.followed.started != nil && a.followed.started.IsReady()
}

// takeStart records the run of the child, after which this run may continue as new.
func (a *await) takeStart() {
	if !a.startReady() {
		return
	}
	var child workflow.Execution
	if a.followed.started.Get(a.ctx, &child) == nil {
		a.op.AwaitStarted(child.RunID)
	}
	a.followed.started, a.followed.told = nil, false // a cancellation may not have reached a child that had not started
}

func (a *await) childEnded(future workflow.Future, id string) {
	var outcome wire.Outcome
	err := get(a.ctx, future, &outcome)
	var application *temporal.ApplicationError
	switch {
	case err == nil:
		a.awaitEnded(operation.AwaitResult{Outcome: &outcome})
	case errors.As(err, new(*temporal.ChildWorkflowExecutionAlreadyStartedError)):
		a.owned(id)
	case errors.As(err, &application) && application.Type() == wire.ErrorInvalidSpec:
		a.awaitEnded(operation.AwaitResult{Invalid: application.Message()})
	default:
		a.awaitEnded(operation.AwaitResult{Lost: lostWord(err)})
	}
}

// lostWord says briefly how a wait ended without an outcome.
func lostWord(err error) string {
	switch {
	case errors.As(err, new(*temporal.TerminatedError)):
		return "terminated"
	case errors.As(err, new(*temporal.TimeoutError)):
		return "timed out"
	case errors.As(err, new(*temporal.CanceledError)):
		return "not followed any more"
	default:
		return "failed"
	}
}

func (a *await) awaitEnded(result operation.AwaitResult) {
	a.op.AwaitEnded(workflow.Now(a.ctx), result)
}

// owned follows the wait that already has the job's id. It may be the submission's own, started by a run that was reset.
func (a *await) owned(id string) {
	if a.op.KnowsItsWait() {
		a.findOwner(id)
		return
	}
	a.op.OwnerFound(wire.FoundOwner{Owner: wire.Owner{WorkflowID: id}})
	a.follow()
}

// findOwner finds out whose wait it is, and then follows it.
func (a *await) findOwner(id string) {
	ctx := workflow.WithActivityOptions(a.ctx, workflow.ActivityOptions{
		StartToCloseTimeout: findAttempt,
		RetryPolicy:         askServer,
		Summary:             "find the job's owner",
	})
	a.followed = &followed{
		finding: true, letGo: func() {}, // it ends in a moment, and then it is known whom to tell to stop
		future: workflow.ExecuteActivity(ctx, wire.ActivityFindOwner, wire.OwnerRequest{WorkflowID: id}),
		took: func(future workflow.Future) {
			found := wire.FoundOwner{Owner: wire.Owner{WorkflowID: id}}
			if err := get(a.ctx, future, &found); err != nil {
				workflow.GetLogger(a.ctx).Warn("the job's owner cannot be told, it counts as another's", "error", err)
			}
			a.op.OwnerFound(found)
			a.follow()
		},
	}
}

// follow waits for the outcome of a wait that is not a child of this run: that of another owner, or the submission's own that an
// earlier run started. The provider is not asked.
func (a *await) follow() {
	ctx, stop := workflow.WithCancel(a.ctx)
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: ownerAttempt,
		HeartbeatTimeout:    ownerHeartbeat,
		RetryPolicy:         askServer,
		Summary:             "wait for the job's owner",
	})
	a.followed = &followed{
		future: workflow.ExecuteActivity(ctx, wire.ActivityAwaitOwner, a.op.Followed()), letGo: stop, took: a.ownerEnded,
	}
}

func (a *await) ownerEnded(future workflow.Future) {
	var result wire.OwnerResult
	if err := get(a.ctx, future, &result); err != nil {
		a.awaitEnded(operation.AwaitResult{Lost: lostWord(err)})
		return
	}
	a.awaitEnded(operation.AwaitResult{
		Owner: &result.Owner, Outcome: result.Outcome, Invalid: result.Invalid, Lost: "ended without an outcome",
	})
}

// followAgain resumes following the wait that the previous run followed.
func (a *await) followAgain() {
	if a.op.Following() {
		a.follow()
	}
}

func (a *await) followedReady() bool { return a.followed != nil && a.followed.future.IsReady() }

// takeFollowed hands the end of the job's wait to the core.
func (a *await) takeFollowed() {
	if a.followedReady() {
		ended := a.followed
		a.followed = nil
		ended.took(ended.future)
		ended.letGo()
	}
}

// stopFollowing tells the job's wait to stop, once, if this workflow was told to (R48). The submission's own wait is cancelled by
// its id, because the server does not let a run cancel a child that another run has started; its outcome is still followed.
func (a *await) stopFollowing() {
	switch {
	case a.followed == nil || !a.op.Stopping() || a.followed.told:
		return
	case a.op.OwnWait():
		workflow.RequestCancelExternalWorkflow(a.ctx, a.op.Followed().WorkflowID, "")
	default:
		a.followed.letGo()
	}
	a.followed.told = true
}
