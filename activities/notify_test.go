package activities

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

func notification() wire.NotifyRequest {
	at := time.Date(2025, 4, 18, 10, 20, 0, 0, time.UTC)
	return wire.NotifyRequest{Notification: wire.Notification{
		ID: "op#1-3f9a2c1b/escalated/1", Kind: wire.NotifyEscalated,
		Briefing: wire.Briefing{
			OperationID: "op", Provider: "demo-export", Account: "acct-42", ProviderJobID: "exp_71c", OpenedAt: at, At: at,
			Escalation: &wire.Escalation{ID: "op#1-3f9a2c1b", Reason: wire.ReasonUnknownState, WindowEndsAt: at.Add(time.Hour)},
		},
	}}
}

// R38: the default tells people by one line that a machine can read too.
func TestNotifyLogsOneLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	require.NoError(t, w.run(wire.ActivityNotify, notification(), nil))
	var line map[string]any
	require.NoError(t, json.Unmarshal([]byte(w.log.String()), &line), "one line: %s", w.log)
	require.Equal(t, "op#1-3f9a2c1b/escalated/1", line["notification_id"])
	require.Equal(t, "op#1-3f9a2c1b", line["escalation_id"])
	require.Equal(t, "unknown_state", line["reason"])
	require.Equal(t, "exp_71c", line["provider_job_id"])
	require.Contains(t, line["message"], "exp_71c at demo-export")
}

// What is only good to know does not look like a question.
func TestNotifyLogsByUrgency(t *testing.T) {
	t.Parallel()
	for kind, level := range map[wire.NotificationKind]string{
		wire.NotifyReminded: "WARN", wire.NotifyClosed: "WARN", wire.NotifyDecided: "INFO", wire.NotifyEnded: "INFO", "another": "WARN",
	} {
		w := newWorld(t, nil)
		told := notification()
		told.Notification.Kind = kind
		require.NoError(t, w.run(wire.ActivityNotify, told, nil))
		require.Contains(t, w.log.String(), `"level":"`+level+`"`, kind)
	}
}

// R14: a webhook's URL is a secret, and net/http's errors repeat it.
func TestNotifierErrorLosesItsURL(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.options.Notifier = notifier(func(wire.Notification) error {
		return &url.Error{Op: "Post", URL: "https://hooks.example.com/" + marker, Err: errors.New("connection refused")}
	})
	err := w.run(wire.ActivityNotify, notification(), nil)
	require.ErrorContains(t, err, "connection refused")
	require.NotContains(t, err.Error(), marker)
}

type notifier func(wire.Notification) error

func (n notifier) Notify(_ context.Context, notification wire.Notification) error {
	return n(notification)
}
