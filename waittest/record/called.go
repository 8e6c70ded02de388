package main

import (
	"context"
	"errors"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/nexus/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/jobwait/jobwait"
	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/internal/devserver"
	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// callers is the Nexus endpoint, and the task queue of the worker behind it and of the workflows that call it.
const callers = "callers"

// called is a wait that two workflows ask for through a Nexus endpoint: the first has it started, the second joins it while it goes on. Its
// history has the callbacks of both.
func called() group {
	return group{
		server: devserver.Options{SearchAttributes: true, FastTimers: true}, ready: behindEndpoint,
		waits: []wait{{
			name: "called_through_nexus", script: waittest.Script(waittest.State("running").Held().Times(1), done), begin: callTwice,
		}},
	}
}

// callTwice calls the operation, and calls it once more while it goes on.
func callTwice(ctx context.Context, b *bed.Bed, spec wire.Spec) (client.WorkflowRun, error) {
	for range 2 {
		run, err := b.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: callers}, callAwait, spec)
		if err != nil {
			return nil, err
		}
		if err := operationStarted(ctx, b, run); err != nil {
			return nil, err
		}
	}
	if _, err := b.Provider.AwaitRequests(ctx, spec.ProviderJobID, 1); err != nil {
		return nil, err
	}
	b.Provider.Release(spec.ProviderJobID)
	return b.Client.GetWorkflow(ctx, wire.WorkflowID(spec.Provider, spec.Account, spec.ProviderJobID), ""), nil
}

// callAwait is a caller's workflow.
func callAwait(ctx workflow.Context, spec wire.Spec) (wire.Outcome, error) {
	var outcome wire.Outcome
	operation := workflow.NewNexusClient(callers, wire.NexusService).
		ExecuteOperation(ctx, wire.NexusOperationAwait, spec, workflow.NexusOperationOptions{})
	return outcome, operation.Get(ctx, &outcome)
}

// operationStarted waits until a caller knows that its operation goes on.
func operationStarted(ctx context.Context, b *bed.Bed, run client.WorkflowRun) error {
	events := b.Client.GetWorkflowHistory(ctx, run.GetID(), run.GetRunID(), true, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil || event.GetEventType() == enumspb.EVENT_TYPE_NEXUS_OPERATION_STARTED {
			return err
		}
	}
	return errors.New("the caller ended before its operation was started")
}

// behindEndpoint makes the endpoint, and runs the worker behind it, which has the callers' workflow as well. stop ends it.
func behindEndpoint(ctx context.Context, b *bed.Bed, options *bed.WorkerOptions) (stop func(), err error) {
	tables, err := statetables.Load(statetables.Source{FS: statetables.Demo()})
	if err != nil {
		return nil, err
	}
	plugin, err := jobwait.NewPlugin(jobwait.Options{Tables: tables, Credentials: options.Credentials})
	if err != nil {
		return nil, err
	}
	_, err = b.Client.OperatorService().CreateNexusEndpoint(ctx, &operatorservice.CreateNexusEndpointRequest{
		Spec: &nexus.EndpointSpec{Name: callers, Target: &nexus.EndpointTarget{Variant: &nexus.EndpointTarget_Worker_{
			Worker: &nexus.EndpointTarget_Worker{Namespace: b.Namespace, TaskQueue: callers},
		}}},
	})
	if err != nil {
		return nil, err
	}
	w := worker.New(b.Client, callers, worker.Options{Plugins: []worker.Plugin{plugin}, Identity: "recorder"})
	w.RegisterWorkflow(callAwait)
	return w.Stop, w.Start()
}
