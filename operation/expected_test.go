package operation_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// expecting is the pace of a spec that expects these durations, in seconds, changed by the given functions.
func expecting(t require.TestingT, p50, p90 int, changes ...func(*wire.Spec)) wire.Pace {
	spec := specWith(func(s *wire.Spec) {
		s.Schedule.ExpectedP50Seconds, s.Schedule.ExpectedP90Seconds = &p50, &p90
	})
	for _, change := range changes {
		change(&spec)
	}
	return prepared(t, spec, operation.Knowledge{}).Pace
}

func longest(seconds int) func(*wire.Spec) {
	return func(s *wire.Spec) { s.Schedule.MaxDelaySeconds = &seconds }
}

// With a standard deviation of one in the logarithm, the hazard of the standard normal distribution is 0.7979 at the
// median and 1.5251 one deviation later; the age is e times as long there, so that the delay is the root of
// 0.7979*2.7183/1.5251 times that at the median (R15).
func TestDelayFollowsTheHazard(t *testing.T) {
	t.Parallel()
	pace := wire.Pace{ExpectedP50Seconds: 100_000, ExpectedP90Seconds: 360_222, TypicalDelaySeconds: 10, MaxDelaySeconds: 120}
	require.Equal(t, 10*time.Second, operation.ExpectedDelay(pace, 100_000*time.Second))
	pace.TypicalDelaySeconds = 1000
	require.InDelta(t, 1192.5, operation.ExpectedDelay(pace, 271_828*time.Second).Seconds(), 8) // looked at where the delay ends
}

// Early the delay is three times the age, or that at the median; a job that is nearly certain to last gets one long sleep,
// up to the median and to what a table's cap allows (R15, R27).
func TestDelayBeforeMostJobsEnd(t *testing.T) {
	t.Parallel()
	pace := expecting(t, 3600, 3600, longest(60))
	require.Equal(t, 35*time.Second, operation.ExpectedDelay(pace, 0), "nothing is so certain that the deciles meet")
	require.Equal(t, 30*time.Minute, operation.ExpectedDelay(pace, 10*time.Minute))
	landed := 30*time.Minute + operation.ExpectedDelay(pace, 30*time.Minute)
	require.Greater(t, landed, 53*time.Minute, "six jobs in a hundred thousand end before 53")
	require.Less(t, landed, time.Hour)
	pace.CapSeconds = 300
	require.Equal(t, 5*time.Minute, operation.ExpectedDelay(pace, 30*time.Minute))
}

// The delay at the median is a tenth of it, or an eighth of the time between the deciles, 10 s or more, and not above
// max_delay, which prepare records (R28).
func TestTypicalDelay(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ p50, p90, most, want int }{
		{7200, 36_000, 3600, 720}, // a tenth of the median
		{7200, 36_000, 120, 120},  // no more than max_delay
		{1200, 1440, 120, 55},     // an eighth of 1000 to 1440
		{40, 180, 120, 10},        // no less
		{40, 180, 6, 6},
	} {
		require.Equal(t, test.want, expecting(t, test.p50, test.p90, longest(test.most)).TypicalDelaySeconds, "%d, %d", test.p50, test.p90)
	}
}

// TestExpectedDelays prints the delays over the age of a job for three widths of its durations (R15).
func TestExpectedDelays(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	for _, typical := range [][2]int{{1200, 1440}, {360, 1200}, {420, 3600}} {
		pace := expecting(t, typical[0], typical[1])
		fmt.Fprintf(&out, "p50 %d s, p90 %d s: typical delay %d s\nage      without drawing\n", typical[0], typical[1], pace.TypicalDelaySeconds)
		for _, age := range []int{0, 5, 30, 60, 120, 300, 600, 900, 1200, 1440, 1800, 3600, 7200, 86_400, 604_800} {
			fmt.Fprintf(&out, "%-8d %s\n", age, operation.ExpectedDelay(pace, time.Duration(age)*time.Second))
		}
	}
	golden(t, "expected.golden", out.String())
}

