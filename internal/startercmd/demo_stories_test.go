package startercmd

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/waittest"
)

// Whoever looks around can submit an export, whose job ends.
func TestTheDemoTakesSubmissions(t *testing.T) {
	t.Parallel()
	provider, err := waittest.NewProvider(waittest.ProviderOptions{Script: waittest.ProviderScript{Submit: demoSubmissions()}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, provider.Close()) })
	answered := func(method, address string) (code int, location *url.URL, body string) {
		request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(`{"report": "2026-11"}`))
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		location, _ = response.Location()
		return response.StatusCode, location, string(text)
	}
	code, status, _ := answered(http.MethodPost, provider.URL()+"/exports")
	require.Equal(t, http.StatusAccepted, code)
	require.NotNil(t, status)
	for _, want := range []string{`"queued"`, `"running"`, `"succeeded"`} {
		_, _, body := answered(http.MethodGet, status.String())
		require.Contains(t, body, want)
	}
}
