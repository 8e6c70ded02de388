package activities

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

// R2: every answer is given through as it came, and costs one request.
func TestAnswersPassThroughOnce(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 202, 204, 302, 304, 400, 401, 404, 408, 409, 410, 429, 500, 501, 502, 503, 504} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			p := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "120")
				w.WriteHeader(status)
			})
			got := answered(t, direct(), get(p.URL+"/jobs/1"))
			require.Equal(t, status, got.Status)
			require.Equal(t, []string{"120"}, got.Header["Retry-After"])
			require.Len(t, p.saw(), 1)
		})
	}
}

// R2, X2: a redirect is an answer, and the key stays where it was sent.
func TestRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			thief := serve(t, func(http.ResponseWriter, *http.Request) {})
			p := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", thief.URL+"/steal")
				w.WriteHeader(status)
			})
			order := get(p.URL)
			order.request.Header = map[string]string{"X-Custom-Key": "k"}
			require.Equal(t, status, answered(t, direct(), order).Status)
			require.Len(t, p.saw(), 1)
			require.Equal(t, "k", p.saw()[0].Header.Get("X-Custom-Key"))
			require.Empty(t, thief.saw())
		})
	}
}

func TestRedirectToNowhereIsStillAnAnswer(t *testing.T) {
	t.Parallel()
	p := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://%zz:port/")
		w.WriteHeader(http.StatusFound)
	})
	require.Equal(t, http.StatusFound, answered(t, direct(), get(p.URL)).Status)
}

// dropsSecond answers the first request of a connection and drops the connection at its second.
func dropsSecond(t *testing.T) (target string, requests *atomic.Int32) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	requests = new(atomic.Int32)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go answerOnce(conn, requests)
		}
	}()
	return "http://" + listener.Addr().String(), requests
}

func answerOnce(conn net.Conn, requests *atomic.Int32) {
	defer conn.Close()
	reader := bufio.NewReader(conn)
	for answer := range 2 {
		if _, err := http.ReadRequest(reader); err != nil {
			return
		}
		requests.Add(1)
		if answer == 0 {
			_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"))
		}
	}
}

// R2: net/http repeats a GET whose reused connection broke, even if the server took it. The sender must not.
func TestBrokenConnectionIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	target, requests := dropsSecond(t)
	plain := &http.Client{Transport: &http.Transport{}}
	for range 2 {
		answer, err := plain.Get(target) //nolint:noctx // the control: what net/http does by itself
		require.NoError(t, err)
		body := make([]byte, 2)
		_, _ = answer.Body.Read(body)
		require.NoError(t, answer.Body.Close())
	}
	require.EqualValues(t, 3, requests.Load(), "the control: net/http sends two requests for one")

	requests.Store(0)
	sender := direct()
	for range 3 {
		answered(t, sender, get(target))
	}
	require.EqualValues(t, 3, requests.Load())
}

// R2: a connection that breaks before the answer is a failure, not a reason to ask again.
func TestUnansweredRequestIsSentOnce(t *testing.T) {
	t.Parallel()
	p := serve(t, func(w http.ResponseWriter, _ *http.Request) { hangUp(w) })
	got := direct().send(t.Context(), get(p.URL))
	require.Equal(t, wire.TransportReset, got.transport)
	require.False(t, got.sentAt.IsZero())
	require.Len(t, p.saw(), 1)
}

func hangUp(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

// R2: should net/http ever try a second time, the gate lets nothing out.
func TestGateLetsOneAttemptThrough(t *testing.T) {
	t.Parallel()
	gate := &gate{clock: get("").clock}
	first, second := &closable{}, &closable{}
	gate.pass(httptrace.GotConnInfo{Conn: first})
	gate.pass(httptrace.GotConnInfo{Conn: second})
	require.False(t, first.closed)
	require.True(t, second.closed)
}

type closable struct {
	net.Conn
	closed bool
}

func (c *closable) Close() error {
	c.closed = true
	return nil
}

// R2: HTTP/2 repeats refused streams, so it is not spoken, even where the server offers it.
func TestHTTP2IsNotSpoken(t *testing.T) {
	t.Parallel()
	p := unstarted(t, func(http.ResponseWriter, *http.Request) {})
	p.EnableHTTP2 = true
	p.StartTLS()
	answer, err := p.Client().Get(p.URL) //nolint:noctx // the control
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, 2, answer.ProtoMajor, "the control: the server does speak HTTP/2")

	answered(t, trusting(p), get(p.URL))
	require.Equal(t, "HTTP/1.1", p.saw()[1].Proto)
}

func trusting(p *provider) *sender {
	s := direct()
	s.rootCAs = p.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	return s
}

// X4, R51: only what the table declares is sent, with HTTP's own headers and ours.
func TestOnlyDeclaredHeadersAreSent(t *testing.T) {
	t.Parallel()
	p := serve(t, func(http.ResponseWriter, *http.Request) {})
	order := get(p.URL)
	order.request.Header = map[string]string{"Authorization": "Bearer k", "Api-Version": "3"}
	answered(t, direct(), order)
	var names []string
	for name := range p.saw()[0].Header {
		names = append(names, name)
	}
	slices.Sort(names)
	require.Equal(t, []string{"Accept", "Api-Version", "Authorization", "Connection", "User-Agent"}, names)
	require.Equal(t, "jobwait/test", p.saw()[0].UserAgent())
}

