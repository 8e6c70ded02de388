package notify_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/notify"
	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// A Slack message is the text of R38 with a link, in a form in which nothing that a provider or a person wrote is a command.
func TestSlackMessage(t *testing.T) {
	t.Parallel()
	o := listen(t, code(http.StatusOK))
	n := through(t, slackTo("oncall", o.address()))
	told := escalated(func(n *wire.Notification) {
		n.Briefing.ProviderError = wire.ProviderError{Code: "E1", Message: "<!channel> & ``` @all"}
	})
	require.NoError(t, n.Notify(t.Context(), told))
	saw := o.saw()
	require.Len(t, saw, 1)
	require.Equal(t, "/services/"+marker, saw[0].path)
	require.Equal(t, "application/json", saw[0].header.Get("Content-Type"))
	require.Regexp(t, `^msg_[0-9a-f]{32}$`, saw[0].header.Get("Idempotency-Key"))

	var body map[string]any
	require.NoError(t, json.Unmarshal([]byte(saw[0].body), &body))
	require.Equal(t, false, body["unfurl_links"])
	text := body["text"].(string)
	require.Contains(t, text, "*stopped waiting: unknown_state (report-1)*\nhttps://inbox.example.com/waits/jobwait%2Fdemo-export%2Facct%252F42%2Fexp_71c\n```\n")
	require.Contains(t, text, "provider's error: E1 &lt;!channel&gt; &amp; ''' @all")
	require.Equal(t, 2, strings.Count(text, "```"))
	require.Contains(t, text, "answer report-1#1-3f9a2c1b before 2025-04-19T10:20:04Z")
	require.Contains(t, text, "\nas of 2025-04-18T10:20:04Z, message report-1#1-3f9a2c1b/escalated/6\n")
}

// Who is named in a headline is not notified by it.
func TestSlackHeadlineMentionsNobody(t *testing.T) {
	t.Parallel()
	o := listen(t, code(http.StatusOK))
	n := through(t, slackTo("oncall", o.address()))
	require.NoError(t, n.Notify(t.Context(), escalated(func(n *wire.Notification) {
		n.Kind, n.Briefing.Escalation = wire.NotifyDecided, nil
		n.Briefing.Decided = &wire.Decided{Decision: wire.Decision{Kind: wire.DecisionExtend, DecidedBy: "@channel <!here>", Comment: "slow"}, At: asked}
	})))
	require.Contains(t, o.saw()[0].body, `*decided: extend by @`+"\u2060"+`channel \u0026lt;!here\u0026gt; (report-1)*`)
}

// What people and providers wrote stays in the headline's line and opens no code block, format or link there: the one block is
// ours, and it has the whole text.
func TestSlackHeadlineIsPlain(t *testing.T) {
	t.Parallel()
	const words = "```\n*_x_* [answer](https://evil.example/login) ~c~ \\ _a_b_"
	for name, c := range map[string]struct {
		kind   wire.NotificationKind
		change func(*wire.Briefing)
		want   string
	}{
		"who asks": {wire.NotifyProposed, func(b *wire.Briefing) {
			open := *b.Escalation
			open.Options, b.Escalation = []wire.Option{{Kind: wire.DecisionRefuse}}, nil
			b.Proposal = &wire.Proposal{Escalation: open, Request: wire.ExtensionRequest{RequestID: "r", RequestedBy: words, ExpectedEffect: words, Seconds: 60}}
		}, "WORDS asks for more; waiting goes on meanwhile"},
		"who decided": {wire.NotifyDecided, func(b *wire.Briefing) {
			b.Escalation, b.Decided = nil, &wire.Decided{Decision: wire.Decision{Kind: wire.DecisionExtend, DecidedBy: words, Comment: words}, At: asked}
		}, "decided: extend by WORDS"},
		"why it stopped": {wire.NotifyEscalated, func(b *wire.Briefing) { b.Escalation.Detail = words }, "stopped waiting: unknown_state (WORDS)"},
		"why nothing was submitted": {wire.NotifyEscalated, func(b *wire.Briefing) {
			b.Escalation.Detail, b.Submission = words, &wire.SubmissionView{Generation: 1}
		}, "not submitted: unknown_state (WORDS)"},
		"how it ended": {wire.NotifyEnded, func(b *wire.Briefing) {
			b.Escalation, b.Outcome = nil, &wire.Outcome{Status: wire.StatusFailed, Reason: wire.ReasonProviderFailure, Detail: words}
		}, "closed failed: provider_failure (WORDS)"},
		"how it ended, undecided": {wire.NotifyClosed, func(b *wire.Briefing) {
			b.Escalation, b.Outcome = nil, &wire.Outcome{Status: wire.StatusFailed, Reason: wire.ReasonProviderFailure, Detail: words, Undecided: true}
		}, "closed failed, nobody decided: provider_failure (WORDS)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := listen(t, code(http.StatusOK))
			n := through(t, slackTo("oncall", o.address()))
			require.NoError(t, n.Notify(t.Context(), escalated(func(n *wire.Notification) {
				n.Kind = c.kind
				c.change(&n.Briefing)
			})))
			var body struct {
				Text string `json:"text"`
			}
			require.NoError(t, json.Unmarshal([]byte(o.saw()[0].body), &body))
			headline, rest, _ := strings.Cut(body.Text, "\n")
			plain := strings.Replace(c.want, "WORDS", "''' x (answer)(https:\u2060//evil.example/login) c / a_b", 1)
			require.Equal(t, "*"+plain+" (report-1)*", headline)
			require.Regexp(t, "^https://inbox.example.com/waits/[^\n`]+\n```\n[^`]+\n```$", rest)
		})
	}
}

