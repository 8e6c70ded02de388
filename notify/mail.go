package notify

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"github.com/wneessen/go-mail"

	"github.com/jobwait/jobwait/internal/netfail"
)

// mailTimeout bounds the connection, the sign-in and the sending each.
const mailTimeout = 10 * time.Second

func (m Mail) validate() error {
	host, port, err := net.SplitHostPort(m.Server)
	if number, portErr := strconv.Atoi(port); err != nil || host == "" || portErr != nil || number < 1 || number > 65535 {
		return fmt.Errorf("server %q is not host:port, such as smtp.example.com:587", m.Server)
	}
	switch m.TLS {
	case "", TLSStartTLS, TLSImplicit:
	case TLSNone:
		if m.Username != "" {
			return errors.New("tls is none: a password would go in clear; use starttls or implicit, or no username")
		}
	default:
		return fmt.Errorf("tls %q is not one of %s, %s and %s", m.TLS, TLSStartTLS, TLSImplicit, TLSNone)
	}
	if (m.Username == "") != (m.Password == nil) {
		return errors.New("username and password belong together; one is missing")
	}
	return m.validateAddresses()
}

func (m Mail) validateAddresses() error {
	if _, err := netmail.ParseAddress(m.From); err != nil {
		return fmt.Errorf("from %q is not an address", m.From)
	}
	if n := len(m.To); n < 1 || n > maxRecipients {
		return fmt.Errorf("to has %d entries, allowed is 1 to %d", n, maxRecipients)
	}
	for _, to := range m.To {
		if _, err := netmail.ParseAddress(to); err != nil {
			return fmt.Errorf("to %q is not an address", to)
		}
	}
	return nil
}

// mailSender sends to one address.
type mailSender struct {
	config  Mail
	to      string
	rootCAs *x509.CertPool
}

func (s mailSender) check(ctx context.Context) error {
	_, err := s.client(ctx)
	return err
}

// client is used for one message: the password may have changed by the next.
func (s mailSender) client(ctx context.Context) (*mail.Client, error) {
	host, port, err := net.SplitHostPort(s.config.Server)
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	options := []mail.Option{
		mail.WithPort(number), mail.WithTimeout(mailTimeout),
		mail.WithTLSConfig(&tls.Config{ServerName: host, RootCAs: s.rootCAs, MinVersion: tls.VersionTLS12}),
		s.protection(),
	}
	if s.config.Helo != "" {
		options = append(options, mail.WithHELO(s.config.Helo))
	}
	if s.config.Username != "" {
		password, err := s.config.Password(ctx)
		if err != nil {
			return nil, fmt.Errorf("password: %w", err)
		}
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover),
			mail.WithUsername(s.config.Username), mail.WithPassword(password.Reveal()))
	}
	return mail.NewClient(host, options...)
}

func (s mailSender) protection() mail.Option {
	switch s.config.TLS {
	case TLSImplicit:
		return mail.WithSSL()
	case TLSNone:
		return mail.WithTLSPolicy(mail.NoTLS)
	case TLSStartTLS:
		return mail.WithTLSPolicy(mail.TLSMandatory)
	default:
		return mail.WithTLSPolicy(mail.TLSMandatory)
	}
}

func (s mailSender) send(ctx context.Context, m message) error {
	client, err := s.client(ctx)
	if err != nil {
		return &failure{detail: "the password cannot be read"}
	}
	letter, err := s.letter(m)
	if err != nil {
		return err
	}
	err = client.DialAndSendWithContext(ctx, letter)
	if err == nil || letter.IsDelivered() { // a server may hang up in place of a goodbye
		return nil
	}
	return mailFailure(ctx, err)
}

// letter is the message as a mail. Its Message-ID is the idempotency key; mails about one wait refer to the same id, so that
// they stand together.
func (s mailSender) letter(m message) (*mail.Msg, error) {
	letter := mail.NewMsg()
	if err := letter.From(s.config.From); err != nil {
		return nil, err
	}
	if err := letter.To(s.to); err != nil {
		return nil, err
	}
	domain := domainOf(s.config.From)
	thread := "<wait_" + m.thread + "@" + domain + ">"
	letter.SetMessageIDWithValue(m.key + "@" + domain)
	letter.SetGenHeader(mail.HeaderInReplyTo, thread)
	letter.SetGenHeader(mail.HeaderReferences, thread)
	letter.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: nobody's absence note is wanted
	letter.SetDate()
	letter.Subject("[jobwait] " + m.subject())
	letter.SetBodyString(mail.TypeTextPlain, m.text)
	return letter, nil
}

func domainOf(address string) string {
	parsed, err := netmail.ParseAddress(address)
	if err != nil {
		return "localhost"
	}
	return parsed.Address[strings.LastIndexByte(parsed.Address, '@')+1:]
}

// mailFailure is what went wrong in a word. A server's reply of 5xx is its last word (RFC 5321, 4.2.1); asking again with a
// password that it refused may lock the account.
func mailFailure(ctx context.Context, err error) error {
	var refused *mail.SendError
	var reply *textproto.Error
	code := 0
	switch {
	case errors.As(err, &refused):
		code = refused.ErrorCode()
	case errors.As(err, &reply):
		code = reply.Code
	}
	switch {
	case code != 0:
		return &failure{detail: fmt.Sprintf("SMTP %d", code), final: code >= 500}
	case strings.Contains(err.Error(), "does not support STARTTLS"): // go-mail has no value for it
		return &failure{detail: "the server offers no STARTTLS"}
	case errors.Is(err, mail.ErrNoSupportedAuthDiscovered), strings.Contains(err.Error(), "does not support SMTP AUTH"):
		return &failure{detail: "the server offers no way to sign in"}
	default:
		return &failure{detail: netfail.Word(ctx, err)}
	}
}
