package activities

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// Notifier notifies people of an escalation, a reminder, a decision, or the end of a wait. It may be called again for a
// notification that it has delivered, if the worker was lost: Notification.ID is the idempotency key. Its errors are kept in
// history and in logs, so they must not contain a secret (the URL of a webhook is one).
type Notifier interface {
	Notify(ctx context.Context, notification wire.Notification) error
}

// ChannelNotifier is a Notifier with several channels. The Notify activity calls Deliver instead of Notify, and again as long as a
// channel is pending. What one attempt has delivered, the next does not deliver again.
type ChannelNotifier interface {
	Notifier
	// Deliver makes one attempt on every channel that, by before, has neither accepted nor refused the notification and is due. It
	// returns the state of all channels. It calls progress, which is safe for concurrent use, whenever a channel is settled, so that
	// little is repeated if the worker is lost.
	Deliver(ctx context.Context, notification wire.Notification, before wire.NotifyResult, progress func(wire.NotifyResult)) wire.NotifyResult
}

// Notify passes the notification to the worker's Notifier. If a channel has not accepted it, the error is an application error of
// type wire.ErrorNotDelivered.
func (a *Activities) Notify(ctx context.Context, request wire.NotifyRequest) (wire.NotifyResult, error) {
	if channels, ok := a.notifier.(ChannelNotifier); ok {
		return deliver(ctx, channels, request.Notification)
	}
	if err := a.notifier.Notify(ctx, request.Notification); err != nil {
		return wire.NotifyResult{}, withoutURL(err)
	}
	return wire.NotifyResult{}, nil
}

// deliver makes one attempt. Heartbeats carry what it delivered to the next one: they survive its failure and the loss of its
// worker.
func deliver(ctx context.Context, channels ChannelNotifier, notification wire.Notification) (wire.NotifyResult, error) {
	var before wire.NotifyResult
	if activity.HasHeartbeatDetails(ctx) {
		if err := activity.GetHeartbeatDetails(ctx, &before); err != nil {
			before = wire.NotifyResult{} // of another version: whoever has it already knows it by its id
		}
	}
	result := channels.Deliver(ctx, notification, before, func(sofar wire.NotifyResult) {
		activity.RecordHeartbeat(ctx, sofar)
	})
	countDeliveries(ctx, before, result)
	activity.RecordHeartbeat(ctx, result)
	return result, notDelivered(result, time.Now())
}

// notDelivered is nil when every channel has the notification. Its retry comes when the first pending channel may be tried
// again; where none is pending, there is none.
func notDelivered(result wire.NotifyResult, now time.Time) error {
	var next time.Time
	failed := false
	for _, channel := range result.Channels {
		failed = failed || channel.State != wire.DeliveryDelivered
		if channel.NotBefore != nil && (next.IsZero() || channel.NotBefore.Before(next)) {
			next = *channel.NotBefore
		}
	}
	if !failed {
		return nil
	}
	options := temporal.ApplicationErrorOptions{Details: []any{result}, NonRetryable: next.IsZero()}
	if !next.IsZero() {
		options.NextRetryDelay = max(next.Sub(now), time.Second)
	}
	return temporal.NewApplicationErrorWithOptions(operation.NoticeDetail(result, true), wire.ErrorNotDelivered, options)
}

// countDeliveries counts the attempts of this execution, by channel and what came of them.
func countDeliveries(ctx context.Context, before, after wire.NotifyResult) {
	made := map[string]int{}
	for _, channel := range before.Channels {
		made[channel.Channel] = channel.Attempts
	}
	for _, channel := range after.Channels {
		if channel.Attempts > made[channel.Channel] {
			labels := map[string]string{"channel": channel.Channel, "kind": string(channel.State)}
			activity.GetMetricsHandler(ctx).WithTags(labels).Counter("jobwait_notifications").Inc(1)
		}
	}
}

// LogNotifier logs each notification as one structured line.
type LogNotifier struct {
	// Logger receives the lines. Required.
	Logger *slog.Logger
}

// Notify renders and logs the notification. It never fails.
func (n LogNotifier) Notify(ctx context.Context, notification wire.Notification) error {
	about := notification.Briefing
	attributes := []slog.Attr{
		slog.String("notification_id", notification.ID), slog.String("kind", string(notification.Kind)),
		slog.String("operation_id", about.OperationID), slog.String("provider", about.Provider),
		slog.String("account", about.Account), slog.String("provider_job_id", about.ProviderJobID),
	}
	open := about.Escalation
	if about.Proposal != nil {
		open = &about.Proposal.Escalation
	}
	if open != nil {
		attributes = append(attributes, slog.String("escalation_id", open.ID),
			slog.String("reason", string(open.Reason)), slog.Time("window_ends_at", open.WindowEndsAt))
	}
	if outcome := about.Outcome; outcome != nil {
		attributes = append(attributes, slog.String("status", string(outcome.Status)), slog.String("reason", string(outcome.Reason)))
	}
	attributes = append(attributes, slog.String("message", operation.Message(about)))
	level, text := attention(notification.Kind)
	n.Logger.LogAttrs(ctx, level, text, attributes...)
	return nil
}

// attention tells what somebody should look at from what is good to know.
func attention(kind wire.NotificationKind) (slog.Level, string) {
	switch kind {
	case wire.NotifyDecided:
		return slog.LevelInfo, "a wait was decided"
	case wire.NotifyEnded:
		return slog.LevelInfo, "a wait that people were asked about has ended"
	case wire.NotifyEscalated, wire.NotifyReminded, wire.NotifyProposed, wire.NotifyClosed:
		return slog.LevelWarn, "a wait needs attention"
	default:
		return slog.LevelWarn, "a wait needs attention"
	}
}
