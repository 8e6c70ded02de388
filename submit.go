package jobwait

import (
	"context"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
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
	submission, outcome := submitting(spec), wire.SubmitOutcome{}
	taken, err := submission.child(ctx, spec, &outcome)
	if taken {
		return wire.SubmitOutcome{}, &AlreadySubmittedError{WorkflowID: submission.id}
	}
	return outcome, err
}

// StartSubmit starts a submission and does not wait for its end; run.Get gives the wire.SubmitOutcome. A submission_id that
// is or was submitted gives an *AlreadySubmittedError.
func StartSubmit(ctx context.Context, c client.Client, spec wire.SubmitSpec, options StartOptions) (client.WorkflowRun, error) {
	submission := submitting(spec)
	run, err := submission.start(ctx, c, options, spec)
	if runID, taken := takenBy(err); taken {
		return nil, &AlreadySubmittedError{WorkflowID: submission.id, RunID: runID}
	}
	return run, err
}

// submitting is the submission of a submission_id, which is used again only where its first use could not be run.
func submitting(spec wire.SubmitSpec) execution {
	return execution{
		workflow:    wire.WorkflowSubmitAndAwait,
		id:          wire.SubmitWorkflowID(spec.Provider, spec.Account, spec.SubmissionID),
		operationID: spec.SubmissionID,
		summary:     "submit " + spec.SubmissionID + " to " + spec.Provider,
		reuse:       enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		parentClose: enumspb.PARENT_CLOSE_POLICY_ABANDON,
	}
}

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
