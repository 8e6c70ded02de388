package main

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/faults"
)

// A wrong command line is told before anything is built or started.
func TestWrongUsage(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"0 waits":                      {"--waits", "0"},
		"for 1s, at least 10s":         {"--for", "1s"},
		"not defined: -wait":           {"--wait", "9"},
		"--again needs the --dir":      {"--again"},
		"neither --old nor":            {"--mutants", "--old", "HEAD"},
		"nor --next nor":               {"--mutants", "--next"},
		"take one of them":             {"--next", "--clock-steps"},
		`argument "20m": there are on`: {"20m"},
	} {
		var out, complaint bytes.Buffer
		require.Equal(t, 2, run(t.Context(), args, &out, &complaint), want)
		require.Contains(t, complaint.String(), want)
		require.Empty(t, out.String())
	}
	require.Zero(t, run(t.Context(), []string{"--help"}, &bytes.Buffer{}, &bytes.Buffer{}))
}

// Scripts tell by the exit code whether a rule was broken or nothing was shown.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	tomorrows := exec.Command("/bin/sh", "-c", "exit 4").Run() //nolint:noctx // it ends by itself
	for _, c := range []struct {
		clean bool
		err   error
		want  int
	}{
		{true, nil, 0},
		{false, errors.New("no server"), 1},
		{false, nil, 3},
		{false, fmt.Errorf("mutant 3: %w", &faults.WorkerError{Code: 1}), 4},
		{false, tomorrows, 4},
	} {
		require.Equal(t, c.want, exitCode(c.clean, c.err), "%v", c.err)
	}
}
