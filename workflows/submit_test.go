package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// submits has the world submit: prepare finds the predecessor as it is given, or is refused, and the provider's answer is a job that
// is finished.
func (w *world) submits(found *wire.Replaced, refused error) (sent func() []wire.SubmitRequest) {
	w.RegisterActivityWithOptions(func(_ context.Context, request wire.PrepareRequest) (wire.Prepared, error) {
		spec, err := wire.DecodeSubmitSpec(request.Spec)
		if err != nil || refused != nil {
			return wire.Prepared{}, refused
		}
		prepared, err := operation.PrepareSubmission(spec, request.StartedAt, w.knowledge, wire.SubmissionFacts{Idempotency: wire.IdempotencyHeader})
		if err == nil {
			prepared.Submission.Predecessor = found
		}
		return prepared, err
	}, activity.RegisterOptions{Name: wire.ActivityPrepareSubmission})
	var requests []wire.SubmitRequest
	w.RegisterActivityWithOptions(func(_ context.Context, request wire.SubmitRequest) (wire.SubmitResult, error) {
		requests = append(requests, request)
		done, err := succeeded()
		return wire.SubmitResult{
			Verdict: wire.SubmitAccepted, Observation: done.Observation, Job: &wire.SubmittedJob{ProviderJobID: "exp_71c"},
		}, err
	}, activity.RegisterOptions{Name: wire.ActivitySubmit})
	return func() []wire.SubmitRequest { return requests }
}

func successor() wire.SubmitSpec {
	return wire.SubmitSpec{
		SubmissionID: "report-1~2", Provider: "demo-export", Account: "acct-42",
		Predecessor: &wire.Predecessor{SubmissionID: "report-1", DecidedBy: "ana@example.com", Comment: "the disk has room again"},
		Wait:        wire.SubmitWait{DeadlineAt: start.Add(40 * time.Minute), MaxStatusRequests: 12, MaxTransportFailures: 3},
	}
}

// R57: a successor goes its way like any submission, and what it replaces is in its view and its outcome.
func TestSubmissionInPlaceOfAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	spec := successor()
	replaced := &wire.Replaced{Predecessor: *spec.Predecessor, RunID: "run-1", Status: wire.StatusRefused, Reason: wire.ReasonSubmissionRefused}
	sent := w.submits(replaced, nil)
	w.ExecuteWorkflow(wire.WorkflowSubmitAndAwait, spec)
	require.NoError(t, w.GetWorkflowError())
	var outcome wire.SubmitOutcome
	require.NoError(t, w.GetWorkflowResult(&outcome))
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, replaced, outcome.Predecessor)
	require.Equal(t, replaced, w.view().Submission.Predecessor)
	require.Equal(t, "report-1", w.audit().Entries[0].Reason)
	require.Len(t, sent(), 1)
}

// R57: one that may not be replaced fails the workflow before anything is sent.
func TestSubmissionInPlaceOfOneThatGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	sent := w.submits(nil, temporal.NewNonRetryableApplicationError("spec: predecessor goes on", wire.ErrorInvalidSpec, nil))
	w.ExecuteWorkflow(wire.WorkflowSubmitAndAwait, successor())
	var application *temporal.ApplicationError
	require.ErrorAs(t, w.GetWorkflowError(), &application)
	require.Equal(t, wire.ErrorInvalidSpec, application.Type())
	require.Equal(t, "spec: predecessor goes on", application.Message())
	require.Empty(t, sent())
}
