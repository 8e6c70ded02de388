// Package telemetry counts how waits go, on the metrics handler of the worker's client. No label holds an id, a URL or
// anything else that grows with the number of waits. The requests to providers are counted where they are sent, by the
// activities.
package telemetry

import (
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"github.com/jobwait/jobwait/wire"
)

// Names of the counters. A Prometheus exporter appends _total.
const (
	// counterEscalations counts openings by provider and reason.
	counterEscalations = "jobwait_escalations"
	// counterProposals counts openings by provider.
	counterProposals = "jobwait_proposals"
	// counterOutcomes counts decided waits by provider, status and reason.
	counterOutcomes = "jobwait_outcomes"
	// counterSubmissions counts ended submissions by provider, status and reason.
	counterSubmissions = "jobwait_submissions"
)

// NewInterceptor counts in a worker. Replays are not counted again.
func NewInterceptor() interceptor.WorkerInterceptor { return &counting{} }

type counting struct {
	interceptor.WorkerInterceptorBase
}

func (*counting) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	counter := &countingWorkflow{}
	counter.Next = next
	return counter
}

type countingWorkflow struct {
	interceptor.WorkflowInboundInterceptorBase
}

// Init watches for the notification that every opening of an escalation or a proposal sends.
func (c *countingWorkflow) Init(outbound interceptor.WorkflowOutboundInterceptor) error {
	counter := &countingCalls{}
	counter.Next = outbound
	return c.Next.Init(counter)
}

// ExecuteWorkflow stands on the stack of every wait that sleeps, so the counting is elsewhere.
func (c *countingWorkflow) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	result, err := c.Next.ExecuteWorkflow(ctx, in)
	if err != nil {
		return result, err
	}
	if outcome, ok := result.(*wire.Outcome); ok && outcome != nil {
		countOutcome(ctx, outcome)
	}
	if outcome, ok := result.(*wire.SubmitOutcome); ok && outcome != nil {
		countSubmission(ctx, outcome)
	}
	return result, err
}

//go:noinline
func countOutcome(ctx workflow.Context, outcome *wire.Outcome) {
	count(ctx, counterOutcomes, map[string]string{
		"provider": outcome.Provider, "status": string(outcome.Status), "reason": string(outcome.Reason),
	})
}

//go:noinline
func countSubmission(ctx workflow.Context, outcome *wire.SubmitOutcome) {
	count(ctx, counterSubmissions, map[string]string{
		"provider": outcome.Provider, "status": string(outcome.Status), "reason": string(outcome.Reason),
	})
}

type countingCalls struct {
	interceptor.WorkflowOutboundInterceptorBase
}

func (c *countingCalls) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	if name == wire.ActivityNotify && len(args) == 1 {
		if request, ok := args[0].(wire.NotifyRequest); ok {
			countOpening(ctx, request.Notification)
		}
	}
	return c.Next.ExecuteActivity(ctx, name, args...)
}

func countOpening(ctx workflow.Context, told wire.Notification) {
	about := told.Briefing
	switch {
	case told.Kind == wire.NotifyEscalated && about.Escalation != nil:
		count(ctx, counterEscalations, map[string]string{"provider": about.Provider, "reason": string(about.Escalation.Reason)})
	case told.Kind == wire.NotifyProposed:
		count(ctx, counterProposals, map[string]string{"provider": about.Provider})
	}
}

func count(ctx workflow.Context, name string, labels map[string]string) {
	workflow.GetMetricsHandler(ctx).WithTags(labels).Counter(name).Inc(1)
}
