package simulate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/simulate"
)

// Ten waits without jitter ask in the same second of ten: ten times the mean, in each fleet and over all of them.
func TestHerdIsMeasured(t *testing.T) {
	t.Parallel()
	fleet := simulate.Fleet{Name: "fixed", Schedule: simulate.Fixed(10 * second).Named(""), Interval: 10 * second}
	require.Equal(t, []simulate.Herd{{
		Fleet: "fixed", Waits: 10, Mean: 1, Peak: simulate.Spread{P50: 10, P90: 10, P99: 10, Mean: 10}, Expected: 10,
	}}, fleet.Measure(20, 1, 10))
}

// Waits that start over an interval never come together.
func TestSpreadFleetIsEven(t *testing.T) {
	t.Parallel()
	fleet := simulate.Fleet{Schedule: simulate.Fixed(10 * second).Named(""), Interval: 10 * second, Spread: 10 * second}
	herd := fleet.Measure(2000, 1, 2000)[0]
	require.Less(t, herd.Peak.P50, 1.2)
	require.InDelta(t, 1, herd.Under, 0)
	require.InDelta(t, 200, herd.Mean, 1)
}

// What the page says of the core: a common start and an outage are forgotten, a Retry-After with every answer is not.
func TestCoreForgetsACommonStart(t *testing.T) {
	t.Parallel()
	for name, fleet := range map[string]simulate.Fleet{"start": simulate.Started(30), "outage": simulate.AfterOutage(30)} {
		require.Less(t, fleet.Measure(2000, 1, 2000)[0].Expected, 1.5, name)
	}
	always := simulate.AlwaysThrottled("", simulate.CoreAt(30))
	require.Greater(t, always.Measure(1000, 1, 1000)[0].Expected, 3.)
}

// A wait whose poll is no more than five seconds late asks as soon as its worker is back (R22), a later one spreads.
func TestFleetReturns(t *testing.T) {
	t.Parallel()
	returns := simulate.Returns(500, 1, 30, 3*second, 10*time.Minute)
	require.InDelta(t, 22, returns[0].Mean, 1)
	require.Greater(t, returns[0].First, 3*22, "all that were due")
	require.Equal(t, returns[0].First, returns[0].Peak)
	require.Zero(t, returns[1].First, "nobody")
	require.Less(t, returns[1].Peak, 2*22)
}

func TestFleetIsDecidedByItsSeed(t *testing.T) {
	t.Parallel()
	fleet := simulate.Started(30)
	once := fleet.Measure(50, 1, 50)
	require.Equal(t, once, fleet.Measure(50, 1, 50))
	require.NotEqual(t, once, fleet.Measure(50, 2, 50))
}

func TestQuantiles(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		quantile func(float64) time.Duration
		part     float64
		want     time.Duration
	}{
		{simulate.LogNormal(40*second, 180*second), 0.5, 40 * second},
		{simulate.LogNormal(40*second, 180*second), 0.9, 180 * second},
		{simulate.LogNormal(40*second, 180*second), 0.1, 8889 * time.Millisecond}, // as far below as p90 is above
		{simulate.LogUniform(second, 100*second), 0.5, 10 * second},
		{simulate.Either(0.5, simulate.Constant(second), simulate.Constant(9*second)), 0.49, second},
		{simulate.Either(0.5, simulate.Constant(second), simulate.Constant(9*second)), 0.5, 9 * second},
	} {
		require.InDelta(t, test.want.Seconds(), test.quantile(test.part).Seconds(), 0.001)
	}
}

// A fleet's durations have the distribution that they are said to have.
func TestDurationsFollowTheQuantiles(t *testing.T) {
	t.Parallel()
	for _, workload := range simulate.Workloads() {
		under := 0
		for _, duration := range workload.Durations(4000, 1) {
			if duration <= workload.Quantile(0.9) {
				under++
			}
		}
		if workload.Name == "constant" {
			require.Equal(t, 4000, under)
			continue
		}
		require.InDelta(t, 3600, under, 80, workload.Name)
	}
}
