package mail

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/notify"
	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

var asked = time.Date(2025, 4, 18, 10, 20, 4, 0, time.UTC)

func told() wire.Notification {
	return wire.Notification{
		ID: "report-1#1-3f9a2c1b/escalated/6", Kind: wire.NotifyEscalated,
		Briefing: wire.Briefing{
			OperationID: "report-1 é", Provider: "demo-export", Account: "acct-42", ProviderJobID: "exp_71c\r\nBcc: x@example.com",
			OpenedAt: asked.Add(-4 * time.Second), At: asked,
			ProviderError: wire.ProviderError{Message: ".\r\n.\r\nMAIL FROM:<x@example.com>"},
			Escalation: &wire.Escalation{
				ID: "report-1#1-3f9a2c1b", Reason: wire.ReasonUnknownState, WindowEndsAt: asked.Add(24 * time.Hour),
				Options: []wire.Option{{Kind: wire.DecisionClose}},
			},
		},
	}
}

// by is a notifier with one mail channel at the server.
func by(t *testing.T, p *post, change func(*notify.Mail)) *notify.Notifier {
	t.Helper()
	config := &notify.Mail{
		Server: p.address, From: "jobwait <jobwait@example.com>", To: []string{"ana@example.com"}, Username: user,
		Password: func(context.Context) (activities.Secret, error) { return activities.NewSecret(password) },
	}
	if change != nil {
		change(config)
	}
	n, err := notify.New(t.Context(), notify.Options{
		BaseURL: "https://inbox.example.com", RootCAs: p.roots, Channels: []notify.Channel{{Name: "approvers", Mail: config}},
	})
	require.NoError(t, err)
	return n
}

// deliver makes one attempt and wants no secret, and nothing that the server wrote, in what comes of it.
func deliver(t *testing.T, n *notify.Notifier, before wire.NotifyResult) []wire.Delivery {
	t.Helper()
	result := n.Deliver(t.Context(), told(), before, func(wire.NotifyResult) {})
	text := fmt.Sprintf("%+v", result)
	for _, word := range []string{"PLANTED", "example.com", "quota", "QUOTA"} {
		require.NotContains(t, text, word)
	}
	return result.Channels
}

func nobody(m *notify.Mail) { m.Username, m.Password = "", nil }

// A mail says all of R38, in headers and a body that nothing in it can break out of.
func TestDelivered(t *testing.T) {
	t.Parallel()
	p := open(t, how{}, nil)
	require.Equal(t, wire.DeliveryDelivered, deliver(t, by(t, p, nil), wire.NotifyResult{})[0].State)
	took := p.took()
	require.Len(t, took, 1)
	require.True(t, took[0].encrypted)
	require.Equal(t, "jobwait@example.com", took[0].from)
	require.Equal(t, "ana@example.com", took[0].to)

	got, err := mail.ReadMessage(strings.NewReader(took[0].text))
	require.NoError(t, err)
	subject, err := new(mime.WordDecoder).DecodeHeader(got.Header.Get("Subject"))
	require.NoError(t, err)
	require.Equal(t, "[jobwait] stopped waiting: unknown_state (report-1 é)", subject)
	require.Empty(t, got.Header.Get("Bcc"))
	require.Equal(t, "auto-generated", got.Header.Get("Auto-Submitted"))
	require.Regexp(t, `^<msg_[0-9a-f]{32}@example\.com>$`, got.Header.Get("Message-ID"))
	require.Regexp(t, `^<wait_[0-9a-f]{32}@example\.com>$`, got.Header.Get("References"))
	require.Equal(t, `"jobwait" <jobwait@example.com>`, got.Header.Get("From"))
	body, err := io.ReadAll(quotedprintable.NewReader(got.Body))
	require.NoError(t, err)
	text := strings.ReplaceAll(string(body), "\r\n", "\n")
	require.Contains(t, text, operation.Message(told().Briefing))
	require.Contains(t, text, "this wait: https://inbox.example.com/waits/jobwait%2Fdemo-export%2Facct-42%2Fexp_71c%250D%250ABcc%253A%2520x%2540example.com")
}