func TestTableChoosesWhatItAccepts(t *testing.T) {
	t.Parallel()
	p := serve(t, func(http.ResponseWriter, *http.Request) {})
	order := get(p.URL)
	order.request.Header = map[string]string{"accept": "application/vnd.github+json"}
	answered(t, direct(), order)
	require.Equal(t, []string{"application/vnd.github+json"}, p.saw()[0].Header.Values("Accept"))
}

// R43: a cancel is a request with a body, and once is once.
func TestBodyIsSentOnce(t *testing.T) {
	t.Parallel()
	p := serve(t, func(w http.ResponseWriter, _ *http.Request) { hangUp(w) })
	order := get(p.URL)
	order.request.Method, order.request.Body = http.MethodPost, []byte(`{"cancel":true}`)
	direct().send(t.Context(), order)
	require.Equal(t, []string{`{"cancel":true}`}, p.sent())
}

// R7: the limit holds after decoding, and nothing is cut and read.
func TestBodyLimit(t *testing.T) {
	t.Parallel()
	packed := func(n int) []byte {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		for range n / 1024 { // a block at a time: what is packed never exists in memory
			_, _ = w.Write(make([]byte, 1024))
		}
		_ = w.Close()
		return out.Bytes()
	}
	for name, test := range map[string]struct {
		coding            string
		body              []byte
		size              int
		tooLarge, encoded bool
	}{
		"at the limit":        {body: make([]byte, 1<<20), size: 1 << 20},
		"above the limit":     {body: make([]byte, 1<<20+1), tooLarge: true},
		"gzip":                {coding: "gzip", body: packed(4096), size: 4096},
		"gzip at the limit":   {coding: "GZIP", body: packed(1 << 20), size: 1 << 20},
		"gzip bomb":           {coding: "gzip", body: packed(16 << 20), tooLarge: true},
		"not gzip":            {coding: "gzip", body: []byte("{}"), encoded: true},
		"gzip cut off":        {coding: "gzip", body: packed(4096)[:20], encoded: true},
		"another coding":      {coding: "br", body: []byte("{}"), encoded: true},
		"two codings":         {coding: "gzip, gzip", body: packed(1024), encoded: true},
		"identity":            {coding: "identity", body: []byte("{}"), size: 2},
		"gzip without a body": {coding: "gzip"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if test.coding != "" {
					w.Header().Set("Content-Encoding", test.coding)
				}
				_, _ = w.Write(test.body)
			})
			got := answered(t, direct(), get(p.URL))
			require.Equal(t, test.tooLarge, got.BodyTooLarge)
			require.Equal(t, test.encoded, got.encoded)
			require.Len(t, got.Body, test.size)
			require.Empty(t, got.cut)
			require.Empty(t, p.saw()[0].Header.Get("Accept-Encoding"))
		})
	}
}

// R7: 64 KiB of headers is the limit. Which answer it was nobody can say.
func TestHeaderLimit(t *testing.T) {
	t.Parallel()
	for size, tooLarge := range map[int]bool{60 << 10: false, 66 << 10: true} {
		p := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Padding", strings.Repeat("x", size))
			_, _ = w.Write([]byte("{}"))
		})
		got := answered(t, direct(), get(p.URL))
		require.Equal(t, tooLarge, got.BodyTooLarge)
		require.Equal(t, tooLarge, got.Status == 0)
	}
}

// H9, R12: a body that ends early is no answer to read, but its status and its Retry-After are known.
func TestBodyCutMidway(t *testing.T) {
	t.Parallel()
	p := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.Header().Set("Content-Length", "1000")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"state":"succ`))
		_ = http.NewResponseController(w).Flush()
		hangUp(w)
	})
	got := answered(t, direct(), get(p.URL))
	require.Equal(t, wire.TransportReset, got.cut)
	require.Equal(t, http.StatusServiceUnavailable, got.Status)
	require.Equal(t, []string{"7"}, got.Header["Retry-After"])
	require.Empty(t, got.Body)
}

// R11: of a time-out nobody knows whether the request was delivered: it was sent.
func TestTimeout(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(http.ResponseWriter){
		"before the header": func(http.ResponseWriter) {},
		"within the body":   func(w http.ResponseWriter) { _, _ = w.Write([]byte("{")); _ = http.NewResponseController(w).Flush() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, func(w http.ResponseWriter, r *http.Request) { begin(w); <-r.Context().Done() })
			order := get(p.URL)
			order.timeout = 200 * time.Millisecond
			got := direct().send(t.Context(), order)
			if got.response != nil {
				got.transport = got.response.cut
			}
			require.Equal(t, wire.TransportTimeout, got.transport)
			require.False(t, got.sentAt.IsZero())
			require.Len(t, p.saw(), 1)
		})
	}
}

