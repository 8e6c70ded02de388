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

// DecideTimeout is how long a decision waits for a worker.
const DecideTimeout = 30 * time.Second

// decidePause is the time between two attempts.
const decidePause = 200 * time.Millisecond

// Decide sends a decision as an update, so that the answer comes at once. A server that is about to move the workflow
// asks to send it again, which the decision's id makes safe. A decision that is not applied is an error that Refusal reads.
func (c Client) Decide(ctx context.Context, workflowID string, decision wire.Decision) (wire.DecisionReply, error) {
	ctx, cancel := context.WithTimeout(ctx, DecideTimeout)
	defer cancel()
	pause := time.NewTicker(decidePause)
	defer pause.Stop()
	for {
		reply, err := c.decideOnce(ctx, workflowID, decision)
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

func (c Client) decideOnce(ctx context.Context, workflowID string, decision wire.Decision) (wire.DecisionReply, error) {
	var reply wire.DecisionReply
	handle, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: workflowID, UpdateName: wire.UpdateDecide, Args: []any{decision},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return reply, err
	}
	return reply, handle.Get(ctx, &reply)
}

// Refusal is why a decision was not applied, if that is what the error of Decide says.
func Refusal(err error) (wire.Refusal, bool) {
	var application *temporal.ApplicationError
	if !errors.As(err, &application) || application.Type() != wire.ErrorDecisionRefused {
		return wire.Refusal{}, false
	}
	var refusal wire.Refusal
	if err := application.Details(&refusal); err != nil {
		refusal.Detail = application.Message()
	}
	return refusal, true
}

// Unsettled reports whether nobody answered Decide in time, so that the decision may or may not be applied.
func Unsettled(err error) bool {
	var timeout *client.WorkflowUpdateServiceTimeoutOrCanceledError
	return errors.As(err, &timeout) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(*serviceerror.DeadlineExceeded))
}