// A panic in the words of a message is a failed attempt and not the end of a worker.
func TestPanicInTheWords(t *testing.T) {
	t.Parallel()
	o := listen(t, code(http.StatusOK))
	var log bytes.Buffer
	n := made(t, notify.Options{Channels: []notify.Channel{slackTo("it", o.address())}, Logger: textLogger(&log)})
	broken := escalated(func(n *wire.Notification) { // a proposal with an answer that only a stop has
		n.Briefing.Proposal, n.Briefing.Escalation = &wire.Proposal{Escalation: *n.Briefing.Escalation}, nil
	})
	result := n.Deliver(t.Context(), broken, wire.NotifyResult{}, quiet)
	require.Equal(t, panicked, result.Channels[0].Detail)
	require.Equal(t, wire.DeliveryPending, result.Channels[0].State)
	require.Contains(t, log.String(), `msg="a channel panicked" channel=log type=runtime.`)
	require.Contains(t, log.String(), `msg="a channel panicked" channel=it type=runtime.`)
	require.Empty(t, o.saw())
}

// A signed webhook is taken by the reference implementation of its specification, with either secret while one is changed.
func TestWebhookVerifies(t *testing.T) {
	t.Parallel()
	o := listen(t, code(http.StatusNoContent))
	n := through(t, webhookTo("pager", o.address(), signing('a'), signing('b')))
	require.NoError(t, n.Notify(t.Context(), escalated()))
	got := o.saw()[0]
	for _, key := range []string{signing('a'), signing('b')} {
		verifier, err := standardwebhooks.NewWebhook(key)
		require.NoError(t, err)
		require.NoError(t, verifier.Verify([]byte(got.body), got.header))
		require.Error(t, verifier.Verify([]byte(got.body+" "), got.header))
	}
	stranger, err := standardwebhooks.NewWebhook(signing('c'))
	require.NoError(t, err)
	require.Error(t, stranger.Verify([]byte(got.body), got.header))
	require.NotContains(t, got.header.Get("webhook-id"), ".")

	var event notify.Event
	require.NoError(t, json.Unmarshal([]byte(got.body), &event))
	require.Equal(t, "wait.escalated", event.Type)
	require.Equal(t, asked, event.Timestamp)
	require.Equal(t, escalated().ID, event.Data.ID)
	require.Equal(t, "jobwait/demo-export/acct%2F42/exp_71c", event.Data.WorkflowID)
	require.Equal(t, "https://inbox.example.com/waits/jobwait%2Fdemo-export%2Facct%252F42%2Fexp_71c", event.Data.URL)
	require.Contains(t, event.Data.Text, operation.Message(escalated().Briefing))
	require.Equal(t, escalated().Briefing, event.Data.Briefing)
}

