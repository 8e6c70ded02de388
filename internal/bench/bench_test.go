package bench_test

import (
	"bytes"
	"encoding/json"
	"os"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/bench"
)

func TestMain(m *testing.M) {
	bench.PlayRole()
	os.Exit(m.Run())
}

// What does not depend on the machine holds on every machine: a poll of a wait is as many events and actions as one of the
// bare loop, and less than twice the bytes.
func TestExactFiguresMeetTheirTargets(t *testing.T) {
	t.Parallel()
	options := bench.Short()
	options.Dir = t.TempDir()

	report, err := bench.Run(t.Context(), options, os.Stderr)

	require.NoError(t, err)
	require.Empty(t, report.Missed(), report.Markdown())
	figures := map[string]bench.Figure{}
	for _, figure := range report.Figures {
		figures[figure.Name] = figure
	}
	require.Len(t, bench.Exact(), 3)
	for _, name := range bench.Exact() {
		require.NotZero(t, figures[name].Ratio, "%s is not in the report", name)
	}
	require.Equal(t, []float64{11}, figures["events per poll"].Jobwait)
	require.Equal(t, []float64{2}, figures["billable actions per poll"].Jobwait)
	var out bytes.Buffer
	require.NoError(t, report.WriteJSON(&out))
	require.True(t, json.Valid(out.Bytes()))
}

// A little of everything else, so that it goes on working: no time is asserted.
func TestEveryPhaseRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	t.Parallel()
	options := bench.Options{
		Phases: []bench.Phase{bench.PhaseSaturation, bench.PhaseHalfLoad, bench.PhaseStarvation, bench.PhaseMemory},
		Rounds: 1, Window: 10 * time.Second, Busy: 2, NewWaits: 3, Waiting: []int{2, 4},
		DeepWaits: 2, DeepPolls: 3, Dir: t.TempDir(), Profile: true,
	}

	report, err := bench.Run(t.Context(), options, os.Stderr)

	require.NoError(t, err)
	names := map[string]bool{}
	for _, figure := range report.Figures {
		require.Len(t, figure.Bare, 1, figure.Name)
		require.Len(t, figure.Jobwait, 1, figure.Name)
		names[figure.Name] = true
		if figure.Name == "stack of a waiting job" && !raced() {
			requireSmallStacks(t, figure)
		}
	}
	for _, name := range []string{
		"polls per second at saturation", "timer lateness at half load, median", "new waits polled within their first interval",
		"heap and stacks per waiting job at 4", "heap and stacks per waiting job after 3 polls, at 2",
		"stack of a waiting job",
	} {
		require.True(t, names[name], "%s is not in the report", name)
	}
}

// requireSmallStacks holds what a wait has on its stack while it sleeps against what 8 KB have room for: a frame more below that place
// costs 8 KB for each wait that a worker keeps.
func requireSmallStacks(t *testing.T, figure bench.Figure) {
	t.Helper()
	t.Logf("the bare loop uses %v bytes of its stack, a wait %v of %d", figure.Bare, figure.Jobwait, bench.StackLimit)
	require.Greater(t, figure.Jobwait[0], 1000.0, "the stacks of sleeping workflows cannot be read; see stack.go")
	require.Less(t, figure.Jobwait[0], float64(bench.StackLimit),
		"a wait sleeps too deep for a stack of 8 KB: take calls and large values out of the frames below workflow.Await in workflows/await.go")
}

// raced reports whether this is built for the race detector, whose frames are larger.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	require.NoError(t, with(func(*bench.Options) {}).Validate())
	for want, change := range map[string]func(*bench.Options){
		`phase "lunch"`:        func(o *bench.Options) { o.Phases = []bench.Phase{"lunch"} },
		"no phase":             func(o *bench.Options) { o.Phases = nil },
		"no directory":         func(o *bench.Options) { o.Dir = "" },
		"2 polls":              func(o *bench.Options) { o.Polls = 2 },
		"0 rounds":             func(o *bench.Options) { o.Rounds = 0 },
		"of 10ms":              func(o *bench.Options) { o.Window = 10 * time.Millisecond },
		"with 0 waits":         func(o *bench.Options) { o.Busy = 0 },
		"0 new waits":          func(o *bench.Options) { o.NewWaits = 0 },
		"memory at [10 1]":     func(o *bench.Options) { o.Waiting = []int{10, 1} },
		"memory of 0 waits":    func(o *bench.Options) { o.DeepWaits = 0 },
		"replays of 99 polls;": func(o *bench.Options) { o.LongPolls = 99 },
	} {
		require.ErrorContains(t, with(change).Validate(), want)
	}
}

func with(change func(*bench.Options)) bench.Options {
	options := bench.Full()
	options.Dir = "somewhere"
	change(&options)
	return options
}
