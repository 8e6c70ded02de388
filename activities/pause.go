package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
)

// errWorkerStops ends an attempt whose worker stops, so that another one takes it up.
var errWorkerStops = errors.New("the worker stops")

// pause waits, unless the activity ends or its worker stops.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-activity.GetWorkerStopChannel(ctx):
		return errWorkerStops
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
