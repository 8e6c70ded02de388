package simulate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/lanes"
	"github.com/jobwait/jobwait/internal/simulate"
)

// everyTen is a crowd that asks every ten seconds, all in the same one if nobody keeps it apart.
func everyTen(waits int, limits lanes.Limits) simulate.Crowd {
	return simulate.Crowd{
		Waits: waits, Schedule: simulate.Fixed(10 * second).Named(""), Interval: 10 * second, Processes: 1,
		Limits: limits, Latency: 200 * time.Millisecond, For: time.Minute,
	}
}

func TestACrowdWithoutARateStaysTogether(t *testing.T) {
	t.Parallel()
	played := everyTen(20, lanes.Limits{}).Play(1)
	peak, mean := played.Peak(time.Minute)
	require.Equal(t, 20, peak)
	require.InDelta(t, 2, mean, 0.4, "five or six waves in a minute")
	require.Zero(t, played.Held)
}

// A rate of 2.5 a second takes 20 waits apart, and they stay apart: one in two of the slots within 8 s is nobody's.
func TestARateTakesACrowdApart(t *testing.T) {
	t.Parallel()
	played := everyTen(20, lanes.Limits{Rate: 2.5}).Play(1)
	peak, mean := played.Peak(time.Minute)
	require.Equal(t, 3, peak)
	require.InDelta(t, 2, mean, 0.1)
	require.Positive(t, played.Returns)
	for _, waited := range played.Waited {
		require.LessOrEqual(t, waited, 8.)
	}
}

// The page says of a fleet of 50, and after an outage, that a fitting rate keeps its largest second under 1.5 times the mean, and
// that two workers need one of less than a request a second each.
func TestSmallCrowdsAreEven(t *testing.T) {
	t.Parallel()
	for _, crowd := range simulate.Crowds() {
		fitting := crowd.Processes == 1 && crowd.Limits.Rate > 0 || crowd.Processes == 2 && crowd.Limits.Rate < 1
		if crowd.Waits == 50 && fitting {
			row := crowd.Measure(3, 1)
			require.InDelta(t, 1, row.Under, 0, "%s, %g/s: %+v", crowd.Name, crowd.Limits.Rate, row.Peak)
		}
	}
}

// An answer that holds a crowd back spares it those of the others.
func TestAHoldSparesAnswers(t *testing.T) {
	t.Parallel()
	limited := func(limits lanes.Limits) int {
		crowd := simulate.Throttles()[0]
		crowd.Waits, crowd.Limits, crowd.For = 100, limits, 8*time.Minute
		played := crowd.Play(1)
		n := 0
		for _, count := range played.Limited.Between(0, 900) {
			n += count
		}
		return n
	}
	require.GreaterOrEqual(t, limited(lanes.Limits{}), 100, "each wait has to learn it")
	require.Less(t, limited(lanes.Limits{MaxHold: 10 * time.Minute}), 10)
}

func TestACrowdIsDecidedByItsSeed(t *testing.T) {
	t.Parallel()
	crowd := simulate.Crowds()[8]
	once, again, other := crowd.Play(1), crowd.Play(1), crowd.Play(2)
	require.Equal(t, once.Waited, again.Waited)
	require.NotEqual(t, once.Waited, other.Waited)
}
