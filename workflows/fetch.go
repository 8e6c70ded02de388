package workflows

import (
	"errors"
	"strings"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

const (
	// fetchHeartbeat is how long a fetch may send no heartbeat before its worker counts as lost. It sends one every few seconds,
	// whether data arrives or not.
	fetchHeartbeat = 20 * time.Second
	// renewTimeoutSeconds bounds the status request that reads a new reference in place of an expired one.
	renewTimeoutSeconds = 30
)

// FetchResult copies one result of a finished job to a destination of the worker. Its input is a wire.FetchSpec. However the fetch
// ends, the workflow completes with a wire.FetchOutcome, unless it is cancelled; it fails only with the application error
// InvalidSpec.
func FetchResult(ctx workflow.Context, raw converter.RawValue) (*wire.FetchOutcome, error) {
	spec, err := wire.DecodeFetchSpec(raw.Payload().GetData())
	if err == nil {
		err = operation.CheckFetch(spec, workflow.GetInfo(ctx).WorkflowStartTime)
	}
	if err != nil {
		return nil, invalidSpec(err.Error())
	}
	request := wire.FetchRequest{Spec: spec, FirstRunID: firstRunID(workflow.GetInfo(ctx))}
	response := fetch(ctx, request)
	if reference, ok := renew(ctx, spec, response); ok {
		request.Spec.URL, request.Renewed = reference, true
		response = fetch(ctx, request)
	}
	if temporal.IsCanceledError(ctx.Err()) {
		return nil, ctx.Err()
	}
	response.Outcome.ClosedAt = workflow.Now(ctx).UTC()
	return &response.Outcome, nil
}

// fetch runs the activity until it has a result, the attempts are used up, or the deadline has come. Retrying is allowed: it is a
// GET of something finished, not a status request.
func fetch(ctx workflow.Context, request wire.FetchRequest) wire.FetchResponse {
	left := request.Spec.DeadlineAt.Sub(workflow.Now(ctx))
	if left < time.Second {
		return interrupted(request.Spec, nil)
	}
	attempts := request.Spec.MaxAttempts
	if attempts == 0 {
		attempts = operation.DefaultFetchAttempts
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ScheduleToCloseTimeout: left,
		StartToCloseTimeout:    left,
		HeartbeatTimeout:       fetchHeartbeat,
		WaitForCancellation:    true,
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: 2 * time.Second, MaximumInterval: time.Minute, MaximumAttempts: int32(attempts)}, //nolint:gosec // at most 100
		Summary:                "carry " + request.Spec.ResultName + " to " + request.Spec.Destination,
	})
	var response wire.FetchResponse
	if err := get(ctx, workflow.ExecuteActivity(ctx, wire.ActivityFetchResult, request), &response); err != nil {
		return interrupted(request.Spec, err)
	}
	return response
}

// interrupted returns the outcome of a fetch whose last attempt did not finish.
func interrupted(spec wire.FetchSpec, err error) wire.FetchResponse {
	detail := "deadline"
	var application *temporal.ApplicationError
	if errors.As(err, &application) && application.Type() == wire.ErrorFetchInterrupted {
		detail = application.Message()
	}
	reason := wire.FetchUnavailable
	if strings.HasPrefix(detail, wire.FetchDestination) {
		reason = wire.FetchDestinationFailed
	}
	return wire.FetchResponse{Outcome: operation.FetchEnded(spec, wire.FetchFailed, reason, detail)}
}

// renew reads a new reference in place of an expired one with a single status request, if the provider's table allows it.
func renew(ctx workflow.Context, spec wire.FetchSpec, response wire.FetchResponse) (string, bool) {
	if !response.Renewable || response.Outcome.Reason != wire.FetchReferenceExpired {
		return "", false
	}
	if spec.DeadlineAt.Sub(workflow.Now(ctx)) < time.Second {
		return "", false
	}
	info := workflow.GetInfo(ctx)
	ctx = workflow.WithActivityOptions(ctx, sending(ctx, spec.DeadlineAt, renewTimeoutSeconds, "read the expired reference anew"))
	var result wire.PollResult
	err := get(ctx, workflow.ExecuteActivity(ctx, wire.ActivityPollStatus, wire.PollRequest{
		Target: spec.Target(), Authority: wire.Authority{OriginalRunID: info.OriginalRunID},
		NotAfter: spec.DeadlineAt, TimeoutSeconds: renewTimeoutSeconds,
		Reading: wire.ReadingContext{SubmittedAt: info.WorkflowStartTime, Answered: true},
	}), &result)
	if err != nil {
		return "", false
	}
	return operation.RenewedReference(spec, result)
}