// A failure is tried again with the same key, alone: what another channel has taken is not sent to it again.
func TestOnlyTheFailedChannelIsTriedAgain(t *testing.T) {
	t.Parallel()
	fine := listen(t, code(http.StatusOK))
	shaky := listen(t, code(http.StatusInternalServerError), code(http.StatusOK))
	n := through(t, slackTo("fine", fine.address()), webhookTo("shaky", shaky.address(), signing('a')))
	first := deliver(t, n, wire.NotifyResult{})
	require.Equal(t, wire.Delivery{Channel: "fine", State: wire.DeliveryDelivered, Attempts: 1}, first.Channels[0])
	require.Equal(t, wire.DeliveryPending, first.Channels[1].State)
	require.Equal(t, "HTTP 500", first.Channels[1].Detail)
	require.WithinRange(t, *first.Channels[1].NotBefore, time.Now(), time.Now().Add(2*time.Second))

	tooSoon := deliver(t, n, wire.NotifyResult{Channels: []wire.Delivery{first.Channels[0], {
		Channel: "shaky", State: wire.DeliveryPending, Attempts: 1, NotBefore: new(time.Now().Add(time.Minute)),
	}}})
	require.Equal(t, wire.DeliveryPending, tooSoon.Channels[1].State)
	require.Len(t, shaky.saw(), 1, "its time has not come")

	second := deliver(t, n, later(first))
	require.Equal(t, wire.Delivery{Channel: "shaky", State: wire.DeliveryDelivered, Attempts: 2}, second.Channels[1])
	require.Len(t, fine.saw(), 1)
	saw := shaky.saw()
	require.Len(t, saw, 2)
	require.Equal(t, saw[0].header.Get("webhook-id"), saw[1].header.Get("webhook-id"))
	require.Equal(t, saw[0].body, saw[1].body)
	require.NotEqual(t, saw[0].header.Get("webhook-id"), fine.saw()[0].header.Get("Idempotency-Key"))

	require.Equal(t, second, deliver(t, n, second), "nothing is left to do")
	require.Len(t, shaky.saw(), 2)
}

// Another message about the same wait, and the same message about another wait, have other keys.
func TestKeysDiffer(t *testing.T) {
	t.Parallel()
	o := listen(t, code(http.StatusOK))
	n := through(t, slackTo("oncall", o.address()))
	for _, change := range []func(*wire.Notification){
		func(*wire.Notification) {},
		func(n *wire.Notification) { n.ID = "report-1#1-3f9a2c1b/reminded/9" },
		func(n *wire.Notification) { n.Briefing.ProviderJobID = "exp_72" },
		func(n *wire.Notification) { n.Briefing.OpenedAt = asked.Add(-time.Hour) },
	} {
		require.NoError(t, n.Notify(t.Context(), escalated(change)))
	}
	keys := map[string]bool{}
	for _, got := range o.saw() {
		keys[got.header.Get("Idempotency-Key")] = true
	}
	require.Len(t, keys, 4)
}

// What an answer means, and when the next attempt may come.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer answer
		want   wire.Delivery
		// after is the least time to the next attempt, atMost the longest; 0: there is none.
		after, atMost time.Duration
	}{
		"accepted":                {code(202), wire.Delivery{State: wire.DeliveryDelivered}, 0, 0},
		"not found":               {code(404), wire.Delivery{State: wire.DeliveryPending, Detail: "HTTP 404"}, 900 * time.Millisecond, 2 * time.Second},
		"gone":                    {code(410), wire.Delivery{State: wire.DeliveryRefused, Detail: "HTTP 410, gone"}, 0, 0},
		"too many":                {code(429, "Retry-After", "7"), wire.Delivery{State: wire.DeliveryPending, Detail: "HTTP 429"}, 6 * time.Second, 7 * time.Second},
		"overloaded":              {code(503, "Retry-After", "99999999999999999999"), wire.Delivery{State: wire.DeliveryPending, Detail: "HTTP 503"}, 59 * time.Minute, time.Hour},
		"negative Retry-After":    {code(503, "Retry-After", "-5"), wire.Delivery{State: wire.DeliveryPending, Detail: "HTTP 503"}, 900 * time.Millisecond, 2 * time.Second},
		"Retry-After in the past": {code(503, "Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT"), wire.Delivery{State: wire.DeliveryPending, Detail: "HTTP 503"}, 900 * time.Millisecond, 2 * time.Second},
		"hangs up": {func(w http.ResponseWriter, _ *http.Request) {
			connection, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_ = connection.Close()
			}
		}, wire.Delivery{State: wire.DeliveryPending, Detail: wire.TransportReset}, 900 * time.Millisecond, 2 * time.Second},
		"an endless answer": {func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := w.Write(make([]byte, 1<<10)); err != nil {
					return
				}
			}
		}, wire.Delivery{State: wire.DeliveryDelivered}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := through(t, slackTo("it", listen(t, test.answer).address()))
			got := deliver(t, n, wire.NotifyResult{}).Channels[0]
			test.want.Channel, test.want.Attempts, test.want.NotBefore = "it", 1, got.NotBefore
			require.Equal(t, test.want, got)
			require.Equal(t, test.atMost != 0, got.NotBefore != nil)
			if got.NotBefore != nil {
				require.WithinRange(t, *got.NotBefore, time.Now().Add(test.after-300*time.Millisecond), time.Now().Add(test.atMost))
			}
		})
	}
}

