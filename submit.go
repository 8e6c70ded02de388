package jobwait

import (
	"context"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/jobwait/jobwait/wire"
)

// SubmitAndAwait submits a job and waits for it, from inside a workflow. The submission is a child workflow that goes on
// when the parent ends, on the parent's task queue or on the one that workflow.WithWorkflowTaskQueue has put on ctx; the wait
// for the job is a child of that one.
//
// Cancelling ctx ends what is being done with what is known by then, and sends nothing more; a job that runs is left alone.
//
// However it ended, SubmitAndAwait returns an outcome and no error; look at its Status. The errors are an
// *AlreadySubmittedError, a *temporal.ApplicationError of type wire.ErrorInvalidSpec for a spec that cannot be run, and what
// else can happen to a child workflow.
func SubmitAndAwait(ctx workflow.Context, spec wire.SubmitSpec) (wire.SubmitOutcome, error) {
	id := wire.SubmitWorkflowID(spec.Provider, spec.Account, spec.SubmissionID)
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            id,
		TaskQueue:             workflow.GetChildWorkflowOptions(ctx).TaskQueue,
		WorkflowIDReusePolicy: submitReusePolicy,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
		WaitForCancellation:   true,
		Memo:                  submitMemo(spec),
		StaticSummary:         submitSummary(spec),
	})
	var outcome wire.SubmitOutcome
	err := workflow.ExecuteChildWorkflow(ctx, wire.WorkflowSubmitAndAwait, spec).Get(ctx, &outcome)
	if errors.As(err, new(*temporal.ChildWorkflowExecutionAlreadyStartedError)) {
		return wire.SubmitOutcome{}, &AlreadySubmittedError{WorkflowID: id}
	}
	return outcome, err
}

// StartSubmit starts a submission and does not wait for its end; run.Get gives the wire.SubmitOutcome. A submission_id that
// is or was submitted gives an *AlreadySubmittedError.
func StartSubmit(ctx context.Context, c client.Client, spec wire.SubmitSpec, options StartOptions) (client.WorkflowRun, error) {
	id := wire.SubmitWorkflowID(spec.Provider, spec.Account, spec.SubmissionID)
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                                       id,
		TaskQueue:                                options.queue(),
		WorkflowIDReusePolicy:                    submitReusePolicy,
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		Memo:                                     submitMemo(spec),
		StaticSummary:                            submitSummary(spec),
	}, wire.WorkflowSubmitAndAwait, spec)
	already := new(serviceerror.WorkflowExecutionAlreadyStarted)
	switch {
	case errors.As(err, &already):
		return nil, &AlreadySubmittedError{WorkflowID: id, RunID: already.RunId}
	case err != nil:
		return nil, fmt.Errorf("starting %q: %w", id, err)
	default:
		return run, nil
	}
}

// submitReusePolicy lets a submission_id be used again only where its first use could not be run.
const submitReusePolicy = enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY

// AlreadySubmittedError says that the submission_id belongs to another execution, running or ended.
type AlreadySubmittedError struct {
	WorkflowID string
	// RunID is empty where a workflow asked, which learns no more than the workflow id.
	RunID string
}

// Error names the execution.
func (e *AlreadySubmittedError) Error() string {
	return fmt.Sprintf("this submission_id was submitted by workflow %q; its outcome is the answer, another submission takes another submission_id", e.WorkflowID)
}

func submitMemo(spec wire.SubmitSpec) map[string]any {
	return map[string]any{wire.MemoOperationID: spec.SubmissionID}
}

func submitSummary(spec wire.SubmitSpec) string {
	return shortened("submit " + spec.SubmissionID + " to " + spec.Provider)
}
