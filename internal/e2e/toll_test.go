package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait"
	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// toll is a provider that has files besides its jobs, and counts who asks for them.
type toll struct {
	*httptest.Server

	mu sync.Mutex
	// refuse is for how many seconds the next one who asks for a file is told to stay away; 0: he is given it.
	refuse int
	// takes is how long an answer takes.
	takes time.Duration

	arrived      []time.Time
	refusedAt    time.Time
	inside, most int
}

func newToll(t *testing.T) *toll {
	t.Helper()
	s := &toll{}
	s.Server = beside(t, map[string]http.HandlerFunc{"GET /files/rows": s.serve})
	return s
}

func (s *toll) serve(w http.ResponseWriter, _ *http.Request) {
	refuse := s.enter()
	time.Sleep(s.takes)
	s.leave()
	if refuse > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(refuse))
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	_, _ = io.WriteString(w, "rows\n")
}

func (s *toll) enter() (refuse int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.arrived = append(s.arrived, now)
	s.inside++
	s.most = max(s.most, s.inside)
	if refuse, s.refuse = s.refuse, 0; refuse > 0 {
		s.refusedAt = now
	}
	return refuse
}

// leave is before the answer, so that who is let in by it does not meet who had it.
func (s *toll) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inside--
}

// seen is when files were asked for, and how many at once at most.
func (s *toll) seen() (arrived []time.Time, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.arrived), s.most
}

// refuseOne tells the next one to stay away.
func (s *toll) refuseOne(seconds int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = seconds
}

// refused waits until that one has come.
func (s *toll) refused(t *testing.T) (at time.Time) {
	t.Helper()
	require.Eventually(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		at = s.refusedAt
		return !at.IsZero()
	}, longest/2, 10*time.Millisecond)
	return at
}

// tolled starts a stock worker with a destination, whose credential is for a provider, and with limits for origins.
func tolled(t *testing.T, queue, origin, origins string) {
	t.Helper()
	home := t.TempDir()
	newCrew(t, shared, queue, bed.Key,
		"--credentials", write(t, home, "credentials.yaml", `credentials: {demo: {version: "1", env: WHOLE_KEY, origins: ["`+origin+`"]}}`),
		"--destinations", write(t, home, "destinations.yaml", "destinations: {reports: {url: 'file://"+home+"?no_tmp_dir=true'}}"),
		"--origins", write(t, home, "origins.yaml", origins),
	).start().await(within(t), "waiting for work")
}

// waitAt begins a wait for a job of the provider.
func (s *toll) waitAt(t *testing.T, queue, name string, script waittest.JobScript) *wait {
	t.Helper()
	w := plan{job: queue + "-" + name, queue: queue, script: script, spec: func(spec *wire.Spec) {
		spec.MaxStatusRequests = 100
		spec.Schedule.InitialDelaySeconds, spec.Schedule.BaseDelaySeconds, spec.Schedule.MaxDelaySeconds = new(0), new(1), new(1)
	}}.prepare(t)
	w.spec.StatusURL = s.URL + "/exports/" + w.job
	run, err := w.bed.StartOn(w.ctx, queue, w.spec)
	require.NoError(t, err)
	w.run = run
	t.Cleanup(w.replay)
	return w
}

// fetchable is the fetch of a result that a wait has found, so that it goes with the credential of the waits.
func (s *toll) fetchable(t *testing.T, queue, name string) (*wait, wire.FetchSpec) {
	t.Helper()
	w := s.waitAt(t, queue, name, waittest.Script(waittest.Succeeded(s.URL+"/files/rows")))
	spec, err := jobwait.NewFetchSpec(w.spec, w.outcome(), "file")
	require.NoError(t, err)
	spec.Destination, spec.Key, spec.MaxBytes, spec.DeadlineAt = "reports", name, 1<<20, at(longest)
	return w, spec
}

