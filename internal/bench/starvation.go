package bench

import (
	"context"
	"time"
)

// newPause is the pause between polls of the new waits: each must have been polled before its first pause is over.
const newPause = time.Minute

// starvation starts many waits at once in addition to half load, and measures when each was first polled.
func (b *bench) starvation(ctx context.Context) error {
	for _, s := range b.sides() {
		err := b.under(ctx, s, "starvation", b.half(), halfPause, func(t *turn) error { return b.starve(ctx, t) })
		if err != nil {
			return err
		}
	}
	b.report.figure("new waits polled within their first interval", "%", all(100))
	b.report.figure("first poll of a new wait after its start, worst", "s", target{})
	return nil
}

func (b *bench) starve(ctx context.Context, t *turn) error {
	jobs, err := b.add(ctx, t, "new", b.options.NewWaits, newPause, 0)
	if err != nil {
		return err
	}
	// Jobs that are late by then have missed the target already, so they are not waited for.
	err = until(ctx, 2*newPause, func() bool {
		return b.provider.least(jobs) > 0 || time.Since(t.started[jobs[len(jobs)-1]]) > newPause
	})
	inTime, worst := 0, time.Duration(0)
	for _, job := range jobs {
		first := b.provider.firstOf(job)
		if first.IsZero() {
			first = time.Now()
		}
		after := first.Sub(t.started[job])
		worst = max(worst, after)
		if after <= newPause {
			inTime++
		}
	}
	b.tell("  %s: %d of %d in time, the last after %s", t.group, inTime, len(jobs), worst.Round(time.Millisecond))
	b.report.add("new waits polled within their first interval", t.name, 100*float64(inTime)/float64(len(jobs)))
	b.report.add("first poll of a new wait after its start, worst", t.name, worst.Seconds())
	return err
}
