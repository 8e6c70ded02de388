// Command cmd measures what a wait costs beside the smallest loop that polls; see --help.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/jobwait/jobwait/internal/bench"
)

const usage = `cmd measures waits and a bare loop (a timer and one activity with one GET) side by side on one local server.

  go run ./internal/bench/cmd                                half an hour; best on a machine that does nothing else
  go run ./internal/bench/cmd --short                        seconds; only what does not depend on the machine
  go run ./internal/bench/cmd --phases saturation --rounds 2 --profile DIR

It prints a table. Exit codes: 0 done, 1 error, 2 wrong usage, 3 an exact figure (events, bytes, actions) misses its target;
figures that depend on the machine never do that.

Flags:
`

func main() {
	bench.PlayRole()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// config is what the command line says.
type config struct {
	bench.Options
	json, docs string
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	report, err := c.measure(ctx, stderr)
	if err == nil {
		err = c.write(report, stdout)
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "bench: error:", err)
		return 1
	}
	return verdict(report, stderr)
}

func parse(args []string, stderr io.Writer) (config, error) {
	c := config{Options: bench.Full()}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		_, _ = io.WriteString(stderr, usage)
		flags.PrintDefaults()
	}
	flags.BoolFunc("short", "only the exact figures, of a short wait", func(string) error {
		c.Options = bench.Short()
		return nil
	})
	flags.Func("phases", "comma-separated `names` of the phases that run: costs, saturation, half-load, starvation, memory, replay (default all)",
		func(text string) error {
			c.Phases = nil
			for name := range strings.SplitSeq(text, ",") {
				c.Phases = append(c.Phases, bench.Phase(name))
			}
			return nil
		})
	flags.IntVar(&c.Rounds, "rounds", c.Rounds, "`number` of turns that each side has under load")
	flags.DurationVar(&c.Window, "window", c.Window, "how long each turn is measured")
	flags.IntVar(&c.Busy, "busy", c.Busy, "`number` of waits at saturation")
	flags.IntVar(&c.NewWaits, "new", c.NewWaits, "`number` of waits started at once beside half load")
	flags.Func("waiting", "comma-separated `numbers` of waiting jobs at which memory is looked at (default 1000,10000)", func(text string) (err error) {
		c.Waiting, err = numbers(text)
		return err
	})
	flags.IntVar(&c.DeepWaits, "deep", c.DeepWaits, "`number` of waits of which memory is looked at after many polls")
	flags.IntVar(&c.LongPolls, "long", c.LongPolls, "`number` of polls of the longest wait that is replayed, each taking a second to record")
	flags.BoolVar(&c.Eager, "eager", false, "have the server hand out activities eagerly, which it does not do by default")
	flags.StringVar(&c.json, "json", "", "`file` for the report as JSON, every turn included")
	flags.StringVar(&c.docs, "docs", "", "`page` whose marked table is replaced")
	flags.StringVar(&c.Dir, "profile", "", "`directory` that is there, for CPU profiles of the workers at saturation, and for their logs")
	err := flags.Parse(args)
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("bench: argument %q: there are only flags", flags.Arg(0))
		_, _ = fmt.Fprintln(stderr, err)
	}
	c.Profile = c.Dir != ""
	return c, err
}

func numbers(text string) ([]int, error) {
	var all []int
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

// measure keeps the logs only where somebody named a directory, or something went wrong.
func (c config) measure(ctx context.Context, progress io.Writer) (*bench.Report, error) {
	temporary := c.Dir == ""
	if temporary {
		var err error
		if c.Dir, err = os.MkdirTemp("", "jobwait-bench-"); err != nil {
			return nil, err
		}
	}
	report, err := bench.Run(ctx, c.Options, progress)
	if err != nil && temporary {
		return nil, fmt.Errorf("%w; logs are in %s", err, c.Dir)
	}
	if temporary {
		err = os.RemoveAll(c.Dir)
	}
	return report, err
}

func (c config) write(report *bench.Report, stdout io.Writer) error {
	if _, err := io.WriteString(stdout, report.Markdown()); err != nil {
		return err
	}
	if c.json != "" {
		file, err := os.Create(c.json)
		if err != nil {
			return err
		}
		if err := errors.Join(report.WriteJSON(file), file.Close()); err != nil {
			return err
		}
	}
	if c.docs == "" {
		return nil
	}
	page, err := os.ReadFile(c.docs)
	if err != nil {
		return err
	}
	text, err := report.Insert(string(page))
	if err != nil {
		return err
	}
	return os.WriteFile(c.docs, []byte(text), 0o644)
}

// verdict fails for figures that are the same on every machine.
func verdict(report *bench.Report, stderr io.Writer) int {
	code := 0
	for _, name := range report.Missed() {
		_, _ = fmt.Fprintln(stderr, "bench: missed:", name)
		if slices.Contains(bench.Exact(), name) {
			code = 3
		}
	}
	return code
}
