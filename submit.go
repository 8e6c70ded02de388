package jobwait

import (
	"context"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/workflow"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// SubmitAndAwait submits a job and waits for it, from inside a workflow. The submission is a child workflow, and the wait for the
// job is a child of that one. The submission runs on the parent's task queue, or on the one that workflow.WithWorkflowTaskQueue has
// set on ctx, and continues if the parent ends first.
//
// Cancelling ctx tells the child to stop: it sends nothing more and leaves a job that exists alone. SubmitAndAwait then returns the
// child's outcome, which tells what is known by then.
//
// A submission that ends without success is not an error: check the Status of the outcome. The error is an *AlreadySubmittedError
// (with only the workflow id set), a *temporal.ApplicationError of type wire.ErrorInvalidSpec for a spec that cannot be run, or
// another failure of a child workflow.
func SubmitAndAwait(ctx workflow.Context, spec wire.SubmitSpec) (wire.SubmitOutcome, error) {
	submission, outcome := submitting(spec), wire.SubmitOutcome{}
	taken, err := submission.child(ctx, spec, &outcome)
	if taken {
		return wire.SubmitOutcome{}, &AlreadySubmittedError{WorkflowID: submission.id}
	}
	return outcome, err
}

// StartSubmit starts a submission and returns without waiting for its end; run.Get returns the wire.SubmitOutcome. If the
// submission_id is or was submitted already, the error is an *AlreadySubmittedError.
func StartSubmit(ctx context.Context, c client.Client, spec wire.SubmitSpec, options StartOptions) (client.WorkflowRun, error) {
	submission := submitting(spec)
	run, err := submission.start(ctx, c, options, spec)
	if runID, taken := takenBy(err); taken {
		return nil, &AlreadySubmittedError{WorkflowID: submission.id, RunID: runID}
	}
	return run, err
}

// SuccessorSpec returns the spec of a new operation that submits again what has ended without success. A person must have decided
// that: decidedBy says who, comment why. submitted is the spec of the ended operation, and ended is its outcome. The new spec
// submits the same; each of its times is as far after now as the original was after the start of the ended operation, but within
// the year 9999. Limits that decisions raised meanwhile are not carried over. The spec may be changed before it is started with
// StartSubmit or SubmitAndAwait; the worker then checks the predecessor again. An operation has at most one successor: whoever
// starts a second one gets an *AlreadySubmittedError.
//
// The error reports a spec that cannot be run or does not belong to the outcome, or an operation that succeeded or did not own its
// job. If the operation ended unresolved there may be a job already; submitting again may make a second one.
func SuccessorSpec(submitted wire.SubmitSpec, ended wire.SubmitOutcome, decidedBy, comment string, now time.Time) (wire.SubmitSpec, error) {
	if submitted.SubmissionID != ended.SubmissionID || submitted.Provider != ended.Provider || submitted.Account != ended.Account {
		return wire.SubmitSpec{}, fmt.Errorf("the outcome is that of submission %q to %q, account %q, the spec that of %q to %q, account %q",
			ended.SubmissionID, ended.Provider, ended.Account, submitted.SubmissionID, submitted.Provider, submitted.Account)
	}
	if err := operation.CheckReplaceable(ended); err != nil {
		return wire.SubmitSpec{}, err
	}
	passed := now.Sub(ended.OpenedAt)
	successor := submitted
	successor.SubmissionID = wire.SuccessorID(submitted.SubmissionID)
	successor.Predecessor = &wire.Predecessor{SubmissionID: submitted.SubmissionID, DecidedBy: decidedBy, Comment: comment}
	successor.SubmitBy = shifted(submitted.SubmitBy, passed)
	successor.Wait.DeadlineAt = later(submitted.Wait.DeadlineAt, passed)
	successor.Wait.BusinessDeadlineAt = shifted(submitted.Wait.BusinessDeadlineAt, passed)
	successor.Wait.ProviderExpiresAt = shifted(submitted.Wait.ProviderExpiresAt, passed)
	return successor, operation.CheckSubmission(successor, now)
}

func shifted(at *time.Time, by time.Duration) *time.Time {
	if at == nil {
		return nil
	}
	return new(later(*at, by))
}

// later moves a time, but not past the last one that can be written: a deadline at the end of 9999 is meant as never.
func later(at time.Time, by time.Duration) time.Time {
	last := time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)
	if moved := at.Add(by).UTC(); moved.Before(last) {
		return moved
	}
	return last
}

// submitting returns the execution of a submission. Its workflow id is used again only if the spec of its first use could not be
// run.
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

// AlreadySubmittedError reports that the submission_id belongs to another execution, running or ended.
type AlreadySubmittedError struct {
	WorkflowID string
	// RunID is empty if the caller is a workflow: the server tells workflows only the workflow id.
	RunID string
}

// Error names the execution.
func (e *AlreadySubmittedError) Error() string {
	return fmt.Sprintf("this submission_id was submitted by workflow %q; its outcome is the answer, another submission takes another submission_id", e.WorkflowID)
}
