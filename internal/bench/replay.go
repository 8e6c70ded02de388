package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/worker"

	"github.com/jobwait/jobwait/waittest"
)

// replays is how often each history is replayed. The fastest replay counts, because the others were delayed by something else.
const replays = 15

// long are the waits whose histories are replayed. They poll every second while other phases run, one on each side.
type long struct {
	bench *bench
	turns []*turn
}

func (b *bench) startLong(ctx context.Context) (*long, error) {
	l := &long{bench: b}
	if !b.options.runs(PhaseReplay) {
		return l, nil
	}
	for _, s := range b.sides() {
		t, err := b.take(ctx, s, "long")
		if err != nil {
			return nil, errors.Join(err, l.stop())
		}
		l.turns = append(l.turns, t)
		b.provider.end(t.group+".w0", b.options.LongPolls)
		if _, err := b.add(ctx, t, "w", 1, busyPause, 0); err != nil {
			return nil, errors.Join(err, l.stop())
		}
	}
	return l, nil
}

// stop ends both turns.
func (l *long) stop() error {
	var errs []error
	for _, t := range l.turns {
		errs = append(errs, t.leave())
	}
	l.turns = nil
	return errors.Join(errs...)
}

// replay waits for the long waits to end, and replays them.
func (l *long) replay(ctx context.Context) error {
	for _, t := range l.turns {
		if err := l.replayOf(ctx, t); err != nil {
			return err
		}
	}
	report, polls := l.bench.report, l.bench.options.LongPolls
	report.figure("replay of 100 polls", "ms", target{})
	report.figure(fmt.Sprintf("replay of %s polls", thousands(polls)), "ms", target{})
	report.figure("replay of the longest run", "ms", under(60))
	report.figure("runs of that wait", "", target{})
	report.figure("polls of its longest run", "", target{})
	return nil
}

func (l *long) replayOf(ctx context.Context, t *turn) error {
	l.bench.tell("  %s: until it has ended", t.group)
	run := t.runs[0]
	if err := t.host.client.GetWorkflow(ctx, run.GetID(), "").Get(ctx, nil); err != nil {
		return err
	}
	histories, err := fetch(ctx, t.host.client, run.GetID(), run.GetRunID())
	if err != nil {
		return err
	}
	report := l.bench.report
	whole, longest, polls := 0.0, 0.0, 0
	for _, history := range histories {
		took, err := replayed(t.side, history)
		if err != nil {
			return err
		}
		whole, longest = whole+took, max(longest, took)
		polls = max(polls, len(pollsIn(history, t.activity))+1)
	}
	hundred, err := replayed(t.side, cut(histories[0], t.activity, 100))
	report.add("replay of 100 polls", t.name, hundred)
	report.add(fmt.Sprintf("replay of %s polls", thousands(l.bench.options.LongPolls)), t.name, whole)
	report.add("replay of the longest run", t.name, longest)
	report.add("runs of that wait", t.name, float64(len(histories)))
	report.add("polls of its longest run", t.name, float64(polls))
	return err
}

// cut returns a history up to the workflow task in which the nth poll is answered and the next pause begins.
func cut(history *historypb.History, activity string, polls int) *historypb.History {
	seen := 0
	for i, event := range history.GetEvents() {
		if event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == activity {
			seen++
		}
		if seen == polls && event.GetTimerStartedEventAttributes() != nil {
			return &historypb.History{Events: history.GetEvents()[:i+1]}
		}
	}
	return history
}

// replayed returns the duration of a replay in milliseconds.
func replayed(s side, history *historypb.History) (float64, error) {
	options := waittest.ReplayOptions{}
	if s.role == roleBare {
		options.Register = func(replayer worker.WorkflowReplayer) { registerBareLoop(replayer) }
	}
	fastest := math.Inf(1)
	for range replays {
		began := time.Now()
		if err := waittest.Replay(history, options); err != nil {
			return 0, err
		}
		fastest = min(fastest, milliseconds(time.Since(began)))
	}
	return fastest, nil
}