// R16: a provider that tells a fetch to stay away is not polled meanwhile, and one that tells a poll so is not fetched from.
func TestPollsAndFetchesHoldEachOtherBack(t *testing.T) {
	t.Parallel()
	s, queue := newToll(t), afresh("toll")
	tolled(t, queue, s.URL, "default: {max_hold_seconds: 60}")
	const seconds = 5

	w, spec := s.fetchable(t, queue, "first")
	polled := s.waitAt(t, queue, "polled", waittest.Script(waittest.State("running").Times(5), result("polled")))
	polled.requests(2)
	s.refuseOne(seconds)
	fetched := w.fetched(queue, spec)
	require.Equal(t, wire.FetchDone, fetched.Status, fetched.Detail)
	told := s.refused(t)
	arrived, _ := s.seen()
	require.Len(t, arrived, 2)
	require.False(t, arrived[1].Before(told.Add(seconds*time.Second)), "fetched at %s, told to stay away at %s", arrived[1], told)
	require.Equal(t, wire.StatusSucceeded, polled.outcome().Status)
	requireNoneBetween(polled, told.Add(learning), told.Add(seconds*time.Second))

	w, spec = s.fetchable(t, queue, "second")
	tripped := s.waitAt(t, queue, "tripped", waittest.Script(waittest.Status(429).RetryAfter(fmt.Sprint(seconds)), result("tripped")))
	tripped.until(func(view wire.OperationView) bool { return view.Counters.RateLimitedUsed == 1 })
	fetched = w.fetched(queue, spec)
	require.Equal(t, wire.FetchDone, fetched.Status, fetched.Detail)
	require.Equal(t, 1, fetched.Attempts, "being held back is no attempt")
	arrived, _ = s.seen()
	require.Len(t, arrived, 3)
	require.False(t, arrived[2].Before(tripped.log()[0].NotBefore), "fetched at %s, the poll was told not before %s", arrived[2], tripped.log()[0].NotBefore)
	tripped.outcome()
}

// The limits of an origin are those of its fetches too: no more at once than may be, and none sooner than its turn.
func TestFetchesKeepToTheLimitsOfTheirOrigin(t *testing.T) {
	t.Parallel()
	narrow, slow, queue := newToll(t), newToll(t), afresh("toll-limits")
	narrow.takes = 200 * time.Millisecond
	tolled(t, queue, narrow.URL, fmt.Sprintf("origins: {%q: {max_concurrent: 2}, %q: {requests_per_second: 3}}", narrow.URL, slow.URL))
	const each = 6
	ctx := within(t)
	var runs []client.WorkflowRun
	for i := range 2 * each {
		s := []*toll{narrow, slow}[i%2]
		job := fmt.Sprintf("%s-%d", queue, i)
		spec := wire.FetchSpec{
			OperationID: "op-" + job, Provider: "demo-export", Account: "acct-42", ProviderJobID: job, StatusURL: s.URL + "/exports/" + job,
			ResultName: "file", URL: s.URL + "/files/rows", Destination: "reports", Key: job, MaxBytes: 1 << 20, DeadlineAt: at(longest),
		}
		run, err := jobwait.StartFetch(ctx, shared.Client, spec, jobwait.StartOptions{TaskQueue: queue})
		require.NoError(t, err)
		runs = append(runs, run)
	}
	for _, run := range runs {
		var outcome wire.FetchOutcome
		require.NoError(t, run.Get(ctx, &outcome))
		require.Equal(t, wire.FetchDone, outcome.Status, outcome.Detail)
	}
	arrived, most := narrow.seen()
	require.Len(t, arrived, each)
	require.LessOrEqual(t, most, 2, "more at once than the origin's limit")
	arrived, _ = slow.seen()
	require.Len(t, arrived, each)
	// Five turns of a third of a second; what a busy machine holds up may come a little closer together.
	require.GreaterOrEqual(t, arrived[each-1].Sub(arrived[0]), time.Second, "faster than the origin's rate: %v", arrived)
}
