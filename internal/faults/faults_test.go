package faults_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/child"
	"github.com/jobwait/jobwait/internal/devserver"
	"github.com/jobwait/jobwait/internal/faults"
)

// envLong makes the tests here take as long as they like: every planted fault of the core is run and has to be caught.
const envLong = "JOBWAIT_FAULTS_LONG"

// TestSuite is the suite in short, with real processes.
func TestSuite(t *testing.T) {
	t.Parallel()
	binaries, err := faults.BuildBinaries(t.Context(), t.TempDir(), faults.Options{})
	require.NoError(t, err)
	t.Run("waits under faults", func(t *testing.T) {
		t.Parallel()
		waitsUnderFaults(t, binaries)
	})
	t.Run("workers that do not start", func(t *testing.T) {
		t.Parallel()
		workersThatDoNotStart(t, binaries)
	})
}

// waitsUnderFaults has workers killed and replaced, and every rule holds.
func waitsUnderFaults(t *testing.T, binaries faults.Binaries) {
	t.Helper()
	options := small(t)
	report, err := faults.Run(t.Context(), options, binaries, t.Output())
	require.NoError(t, err)
	report.Write(t.Output())

	require.Empty(t, report.Violations)
	require.Equal(t, options.Waits/4, report.Submissions)
	require.GreaterOrEqual(t, report.Waits, options.Waits-report.Submissions)
	require.Zero(t, report.Outcomes["open"]+report.Submitted["open"], "waits that have not ended")
	require.Positive(t, report.Submitted["succeeded"]+report.Submitted["failed"]+report.Submitted["refused"])
	require.Positive(t, report.Made)
	require.Positive(t, report.People["nudge"])
	require.Positive(t, report.People["unsigned"]+report.People["changed"])
	require.Positive(t, report.Outcomes["succeeded"]+report.Outcomes["failed"]+report.Outcomes["expired"]+report.Outcomes["cancelled"])
	for _, action := range []faults.Action{
		faults.KillWorker, faults.StopWorker, faults.FreezeWorker, faults.FullLog, faults.KillServer, faults.StopProvider,
	} {
		require.Positive(t, report.Faults[string(action)], action)
	}
	require.Positive(t, report.Requests)
}

// workersThatDoNotStart find a table that they cannot read: the run ends at once, with what they say of it.
func workersThatDoNotStart(t *testing.T, binaries faults.Binaries) {
	t.Helper()
	options := small(t)
	options.For = time.Hour
	tables := filepath.Join(options.Dir, "tables")
	require.NoError(t, os.MkdirAll(tables, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(tables, "broken.yaml"), []byte("provider: broken\n"), 0o600))
	_, err := faults.Run(t.Context(), options, binaries, t.Output())
	ended := new(faults.WorkerError)
	require.ErrorAs(t, err, &ended)
	require.Equal(t, 1, ended.Code)
	require.Regexp(t, `jobwait: error: .*broken\.yaml`, ended.Last)
	require.ErrorContains(t, err, ended.Last)
}

// A worker that finds no server is started again until there is one, however often that is.
func TestWorkersAreStartedAgainWhileTheServerIsAway(t *testing.T) {
	t.Parallel()
	dir, failed := t.TempDir(), make(chan error, 1)
	end, err := faults.Supervise(dir, child.Command{Path: "/bin/sh", Args: []string{"-c", "echo no server; exit 1"}}, func(err error) { failed <- err })
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(filepath.Join(dir, "worker-1.log"))
		return err == nil && strings.Count(string(text), "no server") > 3
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, end())
	require.Empty(t, failed)
}

// small is a run that fits into a minute.
func small(t *testing.T) faults.Options {
	t.Helper()
	server, err := devserver.Find(t.Context(), os.Stderr)
	require.NoError(t, err)
	return faults.Options{Seed: 153, Waits: 48, For: 25 * time.Second, Workers: 3, Settle: 90 * time.Second, Dir: t.TempDir(), Temporal: server}
}

// TestMutantsApply: a planted fault whose text is gone from the core would be caught by nobody and missed by nobody.
func TestMutantsApply(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(faults.Mutants()), 5)
	for _, mutant := range faults.Mutants() {
		_, err := mutant.Overlay(root, t.TempDir())
		require.NoError(t, err)
	}
	gone := faults.Mutant{Name: "gone", Edits: []faults.Edit{{File: "operation/cancel.go", Old: "not there"}}}
	_, err = gone.Overlay(root, t.TempDir())
	require.ErrorContains(t, err, "0 times")
}

// The version of tomorrow is made of the code that is here.
func TestNextApplies(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	list, err := faults.Next(root, t.TempDir())
	require.NoError(t, err)
	require.FileExists(t, list)
}

// The clock that jumps is made of the Go that is here: another release may have moved its text.
func TestSteppedClockApplies(t *testing.T) {
	t.Parallel()
	list, err := faults.SteppedClock(t.Context(), t.TempDir())
	require.NoError(t, err)
	text, err := os.ReadFile(list)
	require.NoError(t, err)
	require.Contains(t, string(text), "time.go")
}

// TestMutantsAreCaught builds the worker with each planted fault and looks whether the checker finds it. It takes minutes.
func TestMutantsAreCaught(t *testing.T) {
	if os.Getenv(envLong) == "" {
		t.Skip("set " + envLong + "=1 to run each planted fault for a minute")
	}
	t.Parallel()
	options := small(t)
	options.Waits, options.For, options.Settle = 96, time.Minute, 15*time.Second
	caught, err := faults.RunMutants(t.Context(), options, "", t.Output(), t.Output())
	require.NoError(t, err)
	require.True(t, caught)
}
