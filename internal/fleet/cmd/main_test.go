package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/fleet"
)

func TestWrongUse(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"at least one of each":       {"--waits", "0"},
		"whole seconds":              {"--interval", "1500ms"},
		"flag provided but not defi": {"--colour", "red"},
	} {
		var stderr bytes.Buffer
		require.Equal(t, 2, run(t.Context(), args, nil, &stderr))
		require.Contains(t, stderr.String(), want)
	}
	var stderr bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"--help"}, nil, &stderr))
	require.Contains(t, stderr.String(), "Exit codes: 0 ")
}

// Who has a largest second of 1.5 times the mean or more in any look has missed it.
func TestTheReportIsATableAndAVerdict(t *testing.T) {
	t.Parallel()
	report := &fleet.Report{
		Options: fleet.Options{Waits: 50, Workers: 1, Rate: 2.4, Interval: 30 * time.Second}, Started: 1234567 * time.Microsecond,
		Looks: []fleet.Look{{Name: "due together", Mean: 2, Peak: 2, First: 3, Held: 10}},
	}
	var out bytes.Buffer
	require.Zero(t, show(report, &out))
	require.Contains(t, out.String(), "50 waits of 30s, 1 workers, 2.4 requests/s; started within 1.235s\n")
	require.Contains(t, out.String(), "| due together | 2.00 | 2 | 1.00 | 0 | 3 | 10 |\n")
	report.Looks = append(report.Looks, fleet.Look{Name: "later", Mean: 2, Peak: 3})
	require.Equal(t, 3, show(report, &out))
}
