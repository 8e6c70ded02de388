package activities

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/jobwait/jobwait/internal/lanes"
	"github.com/jobwait/jobwait/wire"
)

// with executes one fetch on the activities of another.
func (f *fetcher) with(acts *Activities) (wire.FetchResponse, error) {
	f.t.Helper()
	suite := testsuite.WorkflowTestSuite{}
	suite.SetLogger(quiet{})
	environment := suite.NewTestActivityEnvironment()
	environment.SetTestTimeout(time.Minute)
	acts.Register(environment)
	spec := f.spec()
	f.found = map[string]string{spec.ResultName: spec.URL}
	value, err := environment.ExecuteActivity(wire.ActivityFetchResult, wire.FetchRequest{Spec: spec})
	if err != nil {
		return wire.FetchResponse{}, err
	}
	var response wire.FetchResponse
	return response, value.Get(&response)
}

// R16: what one request was told holds a fetch back as it does a wait, and the other way round; and it costs the fetch no attempt.
func TestFetchHeedsHolds(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	f := newFetcher(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 1 {
			w.Header().Set("Retry-After", "2")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_, _ = w.Write(export)
	})
	acts, err := New(f.options)
	require.NoError(t, err)
	_, err = f.with(acts)
	require.ErrorContains(t, err, "answered 429")
	until := time.Now().Add(1500 * time.Millisecond) // less than was asked for, as it has been learned already
	require.Equal(t, 1, acts.lanes.Held(time.Now()), "the waits of this origin and credential are held back")

	response, err := f.with(acts)
	require.NoError(t, err)
	require.Equal(t, wire.FetchDone, response.Outcome.Status)
	require.False(t, time.Now().Before(until), "it was asked for before the hold was over")
	require.EqualValues(t, 2, asked.Load())
}

// A fetch whose connection breaks under a hold is taken up where it broke, once the hold is over.
func TestFetchIsTakenUpAfterAHold(t *testing.T) {
	t.Parallel()
	var (
		f            *fetcher
		acts         *Activities
		asked, until atomic.Int64
		serve        = breaking(300_000, 1, tagged)
	)
	f = newFetcher(t, func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			key := lanes.Key{Origin: f.URL, Credential: "demo"}
			acts.lanes.Done(time.Now(), key, lanes.Answer{Kind: lanes.Limited, Went: time.Now(), RetryAfter: 2 * time.Second, Wait: "another"})
			until.Store(time.Now().Add(1500 * time.Millisecond).UnixMilli())
		} else if time.Now().UnixMilli() < until.Load() {
			t.Error("it was asked for before the hold was over")
		}
		serve(w, r)
	})
	var err error
	acts, err = New(f.options)
	require.NoError(t, err)
	response, err := f.with(acts)
	require.NoError(t, err)
	require.Equal(t, 1, response.Outcome.Resumed)
	require.Equal(t, digestOf(export), response.Outcome.SHA256)
	require.EqualValues(t, 2, asked.Load())
}
