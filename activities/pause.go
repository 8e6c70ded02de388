package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
)

// pause waits, unless the activity ends or its worker stops: another one takes it up then.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-activity.GetWorkerStopChannel(ctx):
		return &fetchAgain{detail: "the worker stops"}
	}
}

// beat tells that the activity lives, at every interval until it is stopped or the activity ends.
func beat(ctx context.Context, every time.Duration, tell func()) (stop func()) {
	ctx, stop = context.WithCancel(ctx)
	go func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				tell()
			case <-ctx.Done():
				return
			}
		}
	}()
	return stop
}
