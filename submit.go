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

// SuccessorSpec is the spec that submits once more what has ended without success, as a new operation in its place, on a person's
// word: submitted is the spec of the ended one. It submits the same, each of its times lies as far ahead of now as it lay ahead of
// the start of the ended one, and not after the year 9999, and decisions that were taken meanwhile are not in it. It may be changed before it is started, with
// StartSubmit or SubmitAndAwait; the workflow looks at its predecessor once more. An operation has one successor: whoever comes
// second gets an *AlreadySubmittedError.
//
// The error is one for a spec that cannot be run, for one that is not of this outcome, and for an operation that succeeded or did not
// own its job. Where it ended unresolved there may be a job, and then there will be two.
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

// later moves a time, and not past the last one that can be written: who wrote the end of 9999 meant never.
func later(at time.Time, by time.Duration) time.Time {
	last := time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)
	if moved := at.Add(by).UTC(); moved.Before(last) {
		return moved
	}
	return last
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
