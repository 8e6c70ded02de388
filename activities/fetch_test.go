package activities

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"

	"github.com/jobwait/jobwait/internal/lanes"
	"github.com/jobwait/jobwait/wire"
)

// export is a result of some pieces, each different.
var export = func() []byte {
	var text bytes.Buffer
	for i := range 150_000 {
		fmt.Fprintf(&text, "%d,row\n", i)
	}
	return text.Bytes()
}()

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// fetcher is a world with a folder as the destination "reports".
type fetcher struct {
	*world
	dir string
	// found is how the wait ended; nil: with the reference that is fetched. none is why it has no outcome.
	found map[string]string
	none  error
	// submitted is how the submission ended; nil: it has no outcome.
	submitted *wire.Outcome
}

// Outcome is that of the wait, or of the submission.
func (f *fetcher) Outcome(_ context.Context, workflowID string) (wire.Outcome, error) {
	if workflowID == "jobwait-submit/demo-export/acct-42/report-1" {
		if f.submitted == nil {
			return wire.Outcome{}, ErrNoOutcome
		}
		return *f.submitted, nil
	}
	require.Equal(f.t, "jobwait/demo-export/acct-42/exp_71c", workflowID)
	return wire.Outcome{Status: wire.StatusSucceeded, ProviderJobID: "exp_71c", Result: f.found}, f.none
}

func newFetcher(t *testing.T, handler http.HandlerFunc) *fetcher {
	t.Helper()
	f := &fetcher{world: newWorld(t, handler), dir: t.TempDir()}
	bucket, err := fileblob.OpenBucket(f.dir, &fileblob.Options{NoTempDir: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, bucket.Close()) })
	f.options.Destinations = map[string]Destination{"reports": {Bucket: bucket}}
	f.options.Outcomes = f
	return f
}

func (f *fetcher) spec() wire.FetchSpec {
	return wire.FetchSpec{
		OperationID: "report-1", Provider: "demo-export", Account: "acct-42", ProviderJobID: "exp_71c",
		StatusURL: f.URL + "/exports/exp_71c", CredentialRef: "demo", ResultName: "file",
		URL: f.URL + "/files/exp_71c.csv?signature=" + marker, Destination: "reports", Key: "2026/exp_71c.csv",
		MaxBytes: 100 << 20, DeadlineAt: time.Now().Add(time.Hour),
	}
}

// fetch carries the result; change may alter the spec.
func (f *fetcher) fetch(change func(*wire.FetchSpec)) (wire.FetchResponse, error) {
	f.t.Helper()
	spec := f.spec()
	if change != nil {
		change(&spec)
	}
	if f.found == nil {
		f.found = map[string]string{spec.ResultName: spec.URL}
	}
	var response wire.FetchResponse
	err := f.run(wire.ActivityFetchResult, wire.FetchRequest{Spec: spec}, &response)
	require.NotContains(f.t, fmt.Sprintf("%+v %v", response, err), marker)
	require.NotContains(f.t, f.log.String(), marker)
	return response, err
}

// ended is the outcome of a fetch that needs no other attempt.
func (f *fetcher) ended(change func(*wire.FetchSpec)) wire.FetchOutcome {
	f.t.Helper()
	response, err := f.fetch(change)
	require.NoError(f.t, err)
	return response.Outcome
}

// interrupted is what an attempt says that wants another one.
func (f *fetcher) interrupted(change func(*wire.FetchSpec)) *temporal.ApplicationError {
	f.t.Helper()
	_, err := f.fetch(change)
	var application *temporal.ApplicationError
	require.ErrorAs(f.t, err, &application)
	require.Equal(f.t, wire.ErrorFetchInterrupted, application.Type())
	require.False(f.t, application.NonRetryable())
	return application
}

// nothing asserts that the destination holds no file, half or whole.
func (f *fetcher) nothing() {
	f.t.Helper()
	require.NoError(f.t, filepath.WalkDir(f.dir, func(path string, entry os.DirEntry, err error) error {
		require.NoError(f.t, err)
		require.True(f.t, entry.IsDir(), path)
		return nil
	}))
}

func (f *fetcher) written() []byte {
	f.t.Helper()
	data, err := os.ReadFile(filepath.Join(f.dir, "2026", "exp_71c.csv"))
	require.NoError(f.t, err)
	return data
}

