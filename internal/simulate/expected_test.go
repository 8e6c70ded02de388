package simulate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/simulate"
)

// With a standard deviation of one in the logarithm, the hazard of the standard normal distribution is 0.7979 at the
// median and 1.5251 one deviation later; the age is e times as long there, so that the delay is the root of
// 0.7979*2.7183/1.5251 times that at the median.
func TestDelayFollowsTheHazard(t *testing.T) {
	t.Parallel()
	e := simulate.Expected{Typical: simulate.Typical{P50: 100_000 * second, P90: 360_222 * second}, Delay: 10 * second}
	require.Equal(t, 10*second, e.Raw(100_000*second))
	e.Delay = 1000 * second
	require.InDelta(t, 1192.5, e.Raw(271_828*second).Seconds(), 8) // the hazard is looked at where the delay ends
}

// Early the delay is three times the age, or that at the median; a job that is nearly certain to last gets one long sleep.
func TestDelayBeforeMostJobsEnd(t *testing.T) {
	t.Parallel()
	e := simulate.Expected{Typical: simulate.Typical{P50: time.Hour, P90: time.Hour}, Delay: time.Minute}
	require.Equal(t, time.Minute, e.Raw(0))
	require.Equal(t, 30*time.Minute, e.Raw(10*time.Minute))
	landed := 30*time.Minute + e.Raw(30*time.Minute)
	require.Greater(t, landed, 54*time.Minute, "six jobs in a hundred thousand end before 53")
	require.Less(t, landed, time.Hour)
	e.Longest = 5 * time.Minute
	require.Equal(t, 5*time.Minute, e.Raw(30*time.Minute))
}

func TestDelayIsSuggested(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ p50, p90, want time.Duration }{
		{2 * time.Hour, 10 * time.Hour, 12 * time.Minute}, // a tenth of the median
		{1200 * second, 1440 * second, 55 * second},       // an eighth of 1000 to 1440
		{40 * second, 3 * time.Minute, 10 * second},       // no less
	} {
		e := simulate.Expected{Typical: simulate.Typical{P50: test.p50, P90: test.p90}}
		require.Equal(t, test.want, e.Raw(0), "%s, %s", test.p50, test.p90)
	}
}

// It is worth its while where the durations are close together: the reason why there is a proposal.
func TestExpectationSavesRequests(t *testing.T) {
	t.Parallel()
	setting := simulate.Setting{Jobs: 300, Seed: 1, Latency: second, Window: time.Minute, Budget: 1000}
	workload := simulate.Workload{Name: "nightly", Quantile: simulate.LogNormal(20*time.Minute, 24*time.Minute)}
	plain := setting.Compare(workload, simulate.Plain{Base: time.Minute, Max: time.Minute}.Delays().Named(""))
	knows := setting.Compare(workload, simulate.Expected{Typical: workload.Typical(), Delay: time.Minute}.Delays().Named(""))
	require.Less(t, knows.Requests, plain.Requests/2)
	require.LessOrEqual(t, knows.Lag.Mean, plain.Lag.Mean)
}
