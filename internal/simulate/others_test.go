package simulate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/simulate"
)

// pauses are the delays before the first n requests, in seconds, with a draw that never changes and no deadline in sight.
func pauses(delays simulate.Delays, n int, draw float64) []float64 {
	at := simulate.At{Left: 24 * time.Hour, Draw: func() float64 { return draw }}
	out := []float64{0}
	if delays.First != nil {
		out[0] = delays.First(at).Seconds()
	}
	for at.Requests = 1; at.Requests < n; at.Requests++ {
		out = append(out, delays.Pause(at).Seconds())
	}
	return out
}

func TestRestatedSchedules(t *testing.T) {
	t.Parallel()
	aws := simulate.AWSWaiter(2*second, 2*time.Minute)
	backoff := simulate.KubernetesBackoff{Duration: 5 * second, Factor: 2, Jitter: 0.5, Cap: 2 * time.Minute}
	for name, test := range map[string]struct {
		delays simulate.Delays
		draw   float64
		want   []float64
	}{
		"fixed":                        {simulate.Fixed(30 * second), .5, []float64{30, 30, 30}},
		"AWS, least":                   {aws, 0, []float64{0, 2, 2, 2, 2, 2, 2, 2, 2}},
		"AWS, middle":                  {aws, .5, []float64{0, 2, 3, 5, 9, 17, 33, 61, 61}},
		"AWS, 15 to 120":               {simulate.AWSWaiter(15*second, 2*time.Minute), .5, []float64{0, 15, 22.5, 37.5, 67.5, 67.5}},
		"azcore":                       {simulate.AzurePoller(30 * second), .5, []float64{0, 30, 30}},
		"Terraform":                    {simulate.StateChange{}.Delays(), .5, []float64{0, .2, .4, .8, 1.6, 3.2, 6.4, 10, 10, 10, 10}},
		"Terraform, Delay, MinTimeout": {simulate.StateChange{Delay: 3 * second, MinTimeout: 5 * second}.Delays(), .5, []float64{3, 5, 10, 10}},
		"Terraform, MinTimeout past the cap takes turns with it": {
			simulate.StateChange{MinTimeout: 30 * second}.Delays(), .5, []float64{0, 30, 10, 30, 10, 30, 10, 30, 10, 30, 10, 30},
		},
		"Terraform, PollInterval":      {simulate.StateChange{PollInterval: time.Minute, MinTimeout: 5 * second}.Delays(), .5, []float64{0, 60, 60}},
		"Terraform, PollInterval of 3": {simulate.StateChange{PollInterval: 3 * time.Minute}.Delays(), .5, []float64{0, .2, .4}},
		"Kubernetes poll":              {simulate.KubernetesPoll(10*second, 200*time.Millisecond), .5, []float64{10, 9.8, 9.8}},
		"Kubernetes Backoff, least":    {backoff.Delays(), 0, []float64{5, 10, 20, 40, 80, 120, 120}},
		"Kubernetes Backoff, middle":   {backoff.Delays(), .5, []float64{6.25, 12.5, 25, 50, 100, 150, 150}},
		"ours, least":                  {simulate.Plain{Base: 5 * second, Max: time.Minute}.Delays(), 0, []float64{2.5, 5, 10, 20, 30, 30}},
		"ours, middle":                 {simulate.Plain{Base: 5 * second, Max: time.Minute}.Delays(), .5, []float64{3.75, 7.5, 15, 30, 45, 45}},
		"ours, jitter above the minimum": {
			simulate.Plain{Base: 5 * second, Max: 5 * second, Min: 7 * second}.Delays(), .5, []float64{3.75, 10.5, 10.5},
		},
		"ours, jitter cut off by the minimum": {
			simulate.Plain{Base: 5 * second, Max: 5 * second, Min: 7 * second, CutJitter: true}.Delays(), .5, []float64{3.75, 7, 7},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.InDeltaSlice(t, test.want, pauses(test.delays, len(test.want), test.draw), 1e-9)
		})
	}
}

// The AWS waiter keeps its least delay free before the limit, for a last look there, and gives up with less than it left.
func TestAWSWaiterAtItsLimit(t *testing.T) {
	t.Parallel()
	pause := func(left time.Duration) time.Duration {
		return simulate.AWSWaiter(15*second, 2*time.Minute).Pause(simulate.At{Requests: 1, Left: left})
	}
	require.Equal(t, 15*second, pause(31*second))
	require.Equal(t, 14*second, pause(29*second))
	require.Equal(t, 10*second, pause(10*second))
}

func TestRetryAfterIsHeeded(t *testing.T) {
	t.Parallel()
	require.Nil(t, simulate.AWSWaiter(15*second, 2*time.Minute).Heeds)
	asked := func(delays simulate.Delays, before int) time.Duration {
		return delays.Heeds(simulate.At{Requests: 1, Asked: before, Draw: func() float64 { return .5 }}, 100*second)
	}
	require.Equal(t, 100*second, asked(simulate.AzurePoller(30*second), 0))
	plain := simulate.Plain{Base: 5 * second, Max: time.Minute}
	require.Equal(t, 105*second, asked(plain.Delays(), 0), "a tenth, at most 10 s")
	plain.FirstSpread = 1
	require.Equal(t, 150*second, asked(plain.Delays(), 0))
	require.Equal(t, 105*second, asked(plain.Delays(), 1))
}

// Asked counts the answers in a row that ask for a delay: an answer that asks for nothing ends the row.
func TestAnswersInARow(t *testing.T) {
	t.Parallel()
	delays := simulate.Fixed(10 * second)
	delays.Heeds = func(at simulate.At, asked time.Duration) time.Duration { return asked + time.Duration(at.Asked)*second }
	world := simulate.World{RetryAfter: func(n int, _ time.Time) time.Duration {
		return map[int]time.Duration{1: 20 * second, 2: 20 * second, 4: 20 * second}[n]
	}}
	wait := simulate.Wait{Start: start, Deadline: start.Add(time.Hour), Budget: 5}
	sent, _ := played(world, delays.Named("").Open(wait), time.Hour)
	require.Equal(t, []float64{10, 30, 51, 61, 81}, sent)
}
