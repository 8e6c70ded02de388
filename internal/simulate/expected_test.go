package simulate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/simulate"
)

// Whoever knows how long the jobs take sends no request more than whoever does not, whatever the kind of job (R15).
func TestExpectationSavesRequests(t *testing.T) {
	t.Parallel()
	setting := simulate.Setting{Jobs: 60, Seed: 1, Latency: 200 * time.Millisecond, Window: time.Minute, Budget: 100_000}
	saved := 0
	for _, workload := range simulate.Workloads() {
		plain := setting.Compare(workload, simulate.Core("", simulate.Backoff(5, 120)))
		knows := setting.Compare(workload, simulate.Core("", simulate.Knowing(5, 120, workload.Typical())))
		require.LessOrEqual(t, knows.Requests, plain.Requests, workload.Name)
		if knows.Requests < plain.Requests {
			saved++
		}
	}
	require.GreaterOrEqual(t, saved, 7)
}

// It needs fewer for the same lag: the reason why the spec has a place for it.
func TestExpectationAtEqualLag(t *testing.T) {
	t.Parallel()
	setting := simulate.Setting{Jobs: 200, Seed: 1, Latency: 200 * time.Millisecond, Window: time.Minute, Budget: 100_000}
	gains := 0
	for _, workload := range simulate.Workloads() {
		if workload.Name != "CI run" && workload.Name != "batch, published" && workload.Name != "nightly report" {
			continue
		}
		for _, gain := range setting.Frontiers(workload).Gains(workload) {
			require.Less(t, gain.Knowing, gain.Plain, "%s at %.1f s", workload.Name, gain.Lag)
			gains++
		}
	}
	require.GreaterOrEqual(t, gains, 6)
}

// Where durations are close together it halves the requests and is no later.
func TestNightlyReport(t *testing.T) {
	t.Parallel()
	setting := simulate.Setting{Jobs: 300, Seed: 1, Latency: second, Window: time.Minute, Budget: 1000}
	workload := simulate.Workload{Name: "nightly", Quantile: simulate.LogNormal(20*time.Minute, 24*time.Minute)}
	plain := setting.Compare(workload, simulate.Core("", simulate.Backoff(60, 60)))
	knows := setting.Compare(workload, simulate.Core("", simulate.Knowing(60, 60, workload.Typical())))
	require.Less(t, knows.Requests, plain.Requests/2)
	require.LessOrEqual(t, knows.Lag.Mean, 1.1*plain.Lag.Mean)
}
