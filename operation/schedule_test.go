package operation_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// TestBackoffSchedule prints the schedule of three paces: the undrawn delays, and the actual ones of one operation (R15,
// R20, R27).
func TestBackoffSchedule(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	for _, pace := range []wire.Pace{
		{BaseDelaySeconds: 5, MaxDelaySeconds: 120},
		{BaseDelaySeconds: 1, MaxDelaySeconds: 86400},
		{BaseDelaySeconds: 30, MaxDelaySeconds: 600, CapSeconds: 600},
	} {
		fmt.Fprintf(&out, "base %d s, max %d s, cap %d s\npolls  raw      50%% .. 100%%, drawn   after a 429\n",
			pace.BaseDelaySeconds, pace.MaxDelaySeconds, pace.CapSeconds)
		for completed := range 20 {
			raw := operation.RawDelay(pace, completed)
			draw := operation.Draw("report-export-1", firstRun, completed, "backoff")
			drawn := raw/2 + time.Duration(draw*float64(raw-raw/2)).Round(time.Millisecond)
			fmt.Fprintf(&out, "%5d  %-8s %-20s %s\n", completed, raw, drawn, operation.RateLimitDelay(pace, completed))
		}
	}
	golden(t, "backoff.golden", out.String())
}

// golden compares with a file of testdata; -update rewrites it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// TestBackoffNeverOverflows: however many polls and however large the numbers, a delay stays in its bounds (R15).
func TestBackoffNeverOverflows(t *testing.T) {
	t.Parallel()
	for _, completed := range []int{0, 17, 62, 63, 64, 65, 1_000_000, math.MaxInt} {
		pace := wire.Pace{BaseDelaySeconds: operation.MaxDelaySeconds, MaxDelaySeconds: operation.MaxDelaySeconds}
		require.Equal(t, 24*time.Hour, operation.RawDelay(pace, completed), "completed %d", completed)
		pace.BaseDelaySeconds = 1
		if completed >= 17 {
			require.Equal(t, 24*time.Hour, operation.RawDelay(pace, completed), "completed %d", completed)
		}
	}
}

// TestFirstPollIsJittered holds the first poll of many operations in [50 %, 100 %] of the base delay (R15, R27).
func TestFirstPollIsJittered(t *testing.T) {
	t.Parallel()
	least, most := time.Hour, time.Duration(0)
	for i := range 1000 {
		op := opened(t, wire.TableFacts{}, func(s *wire.Spec) { s.OperationID = fmt.Sprint("export-", i) })
		delay := op.Record().Poll.At.Sub(start)
		least, most = min(least, delay), max(most, delay)
	}
	require.GreaterOrEqual(t, least, 2500*time.Millisecond)
	require.Less(t, least, 2600*time.Millisecond, "the draws do not reach down")
	require.LessOrEqual(t, most, 5*time.Second)
	require.Greater(t, most, 4900*time.Millisecond, "the draws do not reach up")
}

// TestInitialDelay: from the spec, counted from the start of the wait and not from the moment it is prepared; 0 asks at
// once (R27).
func TestInitialDelay(t *testing.T) {
	t.Parallel()
	for _, initial := range []int{0, 1, 30} {
		snapshot := prepared(t, specWith(func(s *wire.Spec) { s.Schedule.InitialDelaySeconds = &initial }), operation.Knowledge{})
		op := operation.Open(snapshot, firstRun, start, start.Add(700*time.Millisecond))
		require.Equal(t, start.Add(time.Duration(initial)*time.Second), op.Record().Poll.At)
	}
}

// TestDrawIsPureAndSpread: a draw depends on the operation, its first run, the poll and the purpose, on nothing else, and
// the draws of many operations fill [0, 1) evenly (R15, W1).
func TestDrawIsPureAndSpread(t *testing.T) {
	t.Parallel()
	base := operation.Draw("op", "run", 3, "backoff")
	require.InDelta(t, base, operation.Draw("op", "run", 3, "backoff"), 0)
	for _, other := range []float64{
		operation.Draw("op2", "run", 3, "backoff"), operation.Draw("op", "run2", 3, "backoff"),
		operation.Draw("op", "run", 4, "backoff"), operation.Draw("op", "run", 3, "spread"),
	} {
		require.NotEqual(t, base, other)
	}
	for _, why := range operation.Purposes() {
		requireEven(t, why)
	}
}

// requireEven is a chi-squared test over 20 cells; the bound is beyond 1 in 10,000 for even draws, which are fixed here.
func requireEven(t *testing.T, why string) {
	t.Helper()
	const draws, cells = 20_000, 20
	var count [cells]int
	for i := range draws {
		draw := operation.Draw(fmt.Sprint("op-", i), firstRun, i%7, why)
		require.GreaterOrEqual(t, draw, 0.0)
		require.Less(t, draw, 1.0)
		count[int(draw*cells)]++
	}
	var chi float64
	for _, n := range count {
		d := float64(n) - draws/cells
		chi += d * d / (draws / cells)
	}
	require.Less(t, chi, 50.0, "draws for %s are uneven: %v", why, count)
}

