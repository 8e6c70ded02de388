// Package startercmd is the command line of jobwait: it starts waits, follows them, and answers their escalations.
package startercmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/jobwait/jobwait/internal/plain"
	"github.com/jobwait/jobwait/wire"
)

// The exit codes. How a wait ended has codes of its own, so that a script needs no parser.
const (
	exitSucceeded  = 0
	exitError      = 1
	exitUsage      = 2
	exitFailed     = 3
	exitCancelled  = 4
	exitExpired    = 5
	exitUnresolved = 6
	exitDetached   = 130
)

const exitCodes = `Exit codes: 0 succeeded (or done), 1 error, 2 wrong usage, 3 the job failed, 4 the job was cancelled, 5 the job expired,
6 unresolved, 130 detached by Ctrl-C while the wait goes on.`

// Main runs the command and ends the process with its exit code.
func Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(report(err, os.Stderr))
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	a := &app{in: stdin, out: stdout, err: stderr, name: invocation(os.Args[0])}
	root := a.command() //nolint:contextcheck // cobra hands it to the command that runs
	root.SetArgs(args)
	return root.ExecuteContext(ctx)
}

// invocation is how hints call this program, so that they can be copied.
func invocation(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), ".exe")
	if strings.Contains(filepath.ToSlash(path), "/go-build") {
		return "go run ./" + name
	}
	return name
}

// usageError is a wrong command line.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// hintedError is an error with the way out of it.
type hintedError struct {
	error
	hint string
}

func (e *hintedError) Unwrap() error { return e.error }

// Hint is the way out, as errors of other packages have it, too.
func (e *hintedError) Hint() string { return e.hint }

func hinted(err error, format string, args ...any) error {
	return &hintedError{error: err, hint: fmt.Sprintf(format, args...)}
}

// outcomeError ends the command with the code of a wait's outcome, which has been shown already.
type outcomeError struct{ code int }

func (e outcomeError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// outcomeOf is nil for a success.
func outcomeOf(status wire.OutcomeStatus) error {
	switch status {
	case wire.StatusSucceeded:
		return nil
	case wire.StatusFailed, wire.StatusRefused:
		return outcomeError{exitFailed}
	case wire.StatusCancelled:
		return outcomeError{exitCancelled}
	case wire.StatusExpired:
		return outcomeError{exitExpired}
	case wire.StatusUnresolved:
		return outcomeError{exitUnresolved}
	default:
		return fmt.Errorf("outcome status %q is not known to this version", status)
	}
}

// report tells an error and gives its exit code.
func report(err error, stderr io.Writer) int {
	var outcome outcomeError
	switch {
	case err == nil:
		return exitSucceeded
	case errors.As(err, &outcome):
		return outcome.code
	}
	for line := range strings.Lines(err.Error()) { // several faults were joined: one line each
		_, _ = fmt.Fprintln(stderr, "jobwait: error:", plain.Text(strings.TrimSuffix(line, "\n")))
	}
	if hint := hintOf(err); hint != "" {
		_, _ = fmt.Fprintln(stderr, "jobwait: hint:", plain.Text(hint))
	}
	if errors.As(err, new(usageError)) {
		return exitUsage
	}
	return exitError
}

func hintOf(err error) string {
	var withHint interface{ Hint() string }
	switch {
	case errors.As(err, &withHint):
		return withHint.Hint()
	case serverHint(err) != "":
		return serverHint(err)
	case errors.As(err, new(usageError)):
		return "--help shows what there is"
	default:
		return ""
	}
}
