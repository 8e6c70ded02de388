package jobwait_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/jobwait/jobwait"
	"github.com/jobwait/jobwait/wire"
	"github.com/jobwait/jobwait/workflows"
)

func spec() wire.Spec {
	return wire.Spec{
		OperationID: "op-1", Provider: "demo-export", Account: "acct/42", ProviderJobID: "exp 71c", CredentialRef: "demo",
		DeadlineAt: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC), MaxStatusRequests: 3, MaxTransportFailures: 1,
	}
}

// parent environment with a child that shows how it was started.
func parent(t *testing.T, child any) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	env.RegisterWorkflowWithOptions(child, workflow.RegisterOptions{Name: wire.WorkflowAwaitJob})
	return env
}

// childOptions records the options of the children that a workflow starts.
type childOptions struct {
	interceptor.WorkerInterceptorBase
	seen []workflow.ChildWorkflowOptions
}

func (c *childOptions) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	inbound := &childOptionsInbound{options: c}
	inbound.Next = next
	return inbound
}

type childOptionsInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	options *childOptions
}

func (c *childOptionsInbound) Init(outbound interceptor.WorkflowOutboundInterceptor) error {
	recording := &childOptionsOutbound{options: c.options}
	recording.Next = outbound
	return c.Next.Init(recording)
}

type childOptionsOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	options *childOptions
}

func (c *childOptionsOutbound) ExecuteChildWorkflow(ctx workflow.Context, name string, args ...any) workflow.ChildWorkflowFuture {
	c.options.seen = append(c.options.seen, workflow.GetChildWorkflowOptions(ctx))
	return c.Next.ExecuteChildWorkflow(ctx, name, args...)
}

func TestAwaitStartsTheOneOwnerOfAJob(t *testing.T) {
	t.Parallel()
	reopened := spec()
	reopened.Reopens = &wire.Reopens{RunID: "r", DecidedBy: "ana", Comment: "again"}
	for name, test := range map[string]struct {
		spec  wire.Spec
		reuse enumspb.WorkflowIdReusePolicy
	}{
		"first":    {spec(), enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY},
		"reopened": {reopened, enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			children := &childOptions{}
			env := parent(t, func(_ workflow.Context, got wire.Spec) (*wire.Outcome, error) {
				return &wire.Outcome{Status: wire.StatusSucceeded, OperationID: got.OperationID}, nil
			})
			env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{children}})
			env.ExecuteWorkflow(func(ctx workflow.Context) (wire.Outcome, error) {
				ctx = workflow.WithWorkflowTaskQueue(ctx, "stock")
				ctx = workflow.WithWorkflowRunTimeout(ctx, time.Minute) // for the parent's other children: a wait has none
				return jobwait.Await(ctx, test.spec)
			})
			var outcome wire.Outcome
			require.NoError(t, env.GetWorkflowResult(&outcome))
			require.Equal(t, wire.Outcome{Status: wire.StatusSucceeded, OperationID: "op-1"}, outcome)
			require.Equal(t, []workflow.ChildWorkflowOptions{{
				Namespace: "default-test-namespace", WorkflowID: "jobwait/demo-export/acct%2F42/exp%2071c", TaskQueue: "stock",
				WorkflowIDReusePolicy: test.reuse, ParentClosePolicy: enumspb.PARENT_CLOSE_POLICY_ABANDON,
				WaitForCancellation: true, Memo: map[string]any{wire.MemoOperationID: "op-1"},
				StaticSummary: "wait for exp 71c at demo-export (op-1)",
			}}, children.seen)
		})
	}
}

func TestAwaitTellsThatTheJobIsOwned(t *testing.T) {
	t.Parallel()
	env := parent(t, workflows.AwaitJob)
	env.OnWorkflow(wire.WorkflowAwaitJob, mock.Anything, mock.Anything, mock.Anything).
		Return(nil, &temporal.ChildWorkflowExecutionAlreadyStartedError{})
	var err error
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		_, err = jobwait.Await(ctx, spec())
		return nil
	})
	require.NoError(t, env.GetWorkflowError())
	var owned *jobwait.AlreadyOwnedError
	require.ErrorAs(t, err, &owned)
	require.Equal(t, "jobwait/demo-export/acct%2F42/exp%2071c", owned.WorkflowID)
}

func TestAwaitPassesOnWhyASpecIsInvalid(t *testing.T) {
	t.Parallel()
	env := parent(t, func(workflow.Context, wire.Spec) (*wire.Outcome, error) {
		return nil, temporal.NewNonRetryableApplicationError("spec: account is missing", wire.ErrorInvalidSpec, nil)
	})
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		_, err := jobwait.Await(ctx, spec())
		return err
	})
	var application *temporal.ApplicationError
	require.ErrorAs(t, env.GetWorkflowError(), &application)
	require.Equal(t, wire.ErrorInvalidSpec, application.Type())
	require.Equal(t, "spec: account is missing", application.Message())
}

// A parent that is cancelled learns how its wait ended: the child is told, and then waited for.
func TestAwaitReturnsTheOutcomeOfACancelledWait(t *testing.T) {
	t.Parallel()
	env := parent(t, func(ctx workflow.Context, _ wire.Spec) (*wire.Outcome, error) {
		err := workflow.Sleep(ctx, time.Hour)
		require.True(t, temporal.IsCanceledError(err))
		return &wire.Outcome{Status: wire.StatusUnresolved, Reason: wire.ReasonWaitCancelled}, nil
	})
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)
	env.ExecuteWorkflow(func(ctx workflow.Context) (wire.Outcome, error) { return jobwait.Await(ctx, spec()) })
	var outcome wire.Outcome
	require.NoError(t, env.GetWorkflowResult(&outcome))
	require.Equal(t, wire.ReasonWaitCancelled, outcome.Reason)
}
