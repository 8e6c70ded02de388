package activities

import (
	"context"
	"log/slog"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// Notifier tells people of an escalation, a reminder, or a wait that closed without asking. It may be called again for a
// notification that it delivered already, if the worker was lost meanwhile: Notification.ID is the idempotency key.
// Its errors stand in history and in logs, so they hold no secret (the URL of a webhook is one).
type Notifier interface {
	Notify(ctx context.Context, notification wire.Notification) error
}

// Notify hands the notification to the worker's Notifier.
func (a *Activities) Notify(ctx context.Context, request wire.NotifyRequest) error {
	if err := a.notifier.Notify(ctx, request.Notification); err != nil {
		return withoutURL(err)
	}
	return nil
}

// LogNotifier writes a notification as one structured log line.
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
	if escalation := about.Escalation; escalation != nil {
		attributes = append(attributes, slog.String("escalation_id", escalation.ID),
			slog.String("reason", string(escalation.Reason)), slog.Time("window_ends_at", escalation.WindowEndsAt))
	}
	if proposal := about.Proposal; proposal != nil {
		attributes = append(attributes, slog.String("escalation_id", proposal.ID),
			slog.String("reason", string(proposal.Reason)), slog.Time("window_ends_at", proposal.WindowEndsAt))
	}
	if outcome := about.Outcome; outcome != nil {
		attributes = append(attributes, slog.String("status", string(outcome.Status)), slog.String("reason", string(outcome.Reason)))
	}
	attributes = append(attributes, slog.String("message", operation.Message(about)))
	n.Logger.LogAttrs(ctx, slog.LevelWarn, "a wait needs attention", attributes...)
	return nil
}