func TestFetchResult(t *testing.T) {
	t.Parallel()
	f := newFetcher(t, answers(200, string(export), "Content-Type", "text/csv"))
	size := int64(len(export))
	outcome := f.ended(func(s *wire.FetchSpec) { s.ExpectedBytes, s.ExpectedSHA256 = &size, digestOf(export) })
	require.Equal(t, wire.FetchOutcome{
		Status: wire.FetchDone, OperationID: "report-1", Provider: "demo-export", Account: "acct-42", ProviderJobID: "exp_71c",
		ResultName: "file", Destination: "reports", Key: "2026/exp_71c.csv",
		Bytes: size, SHA256: digestOf(export), ContentType: "text/csv", Attempts: 1,
	}, outcome)
	require.Equal(t, export, f.written())
	require.Len(t, f.saw(), 1)
	require.Equal(t, "Bearer "+marker, f.saw()[0].Header.Get("Authorization"))
	require.Equal(t, "*/*", f.saw()[0].Header.Get("Accept"))
}

// breaking serves the export and cuts the connection after some bytes, the first times it is asked.
func breaking(after, times int, headers func(http.Header)) http.HandlerFunc {
	var asked atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) {
		headers(w.Header())
		if int(asked.Add(1)) > times {
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(export))
			return
		}
		from := 0
		_, _ = fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
		if from > 0 {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(export)-1, len(export)))
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(export)-from))
		if from > 0 {
			w.WriteHeader(http.StatusPartialContent)
		}
		_, _ = w.Write(export[from : from+after])
		_ = http.NewResponseController(w).Flush()
		hangUp(w)
	}
}

func tagged(header http.Header) { header.Set("ETag", `"v1"`) }

// A connection that breaks is taken up where it broke, and the digest is that of the whole.
func TestFetchIsTakenUpWhereItBroke(t *testing.T) {
	t.Parallel()
	f := newFetcher(t, breaking(300_000, 2, tagged))
	outcome := f.ended(nil)
	require.Equal(t, wire.FetchDone, outcome.Status)
	require.Equal(t, 2, outcome.Resumed)
	require.Equal(t, digestOf(export), outcome.SHA256)
	require.Equal(t, export, f.written())
	require.Len(t, f.saw(), 3)
	for _, again := range f.saw()[1:] {
		require.Regexp(t, `^bytes=\d+-$`, again.Header.Get("Range"))
		require.Equal(t, `"v1"`, again.Header.Get("If-Range"))
	}
}

// dated is an answer without a tag, of something that changed some time before.
func dated(before time.Duration) func(http.Header) {
	at := time.Now()
	return func(header http.Header) {
		header.Set("Date", at.UTC().Format(http.TimeFormat))
		header.Set("Last-Modified", at.Add(-before).UTC().Format(http.TimeFormat))
		header.Set("Accept-Ranges", "bytes")
	}
}

// The time of the last change is a mark as well, which a rest need not repeat.
func TestFetchIsTakenUpByDate(t *testing.T) {
	t.Parallel()
	f := newFetcher(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Range") == "" {
			breaking(300_000, 1, dated(time.Minute))(w, r)
			return
		}
		var from int
		_, _ = fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(export)-1, len(export)))
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(export[from:])
	})
	outcome := f.ended(nil)
	require.Equal(t, digestOf(export), outcome.SHA256)
	require.Equal(t, 1, outcome.Resumed)
	require.NotEmpty(t, f.saw()[1].Header.Get("If-Range"))
}

// What cannot be taken up again begins anew with the next attempt, and nothing of it stays.
func TestFetchThatCannotBeTakenUp(t *testing.T) {
	t.Parallel()
	versions, named, dateKnown := atomic.Int64{}, atomic.Bool{}, atomic.Bool{}
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		detail  string
		asked   int
	}{
		"no mark": {breaking(1000, 1, func(http.Header) {}), wire.TransportReset, 1},
		"weak tag": {breaking(1000, 1, func(h http.Header) {
			h.Set("ETag", `W/"v1"`)
			h.Set("Accept-Ranges", "bytes")
		}), wire.TransportReset, 1},
		"changed in this second": {breaking(1000, 1, dated(0)), wire.TransportReset, 1},
		"changed since, and If-Range is not heeded": {breaking(1000, 2, func(h http.Header) {
			dated(time.Hour)(h)
			if !dateKnown.CompareAndSwap(false, true) {
				dated(time.Minute)(h)
			}
		}), "the result changed, or cannot be taken up again", 2},
		"changed meanwhile": {breaking(1000, 1, func(h http.Header) {
			h.Set("ETag", fmt.Sprintf(`"v%d"`, versions.Add(1)))
		}), "the result changed, or cannot be taken up again", 2},
		"changed, and If-Range is not heeded": {breaking(1000, 2, func(h http.Header) {
			h.Set("ETag", fmt.Sprintf(`"w%d"`, versions.Add(1)))
		}), "the result changed, or cannot be taken up again", 2},
		"no word of what the rest is of": {breaking(1000, 2, func(h http.Header) {
			if named.CompareAndSwap(false, true) {
				tagged(h)
			}
		}), "the result changed, or cannot be taken up again", 2},
		"never gets on": {func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Range") != "" {
				hangUp(w)
				return
			}
			breaking(1000, 1, tagged)(w, r)
		}, wire.TransportReset, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFetcher(t, test.handler)
			require.Equal(t, test.detail, f.interrupted(nil).Message())
			require.Len(t, f.saw(), test.asked)
			f.nothing()
		})
	}
}

