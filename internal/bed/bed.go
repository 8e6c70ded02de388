// Package bed is a whole jobwait on one machine: a Temporal development server, a scripted provider, a client, and
// workers that run in this process, for tests and for recording histories.
package bed

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strconv"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/jobwait/jobwait/internal/devserver"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// Key is what the provider's Authorization must say after "Bearer ".
const Key = "bed-key"

// Options say how the server runs.
type Options struct {
	// Server overrides how the development server is run; Executable is found if empty.
	Server devserver.Options
	// Progress is told what starts, and how long building Temporal may take; nil tells nobody.
	Progress io.Writer
}

// Bed is everything a wait needs around it.
type Bed struct {
	Server   *devserver.Server
	Client   client.Client
	Provider *waittest.Provider
	// Namespace is the client's.
	Namespace string
}

// Open starts the server and the provider and connects. Close ends them.
func Open(ctx context.Context, options Options) (*Bed, error) {
	bed := &Bed{}
	err := bed.startServer(ctx, options)
	if err != nil {
		return nil, errors.Join(err, bed.Close())
	}
	if bed.Provider, err = waittest.NewProvider(waittest.ProviderOptions{Key: Key}); err != nil {
		return nil, errors.Join(err, bed.Close())
	}
	bed.Client, err = client.DialContext(ctx, client.Options{
		HostPort: bed.Server.Address, Namespace: bed.Namespace, Logger: Quiet(), Identity: "bed",
	})
	if err != nil {
		return nil, errors.Join(err, bed.Close())
	}
	return bed, nil
}

func (b *Bed) startServer(ctx context.Context, options Options) (err error) {
	server := options.Server
	if server.Executable.Path == "" {
		if server.Executable, err = devserver.Find(ctx, options.Progress); err != nil {
			return err
		}
	}
	if b.Server, err = devserver.Start(ctx, server); err != nil {
		return err
	}
	b.Namespace = b.Server.Namespace
	return nil
}

// Quiet is a logger for clients and workers of which nobody wants to read.
func Quiet() log.Logger { return log.NewStructuredLogger(slog.New(slog.DiscardHandler)) }

// With is the same bed seen through another client, which stays its owner's to close.
func (b *Bed) With(c client.Client, namespace string) *Bed {
	seen := *b
	seen.Client, seen.Namespace = c, namespace
	return &seen
}

// Close ends what Open started.
func (b *Bed) Close() error {
	var errs []error
	if b.Client != nil {
		b.Client.Close()
	}
	if b.Provider != nil {
		errs = append(errs, b.Provider.Close())
	}
	if b.Server != nil {
		errs = append(errs, b.Server.Stop())
	}
	return errors.Join(errs...)
}

// Spec is a patient spec for a job of the bed's provider, asked every second.
func (b *Bed) Spec(job string) wire.Spec {
	one := 1
	return wire.Spec{
		OperationID: "op-" + job, Provider: "demo-export", Account: "acct-42", ProviderJobID: job,
		StatusURL: b.Provider.StatusURL(job), CredentialRef: "demo",
		DeadlineAt: time.Now().Add(10 * time.Minute), MaxStatusRequests: 12, MaxTransportFailures: 3,
		Schedule: wire.Schedule{BaseDelaySeconds: &one, MaxDelaySeconds: &one, RequestTimeoutSeconds: new(10)},
	}
}

// Start starts the wait for a spec under its one workflow id.
func (b *Bed) Start(ctx context.Context, spec wire.Spec) (client.WorkflowRun, error) {
	return b.StartOn(ctx, wire.DefaultTaskQueue, spec)
}

// StartOn starts a wait on a task queue of its own.
func (b *Bed) StartOn(ctx context.Context, taskQueue string, spec wire.Spec) (client.WorkflowRun, error) {
	return b.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                                       wire.WorkflowID(spec.Provider, spec.Account, spec.ProviderJobID),
		TaskQueue:                                taskQueue,
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
	}, wire.WorkflowAwaitJob, spec)
}

// Outcome waits for the end of a wait, over all its runs.
func (b *Bed) Outcome(ctx context.Context, run client.WorkflowRun) (wire.Outcome, error) {
	var outcome wire.Outcome
	return outcome, run.Get(ctx, &outcome)
}

