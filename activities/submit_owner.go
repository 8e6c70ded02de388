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

// ownerBeat is the interval of heartbeats while following an owner.
const ownerBeat = 10 * time.Second

// FindOwner finds out whose the workflow is that waits for a job. It asks the Temporal server, and is retried until there is an
// answer or the server no longer knows the workflow.
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

// AwaitOwner waits for the outcome of the workflow that owns a job. It asks the Temporal server, and is retried until the owner has
// ended or the server no longer knows it.
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

// sameWait reports whether next is a later run of the same wait. A wait that a person has reopened is another one.
func sameWait(info, next *workflow.WorkflowExecutionInfo) bool {
	first := info.GetFirstRunId()
	return first != "" && next.GetFirstRunId() == first && next.GetExecution().GetRunId() != info.GetExecution().GetRunId()
}

// outcomeOf waits for the end of a run and of those that continue it. If it is not known how they ended, the result contains only
// the owner.
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

// locate returns the latest run of the wait that is meant. It looks at the latest run of the workflow id first, because earlier
// runs may have been deleted; if a person has reopened the wait, that run belongs to another one.
func locate(ctx context.Context, request wire.OwnerRequest) (*workflow.WorkflowExecutionInfo, error) {
	latest, err := describe(ctx, request.WorkflowID, "")
	if err != nil || request.RunID == "" || latest.GetFirstRunId() == request.RunID {
		return latest, err
	}
	return describe(ctx, request.WorkflowID, request.RunID)
}

// describe returns what the server knows of a run; an empty runID means the latest of the workflow id.
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

// ownerAttempts bounds how often an owner that is not found is looked for. This takes some minutes, in case the owner is just
// starting.
const ownerAttempts = 10

// gone reports whether the server no longer knows the owner: it was deleted, or has ended longer ago than the namespace's
// retention. Without this the activity would be retried forever.
func gone(err error, attempt int32) bool {
	return attempt >= ownerAttempts && errors.As(err, new(*serviceerror.NotFound))
}

// ended reports whether the error says that a workflow has ended without a result.
func ended(err error) bool {
	return errors.As(err, new(*temporal.WorkflowExecutionError))
}
