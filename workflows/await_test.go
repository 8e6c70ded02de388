package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
	"github.com/jobwait/jobwait/workflows"
)

func TestThin(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	workflows.Register(env)
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	env.SetStartTime(start)
	polls := 0
	env.RegisterActivityWithOptions(func(_ context.Context, r wire.PrepareRequest) (wire.Prepared, error) {
		spec, err := wire.DecodeSpec(r.Spec)
		if err != nil {
			return wire.Prepared{}, err
		}
		return operation.Prepare(spec, r.StartedAt, operation.Knowledge{})
	}, activity.RegisterOptions{Name: wire.ActivityPrepare})
	env.RegisterActivityWithOptions(func(_ context.Context, r wire.PollRequest) (wire.PollResult, error) {
		polls++
		job := &wire.JobFact{RawState: "running", Category: wire.CategoryPending}
		if polls == 4 {
			job = &wire.JobFact{RawState: "done", Category: wire.CategorySuccess, Result: map[string]string{"file": "x"}}
		}
		return wire.PollResult{Observation: &wire.Observation{Answer: wire.AnswerRead, HTTPStatus: 200, Job: job}}, nil
	}, activity.RegisterOptions{Name: wire.ActivityPollStatus})
	env.ExecuteWorkflow(wire.WorkflowAwaitJob, wire.Spec{
		OperationID: "op", Provider: "p", Account: "a", ProviderJobID: "j", DeadlineAt: start.Add(time.Hour),
		MaxStatusRequests: 10, MaxTransportFailures: 2,
	})
	require.NoError(t, env.GetWorkflowError())
	var out wire.Outcome
	require.NoError(t, env.GetWorkflowResult(&out))
	t.Logf("%+v", out)
	v, err := env.QueryWorkflow(wire.QueryAudit)
	require.NoError(t, err)
	var view wire.AuditView
	require.NoError(t, v.Get(&view))
	for _, e := range view.Entries {
		t.Log(operation.Story(e))
	}
	require.Zero(t, operation.VerifyChain("", view.Entries))
}
