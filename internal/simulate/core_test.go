package simulate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/simulate"
	"github.com/jobwait/jobwait/wire"
)

// The core is asked as the workflow asks it: its delays are R15's, its limits those of every schedule, and the end of the
// job ends the wait.
func TestCoreIsDriven(t *testing.T) {
	t.Parallel()
	wait := simulate.Wait{Seed: 1, Start: start, Deadline: start.Add(10 * time.Minute), Budget: 100}
	world := simulate.World{Latency: second}
	sent, seen := played(world, simulate.Core("core", simulate.Backoff(8, 20)).Open(wait), 100*second)
	before := 0.0
	for i, at := range sent {
		raw := []float64{8, 16, 20}[min(i, 2)]
		require.GreaterOrEqual(t, at-before, raw/2, "request %d", i+1)
		require.LessOrEqual(t, at-before, raw+.001, "request %d", i+1)
		before = at + 1
	}
	require.Equal(t, start.Add(time.Duration(before*1e9)), seen.At.Round(time.Millisecond))
	require.Less(t, sent[len(sent)-2], 100.)

	sent, seen = played(world, simulate.Core("core", simulate.Backoff(8, 20)).Open(wait), time.Hour)
	require.Zero(t, seen.At)
	require.Less(t, sent[len(sent)-1], 600.)
	require.GreaterOrEqual(t, sent[len(sent)-1], 580., "the final look (R23)")

	wait.Budget = 3
	sent, _ = played(world, simulate.Core("core", simulate.Backoff(8, 20)).Open(wait), time.Hour)
	require.Len(t, sent, 3)
}

// A fleet comes back from an outage spread over its delay, and obeys Retry-After.
func TestCoreIsToldOfTheWorld(t *testing.T) {
	t.Parallel()
	wait := simulate.Wait{Seed: 1, Start: start, Deadline: start.Add(time.Hour), Budget: 100}
	core := func() simulate.Pacer { return simulate.Core("core", simulate.Backoff(20, 20)).Open(wait) }
	sent, _ := played(simulate.World{Down: []simulate.Span{{From: start, To: start.Add(600 * second)}}}, core(), 601*second)
	require.Greater(t, sent[0], 601.)
	require.LessOrEqual(t, sent[0], 620.)

	world := simulate.World{Latency: second, RetryAfter: func(n int, _ time.Time) time.Duration {
		return map[int]time.Duration{1: 59*second + 1}[n]
	}}
	sent, _ = played(world, core(), 30*second)
	require.GreaterOrEqual(t, sent[1]-sent[0], 61.)
	require.LessOrEqual(t, sent[1]-sent[0], 67.)
}

// The fast restatement of the core's backoff, from which the frontiers are made, is the core's.
func TestPlainIsTheCore(t *testing.T) {
	t.Parallel()
	setting := simulate.Setting{Jobs: 4000, Seed: 1, Latency: second, Window: time.Minute, Budget: 1000}
	workload := simulate.Workload{Name: "CI", Quantile: simulate.LogNormal(6*time.Minute, 20*time.Minute)}
	knowing := simulate.Knowing(5, 60, workload.Typical())
	pace := simulate.Expecting(knowing)
	for name, pair := range map[string]struct{ core, plain simulate.Schedule }{
		"from 5 s":           {simulate.Core("", simulate.Backoff(5, 60)), simulate.Plain{Base: 5 * second, Max: time.Minute}.Delays().Named("")},
		"knows p50 and p90":  {simulate.Core("", knowing), simulate.Plain{Base: 5 * second, Max: time.Minute, Expects: &pace}.Delays().Named("")},
		"minimum above that": {simulate.Core("", withMinimum(5, 5, 7)), simulate.Plain{Base: 5 * second, Max: 5 * second, Min: 7 * second}.Delays().Named("")},
	} {
		core, plain := setting.Compare(workload, pair.core), setting.Compare(workload, pair.plain)
		require.InEpsilon(t, core.Requests, plain.Requests, 0.01, name)
		require.InEpsilon(t, core.Lag.Mean, plain.Lag.Mean, 0.03, name)
		require.InEpsilon(t, core.Lag.P99, plain.Lag.P99, 0.03, name)
	}
}

func withMinimum(base, most, least int) wire.Schedule {
	schedule := simulate.Backoff(base, most)
	schedule.MinDelaySeconds = &least
	return schedule
}
