package e2e_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/nexus/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/jobwait/jobwait"
	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/statetables"
)

// caller is a team in a namespace of its own that has never seen jobwait: names, an endpoint, and plain JSON.
type caller struct {
	*bed.Bed
	client   client.Client
	endpoint string
}

// newCaller makes the endpoint, a worker behind it that has the plugin, and the calling team.
func newCaller(t *testing.T, on *bed.Bed, name string) *caller {
	t.Helper()
	ctx := within(t)
	name = afresh(name)
	serveNexus(t, on, name)
	_, err := on.Client.OperatorService().CreateNexusEndpoint(ctx, &operatorservice.CreateNexusEndpointRequest{
		Spec: &nexus.EndpointSpec{Name: name, Target: &nexus.EndpointTarget{Variant: &nexus.EndpointTarget_Worker_{
			Worker: &nexus.EndpointTarget_Worker{Namespace: on.Namespace, TaskQueue: name},
		}}},
	})
	require.NoError(t, err)
	_, err = on.Client.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace: name, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	})
	require.NoError(t, err)
	c, err := client.DialContext(ctx, client.Options{HostPort: on.Server.Address, Namespace: name, Logger: bed.Quiet(), Identity: "caller"})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	w := worker.New(c, "callers", worker.Options{})
	w.RegisterWorkflowWithOptions(callNexus, workflow.RegisterOptions{Name: "callNexus"})
	require.Eventually(t, func() bool { return w.Start() == nil }, longest, 200*time.Millisecond, "the namespace does not become known")
	t.Cleanup(w.Stop)
	return &caller{Bed: on, client: c, endpoint: name}
}

// serveNexus runs a team's worker with nothing but the plugin in it.
func serveNexus(t *testing.T, on *bed.Bed, queue string) {
	t.Helper()
	tables, err := statetables.Load(statetables.Source{FS: statetables.Demo()})
	require.NoError(t, err)
	plugin, err := jobwait.NewPlugin(jobwait.Options{
		Tables: tables, Credentials: bed.Credentials{"demo": on.Credential("1", bed.Key)},
	})
	require.NoError(t, err)
	w := worker.New(on.Client, queue, worker.Options{Plugins: []worker.Plugin{plugin}})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
}

// callNexus is a caller's workflow: whatever JSON it is given goes to the operation, and what comes back is its result.
func callNexus(ctx workflow.Context, endpoint, operation string, input any) (map[string]any, error) {
	var result map[string]any
	err := workflow.NewNexusClient(endpoint, "jobwait").
		ExecuteOperation(ctx, operation, input, workflow.NexusOperationOptions{}).Get(ctx, &result)
	return result, err
}

// call starts a caller's workflow.
func (c *caller) call(t *testing.T, operation string, input any) client.WorkflowRun {
	t.Helper()
	run, err := c.client.ExecuteWorkflow(within(t), client.StartWorkflowOptions{TaskQueue: "callers"}, "callNexus", c.endpoint, operation, input)
	require.NoError(t, err)
	return run
}

// answer is what the caller gets in the end.
func (c *caller) answer(t *testing.T, run client.WorkflowRun) map[string]any {
	t.Helper()
	var result map[string]any
	require.NoError(t, run.Get(within(t), &result))
	return result
}

// plainSpec is a spec as somebody writes it who has only the documentation.
func (c *caller) plainSpec(job string) map[string]any {
	return map[string]any{
		"operation_id": "op-" + job, "provider": "demo-export", "account": "acct-42", "provider_job_id": job,
		"status_url": c.Provider.StatusURL(job), "credential_ref": "demo",
		"deadline_at":         time.Now().Add(10 * time.Minute).UTC().Format(time.RFC3339),
		"max_status_requests": 40, "max_transport_failures": 3,
		"schedule": map[string]any{"base_delay_seconds": 1, "max_delay_seconds": 1, "request_timeout_seconds": 60},
	}
}

// butWith is the spec with other values of some fields.
func butWith(spec map[string]any, pairs ...any) map[string]any {
	changed := make(map[string]any, len(spec))
	for name, value := range spec {
		changed[name] = value
	}
	for i := 0; i < len(pairs); i += 2 {
		changed[pairs[i].(string)] = pairs[i+1]
	}
	return changed
}