// TestNextPoll holds one answer against the time and the source of the poll after it (R15 to R23). Delays count from the
// moment the answer is processed.
func TestNextPoll(t *testing.T) {
	t.Parallel()
	running := read("running")
	limited := failed(wire.AnswerRateLimited, 429, "")
	for name, c := range map[string]struct {
		spec   func(*wire.Spec)
		floor  int
		cap    int
		answer wire.Observation
		source wire.DelaySource
		least  time.Duration
		most   time.Duration
	}{
		"R15 backoff doubles":           {answer: running, source: wire.DelayLocalBackoff, least: 5 * time.Second, most: 10 * time.Second},
		"R16 minimum with its spread":   {answer: retryAfter(running, 100), source: wire.DelayProviderRetryAfter, least: 100 * time.Second, most: 110 * time.Second},
		"R16 spread of 10 s at most":    {answer: retryAfter(running, 1000), source: wire.DelayProviderRetryAfter, least: 1000 * time.Second, most: 1010 * time.Second},
		"R16 on a 503":                  {answer: retryAfter(failed(wire.AnswerServerError, 503, ""), 60), source: wire.DelayProviderRetryAfter, least: 60 * time.Second, most: 66 * time.Second},
		"R16 on a 429":                  {answer: retryAfter(limited, 60), source: wire.DelayProviderRetryAfter, least: 60 * time.Second, most: 66 * time.Second},
		"R17 hint, spread likewise":     {answer: hinted(running, 40), source: wire.DelayProviderPollHint, least: 40 * time.Second, most: 44 * time.Second},
		"R17 hint of zero":              {answer: hinted(running, 0), source: wire.DelayProviderPollHint, least: time.Second, most: time.Second},
		"R18 hint after the minimum":    {answer: hinted(retryAfter(running, 10), 90), source: wire.DelayProviderPollHint, least: 90 * time.Second, most: 99 * time.Second},
		"R18 minimum after the hint":    {answer: hinted(retryAfter(running, 90), 10), source: wire.DelayProviderRetryAfter, least: 90 * time.Second, most: 99 * time.Second},
		"R18 backoff after the minimum": {spec: base(100), answer: retryAfter(running, 10), source: wire.DelayLocalBackoff, least: 60 * time.Second, most: 120 * time.Second},
		"R20 four times after a 429":    {answer: limited, source: wire.DelayRateLimitBackoff, least: 20 * time.Second, most: 40 * time.Second},
		"R20 twice max_delay at most":   {spec: base(100), answer: limited, source: wire.DelayRateLimitBackoff, least: 120 * time.Second, most: 240 * time.Second},
		"R20 under the table's cap":     {spec: base(100), cap: 130, answer: limited, source: wire.DelayRateLimitBackoff, least: 65 * time.Second, most: 130 * time.Second},
		"R20 a hint is guidance":        {answer: hinted(limited, 7), source: wire.DelayProviderPollHint, least: 7 * time.Second, most: 8 * time.Second},
		"R18 R27 the table's floor":     {floor: 50, answer: hinted(running, 1), source: wire.DelayProviderPollHint, least: 50 * time.Second, most: 50 * time.Second},
		"R27 the table's cap":           {spec: base(100), cap: 20, answer: running, source: wire.DelayLocalBackoff, least: 10 * time.Second, most: 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := specWith(func(s *wire.Spec) { s.Schedule.InitialDelaySeconds = new(0) })
			if c.spec != nil {
				c.spec(&spec)
			}
			known := operation.Knowledge{FloorSeconds: c.floor, CapSeconds: c.cap}
			op := operation.Open(prepared(t, spec, known), firstRun, start, start)
			now := polled(t, op, result(c.answer))
			poll := op.Record().Poll
			require.NotNil(t, poll)
			require.Equal(t, c.source, poll.Source)
			require.GreaterOrEqual(t, poll.At.Sub(now), c.least)
			require.LessOrEqual(t, poll.At.Sub(now), c.most)
			require.Equal(t, operation.Wait{Until: poll.At, Summary: fmt.Sprintf("poll 2 of 12, %s", c.source)}, op.Next(now))
		})
	}
}

func base(seconds int) func(*wire.Spec) {
	return func(s *wire.Spec) { s.Schedule.BaseDelaySeconds = &seconds }
}

// TestRetryAfterAtTheDeadline is the boundary of R19: a minimum one second before the deadline is waited for, one at the
// deadline stops now.
func TestRetryAfterAtTheDeadline(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		short time.Duration
		stops bool
	}{{time.Second, false}, {0, true}, {-time.Second, true}} {
		op := opened(t, wire.TableFacts{}, func(s *wire.Spec) {
			s.Schedule.InitialDelaySeconds = new(0)
			s.DeadlineAt = start.Add(200*time.Millisecond + 60*time.Second + c.short)
		})
		polled(t, op, result(retryAfter(read("running"), 60)))
		require.Equal(t, c.stops, op.Escalation() != nil, "minimum %s before the deadline", c.short)
		if c.stops {
			requireReason(t, op, wire.ReasonRetryAfterExceedsDeadline, "2025-04-18T10:21:00Z")
		}
	}
}

