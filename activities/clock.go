package activities

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
)

// serverClock tells the Temporal server's time: when the server handed the activity out, plus what has passed here since
// by the monotonic clock. Deadlines are the server's, so a wall clock that is off has no say in them (R24).
type serverClock struct {
	startedAt time.Time
	began     time.Time
	// ends is when the server gives the activity up, and the wait may send the next request; zero: never.
	ends time.Time
}

// heldUp is how long after it was handed out a task is taken up on a machine that is busy and no more than that.
const heldUp = time.Second

// startClock belongs at the very beginning of an activity function that sends. An error means that the server has given the
// activity up, or does not say whether it has: nothing may be sent for it.
//
// A worker that was frozen finds tasks that the server handed out to it long before, and the SDK gives them their whole
// time from then on. Only the wall clock shows it. A wall clock that is off shows the same, so the server is asked.
func startClock(ctx context.Context) (serverClock, error) {
	info, began := activity.GetInfo(ctx), time.Now()
	if began.Sub(info.StartedTime) > heldUp {
		if err := activity.GetClient(ctx).RecordActivityHeartbeat(ctx, info.TaskToken); err != nil {
			return serverClock{}, fmt.Errorf("taken up %s after it was handed out, and not sent: %w", began.Sub(info.StartedTime), err)
		}
	}
	return clockAt(info.StartedTime, began, info.StartToCloseTimeout), nil
}

// clockAt lets the time count that a task lay at the worker. An activity that goes on can have lain no longer than its
// timeout: a wall clock that says so is off, and is not believed at all.
func clockAt(startedAt, began time.Time, timeout time.Duration) serverClock {
	clock := serverClock{startedAt: startedAt, began: began}
	if timeout > 0 {
		clock.ends = startedAt.Add(timeout)
	}
	if lay := began.Sub(startedAt); lay > 0 && lay < timeout {
		clock.startedAt = startedAt.Add(lay)
	}
	return clock
}

func (c serverClock) now() time.Time { return c.startedAt.Add(time.Since(c.began)).UTC() }

// left bounds a request by the end of its activity.
func (c serverClock) left(timeout time.Duration) time.Duration {
	if c.ends.IsZero() {
		return timeout
	}
	return min(timeout, c.ends.Sub(c.now()))
}

// recorded is how a time stands in history: to the millisecond, null for none.
func recorded(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	at = at.UTC().Truncate(time.Millisecond)
	return &at
}
