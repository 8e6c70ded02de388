// Package e2e tests the product end to end: a real Temporal server, real workers, a provider over real HTTP.
package e2e_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/internal/devserver"
	"github.com/jobwait/jobwait/internal/startercmd"
	"github.com/jobwait/jobwait/internal/workercmd"
)

// The tests wait for timers most of their time: many of them lie on one bed at once, whatever the number of processors.
const sideBySide = "14"

// shared is the bed that most tests lie on; each has jobs of its own in it.
var shared *bed.Bed

// restless is a bed whose server suggests to continue as new after some twenty events, so that short waits have many runs.
var restless *bed.Bed

// The scripts run the commands of this module as processes: the test binary under another name.
func TestMain(m *testing.M) {
	testscript.Main(onBeds{m}, map[string]func(){"starter": startercmd.Main, "worker": workercmd.Main})
}

// onBeds runs the tests once the beds are made.
type onBeds struct{ *testing.M }

func (m onBeds) Run() int { return run(m.M) }

func run(m *testing.M) (code int) {
	flag.Parse()
	if err := runSideBySide(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	stop, err := open()
	defer stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	return m.Run()
}

// runSideBySide raises -parallel, unless it was given.
func runSideBySide() error {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return nil
	}
	return flag.Set("test.parallel", sideBySide)
}

// open makes the two beds, each with a stock worker.
func open() (stop func(), err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Minute)
	defer cancel()
	ends := []func(){func() { _ = os.RemoveAll(binaries.dir) }}
	stop = func() {
		for i := len(ends) - 1; i >= 0; i-- {
			ends[i]()
		}
	}
	var errs []error
	for _, made := range []struct {
		bed      **bed.Bed
		settings []string
	}{
		{bed: &shared},
		{bed: &restless, settings: []string{"limit.historyCount.suggestContinueAsNew=20"}},
	} {
		end, err := openOne(ctx, made.bed, made.settings)
		ends = append(ends, end)
		errs = append(errs, err)
	}
	return stop, errors.Join(errs...)
}

func openOne(ctx context.Context, into **bed.Bed, settings []string) (stop func(), err error) {
	made, err := bed.Open(ctx, bed.Options{
		Progress: os.Stderr,
		Server:   devserver.Options{SearchAttributes: true, FastTimers: true, DynamicConfig: settings},
	})
	if err != nil {
		return func() {}, err
	}
	*into = made
	stopWork, err := made.Work(bed.WorkerOptions{})
	if err != nil {
		return func() { _ = made.Close() }, err
	}
	return func() {
		stopWork()
		_ = made.Close()
	}, nil
}
