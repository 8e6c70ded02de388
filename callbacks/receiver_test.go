package callbacks_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/callbacks"
	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

var now = time.Now()

// sut is a receiver, and a server of waits that remembers the signals it was sent.
type sut struct {
	*testing.T
	receiver *callbacks.Receiver
	endpoint callbacks.Endpoint
	log      *bytes.Buffer

	mu      sync.Mutex
	signals []string
	sources []string
	fails   error
	taken   atomic.Int64
}

func known(value string) activities.SecretSource {
	return func(context.Context) (activities.Secret, error) { return activities.NewSecret(value) }
}

func receiving(t *testing.T, tables *statetables.Set, endpoint callbacks.Endpoint) *sut {
	t.Helper()
	return receivingWithin(t, tables, endpoint, callbacks.Limits{})
}

func receivingWithin(t *testing.T, tables *statetables.Set, endpoint callbacks.Endpoint, limits callbacks.Limits) *sut {
	t.Helper()
	if endpoint.Secrets == nil {
		endpoint.Secrets = []activities.SecretSource{known(secret)}
	}
	s := &sut{T: t, endpoint: endpoint, log: &bytes.Buffer{}}
	var err error
	s.receiver, err = callbacks.New(t.Context(), callbacks.Options{
		Tables: tables, Endpoints: []callbacks.Endpoint{endpoint}, Limits: limits, Metrics: metrics{client.MetricsNopHandler, s}, Logger: slog.New(slog.NewTextHandler(s.log, nil)),
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.receiver.Run(ctx, s)
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return s
}

// SignalWorkflow takes what the receiver sends; it is nothing but nudges.
func (s *sut) SignalWorkflow(_ context.Context, workflowID, runID, name string, arg any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	nudge, ok := arg.(wire.Nudge)
	if !ok || name != wire.SignalNudge || runID != "" {
		s.Errorf("signal %q of %T for run %q", name, arg, runID)
	}
	s.signals, s.sources = append(s.signals, workflowID), append(s.sources, nudge.Source)
	return s.fails
}

func (s *sut) send(request *http.Request) int {
	s.Helper()
	answer := httptest.NewRecorder()
	s.receiver.ServeHTTP(answer, request)
	require.Empty(s, answer.Body.String(), "an answer says nothing")
	return answer.Code
}

// nudged are the waits that were sent a nudge, once all are that were to be: a webhook is counted before it is answered.
func (s *sut) nudged() []string {
	s.Helper()
	var found []string
	require.Eventually(s, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		found = slices.Clone(s.signals)
		return int64(len(found)) >= s.taken.Load()
	}, 30*time.Second, time.Millisecond)
	return found
}

type metrics struct {
	client.MetricsHandler
	*sut
}

// WithTags counts what was taken to be sent.
func (s metrics) WithTags(tags map[string]string) client.MetricsHandler {
	if tags["kind"] == "nudged" {
		return taking{client.MetricsNopHandler, s.sut}
	}
	return client.MetricsNopHandler
}

type taking struct {
	client.MetricsHandler
	*sut
}

func (t taking) Counter(string) client.MetricsCounter { return t }
func (t taking) Inc(n int64)                          { t.taken.Add(n) }

// own is a provider whose webhooks are signed in the ways of a test.
func own(t *testing.T, callback string) *statetables.Set {
	t.Helper()
	text := `provider: acme
title: Acme
sources: {docs: {at: "https://docs.example.com", read: 2026-01-31, for: [request, state, states, success_requires]}}
read_only: {source: docs}
request: {url: "https://api.example.com/{job_id}", auth: {scheme: bearer}}
state: body.state
states: {pending: [running], success: [done]}
success_requires: {none: it is over}
example_job: {id: j-1}
examples:
  - {name: running, given: {body: {state: running}}, want: {category: pending, raw_state: running}}
callback: ` + callback
	tables, err := statetables.Load(statetables.Source{FS: fstest.MapFS{"acme.yaml": {Data: []byte(text)}}})
	require.NoError(t, err)
	return tables
}

const plain = `
  job_id: body.id
  signature: {scheme: standard_webhooks}
  source: docs
  examples: [{name: one, body: {id: j-1}, want: {job_id: j-1}}]
`

func acme(name string) callbacks.Endpoint {
	return callbacks.Endpoint{Name: name, Providers: []string{"acme"}, Account: "acct"}
}

// webhook is a genuine delivery about a job.
func webhook(path, id, body string) *http.Request {
	request := httptest.NewRequestWithContext(context.Background(), http.MethodPost, path, strings.NewReader(body))
	standardWebhooks(request.Header, secret, body, now)
	header := request.Header
	unix := header.Get("Webhook-Timestamp")
	header.Set("Webhook-Id", id)
	header.Set("Webhook-Signature", "v1,"+base64Of(sha256Of(key, id+"."+unix+"."+body)))
	return request
}

// A delivery that is repeated, however often, reaches the wait once; so do many different ones in a row, and the last word is not lost.
func TestRepeatedDeliveries(t *testing.T) {
	t.Parallel()
	s := receiving(t, own(t, plain), acme("here"))
	for range 30 {
		require.Equal(t, http.StatusNoContent, s.send(webhook("/callbacks/here", "msg_1", `{"id":"j-1"}`)))
	}
	require.Equal(t, []string{"jobwait/acme/acct/j-1"}, s.nudged())
	for i := range 30 {
		require.Equal(t, http.StatusNoContent, s.send(webhook("/callbacks/here", fmt.Sprint("other_", i), `{"id":"j-1"}`)))
	}
	require.Len(t, s.nudged(), 1, "those that follow at once are kept back")
	require.Equal(t, []string{"callback of here"}, s.sources)
	require.Eventually(t, func() bool { return len(s.nudged()) == 2 }, 30*time.Second, 50*time.Millisecond, "and said once")
}

// Whoever has no secret learns nothing: not which endpoints there are, and not from a job that nobody waits for.
func TestAnswersTellNothing(t *testing.T) {
	t.Parallel()
	s := receiving(t, own(t, plain), acme("here"))
	s.fails = serviceerror.NewNotFound("no such wait")
	forged := webhook("/callbacks/here", "msg_1", `{"id":"j-1"}`)
	forged.Header.Set("Webhook-Signature", "v1,"+base64Of(sha256Of([]byte("another key"), "x")))
	require.Equal(t, http.StatusUnauthorized, s.send(forged))
	require.Equal(t, http.StatusUnauthorized, s.send(webhook("/callbacks/elsewhere", "msg_1", `{"id":"j-1"}`)))
	for _, path := range []string{"/callbacks/here", "/callbacks/elsewhere"} {
		large := webhook(path, "msg_1", strings.Repeat("x", statetables.MaxBodyBytes+1))
		require.Equal(t, http.StatusRequestEntityTooLarge, s.send(large), path)
		cut := httptest.NewRequestWithContext(context.Background(), http.MethodPost, path, iotest.ErrReader(io.ErrUnexpectedEOF))
		require.Equal(t, http.StatusBadRequest, s.send(cut), path)
	}
	require.Empty(t, s.nudged())
	require.Equal(t, http.StatusNoContent, s.send(webhook("/callbacks/here", "msg_1", `{"id":"nobody waits"}`)))
	require.Equal(t, http.StatusNoContent, s.send(webhook("/callbacks/here", "msg_2", `not json`)))
	require.Equal(t, []string{"jobwait/acme/acct/nobody%20waits"}, s.nudged())
	require.NotContains(t, s.log.String(), secret)
	require.NotContains(t, s.log.String(), "nobody waits")
}

// A forgery with the id of a delivery that is still to come does not keep that one out.
func TestForgeriesAreNotRemembered(t *testing.T) {
	t.Parallel()
	s := receiving(t, own(t, plain), acme("here"))
	forged := webhook("/callbacks/here", "msg_1", `{"id":"j-1"}`)
	forged.Header.Set("Webhook-Signature", "v1,AAAA")
	require.Equal(t, http.StatusUnauthorized, s.send(forged))
	require.Equal(t, http.StatusNoContent, s.send(webhook("/callbacks/here", "msg_1", `{"id":"j-1"}`)))
	require.Len(t, s.nudged(), 1)
}

func TestBounds(t *testing.T) {
	t.Parallel()
	s := receivingWithin(t, own(t, plain), acme("here"), callbacks.Limits{MaxBodyBytes: 1 << 10, PerSecond: 1, Burst: 5})
	require.Equal(t, http.StatusRequestEntityTooLarge, s.send(webhook("/callbacks/here", "a", `{"id":"`+strings.Repeat("x", 1<<10)+`"}`)))
	require.Equal(t, http.StatusMethodNotAllowed, func() int {
		answer := httptest.NewRecorder()
		s.receiver.ServeHTTP(answer, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/callbacks/here", nil))
		return answer.Code
	}())
	codes := map[int]int{}
	for i := range 10 {
		codes[s.send(webhook("/callbacks/here", fmt.Sprint(i), `{"id":"j-1"}`))]++
	}
	require.GreaterOrEqual(t, codes[http.StatusTooManyRequests], 5)
	other := webhook("/callbacks/here", "of another", `{"id":"j-2"}`)
	other.RemoteAddr = "198.51.100.7:4711"
	require.Equal(t, http.StatusNoContent, s.send(other), "one source does not use up another's")
}

// No more are looked at side by side than was allowed.
func TestNoMoreAtATime(t *testing.T) {
	t.Parallel()
	s := receivingWithin(t, own(t, plain), acme("here"), callbacks.Limits{Concurrent: 1})
	slow, write := net.Pipe()
	looking := make(chan int)
	go func() {
		request := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/callbacks/here", slow)
		answer := httptest.NewRecorder()
		s.receiver.ServeHTTP(answer, request)
		looking <- answer.Code
	}()
	_, err := write.Write([]byte("{")) // it is being read
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, s.send(webhook("/callbacks/here", "a", `{"id":"j-1"}`)))
	require.NoError(t, write.Close())
	require.Equal(t, http.StatusUnauthorized, <-looking)
	require.Equal(t, http.StatusNoContent, s.send(webhook("/callbacks/here", "a", `{"id":"j-1"}`)))
}

// While a secret is changed, the old and the new one are good.
func TestSeveralSecrets(t *testing.T) {
	t.Parallel()
	at := acme("here")
	at.Secrets = []activities.SecretSource{known("whsec_" + strings.Repeat("A", 32)), known(secret)}
	s := receiving(t, own(t, plain), at)
	require.Equal(t, http.StatusNoContent, s.send(webhook("/callbacks/here", "a", `{"id":"j-1"}`)))
	require.Len(t, s.nudged(), 1)
}

// Who hangs up does not keep a replaced secret good: secrets are read for everybody.
func TestSecretsAreReadForAll(t *testing.T) {
	t.Parallel()
	value := secret
	at := acme("here")
	at.Secrets = []activities.SecretSource{func(ctx context.Context) (activities.Secret, error) {
		if ctx.Err() != nil {
			return activities.Secret{}, ctx.Err()
		}
		return activities.NewSecret(value)
	}}
	s := receiving(t, own(t, plain), at)
	value = "whsec_" + strings.Repeat("A", 32)
	gone, hangUp := context.WithCancel(context.Background())
	hangUp()
	require.Equal(t, http.StatusUnauthorized, s.send(webhook("/callbacks/here", "a", `{"id":"j-1"}`).WithContext(gone)))
	require.Equal(t, http.StatusUnauthorized, s.send(webhook("/callbacks/here", "b", `{"id":"j-1"}`)))
}

// The job and the account may stand in the webhook's URL and body; another account than the endpoint's is passed over.
func TestWhereTheJobStands(t *testing.T) {
	t.Parallel()
	tables := own(t, `
  job_id: path
  account: body.org
  signature: {scheme: standard_webhooks}
  source: docs
  examples: [{name: one, path: j/1, body: {org: acct}, want: {job_id: j/1, account: acct}}]
`)
	s := receiving(t, tables, acme("here"))
	require.Equal(t, http.StatusNoContent, s.send(webhook("/callbacks/here/j/1", "a", `{"org":"acct"}`)))
	require.Equal(t, http.StatusNoContent, s.send(webhook("/callbacks/here/j-2", "a", `{"org":"another"}`)))
	require.Equal(t, http.StatusNoContent, s.send(webhook("/callbacks/here", "a", `{"org":"acct"}`)), "about no job")
	require.Equal(t, []string{"jobwait/acme/acct/j%2F1"}, s.nudged())
	open := acme("here")
	open.Account = ""
	s = receiving(t, tables, open)
	require.Equal(t, http.StatusNoContent, s.send(webhook("/callbacks/here/j-2", "a", `{"org":"another"}`)))
	require.Equal(t, []string{"jobwait/acme/another/j-2"}, s.nudged())
}

// A server that does not answer costs a line in the log and nothing else.
func TestNudgesThatFail(t *testing.T) {
	t.Parallel()
	s := receiving(t, own(t, plain), acme("here"))
	s.fails = errors.New("unavailable")
	require.Equal(t, http.StatusNoContent, s.send(webhook("/callbacks/here", "a", `{"id":"j-1"}`)))
	require.Len(t, s.nudged(), 1)
}

func TestOptionsAreRefused(t *testing.T) {
	t.Parallel()
	token := own(t, `
  job_id: body.id
  signature: {scheme: token}
  source: docs
  examples: [{name: one, body: {id: j-1}, want: {job_id: j-1}}]
`)
	builtin, err := statetables.Load(statetables.Source{FS: statetables.Builtin()})
	require.NoError(t, err)
	for name, test := range map[string]struct {
		tables   *statetables.Set
		endpoint callbacks.Endpoint
		limits   callbacks.Limits
		err      string
	}{
		"no name":        {endpoint: callbacks.Endpoint{Providers: []string{"acme"}}, err: `callbacks: endpoint "": its name is not 1 to 64 of a-z, 0-9 and -`},
		"no provider":    {endpoint: callbacks.Endpoint{Name: "x"}, err: `callbacks: endpoint "x": providers has 0 entries, allowed is 1 to 10`},
		"no table":       {endpoint: callbacks.Endpoint{Name: "x", Providers: []string{"y"}, Account: "a"}, err: `callbacks: endpoint "x": provider "y" has no state table`},
		"no account":     {endpoint: callbacks.Endpoint{Name: "x", Providers: []string{"acme"}}, err: `callbacks: endpoint "x": account is missing: webhooks of acme do not name it`},
		"a header":       {endpoint: callbacks.Endpoint{Name: "x", Providers: []string{"acme"}, Account: "a", Header: "X-A"}, err: `callbacks: endpoint "x": header is given, but the table says where the signature stands; remove it`},
		"no header":      {tables: token, endpoint: acme("x"), err: `callbacks: endpoint "x": header is missing: the one that was chosen for the token when the webhook was set up`},
		"no callback":    {tables: builtin, endpoint: callbacks.Endpoint{Name: "x", Providers: []string{"twilio-recording"}, Account: "a"}, err: `callbacks: endpoint "x": the table of twilio-recording has no callback, so its webhooks cannot be checked`},
		"sign otherwise": {tables: builtin, endpoint: callbacks.Endpoint{Name: "x", Providers: []string{"openai-batch", "mux-asset"}, Account: "a"}, err: `callbacks: endpoint "x": mux-asset signs otherwise than openai-batch; give it an endpoint of its own`},
		"weak secret":    {endpoint: callbacks.Endpoint{Name: "x", Providers: []string{"acme"}, Account: "a", Secrets: []activities.SecretSource{known("short")}}, err: `callbacks: endpoint "x": secret 1: it is not "whsec_" and the base64 of 24 to 64 bytes`},
		"a weak token":   {tables: token, endpoint: callbacks.Endpoint{Name: "x", Providers: []string{"acme"}, Account: "a", Header: "X-A", Secrets: []activities.SecretSource{known("short")}}, err: `callbacks: endpoint "x": secret 1: it has fewer than 16 characters, and could be guessed`},
		"a limit":        {endpoint: acme("x"), limits: callbacks.Limits{Concurrent: 1001}, err: `callbacks: limits: concurrent is 1001, allowed is 1 to 1000`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.tables == nil {
				test.tables = own(t, plain)
			}
			if test.endpoint.Secrets == nil {
				test.endpoint.Secrets = []activities.SecretSource{known(secret)}
			}
			_, err := callbacks.New(t.Context(), callbacks.Options{Tables: test.tables, Endpoints: []callbacks.Endpoint{test.endpoint}, Limits: test.limits})
			require.EqualError(t, err, test.err)
		})
	}
}
