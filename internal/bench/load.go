package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/jobwait/jobwait/waittest"
)

const (
	// steadyPolls is how often every wait must have polled before a window is measured.
	steadyPolls = 2
	// warmUp bounds how long that may take.
	warmUp = 5 * time.Minute
	// busyPause is the shortest mean pause between polls that a wait can have: it draws from one to two seconds.
	busyPause = 1500 * time.Millisecond
	// halfPause is the mean pause between polls at half load.
	halfPause = 6 * time.Second
	// sampled is the number of histories whose timers are examined.
	sampled = 40
)

// window is what was measured during one turn.
type window struct {
	polls          int
	length         time.Duration
	worker, server time.Duration
}

// inTurns gives each side a turn in every round; each side goes first equally often.
func (b *bench) inTurns(do func(side) error) error {
	sides := b.sides()
	for round := range b.options.Rounds {
		for i := range sides {
			if err := do(sides[(i+round)%len(sides)]); err != nil {
				return err
			}
		}
	}
	return nil
}

// saturation runs more waits than the machine can serve, polling as fast as they may.
func (b *bench) saturation(ctx context.Context) error {
	err := b.inTurns(func(s side) error {
		return b.under(ctx, s, "saturation", b.options.Busy, busyPause, func(t *turn) error {
			if err := b.profile(t, "profile "+filepath.Join(b.options.Dir, t.group+".pprof")); err != nil {
				return err
			}
			w, err := b.window(ctx, t)
			if err := errors.Join(err, b.profile(t, "profiled")); err != nil {
				return err
			}
			b.report.add("polls per second at saturation", s.name, float64(w.polls)/w.length.Seconds())
			b.report.addWindow("at saturation", s.name, w)
			return nil
		})
	})
	b.saturated = b.report.median("polls per second at saturation", roleBare)
	b.report.figure("polls per second at saturation", "1/s", ratioAtLeast(0.90))
	b.report.figure("worker CPU per poll at saturation", "ms", ratioBelow(1.25))
	b.report.figure("server CPU per poll at saturation", "ms", target{})
	return err
}

// half returns how many waits, with a pause of halfPause, poll half as often as the machine can serve.
func (b *bench) half() int {
	rate := b.saturated
	if rate == 0 { // not measured in this run
		rate = float64(b.options.Busy) / 4
	}
	return max(1, int(rate/2*halfPause.Seconds()))
}

func (b *bench) halfLoad(ctx context.Context) error {
	err := b.inTurns(func(s side) error {
		return b.under(ctx, s, "half", b.half(), halfPause, func(t *turn) error {
			w, err := b.window(ctx, t)
			if err != nil {
				return err
			}
			b.report.addWindow("at half load", s.name, w)
			return b.timers(ctx, t)
		})
	})
	b.report.figure("worker CPU per poll at half load", "ms", ratioBelow(1.25))
	b.report.figure("server CPU per poll at half load", "ms", target{})
	b.report.figure("timer lateness at half load, median", "ms", target{})
	b.report.figure("timer lateness at half load, 99 %", "ms", target{})
	return err
}

// under runs a turn with the given number of waits, and measures once its load is steady.
func (b *bench) under(ctx context.Context, s side, phase string, waits int, between time.Duration, measure func(*turn) error) error {
	t, err := b.take(ctx, s, phase)
	if err != nil {
		return err
	}
	if _, err = b.add(ctx, t, "w", waits, between, between); err == nil {
		err = b.steady(ctx, t)
	}
	if err == nil {
		err = measure(t)
	}
	return errors.Join(err, t.leave())
}

func (b *bench) steady(ctx context.Context, t *turn) error {
	return until(ctx, warmUp, func() bool { return b.provider.least(t.jobs) >= steadyPolls })
}

// window measures one turn for the length of Options.Window.
func (b *bench) window(ctx context.Context, t *turn) (window, error) {
	before, err := b.snapshot(t)
	if err != nil {
		return window{}, err
	}
	began := time.Now()
	if err := pause(ctx, b.options.Window); err != nil {
		return window{}, err
	}
	after, err := b.snapshot(t)
	w := window{
		polls: after.polls - before.polls, length: time.Since(began),
		worker: after.worker - before.worker, server: after.server - before.server,
	}
	if err == nil && w.polls == 0 {
		err = fmt.Errorf("no poll in %s", w.length)
	}
	if err != nil {
		return window{}, err
	}
	b.tell("  %s: %.1f polls/s, worker %.2f ms, server %.2f ms a poll", t.group, float64(w.polls)/w.length.Seconds(),
		milliseconds(w.worker)/float64(w.polls), milliseconds(w.server)/float64(w.polls))
	return w, nil
}

// snapshot is the state of a turn at one moment.
func (b *bench) snapshot(t *turn) (window, error) {
	worker, err := usageOf(t.worker.pid())
	if err != nil {
		return window{}, err
	}
	server, err := usageOf(t.host.server.PID())
	return window{polls: b.provider.pollsOf(t.group), worker: worker.cpu, server: server.cpu}, err
}

// profile makes the worker begin or end a CPU profile, if profiles are wanted.
func (b *bench) profile(t *turn, order string) error {
	if !b.options.Profile {
		return nil
	}
	var failed string
	if err := t.worker.ask(order, &failed); err != nil || failed != "" {
		return errors.Join(err, errors.New(failed))
	}
	return nil
}

// timers measures how late the timers of some waits fired.
func (b *bench) timers(ctx context.Context, t *turn) error {
	var late []float64
	for _, run := range t.runs[:min(sampled, len(t.runs))] {
		history, err := waittest.FetchHistory(ctx, t.host.client, run.GetID(), run.GetRunID())
		if err != nil {
			return err
		}
		for _, by := range lateness(history) {
			late = append(late, milliseconds(by))
		}
	}
	b.report.add("timer lateness at half load, median", t.name, median(late))
	b.report.add("timer lateness at half load, 99 %", t.name, quantile(late, 0.99))
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
