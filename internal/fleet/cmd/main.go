// Command cmd looks at how evenly a fleet of waits asks one provider, on a real server with stock workers; see --help.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jobwait/jobwait/internal/fleet"
)

const usage = `cmd starts many waits at once and counts the requests of each second, then again after a time without workers.

  go run ./internal/fleet/cmd                                    1,000 waits, 2 workers, 50 requests/s: half an hour
  go run ./internal/fleet/cmd --waits 50 --workers 1 --rate 2.4
  go run ./internal/fleet/cmd --waits 100 --interval 2s --look 20s --outage 20s --rate 75    a short one

Exit codes: 0 the largest second is under 1.5 times the mean in each look, 1 error, 2 wrong usage, 3 it is not.

Flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	options, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		_, _ = fmt.Fprintln(stderr, err)
		return 2
	}
	report, err := fleet.Run(ctx, options, stderr)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "fleet: error:", err)
		return 1
	}
	return show(report, stdout)
}

func parse(args []string, stderr io.Writer) (fleet.Options, error) {
	var o fleet.Options
	flags := flag.NewFlagSet("fleet", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		_, _ = io.WriteString(stderr, usage)
		flags.PrintDefaults()
	}
	flags.IntVar(&o.Waits, "waits", 1000, "`number` of waits")
	flags.IntVar(&o.Workers, "workers", 2, "`number` of worker processes")
	flags.Float64Var(&o.Rate, "rate", 50, "requests per `second` of all workers together; 0: no rate")
	flags.DurationVar(&o.Interval, "interval", 30*time.Second, "delay of every wait")
	flags.DurationVar(&o.Look, "look", 10*time.Minute, "how long to count")
	flags.DurationVar(&o.Outage, "outage", 10*time.Minute, "how long no worker runs before the second look; 0: no second look")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	return o, o.Validate()
}

// show prints the looks as a table, and tells whether all are even.
func show(report *fleet.Report, stdout io.Writer) (code int) {
	_, _ = fmt.Fprintf(stdout, "%d waits of %s, %d workers, %g requests/s; started within %s\n\n", report.Waits, report.Interval, report.Workers, report.Rate,
		report.Started.Round(time.Millisecond))
	_, _ = fmt.Fprintln(stdout, "| | mean/s | largest second | of the mean | seconds of 1.5 and more | largest second before | held back |\n| --- | --: | --: | --: | --: | --: | --: |")
	for _, look := range report.Looks {
		_, _ = fmt.Fprintf(stdout, "| %s | %.2f | %d | %.2f | %d | %d | %.0f |\n", look.Name, look.Mean, look.Peak, float64(look.Peak)/look.Mean, look.Over, look.First, look.Held)
		if float64(look.Peak) >= 1.5*look.Mean {
			code = 3
		}
	}
	return code
}
