package activities

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// world is a worker's activities with a provider of demo-export beside them. Options may be changed before the first use.
type world struct {
	*provider
	t       *testing.T
	options Options
	// credentials is the credentials file, key the file with the secret.
	credentials, key string
	log              *lockedBuffer
	// heartbeat is what an earlier attempt left behind.
	heartbeat any
	// stops says that the worker stops; nil: it does not.
	stops chan struct{}
}

// newWorld serves the handler as demo-export, with a credential "demo" whose secret is the marker.
func newWorld(t *testing.T, handler http.HandlerFunc) *world {
	t.Helper()
	w := &world{provider: serve(t, handler), t: t, log: &lockedBuffer{}}
	w.credentials = write(t, "credentials.yaml", "")
	w.key = filepath.Join(filepath.Dir(w.credentials), "key")
	w.secret(marker)
	w.entry(fmt.Sprintf(`{version: "1", file: key, origins: [%q]}`, w.URL))
	tables, err := statetables.Load(statetables.Source{FS: statetables.Demo()})
	require.NoError(t, err)
	w.options = Options{
		Tables: tables, Credentials: CredentialsFile(w.credentials),
		Logger: slog.New(slog.NewJSONHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Proxy:  func(*http.Request) (*url.URL, error) { return nil, nil },
	}
	return w
}

// entry replaces the entry of the credential "demo".
func (w *world) entry(text string) {
	w.t.Helper()
	write(w.t, w.credentials, "credentials: {demo: "+text+"}")
}

// secret replaces the value of the credential "demo".
func (w *world) secret(value string) {
	w.t.Helper()
	write(w.t, w.key, value)
}

// run executes an activity in the SDK's test environment, whose run id is testRun.
func (w *world) run(name string, request, result any) error {
	w.t.Helper()
	activities, err := New(w.options)
	require.NoError(w.t, err)
	suite := testsuite.WorkflowTestSuite{}
	suite.SetLogger(quiet{})
	environment := suite.NewTestActivityEnvironment()
	environment.SetTestTimeout(time.Minute)
	activities.Register(environment)
	if w.heartbeat != nil {
		environment.SetHeartbeatDetails(w.heartbeat)
	}
	if w.stops != nil {
		environment.SetWorkerStopChannel(w.stops)
	}
	arguments := []any{request}
	if request == nil {
		arguments = nil
	}
	value, err := environment.ExecuteActivity(name, arguments...)
	if err != nil || result == nil {
		return err
	}
	return value.Get(result)
}

const testRun = "default-test-run-id"

// quiet drops the SDK's log.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}

// target is the job that the world's provider is asked for.
func (w *world) target() wire.Target {
	return wire.Target{
		Provider: "demo-export", Account: "acct-42", ProviderJobID: "exp_71c",
		StatusURL: w.URL + "/exports/exp_71c", CredentialRef: "demo",
	}
}

// poll asks for the status once; change may alter the request.
func (w *world) poll(change func(*wire.PollRequest)) wire.PollResult {
	w.t.Helper()
	request := wire.PollRequest{
		Target: w.target(), NotAfter: time.Now().Add(time.Hour), TimeoutSeconds: 5,
		Reading: wire.ReadingContext{SubmittedAt: time.Now().Add(-time.Hour)},
	}
	if change != nil {
		change(&request)
	}
	var result wire.PollResult
	require.NoError(w.t, w.run(wire.ActivityPollStatus, request, &result))
	return result
}

// seen is the observation of a poll that was answered or failed.
func (w *world) seen() wire.Observation {
	w.t.Helper()
	result := w.poll(nil)
	require.NotNil(w.t, result.Observation, "not sent: %+v", result)
	return *result.Observation
}

// cancel sends the cancel request; change may alter it.
func (w *world) cancel(change func(*wire.CancelRequest)) wire.CancelResult {
	w.t.Helper()
	request := wire.CancelRequest{Target: w.target(), TimeoutSeconds: 5}
	if change != nil {
		change(&request)
	}
	var result wire.CancelResult
	require.NoError(w.t, w.run(wire.ActivityCancelAtProvider, request, &result))
	return result
}

// answers is a handler that always answers the same.
func answers(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Add(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

const running = `{"job_id":"exp_71c","state":"running"}`

type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(data)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
