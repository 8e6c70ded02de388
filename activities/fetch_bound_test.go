package activities

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

// R51: the credential is sent for what a wait has found, for what the fetch itself was told by the provider, and for what the entry
// allows; whoever starts a fetch cannot have anything else read with it.
func TestFetchIsBoundToAWait(t *testing.T) {
	t.Parallel()
	const denied = `no wait for this job has ended with this reference as its "file", and the entry of credential "demo" has no fetch that allows it`
	for name, test := range map[string]struct {
		prepare func(*fetcher)
		reason  wire.FetchReason
		detail  string
	}{
		"another reference": {func(f *fetcher) { f.found = map[string]string{"file": f.URL + "/files/another.csv"} }, wire.FetchReferenceRejected, denied},
		"another name":      {func(f *fetcher) { f.found = map[string]string{"log": f.spec().URL} }, wire.FetchReferenceRejected, denied},
		"no wait":           {func(f *fetcher) { f.none = fmt.Errorf("%w: gone", ErrNoOutcome) }, wire.FetchReferenceRejected, denied},
		"no wait, but a submission that was answered with it": {func(f *fetcher) {
			f.none = ErrNoOutcome
			f.submitted = &wire.Outcome{ProviderJobID: "exp_71c", Result: map[string]string{"file": f.spec().URL}}
		}, "", ""},
		"no wait, and a submission that was answered with another job": {func(f *fetcher) {
			f.none = ErrNoOutcome
			f.submitted = &wire.Outcome{ProviderJobID: "exp_72", Result: map[string]string{"file": f.spec().URL}}
		}, wire.FetchReferenceRejected, denied},
		"no wait, but the entry allows it": {func(f *fetcher) {
			f.none = ErrNoOutcome
			f.entry(fmt.Sprintf(`{version: "1", file: key, origins: [%q], fetch: [%q]}`, f.URL, f.URL+"/files/"))
		}, "", ""},
		"the entry allows something else": {func(f *fetcher) {
			f.none = ErrNoOutcome
			f.entry(fmt.Sprintf(`{version: "1", file: key, origins: [%q], fetch: [%q]}`, f.URL, f.URL+"/file/"))
		}, wire.FetchReferenceRejected, denied},
		"nothing to send": {func(f *fetcher) {
			f.none = ErrNoOutcome
			f.entry(`{version: "1", file: key, origins: ["https://api.example.com"]}`)
		}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFetcher(t, answers(200, "rows"))
			test.prepare(f)
			outcome := f.ended(nil)
			require.Equal(t, test.reason, outcome.Reason)
			require.Equal(t, test.detail, outcome.Detail)
			if test.reason != "" {
				require.Zero(t, f.connected())
				f.nothing()
			}
		})
	}
}

// Where it cannot be known for the moment, it is asked again.
func TestFetchAsksAgainForTheOutcome(t *testing.T) {
	t.Parallel()
	f := newFetcher(t, answers(200, "rows"))
	f.none = errors.New("unavailable")
	require.Equal(t, "the outcome of the wait cannot be read", f.interrupted(nil).Message())
	require.Zero(t, f.connected())
}

// A reference that the fetch read from the provider itself is in no outcome.
func TestRenewedReferenceMayBeAsked(t *testing.T) {
	t.Parallel()
	f := newFetcher(t, answers(200, "rows"))
	f.none = ErrNoOutcome
	var response wire.FetchResponse
	require.NoError(t, f.run(wire.ActivityFetchResult, wire.FetchRequest{Spec: f.spec(), Renewed: true}, &response))
	require.Equal(t, wire.FetchDone, response.Outcome.Status)
	require.Equal(t, "Bearer "+marker, f.saw()[0].Header.Get("Authorization"))
}

// R51: who has no credential cannot have it sent by leading there; who was sent it may lead on at its own origin.
func TestRedirectsToTheCredential(t *testing.T) {
	t.Parallel()
	f := newFetcher(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/files/exp_71c.csv" {
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
			return
		}
		_, _ = w.Write([]byte("rows"))
	})
	require.Equal(t, wire.FetchDone, f.ended(nil).Status)
	require.Equal(t, "Bearer "+marker, f.saw()[1].Header.Get("Authorization"))

	own := newFetcher(t, answers(200, "rows"))
	stranger := httptest.NewTLSServer(http.RedirectHandler(own.URL+"/secrets", http.StatusFound))
	t.Cleanup(stranger.Close)
	own.options.RootCAs = x509.NewCertPool()
	own.options.RootCAs.AddCert(stranger.Certificate())
	own.options.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasPrefix(address, "files.example.com:") {
			address = stranger.Listener.Addr().String()
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	require.Equal(t, wire.FetchDone, own.ended(func(s *wire.FetchSpec) { s.URL = "https://files.example.com/x" }).Status)
	require.Len(t, own.saw(), 1)
	require.Empty(t, own.saw()[0].Header.Get("Authorization"))
}

func TestCredentialFetches(t *testing.T) {
	t.Parallel()
	c := Credential{Version: "1", Origins: []string{"https://api.example.com"}, Fetch: []string{"https://api.example.com/v1/files/"}, Read: func(context.Context) (Secret, error) { return Secret{}, nil }}
	for text, want := range map[string]bool{
		"https://api.example.com/v1/files/file-1/content":    true,
		"https://API.example.com:443/v1/files/file-1?x=1":    true,
		"https://api.example.com/v1/files":                   false,
		"https://api.example.com/v1/filesystem/x":            false,
		"http://api.example.com/v1/files/x":                  false,
		"https://api.example.com:8443/v1/files/x":            false,
		"https://api.example.com.evil.test/v1/files/x":       false,
		"https://api.example.com/v1/files/../secrets":        false,
		"https://api.example.com/v1/files/%2e%2e/secrets":    false,
		"https://api.example.com/v1/files/%252e%252e/secret": false,
		`https://api.example.com/v1/files/..%5csecrets`:      false,
		"https://api.example.com/v1/files/..;/secrets":       false,
		"https://api.example.com/v1/files/..;x=1/secrets":    false,
		"https://api.example.com/v1/files/%2e%2e%3b/secrets": false,
		"https://api.example.com/v1/files/..%20/secrets":     false,
		"https://api.example.com/v1/files/..%00/secrets":     false,
		"https://api.example.com/v1/files/a..b;v=1/content":  true,
	} {
		at, err := url.Parse(text)
		require.NoError(t, err)
		require.Equal(t, want, c.fetches(at), text)
	}
	require.NoError(t, c.Validate())
	for text, want := range map[string]string{
		"https://api.example.com/v1/files":  `fetch "https://api.example.com/v1/files": write an absolute URL with a / at its end, such as https://api.example.com/v1/files/`,
		"/v1/files/":                        `fetch "/v1/files/": write an absolute URL with a / at its end, such as https://api.example.com/v1/files/`,
		"https://other.example.com/v1/":     `fetch "https://other.example.com/v1/" is at none of the entry's origins, so that the value would not be sent there`,
		"https://api.example.com/v1/../v2/": `fetch "https://api.example.com/v1/../v2/": write an absolute URL with a / at its end, such as https://api.example.com/v1/files/`,
	} {
		c.Fetch = []string{text}
		require.EqualError(t, c.Validate(), want)
	}
}
