package notify

import (
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/wire"
)

const (
	// maxChannels bounds the channels of a worker; their names stand in the audit of every wait.
	maxChannels = 20
	// maxRecipients bounds the addresses of one mail channel.
	maxRecipients = 20
	maxURL        = 2048
)

// Options configure a Notifier.
type Options struct {
	// BaseURL is the URL of the inbox, such as https://inbox.example.com, to which messages link: /waits/<escaped workflow id> below it
	// is the page of a wait. Empty means no links.
	BaseURL string
	// Channels are the channels to notify people on, 1 to 20.
	Channels []Channel
	// Logger also logs each notification as one line, and panics of channels. Nil means that notifications are not logged and panics
	// go to slog.Default().
	Logger *slog.Logger
	// Proxy chooses the proxy of webhooks. Nil means HTTPS_PROXY, HTTP_PROXY and NO_PROXY of the environment. Mail uses none.
	Proxy func(*http.Request) (*url.URL, error)
	// RootCAs verify the certificates of webhooks and mail servers. Nil means those of the system.
	RootCAs *x509.CertPool
}

// Channel is one way to notify people. Exactly one of Slack, Webhook and Mail must be set.
type Channel struct {
	// Name identifies the channel in the audit, in metrics and in logs: 1 to 40 of a-z, 0-9 and "-", beginning with a letter or digit.
	Name string
	// Kinds, Providers and Accounts restrict which notifications the channel gets. Empty means all.
	Kinds     []wire.NotificationKind
	Providers []string
	Accounts  []string

	Slack   *Slack
	Webhook *Webhook
	Mail    *Mail
}

// Slack is an incoming webhook of Slack, or of a compatible service (Mattermost, Rocket.Chat, Discord under /slack).
type Slack struct {
	// URL is the URL of the webhook, which must be kept secret. Required.
	URL activities.SecretSource
	// AllowHTTP allows an http URL to another machine, although anybody on the way can read the message and the URL.
	AllowHTTP bool
}

// Webhook is an endpoint that receives an Event as JSON, signed according to the Standard Webhooks specification (HMAC-SHA256, v1).
type Webhook struct {
	// URL is the URL of the endpoint. Required. It may be an address in a private network, because the operator chooses it.
	URL activities.SecretSource
	// Secrets sign the body, each one as "whsec_" and the base64 of 24 to 64 bytes. 1 to 5: more than one while the receiver changes
	// from one to another.
	Secrets []activities.SecretSource
	// AllowHTTP allows an http URL to another machine, although anybody on the way can read the message.
	AllowHTTP bool
}

// TLS says how the connection to a mail server is protected.
type TLS string

// The ways of protecting a connection.
const (
	TLSStartTLS TLS = "starttls" // begins in clear and must become TLS, before anything is said; the default
	TLSImplicit TLS = "implicit" // TLS from the first byte, usually on port 465
	TLSNone     TLS = "none"     // in clear, and then without a password
)

// Mail sends messages by SMTP.
type Mail struct {
	// Server is the host:port of the mail server, such as smtp.example.com:587. Required.
	Server string
	// TLS protects the connection. Empty means TLSStartTLS.
	TLS TLS
	// From is the sender's address. Required.
	From string
	// To are the addresses of the receivers, 1 to 20. Each gets its own message, so that one bad address does not affect the others.
	To []string
	// Username and Password authenticate to the server, by the strongest mechanism that it offers. Both or neither.
	Username string
	Password activities.SecretSource
	// Helo is the name for the HELO command. Empty means the host name.
	Helo string
}

// Kinds returns all kinds of notification.
func Kinds() []wire.NotificationKind {
	return []wire.NotificationKind{
		wire.NotifyEscalated, wire.NotifyReminded, wire.NotifyProposed, wire.NotifyClosed, wire.NotifyDecided, wire.NotifyEnded,
	}
}

var channelName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)

// Validate reports the first rule that the options break, without reading a secret.
func (o Options) Validate() error {
	if err := validateBase(o.BaseURL); err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	if n := len(o.Channels); n < 1 || n > maxChannels {
		return fmt.Errorf("notify: channels has %d entries, allowed is 1 to %d", n, maxChannels)
	}
	seen := map[string]bool{}
	for _, channel := range o.Channels {
		if err := channel.Validate(); err != nil {
			return fmt.Errorf("notify: channel %q: %w", channel.Name, err)
		}
		if seen[channel.Name] {
			return fmt.Errorf("notify: channel %q is listed twice", channel.Name)
		}
		seen[channel.Name] = true
	}
	if !slices.ContainsFunc(o.Channels, func(c Channel) bool { return c.takesKind(wire.NotifyEscalated) }) {
		return fmt.Errorf("notify: no channel takes the kind %q: nobody would hear of a question", wire.NotifyEscalated)
	}
	return nil
}

func validateBase(text string) error {
	if text == "" {
		return nil
	}
	base, err := url.Parse(text)
	switch {
	case err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http":
		return fmt.Errorf("base_url %q is not an absolute http or https URL, such as https://inbox.example.com", text)
	case base.User != nil || base.RawQuery != "" || base.Fragment != "":
		return errors.New("base_url has a user, a query or a fragment; give scheme, host and path alone")
	default:
		return nil
	}
}

// Validate reports the first rule that the channel breaks, without reading a secret.
func (c Channel) Validate() error {
	if !channelName.MatchString(c.Name) {
		return errors.New("the name is not 1 to 40 of a-z, 0-9 and \"-\"")
	}
	for _, kind := range c.Kinds {
		if !slices.Contains(Kinds(), kind) {
			return fmt.Errorf("kind %q is not one of %s", kind, kindNames())
		}
	}
	switch {
	case c.Slack != nil && c.Webhook == nil && c.Mail == nil:
		return c.Slack.validate()
	case c.Webhook != nil && c.Slack == nil && c.Mail == nil:
		return c.Webhook.validate()
	case c.Mail != nil && c.Slack == nil && c.Webhook == nil:
		return c.Mail.validate()
	default:
		return errors.New("exactly one of slack, webhook and mail says how")
	}
}

func kindNames() string {
	var names []string
	for _, kind := range Kinds() {
		names = append(names, string(kind))
	}
	return strings.Join(names, ", ")
}

// takes reports whether the channel is told of a notification.
func (c Channel) takes(n wire.Notification) bool {
	return c.takesKind(n.Kind) && listed(c.Providers, n.Briefing.Provider) && listed(c.Accounts, n.Briefing.Account)
}

func (c Channel) takesKind(kind wire.NotificationKind) bool { return listed(c.Kinds, kind) }

// listed reports whether a list names a value; an empty one names all.
func listed[T comparable](list []T, value T) bool {
	return len(list) == 0 || slices.Contains(list, value)
}
