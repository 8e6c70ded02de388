package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// idlePause is long enough for nothing to happen while memory is measured.
	idlePause = time.Hour
	// memoryPatience bounds the time until all waits of one size are sleeping.
	memoryPatience = 30 * time.Minute
	// quiet is longer than any request and any retry of its tasks takes.
	quiet = 2 * time.Minute
)

// memory measures the worker for given numbers of waiting jobs, each after its first poll.
func (b *bench) memory(ctx context.Context) error {
	for _, s := range b.sides() {
		if err := b.memoryOf(ctx, s); err != nil {
			return err
		}
	}
	for _, s := range b.sides() {
		if err := b.deepMemoryOf(ctx, s); err != nil {
			return err
		}
	}
	for _, n := range b.options.Waiting {
		b.report.figure(residentName(n), "KiB", ratioBelow(1.5))
		b.report.figure(heapName(n), "KiB", target{})
	}
	b.report.figure(b.deepName(), "KiB", target{})
	b.report.figure(stackName, "bytes", below(StackLimit))
	return nil
}

func (b *bench) deepName() string {
	return fmt.Sprintf("heap and stacks per waiting job after %d polls, at %d", b.options.DeepPolls, b.options.DeepWaits)
}

func residentName(n int) string {
	return fmt.Sprintf("resident memory per waiting job at %s", thousands(n))
}

func heapName(n int) string {
	return fmt.Sprintf("heap and stacks per waiting job at %s", thousands(n))
}

func (b *bench) memoryOf(ctx context.Context, s side) (err error) {
	t, err := b.take(ctx, s, "memory")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.leave()) }()
	// One wait loads what every worker needs once.
	if err := b.waiting(ctx, t, 1); err != nil {
		return err
	}
	empty, kept, err := b.resident(ctx, t)
	if err != nil {
		return err
	}
	b.tell("  %s: one waiting, resident %d KiB, heap %d KiB, stacks %d KiB", t.group, empty>>10, kept.Heap>>10, kept.Stacks>>10)
	for _, n := range b.options.Waiting {
		if err := b.waiting(ctx, t, n); err != nil {
			return err
		}
		resident, now, err := b.resident(ctx, t)
		if err != nil {
			return err
		}
		b.tell("  %s: %d waiting, resident %d KiB, heap %d KiB, stacks %d KiB", t.group, n, resident>>10, now.Heap>>10, now.Stacks>>10)
		each := float64(n-1) * 1024
		b.report.add(residentName(n), s.name, float64(resident-empty)/each)
		b.report.add(heapName(n), s.name, float64(now.total()-kept.total())/each)
	}
	return b.stackOf(s, t.worker)
}

// deepMemoryOf measures waits that have polled many times.
func (b *bench) deepMemoryOf(ctx context.Context, s side) (err error) {
	t, err := b.take(ctx, s, "deep")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.leave()) }()
	if err := b.waiting(ctx, t, 1); err != nil {
		return err
	}
	_, kept, err := b.resident(ctx, t)
	if err != nil {
		return err
	}
	jobs, err := b.add(ctx, t, "w", b.options.DeepWaits, busyPause, busyPause)
	if err != nil {
		return err
	}
	if err := until(ctx, memoryPatience, func() bool { return b.provider.least(jobs) >= b.options.DeepPolls }); err != nil {
		return err
	}
	_, now, err := b.resident(ctx, t)
	b.report.add(b.deepName(), s.name, float64(now.total()-kept.total())/1024/float64(len(jobs)))
	return err
}

// waiting starts waits until there are n, and returns when each has polled once and sleeps. A wait whose request was lost sleeps as
// well: if nothing has arrived for a while, nothing will.
func (b *bench) waiting(ctx context.Context, t *turn, n int) error {
	if _, err := b.add(ctx, t, fmt.Sprintf("to%d-", n), n-len(t.jobs), idlePause, 0); err != nil {
		return err
	}
	polls, since := 0, time.Now()
	err := until(ctx, memoryPatience, func() bool {
		if now := b.provider.pollsOf(t.group); now != polls {
			polls, since = now, time.Now()
		}
		return polls >= n || time.Since(since) > quiet
	})
	if polls < n {
		b.tell("  %s: %d requests of %d waits; the others' were lost, or the machine is too busy to measure this", t.group, polls, n)
	}
	return err
}

// resident returns the worker's memory a few seconds after the last answers.
func (b *bench) resident(ctx context.Context, t *turn) (int64, memory, error) {
	if err := pause(ctx, 5*time.Second); err != nil {
		return 0, memory{}, err
	}
	kept, err := t.worker.settle()
	if err != nil {
		return 0, memory{}, err
	}
	used, err := usageOf(t.worker.pid())
	return used.resident, kept, err
}

func (m memory) total() int64 { return int64(m.Heap + m.Stacks) } //nolint:gosec // far from overflow
