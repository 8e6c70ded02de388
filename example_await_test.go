package jobwait_test

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/jobwait/jobwait"
	"github.com/jobwait/jobwait/wire"
	"github.com/jobwait/jobwait/workflows"
)

// MonthlyReport is a workflow of your own: an activity of yours has submitted an export, and the report goes on with its
// file.
func MonthlyReport(ctx workflow.Context, jobID string) (string, error) {
	outcome, err := jobwait.Await(ctx, wire.Spec{
		OperationID: "monthly-report-" + jobID, Provider: "demo-export", Account: "acct-42", ProviderJobID: jobID,
		StatusURL: "https://exports.example.com/exports/" + jobID, CredentialRef: "exports",
		DeadlineAt:        workflow.Now(ctx).Add(40 * time.Minute),
		MaxStatusRequests: 12, MaxTransportFailures: 3,
	})
	if err != nil {
		return "", err
	}
	if outcome.Status != wire.StatusSucceeded {
		return "no report: the export is " + string(outcome.Status), nil
	}
	return "report made of " + outcome.Result["file"], nil
}

// Wait for a job from inside a workflow. In a test of yours, the wait is one mocked child workflow.
func ExampleAwait() {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	workflows.Register(env)
	env.OnWorkflow(wire.WorkflowAwaitJob, mock.Anything, mock.Anything, mock.Anything).Return(&wire.Outcome{
		Status: wire.StatusSucceeded, Result: map[string]string{"file": "https://files.example.com/exp_71c.csv"},
	}, nil)

	env.ExecuteWorkflow(MonthlyReport, "exp_71c")

	var report string
	err := env.GetWorkflowResult(&report)
	fmt.Println(report, err)
	// Output:
	// report made of https://files.example.com/exp_71c.csv <nil>
}
