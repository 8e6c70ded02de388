// Package telemetry counts what waits do, on the metrics handler of the worker's client. No label holds an id, a URL or
// anything else that grows with the number of waits.
package telemetry

import (
	"context"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"github.com/jobwait/jobwait/wire"
)

// Names of the counters. A Prometheus exporter appends _total.
const (
	// StatusRequests counts executions of PollStatus by provider and answer: a wire.Answer, or "not_sent".
	StatusRequests = "jobwait_status_requests"
	// CancelRequests counts executions of CancelAtProvider by provider and answer: accepted, not_accepted, none, not_sent.
	CancelRequests = "jobwait_cancel_requests"
	// Escalations counts openings by provider and reason.
	Escalations = "jobwait_escalations"
	// Outcomes counts decided waits by provider, status and reason.
	Outcomes = "jobwait_outcomes"
)

// NewInterceptor counts in a worker. Replays are not counted again.
func NewInterceptor() interceptor.WorkerInterceptor { return &counting{} }

type counting struct {
	interceptor.WorkerInterceptorBase
}

func (*counting) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	counter := &countingActivity{}
	counter.Next = next
	return counter
}

func (*counting) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	counter := &countingWorkflow{}
	counter.Next = next
	return counter
}

type countingActivity struct {
	interceptor.ActivityInboundInterceptorBase
}

func (c *countingActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	result, err := c.Next.ExecuteActivity(ctx, in)
	if err != nil || len(in.Args) != 1 {
		return result, err
	}
	switch result := result.(type) {
	case wire.PollResult:
		if request, ok := in.Args[0].(wire.PollRequest); ok {
			count(activity.GetMetricsHandler(ctx), StatusRequests, map[string]string{"provider": request.Provider, "answer": statusAnswer(result)})
		}
	case wire.CancelResult:
		if request, ok := in.Args[0].(wire.CancelRequest); ok {
			count(activity.GetMetricsHandler(ctx), CancelRequests, map[string]string{"provider": request.Provider, "answer": cancelAnswer(result)})
		}
	}
	return result, nil
}

func statusAnswer(result wire.PollResult) string {
	if result.Observation == nil {
		return "not_sent"
	}
	return string(result.Observation.Answer)
}

func cancelAnswer(result wire.CancelResult) string {
	switch {
	case result.NotSent != "":
		return "not_sent"
	case result.HTTPStatus == 0:
		return "none"
	case result.Accepted:
		return "accepted"
	default:
		return "not_accepted"
	}
}

type countingWorkflow struct {
	interceptor.WorkflowInboundInterceptorBase
}

// Init watches for the notification that every opening of an escalation sends.
func (c *countingWorkflow) Init(outbound interceptor.WorkflowOutboundInterceptor) error {
	counter := &countingCalls{}
	counter.Next = outbound
	return c.Next.Init(counter)
}

func (c *countingWorkflow) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	result, err := c.Next.ExecuteWorkflow(ctx, in)
	if outcome, ok := result.(*wire.Outcome); ok && outcome != nil && err == nil {
		count(workflow.GetMetricsHandler(ctx), Outcomes, map[string]string{
			"provider": outcome.Provider, "status": string(outcome.Status), "reason": string(outcome.Reason),
		})
	}
	return result, err
}

type countingCalls struct {
	interceptor.WorkflowOutboundInterceptorBase
}

func (c *countingCalls) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	if name == wire.ActivityNotify && len(args) == 1 {
		if request, ok := args[0].(wire.NotifyRequest); ok && request.Notification.Kind == wire.NotifyEscalated {
			countEscalation(ctx, request.Notification.Briefing)
		}
	}
	return c.Next.ExecuteActivity(ctx, name, args...)
}

func countEscalation(ctx workflow.Context, about wire.Briefing) {
	if about.Escalation == nil {
		return
	}
	count(workflow.GetMetricsHandler(ctx), Escalations, map[string]string{
		"provider": about.Provider, "reason": string(about.Escalation.Reason),
	})
}

func count(handler client.MetricsHandler, name string, labels map[string]string) {
	handler.WithTags(labels).Counter(name).Inc(1)
}
