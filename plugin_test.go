package jobwait_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nexus-rpc/sdk-go/nexus"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/jobwait/jobwait"
	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

func plugin(t *testing.T) *temporal.SimplePlugin {
	t.Helper()
	tables, err := statetables.Load(statetables.Source{FS: statetables.Demo()})
	require.NoError(t, err)
	made, err := jobwait.NewPlugin(jobwait.Options{Tables: tables})
	require.NoError(t, err)
	return made
}

func TestPluginRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	_, err := jobwait.NewPlugin(jobwait.Options{})
	require.EqualError(t, err, "activities: Tables is nil; load them with statetables.Load")
	tables, err := statetables.Load(statetables.Source{FS: statetables.Demo()})
	require.NoError(t, err)
	_, err = jobwait.NewPlugin(jobwait.Options{Tables: tables, Credentials: activities.CredentialsFile("missing.yaml")})
	require.ErrorContains(t, err, "missing.yaml")
}

// names is a registry that remembers what was registered.
type names struct {
	worker.Registry
	workflows, activities []string
	service               *nexus.Service
}

func (n *names) RegisterNexusService(service *nexus.Service) { n.service = service }

func (n *names) RegisterWorkflowWithOptions(_ any, options workflow.RegisterOptions) {
	n.workflows = append(n.workflows, options.Name)
}

func (n *names) RegisterActivityWithOptions(_ any, options activity.RegisterOptions) {
	n.activities = append(n.activities, options.Name)
}

func TestPluginRegistersEverythingWhenTheWorkerStarts(t *testing.T) {
	t.Parallel()
	registry := &names{}
	started := errors.New("the worker goes on")
	err := plugin(t).StartWorker(t.Context(), worker.PluginStartWorkerOptions{WorkerRegistry: registry},
		func(context.Context, worker.PluginStartWorkerOptions) error { return started })
	require.ErrorIs(t, err, started)
	require.Equal(t, []string{wire.WorkflowAwaitJob, wire.WorkflowFetchResult, wire.WorkflowSubmitAndAwait, wire.WorkflowTellPeople}, registry.workflows)
	require.ElementsMatch(t, []string{
		wire.ActivityPrepare, wire.ActivityPollStatus, wire.ActivityCancelAtProvider, wire.ActivityNotify, wire.ActivityTrustedKeys,
		wire.ActivityFetchResult, wire.ActivityPrepareSubmission, wire.ActivitySubmit, wire.ActivityFindOwner, wire.ActivityAwaitOwner,
	}, registry.activities)
	require.Equal(t, wire.NexusService, registry.service.Name)
	require.NotNil(t, registry.service.Operation(wire.NexusOperationAwait))
	require.NotNil(t, registry.service.Operation(wire.NexusOperationSubmitAndAwait))
}

func TestPluginLetsRequestsInFlightFinish(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ given, want time.Duration }{
		"unset":     {0, jobwait.DefaultStopTimeout},
		"their own": {time.Second, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := worker.Options{WorkerStopTimeout: test.given}
			require.NoError(t, plugin(t).ConfigureWorker(t.Context(), worker.PluginConfigureWorkerOptions{WorkerOptions: &options}))
			require.Equal(t, test.want, options.WorkerStopTimeout)
			require.Len(t, options.Interceptors, 1)
		})
	}
}

// A plugin may serve several workers of a process, each of which registers for itself.
func TestPluginServesSeveralWorkers(t *testing.T) {
	t.Parallel()
	c, err := client.NewLazyClient(client.Options{Plugins: []client.Plugin{plugin(t)}})
	require.NoError(t, err)
	defer c.Close()
	require.NotPanics(t, func() {
		worker.New(c, "one", worker.Options{})
		worker.New(c, "two", worker.Options{})
	})
}