// A redirect is an answer: nobody follows it, so the message and the URL stay where the operator sent them.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere := listen(t, code(http.StatusOK))
	for _, status := range []int{301, 302, 307, 308} {
		o := listen(t, code(status, "Location", elsewhere.URL+"/x"))
		got := deliver(t, through(t, slackTo("it", o.address())), wire.NotifyResult{}).Channels[0]
		require.Equal(t, wire.DeliveryPending, got.State)
		require.Equal(t, fmt.Sprintf("HTTP %d, redirects are not followed", status), got.Detail)
		require.Len(t, o.saw(), 1)
	}
	require.Empty(t, elsewhere.saw())
}

// Nobody listens, nobody knows the name, nobody can trust the certificate.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	closed, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(untrusted.Close)
	n := through(t, slackTo("down", "http://"+closed.Addr().String()+"/"+marker), slackTo("nameless", "https://nobody.invalid/"+marker),
		slackTo("untrusted", untrusted.URL+"/"+marker))
	result := deliver(t, n, wire.NotifyResult{})
	require.Equal(t, wire.TransportRefused, result.Channels[0].Detail)
	require.Equal(t, wire.TransportDNS, result.Channels[1].Detail)
	require.Equal(t, wire.TransportTLS, result.Channels[2].Detail)
	require.NotContains(t, n.Notify(t.Context(), escalated()).Error(), marker)

	roots := x509.NewCertPool()
	roots.AddCert(untrusted.Certificate())
	trusting := made(t, notify.Options{Channels: []notify.Channel{slackTo("it", untrusted.URL)}, RootCAs: roots})
	require.Equal(t, "HTTP 404", deliver(t, trusting, wire.NotifyResult{}).Channels[0].Detail)
}

// A slow channel holds up no other: the others are through, and known to be, while it is still waited for.
func TestSlowChannelHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	fast, slow := listen(t, code(http.StatusOK)), listen(t, held)
	n := through(t, slackTo("fast", fast.address()), slackTo("slow", slow.address()))
	ctx, cancel := context.WithCancel(t.Context())
	var told []wire.NotifyResult
	result := n.Deliver(ctx, escalated(), wire.NotifyResult{}, func(sofar wire.NotifyResult) {
		told = append(told, sofar)
		cancel() // only now is the slow one given up
	})
	require.Len(t, told, 1)
	require.Equal(t, wire.DeliveryDelivered, told[0].Channels[0].State)
	require.Zero(t, told[0].Channels[1].Attempts)
	require.Equal(t, wire.DeliveryPending, result.Channels[1].State)

	ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	result = n.Deliver(ctx, escalated(), result, quiet)
	require.Equal(t, wire.DeliveryDelivered, result.Channels[0].State)
	require.Len(t, fast.saw(), 1)
}

// A time-out is one word, and may have been delivered: the next attempt has the same key.
func TestTimeOut(t *testing.T) {
	t.Parallel()
	slow := listen(t, held)
	n := through(t, slackTo("slow", slow.address()))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	require.Equal(t, wire.TransportTimeout, n.Deliver(ctx, escalated(), wire.NotifyResult{}, quiet).Channels[0].Detail)
}

// Each channel is told what it wants to hear; of what nobody wants, nobody is told, and that is known.
func TestFilters(t *testing.T) {
	t.Parallel()
	o := listen(t, code(http.StatusOK))
	only := func(change func(*notify.Channel)) notify.Channel {
		channel := slackTo("it", o.address())
		change(&channel)
		return channel
	}
	for name, test := range map[string]struct {
		channel notify.Channel
		takes   bool
	}{
		"its kind":         {only(func(c *notify.Channel) { c.Kinds = []wire.NotificationKind{wire.NotifyEscalated} }), true},
		"its provider":     {only(func(c *notify.Channel) { c.Providers = []string{"x", "demo-export"} }), true},
		"another provider": {only(func(c *notify.Channel) { c.Providers = []string{"x"} }), false},
		"its account":      {only(func(c *notify.Channel) { c.Accounts = []string{"acct/42"} }), true},
		"another account":  {only(func(c *notify.Channel) { c.Accounts = []string{"acct-42"} }), false},
	} {
		result := deliver(t, through(t, test.channel), wire.NotifyResult{})
		require.Equal(t, test.takes, len(result.Channels) == 1, name)
		require.Equal(t, !test.takes, result.Nobody, name)
	}
	n := through(t, only(func(c *notify.Channel) { c.Kinds = []wire.NotificationKind{wire.NotifyEscalated} }))
	require.True(t, n.Deliver(t.Context(), escalated(func(n *wire.Notification) { n.Kind = wire.NotifyEnded }), wire.NotifyResult{}, quiet).Nobody)
}

