package activities

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/jobwait/jobwait/wire"
)

// channels is a notifier that says of its channels what a test tells it to. The channels themselves are package notify's.
type channels struct {
	notifier

	before wire.NotifyResult
	after  wire.NotifyResult
}

func (c *channels) Deliver(_ context.Context, _ wire.Notification, before wire.NotifyResult, progress func(wire.NotifyResult)) wire.NotifyResult {
	c.before = before
	progress(c.after)
	return c.after
}

func delivery(channel string, state wire.DeliveryState, detail string, in time.Duration) wire.Delivery {
	d := wire.Delivery{Channel: channel, State: state, Detail: detail, Attempts: 1}
	if in != 0 {
		d.NotBefore = new(time.Now().Add(in))
	}
	return d
}

// One attempt that every channel took is a result with their names.
func TestEveryChannelTookIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.options.Notifier = &channels{after: wire.NotifyResult{Channels: []wire.Delivery{delivery("a", wire.DeliveryDelivered, "", 0)}}}
	var result wire.NotifyResult
	require.NoError(t, w.run(wire.ActivityNotify, notification(), &result))
	require.Equal(t, "a", result.Channels[0].Channel)

	w.options.Notifier = &channels{after: wire.NotifyResult{Nobody: true}}
	require.NoError(t, w.run(wire.ActivityNotify, notification(), &result))
	require.True(t, result.Nobody)
}

// A channel that did not take it fails the attempt, which is repeated when the first of them may be tried again. The error
// carries the state of all, and stands in history: it names channels and no more.
func TestPendingChannelIsRetriedInTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	after := wire.NotifyResult{Channels: []wire.Delivery{
		delivery("a", wire.DeliveryDelivered, "", 0), delivery("b", wire.DeliveryPending, "HTTP 503", time.Minute),
		delivery("c", wire.DeliveryPending, "timeout", 7*time.Second), delivery("d", wire.DeliveryRefused, "HTTP 410, gone", 0),
	}}
	w.options.Notifier = &channels{after: after}
	failure := notDeliveredBy(t, w)
	require.Equal(t, "not delivered: b (HTTP 503), c (timeout), d (HTTP 410, gone); delivered: a", failure.Message())
	require.False(t, failure.NonRetryable())
	require.InDelta(t, 7, failure.NextRetryDelay().Seconds(), 1)
	var told wire.NotifyResult
	require.NoError(t, failure.Details(&told))
	require.Len(t, told.Channels, 4)
	require.True(t, after.Channels[2].NotBefore.Equal(*told.Channels[2].NotBefore))
}

// What will never be taken is not tried again.
func TestRefusedByAllThatAreLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.options.Notifier = &channels{after: wire.NotifyResult{Channels: []wire.Delivery{
		delivery("a", wire.DeliveryDelivered, "", 0), delivery("b", wire.DeliveryRefused, "SMTP 550", 0),
	}}}
	require.True(t, notDeliveredBy(t, w).NonRetryable())
}

// A channel whose time has come already is tried at once, and not in the past.
func TestOverdueChannel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.options.Notifier = &channels{after: wire.NotifyResult{Channels: []wire.Delivery{delivery("b", wire.DeliveryPending, "dns", -time.Hour)}}}
	require.Equal(t, time.Second, notDeliveredBy(t, w).NextRetryDelay())
}

// The next attempt, here or at another worker, is told what the one before delivered.
func TestAttemptsKnowEachOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	left := wire.NotifyResult{Channels: []wire.Delivery{delivery("a", wire.DeliveryDelivered, "", 0)}}
	w.heartbeat = left
	told := &channels{after: left}
	w.options.Notifier = told
	require.NoError(t, w.run(wire.ActivityNotify, notification(), nil))
	require.Equal(t, left, told.before)

	w.heartbeat = "of another version"
	require.NoError(t, w.run(wire.ActivityNotify, notification(), nil))
	require.Empty(t, told.before.Channels)
}

func notDeliveredBy(t *testing.T, w *world) *temporal.ApplicationError {
	t.Helper()
	var failure *temporal.ApplicationError
	require.ErrorAs(t, w.run(wire.ActivityNotify, notification(), nil), &failure)
	require.Equal(t, wire.ErrorNotDelivered, failure.Type())
	return failure
}
