package activities

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/statetables"
)

// provider is a server that remembers what really reached it.
type provider struct {
	*httptest.Server
	mu          sync.Mutex
	connections int
	requests    []*http.Request
	bodies      []string
}

// serve starts a provider that answers with the handler.
func serve(t *testing.T, handler http.HandlerFunc) *provider {
	t.Helper()
	p := unstarted(t, handler)
	p.Start()
	return p
}

func unstarted(t *testing.T, handler http.HandlerFunc) *provider {
	t.Helper()
	p := &provider{}
	p.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.remember(r)
		handler(w, r)
	}))
	p.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.connections++
		}
	}
	p.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(p.Close)
	return p
}

func (p *provider) remember(r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, r)
	p.bodies = append(p.bodies, string(body))
}

func (p *provider) saw() []*http.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests
}

func (p *provider) connected() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.connections
}

// direct is a sender without a proxy.
func direct() *sender {
	return &sender{proxy: func(*http.Request) (*url.URL, error) { return nil, nil }, userAgent: "jobwait/test"}
}

// get is an order for one GET that may go to this machine, with a clock that agrees with it.
func get(target string) order {
	return order{
		request: statetables.Request{Method: http.MethodGet, URL: target, AllowPrivateNetwork: true},
		timeout: 10 * time.Second,
		clock:   serverClock{startedAt: time.Now(), began: time.Now()},
	}
}

// answered sends the order and demands an answer.
func answered(t *testing.T, s *sender, order order) *response {
	t.Helper()
	got := s.send(t.Context(), order)
	require.NotNil(t, got.response, "no answer: %+v", got)
	require.False(t, got.sentAt.IsZero())
	return got.response
}

func (p *provider) sent() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bodies
}
