package fleet_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/fleet"
)

// A small fleet, looked at before and after a time without workers: who is counted are all of them, and the rate is kept. How
// evenly they ask is a matter of half an hour, and of the command.
func TestAFleetIsLookedAtTwice(t *testing.T) {
	t.Parallel()
	options := fleet.Options{Waits: 6, Workers: 2, Rate: 1, Interval: time.Second, Look: 4 * time.Second, Outage: time.Second}

	report, err := fleet.Run(t.Context(), options, os.Stderr)

	require.NoError(t, err)
	require.Positive(t, report.Started)
	require.Len(t, report.Looks, 2)
	require.Equal(t, "due together", report.Looks[0].Name)
	require.Equal(t, "after 1s without workers", report.Looks[1].Name)
	for _, look := range report.Looks {
		require.Positive(t, look.Mean, look.Name)
		require.Positive(t, look.Peak, look.Name)
		require.Positive(t, look.First, look.Name)
	}
	require.Positive(t, report.Looks[0].Held, "six requests at once, of one a second, and none was held back")
}

func TestOptionsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	good := fleet.Options{Waits: 1, Workers: 1, Interval: time.Second, Look: time.Second}
	require.NoError(t, good.Validate())
	for want, change := range map[string]func(*fleet.Options){
		"fleet: 0 waits and 1 workers: at least one of each":      func(o *fleet.Options) { o.Waits = 0 },
		"fleet: 1 waits and 0 workers: at least one of each":      func(o *fleet.Options) { o.Workers = 0 },
		"fleet: a rate of -1: at least 0":                         func(o *fleet.Options) { o.Rate = -1 },
		"fleet: an interval of 1.5s: whole seconds, at least one": func(o *fleet.Options) { o.Interval = 1500 * time.Millisecond },
		"fleet: an interval of 0s: whole seconds, at least one":   func(o *fleet.Options) { o.Interval = 0 },
		"fleet: looking for 0s after an outage of 0s: at least":   func(o *fleet.Options) { o.Look = 0 },
		"fleet: looking for 1s after an outage of -1s: at least":  func(o *fleet.Options) { o.Outage = -time.Second },
	} {
		options := good
		change(&options)
		require.ErrorContains(t, options.Validate(), want)
	}
}
