package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/waittest"
)

func TestRunServesAScriptAndLogs(t *testing.T) {
	t.Setenv("FAKEPROVIDER_TEST_KEY", "k")
	dir := t.TempDir()
	script, log := filepath.Join(dir, "jobs.json"), filepath.Join(dir, "log.jsonl")
	require.NoError(t, os.WriteFile(script, []byte(`{"jobs": {"exp_71c": {"steps": [{"state": "running"}]}}}`), 0o600))

	ctx, stop := context.WithCancel(t.Context())
	reader, stdout := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"--script", script, "--log", log, "--key-env", "FAKEPROVIDER_TEST_KEY"}, stdout, io.Discard)
	}()
	origin := readOrigin(t, reader)
	require.Equal(t, http.StatusUnauthorized, status(t, origin+"/exports/exp_71c", ""))
	require.Equal(t, http.StatusOK, status(t, origin+"/exports/exp_71c", "Bearer k"))
	stop()
	require.NoError(t, <-ended)

	file, err := os.Open(log)
	require.NoError(t, err)
	defer file.Close()
	entries, err := waittest.ReadLog(file)
	require.NoError(t, err)
	require.Len(t, entries, 2)
	require.True(t, entries[1].Authorized)
}

func TestTheComposeDemoHasAScriptThatCanBePlayed(t *testing.T) {
	t.Parallel()
	script, err := config{script: filepath.Join("..", "..", "deploy", "demo-jobs.json")}.readScript()
	require.NoError(t, err)
	require.NotEmpty(t, script.Jobs)
	require.NotNil(t, script.Default)
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	bad := filepath.Join(t.TempDir(), "bad.json")
	require.NoError(t, os.WriteFile(bad, []byte(`{"jobs": {"j": {"steps": [{"do": "hang"}]}}}`), 0o600))
	cases := map[string]struct {
		args []string
		want string
	}{
		"key":      {[]string{"--key-env", "FAKEPROVIDER_NEVER_SET"}, `environment variable "FAKEPROVIDER_NEVER_SET" is unset or empty`},
		"no file":  {[]string{"--script", bad + ".none"}, "no such file"},
		"script":   {[]string{"--script", bad}, `bad.json: waittest: job "j": step 1: do "hang"`},
		"address":  {[]string{"--addr", "nowhere"}, `address "nowhere"`},
		"argument": {[]string{"jobs.json"}, `unexpected argument "jobs.json"`},
		"flag":     {[]string{"--port", "1"}, "-port"},
		"log":      {[]string{"--log", filepath.Join(bad, "x")}, "not a directory"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.ErrorContains(t, run(t.Context(), c.args, io.Discard, io.Discard), c.want)
		})
	}
}

func TestRunHelp(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	require.ErrorIs(t, run(t.Context(), []string{"--help"}, &stdout, &stderr), flag.ErrHelp)
	for _, want := range []string{"-addr", "-key-env", "-script", "-log", "GET /_log"} {
		require.Contains(t, stdout.String(), want)
	}
	require.Empty(t, stderr.String())
}

func readOrigin(t *testing.T, stdout io.Reader) string {
	t.Helper()
	line := make([]byte, 200)
	n, err := stdout.Read(line)
	require.NoError(t, err)
	origin, ok := strings.CutPrefix(strings.TrimSpace(string(line[:n])), "listening on ")
	require.True(t, ok, "%s", line[:n])
	return origin
}

func status(t *testing.T, url, authorization string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", authorization)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}
