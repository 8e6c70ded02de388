// Package fleet looks at how evenly many waits ask one provider: on a real server, with stock workers as processes, after a
// common start and after a time without workers. The command in ./cmd prints what it found.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/internal/devserver"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// Options say what is looked at.
type Options struct {
	// Waits have their first requests due in the same second, and share Workers and one provider.
	Waits, Workers int
	// Rate is how many requests may leave in a second, all workers together; 0: as many as come.
	Rate float64
	// Interval is the base and longest delay of every wait. Whole seconds, at least 1.
	Interval time.Duration
	// Look is how long the requests are counted, from when every wait has sent its second one.
	Look time.Duration
	// Outage is how long no worker runs before one looks again; 0: one looks once.
	Outage time.Duration
}

// Validate reports the first option that cannot be used.
func (o Options) Validate() error {
	switch {
	case o.Waits < 1 || o.Workers < 1:
		return fmt.Errorf("fleet: %d waits and %d workers: at least one of each", o.Waits, o.Workers)
	case o.Rate < 0:
		return fmt.Errorf("fleet: a rate of %g: at least 0", o.Rate)
	case o.Interval < time.Second || o.Interval%time.Second != 0:
		return fmt.Errorf("fleet: an interval of %s: whole seconds, at least one", o.Interval)
	case o.Look < o.Interval || o.Outage < 0:
		return fmt.Errorf("fleet: looking for %s after an outage of %s: at least one interval of %s, and no negative outage", o.Look, o.Outage, o.Interval)
	default:
		return nil
	}
}

// Report is what was found.
type Report struct {
	Options
	// Started is how long it took to start all waits.
	Started time.Duration
	// Looks are the one after the start, and the one after the outage.
	Looks []Look
}

// Look is how evenly the waits asked in one stretch of time.
type Look struct {
	Name string
	// Mean is the mean number of requests per second, Peak the largest of any second.
	Mean float64
	Peak int
	// Over is how many seconds had one and a half times the mean or more.
	Over int
	// First is the largest number in one second of the interval that the stretch began with, before every wait had sent its
	// second request.
	First int
	// Held is how often requests were held back, by the workers' own count.
	Held float64
}

// fleet is a look that is being taken.
type fleet struct {
	Options
	bed      *bed.Bed
	dir      string
	progress io.Writer
	workers  []*worker
	// first is when the first request of every wait is due.
	first  time.Time
	report Report
}

// startPatience is what a busy server may take to start one wait, of 64 at a time, and leastPatience what it may take for any
// number of them.
const (
	startPatience = 60 * time.Millisecond
	leastPatience = 10 * time.Second
)

// Run looks at one fleet. It ends what it started, and is given up with the context.
func Run(ctx context.Context, options Options, progress io.Writer) (*Report, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	f := &fleet{Options: options, progress: progress, report: Report{Options: options}}
	err := f.open(ctx)
	if err == nil {
		err = f.look(ctx)
	}
	return &f.report, errors.Join(err, f.close())
}

func (f *fleet) open(ctx context.Context) (err error) {
	if f.dir, err = os.MkdirTemp("", "jobwait-fleet"); err != nil {
		return err
	}
	f.bed, err = bed.Open(ctx, bed.Options{Server: devserver.Options{SearchAttributes: true}, Progress: f.progress})
	if err != nil {
		return err
	}
	for i := range f.Waits {
		if err := f.bed.Provider.Set(job(i), waittest.Script(waittest.State("running"))); err != nil {
			return err
		}
	}
	if err := f.writeFiles(); err != nil {
		return err
	}
	return build(ctx, filepath.Join(f.dir, "worker"))
}

func (f *fleet) close() error {
	errs := []error{f.dismiss()}
	if f.bed != nil {
		errs = append(errs, f.bed.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(f.dir))...)
}

func job(i int) string { return fmt.Sprintf("fleet-%d", i) }

