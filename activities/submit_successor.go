package activities

import (
	"context"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// replaced returns the predecessor of a spec with its end, as the Temporal server knows it; the provider is not asked. A
// predecessor that may not be replaced makes the spec invalid.
func replaced(ctx context.Context, c client.Client, spec wire.SubmitSpec) (*wire.Replaced, error) {
	id := wire.SubmitWorkflowID(spec.Provider, spec.Account, spec.Predecessor.SubmissionID)
	described, err := c.DescribeWorkflow(ctx, id, "")
	switch {
	case errors.As(err, new(*serviceerror.NotFound)):
		return nil, invalidSpec(fmt.Errorf("predecessor: the server knows no workflow %q, or no longer; submit it under a submission_id of its own, without predecessor", id))
	case err != nil:
		return nil, fmt.Errorf("looking at %q: %w", id, err)
	}
	if kind := described.WorkflowType.Name; kind != wire.WorkflowSubmitAndAwait { // its result is no outcome
		return nil, invalidSpec(fmt.Errorf("predecessor: workflow %q is a %q, not a %s", id, kind, wire.WorkflowSubmitAndAwait))
	}
	if err := endedWithOutcome(id, described.Status); err != nil {
		return nil, invalidSpec(err)
	}
	var ended wire.SubmitOutcome
	runID := described.WorkflowExecution.RunID
	if err := c.GetWorkflow(ctx, id, runID).Get(ctx, &ended); err != nil {
		return nil, fmt.Errorf("reading the outcome of %q: %w", id, err)
	}
	if err := operation.CheckReplaceable(ended); err != nil {
		return nil, invalidSpec(err)
	}
	return &wire.Replaced{
		Predecessor: *spec.Predecessor, RunID: runID, Status: ended.Status, Reason: ended.Reason, ProviderJobID: ended.ProviderJobID,
	}, nil
}

// endedWithOutcome returns an error if a submission in this state may not be replaced. One that ended without an outcome has left
// open whether there is a job, and its own history can tell more than a new submission could.
func endedWithOutcome(workflowID string, status enumspb.WorkflowExecutionStatus) error {
	switch status { //nolint:exhaustive // the others were ended from outside
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return nil
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED, enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
		return fmt.Errorf("predecessor: workflow %q goes on; wait for its end, or answer what it asks", workflowID)
	case enumspb.WORKFLOW_EXECUTION_STATUS_FAILED:
		return fmt.Errorf("predecessor: workflow %q could not be run, and its submission_id is free; correct its spec and submit it under that", workflowID)
	default:
		return fmt.Errorf("predecessor: workflow %q was ended from outside, and left open whether there is a job; reset it: it goes on, or asks whether to attach, resubmit or close",
			workflowID)
	}
}