// The ways of protecting a connection that a server may want.
func TestWaysIn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		how    how
		config func(*notify.Mail)
		want   string
		crypt  bool
	}{
		"STARTTLS":                       {how{}, nil, "", true},
		"TLS from the first byte":        {how{implicit: true}, func(m *notify.Mail) { m.TLS = notify.TLSImplicit }, "", true},
		"in clear, and without password": {how{noTLS: true, noAuth: true}, func(m *notify.Mail) { nobody(m); m.TLS = notify.TLSNone }, "", false},
		"STARTTLS is stripped":           {how{noTLS: true}, nil, "the server offers no STARTTLS", false},
		"TLS is not spoken":              {how{noTLS: true}, func(m *notify.Mail) { m.TLS = notify.TLSImplicit }, wire.TransportTLS, false},
		"no sign-in is offered":          {how{noAuth: true}, nil, "the server offers no way to sign in", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, test.how, nil)
			got := deliver(t, by(t, p, test.config), wire.NotifyResult{})[0]
			require.Equal(t, test.want, got.Detail)
			if test.want != "" {
				require.Equal(t, wire.DeliveryPending, got.State)
				require.Empty(t, p.took())
				require.Zero(t, p.signedIn(), "the password was said to nobody")
				return
			}
			require.Equal(t, wire.DeliveryDelivered, got.State)
			require.Len(t, p.took(), 1)
			require.Equal(t, test.crypt, p.took()[0].encrypted)
		})
	}
}

// A server that nobody vouches for is told nothing.
func TestUntrustedServer(t *testing.T) {
	t.Parallel()
	p := open(t, how{}, nil)
	p.roots = nil
	require.Equal(t, wire.TransportTLS, deliver(t, by(t, p, nil), wire.NotifyResult{})[0].Detail)
	require.Zero(t, p.signedIn())
}

// What a server turns down for good is not tried again; what it puts off is, with the same Message-ID.
func TestReplies(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*post)
		want   string
		state  wire.DeliveryState
	}{
		"the sender":    {func(p *post) { p.mail = func() error { return reply(550, "quota") } }, "SMTP 550", wire.DeliveryRefused},
		"the receiver":  {func(p *post) { p.rcpt = func(string) error { return reply(551, "quota") } }, "SMTP 551", wire.DeliveryRefused},
		"the text":      {func(p *post) { p.data = func() error { return reply(554, "quota") } }, "SMTP 554", wire.DeliveryRefused},
		"grey-listed":   {func(p *post) { p.rcpt = func(string) error { return reply(451, "quota") } }, "SMTP 451", wire.DeliveryPending},
		"no room today": {func(p *post) { p.data = func() error { return reply(452, "quota") } }, "SMTP 452", wire.DeliveryPending},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, how{}, test.change)
			got := deliver(t, by(t, p, nil), wire.NotifyResult{})[0]
			require.Equal(t, test.want, got.Detail)
			require.Equal(t, test.state, got.State)
			require.Equal(t, test.state == wire.DeliveryPending, got.NotBefore != nil)
		})
	}
}

func TestPutOffThenTaken(t *testing.T) {
	t.Parallel()
	times := 0
	p := open(t, how{}, func(p *post) {
		p.rcpt = func(string) error {
			if times++; times == 1 {
				return reply(451, "later")
			}
			return nil
		}
	})
	n := by(t, p, nil)
	first := deliver(t, n, wire.NotifyResult{})
	first[0].NotBefore = nil
	require.Equal(t, wire.DeliveryDelivered, deliver(t, n, wire.NotifyResult{Channels: first})[0].State)
	require.Len(t, p.took(), 1)
}

// A password that is refused is not tried again: a second and a third time may lock the account. The server's echo of it stays out.
func TestWrongPassword(t *testing.T) {
	t.Parallel()
	p := open(t, how{}, nil)
	got := deliver(t, by(t, p, func(m *notify.Mail) { m.Username = "somebody" }), wire.NotifyResult{})[0]
	require.Equal(t, wire.DeliveryRefused, got.State)
	require.Equal(t, "SMTP 535", got.Detail)
	require.Equal(t, 1, p.signedIn())
	require.Empty(t, p.took())
}

