package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
)

// serverClock tells the Temporal server's time: when the server handed the activity out, plus what has passed here since
// by the monotonic clock. Deadlines are the server's, so this machine's wall clock has no say in them (R24).
type serverClock struct {
	startedAt time.Time
	began     time.Time
}

// startClock belongs at the very beginning of an activity function.
func startClock(ctx context.Context) serverClock {
	return serverClock{startedAt: activity.GetInfo(ctx).StartedTime, began: time.Now()}
}

func (c serverClock) now() time.Time { return c.startedAt.Add(time.Since(c.began)).UTC() }

// recorded is how a time stands in history: to the millisecond, null for none.
func recorded(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	at = at.UTC().Truncate(time.Millisecond)
	return &at
}