// look starts the waits and counts, and again after an outage.
func (f *fleet) look(ctx context.Context) error {
	if err := f.hire(); err != nil {
		return err
	}
	began := time.Now()
	f.first = began.Add(max(time.Duration(f.Waits)*startPatience, leastPatience))
	if err := f.start(ctx); err != nil {
		return err
	}
	f.report.Started = time.Since(began)
	f.tell("%d waits started within %s", f.Waits, f.report.Started.Round(time.Millisecond))
	if time.Now().After(f.first) {
		return fmt.Errorf("fleet: the server took longer than %s to start %d waits; their first requests are not due together", f.first.Sub(began), f.Waits)
	}
	if err := f.count(ctx, "due together", began); err != nil || f.Outage == 0 {
		return err
	}
	if err := f.dismiss(); err != nil {
		return err
	}
	f.tell("no worker for %s", f.Outage)
	if err := pause(ctx, f.Outage); err != nil {
		return err
	}
	if err := f.hire(); err != nil {
		return err
	}
	return f.count(ctx, fmt.Sprintf("after %s without workers", f.Outage), time.Now())
}

// start begins all waits, as many at a time as the server takes.
func (f *fleet) start(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(64)
	for i := range f.Waits {
		group.Go(func() error {
			_, err := f.bed.Start(ctx, f.spec(i))
			return err
		})
	}
	return group.Wait()
}

func (f *fleet) spec(i int) wire.Spec {
	spec := f.bed.Spec(job(i))
	seconds := int(f.Interval / time.Second)
	spec.DeadlineAt = time.Now().Add(24 * time.Hour)
	spec.MaxStatusRequests, spec.MaxTransportFailures = 100_000, 1000
	initial := max(int(time.Until(f.first)/time.Second), 0)
	spec.Schedule = wire.Schedule{InitialDelaySeconds: &initial, BaseDelaySeconds: &seconds, MaxDelaySeconds: &seconds}
	return spec
}

// count waits until every wait has sent its second request since the beginning, and counts from there on.
func (f *fleet) count(ctx context.Context, name string, since time.Time) error {
	held, err := f.held(ctx)
	if err != nil {
		return err
	}
	second := time.Time{}
	for i := range f.Waits {
		log, err := f.bed.Provider.Await(ctx, job(i), func(log []waittest.LogEntry) bool { return len(after(log, since)) >= 2 })
		if err != nil {
			return err
		}
		if at := after(log, since)[1].ReceivedAt; at.After(second) {
			second = at
		}
	}
	f.tell("%s: every wait has sent its second request after %s", name, second.Sub(since).Round(time.Second))
	if err := pause(ctx, time.Until(second.Add(f.Look))); err != nil {
		return err
	}
	look := Look{Name: name}
	counts := f.perSecond(second, second.Add(f.Look))
	look.Peak, look.Mean, look.Over = evenness(counts)
	look.First = slices.Max(f.perSecond(since, second))
	now, err := f.held(ctx)
	look.Held = now - held
	f.report.Looks = append(f.report.Looks, look)
	f.tell("%s: %.2f/s, at most %d in a second; %d seconds of %s with 1.5 times the mean or more", name, look.Mean, look.Peak, look.Over, f.Look)
	return err
}

func after(log []waittest.LogEntry, since time.Time) []waittest.LogEntry {
	for i, entry := range log {
		if entry.ReceivedAt.After(since) {
			return log[i:]
		}
	}
	return nil
}

// perSecond counts the requests of each second, of which the last may be a part.
func (f *fleet) perSecond(from, to time.Time) []int {
	counts := make([]int, int((to.Sub(from)+time.Second-1)/time.Second))
	for i := range f.Waits {
		for _, entry := range f.bed.Provider.Log(job(i)) {
			if at := entry.ReceivedAt; !at.Before(from) && at.Before(to) {
				counts[int(at.Sub(from)/time.Second)]++
			}
		}
	}
	return counts
}

// evenness are the largest number of requests in one second, their mean, and how many seconds had 1.5 times that or more.
func evenness(counts []int) (peak int, mean float64, over int) {
	for _, n := range counts {
		peak, mean = max(peak, n), mean+float64(n)/float64(len(counts))
	}
	for _, n := range counts {
		if mean > 0 && float64(n) >= 1.5*mean {
			over++
		}
	}
	return peak, mean, over
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *fleet) tell(format string, args ...any) {
	_, _ = fmt.Fprintf(f.progress, "fleet: "+format+"\n", args...)
}
