package workflows

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

// TestFiredAlarmIsLetGo: a context that is not cancelled stays with its parent, a kilobyte for each poll of a wait.
func TestFiredAlarmIsLetGo(t *testing.T) {
	t.Parallel()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.ExecuteWorkflow(func(ctx workflow.Context) (bool, error) {
		var a alarm
		a.set(ctx, workflow.Now(ctx).Add(time.Minute), "")
		if err := workflow.Await(ctx, a.fired); err != nil {
			return false, err
		}
		letGo, cancel := false, a.cancel
		a.cancel = func() { letGo = true; cancel() }
		a.takeFired()
		return letGo && a.timer == nil, nil
	})
	require.NoError(t, env.GetWorkflowError())
	var letGo bool
	require.NoError(t, env.GetWorkflowResult(&letGo))
	require.True(t, letGo)
}
