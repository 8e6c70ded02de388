package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A stream in which nothing happens goes on for longer than one event may take, in both versions of HTTP.
func TestQuietStreamGoesOn(t *testing.T) {
	t.Parallel()
	const timeout = 3 * time.Second
	for name, version := range map[string]int{"HTTP/1.1": 1, "HTTP/2": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				events := eventWriter{w, http.NewResponseController(w), timeout}
				_ = events.write("1")
				select {
				case <-time.After(timeout + time.Second):
					_ = events.write("2")
				case <-r.Context().Done():
				}
			}))
			server.EnableHTTP2 = version == 2
			server.StartTLS()
			defer server.Close()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
			require.NoError(t, err)
			answer, err := server.Client().Do(request)
			require.NoError(t, err)
			defer answer.Body.Close()
			require.Equal(t, version, answer.ProtoMajor)
			text, err := io.ReadAll(answer.Body)
			require.NoError(t, err)
			require.Equal(t, "12", string(text))
		})
	}
}
