package access

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// While the provider does not answer, one request waits for it; others are told soon, and whoever signs out does at once.
func TestProviderThatIsAway(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	over, began := make(chan struct{}), make(chan struct{}, 100)
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		began <- struct{}{}
		<-over
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(provider.Close)
	end := sync.OnceFunc(func() { close(over) })
	t.Cleanup(end)
	o, err := NewOIDC(OIDCSettings{Issuer: provider.URL, ClientID: "inbox"}, "", &url.URL{Scheme: "https", Host: "inbox.example.com"},
		slog.New(slog.DiscardHandler), time.Now)
	require.NoError(t, err)
	o.client.Timeout = time.Minute // the machine may be slow
	mux := http.NewServeMux()
	o.Mount(mux, func(w http.ResponseWriter, _ *http.Request, status int, _ Said) { w.WriteHeader(status) })
	ask := func(method, path string) int {
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), method, path, nil))
		return answer.Code
	}

	first := make(chan int, 1)
	go func() { first <- ask(http.MethodGet, PathSignIn) }()
	<-began
	others := make(chan int, 50)
	for range cap(others) {
		go func() { others <- ask(http.MethodGet, PathSignIn) }()
	}
	require.Equal(t, http.StatusOK, ask(http.MethodPost, PathSignOut))
	for range cap(others) {
		require.Equal(t, http.StatusBadGateway, <-others)
	}
	require.Empty(t, first, "it waits for the provider")
	require.EqualValues(t, 1, asked.Load(), "the others did not ask")
	end()
	require.Equal(t, http.StatusBadGateway, <-first)
}
