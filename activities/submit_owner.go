package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// ownerBeat is how often a worker that follows an owner says that it is there.
const ownerBeat = 10 * time.Second

// heartbeat tells the server that the activity lives, until it is stopped.
func heartbeat(ctx context.Context) (stop func()) {
	done := make(chan struct{})
	go func() {
		ticker := time.NewTicker(ownerBeat)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ctx.Done():
				return
			case <-ticker.C:
				activity.RecordHeartbeat(ctx)
			}
		}
	}()
	return func() { close(done) }
}

// ownerAttempts is how often an owner that is not found is looked for: some minutes, for one that is only about to start.
const ownerAttempts = 10

// gone reports whether the server knows the owner no more: it was deleted, or has ended longer ago than a namespace remembers.
// Nothing would ever end the looking for it.
func gone(err error, attempt int32) bool {
	return attempt >= ownerAttempts && errors.As(err, new(*serviceerror.NotFound))
}

// ended reports whether the error says that a workflow has ended without a result.
func ended(err error) bool {
	return errors.As(err, new(*temporal.WorkflowExecutionError))
}
