package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// result is longer than the parts in which the driver sends it.
var result = bytes.Repeat([]byte("0123456789abcdef"), 1<<20)

// A result goes to a server that speaks S3 in several parts, and one that is refused half way leaves no object.
func TestResultGoesToS3(t *testing.T) {
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket("reports"))
	s3 := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(s3.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for rest := result; len(rest) > 0; rest = rest[1<<20:] { // chunked: nobody knows the length before
			_, _ = w.Write(rest[:1<<20])
		}
	}))
	t.Cleanup(provider.Close)
	fetch := fetcher(t, provider.URL, "s3://reports?region=us-east-1&use_path_style=true&endpoint="+s3.URL)

	outcome := fetch(int64(len(result)))
	require.Equal(t, wire.FetchDone, outcome.Status, outcome.Detail)
	require.EqualValues(t, len(result), outcome.Bytes)
	object, err := backend.GetObject("reports", "2026/1.bin", nil)
	require.NoError(t, err)
	stored, err := io.ReadAll(object.Contents)
	require.NoError(t, err)
	require.True(t, bytes.Equal(result, stored))

	_, err = backend.DeleteObject("reports", "2026/1.bin")
	require.NoError(t, err)
	require.Equal(t, wire.FetchTooLarge, fetch(int64(len(result)-1)).Reason)
	_, err = backend.HeadObject("reports", "2026/1.bin")
	require.Error(t, err, "nothing is left of it")
}

// The worker knows the drivers that it is for.
func TestDriversAreThere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "destinations.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`destinations: {r: {url: "gopher://reports"}}`), 0o600))
	_, err := activities.LoadDestinations(t.Context(), file)
	require.ErrorContains(t, err, `it knows ["azblob" "file" "gs" "s3"]`)
}

// fetcher is a worker with the one destination, asked for results of at most so many bytes.
func fetcher(t *testing.T, provider, destination string) func(most int64) wire.FetchOutcome {
	t.Helper()
	file := filepath.Join(t.TempDir(), "destinations.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, "destinations: {reports: {url: %q}}", destination), 0o600))
	destinations, err := activities.LoadDestinations(t.Context(), file)
	require.NoError(t, err)
	tables, err := statetables.Load(statetables.Source{FS: statetables.Demo()})
	require.NoError(t, err)
	acts, err := activities.New(activities.Options{Tables: tables, Destinations: destinations})
	require.NoError(t, err)
	return func(most int64) wire.FetchOutcome {
		suite := testsuite.WorkflowTestSuite{}
		environment := suite.NewTestActivityEnvironment()
		environment.SetTestTimeout(time.Minute)
		acts.Register(environment)
		value, err := environment.ExecuteActivity(wire.ActivityFetchResult, wire.FetchRequest{Spec: wire.FetchSpec{
			OperationID: "op", Provider: "demo-export", Account: "a", ProviderJobID: "j", StatusURL: provider + "/exports/j",
			ResultName: "file", URL: provider + "/1.bin", Destination: "reports", Key: "2026/1.bin", MaxBytes: most,
		}})
		require.NoError(t, err)
		var response wire.FetchResponse
		require.NoError(t, value.Get(&response))
		return response.Outcome
	}
}
