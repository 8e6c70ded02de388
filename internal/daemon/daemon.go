// Package daemon is the common main of the programs that run until they are stopped, the worker and the inbox: flags, logging,
// signals and exit codes.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/jobwait/jobwait/internal/connect"
	"github.com/jobwait/jobwait/internal/version"
)

// Main runs a program until it ends or a signal stops it, and ends the process with its exit code: 0 done, 1 error, 2 wrong
// usage.
func Main(name string, run func(ctx context.Context, args []string, stdout, stderr io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(exitCode(name, err, os.Stderr))
}

func exitCode(name string, err error, stderr io.Writer) int {
	switch {
	case err == nil, errors.Is(err, pflag.ErrHelp):
		return 0
	case errors.As(err, new(usageError)):
		report(stderr, err, name+" --help lists the flags")
		return 2
	case errors.As(err, new(*connect.UnreachableError)):
		report(stderr, err, "start a server with `temporal server start-dev`, or set TEMPORAL_ADDRESS")
		return 1
	default:
		report(stderr, err, "")
		return 1
	}
}

func report(stderr io.Writer, err error, hint string) {
	_, _ = fmt.Fprintln(stderr, "jobwait: error:", err)
	if hint != "" {
		_, _ = fmt.Fprintln(stderr, "jobwait: hint:", hint)
	}
}

// usageError is a wrong command line.
type usageError struct{ error }

// Usagef is the error of a wrong command line.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Parse reads a command line of flags alone. It answers --help, which begins with the given usage, and --version by itself; the
// error is then pflag.ErrHelp, with which Main ends the process well.
func Parse(name, usage string, args []string, stdout io.Writer, define func(*pflag.FlagSet)) error {
	flags, shown := pflag.NewFlagSet(name, pflag.ContinueOnError), false
	flags.SortFlags = false
	flags.Usage = func() { _, _ = io.WriteString(stdout, usage+flags.FlagUsagesWrapped(100)) }
	define(flags)
	flags.BoolVar(&shown, "version", false, "print the version and end")
	err := flags.Parse(args)
	switch {
	case err == nil && shown:
		_, _ = fmt.Fprintln(stdout, "jobwait", name, version.Line())
		return pflag.ErrHelp
	case errors.Is(err, pflag.ErrHelp):
		return err
	case err != nil:
		return usageError{err}
	case flags.NArg() > 0:
		return Usagef("unexpected argument %q: this command takes only flags", flags.Arg(0))
	}
	return nil
}

// Log is how a program logs. The zero value logs as text, from info on.
type Log struct {
	level  slog.Level
	format string
}

// Define adds the flags --log-level and --log-format.
func (l *Log) Define(flags *pflag.FlagSet) {
	flags.TextVar(&l.level, "log-level", &l.level, "`level` from which on lines are logged: debug, info, warn, error")
	flags.StringVar(&l.format, "log-format", "text", "`format` of log lines: text, json")
}

// Validate reports a format that is none.
func (l *Log) Validate() error {
	if l.format != "text" && l.format != "json" {
		return Usagef("--log-format %q is not one of text and json", l.format)
	}
	return nil
}

// Logger writes lines where it is told to.
func (l *Log) Logger(to io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: l.level}
	if l.format == "json" {
		return slog.New(slog.NewJSONHandler(to, options))
	}
	return slog.New(slog.NewTextHandler(to, options))
}
