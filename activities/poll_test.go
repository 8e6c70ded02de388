package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// R1, R14: what a poll keeps of an answer.
func TestPollStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t, answers(200, `{"job_id":"exp_71c","state":"succeeded","result_url":"https://files.example.com/f"}`))
	before := time.Now().Add(-time.Second)
	seen := w.seen()
	require.Equal(t, wire.AnswerRead, seen.Answer)
	require.Equal(t, wire.CategorySuccess, seen.Job.Category)
	require.Equal(t, 200, seen.HTTPStatus)
	require.Equal(t, map[string]string{"file": "https://files.example.com/f"}, seen.Job.Result)
	require.Equal(t, "demo", seen.CredentialRef)
	require.Equal(t, "1", seen.CredentialVersion)
	require.True(t, strings.HasPrefix(seen.TableDigest, "sha256:"))
	require.WithinRange(t, *seen.SentAt, before, *seen.ReceivedAt)
	require.WithinRange(t, *seen.ReceivedAt, *seen.SentAt, time.Now().Add(time.Second))
	require.Len(t, w.saw(), 1)
	require.Equal(t, "/exports/exp_71c", w.saw()[0].URL.Path)
	require.Equal(t, "Bearer "+marker, w.saw()[0].Header.Get("Authorization"))
}

// The answers of the cases as they come out of a real exchange: each costs one request.
func TestPollReadsWhatWasAnswered(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("x", 1<<20+1)
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		answer  wire.Answer
		detail  string
		status  int
	}{
		"H3: 503":                             {answers(503, "<html>", "Retry-After", "86400"), wire.AnswerServerError, "", 503},
		"H4: 429":                             {answers(429, "", "Retry-After", "-5"), wire.AnswerRateLimited, "", 429},
		"H8: empty":                           {answers(200, ""), wire.AnswerMalformed, wire.MalformedEmptyBody, 200},
		"H9: sign-in page":                    {answers(200, "<!DOCTYPE html><html>", "Content-Type", "text/html"), wire.AnswerMalformed, wire.MalformedHTML, 200},
		"H9: JSON cut half way":               {answers(200, `{"state":"runn`), wire.AnswerMalformed, wire.MalformedTruncated, 200},
		"H12: 401":                            {answers(401, ""), wire.AnswerDenied, "", 401},
		"X2: redirect":                        {answers(302, "", "Location", "http://elsewhere.example.com/"), wire.AnswerUnexpected, "", 302},
		"R7: body above the limit":            {answers(200, huge), wire.AnswerMalformed, wire.MalformedTooLarge, 200},
		"R7: header above the limit":          {answers(200, running, "X-Padding", huge[:70<<10]), wire.AnswerMalformed, wire.MalformedTooLarge, 0},
		"R7: another coding":                  {answers(200, running, "Content-Encoding", "br"), wire.AnswerMalformed, wire.MalformedContentCoding, 200},
		"R12: 503 above the limit":            {answers(503, huge), wire.AnswerServerError, "", 503},
		"R12: 503 in another coding":          {answers(503, "?", "Content-Encoding", "br"), wire.AnswerServerError, "", 503},
		"R11: connection cut within the body": {cutAfter(200), wire.AnswerTransportFailure, wire.TransportReset, 0},
		"R12: 503 cut within the body":        {cutAfter(503), wire.AnswerServerError, "", 503},
		"R9: 403 cut within the body":         {cutAfter(403), wire.AnswerDenied, "", 403},
		"R11: no answer":                      {func(w http.ResponseWriter, _ *http.Request) { hangUp(w) }, wire.AnswerTransportFailure, wire.TransportReset, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, test.handler)
			seen := w.seen()
			require.Equal(t, test.answer, seen.Answer)
			require.Equal(t, test.detail, seen.Detail)
			require.Equal(t, test.status, seen.HTTPStatus)
			require.Nil(t, seen.Job)
			require.NotNil(t, seen.SentAt)
			require.Len(t, w.saw(), 1)
		})
	}
}

func cutAfter(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(running))
		_ = http.NewResponseController(w).Flush()
		hangUp(w)
	}
}

// R16, H3: the 503 that go-retryablehttp would swallow brings its Retry-After.
func TestRetryAfterOfFailuresIsKept(t *testing.T) {
	t.Parallel()
	for _, handler := range []http.HandlerFunc{
		answers(503, "", "Retry-After", "120"), answers(429, "", "Retry-After", "120"), answers(200, running, "Retry-After", "120"),
	} {
		seen := newWorld(t, handler).seen()
		require.NotNil(t, seen.Guidance.RetryAfterSeconds)
		require.EqualValues(t, 120, *seen.Guidance.RetryAfterSeconds)
	}
}

// R2, R11: a provider that holds its answer costs one request, and the time-out says that it may have been delivered.
func TestPollTimesOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	result := w.poll(func(r *wire.PollRequest) { r.TimeoutSeconds = 1 })
	require.Equal(t, wire.TransportTimeout, result.Observation.Detail)
	require.NotNil(t, result.Observation.SentAt)
	require.Nil(t, result.Observation.ReceivedAt)
	require.Len(t, w.saw(), 1)
}

