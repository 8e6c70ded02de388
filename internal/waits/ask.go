package waits

import (
	"context"
	"errors"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/jobwait/jobwait/wire"
)

// Ask queries one run of a wait; an empty run id is the latest. Without a worker it fails when the bound is over.
func Ask[T any](ctx context.Context, bound time.Duration, c Client, workflowID, runID, query string) (T, error) {
	var answer T
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	value, err := c.QueryWorkflow(ctx, workflowID, runID, query)
	if err != nil {
		return answer, err
	}
	return answer, value.Get(&answer)
}

// Transient reports whether a wait that cannot be asked now may be asked later: it is being prepared, or its workers are
// away or busy.
func Transient(err error) bool {
	var unavailable *serviceerror.Unavailable
	return errors.As(err, new(*serviceerror.QueryFailed)) || errors.As(err, new(*serviceerror.WorkflowNotReady)) ||
		errors.As(err, new(*serviceerror.FailedPrecondition)) || errors.As(err, &unavailable) ||
		errors.As(err, new(*serviceerror.DeadlineExceeded)) || errors.Is(err, context.DeadlineExceeded)
}

// Gone reports whether the server has no such run, or no longer.
func Gone(err error) bool { return errors.As(err, new(*serviceerror.NotFound)) }

// Latest is the latest run of a wait. A workflow that is not there, or is no wait, is an error that says so.
func (c Client) Latest(ctx context.Context, workflowID string) (*client.WorkflowExecutionDescription, error) {
	return c.Run(ctx, workflowID, "")
}

// Run is one run of a wait; an empty run id is the latest.
func (c Client) Run(ctx context.Context, workflowID, runID string) (*client.WorkflowExecutionDescription, error) {
	described, err := c.DescribeWorkflow(ctx, workflowID, runID)
	if Gone(err) || errors.As(err, new(*serviceerror.InvalidArgument)) {
		return nil, hinted(&NoWaitError{WorkflowID: workflowID, RunID: runID},
			"the server has none, or no longer: closed workflows are kept for the namespace's retention")
	}
	if err != nil {
		return nil, err
	}
	if name := described.WorkflowType.Name; name != wire.WorkflowAwaitJob && name != wire.WorkflowSubmitAndAwait {
		return nil, fmt.Errorf("workflow %q is of type %q, not a wait (%s)", workflowID, name, wire.WorkflowAwaitJob)
	}
	return described, nil
}

// NoWaitError says that the server knows no such wait.
type NoWaitError struct{ WorkflowID, RunID string }

func (e *NoWaitError) Error() string {
	if e.RunID != "" {
		return fmt.Sprintf("no wait has the workflow id %q and the run id %q", e.WorkflowID, e.RunID)
	}
	return fmt.Sprintf("no wait has the workflow id %q", e.WorkflowID)
}

// Open reports whether a run goes on.
func Open(info *client.WorkflowExecutionDescription) bool {
	return info.Status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
}

// Outcome is how a closed wait ended. One that has none was never decided, which is an error with its cause.
func (c Client) Outcome(ctx context.Context, workflowID, runID string) (wire.Outcome, error) {
	var outcome wire.Outcome
	err := c.GetWorkflow(ctx, workflowID, runID).Get(ctx, &outcome)
	if errors.As(err, new(*temporal.TerminatedError)) {
		return outcome, hinted(errors.New("the workflow was terminated from outside and has no outcome"),
			"to wait for this job again, set reopens in the spec, with run_id "+runID)
	}
	return outcome, explainEnd(err)
}

// SubmitOutcome is Outcome for a submission.
func (c Client) SubmitOutcome(ctx context.Context, workflowID, runID string) (wire.SubmitOutcome, error) {
	var outcome wire.SubmitOutcome
	err := c.GetWorkflow(ctx, workflowID, runID).Get(ctx, &outcome)
	if errors.As(err, new(*temporal.TerminatedError)) {
		return outcome, hinted(errors.New("the workflow was terminated from outside and has no outcome"),
			"its history says whether a job was submitted; a reset (`temporal workflow reset`) has it go on, or ask")
	}
	return outcome, explainEnd(err)
}

func explainEnd(err error) error {
	var application *temporal.ApplicationError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &application) && application.Type() == wire.ErrorInvalidSpec:
		return hinted(errors.New(application.Message()), "nothing was sent to the provider; correct the spec and start again")
	case errors.As(err, new(*temporal.CanceledError)):
		return errors.New("the workflow was cancelled before the wait began; nothing was sent to the provider")
	default:
		return fmt.Errorf("the workflow has no outcome: %w", err)
	}
}

// Started is the first event of a run, which needs no worker to be read.
func (c Client) Started(ctx context.Context, run *commonpb.WorkflowExecution) (*historypb.WorkflowExecutionStartedEventAttributes, error) {
	events := c.GetWorkflowHistory(ctx, run.GetWorkflowId(), run.GetRunId(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	if !events.HasNext() {
		return nil, fmt.Errorf("run %q has no events", run.GetRunId())
	}
	first, err := events.Next()
	if err != nil {
		return nil, err
	}
	return first.GetWorkflowExecutionStartedEventAttributes(), nil
}

// Spec is what a wait was started with.
func (c Client) Spec(ctx context.Context, run *commonpb.WorkflowExecution) (wire.Spec, error) {
	input, err := c.Input(ctx, run)
	if err != nil {
		return wire.Spec{}, err
	}
	return wire.DecodeSpec(input)
}

// Input is the first input of a run, below any codec.
func (c Client) Input(ctx context.Context, run *commonpb.WorkflowExecution) ([]byte, error) {
	first, err := c.Started(ctx, run)
	if err != nil {
		return nil, err
	}
	var raw converter.RawValue
	if err := c.Converter.FromPayloads(first.GetInput(), &raw); err != nil {
		return nil, err
	}
	return raw.Payload().GetData(), nil
}
