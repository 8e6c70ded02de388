package access

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
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

// from is what somebody gets who has begun to sign in and comes back with a query.
func (r *returning) from(t *testing.T, remote, query string) int {
	t.Helper()
	sealed, err := r.sealer.seal(attempt{State: "s", Ends: r.now().Add(time.Minute)}, cookieAttempt)
	require.NoError(t, err)
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, PathCallback+"?state=s&"+query, nil)
	request.RemoteAddr = remote
	request.AddCookie(&http.Cookie{Name: r.cookie(cookieAttempt), Value: sealed})
	answer := httptest.NewRecorder()
	r.callback(answer, request)
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

// What is remembered of addresses is bounded.
func TestCallbackAddresses(t *testing.T) {
	t.Parallel()
	l := newCallbackLimit()
	for i := range 3 * maxAddresses {
		l.allow(fmt.Sprintf("10.%d.%d.%d:1", i>>16&255, i>>8&255, i&255), time.Time{})
		require.LessOrEqual(t, len(l.addresses), maxAddresses)
	}
}
