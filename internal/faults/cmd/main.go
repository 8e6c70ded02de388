// Command cmd runs the fault suite.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/jobwait/jobwait/internal/faults"
)

const usage = `cmd runs waits on a real server under random faults and checks what is left.

  go run ./internal/faults/cmd --waits 1000 --for 20m --seed 1
  go run ./internal/faults/cmd --waits 200 --for 5m --seed 1 --cluster postgres
  go run ./internal/faults/cmd --waits 96 --for 2m --seed 8 --next
  go run ./internal/faults/cmd --mutants --waits 96 --for 1m --settle 15s
  go run ./internal/faults/cmd --waits 1000 --for 20m --seed 1 --dir DIR --again

Exit codes: 0 every rule held, 1 error, 2 wrong usage, 3 a rule was broken or a mutant was not caught, 4 workers do not start, or
do not go on.

Flags:
`

const (
	exitBroken  = 3
	exitWorkers = 4
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	options, mode, err := parse(args, stderr)
	mode.args = args
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	clean, err := suite(ctx, options, mode, stdout, stderr)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "faults: error:", err)
	}
	return exitCode(clean, err)
}

// exitCode tells how a run has ended. One of tomorrow's version has said so by its own.
func exitCode(clean bool, err error) int {
	ended := new(exec.ExitError)
	switch {
	case errors.As(err, new(*faults.WorkerError)), errors.As(err, &ended) && ended.ExitCode() == exitWorkers:
		return exitWorkers
	case err != nil:
		return 1
	case !clean:
		return exitBroken
	default:
		return 0
	}
}

// mode is what is done instead of a plain run.
type mode struct {
	mutants, again, next bool
	mutant               string
	args                 []string
}

func parse(args []string, stderr io.Writer) (faults.Options, mode, error) {
	var o faults.Options
	var m mode
	flags := flag.NewFlagSet("faults", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		_, _ = io.WriteString(stderr, usage)
		flags.PrintDefaults()
	}
	flags.IntVar(&o.Waits, "waits", 50, "`number` of jobs that are waited for")
	flags.DurationVar(&o.For, "for", time.Minute, "how long faults happen")
	flags.Uint64Var(&o.Seed, "seed", 1, "`number` that the waits and the faults are drawn from")
	flags.IntVar(&o.Workers, "workers", 3, "`number` of worker processes")
	flags.DurationVar(&o.Settle, "settle", 3*time.Minute, "how long the last waits may take to end")
	flags.StringVar(&o.Dir, "dir", "", "`directory` that keeps logs and the server's state; empty: a temporary one, kept only when a rule is broken")
	flags.StringVar(&o.Cluster, "cluster", "", `what Temporal runs on: "postgres" for its server on PostgreSQL, whose processes are broken too; empty for the development server`)
	flags.StringVar(&o.OldRevision, "old", "", "`revision` of the repository to upgrade the workers from, in the middle of the run; empty: all workers are of one code")
	flags.BoolVar(&m.next, "next", false, "upgrade the workers in the middle of the run to a version of tomorrow, which is made of this one")
	flags.StringVar(&o.Overlay, "overlay", "", "what --next gives to the suite that it builds of that version")
	flags.BoolVar(&o.ClockSteps, "clock-steps", false, "let the wall clock of some workers jump; building them takes minutes the first time")
	flags.BoolVar(&o.Calm, "calm", false, "leave the faults of processes out")
	flags.BoolVar(&m.again, "again", false, "check again what a run with the same flags has left in --dir")
	flags.BoolVar(&m.mutants, "mutants", false, "run each planted fault of the core instead and tell what caught it")
	flags.StringVar(&m.mutant, "mutant", "", "with --mutants, only those whose name contains this `text`")
	if err := flags.Parse(args); err != nil {
		return o, m, err
	}
	err := validate(o, m, flags.Args())
	if err != nil {
		_, _ = fmt.Fprintln(stderr, err)
	}
	return o, m, err
}

// validate looks at the options before the directory is made that a run may not name.
func validate(o faults.Options, m mode, rest []string) error {
	if len(rest) > 0 {
		return fmt.Errorf("faults: argument %q: there are only flags", rest[0])
	}
	if m.again && o.Dir == "" {
		return errors.New("faults: --again needs the --dir of a run")
	}
	if m.mutants && (o.Upgrades() || m.next || o.ClockSteps) {
		return errors.New("faults: --mutants takes neither --old nor --next nor --clock-steps: what is planted stands in all workers")
	}
	if m.next && o.ClockSteps {
		return errors.New("faults: --next and --clock-steps both change the new workers; take one of them")
	}
	if o.Dir == "" {
		o.Dir = "to be made"
	}
	return o.Validate()
}

// suite runs in a directory that goes away again when there is nothing to look at.
func suite(ctx context.Context, o faults.Options, m mode, stdout, stderr io.Writer) (clean bool, err error) {
	if o.Overlay != "" {
		return runIn(ctx, o, m, stdout, stderr) // the directory is that of whoever has built this
	}
	temporary := o.Dir == ""
	if temporary {
		if o.Dir, err = os.MkdirTemp("", "jobwait-faults-"); err != nil {
			return false, err
		}
		if err := os.Chmod(o.Dir, 0o711); err != nil { // as in runIn
			return false, err
		}
	}
	if clean, err = runIn(ctx, o, m, stdout, stderr); !clean || err != nil || !temporary {
		_, _ = fmt.Fprintln(stderr, "logs and the server's state are in", o.Dir)
		return clean, err
	}
	return true, os.RemoveAll(o.Dir)
}

func runIn(ctx context.Context, o faults.Options, m mode, stdout, stderr io.Writer) (bool, error) {
	if m.mutants {
		return faults.RunMutants(ctx, o, m.mutant, stdout, stderr)
	}
	bin := filepath.Join(o.Dir, "bin")
	if err := os.MkdirAll(bin, 0o711); err != nil { // PostgreSQL's user has to find its data beside it
		return false, err
	}
	if m.next && o.Overlay == "" {
		return runNext(ctx, bin, o, m, stdout, stderr)
	}
	binaries, err := faults.BuildBinaries(ctx, bin, o)
	if err != nil {
		return false, err
	}
	run := faults.Run
	if m.again {
		run = faults.Recheck
	}
	report, err := run(ctx, o, binaries, stderr)
	if report.Waits > 0 { // what was found stands, even if something could not be fetched
		report.Write(stdout)
	}
	return len(report.Violations) == 0, err
}

// runNext has the suite of tomorrow's version do it: histories that its workers record are replayed by their own code.
func runNext(ctx context.Context, bin string, o faults.Options, m mode, stdout, stderr io.Writer) (bool, error) {
	suite, overlay, err := faults.BuildNext(ctx, bin)
	if err != nil {
		return false, err
	}
	command := exec.CommandContext(ctx, suite, append(slices.Clone(m.args), "--overlay", overlay, "--dir", o.Dir)...)
	command.Stdout, command.Stderr = stdout, stderr
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	err = command.Run()
	if ended := new(exec.ExitError); errors.As(err, &ended) && ended.ExitCode() == exitBroken {
		return false, nil
	}
	return err == nil, err
}
