package conformance_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

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
	s.statuses, s.cancels, s.faults = statuses, cancels, nil
}

// route takes a request that is, to the last header, one that the table makes.
func (s *served) route(r *http.Request) (waittest.RequestKind, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	is := func(want statetables.Request) bool { return s.differs(r, want) == "" }
	switch {
	case slices.ContainsFunc(s.statuses, is):
		return waittest.KindStatus, job
	case slices.ContainsFunc(s.cancels, is):
		return waittest.KindCancel, job
	}
	for _, want := range append(slices.Clone(s.statuses), s.cancels...) {
		s.faults = append(s.faults, s.differs(r, want))
	}
	return waittest.KindOther, ""
}

// differs tells in what a request is not the one that is wanted (R2, R51).
func (s *served) differs(r *http.Request, want statetables.Request) string {
	scheme := "https://"
	if r.TLS == nil {
		scheme = "http://"
	}
	if asked := r.Method + " " + scheme + r.Host + r.RequestURI; asked != want.Method+" "+want.URL {
		return fmt.Sprintf("%s is not %s %s", asked, want.Method, want.URL)
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
