package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// The server starts no child of a run that has ended, abandoned or not. A submission that continues as new in the workflow task
// which asks for the job's wait would leave the job with nobody who waits for it.
func TestSubmissionContinuesOnlyWhenItsWaitHasStarted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(int, wire.PollRequest) (wire.PollResult, error) { return wire.PollResult{}, activity.ErrResultPending })
	w.SetContinueAsNewSuggested(true)
	w.RegisterActivityWithOptions(func(_ context.Context, request wire.PrepareSubmissionRequest) (wire.Prepared, error) {
		spec, err := wire.DecodeSubmitSpec(request.Spec)
		require.NoError(t, err)
		return operation.PrepareSubmission(spec, request.StartedAt, operation.Knowledge{}, wire.SubmissionFacts{Idempotency: wire.IdempotencyNone})
	}, activity.RegisterOptions{Name: wire.ActivityPrepareSubmission})
	w.RegisterActivityWithOptions(func(context.Context, wire.SubmitRequest) (wire.SubmitResult, error) {
		return wire.SubmitResult{
			Verdict: wire.SubmitAccepted, Observation: &wire.Observation{Answer: wire.AnswerRead, HTTPStatus: 201},
			Job: &wire.SubmittedJob{ProviderJobID: "exp_71c"},
		}, nil
	}, activity.RegisterOptions{Name: wire.ActivitySubmit})
	var children []string
	w.SetOnChildWorkflowStartedListener(func(info *workflow.Info, _ workflow.Context, _ converter.EncodedValues) {
		children = append(children, info.WorkflowExecution.ID)
	})
	w.ExecuteWorkflow(wire.WorkflowSubmitAndAwait, wire.SubmitSpec{
		SubmissionID: "report-2026-11", Provider: "demo-export", Account: "acct-42",
		Wait: wire.SubmitWait{DeadlineAt: start.Add(40 * time.Minute), MaxStatusRequests: 12, MaxTransportFailures: 3},
	})
	require.True(t, w.IsWorkflowCompleted())
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, w.GetWorkflowError(), &next)
	require.Equal(t, []string{wire.WorkflowID("demo-export", "acct-42", "exp_71c")}, children)
}
