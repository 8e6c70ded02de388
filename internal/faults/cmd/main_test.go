package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
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
