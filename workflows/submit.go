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

// askServer is the retry policy of what only asks the Temporal server.
var askServer = &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: time.Minute} //nolint:gochecknoglobals // a constant in all but the language

const (
	// ownerHeartbeat is how long whoever follows an owner may give no sign of life before its worker counts as lost.
	ownerHeartbeat = 30 * time.Second
	// ownerAttempt bounds one attempt to follow an owner, which is repeated as long as the owner waits.
	ownerAttempt = 24 * time.Hour
	// findAttempt bounds one attempt to find out who an owner is, which is repeated until there is an answer.
	findAttempt = 10 * time.Second
)

// SubmitAndAwait submits a job and has AwaitJob wait for it. Its first input is a wire.SubmitSpec; the second is the record of
// the run before, and only a run that continues another has it. It completes with a wire.SubmitOutcome however it was decided,
// and fails only with the application error InvalidSpec.
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

// submitted is a function of its own so that its large values do not lie on the stack of a sleeping submission; see run.
//
//go:noinline
func (a *await) submitted(outcome *wire.Outcome) *wire.SubmitOutcome {
	submitted := a.op.SubmitOutcome(*outcome)
	return &submitted
}

// neverSubmitted is the outcome of a submission that was cancelled before prepare had an answer: nothing was sent.
func (a *await) neverSubmitted() (*wire.SubmitOutcome, error) {
	spec, err := wire.DecodeSubmitSpec(a.spec.Payload().GetData())
	if err != nil {
		return nil, a.fail(invalidSpec(err.Error()))
	}
	outcome := operation.NeverSubmitted(spec, workflow.GetInfo(a.ctx).WorkflowStartTime, workflow.Now(a.ctx))
	return &outcome, a.fail(nil)
}

// submit sends a request to submit. Like a status request it may not start at or after the deadline (R24); sent twice it could
// make two jobs.
func (a *await) submit(command operation.SendSubmit) {
	request := command.Request
	request.OriginalRunID = workflow.GetInfo(a.ctx).OriginalRunID
	var spec wire.SubmitSpec
	readOwn(a.spec.Payload().GetData(), &spec) // prepare has taken it
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

// followed is the wait for the submitted job, while it goes on.
type followed struct {
	future workflow.Future
	took   func(workflow.Future)
	// letGo ends the following; a child that is not known by its run is told to stop by it.
	letGo workflow.CancelFunc
	// told says that the wait was told to stop.
	told bool
	// started is ready when the server has started the child, or will not; nil: that is known, or there is none to start.
	started workflow.Future
	// finding says that it is not known yet whose wait it is. A run that ends by then would have to ask anew.
	finding bool
}

// awaitSubmitted starts the wait for the job as a child that owns the job by its id, and goes on when this workflow ends.
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

// starting reports whether the server has not started the job's wait yet, or not said whose it is. A run that ends by then
// takes a child along, abandoned or not: the server starts none of a run that is over.
func (a *await) starting() bool {
	return a.followed != nil && (a.followed.started != nil || a.followed.finding)
}

func (a *await) startReady() bool {
	return a.followed != nil && a.followed.started != nil && a.followed.started.IsReady()
}

// takeStart notes the run of the child, and lets a run continue that waited for its start.
func (a *await) takeStart() {
	if !a.startReady() {
		return
	}
	var child workflow.Execution
	if a.followed.started.Get(a.ctx, &child) == nil {
		a.op.AwaitStarted(child.RunID)
	}
	a.followed.started, a.followed.told = nil, false // what is told to a child that has not started may not reach it
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

// lostWord says in a word how a wait ended without an outcome.
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

// owned follows the wait that has the job's id already. It may be the submission's own: a run that started it was reset.
func (a *await) owned(id string) {
	if a.op.KnowsItsWait() {
		a.findOwner(id)
		return
	}
	a.op.OwnerFound(wire.FoundOwner{Owner: wire.Owner{WorkflowID: id}})
	a.follow()
}

// findOwner asks whose wait it is, and then follows it.
func (a *await) findOwner(id string) {
	ctx := workflow.WithActivityOptions(a.ctx, workflow.ActivityOptions{
		StartToCloseTimeout: findAttempt,
		RetryPolicy:         askServer,
		Summary:             "find the job's owner",
	})
	a.followed = &followed{
		finding: true, letGo: func() {}, // it has an answer in a moment, and then it is known whom to tell to stop
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

// follow waits for the outcome of a wait that is no child of this run: that of another owner, or the own one of a run before.
// The provider is not asked.
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

// followAgain takes up the wait that the run before followed.
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

// stopFollowing tells the job's wait once to stop where this workflow was told to (R48). The submission's own is told by its id: the
// server lets no run cancel a child that another one has started. How it ends is heard by following it.
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
