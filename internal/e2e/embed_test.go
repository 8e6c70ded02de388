package e2e_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/jobwait/jobwait"
	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// report is a team's own workflow with a wait in the middle. It has been changed since it was first deployed.
func report(ctx workflow.Context, spec wire.Spec) (string, error) {
	if workflow.GetVersion(ctx, "shown to dashboards", workflow.DefaultVersion, 1) == 1 {
		provider := temporal.NewSearchAttributeKeyKeyword(wire.AttributeProvider)
		if err := workflow.UpsertTypedSearchAttributes(ctx, provider.ValueSet(spec.Provider)); err != nil {
			return "", err
		}
	}
	outcome, err := jobwait.Await(ctx, spec)
	if err != nil {
		return "", err
	}
	return string(outcome.Status) + " " + string(outcome.Reason) + outcome.Result["file"], nil
}

// team runs a worker of its own with the plugin in it.
func team(t *testing.T, queue string) *temporal.SimplePlugin {
	t.Helper()
	tables, err := statetables.Load(statetables.Source{FS: statetables.Demo()})
	require.NoError(t, err)
	plugin, err := jobwait.NewPlugin(jobwait.Options{
		Tables: tables, Credentials: bed.Credentials{"demo": shared.Credential("1", bed.Key)},
	})
	require.NoError(t, err)
	w := worker.New(shared.Client, queue, worker.Options{Plugins: []worker.Plugin{plugin}})
	w.RegisterWorkflowWithOptions(report, workflow.RegisterOptions{Name: "report"})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	return plugin
}

func startReport(ctx context.Context, t *testing.T, queue, id string, spec wire.Spec) client.WorkflowRun {
	t.Helper()
	run, err := shared.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: queue}, "report", spec)
	require.NoError(t, err)
	return run
}

func TestParentWaitsInATeamsOwnWorker(t *testing.T) {
	t.Parallel()
	plugin := team(t, "embed-wait")
	w := plan{job: "embed-wait", script: waittest.Script(waittest.State("running"), waittest.Succeeded("https://files.example.com/1.csv"))}.prepare(t)
	run := startReport(w.ctx, t, "embed-wait", "report-embed-wait", w.spec)
	var got string
	require.NoError(t, run.Get(w.ctx, &got))
	require.Equal(t, "succeeded https://files.example.com/1.csv", got)

	// The plugin makes a replayer, too, and one that replays more than one history.
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{Plugins: []worker.Plugin{plugin}})
	require.NoError(t, err)
	history := historyOf(w.ctx, t, wire.WorkflowID(w.spec.Provider, w.spec.Account, w.spec.ProviderJobID))
	for range 2 {
		require.NoError(t, replayer.ReplayWorkflowHistory(nil, history))
	}

	// So does the strict replayer of the team's tests, with the team's workflow in it.
	require.NoError(t, waittest.ReplayStrictly(historyOf(w.ctx, t, "report-embed-wait"), waittest.ReplayOptions{
		Register: func(replayer worker.WorkflowReplayer) {
			replayer.RegisterWorkflowWithOptions(report, workflow.RegisterOptions{Name: "report"})
		},
	}))
}

func historyOf(ctx context.Context, t *testing.T, workflowID string) *historypb.History {
	t.Helper()
	history := &historypb.History{}
	events := shared.Client.GetWorkflowHistory(ctx, workflowID, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(t, err)
		history.Events = append(history.Events, event)
	}
	return history
}

// The child goes on when its parent is gone, and a second parent does not become a second owner.
func TestWaitOutlivesItsParent(t *testing.T) {
	t.Parallel()
	team(t, "embed-orphan")
	w := plan{job: "embed-orphan", script: waittest.Script(waittest.State("running").Held(), waittest.Succeeded("https://files.example.com/1.csv"))}.prepare(t)
	parent := startReport(w.ctx, t, "embed-orphan", "report-embed-orphan", w.spec)
	_, err := shared.Provider.AwaitRequests(w.ctx, w.job, 1)
	require.NoError(t, err)

	second := startReport(w.ctx, t, "embed-orphan", "report-embed-orphan-2", w.spec)
	err = second.Get(w.ctx, nil)
	require.ErrorContains(t, err, "the job is owned by workflow")

	require.NoError(t, shared.Client.TerminateWorkflow(w.ctx, parent.GetID(), parent.GetRunID(), "the parent is gone"))
	require.Equal(t, 1, shared.Provider.Release(w.job))
	child := shared.Client.GetWorkflow(w.ctx, wire.WorkflowID(w.spec.Provider, w.spec.Account, w.spec.ProviderJobID), "")
	outcome, err := shared.Outcome(w.ctx, child)
	require.NoError(t, err)
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	waittest.RequireWithinBudget(t, shared.Provider.Log(w.job), w.spec.MaxStatusRequests)
}

// A parent that is cancelled still learns how its wait ended.
func TestCancelledParentLearnsTheOutcome(t *testing.T) {
	t.Parallel()
	team(t, "embed-cancel")
	w := plan{job: "embed-cancel", script: waittest.Script(waittest.State("running")), spec: func(spec *wire.Spec) {
		spec.Schedule = wire.Schedule{InitialDelaySeconds: new(0), BaseDelaySeconds: new(3600), MaxDelaySeconds: new(3600)}
	}}.prepare(t)
	parent := startReport(w.ctx, t, "embed-cancel", "report-embed-cancel", w.spec)
	_, err := shared.Provider.AwaitRequests(w.ctx, w.job, 1)
	require.NoError(t, err)
	require.NoError(t, shared.Client.CancelWorkflow(w.ctx, parent.GetID(), parent.GetRunID()))
	var got string
	require.NoError(t, parent.Get(w.ctx, &got))
	require.Equal(t, "unresolved wait_cancelled", got)
}

// The longest ids are accepted everywhere that they are shown.
func TestLongestIDs(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("<", 256)
	w := plan{job: longest, script: waittest.Script(waittest.Succeeded("https://files.example.com/1.csv")), spec: func(spec *wire.Spec) {
		spec.OperationID = longest
	}}.prepare(t)
	run, err := jobwait.Start(w.ctx, shared.Client, w.spec, jobwait.StartOptions{})
	require.NoError(t, err)
	outcome, err := shared.Outcome(w.ctx, run)
	require.NoError(t, err)
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, longest, outcome.OperationID)
}
