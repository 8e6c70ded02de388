package main

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWrongUse(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"-pool 1500":     {"-pool", "1500"},
		"-jobs 0":        {"-jobs", "0"},
		"not defined":    {"-colour", "red"},
		"/schedules.md:": {"-docs", t.TempDir()},
		"/fleets.md:":    {"-docs", t.TempDir(), "-only", "crowds"},
		`-only "all"`:    {"-only", "all"},
	} {
		require.ErrorContains(t, run(args, io.Discard), want)
	}
}