// chunkedThen is an answer that does not announce its length and is cut, after which the rest is asked for.
func chunkedThen(rest func(w http.ResponseWriter, from int)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		tagged(w.Header())
		from := 0
		if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err == nil {
			rest(w, from)
			return
		}
		_, _ = w.Write(export[:1_000_000])
		_ = http.NewResponseController(w).Flush()
		hangUp(w)
	}
}

// A server may answer with less of a range than was asked for: where a rest ends, the whole does not.
func TestFetchGoesOnAfterAShortRest(t *testing.T) {
	t.Parallel()
	f := newFetcher(t, chunkedThen(func(w http.ResponseWriter, from int) {
		to := min(from+300_000, len(export))
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to-1, len(export)))
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(export[from:to])
	}))
	outcome := f.ended(nil)
	require.Equal(t, wire.FetchDone, outcome.Status)
	require.Equal(t, digestOf(export), outcome.SHA256)
	require.Greater(t, outcome.Resumed, 1)
}

// A rest that names no length of the whole, after a beginning that announced none, cannot be told from one that was cut.
func TestFetchOfARestOfUnknownLength(t *testing.T) {
	t.Parallel()
	f := newFetcher(t, chunkedThen(func(w http.ResponseWriter, from int) {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/*", from, from+999))
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(export[from : from+1000])
	}))
	require.Equal(t, "the result changed, or cannot be taken up again", f.interrupted(nil).Message())
	f.nothing()
}

// A result that is too large or another than expected is refused, and what was written of it is gone.
func TestFetchRefuses(t *testing.T) {
	t.Parallel()
	whole := answers(200, string(export), "Content-Length", strconv.Itoa(len(export)))
	unannounced := func(w http.ResponseWriter, _ *http.Request) {
		for rest := export; len(rest) > 0; {
			n := min(len(rest), 64<<10)
			_, _ = w.Write(rest[:n])
			_ = http.NewResponseController(w).Flush()
			rest = rest[n:]
		}
	}
	other := int64(12)
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		change  func(*wire.FetchSpec)
		reason  wire.FetchReason
		detail  string
	}{
		"no end announced":      {endless, nil, wire.FetchUnexpectedAnswer, "neither its length nor its end is announced, so that one that is cut looks whole; set expected_bytes or expected_sha256"},
		"announced too large":   {whole, func(s *wire.FetchSpec) { s.MaxBytes = 1000 }, wire.FetchTooLarge, fmt.Sprintf("the provider announces %d bytes, at most 1000 are taken", len(export))},
		"found to be too large": {unannounced, func(s *wire.FetchSpec) { s.MaxBytes = 100_000 }, wire.FetchTooLarge, "more came than the 100000 bytes that are taken"},
		"another length":        {whole, func(s *wire.FetchSpec) { s.ExpectedBytes = &other }, wire.FetchWrongLength, fmt.Sprintf("%d bytes came, 12 were expected", len(export))},
		"another digest":        {whole, func(s *wire.FetchSpec) { s.ExpectedSHA256 = strings.Repeat("0", 64) }, wire.FetchWrongDigest, "the SHA-256 is " + digestOf(export)},
		"denied":                {answers(403, ""), nil, wire.FetchDenied, "answered 403"},
		"gone":                  {answers(410, ""), nil, wire.FetchReferenceExpired, "answered 410"},
		"a page of something":   {answers(203, "<html>"), nil, wire.FetchUnexpectedAnswer, "answered 203"},
		"a part nobody wanted":  {answers(206, "..."), nil, wire.FetchUnexpectedAnswer, "answered 206"},
		"nowhere":               {answers(302, ""), nil, wire.FetchUnexpectedAnswer, "a redirect (302) that leads nowhere"},
		"no such destination":   {whole, func(s *wire.FetchSpec) { s.Destination = "archive" }, wire.FetchDestinationUnknown, `this worker has no destination "archive"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFetcher(t, test.handler)
			outcome := f.ended(test.change)
			require.Equal(t, wire.FetchFailed, outcome.Status)
			require.Equal(t, test.reason, outcome.Reason)
			require.Equal(t, test.detail, outcome.Detail)
			require.Zero(t, outcome.Bytes)
			f.nothing()
		})
	}
}

// endless is an answer that is over when the connection is, as of servers that speak HTTP/1.0.
func endless(w http.ResponseWriter, _ *http.Request) {
	connection, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	_, _ = buffered.WriteString("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nrows")
	_ = buffered.Flush()
	_ = connection.Close()
}

// A result that may have been cut is whole only if the caller knows what is, and is asked for again if it was.
func TestFetchOfUnknownLength(t *testing.T) {
	t.Parallel()
	f := newFetcher(t, endless)
	size := int64(len("rows"))
	require.Equal(t, wire.FetchDone, f.ended(func(s *wire.FetchSpec) { s.ExpectedBytes = &size }).Status)

	g, less, more := newFetcher(t, endless), size-1, size+1
	for name, test := range map[string]struct {
		change func(*wire.FetchSpec)
		reason wire.FetchReason // empty: it is asked for again
	}{
		"shorter":        {func(s *wire.FetchSpec) { s.ExpectedBytes = &more }, ""},
		"another digest": {func(s *wire.FetchSpec) { s.ExpectedSHA256 = digestOf(export) }, ""},
		"longer":         {func(s *wire.FetchSpec) { s.ExpectedBytes = &less }, wire.FetchWrongLength},
		"another digest of the right length": {func(s *wire.FetchSpec) {
			s.ExpectedBytes, s.ExpectedSHA256 = &size, digestOf(export)
		}, wire.FetchWrongDigest},
	} {
		t.Run(name, func(t *testing.T) {
			if test.reason != "" {
				require.Equal(t, test.reason, g.ended(test.change).Reason)
				return
			}
			require.Equal(t, "it ended after 4 bytes and may have been cut", g.interrupted(test.change).Message())
		})
	}
	g.nothing()
}

// A failure that may pass asks for another attempt, when the provider says so.
func TestFetchIsTriedAgain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		detail  string
		after   time.Duration
	}{
		"503":       {answers(503, "", "Retry-After", "120"), "answered 503", 2 * time.Minute},
		"429":       {answers(429, "", "Retry-After", "-5"), "answered 429", 0},
		"no answer": {func(w http.ResponseWriter, _ *http.Request) { hangUp(w) }, wire.TransportReset, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFetcher(t, test.handler)
			again := f.interrupted(nil)
			require.Equal(t, test.detail, again.Message())
			require.Equal(t, test.after, again.NextRetryDelay())
			f.nothing()
		})
	}
}

// R51, R52: which URLs are asked at all.
func TestFetchAsksOnlyWhereItMay(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ address, detail string }{
		"relative":              {"/files/1", "it is not an absolute URL"},
		"file":                  {"file:///etc/passwd", "the scheme is not http or https"},
		"userinfo":              {"https://a:" + marker + "@files.example.com/1", "the URL has userinfo"},
		"plain http elsewhere":  {"http://files.example.com/1", "it is not https, nor at an origin of the provider's table"},
		"another loopback port": {"http://127.0.0.1:1/x", "it is not https, nor at an origin of the provider's table"},
		"metadata":              {"https://169.254.169.254/latest", (&addressError{}).Error()},
		"private":               {"https://[fd00::1]/x", (&addressError{}).Error()},
		"private by name":       {"https://localhost/x", (&addressError{}).Error()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFetcher(t, answers(200, "no"))
			outcome := f.ended(func(s *wire.FetchSpec) { s.URL = test.address })
			require.Equal(t, wire.FetchReferenceRejected, outcome.Reason)
			require.Equal(t, test.detail, outcome.Detail)
			require.Zero(t, f.connected())

			led := newFetcher(t, answers(302, "", "Location", test.address))
			require.Equal(t, wire.FetchFailed, led.ended(nil).Status, "a redirect leads nowhere else")
			led.nothing()
		})
	}
}

// R51: a redirect to a signed link is followed without the credential, which stays with its own origin.
func TestFetchFollowsWithoutTheCredential(t *testing.T) {
	t.Parallel()
	var seen http.Header
	store := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header.Clone()
		_, _ = w.Write(export)
	}))
	t.Cleanup(store.Close)
	f := newFetcher(t, answers(302, "", "Location", "https://files.example.com/signed?token="+marker))
	f.options.RootCAs = x509.NewCertPool()
	f.options.RootCAs.AddCert(store.Certificate())
	f.options.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasPrefix(address, "files.example.com:") {
			address = store.Listener.Addr().String()
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	require.Equal(t, wire.FetchDone, f.ended(nil).Status)
	require.Equal(t, export, f.written())
	require.Equal(t, "Bearer "+marker, f.saw()[0].Header.Get("Authorization"))
	require.Empty(t, seen.Get("Authorization"))
}

// A loop ends.
func TestFetchDoesNotFollowForEver(t *testing.T) {
	t.Parallel()
	f := newFetcher(t, answers(307, "", "Location", "/files/exp_71c.csv"))
	outcome := f.ended(nil)
	require.Equal(t, "more than 5 redirects", outcome.Detail)
	require.Len(t, f.saw(), maxRedirects+1)
}

// An object of somebody else is never overwritten.
func TestFetchOverwritesNothing(t *testing.T) {
	t.Parallel()
	f := newFetcher(t, answers(200, string(export)))
	require.NoError(t, os.MkdirAll(filepath.Join(f.dir, "2026"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(f.dir, "2026", "exp_71c.csv"), []byte("precious"), 0o600))
	outcome := f.ended(nil)
	require.Equal(t, wire.FetchDestinationTaken, outcome.Reason)
	require.Equal(t, "precious", string(f.written()))
	require.Zero(t, f.connected(), "nothing is asked for in vain")
}

// Its own is what the same execution wrote: a later fetch of the same workflow id, or one from before there were runs in the mark, has
// an object that its own record tells of.
func TestFetchKnowsItsOwnByTheRun(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		wrote, finds string
		own          bool
	}{
		"another attempt":           {"run-1", "run-1", true},
		"a later fetch":             {"run-1", "run-2", false},
		"after a version of before": {"", "run-2", false},
		"a fetch of before":         {"", "", true},
		"a fetch of before, later":  {"run-1", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFetcher(t, answers(200, string(export)))
			f.found = map[string]string{"file": f.spec().URL}
			carry := func(run string) wire.FetchOutcome {
				var response wire.FetchResponse
				require.NoError(t, f.run(wire.ActivityFetchResult, wire.FetchRequest{Spec: f.spec(), FirstRunID: run}, &response))
				return response.Outcome
			}
			require.Equal(t, wire.FetchDone, carry(test.wrote).Status)
			again := carry(test.finds)
			require.Equal(t, test.own, again.Status == wire.FetchDone)
			require.Equal(t, !test.own, again.Reason == wire.FetchDestinationTaken)
			require.Equal(t, export, f.written())
		})
	}
}

// A worker that counted as lost may finish first: what it wrote is this fetch's own, and nobody else's.
func TestFetchFindsWhatItsLostAttemptWrote(t *testing.T) {
	t.Parallel()
	asked, lost := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	f := newFetcher(t, func(w http.ResponseWriter, _ *http.Request) {
		if first.CompareAndSwap(false, true) {
			close(asked)
			<-lost
		}
		_, _ = w.Write(export)
	})
	f.found = map[string]string{"file": f.spec().URL}
	ended := make(chan error, 1)
	go func() {
		ended <- f.run(wire.ActivityFetchResult, wire.FetchRequest{Spec: f.spec()}, nil)
	}()
	<-asked
	require.Equal(t, wire.FetchDone, f.ended(nil).Status)
	close(lost)
	require.ErrorContains(t, <-ended, wire.FetchDestination+"another attempt has written it")
	require.Equal(t, wire.FetchDone, f.ended(nil).Status)
	require.Equal(t, export, f.written())
}

// The destination's own bounds hold beside the fetch's.
func TestFetchKeepsToItsDestination(t *testing.T) {
	t.Parallel()
	f := newFetcher(t, answers(200, string(export)))
	bounded := f.options.Destinations["reports"]
	bounded.MaxBytes = 10
	f.options.Destinations["reports"] = bounded
	require.Equal(t, wire.FetchTooLarge, f.ended(nil).Reason)

	bounded.Accounts = []string{"acct-1"}
	f.options.Destinations["reports"] = bounded
	require.Equal(t, wire.FetchDestinationUnknown, f.ended(nil).Reason)
	f.nothing()
}

// R21: connections that bring hardly anything follow one another with a second between them, and not for ever.
func TestFetchDoesNotHammer(t *testing.T) {
	t.Parallel()
	short := breaking(10, 100, tagged)
	var asked []time.Time
	f := newFetcher(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, time.Now())
		short(w, r)
	})
	require.Equal(t, wire.TransportReset, f.interrupted(nil).Message())
	require.Len(t, asked, maxShort+1)
	for i, at := range asked[1:] {
		require.GreaterOrEqual(t, at.Sub(asked[i]), betweenShort)
	}
	f.nothing()
}

// A fetch that pauses as its worker stops is another worker's.
func TestFetchLeavesWithItsWorker(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	short := breaking(10, 100, tagged)
	f := newFetcher(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		short(w, r)
	})
	f.stops = make(chan struct{})
	close(f.stops)
	require.Equal(t, errWorkerStops.Error(), f.interrupted(nil).Message())
	require.EqualValues(t, 1, asked.Load())
	f.nothing()
}

// Short connections are counted in a row: a piece that came ends it.
func TestFetchGoesOnWhileItGetsOn(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	short, whole := breaking(10, 100, tagged), breaking(fetchPiece, 1, tagged)
	f := newFetcher(t, func(w http.ResponseWriter, r *http.Request) {
		if n := asked.Add(1); n == 4 || n > 7 {
			whole(w, r)
			return
		}
		short(w, r)
	})
	outcome := f.ended(nil)
	require.Equal(t, digestOf(export), outcome.SHA256)
	require.Equal(t, 7, outcome.Resumed)
	require.Greater(t, outcome.Resumed, maxShort+1)
}

// A connection that stands and brings nothing is given up.
func TestFetchGivesUpAQuietConnection(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"before the answer": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"within the body": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "a beginning")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFetcher(t, handler)
			acts, err := New(f.options)
			require.NoError(t, err)
			spec := f.spec()
			table, err := acts.tableFor(spec)
			require.NoError(t, err)
			d := &download{
				sender: acts.sender, address: spec.URL, limit: 1 << 20, patience: 50 * time.Millisecond,
				clear: func(ctx context.Context, address string, allowed allowance) (hop, error) {
					return acts.clearHop(ctx, table, spec, address, allowed)
				},
				pass: func(context.Context, hop) (*passage, error) { return acts.passageOf(lanes.Key{}, lanes.Verdict{}), nil },
			}
			err = d.open(t.Context())
			if err == nil {
				_, err = d.copyTo(t.Context(), io.Discard)
			}
			require.EqualError(t, err, wire.TransportTimeout)
		})
	}
}

func TestLoadDestinations(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := write(t, "destinations.yaml", fmt.Sprintf("destinations: {reports: {url: 'file://%s?no_tmp_dir=true', max_bytes: 10}}", dir))
	opened, err := LoadDestinations(t.Context(), file)
	require.NoError(t, err)
	require.EqualValues(t, 10, opened["reports"].MaxBytes)
	require.NoError(t, opened["reports"].Bucket.Close())
	require.Contains(t, blob.DefaultURLMux().BucketSchemes(), "file")

	for text, want := range map[string]string{
		`destinations: {r: {url: nowhere}}`:                             `destinations: "r": url is not a URL`,
		`destinations: {r: {url: "s3://bucket?key=` + marker + `"}}`:    `destinations: "r": url has the scheme "s3", for which this worker has no driver; it knows ["file"]`,
		`destinations: {r: {url: "file:///no/such/` + marker + `"}}`:    `destinations: "r": the file bucket cannot be opened`,
		`destinations: {r: {url: "file://` + dir + `", max_bytes: -1}}`: `destinations: "r": max_bytes is -1`,
		`destinations: {r: {path: "/x"}}`:                               `line 1: a field that is not known`,
	} {
		_, err := LoadDestinations(t.Context(), write(t, "destinations.yaml", text))
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), marker)
	}
}
