package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/connect"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		code int
		says string
	}{
		"done":  {nil, 0, ""},
		"help":  {fmt.Errorf("parse: %w", pflag.ErrHelp), 0, ""},
		"usage": {fmt.Errorf("parse: %w", Usagef("--n %d: too many", 3)), 2, "jobwait: error: parse: --n 3: too many\njobwait: hint: inbox --help lists the flags\n"},
		"error": {errors.New("port in use"), 1, "jobwait: error: port in use\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stderr bytes.Buffer
			require.Equal(t, test.code, exitCode("inbox", test.err, &stderr))
			require.Equal(t, test.says, stderr.String())
		})
	}
}

func TestNobodyThereNamesTheWayOut(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	require.Equal(t, 1, exitCode("worker", &connect.UnreachableError{Cause: errors.New("refused")}, &stderr))
	require.Contains(t, stderr.String(), "hint: start a server with `temporal server start-dev`, or set TEMPORAL_ADDRESS\n")
}

func TestParse(t *testing.T) {
	t.Parallel()
	parse := func(stdout io.Writer, args ...string) (n int, log Log, err error) {
		err = Parse("worker", "worker works\n", args, stdout, func(flags *pflag.FlagSet) {
			flags.IntVar(&n, "n", 1, "how many")
			log.Define(flags)
		})
		return n, log, err
	}
	n, log, err := parse(io.Discard, "--n", "3", "--log-format", "xml")
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.EqualError(t, log.Validate(), `--log-format "xml" is not one of text and json`)

	for args, want := range map[string]string{
		"--help":    "worker works\n      --n int",
		"--version": "jobwait worker ",
	} {
		var stdout bytes.Buffer
		_, _, err := parse(&stdout, args)
		require.ErrorIs(t, err, pflag.ErrHelp)
		require.Contains(t, stdout.String(), want)
	}
	for args, want := range map[string]string{
		"--m": "unknown flag: --m",
		"now": `unexpected argument "now": this command takes only flags`,
	} {
		_, _, err := parse(io.Discard, args)
		require.ErrorAs(t, err, new(usageError))
		require.EqualError(t, err, want)
	}
}

func TestLoggerKeepsToItsLevelAndFormat(t *testing.T) {
	t.Parallel()
	log := Log{}
	require.NoError(t, Parse("worker", "", []string{"--log-level", "warn", "--log-format", "json"}, io.Discard, log.Define))
	require.NoError(t, log.Validate())
	var lines bytes.Buffer
	logger := log.Logger(&lines)
	logger.Info("unheard")
	logger.Warn("heard")
	require.NotContains(t, lines.String(), "unheard")
	require.Contains(t, lines.String(), `"level":"WARN","msg":"heard"`)
}
