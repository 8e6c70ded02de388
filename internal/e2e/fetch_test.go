package e2e_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// large is how long the results of these tests are.
const large = 200 << 20

// block is what they consist of, over and over.
var block = bytes.Repeat([]byte("0123456789abcdef"), 4096)

// store is a provider that has files besides its jobs.
type store struct {
	*httptest.Server
	// cutAt is after how many bytes the first connections break; 0: none does.
	cutAt  int64
	asked  atomic.Int64
	served atomic.Int64
	// held keeps an answer open after some bytes, until it is released.
	heldAt  int64
	release chan struct{}
	free    sync.Once
}

func newStore(t *testing.T) *store {
	t.Helper()
	s := &store{release: make(chan struct{})}
	s.Server = beside(t, map[string]http.HandlerFunc{"GET /files/large": s.serve, "GET /files/counted": s.count})
	t.Cleanup(func() { s.free.Do(func() { close(s.release) }) })
	return s
}

// count answers with how often the provider was asked.
func (s *store) count(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, s.asked.Add(1)) }

// serve answers with the large result, from where it is asked for.
func (s *store) serve(w http.ResponseWriter, r *http.Request) {
	from := int64(0)
	if n, err := strconv.ParseInt(regexp.MustCompile(`^bytes=(\d+)-$`).ReplaceAllString(r.Header.Get("Range"), "$1"), 10, 64); err == nil {
		from = n
	}
	w.Header().Set("ETag", `"large-1"`)
	w.Header().Set("Content-Type", "text/csv")
	w.Header().Set("Content-Length", strconv.FormatInt(large-from, 10))
	if from > 0 {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, large-1, large))
		w.WriteHeader(http.StatusPartialContent)
	}
	s.write(w, from, s.asked.Add(1))
}

func (s *store) write(w http.ResponseWriter, from, asked int64) {
	for at := from; at < large; {
		if s.cutAt > 0 && asked <= 2 && at-from >= s.cutAt {
			panic(http.ErrAbortHandler)
		}
		if s.heldAt > 0 && at >= s.heldAt {
			_ = http.NewResponseController(w).Flush()
			<-s.release
		}
		n, err := w.Write(block[at%int64(len(block)) : min(int64(len(block)), at%int64(len(block))+large-at)])
		s.served.Add(int64(n))
		if err != nil {
			return
		}
		at += int64(n)
	}
}

func digestOfLarge() string {
	digest := sha256.New()
	for range large / len(block) {
		digest.Write(block)
	}
	return hex.EncodeToString(digest.Sum(nil))
}

// delivery is a worker with a destination, and a fetch into it.
type delivery struct {
	*testing.T
	store *store
	crew  *crew
	dir   string
	spec  wire.FetchSpec
}

func newDelivery(t *testing.T, store *store) *delivery {
	t.Helper()
	dir, job := t.TempDir(), afresh("fetch")
	file := filepath.Join(t.TempDir(), "destinations.yaml")
	require.NoError(t, os.WriteFile(file, []byte("destinations: {reports: {url: 'file://"+dir+"?no_tmp_dir=true'}}"), 0o600))
	return &delivery{
		T: t, store: store, dir: dir, crew: newCrew(t, shared, job, "whole-key", "--destinations", file),
		spec: wire.FetchSpec{
			OperationID: "op-" + job, Provider: "demo-export", Account: "acct-42", ProviderJobID: job, StatusURL: store.URL + "/exports/" + job,
			ResultName: "file", URL: store.URL + "/files/large", Destination: "reports", Key: "large.csv", MaxBytes: large,
			DeadlineAt: time.Now().Add(longest),
		},
	}
}

func (d *delivery) begin(ctx context.Context) client.WorkflowRun {
	d.Helper()
	run, err := shared.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: wire.FetchWorkflowID(d.spec), TaskQueue: d.spec.ProviderJobID,
	}, wire.WorkflowFetchResult, d.spec)
	require.NoError(d, err)
	d.Cleanup(func() {
		history, err := waittest.FetchHistory(context.WithoutCancel(ctx), shared.Client, run.GetID(), run.GetRunID())
		require.NoError(d, err)
		require.NoError(d, waittest.ReplayStrictly(history, waittest.ReplayOptions{}))
	})
	return run
}