// TestNothingLeavesAtTheDeadline: at every wake the deadline is looked at before anything is sent (R22, R24, R26).
func TestNothingLeavesAtTheDeadline(t *testing.T) {
	t.Parallel()
	op := opened(t, wire.TableFacts{}, func(s *wire.Spec) {
		s.Schedule.InitialDelaySeconds = new(59)
		s.DeadlineAt, s.BusinessDeadlineAt = start.Add(2*time.Minute), new(start.Add(time.Minute))
	})
	command, ok := op.Next(start.Add(59 * time.Second)).(operation.SendStatus)
	require.True(t, ok)
	require.Equal(t, start.Add(time.Minute), command.StartBy)
	require.Equal(t, start.Add(time.Minute), command.Request.NotAfter)

	for _, wake := range []time.Duration{time.Minute, time.Minute + time.Nanosecond} {
		op := opened(t, wire.TableFacts{}, func(s *wire.Spec) {
			s.Schedule.InitialDelaySeconds = new(59)
			s.DeadlineAt, s.BusinessDeadlineAt = start.Add(2*time.Minute), new(start.Add(time.Minute))
		})
		require.IsType(t, operation.Notify{}, op.Next(start.Add(wake)))
		requireReason(t, op, wire.ReasonBusinessDeadlineExceeded, "")
		require.Zero(t, op.Record().Counters.StatusRequestsUsed)
	}
}

// TestLateWake is the boundary of an outage: 5 s late sends, later than that waits once more (R22).
func TestLateWake(t *testing.T) {
	t.Parallel()
	for _, late := range []time.Duration{0, 5 * time.Second} {
		op := opened(t, wire.TableFacts{})
		require.IsType(t, operation.SendStatus{}, op.Next(op.Record().Poll.At.Add(late)))
	}
	op := opened(t, wire.TableFacts{})
	now := op.Record().Poll.At.Add(5*time.Second + time.Millisecond)
	require.IsType(t, operation.Wait{}, op.Next(now))
	poll := op.Record().Poll
	require.Equal(t, wire.DelayCatchUp, poll.Source)
	require.GreaterOrEqual(t, poll.At.Sub(now), time.Second)
	require.LessOrEqual(t, poll.At.Sub(now), 5*time.Second, "at most the raw delay")
	require.Zero(t, op.Record().Counters.StatusRequestsUsed)
	require.IsType(t, operation.SendStatus{}, op.Next(poll.At.Add(time.Hour/2)), "waits once more, not again and again")
}

// TestFinalLookLead: the latest of deadline minus uniform [1, 2] times min(request_timeout, 10 s), the provider's minimum,
// and one second from now (R23).
func TestFinalLookLead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ timeout, least, most int }{{4, 4, 8}, {10, 10, 20}, {300, 10, 20}} {
		for i := range 50 {
			op := opened(t, wire.TableFacts{}, base(3000), func(s *wire.Spec) {
				s.OperationID = fmt.Sprint("op-", i)
				s.Schedule.MaxDelaySeconds = new(6000)
				s.Schedule.RequestTimeoutSeconds = &c.timeout
				s.DeadlineAt = start.Add(25 * time.Minute)
			})
			poll := op.Record().Poll
			require.Equal(t, wire.DelayFinalLook, poll.Source)
			lead := start.Add(25 * time.Minute).Sub(poll.At)
			require.GreaterOrEqual(t, lead, time.Duration(c.least)*time.Second-time.Millisecond)
			require.LessOrEqual(t, lead, time.Duration(c.most)*time.Second)
		}
	}
}

// TestPreparedTooLate: a wait whose deadline passed while it was prepared plans nothing (R24), and asks what becomes of it.
func TestPreparedTooLate(t *testing.T) {
	t.Parallel()
	snapshot := prepared(t, specWith(), operation.Knowledge{})
	for name, c := range map[string]struct {
		now   time.Time
		plans int
	}{
		"a moment before": {snapshot.Limits.DeadlineAt.Add(-time.Millisecond), 1},
		"at the deadline": {snapshot.Limits.DeadlineAt, 0},
		"after it":        {snapshot.Limits.DeadlineAt.Add(time.Hour), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op := operation.Open(snapshot, firstRun, start, c.now)
			require.Len(t, entriesOf(op, wire.EventPollPlanned), c.plans)
			require.IsType(t, operation.Notify{}, op.Next(c.now.Add(time.Hour)))
			requireReason(t, op, wire.ReasonDeadlineExceeded, "")
			require.Zero(t, op.Record().Counters.StatusRequestsUsed)
		})
	}
	older := snapshot
	older.FirstCatchesUpSoon = false
	op := operation.Open(older, firstRun, start, snapshot.Limits.DeadlineAt.Add(time.Hour))
	require.Len(t, entriesOf(op, wire.EventPollPlanned), 1, "the audit of a wait from before is what it was")
}
