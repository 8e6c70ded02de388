package activities

import (
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/temporal"

	"github.com/jobwait/jobwait/wire"
)

func successorSpec() wire.SubmitSpec {
	return wire.SubmitSpec{
		SubmissionID: "report~2", Provider: "demo-export", Account: "acct-42",
		Predecessor: &wire.Predecessor{SubmissionID: "report", DecidedBy: "ana@example.com", Comment: "the disk has room again"},
	}
}

// predecessor is a server that knows a predecessor in that state, which ended so where it has an outcome.
func predecessor(t *testing.T, status enumspb.WorkflowExecutionStatus, ended *wire.SubmitOutcome) client.Client {
	t.Helper()
	const id = "jobwait-submit/demo-export/acct-42/report"
	c := mocks.NewClient(t)
	description := &client.WorkflowExecutionDescription{}
	description.Status, description.WorkflowExecution.RunID, description.WorkflowType.Name = status, "run-1", wire.WorkflowSubmitAndAwait
	c.On("DescribeWorkflow", mock.Anything, id, "").Return(description, nil)
	if ended != nil {
		run := mocks.NewWorkflowRun(t)
		run.On("Get", mock.Anything, mock.Anything).Run(func(arguments mock.Arguments) {
			*arguments.Get(1).(*wire.SubmitOutcome) = *ended
		}).Return(nil)
		c.On("GetWorkflow", mock.Anything, id, "run-1").Return(run)
	}
	return c
}

// R57: what ended without success is replaced, and how it ended is noted.
func TestPredecessorThatIsReplaced(t *testing.T) {
	t.Parallel()
	for _, status := range []wire.OutcomeStatus{
		wire.StatusFailed, wire.StatusCancelled, wire.StatusExpired, wire.StatusUnresolved, wire.StatusRefused,
	} {
		spec := successorSpec()
		found, err := replaced(t.Context(), predecessor(t, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, &wire.SubmitOutcome{
			SubmissionID: "report", Status: status, Reason: "why", ProviderJobID: "exp_71c",
		}), spec)
		require.NoError(t, err)
		require.Equal(t, &wire.Replaced{
			Predecessor: *spec.Predecessor, RunID: "run-1", Status: status, Reason: "why", ProviderJobID: "exp_71c",
		}, found)
	}
}

// R57: everything else is an invalid spec, and the error says what to do.
func TestPredecessorThatIsNotReplaced(t *testing.T) {
	t.Parallel()
	const completed = enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
	for name, test := range map[string]struct {
		status enumspb.WorkflowExecutionStatus
		ended  *wire.SubmitOutcome
		want   string
	}{
		"runs":       {enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, nil, "goes on; wait for its end, or answer what it asks"},
		"is paused":  {enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED, nil, "goes on; wait for its end, or answer what it asks"},
		"never ran":  {enumspb.WORKFLOW_EXECUTION_STATUS_FAILED, nil, "could not be run, and its submission_id is free"},
		"terminated": {enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, nil, "left open whether there is a job; reset it: it goes on, or asks"},
		"timed out":  {enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT, nil, "left open whether there is a job; reset it: it goes on, or asks"},
		"succeeded":  {completed, &wire.SubmitOutcome{SubmissionID: "report", Status: wire.StatusSucceeded}, `predecessor "report" has succeeded`},
		"new word":   {completed, &wire.SubmitOutcome{SubmissionID: "report", Status: "postponed"}, `has ended "postponed", which this version does not know`},
		"other owner": {completed, &wire.SubmitOutcome{
			SubmissionID: "report", Status: wire.StatusFailed, Owner: &wire.Owner{WorkflowID: "jobwait/demo-export/acct-42/exp_71c"},
		}, `did not own its job, which is that of "jobwait/demo-export/acct-42/exp_71c"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := replaced(t.Context(), predecessor(t, test.status, test.ended), successorSpec())
			var application *temporal.ApplicationError
			require.ErrorAs(t, err, &application)
			require.Equal(t, wire.ErrorInvalidSpec, application.Type())
			require.Contains(t, application.Message(), test.want)
			require.Contains(t, application.Message(), "spec: predecessor")
		})
	}
}

// R57: what another program runs under the predecessor's id has no outcome to read, and its result is taken for none.
func TestPredecessorOfAnotherType(t *testing.T) {
	t.Parallel()
	c := mocks.NewClient(t)
	description := &client.WorkflowExecutionDescription{}
	description.Status, description.WorkflowType.Name = enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, "Export"
	c.On("DescribeWorkflow", mock.Anything, mock.Anything, "").Return(description, nil)
	_, err := replaced(t.Context(), c, successorSpec())
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	require.Equal(t, wire.ErrorInvalidSpec, application.Type())
	require.Equal(t, `spec: predecessor: workflow "jobwait-submit/demo-export/acct-42/report" is a "Export", not a SubmitAndAwait`, application.Message())
}

// A server that does not know the predecessor has answered, one that is away has not: that is asked again.
func TestPredecessorThatTheServerDoesNotTell(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err     error
		invalid bool
	}{
		{serviceerror.NewNotFound("workflow not found"), true},
		{serviceerror.NewNamespaceNotFound("default"), false},
		{serviceerror.NewUnavailable("down"), false},
	} {
		c := mocks.NewClient(t)
		c.On("DescribeWorkflow", mock.Anything, mock.Anything, "").Return(nil, test.err)
		_, err := replaced(t.Context(), c, successorSpec())
		require.Error(t, err)
		require.Equal(t, test.invalid, temporal.IsApplicationError(err), err.Error())
	}
}
