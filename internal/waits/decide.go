package waits

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/jobwait/jobwait/wire"
)

// DecideTimeout is how long a decision or a request waits for a worker.
const DecideTimeout = 30 * time.Second

// decidePause is the time between two attempts.
const decidePause = 200 * time.Millisecond

// Decide sends a decision as an update, so that the answer comes at once. A server that is about to move the workflow
// asks to send it again, which the decision's id makes safe. A decision that is not applied is an error that Refusal reads.
func (c Client) Decide(ctx context.Context, workflowID string, decision wire.Decision) (wire.DecisionReply, error) {
	return update[wire.DecisionReply](ctx, c, workflowID, wire.UpdateDecide, decision)
}

// RequestExtension asks for more, as Decide decides; the request's id makes it safe to repeat. A request that opens no
// proposal is an error that Refusal reads.
func (c Client) RequestExtension(ctx context.Context, workflowID string, request wire.ExtensionRequest) (wire.ExtensionReply, error) {
	return update[wire.ExtensionReply](ctx, c, workflowID, wire.UpdateRequestExtension, request)
}

func update[T any](ctx context.Context, c Client, workflowID, name string, payload any) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, DecideTimeout)
	defer cancel()
	pause := time.NewTicker(decidePause)
	defer pause.Stop()
	for {
		reply, err := updateOnce[T](ctx, c, workflowID, name, payload)
		if !errors.As(err, new(*serviceerror.WorkflowNotReady)) {
			return reply, err
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return reply, ctx.Err()
		}
	}
}

func updateOnce[T any](ctx context.Context, c Client, workflowID, name string, payload any) (T, error) {
	var reply T
	handle, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: workflowID, UpdateName: name, Args: []any{payload}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return reply, err
	}
	return reply, handle.Get(ctx, &reply)
}

// Refusal is why a decision was not applied or a request opened no proposal, if that is what the error of Decide or
// RequestExtension says.
func Refusal(err error) (wire.Refusal, bool) {
	var application *temporal.ApplicationError
	if !errors.As(err, &application) || application.Type() != wire.ErrorDecisionRefused && application.Type() != wire.ErrorRequestRefused {
		return wire.Refusal{}, false
	}
	var refusal wire.Refusal
	if err := application.Details(&refusal); err != nil {
		refusal.Detail = application.Message()
	}
	return refusal, true
}

// Unsettled reports whether nobody answered Decide or RequestExtension in time, so that what was sent may or may not be
// applied.
func Unsettled(err error) bool {
	var timeout *client.WorkflowUpdateServiceTimeoutOrCanceledError
	return errors.As(err, &timeout) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(*serviceerror.DeadlineExceeded))
}
