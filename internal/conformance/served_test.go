package conformance_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/waittest"
)

// job is what the served provider calls the job of an example. Its id at the real one may hold anything.
const job = "example"

// served is the provider of one table, played by waittest's: it takes the requests that the table makes and no others.
type served struct {
	*waittest.Provider
	authority *authority

	mu sync.Mutex
	// statuses and cancels are the requests that are taken, faults what was wrong with others.
	statuses, cancels []statetables.Request
	faults            []string
	// requests are those that came, as they came.
	requests []string
}

func newServed(t *testing.T, known table) *served {
	t.Helper()
	first, err := known.table.StatusRequest(targetOf(known.file.Job()))
	require.NoError(t, err)
	origin, err := url.Parse(first.URL)
	require.NoError(t, err)
	s := &served{authority: newAuthority(t)}
	options := waittest.ProviderOptions{Route: s.route}
	if origin.Scheme == "https" {
		options.TLS = &tls.Config{GetCertificate: s.authority.certificate, MinVersion: tls.VersionTLS12}
	}
	s.Provider, err = waittest.NewProvider(options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// expect prepares for the requests about one example.
func (s *served) expect(t *testing.T, script waittest.JobScript, statuses, cancels []statetables.Request) {
	t.Helper()
	require.NoError(t, s.Set(job, script))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.statuses, s.cancels, s.faults, s.requests = statuses, cancels, nil, nil
}

// route takes a request that is, to the last header, one that the table makes.
func (s *served) route(r *http.Request) (waittest.RequestKind, string) {
	whole, err := httputil.DumpRequest(r, true)
	if err != nil {
		return waittest.KindOther, "" // it broke off
	}
	body, _ := io.ReadAll(r.Body) // of the dump's copy
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, string(whole))
	is := func(want statetables.Request) bool { return differs(r, body, want) == "" }
	switch {
	case slices.ContainsFunc(s.statuses, is):
		return waittest.KindStatus, job
	case slices.ContainsFunc(s.cancels, is):
		return waittest.KindCancel, job
	}
	for _, want := range append(slices.Clone(s.statuses), s.cancels...) {
		s.faults = append(s.faults, differs(r, body, want))
	}
	return waittest.KindOther, ""
}

// differs tells in what a request is not the one that is wanted (R2, R51).
func differs(r *http.Request, body []byte, want statetables.Request) string {
	scheme := "https://"
	if r.TLS == nil {
		scheme = "http://"
	}
	if asked := r.Method + " " + scheme + r.Host + r.RequestURI; asked != want.Method+" "+want.URL {
		return fmt.Sprintf("%s is not %s %s", asked, want.Method, want.URL)
	}
	if !bytes.Equal(body, want.Body) {
		return fmt.Sprintf("the body is %q, not %q", body, want.Body)
	}
	header := r.Header.Clone()
	for name, value := range want.Header {
		if header.Get(name) != value {
			return fmt.Sprintf("header %s is %q, not %q", name, header.Get(name), value)
		}
		header.Del(name)
	}
	for name := range header {
		if !slices.Contains([]string{"User-Agent", "Accept", "Connection", "Content-Length"}, name) {
			return "header " + name + " is not the table's"
		}
	}
	return ""
}

// wrong is what requests came that the table does not make.
func (s *served) wrong() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.faults)
}

// asked are the requests that came, with their bodies.
func (s *served) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// activities are those of a worker whose network leads here and whose only credential is for the origin of an address.
func (s *served) activities(t *testing.T, known table, address string, change func(*activities.Options)) *activities.Activities {
	t.Helper()
	origin, err := url.Parse(address)
	require.NoError(t, err)
	options := activities.Options{
		Tables: known.set, Credentials: credential{origin.Scheme + "://" + origin.Host}, Logger: slog.New(slog.DiscardHandler),
		DialContext: s.dial, RootCAs: s.authority.pool, Proxy: func(*http.Request) (*url.URL, error) { return nil, nil },
	}
	if change != nil {
		change(&options)
	}
	acts, err := activities.New(options)
	require.NoError(t, err)
	return acts
}

// dial leads every host here. The context's deadline is one of the bubble's clock, which the network does not know.
func (s *served) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(context.WithoutCancel(ctx), network, s.Address())
}

// answerOf is a step that gives an example's answer as it is written. The provider's own Date would decide what a date in
// the answer means.
func answerOf(response statetables.Response) waittest.Step {
	body := string(response.Body)
	step := waittest.Step{Status: response.Status, Raw: &body, Headers: http.Header{"Date": nil}}
	for name, values := range response.Header {
		step.Headers[http.CanonicalHeaderKey(name)] = values
	}
	return step
}