// One bad address keeps nobody else uninformed, and is named by its place, not by itself.
func TestOneBadAddress(t *testing.T) {
	t.Parallel()
	p := open(t, how{}, func(p *post) {
		p.rcpt = func(to string) error {
			if strings.HasPrefix(to, "left") {
				return reply(550, "gone")
			}
			return nil
		}
	})
	got := deliver(t, by(t, p, func(m *notify.Mail) { m.To = []string{"ana@example.com", "left@example.com", "ben@example.com"} }), wire.NotifyResult{})
	require.Len(t, got, 3)
	require.Equal(t, []wire.DeliveryState{wire.DeliveryDelivered, wire.DeliveryRefused, wire.DeliveryDelivered}, []wire.DeliveryState{got[0].State, got[1].State, got[2].State})
	require.Equal(t, "approvers/2", got[1].Channel)
	require.Len(t, p.took(), 2)
	require.Equal(t, "not delivered: approvers/2 (SMTP 550); delivered: approvers/1, approvers/3",
		operation.NoticeDetail(wire.NotifyResult{Channels: got}, true))
}

// A server that hangs up after it has taken the mail has taken it.
func TestHangsUpAfterwards(t *testing.T) {
	t.Parallel()
	address := talk(t, "220 hello", map[string]string{
		"EHLO": "250 hello", "NOOP": "250 ok", "MAIL": "250 ok", "RCPT": "250 ok", "DATA": "354 go on", ".": "250 taken", "RSET": "", "QUIT": "",
	})
	got := deliver(t, by(t, &post{address: address}, func(m *notify.Mail) { nobody(m); m.TLS = notify.TLSNone }), wire.NotifyResult{})[0]
	require.Equal(t, wire.DeliveryDelivered, got.State)
}

// Servers that are none: one that says nothing, one that talks nonsense, one that nobody runs.
func TestNoServer(t *testing.T) {
	t.Parallel()
	closed, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	for name, test := range map[string]struct{ address, want string }{
		"silent":          {talk(t, "", nil), wire.TransportTimeout},
		"nonsense":        {talk(t, "HTTP/1.1 400 Bad Request", nil), wire.TransportOther},
		"nobody":          {closed.Addr().String(), wire.TransportRefused},
		"stops half-way":  {talk(t, "220 hello", map[string]string{"EHLO": "250 hello", "NOOP": "250 ok", "MAIL": "250 ok", "RCPT": "250 ok", "DATA": "354 go on"}), wire.TransportTimeout},
		"a strange reply": {talk(t, "220 hello", map[string]string{"EHLO": "250 hello", "NOOP": "250 ok", "MAIL": "4", "RSET": "250 ok", "QUIT": "221 bye"}), wire.TransportOther},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := deliver(t, by(t, &post{address: test.address}, func(m *notify.Mail) { nobody(m); m.TLS = notify.TLSNone }), wire.NotifyResult{})[0]
			require.Equal(t, wire.DeliveryPending, got.State)
			require.Equal(t, test.want, got.Detail)
		})
	}
}

// talk is a server that says what it is told to; an empty text hangs up, a command without one is never answered.
func talk(t *testing.T, hello string, says map[string]string) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go converse(connection, hello, says)
		}
	}()
	return listener.Addr().String()
}

func converse(connection net.Conn, hello string, says map[string]string) {
	defer connection.Close()
	if hello != "" {
		_, _ = fmt.Fprintf(connection, "%s\r\n", hello)
	}
	inText := false
	for lines := bufio.NewScanner(connection); lines.Scan(); {
		line := strings.TrimRight(lines.Text(), "\r")
		word, _, _ := strings.Cut(line, " ")
		if inText && word != "." {
			continue
		}
		inText = word == "DATA"
		answer, known := says[word]
		switch {
		case known && answer == "":
			return
		case known:
			_, _ = fmt.Fprintf(connection, "%s\r\n", answer)
		}
	}
}
