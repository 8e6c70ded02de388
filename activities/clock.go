package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
)

// serverClock tells the Temporal server's time: when the server handed the activity out, plus what has passed here since
// by the monotonic clock. Deadlines are the server's, so a wall clock that is off has no say in them (R24).
type serverClock struct {
	startedAt time.Time
	began     time.Time
}

// startClock belongs at the very beginning of an activity function.
func startClock(ctx context.Context) serverClock {
	info := activity.GetInfo(ctx)
	return clockAt(info.StartedTime, info.Deadline, time.Now())
}

// clockAt allows for the time that a task lay at a worker before it was taken up: one that was frozen finds it there when it
// goes on, and only the wall clock knows how long that was. It is believed to make the time later, never earlier, and only
// up to the activity's deadline: past that the SDK, which goes by the same wall clock, has ended the activity already.
func clockAt(startedAt, deadline, began time.Time) serverClock {
	if began.After(startedAt) && began.Before(deadline) {
		startedAt = began.Round(0)
	}
	return serverClock{startedAt: startedAt, began: began}
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