// What is looked at before anything leaves, each with the word and the way it is told. Nothing is even connected to.
func TestNothingLeaves(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*world, *wire.PollRequest)
		why    wire.NotSent
		detail string
	}{
		"R31: reset": {func(_ *world, r *wire.PollRequest) {
			r.OriginalRunID, r.AcknowledgedRuns = "first-run", []string{"another-run"}
		}, wire.NotSentHistoryReset, ""},
		"table gone": {func(_ *world, r *wire.PollRequest) {
			r.Provider = "demo-import"
		}, wire.NotSentTableMissing, `this worker has no table for provider "demo-import"`},
		"R9: denied version": {func(_ *world, r *wire.PollRequest) {
			r.DeniedVersions = []string{"0", "1"}
		}, wire.NotSentCredentialDenied, ""},
		"R50: unknown credential": {func(_ *world, r *wire.PollRequest) {
			r.CredentialRef = "gone"
		}, wire.NotSentCredentialUnresolved, `unknown credential "gone"`},
		"R50: no credential": {func(_ *world, r *wire.PollRequest) {
			r.CredentialRef = ""
		}, wire.NotSentCredentialUnresolved, `unknown credential ""`},
		"R50: faulty entry": {func(w *world, _ *wire.PollRequest) {
			w.options.Credentials = lazily{w.options.Credentials}
			w.entry("{version: 2}")
		}, wire.NotSentCredentialUnresolved, `credentials: "demo": exactly one of env and file`},
		"R50: a source that quotes a page": {func(w *world, _ *wire.PollRequest) {
			w.options.Credentials = away{}
		}, wire.NotSentCredentialUnresolved, "the vault is away: " + strings.Repeat("x", 1024-len("the vault is away: "))},
		"R50: secret with a line break": {func(w *world, _ *wire.PollRequest) {
			w.secret(marker + "\r\nX-Injected: 1")
		}, wire.NotSentCredentialUnresolved, `credentials: "demo": file key: the value holds a line break`},
		"R51: another provider's credential": {func(w *world, _ *wire.PollRequest) {
			w.entry(fmt.Sprintf(`{version: "1", file: key, origins: [%q], providers: [openai-batch]}`, w.URL))
		}, wire.NotSentURLRejected, `credential "demo" is not for provider "demo-export"`},
		"R51: another account's credential": {func(w *world, _ *wire.PollRequest) {
			w.entry(fmt.Sprintf(`{version: "1", file: key, origins: [%q], accounts: [acct-1]}`, w.URL))
		}, wire.NotSentURLRejected, `credential "demo" is not for account "acct-42"`},
		"R51: another origin than the credential's": {func(w *world, _ *wire.PollRequest) {
			w.entry(`{version: "1", file: key, origins: ["http://127.0.0.1:1"]}`)
		}, wire.NotSentURLRejected, `credential "demo" may not be sent to the origin of this request`},
		"scheme that the table has not": {func(w *world, _ *wire.PollRequest) {
			w.entry(fmt.Sprintf(`{version: "1", file: key, origins: [%q], scheme: basic}`, w.URL))
		}, wire.NotSentCredentialUnresolved, `credential "demo": scheme "basic" is not one of the provider's table, which takes bearer`},
		"X1: metadata address": {func(_ *world, r *wire.PollRequest) {
			r.StatusURL = "http://169.254.169.254/latest/meta-data"
		}, wire.NotSentURLRejected, ""},
		"X3: userinfo": {func(_ *world, r *wire.PollRequest) {
			r.StatusURL = strings.Replace(r.StatusURL, "://", "://user:"+marker+"@", 1)
		}, wire.NotSentURLRejected, ""},
		"T4: too late": {func(_ *world, r *wire.PollRequest) {
			r.NotAfter = time.Now().Add(-10 * time.Minute)
		}, wire.NotSentTooLate, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, answers(200, running))
			result := w.poll(func(r *wire.PollRequest) { test.change(w, r) })
			require.Equal(t, test.why, result.NotSent)
			require.Contains(t, result.Detail, test.detail)
			require.LessOrEqual(t, len(result.Detail), 1024)
			require.Nil(t, result.Observation)
			require.Zero(t, w.connected())
			require.NotContains(t, fmt.Sprintf("%+v", result), marker)
			require.NotContains(t, w.log.String(), marker)
			require.Contains(t, w.log.String(), string(test.why), "the operator is told")
		})
	}
}

// lazily hides that a source can be checked when the worker starts.
type lazily struct{ CredentialSource }

// away is a source that cannot be reached, and says so at length.
type away struct{}

func (away) Credential(context.Context, string) (Credential, error) {
	return Credential{}, errors.New("the vault is away: " + strings.Repeat("x", 1<<20))
}

