package startercmd

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"

	"github.com/jobwait/jobwait/wire"
)

func endedSubmission(status wire.OutcomeStatus, job string) wire.SubmitOutcome {
	return wire.SubmitOutcome{SubmissionID: "report", Provider: "p", Account: "a", Status: status, ProviderJobID: job}
}

// How a submission is submitted again is said only where it may be, and was not yet.
func TestAnEndedSubmissionSaysHowItIsSubmittedAgain(t *testing.T) {
	t.Parallel()
	const (
		resubmit = "`jobwait resubmit jobwait-submit/p/a/report --comment WHY` submits it again as a new operation\n"
		show     = "it was submitted again; `jobwait show jobwait-submit/p/a/report~2` shows that\n"
	)
	completed, failed := enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED
	for name, test := range map[string]struct {
		ended     wire.SubmitOutcome
		successor enumspb.WorkflowExecutionStatus
		err       error
		want      string
	}{
		"no successor":              {endedSubmission(wire.StatusFailed, ""), 0, serviceerror.NewNotFound("none"), resubmit},
		"a successor that ran":      {endedSubmission(wire.StatusFailed, ""), completed, nil, show},
		"a successor that did not":  {endedSubmission(wire.StatusFailed, ""), failed, nil, resubmit},
		"a server that is not sure": {endedSubmission(wire.StatusFailed, ""), 0, serviceerror.NewUnavailable("down"), ""},
		"a success":                 {endedSubmission(wire.StatusSucceeded, ""), 0, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := mocks.NewClient(t)
			description := &client.WorkflowExecutionDescription{}
			description.Status = test.successor
			c.On("DescribeWorkflow", mock.Anything, "jobwait-submit/p/a/report~2", "").Maybe().Return(description, test.err)
			var said bytes.Buffer
			a := &app{err: &said, name: "jobwait"}
			a.sayAgain(t.Context(), testServer(c), howEnded{submission: &test.ended})
			require.Equal(t, test.want, said.String())
		})
	}
	(&app{}).sayAgain(t.Context(), testServer(mocks.NewClient(t)), howEnded{wait: &wire.Outcome{}})
}

// There may be two jobs where the provider has not said how the first one ended, or that there is none.
func TestTwoJobsAreWarnedOf(t *testing.T) {
	t.Parallel()
	for _, status := range []wire.OutcomeStatus{wire.StatusFailed, wire.StatusExpired, wire.StatusCancelled, wire.StatusRefused} {
		require.Empty(t, twoJobs(endedSubmission(status, "exp_71c")))
	}
	require.Contains(t, twoJobs(endedSubmission(wire.StatusUnresolved, "exp_71c")), "how job exp_71c has ended")
	require.Contains(t, twoJobs(endedSubmission(wire.StatusUnresolved, "")), "whether there is a job of it")
}

// Whoever means a question must not start something in its place when it is answered already.
func TestAResubmitThatMeansAQuestion(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*decisionFlags)
		want   bool
	}{
		"an operation":     {func(*decisionFlags) {}, false},
		"an escalation ID": {func(f *decisionFlags) { f.id.id = "report#1-01a2282b" }, true},
		"--escalation":     {func(f *decisionFlags) { f.decision.EscalationID = "report#1-01a2282b" }, true},
		"--decision-id":    {func(f *decisionFlags) { f.decision.DecisionID = "d-1" }, true},
	} {
		flags := &decisionFlags{id: target{id: "report"}, decision: wire.Decision{Kind: wire.DecisionResubmit, DecidedBy: "ana", Comment: "why"}}
		test.change(flags)
		require.NoError(t, flags.complete(), name)
		require.Equal(t, test.want, flags.toAnswer, name)
	}
}
