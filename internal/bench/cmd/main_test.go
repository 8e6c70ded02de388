package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/bench"
)

func TestFlags(t *testing.T) {
	t.Parallel()
	full, err := parse(nil, &bytes.Buffer{})
	require.NoError(t, err)
	require.Equal(t, bench.Full(), full.Options)
	short, err := parse([]string{"--short"}, &bytes.Buffer{})
	require.NoError(t, err)
	require.Equal(t, bench.Short(), short.Options)
	some, err := parse([]string{"--phases", "memory,replay", "--waiting", "10,20", "--profile", "x", "--json", "y"}, &bytes.Buffer{})
	require.NoError(t, err)
	require.Equal(t, []bench.Phase{bench.PhaseMemory, bench.PhaseReplay}, some.Phases)
	require.Equal(t, []int{10, 20}, some.Waiting)
	require.True(t, some.Profile)
	require.Equal(t, "y", some.json)
}

func TestWrongUse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{"more"}, `argument "more"`, 2},
		{[]string{"--waiting", "many"}, `invalid value "many"`, 2},
		{[]string{"--phases", "lunch"}, `phase "lunch"`, 1},
		{[]string{"--help"}, "Exit codes", 0},
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, c.code, run(t.Context(), c.args, &stdout, &stderr), c.args)
		require.Contains(t, stderr.String(), c.want)
		require.Empty(t, stdout.String())
	}
}

// Only what is the same everywhere makes the command fail.
func TestVerdict(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	slow := &bench.Report{Figures: []bench.Figure{{Name: "polls per second at saturation"}, {Name: "events per poll", Met: true}}}
	require.Zero(t, verdict(slow, &stderr))
	require.Contains(t, stderr.String(), "missed: polls per second at saturation")
	require.Equal(t, 3, verdict(&bench.Report{Figures: []bench.Figure{{Name: "events per poll"}}}, &stderr))
}