// View asks a wait how it stands.
func (b *Bed) View(ctx context.Context, workflowID string) (wire.OperationView, error) {
	var view wire.OperationView
	answer, err := b.Client.QueryWorkflow(ctx, workflowID, "", wire.QueryOperation)
	if err != nil {
		return view, err
	}
	return view, answer.Get(&view)
}

// Until follows a run by its history, looks at it after every workflow task, and returns the first view that is wanted.
func (b *Bed) Until(ctx context.Context, run client.WorkflowRun, wanted func(wire.OperationView) bool) (wire.OperationView, error) {
	events := b.Client.GetWorkflowHistory(ctx, run.GetID(), run.GetRunID(), true, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return wire.OperationView{}, err
		}
		if event.GetEventType() != enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			continue
		}
		if view, err := b.View(ctx, run.GetID()); err == nil && wanted(view) {
			return view, nil
		}
	}
	return wire.OperationView{}, errors.New("the run ended before it was as wanted")
}

// Escalated waits for the next escalation of a run.
func (b *Bed) Escalated(ctx context.Context, run client.WorkflowRun) (wire.EscalationView, error) {
	view, err := b.Until(ctx, run, func(view wire.OperationView) bool { return view.Escalation != nil })
	if err != nil {
		return wire.EscalationView{}, err
	}
	return *view.Escalation, nil
}

// Decide sends a decision, or whatever somebody takes for one, as an update and returns the answer. A server that could not finish
// the workflow task which the update was part of asks to send it again; the decision's id makes that safe.
func (b *Bed) Decide(ctx context.Context, workflowID string, decision any) (wire.DecisionReply, error) {
	for {
		reply, err := b.decideOnce(ctx, workflowID, decision)
		var again *serviceerror.WorkflowNotReady
		if !errors.As(err, &again) {
			return reply, err
		}
	}
}

func (b *Bed) decideOnce(ctx context.Context, workflowID string, decision any) (wire.DecisionReply, error) {
	var reply wire.DecisionReply
	handle, err := b.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: workflowID, UpdateName: wire.UpdateDecide, Args: []any{decision},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return reply, err
	}
	return reply, handle.Get(ctx, &reply)
}

// Reset resets a run to the workflow task that completed with the given event, and returns the new run.
func (b *Bed) Reset(ctx context.Context, run client.WorkflowRun, event int64) (client.WorkflowRun, error) {
	answer, err := b.Client.ResetWorkflowExecution(ctx, &workflowservice.ResetWorkflowExecutionRequest{
		Namespace:                 b.Namespace,
		WorkflowExecution:         &commonpb.WorkflowExecution{WorkflowId: run.GetID(), RunId: run.GetRunID()},
		Reason:                    "reset by a test",
		WorkflowTaskFinishEventId: event,
		RequestId:                 "reset-" + run.GetRunID() + "-" + strconv.FormatInt(event, 10),
	})
	if err != nil {
		return nil, err
	}
	return b.Client.GetWorkflow(ctx, run.GetID(), answer.GetRunId()), nil
}

// Runs are the run ids of a wait in their order, followed backwards from the given run, or from the latest one.
func (b *Bed) Runs(ctx context.Context, workflowID, runID string) ([]string, error) {
	if runID == "" {
		described, err := b.Client.DescribeWorkflow(ctx, workflowID, "")
		if err != nil {
			return nil, err
		}
		runID = described.WorkflowExecution.RunID
	}
	var runs []string
	for runID != "" {
		runs = append([]string{runID}, runs...)
		events := b.Client.GetWorkflowHistory(ctx, workflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		first, err := events.Next()
		if err != nil {
			return nil, err
		}
		runID = first.GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId()
	}
	return runs, nil
}

// Audit is what a run can show of the audit.
func (b *Bed) Audit(ctx context.Context, workflowID, runID string) (wire.AuditView, error) {
	var view wire.AuditView
	answer, err := b.Client.QueryWorkflow(ctx, workflowID, runID, wire.QueryAudit)
	if err != nil {
		return view, err
	}
	return view, answer.Get(&view)
}
