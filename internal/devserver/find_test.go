package devserver

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const released = "temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)"

func TestFindOrder(t *testing.T) {
	t.Parallel()
	needsShell(t)
	own, installed := script(t, "echo '"+released+"'"), script(t, "echo 'temporal version 1.6.0 (Server 1.30.2, UI 2.44.0)'")
	cases := map[string]struct {
		env, path string
		want      Executable
	}{
		"environment wins": {env: own, path: installed, want: Executable{Path: own, Source: SourceEnvironment, ServerVersion: "1.29.1"}},
		"then PATH":        {path: installed, want: Executable{Path: installed, Source: SourcePath, ServerVersion: "1.30.2"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := testFinder(t, c.env, c.path).find(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestFindRefusesABadEnvironment(t *testing.T) {
	t.Parallel()
	needsShell(t)
	good := script(t, "echo '"+released+"'")
	cases := map[string]struct{ path, want string }{
		"absent":        {path: filepath.Join(t.TempDir(), "nothing"), want: "no such file"},
		"other program": {path: script(t, "echo 'temporal 0.1, a calendar'"), want: `answered "temporal 0.1, a calendar"`},
		"fails":         {path: script(t, "exit 3"), want: "exit status 3"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := testFinder(t, c.path, good).find(t.Context())
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, c.path)
			require.ErrorContains(t, err, "set TEMPORAL_CLI")
		})
	}
}

func TestFindPassesOverAnotherTemporalOnPath(t *testing.T) {
	t.Parallel()
	needsShell(t)
	var progress bytes.Buffer
	f := testFinder(t, "", script(t, "echo 'temporal 0.1, a calendar'"))
	f.progress = &progress
	_, err := f.find(t.Context())
	require.ErrorIs(t, err, ErrNotFound)
	require.Contains(t, progress.String(), "a calendar")
}

func TestFindOutsideACheckout(t *testing.T) {
	t.Parallel()
	f := testFinder(t, "", "")
	_, err := f.find(t.Context())
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorContains(t, err, f.dir)
	require.ErrorContains(t, err, "https://docs.temporal.io/cli")
}

func TestModuleRootWalksPastNestedModules(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	nested := filepath.Join(root, "tools", "deep")
	require.NoError(t, os.MkdirAll(nested, 0o755))
	write(t, filepath.Join(root, "go.mod"), "// a comment\nmodule github.com/jobwait/jobwait // here\n", 0o644)
	write(t, filepath.Join(root, "tools", "go.mod"), "module github.com/jobwait/jobwait/tools\n", 0o644)
	got, err := moduleRoot(nested)
	require.NoError(t, err)
	require.Equal(t, root, got)
}

func TestReportWhileSpeaksOnlyWhenItIsSlow(t *testing.T) {
	t.Parallel()
	quick := make(lines, 10)
	f := finder{progress: quick, quietFor: time.Hour, reportEvery: time.Hour}
	f.reportWhile(time.Now())()
	require.Empty(t, quick)

	slow := make(lines, 10)
	f = finder{progress: slow, quietFor: time.Millisecond, reportEvery: time.Millisecond}
	stop := f.reportWhile(time.Now())
	require.Contains(t, <-slow, "about 1 minute of downloads and 5 minutes of compiling")
	require.Contains(t, <-slow, "still building")
	go func() { // what is still written must not block the stop
		for line := range slow {
			_ = line
		}
	}()
	stop()
	close(slow)
}

func TestLockFileWaitsAndGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lockFile(t.Context(), path)
	require.NoError(t, err)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = lockFile(cancelled, path)
	require.ErrorIs(t, err, context.Canceled)
	unlock()
	unlock, err = lockFile(t.Context(), path) // the abandoned wait let it go again
	require.NoError(t, err)
	unlock()
}

func TestTailKeepsTheEnd(t *testing.T) {
	t.Parallel()
	var kept tail
	for range 3 {
		_, err := kept.Write(bytes.Repeat([]byte("x"), tailBytes))
		require.NoError(t, err)
	}
	_, err := kept.Write([]byte("the end\n"))
	require.NoError(t, err)
	require.Len(t, kept.String(), tailBytes-1)
	require.Contains(t, kept.String(), "xthe end")
}

// lines is a writer whose every write can be waited for.
type lines chan string

func (l lines) Write(p []byte) (int, error) { l <- string(p); return len(p), nil }

func testFinder(t *testing.T, env, path string) finder {
	t.Helper()
	return finder{
		getenv: func(name string) string {
			require.Equal(t, "TEMPORAL_CLI", name)
			return env
		},
		lookPath: func(string) (string, error) {
			if path == "" {
				return "", errors.New("not on PATH")
			}
			return path, nil
		},
		dir: t.TempDir(), progress: bytes.NewBuffer(nil), quietFor: time.Hour, reportEvery: time.Hour,
	}
}

func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "temporal")
	// A child forked while the file is open for writing would hold it open: running it then fails with "text file busy".
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	write(t, path, "#!/bin/sh\n"+body+"\n", 0o755)
	return path
}

func write(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(content), mode))
}

func needsShell(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in executables are shell scripts")
	}
}
