package mail

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"
)

const (
	user     = "jobwait"
	password = "PLANTED-SECRET-password"
)

// post is a mail server: its rules, and what it took.
type post struct {
	address string
	roots   *x509.CertPool

	// mail, rcpt and data are what the server says to each step; nil accepts.
	mail func() error
	rcpt func(to string) error
	data func() error

	mu        sync.Mutex
	delivered []letter
	signIns   int
}

type letter struct {
	from, to, text string
	encrypted      bool
}

type how struct {
	implicit, noTLS, noAuth bool
}

func open(t *testing.T, how how, change func(*post)) *post {
	t.Helper()
	certified := httptest.NewTLSServer(http.NotFoundHandler()) // only for its certificate, which names this address
	t.Cleanup(certified.Close)
	p := &post{roots: x509.NewCertPool()}
	p.roots.AddCert(certified.Certificate())
	if change != nil {
		change(p)
	}
	server := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		if how.noAuth {
			return &session{post: p, conn: c, in: true}, nil
		}
		return &authSession{session{post: p, conn: c}}, nil
	}))
	server.Domain, server.ReadTimeout, server.WriteTimeout = "127.0.0.1", 30*time.Second, 30*time.Second
	server.AllowInsecureAuth = true
	server.ErrorLog = silent{}
	certificates := &tls.Config{Certificates: certified.TLS.Certificates}
	if !how.noTLS && !how.implicit {
		server.TLSConfig = certificates
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p.address = listener.Addr().String()
	if how.implicit {
		listener = tls.NewListener(listener, certificates)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return p
}

type silent struct{}

func (silent) Printf(string, ...any) {}
func (silent) Println(...any)        {}

func (p *post) took() []letter {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]letter(nil), p.delivered...)
}

func (p *post) signedIn() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.signIns
}

// session is one connection.
type session struct {
	post     *post
	conn     *smtp.Conn
	in       bool
	from, to string
}

func (s *session) Reset()        {}
func (s *session) Logout() error { return nil }

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	if !s.in {
		return smtp.ErrAuthRequired
	}
	s.from = from
	if s.post.mail != nil {
		return s.post.mail()
	}
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = to
	if s.post.rcpt != nil {
		return s.post.rcpt(to)
	}
	return nil
}

func (s *session) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if s.post.data != nil {
		if err := s.post.data(); err != nil {
			return err
		}
	}
	_, encrypted := s.conn.TLSConnectionState()
	s.post.mu.Lock()
	defer s.post.mu.Unlock()
	s.post.delivered = append(s.post.delivered, letter{s.from, s.to, string(text), encrypted})
	return nil
}

// authSession wants a sign-in.
type authSession struct{ session }

func (s *authSession) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *authSession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, name, given string) error {
		s.post.mu.Lock()
		s.post.signIns++
		s.post.mu.Unlock()
		if name != user || given != password {
			return reply(535, "no such user; you said "+given)
		}
		s.in = true
		return nil
	}), nil
}

func reply(code int, text string) error {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.NoEnhancedCode, Message: text + " " + strings.ToUpper(text)}
}