// R32: a worker that stops gives its request up; it may have been delivered.
func TestStoppedWorkerLosesItsRequest(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	p := serve(t, func(_ http.ResponseWriter, r *http.Request) { stop(); <-r.Context().Done() })
	got := direct().send(ctx, get(p.URL))
	require.Equal(t, wire.TransportLost, got.transport)
	require.False(t, got.sentAt.IsZero())
}

// R11: the kinds of failure, each with whether anything was sent.
func TestTransportFailures(t *testing.T) {
	t.Parallel()
	closed := serve(t, nil)
	closed.Close()
	secure := unstarted(t, nil)
	secure.StartTLS()
	plain := serve(t, nil)
	garbage := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, _ := w.(http.Hijacker).Hijack()
		_, _ = conn.Write([]byte("SSH-2.0-OpenSSH_9.7\r\n\r\n"))
		_ = conn.Close()
	})
	nameless := direct()
	nameless.dial = func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "jobs.invalid", IsNotFound: true}}
	}
	for name, test := range map[string]struct {
		sender *sender
		target string
		want   string
		sent   bool
	}{
		"refused":                   {direct(), closed.URL, wire.TransportRefused, false},
		"unknown authority":         {direct(), secure.URL, wire.TransportTLS, false},
		"no TLS there":              {direct(), strings.Replace(plain.URL, "http:", "https:", 1), wire.TransportTLS, false},
		"name that is not resolved": {nameless, "http://jobs.invalid/1", wire.TransportDNS, false},
		"not HTTP":                  {direct(), garbage.URL, wire.TransportOther, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := test.sender.send(t.Context(), get(test.target))
			require.Equal(t, test.want, got.transport)
			require.Equal(t, test.sent, !got.sentAt.IsZero())
		})
	}
}

// H9: what follows a 101 is no body, and is not waited for.
func TestSwitchingProtocolsHasNoBody(t *testing.T) {
	t.Parallel()
	p := serve(t, func(w http.ResponseWriter, r *http.Request) {
		conn, _, _ := w.(http.Hijacker).Hijack()
		defer conn.Close()
		_, _ = conn.Write([]byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"))
		_, _ = conn.Read(make([]byte, 1))
	})
	got := answered(t, direct(), get(p.URL))
	require.Equal(t, http.StatusSwitchingProtocols, got.Status)
	require.Empty(t, got.cut)
}

// tunnel is an egress proxy that takes every CONNECT to one address.
func tunnel(t *testing.T, to string) *provider {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		far, err := net.Dial("tcp", to) //nolint:noctx // closed below
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		near, _, _ := w.(http.Hijacker).Hijack()
		_, _ = near.Write([]byte("HTTP/1.1 200 OK\r\n\r\n"))
		go func() { defer far.Close(); _, _ = bufio.NewReader(near).WriteTo(far) }()
		go func() { defer near.Close(); _, _ = bufio.NewReader(far).WriteTo(near) }()
	})
}

func through(p *provider, s *sender) *sender {
	s.proxy = func(*http.Request) (*url.URL, error) { return url.Parse(p.URL) }
	return s
}

// R52: the egress proxy is dialled, wherever it is, and asked for the provider by name.
func TestProxyIsDialled(t *testing.T) {
	t.Parallel()
	p := unstarted(t, func(http.ResponseWriter, *http.Request) {})
	p.StartTLS()
	proxy := tunnel(t, p.Listener.Addr().String())
	order := get("https://example.com/jobs/1") // a name in httptest's certificate
	order.request.AllowPrivateNetwork = false
	answered(t, through(proxy, trusting(p)), order)
	require.Len(t, p.saw(), 1)
	require.Equal(t, "example.com:443", proxy.saw()[0].Host)
}

// A proxy that refuses is not the provider's answer.
func TestProxyRefusalIsNotAnAnswer(t *testing.T) {
	t.Parallel()
	proxy := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	got := through(proxy, direct()).send(t.Context(), get("https://example.com/jobs/1"))
	require.Equal(t, wire.TransportOther, got.transport)
	require.True(t, got.sentAt.IsZero())
}

// X3, R14: net/http's own error repeats the URL; what the sender makes of it does not.
func TestErrorsHoldNoURL(t *testing.T) {
	t.Parallel()
	const marker = "marker-7f3a"
	target := "http://127.0.0.1:1/jobs?key=" + marker
	_, err := http.Get(target) //nolint:noctx,bodyclose // the control: there is no answer
	require.ErrorContains(t, err, marker, "the control: net/http does leak it")

	order := get(target)
	request, err := direct().attempt(t.Context(), order)
	require.Nil(t, request)
	require.Error(t, err)
	require.NotContains(t, err.Error(), marker)
	require.NotContains(t, fmt.Sprintf("%+v", direct().send(t.Context(), order)), marker)
}

// Nothing is kept between requests: neither cookies nor connections.
func TestNothingIsKeptBetweenRequests(t *testing.T) {
	t.Parallel()
	p := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "1"})
	})
	sender := direct()
	for range 2 {
		answered(t, sender, get(p.URL))
	}
	require.Empty(t, p.saw()[1].Cookies())
	require.Equal(t, 2, p.connected())
}
