package notify_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/notify"
	"github.com/jobwait/jobwait/wire"
)

// marker stands in every secret of these tests and must come to light nowhere.
const marker = "PLANTED-SECRET"

var asked = time.Date(2025, 4, 18, 10, 20, 4, 0, time.UTC)

func secret(value string) activities.SecretSource {
	return func(context.Context) (activities.Secret, error) { return activities.NewSecret(value) }
}

// signing is a secret of 32 bytes that are all the given one.
func signing(b byte) string {
	return "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(b), 32)))
}

// escalated is a question that the tests tell people of.
func escalated(change ...func(*wire.Notification)) wire.Notification {
	n := wire.Notification{
		ID: "report-1#1-3f9a2c1b/escalated/6", Kind: wire.NotifyEscalated,
		Briefing: wire.Briefing{
			OperationID: "report-1", Provider: "demo-export", Account: "acct/42", ProviderJobID: "exp_71c", Phase: wire.PhaseEscalated,
			RawState: "archiving", Category: wire.CategoryUnknown, OpenedAt: asked.Add(-4 * time.Second), At: asked,
			Escalation: &wire.Escalation{
				ID: "report-1#1-3f9a2c1b", Reason: wire.ReasonUnknownState, OpenedAt: asked, WindowEndsAt: asked.Add(24 * time.Hour),
				Options: []wire.Option{{Kind: wire.DecisionClose}},
			},
		},
	}
	for _, do := range change {
		do(&n)
	}
	return n
}

// other is another side that answers as it is told, one answer after the other, the last one again and again.
type other struct {
	*httptest.Server

	mu       sync.Mutex
	requests []received
}

type received struct {
	header http.Header
	path   string
	body   string
}

type answer func(w http.ResponseWriter, r *http.Request)

func code(status int, fields ...string) answer {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(fields); i += 2 {
			w.Header().Set(fields[i], fields[i+1])
		}
		w.WriteHeader(status)
	}
}

// held answers only when its client has given up.
func held(_ http.ResponseWriter, r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-time.After(20 * time.Second):
	}
}

func listen(t *testing.T, answers ...answer) *other {
	t.Helper()
	o := &other{}
	o.Server = httptest.NewUnstartedServer(o.handler(answers))
	o.Start()
	t.Cleanup(o.Close)
	return o
}

func (o *other) handler(answers []answer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		o.mu.Lock()
		o.requests = append(o.requests, received{r.Header.Clone(), r.URL.Path, string(body)})
		n := len(o.requests)
		o.mu.Unlock()
		answers[min(n, len(answers))-1](w, r)
	})
}

func (o *other) saw() []received {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]received(nil), o.requests...)
}

// address is a URL of the other side with a secret in it.
func (o *other) address() string { return o.URL + "/services/" + marker }

func slackTo(name, url string) notify.Channel {
	return notify.Channel{Name: name, Slack: &notify.Slack{URL: secret(url)}}
}

func webhookTo(name, url string, secrets ...string) notify.Channel {
	channel := notify.Channel{Name: name, Webhook: &notify.Webhook{URL: secret(url)}}
	for _, value := range secrets {
		channel.Webhook.Secrets = append(channel.Webhook.Secrets, secret(value))
	}
	return channel
}

func made(t *testing.T, options notify.Options) *notify.Notifier {
	t.Helper()
	notifier, err := notify.New(t.Context(), options)
	require.NoError(t, err)
	return notifier
}

func through(t *testing.T, channels ...notify.Channel) *notify.Notifier {
	t.Helper()
	return made(t, notify.Options{Channels: channels, BaseURL: "https://inbox.example.com/"})
}

// deliver makes one attempt and wants no secret in what comes of it.
func deliver(t *testing.T, n *notify.Notifier, before wire.NotifyResult) wire.NotifyResult {
	t.Helper()
	result := n.Deliver(t.Context(), escalated(), before, func(wire.NotifyResult) {})
	require.NotContains(t, fmt.Sprintf("%+v", result), marker)
	return result
}

// panicked is what is told of a channel that panicked.
const panicked = "panic in the channel, see the worker's log"

func textLogger(to io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(to, nil)) }

func quiet(wire.NotifyResult) {}

// later is a result whose pending channels may be tried again now.
func later(result wire.NotifyResult) wire.NotifyResult {
	for i := range result.Channels {
		if result.Channels[i].NotBefore != nil {
			result.Channels[i].NotBefore = new(time.Now())
		}
	}
	return result
}
