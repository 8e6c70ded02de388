package waittest_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/waittest"
)

// acme is a provider that asks at other URLs than the demonstration's.
func acme(r *http.Request) (waittest.RequestKind, string) {
	id, ok := strings.CutPrefix(r.URL.Path, "/_tasks/")
	switch {
	case !ok:
		return waittest.KindOther, ""
	case r.Method == http.MethodGet:
		return waittest.KindStatus, id
	case r.Method == http.MethodDelete:
		return waittest.KindCancel, id
	default:
		return waittest.KindOther, id
	}
}

func TestProviderAsksItsRoute(t *testing.T) {
	t.Parallel()
	p := provider(t, waittest.ProviderOptions{Route: acme})
	require.NoError(t, p.Set("7", waittest.Script(waittest.Raw("application/json", `{"done": false}`)).
		OnCancel(waittest.Status(http.StatusNoContent), waittest.Status(http.StatusNotFound))))
	require.JSONEq(t, `{"done": false}`, send(t, http.MethodGet, p.URL()+"/_tasks/7", "").body)
	require.Equal(t, 405, send(t, http.MethodPost, p.URL()+"/_tasks/7", "").status)
	require.Equal(t, 204, send(t, http.MethodDelete, p.URL()+"/_tasks/7", "").status)
	require.Equal(t, 404, send(t, http.MethodGet, p.URL()+"/_tasks/7", "").status)
	require.Equal(t, 404, send(t, http.MethodGet, p.StatusURL("7"), "").status, "the demonstration's path is none here")
	require.Equal(t, "ok\n", send(t, http.MethodGet, p.URL()+"/_health", "").body)
	var kinds []waittest.RequestKind
	for _, entry := range p.Log("7") {
		kinds = append(kinds, entry.Kind)
	}
	require.Equal(t, []waittest.RequestKind{waittest.KindStatus, waittest.KindOther, waittest.KindCancel, waittest.KindStatus}, kinds)
}

func TestProviderSpeaksTLS(t *testing.T) {
	t.Parallel()
	authority := httptest.NewTLSServer(nil)
	t.Cleanup(authority.Close)
	p := provider(t, waittest.ProviderOptions{TLS: authority.TLS})
	require.Regexp(t, `^https://127\.0\.0\.1:[0-9]+$`, p.URL())
	set(t, p, "j", waittest.State("running"), waittest.CutOff("running"), waittest.ResetConnection())
	trusting := authority.Client()
	trusting.Transport.(*http.Transport).DisableKeepAlives = true

	response, err := trusting.Get(p.StatusURL("j")) //nolint:noctx // the server is this test's
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, "HTTP/1.1", response.Proto)
	require.NotNil(t, response.TLS)
	response, err = trusting.Get(p.StatusURL("j")) //nolint:noctx // the server is this test's
	require.NoError(t, err)
	_, err = io.ReadAll(response.Body)
	require.ErrorIs(t, errors.Join(err, response.Body.Close()), io.ErrUnexpectedEOF)
	_, err = trusting.Get(p.StatusURL("j")) //nolint:noctx,bodyclose // there is no answer
	require.ErrorIs(t, err, syscall.ECONNRESET)
}

func TestProviderWithoutACertificate(t *testing.T) {
	t.Parallel()
	_, err := waittest.NewProvider(waittest.ProviderOptions{TLS: &tls.Config{MinVersion: tls.VersionTLS12}})
	require.EqualError(t, err, "waittest: TLS has no certificate; set Certificates or GetCertificate")
}

func TestProviderLeavesHeadersOut(t *testing.T) {
	t.Parallel()
	p := provider(t, waittest.ProviderOptions{})
	script, err := waittest.ReadProviderScript(strings.NewReader(`{"jobs": {"j": {"steps": [{"state": "running", "headers": {"Date": []}}]}}}`))
	require.NoError(t, err)
	require.NoError(t, p.Set("j", script.Jobs["j"]))
	got := get(t, p, "j")
	require.NotContains(t, got.header, "Date")
	require.Equal(t, "application/json", got.header.Get("Content-Type"))
}
