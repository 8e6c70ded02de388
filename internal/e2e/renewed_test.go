package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait"
	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// linkStore is a provider whose links run out by the clock.
type linkStore struct {
	*httptest.Server
	asked, gone, others atomic.Int64
}

func newLinkStore(t *testing.T) *linkStore {
	t.Helper()
	s := &linkStore{}
	s.Server = beside(t, map[string]http.HandlerFunc{
		"GET /files/signed": s.signed, "GET /files/private": func(http.ResponseWriter, *http.Request) { s.others.Add(1) },
	})
	return s
}

func (s *linkStore) signed(w http.ResponseWriter, r *http.Request) {
	s.asked.Add(1)
	until, err := strconv.ParseInt(r.URL.Query().Get("until"), 10, 64)
	if err != nil || time.Now().UnixMilli() >= until {
		s.gone.Add(1)
		w.WriteHeader(http.StatusGone)
		return
	}
	_, _ = io.WriteString(w, "rows\n")
}

func (s *linkStore) link(until time.Time) string {
	return fmt.Sprintf("%s/files/signed?until=%d", s.URL, until.UnixMilli())
}

// renewing starts a stock worker with a destination, and a provider like demo-export whose table says that links can be renewed.
func renewing(t *testing.T, queue string, s *linkStore) (dir string) {
	t.Helper()
	home := t.TempDir()
	write(t, home, "tables/renewing-export.yaml",
		demoAs(t, "renewing-export", "file: body.result_url", "file: {read: body.result_url, renewable: {source: jobwait}}"))
	dir = filepath.Join(home, "reports")
	destinations := write(t, home, "destinations.yaml", "destinations: {reports: {url: 'file://"+dir+"?create_dir=true&no_tmp_dir=true'}}")
	credentials := write(t, home, "credentials.yaml", `credentials: {demo: {version: "1", env: WHOLE_KEY, origins: ["`+s.URL+`"]}}`)
	newCrew(t, shared, queue, bed.Key, "--tables", filepath.Join(home, "tables"), "--destinations", destinations,
		"--credentials", credentials).start().await(within(t), "waiting for work")
	return dir
}

// R51: a link that ran out is read anew by one status request; and a credential is sent for what the wait has found and nothing else.
func TestLinksThatRunOut(t *testing.T) {
	t.Parallel()
	s, queue := newLinkStore(t), afresh("renewing")
	dir := renewing(t, queue, s)
	runsOut := time.Now().Add(3 * time.Second)
	w := plan{
		job: queue, queue: queue,
		script: waittest.Script(waittest.Succeeded(s.link(runsOut)), waittest.Succeeded(s.link(time.Now().Add(time.Hour)))),
	}.prepare(t)
	w.spec.Provider, w.spec.StatusURL = "renewing-export", s.URL+"/exports/"+w.job
	run, err := w.bed.StartOn(w.ctx, queue, w.spec)
	require.NoError(t, err)
	w.run = run
	t.Cleanup(w.replay)
	outcome := w.outcome()
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Len(t, w.log(), 1)
	time.Sleep(time.Until(runsOut))

	spec, err := jobwait.NewFetchSpec(w.spec, outcome, "file")
	require.NoError(t, err)
	spec.Destination, spec.Key, spec.MaxBytes, spec.DeadlineAt = "reports", "rows.csv", 1<<20, at(longest)
	fetched := w.fetched(queue, spec)
	require.Equal(t, wire.FetchDone, fetched.Status, fetched.Detail)
	require.True(t, fetched.Renewed)
	require.EqualValues(t, 2, s.asked.Load())
	require.EqualValues(t, 1, s.gone.Load())
	require.Len(t, w.log(), 2, "one status request more")
	rows, err := os.ReadFile(filepath.Join(dir, "rows.csv"))
	require.NoError(t, err)
	require.Equal(t, "rows\n", string(rows))

	spec.URL, spec.Key = s.URL+"/files/private", "private"
	refused := w.fetched(queue, spec)
	require.Equal(t, wire.FetchReferenceRejected, refused.Reason)
	require.Contains(t, refused.Detail, "no wait for this job has ended with this reference")
	require.Zero(t, s.others.Load())
	require.Len(t, w.log(), 2)
}

// fetched carries a result, and replays how.
func (w *wait) fetched(queue string, spec wire.FetchSpec) wire.FetchOutcome {
	w.Helper()
	return fetched(w.ctx, w.T, w.bed, queue, spec)
}

func fetched(ctx context.Context, t *testing.T, b *bed.Bed, queue string, spec wire.FetchSpec) wire.FetchOutcome {
	t.Helper()
	run, err := b.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: wire.FetchWorkflowID(spec), TaskQueue: queue,
	}, wire.WorkflowFetchResult, spec)
	require.NoError(t, err)
	var outcome wire.FetchOutcome
	require.NoError(t, run.Get(ctx, &outcome))
	history, err := waittest.FetchHistory(ctx, b.Client, run.GetID(), run.GetRunID())
	require.NoError(t, err)
	require.NoError(t, waittest.ReplayStrictly(history, waittest.ReplayOptions{}))
	return outcome
}