func (d *delivery) outcome(ctx context.Context, run client.WorkflowRun) wire.FetchOutcome {
	d.Helper()
	var outcome wire.FetchOutcome
	require.NoError(d, run.Get(ctx, &outcome))
	return outcome
}

// arrived asserts that the whole result is there, and no other file but what the driver keeps beside it.
func (d *delivery) arrived() {
	d.Helper()
	file, err := os.Open(filepath.Join(d.dir, "large.csv"))
	require.NoError(d, err)
	defer file.Close()
	digest := sha256.New()
	_, err = io.Copy(digest, file)
	require.NoError(d, err)
	require.Equal(d, digestOfLarge(), hex.EncodeToString(digest.Sum(nil)))
}

func (d *delivery) files() []string {
	d.Helper()
	entries, err := os.ReadDir(d.dir)
	require.NoError(d, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// A large result streams through the worker, over connections that break, in little memory.
func TestLargeResultIsStreamed(t *testing.T) {
	t.Parallel()
	ctx, store := within(t), newStore(t)
	store.cutAt = 70 << 20
	d := newDelivery(t, store)
	worker := d.crew.start()
	worker.await(ctx, "waiting for work")

	outcome := d.outcome(ctx, d.begin(ctx))

	require.Equal(t, wire.FetchDone, outcome.Status, outcome.Detail)
	require.EqualValues(t, large, outcome.Bytes)
	require.Equal(t, digestOfLarge(), outcome.SHA256)
	require.Equal(t, 2, outcome.Resumed)
	require.EqualValues(t, 3, store.asked.Load())
	require.LessOrEqual(t, store.served.Load(), int64(large+8<<20), "nothing is asked for twice but what was under way")
	d.arrived()
	require.Less(t, peakMemory(t, worker), int64(64<<20))
}

// A worker that is killed in the middle leaves nothing that looks like a result, and another one carries it.
func TestFetchSurvivesItsWorker(t *testing.T) {
	t.Parallel()
	ctx, store := within(t), newStore(t)
	store.heldAt = 50 << 20
	d := newDelivery(t, store)
	first := d.crew.start()
	run := d.begin(ctx)
	require.NoError(t, eventually(ctx, func() bool { return store.served.Load() >= store.heldAt }))
	first.kill()
	store.free.Do(func() { close(store.release) })
	left := d.files()
	require.Len(t, left, 1)
	require.Regexp(t, `^large\.csv\.[0-9a-f]+\.tmp$`, left[0])

	d.crew.start()
	outcome := d.outcome(ctx, run)
	require.Equal(t, wire.FetchDone, outcome.Status, outcome.Detail)
	require.Equal(t, 2, outcome.Attempts)
	d.arrived()
}

// What a fetch has written is its own over a reset, and no later fetch's of the same result: its record goes on telling what is there.
func TestLaterFetchOverwritesNothing(t *testing.T) {
	t.Parallel()
	ctx, store := within(t), newStore(t)
	d := newDelivery(t, store)
	d.spec.URL = store.URL + "/files/counted"
	d.crew.start()
	written := func() string {
		data, err := os.ReadFile(filepath.Join(d.dir, d.spec.Key))
		require.NoError(t, err)
		return string(data)
	}
	first := d.begin(ctx)
	require.Equal(t, wire.FetchDone, d.outcome(ctx, first).Status)
	require.Equal(t, wire.FetchDestinationTaken, d.outcome(ctx, d.begin(ctx)).Reason)
	require.Equal(t, "1", written())

	reset, err := shared.Reset(ctx, first, 4)
	require.NoError(t, err)
	require.Equal(t, wire.FetchDone, d.outcome(ctx, reset).Status)
	require.Equal(t, "2", written())
}

// peakMemory is the most resident memory that a process has had.
func peakMemory(t *testing.T, p *process) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if os.IsNotExist(err) {
		t.Skip("there is no /proc to read the memory from")
	}
	require.NoError(t, err)
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	require.NotNil(t, found, string(status))
	kib, err := strconv.ParseInt(string(found[1]), 10, 64)
	require.NoError(t, err)
	return kib << 10
}
