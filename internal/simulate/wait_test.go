package simulate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/simulate"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const second = time.Second

// fixed is a wait of a request every 10 s that may last a minute.
func fixed(change func(*simulate.Wait)) simulate.Pacer {
	wait := simulate.Wait{Start: start, Deadline: start.Add(time.Minute), Budget: 100}
	if change != nil {
		change(&wait)
	}
	return simulate.Fixed(10 * second).Named("fixed").Open(wait)
}

// played are the times of the requests after the start, in seconds, and what became of the wait.
func played(world simulate.World, pacer simulate.Pacer, jobLasts time.Duration) ([]float64, simulate.Seen) {
	var sent []float64
	world.Sent = func(_ int, at time.Time) { sent = append(sent, at.Sub(start).Seconds()) }
	seen := world.Play(pacer, start, start.Add(jobLasts))
	return sent, seen
}

// An answer takes a second, so that requests leave at 10, 21 and 32; the third is the first after the end at 25.
func TestWaitIsCounted(t *testing.T) {
	t.Parallel()
	sent, seen := played(simulate.World{Latency: second}, fixed(nil), 25*second)
	require.Equal(t, []float64{10, 21, 32}, sent)
	require.Equal(t, simulate.Seen{Requests: 3, At: start.Add(33 * second)}, seen)

	_, seen = played(simulate.World{Latency: second}, fixed(nil), 21*second)
	require.Equal(t, 2, seen.Requests, "a job that ends as the request leaves is seen by it")
}

func TestLimitsHold(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*simulate.Wait)
		want   []float64
	}{
		"deadline":    {func(w *simulate.Wait) { w.Deadline = start.Add(32 * second) }, []float64{10, 21}},
		"just before": {func(w *simulate.Wait) { w.Deadline = start.Add(32*second + 1) }, []float64{10, 21, 32}},
		"budget":      {func(w *simulate.Wait) { w.Budget = 2 }, []float64{10, 21}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent, seen := played(simulate.World{Latency: second}, fixed(test.change), time.Hour)
			require.Equal(t, test.want, sent)
			require.Zero(t, seen.At)
		})
	}
}

// What falls into an outage happens at its end, an answer as well as a timer.
func TestOutageDelays(t *testing.T) {
	t.Parallel()
	down := func(from, to time.Duration) simulate.World {
		return simulate.World{Latency: second, Down: []simulate.Span{{From: start.Add(from), To: start.Add(to)}}}
	}
	sent, _ := played(down(15*second, 40*second), fixed(nil), 35*second)
	require.Equal(t, []float64{10, 40}, sent, "the timer of 21")
	sent, seen := played(down(21*second+1, 40*second), fixed(nil), 15*second)
	require.Equal(t, []float64{10, 21}, sent)
	require.Equal(t, start.Add(40*second), seen.At, "the answer of 22")
}

func TestComparison(t *testing.T) {
	t.Parallel()
	workload := simulate.Workload{Name: "constant", Quantile: simulate.Constant(25 * second)}
	setting := simulate.Setting{Jobs: 4, Seed: 1, Latency: second, Window: 2 * second, Budget: 100}
	got := setting.Compare(workload, simulate.Fixed(10*second).Named("fixed"))
	// The starts are at 0, 0.5, 1 and 1.5: two in a second.
	require.Equal(t, simulate.Comparison{
		Schedule: "fixed", Requests: 3, Peak: 2,
		Lag:      simulate.Spread{P50: 8, P90: 8, P99: 8, Mean: 8},
		Relative: simulate.Spread{P50: 8. / 25, P90: 8. / 25, P99: 8. / 25, Mean: 8. / 25},
	}, got)

	setting.Budget = 2
	got = setting.Compare(workload, simulate.Fixed(10*second).Named("fixed"))
	require.Equal(t, simulate.Comparison{Schedule: "fixed", Requests: 2, Peak: 2, Unresolved: 1}, got)
}

func TestSeedDecidesEverything(t *testing.T) {
	t.Parallel()
	workload := simulate.Workloads()[1]
	compare := func(seed uint64) []simulate.Comparison {
		setting := simulate.Setting{Jobs: 20, Seed: seed, Latency: second, Window: time.Minute, Budget: 1000}
		var all []simulate.Comparison
		for _, schedule := range append(simulate.Ours(workload), simulate.Others()...) {
			all = append(all, setting.Compare(workload, schedule))
		}
		return all
	}
	once := compare(1)
	require.Equal(t, once, compare(1))
	require.NotEqual(t, once, compare(2))
}