// A channel that is not configured any more is forgotten, but that it had the message is not.
func TestChangedConfigurationBetweenAttempts(t *testing.T) {
	t.Parallel()
	o := listen(t, code(http.StatusOK))
	result := deliver(t, through(t, slackTo("new", o.address())), wire.NotifyResult{Channels: []wire.Delivery{
		{Channel: "had-it", State: wire.DeliveryDelivered, Attempts: 1}, {Channel: "had-not", State: wire.DeliveryPending, Attempts: 1},
	}})
	require.Equal(t, []wire.Delivery{
		{Channel: "new", State: wire.DeliveryDelivered, Attempts: 1}, {Channel: "had-it", State: wire.DeliveryDelivered, Attempts: 1},
	}, result.Channels)
}

// Secrets are read for each message: a rotation needs no restart, and a value that is gone is told without it.
func TestSecretsAreReadAfresh(t *testing.T) {
	t.Parallel()
	o := listen(t, code(http.StatusOK))
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	path := write("notify.yaml", "channels: {pager: {webhook: {url: {file: url}, secrets: [{file: key}]}}}")
	write("url", o.address()+"\n")
	write("key", signing('a'))
	options, err := notify.Load(path)
	require.NoError(t, err)
	n := made(t, options)
	require.NoError(t, n.Notify(t.Context(), escalated()))
	write("key", signing('b'))
	require.NoError(t, n.Notify(t.Context(), escalated()))
	rotated, err := standardwebhooks.NewWebhook(signing('b'))
	require.NoError(t, err)
	require.Error(t, rotated.Verify([]byte(o.saw()[0].body), o.saw()[0].header))
	require.NoError(t, rotated.Verify([]byte(o.saw()[1].body), o.saw()[1].header))

	write("key", marker)
	require.EqualError(t, n.Notify(t.Context(), escalated()), "not delivered: pager (the URL or a secret cannot be read)")
}

// The log has each notification once, however often it is tried.
func TestLogsOnce(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	o := listen(t, code(http.StatusInternalServerError), code(http.StatusOK))
	n := made(t, notify.Options{
		Channels: []notify.Channel{slackTo("it", o.address())}, Logger: textLogger(&log),
	})
	deliver(t, n, later(deliver(t, n, wire.NotifyResult{})))
	require.Equal(t, 1, strings.Count(log.String(), "a wait needs attention"))
	require.NotContains(t, log.String(), marker)
}

// A panic in a source of secrets, or below, is a failed attempt and not the end of a worker. The log says where it was, and not
// what was thrown.
func TestPanicBelow(t *testing.T) {
	t.Parallel()
	o := listen(t, code(http.StatusOK))
	calls := 0
	var log bytes.Buffer
	n := made(t, notify.Options{Logger: textLogger(&log), Channels: []notify.Channel{{Name: "it", Slack: &notify.Slack{
		URL: func(context.Context) (activities.Secret, error) {
			if calls++; calls > 1 {
				panic(errors.New(marker))
			}
			return activities.NewSecret(o.address())
		},
	}}}})
	require.Equal(t, panicked, deliver(t, n, wire.NotifyResult{}).Channels[0].Detail)
	require.Contains(t, log.String(), `level=ERROR msg="a channel panicked" channel=it type=*errors.errorString stack=`)
	require.Contains(t, log.String(), "notify_test.TestPanicBelow")
	require.NotContains(t, log.String(), marker)
}

// However long a text gets, a message stays within what Slack shows.
func TestLongTextIsCut(t *testing.T) {
	t.Parallel()
	o := listen(t, code(http.StatusOK))
	n := through(t, slackTo("it", o.address()))
	require.NoError(t, n.Notify(t.Context(), escalated(func(n *wire.Notification) { n.Briefing.ProviderError.Message = strings.Repeat("é", 20_000) })))
	var body struct {
		Text string `json:"text"`
	}
	require.NoError(t, json.Unmarshal([]byte(o.saw()[0].body), &body))
	require.Less(t, len(body.Text), 13_000)
	require.NotContains(t, body.Text, "\ufffd")
}