// TestExpectationIsNeverMoreEager: whatever is expected, a delay is no shorter than without it, no longer than three times the
// age or the delay when the job is due, than the median or max_delay, and than a table's cap (R15, R27).
func TestExpectationIsNeverMoreEager(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		p50 := rapid.IntRange(1, operation.MaxExpectedSeconds).Draw(rt, "p50")
		p90 := rapid.IntRange(p50, operation.MaxExpectedSeconds).Draw(rt, "p90")
		pace := expecting(rt, p50, p90, func(s *wire.Spec) {
			s.Schedule.BaseDelaySeconds = new(rapid.IntRange(1, 600).Draw(rt, "base"))
			s.Schedule.MaxDelaySeconds = new(rapid.IntRange(*s.Schedule.BaseDelaySeconds, operation.MaxDelaySeconds).Draw(rt, "max"))
		})
		pace.CapSeconds = rapid.SampledFrom([]int{0, 0, 300}).Draw(rt, "cap")
		age := time.Duration(rapid.Int64Range(-3600, 50*365*86_400).Draw(rt, "age")) * time.Second
		polls := rapid.IntRange(0, 1000).Draw(rt, "polls")

		got := operation.ExpectedDelay(pace, age)
		require.GreaterOrEqual(rt, got, time.Duration(0))
		require.Zero(rt, got%time.Second, "whole seconds")
		require.LessOrEqual(rt, got, max(3*age, time.Duration(pace.TypicalDelaySeconds)*time.Second))
		require.LessOrEqual(rt, got, time.Duration(max(p50, pace.MaxDelaySeconds))*time.Second)
		if pace.CapSeconds > 0 {
			require.LessOrEqual(rt, got, time.Duration(pace.CapSeconds)*time.Second)
		}
		raw := operation.RawDelay(pace, polls)
		require.Equal(rt, max(raw, got), operation.LocalDelay(pace, polls, age))
	})
}

// TestWhoExpects: the spec's expectation, else the table's where the spec has no delays of its own; nothing else changes
// (R28).
func TestWhoExpects(t *testing.T) {
	t.Parallel()
	known := operation.Knowledge{Advice: wire.Schedule{ExpectedP50Seconds: new(420), ExpectedP90Seconds: new(3600)}}
	for name, test := range map[string]struct {
		spec wire.Schedule
		want int
	}{
		"the table's":             {wire.Schedule{}, 420},
		"beside another time-out": {wire.Schedule{RequestTimeoutSeconds: new(3)}, 420},
		"the spec's":              {wire.Schedule{ExpectedP50Seconds: new(60), ExpectedP90Seconds: new(90), MaxDelaySeconds: new(30)}, 60},
		"own base delay":          {wire.Schedule{BaseDelaySeconds: new(5)}, 0},
		"own longest delay":       {wire.Schedule{MaxDelaySeconds: new(30)}, 0},
	} {
		got := prepared(t, specWith(func(s *wire.Spec) { s.Schedule = test.spec }), known)
		require.Equal(t, test.want, got.Pace.ExpectedP50Seconds, name)
		require.Equal(t, test.want > 0, got.Pace.TypicalDelaySeconds > 0, name)
		require.Equal(t, test.want > 0, got.Spec.Schedule.ExpectedP50Seconds != nil, "queries show it: %s", name)
	}
}

// TestJitterAboveMinimum: where the minimum is above the drawn delay, a fleet keeps a jitter behind it; waits that began
// without it keep their delays (R21).
func TestJitterAboveMinimum(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		base, most, least, limit int
		from, to                 time.Duration
	}{
		"minimum above the backoff":       {5, 5, 7, 0, 7 * time.Second, 14 * time.Second},
		"minimum above the base":          {5, 120, 20, 0, 20 * time.Second, 40 * time.Second},
		"one second":                      {1, 1, 1, 0, time.Second, 2 * time.Second},
		"no longer than max_delay":        {10, 10, 7, 0, 7 * time.Second, 10 * time.Second},
		"minimum a little in the jitter":  {20, 20, 11, 0, 11 * time.Second, 20 * time.Second},
		"minimum below the jitter":        {20, 20, 10, 0, 10 * time.Second, 20 * time.Second},
		"no longer than the table allows": {5, 5, 7, 8, 7 * time.Second, 8 * time.Second},
	} {
		least, most := time.Hour, time.Duration(0)
		for i := range 300 {
			spec := specWith(func(s *wire.Spec) {
				s.OperationID = fmt.Sprint("export-", i)
				s.Schedule = wire.Schedule{BaseDelaySeconds: &test.base, MaxDelaySeconds: &test.most, MinDelaySeconds: &test.least}
			})
			snapshot := prepared(t, spec, operation.Knowledge{CapSeconds: test.limit})
			op := operation.Open(snapshot, firstRun, start, start)
			now := polled(t, op, result(read("running")))
			delay := op.Record().Poll.At.Sub(now)
			least, most = min(least, delay), max(most, delay)

			snapshot.Pace.JitterAboveMinimum = false
			before := operation.Open(snapshot, firstRun, start, start)
			now = polled(t, before, result(read("running")))
			if test.from > 2*time.Duration(test.base)*time.Second { // of the second poll's raw delay
				require.Equal(t, test.from, before.Record().Poll.At.Sub(now), "%s: as it was", name)
			}
		}
		require.GreaterOrEqual(t, least, test.from, name)
		require.LessOrEqual(t, most, test.to+time.Millisecond, name)
		require.InDelta(t, test.from.Seconds(), least.Seconds(), 0.05*(test.to-test.from).Seconds()+1e-9, "%s: the draws do not reach down", name)
		require.InDelta(t, test.to.Seconds(), most.Seconds(), 0.05*(test.to-test.from).Seconds()+.0011, "%s: the draws do not reach up", name)
	}
}
