package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/jobwait/jobwait/wire"
)

// ownerBeat is how often a worker that follows an owner says that it is there.
const ownerBeat = 10 * time.Second

// FindOwner says whose the workflow is that waits for a job, by asking the Temporal server. It is repeated until there is an
// answer, or the workflow is known no more.
func (a *Activities) FindOwner(ctx context.Context, request wire.OwnerRequest) (wire.FoundOwner, error) {
	info, err := locate(ctx, request)
	switch {
	case gone(err, activity.GetInfo(ctx).Attempt):
		return wire.FoundOwner{Owner: wire.Owner{WorkflowID: request.WorkflowID}}, nil
	case err != nil:
		return wire.FoundOwner{}, err
	}
	return wire.FoundOwner{
		Owner: ownerOf(info), FirstRunID: info.GetFirstRunId(), ParentWorkflowID: info.GetParentExecution().GetWorkflowId(),
	}, nil
}

// AwaitOwner waits for the outcome of the workflow that owns a job, by asking the Temporal server. It is repeated until the
// owner has ended, or is known no more.
func (a *Activities) AwaitOwner(ctx context.Context, request wire.OwnerRequest) (wire.OwnerResult, error) {
	info, err := locate(ctx, request)
	switch {
	case gone(err, activity.GetInfo(ctx).Attempt):
		return wire.OwnerResult{Owner: wire.Owner{WorkflowID: request.WorkflowID}}, nil
	case err != nil:
		return wire.OwnerResult{}, err
	}
	defer beat(ctx, ownerBeat, func() { activity.RecordHeartbeat(ctx) })()
	return follow(ctx, info)
}

// follow waits for the end of a run, of the runs that continue it, and of those that a reset put in their place.
func follow(ctx context.Context, info *workflow.WorkflowExecutionInfo) (wire.OwnerResult, error) {
	for {
		result, known, err := outcomeOf(ctx, info)
		if known || err != nil {
			return result, err
		}
		next, err := describe(ctx, result.Owner.WorkflowID, "")
		if err != nil {
			return wire.OwnerResult{}, err
		}
		if !sameWait(info, next) {
			return result, nil
		}
		info = next
	}
}

// sameWait reports whether a run goes on with the wait of another one. A wait that a person has reopened is a new one.
func sameWait(info, next *workflow.WorkflowExecutionInfo) bool {
	first := info.GetFirstRunId()
	return first != "" && next.GetFirstRunId() == first && next.GetExecution().GetRunId() != info.GetExecution().GetRunId()
}

// outcomeOf waits for the end of a run and of those that continue it. Where it is not known how they ended, the result says who it
// was.
func outcomeOf(ctx context.Context, info *workflow.WorkflowExecutionInfo) (result wire.OwnerResult, known bool, err error) {
	result.Owner = ownerOf(info)
	var outcome wire.Outcome
	err = activity.GetClient(ctx).GetWorkflow(ctx, result.Owner.WorkflowID, result.Owner.RunID).Get(ctx, &outcome)
	var application *temporal.ApplicationError
	switch {
	case err == nil:
		result.Outcome, result.Owner.OperationID = &outcome, outcome.OperationID
		return result, true, nil
	case ctx.Err() != nil:
		return wire.OwnerResult{}, false, ctx.Err()
	case errors.As(err, &application) && application.Type() == wire.ErrorInvalidSpec:
		result.Invalid = application.Message()
		return result, true, nil
	case ended(err):
		return result, false, nil
	default:
		return wire.OwnerResult{}, false, fmt.Errorf("waiting for %q: %w", result.Owner.WorkflowID, err)
	}
}

// locate is the latest run of the wait that is meant. Earlier runs of it may be forgotten by now, and where a person has
// reopened the wait, the latest run of its id is another one's.
func locate(ctx context.Context, request wire.OwnerRequest) (*workflow.WorkflowExecutionInfo, error) {
	latest, err := describe(ctx, request.WorkflowID, "")
	if err != nil || request.RunID == "" || latest.GetFirstRunId() == request.RunID {
		return latest, err
	}
	return describe(ctx, request.WorkflowID, request.RunID)
}

// describe is what the server knows of a run, or of the latest one of its workflow id.
func describe(ctx context.Context, workflowID, runID string) (*workflow.WorkflowExecutionInfo, error) {
	described, err := activity.GetClient(ctx).DescribeWorkflow(ctx, workflowID, runID)
	if err != nil {
		return nil, fmt.Errorf("looking at %q: %w", workflowID, err)
	}
	return described.RawResponse.GetWorkflowExecutionInfo(), nil
}

func ownerOf(info *workflow.WorkflowExecutionInfo) wire.Owner {
	return wire.Owner{WorkflowID: info.GetExecution().GetWorkflowId(), RunID: info.GetExecution().GetRunId()}
}

// ownerAttempts is how often an owner that is not found is looked for: some minutes, for one that is only about to start.
const ownerAttempts = 10

// gone reports whether the server knows the owner no more: it was deleted, or has ended longer ago than a namespace remembers.
// Nothing would ever end the looking for it.
func gone(err error, attempt int32) bool {
	return attempt >= ownerAttempts && errors.As(err, new(*serviceerror.NotFound))
}

// ended reports whether the error says that a workflow has ended without a result.
func ended(err error) bool {
	return errors.As(err, new(*temporal.WorkflowExecutionError))
}
