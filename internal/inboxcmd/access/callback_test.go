package access

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// returning is a gate to whose callback people come back, before a provider that refuses every code.
type returning struct {
	*OIDC
	asked atomic.Int64
}

func newReturning(t *testing.T) *returning {
	t.Helper()
	r := &returning{}
	mux := http.NewServeMux()
	provider := httptest.NewServer(mux)
	t.Cleanup(provider.Close)
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"issuer": %q, "authorization_endpoint": %q, "token_endpoint": %q, "jwks_uri": %q}`,
			provider.URL, provider.URL+"/auth", provider.URL+"/token", provider.URL+"/keys")
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, _ *http.Request) {
		r.asked.Add(1)
		http.Error(w, `{"error": "invalid_grant"}`, http.StatusBadRequest)
	})
	still := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) // nobody is allowed more because the test is slow
	var err error
	r.OIDC, err = NewOIDC(OIDCSettings{Issuer: provider.URL, ClientID: "inbox", ClientSecret: nil}, "s3cret",
		&url.URL{Scheme: "https", Host: "inbox.example.com"}, slog.New(slog.DiscardHandler), func() time.Time { return still })
	require.NoError(t, err)
	r.Mount(http.NewServeMux(), func(w http.ResponseWriter, _ *http.Request, status int, _ Said) { w.WriteHeader(status) })
	return r
}

// from is what somebody gets who has begun to sign in and comes back with a query, behind the proxies 10.1.2.3 and 10.9.0.0/16.
func (r *returning) from(t *testing.T, remote, query string, forwarded ...string) int {
	t.Helper()
	sealed, err := r.sealer.seal(attempt{State: "s", Ends: r.now().Add(time.Minute)}, cookieAttempt)
	require.NoError(t, err)
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, PathCallback+"?state=s&"+query, nil)
	request.RemoteAddr = remote
	request.Header["X-Forwarded-For"] = forwarded
	request.AddCookie(&http.Cookie{Name: r.cookie(cookieAttempt), Value: sealed})
	proxies, err := readProxies([]string{"10.1.2.3", "10.9.0.0/16"})
	require.NoError(t, err)
	answer := httptest.NewRecorder()
	proxies.Resolve(http.HandlerFunc(r.callback)).ServeHTTP(answer, request)
	return answer.Code
}

// Whoever sends what asks the provider for nothing uses up nobody's turn.
func TestCallbackOfNothing(t *testing.T) {
	t.Parallel()
	r := newReturning(t)
	for range 2 * callbacksAtOnce {
		require.Equal(t, http.StatusForbidden, r.from(t, "192.0.2.1:1000", "error=x"))
		require.Equal(t, http.StatusForbidden, r.from(t, "192.0.2.1:1000", ""))
	}
	require.Zero(t, r.asked.Load())
	require.Equal(t, http.StatusForbidden, r.from(t, "192.0.2.1:1000", "code=c"))
	require.Positive(t, r.asked.Load(), "the provider was asked about the code")
}

// One address uses up its own turns; the others still sign in, up to what all have together.
func TestCallbacksOfOneAddress(t *testing.T) {
	t.Parallel()
	r := newReturning(t)
	for i := range callbacksAtOnce {
		require.Equal(t, http.StatusForbidden, r.from(t, fmt.Sprintf("[2001:db8::%x]:1000", i+1), "code=c"))
	}
	require.Equal(t, http.StatusTooManyRequests, r.from(t, "[2001:db8::ffff]:1000", "code=c"), "the same network")
	require.Equal(t, http.StatusForbidden, r.from(t, "[2001:db8:0:1::1]:1000", "code=c"))
	require.Equal(t, http.StatusForbidden, r.from(t, "192.0.2.1:1000", "code=c"))
	refused := 0
	for i := range allCallbacksAtOnce {
		if r.from(t, fmt.Sprintf("198.51.%d.%d:1000", i/250, i%250), "code=c") == http.StatusTooManyRequests {
			refused++
		}
	}
	require.Equal(t, callbacksAtOnce+2, refused, "all have a bound together")
}

// Behind a trusted proxy each client has turns of its own; whoever is none gets no more of them by what they say, and neither does
// a client that the proxy passes on.
func TestCallbacksByWayOfAProxy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		remote string
		// forwarded is what the header says in the i-th request.
		forwarded func(i int) []string
		own       bool
	}{
		"each client":      {"10.1.2.3:1000", func(i int) []string { return []string{fmt.Sprintf("192.0.2.%d", i)} }, true},
		"two proxies":      {"10.1.2.3:1000", func(i int) []string { return []string{fmt.Sprintf("192.0.2.%d", i), "10.9.1.1"} }, true},
		"forged by a peer": {"192.0.2.9:1000", func(i int) []string { return []string{fmt.Sprintf("192.0.2.%d", i)} }, false},
		"forged by a client": {"10.1.2.3:1000", func(i int) []string {
			return []string{fmt.Sprintf("192.0.2.%d, 10.9.1.1", i), "198.51.100.7"}
		}, false},
		"a proxy's own name": {"192.0.2.9:1000", func(i int) []string { return []string{fmt.Sprintf("192.0.2.%d, 10.1.2.3", i)} }, false},
		"no header":          {"10.1.2.3:1000", func(int) []string { return nil }, false},
		"no address":         {"10.1.2.3:1000", func(i int) []string { return []string{fmt.Sprintf("192.0.2.%d, unknown", i)} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReturning(t)
			for i := range callbacksAtOnce {
				require.Equal(t, http.StatusForbidden, r.from(t, c.remote, "code=c", c.forwarded(i)...))
			}
			want := http.StatusTooManyRequests
			if c.own {
				want = http.StatusForbidden
			}
			require.Equal(t, want, r.from(t, c.remote, "code=c", c.forwarded(callbacksAtOnce)...))
		})
	}
}

// Whom a request comes from, however the header is written, and how much of it is looked at.
func TestForwardedFor(t *testing.T) {
	t.Parallel()
	proxies, err := readProxies([]string{"10.1.2.3", "2001:db8::/64"})
	require.NoError(t, err)
	for forwarded, want := range map[string]string{
		"192.0.2.1":                        "192.0.2.1",
		"192.0.2.1:4711":                   "192.0.2.1",
		"[2001:db8:1::1]:4711":             "2001:db8:1::1",
		"[2001:db8:1::1]":                  "2001:db8:1::1",
		"::ffff:192.0.2.1":                 "192.0.2.1",
		"fe80::1%eth0":                     "fe80::1",
		"192.0.2.1,2001:db8::7 , 10.1.2.3": "192.0.2.1",
		"10.1.2.3":                         "10.1.2.3",
		"":                                 "10.1.2.3",
		"192.0.2.1,":                       "10.1.2.3",
		"192.0.2.1, _hidden":               "10.1.2.3",
		"192.0.2.1, _hidden, 2001:db8::7":  "2001:db8::7",
		"192.0.2.1, 192.0.2.2, 10.1.2.3":   "192.0.2.2",
		"192.0.2.1" + strings.Repeat(", 10.1.2.3", maxForwarded): "10.1.2.3",
	} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		request.RemoteAddr = "10.1.2.3:1000"
		request.Header.Set("X-Forwarded-For", forwarded)
		got := ""
		proxies.Resolve(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RemoteAddr })).ServeHTTP(nil, request)
		require.Equal(t, want, got, forwarded)
		require.Equal(t, "10.1.2.3:1000", request.RemoteAddr, "what came is left as it is")
	}
}

// What is remembered of addresses is bounded.
func TestCallbackAddresses(t *testing.T) {
	t.Parallel()
	l := newCallbackLimit()
	for i := range 3 * maxAddresses {
		l.allow(fmt.Sprintf("10.%d.%d.%d:1", i>>16&255, i>>8&255, i&255), time.Time{})
		require.LessOrEqual(t, len(l.addresses), maxAddresses)
	}
}
