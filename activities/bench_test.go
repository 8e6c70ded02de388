package activities

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// BenchmarkPollStatus is one status request with everything around it, credentials file included; BenchmarkBareGet is the
// same request by net/http alone.
func BenchmarkPollStatus(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(stillRunning))
	b.Cleanup(server.Close)
	file := filepath.Join(b.TempDir(), "credentials.yaml")
	b.Setenv("BENCH_KEY", "bench-key")
	require.NoError(b, os.WriteFile(file, []byte("credentials: {demo: {version: '1', env: BENCH_KEY, origins: ['"+server.URL+"']}}"), 0o600))
	tables, err := statetables.Load(statetables.Source{FS: statetables.Demo()})
	require.NoError(b, err)
	activities, err := New(Options{
		Tables: tables, Credentials: CredentialsFile(file), Logger: slog.New(slog.DiscardHandler),
		Proxy: func(*http.Request) (*url.URL, error) { return nil, nil },
	})
	require.NoError(b, err)
	request := wire.PollRequest{
		Target: wire.Target{
			Provider: "demo-export", Account: "acct-42", ProviderJobID: "exp_71c", StatusURL: server.URL + "/exports/exp_71c", CredentialRef: "demo",
		},
		TimeoutSeconds: 10, NotAfter: time.Now().Add(time.Hour),
	}
	for left := b.N; left > 0; left -= perExecution {
		inActivity(b, func(ctx context.Context) error {
			for range min(left, perExecution) {
				result, err := activities.PollStatus(ctx, request)
				if err != nil || result.Observation == nil || result.Observation.Job == nil {
					b.Errorf("not polled: %+v, %v", result, err)
				}
			}
			return nil
		})
	}
}

// perExecution keeps an execution far below the second after which an activity takes itself for late.
const perExecution = 20

// BenchmarkBareGet is what no client that keeps no connection can do without.
func BenchmarkBareGet(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(stillRunning))
	b.Cleanup(server.Close)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	client := http.Client{Transport: &http.Transport{Protocols: protocols, DisableKeepAlives: true, DisableCompression: true}}
	for b.Loop() {
		request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, server.URL+"/exports/exp_71c", nil)
		require.NoError(b, err)
		answer, err := client.Do(request)
		require.NoError(b, err)
		_, err = io.Copy(io.Discard, answer.Body)
		require.NoError(b, err)
		require.NoError(b, answer.Body.Close())
	}
}

func stillRunning(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"job_id": "exp_71c", "state": "running"}`)
}

// inActivity runs a function as an activity of the SDK's test environment.
func inActivity(b *testing.B, do func(context.Context) error) {
	b.Helper()
	suite := testsuite.WorkflowTestSuite{}
	suite.SetLogger(quiet{})
	environment := suite.NewTestActivityEnvironment()
	environment.SetTestTimeout(time.Hour)
	environment.RegisterActivity(do)
	_, err := environment.ExecuteActivity(do)
	require.NoError(b, err)
}