// R31: the reset names its run; acknowledged, it goes on.
func TestAcknowledgedResetGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, answers(200, running))
	reset := func(r *wire.PollRequest) { r.OriginalRunID = "first-run" }
	require.Equal(t, wire.PollResult{Withheld: wire.Withheld{NotSent: wire.NotSentHistoryReset, RunID: testRun}}, w.poll(reset))
	require.Zero(t, w.connected())

	result := w.poll(func(r *wire.PollRequest) { reset(r); r.AcknowledgedRuns = []string{testRun} })
	require.Equal(t, wire.AnswerRead, result.Observation.Answer)
	result = w.poll(func(r *wire.PollRequest) { r.OriginalRunID = testRun })
	require.Equal(t, wire.AnswerRead, result.Observation.Answer)
}

// R9, R50: a rotated credential is picked up by the next request, without a restart.
func TestRotatedCredentialIsUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, answers(200, running))
	denied := func(r *wire.PollRequest) { r.DeniedVersions = []string{"1"} }
	require.Equal(t, wire.PollResult{Withheld: wire.Withheld{NotSent: wire.NotSentCredentialDenied, CredentialVersion: "1"}}, w.poll(denied))

	w.entry(fmt.Sprintf(`{version: "2", file: key, origins: [%q]}`, w.URL))
	w.secret("rotated-key-2")
	require.Equal(t, "2", w.poll(denied).Observation.CredentialVersion)
	require.Equal(t, "Bearer rotated-key-2", w.saw()[0].Header.Get("Authorization"))
}

// R14, R50: a provider that repeats the key in whatever it answers does not get it into history or into a log.
func TestEchoedSecretIsForgotten(t *testing.T) {
	t.Parallel()
	echo := fmt.Sprintf(`{"job_id":"exp_71c","state":"failed %[1]s","result_url":"https://files.example.com/%[1]s","error":{"code":"%[1]s","message":"bad key %[1]s"}}`, marker)
	w := newWorld(t, answers(200, echo, "X-Request-Id", marker, "Retry-After", marker))
	seen := w.seen()
	text, err := json.Marshal(seen)
	require.NoError(t, err)
	require.NotContains(t, string(text), marker)
	require.NotContains(t, w.log.String(), marker)
	require.Contains(t, string(text), redacted, "the control: the answer did reach the reading")
	require.Contains(t, w.saw()[0].Header.Get("Authorization"), marker, "the control: it was sent")
}

// R52: a provider's name that leads into a private network is found out after DNS, and nothing is connected to.
func TestNameOfPrivateAddressIsRejected(t *testing.T) {
	t.Parallel()
	w := newWorld(t, answers(200, running))
	tables, err := statetables.Load(statetables.Source{FS: statetables.Builtin()})
	require.NoError(t, err)
	w.options.Tables = tables
	w.options.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{Control: publicOnly}).DialContext(ctx, network, w.Listener.Addr().String())
	}
	w.entry(`{version: "1", file: key, origins: ["https://api.openai.com"]}`)
	result := w.poll(func(r *wire.PollRequest) { r.Provider, r.ProviderJobID, r.StatusURL = "openai-batch", "batch_71c", "" })
	require.Equal(t, wire.NotSentURLRejected, result.NotSent)
	require.Equal(t, (&addressError{}).Error(), result.Detail)
	require.Zero(t, w.connected())
}

// R51, R52: the last look at where a request goes, whoever built it.
func TestDestination(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]string{
		"https://api.example.com/jobs/1":     "",
		"https://API.example.com:443/jobs/1": "",
		"http://api.example.com/jobs/1":      "not at an origin that the table accepts",
		"https://api.example.com:8443/":      "not at an origin that the table accepts",
		"https://evil.example.com/":          "not at an origin that the table accepts",
		"https://key@api.example.com/":       "userinfo",
		"ftp://api.example.com/":             "the scheme is not http or https",
		"/jobs/1":                            "the scheme is not http or https",
		"https://":                           "no host",
		"https://api.example.com:port/":      "cannot be parsed",
		"https://169.254.169.254/":           "not public",
		"https://[fd00:ec2::254]/":           "not public",
	} {
		_, refused := destination(statetables.Request{URL: target, Origins: []string{
			"https://api.example.com:443", "https://169.254.169.254:443", "https://[fd00:ec2::254]:443",
		}})
		if want == "" {
			require.Nil(t, refused, target)
			continue
		}
		require.NotNil(t, refused, target)
		require.Equal(t, wire.NotSentURLRejected, refused.why)
		require.Contains(t, refused.detail, want)
		require.NotContains(t, refused.detail, "jobs/1")
	}
}

func TestPollWithoutTimeoutIsAProgrammingFault(t *testing.T) {
	t.Parallel()
	w := newWorld(t, answers(200, running))
	err := w.run(wire.ActivityPollStatus, wire.PollRequest{Target: w.target()}, nil)
	require.ErrorContains(t, err, "poll: timeout_seconds 0: at least 1 is needed")
	require.Zero(t, w.connected())
}
