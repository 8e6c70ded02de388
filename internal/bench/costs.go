package bench

import (
	"context"
	"errors"
	"fmt"
)

// costs counts what one poll and one whole wait leave in history.
func (b *bench) costs(ctx context.Context) error {
	for _, s := range b.sides() {
		if err := b.costsOf(ctx, s); err != nil {
			return err
		}
	}
	b.report.figure("events per poll", "", ratioAtMost(1.02))
	b.report.figure("bytes of history per poll", "", ratioBelow(2))
	b.report.figure("billable actions per poll", "", equal())
	for _, what := range []string{"events", "bytes", "billable actions"} {
		b.report.figure(b.whole(what), "", target{})
	}
	return nil
}

func (b *bench) costsOf(ctx context.Context, s side) (err error) {
	t, err := b.take(ctx, s, "costs")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.leave()) }()
	job := t.group + ".one"
	b.provider.end(job, b.options.Polls)
	run, err := t.start(ctx, t, job, busyPause)
	if err != nil {
		return err
	}
	if err := run.Get(ctx, nil); err != nil {
		return err
	}
	histories, err := fetch(ctx, t.host.client, run.GetID(), run.GetRunID())
	if err != nil {
		return err
	}
	poll, whole := medianPoll(pollsIn(histories[0], s.activity)), cost{}
	for _, history := range histories {
		whole = whole.plus(costOf(history.GetEvents()))
	}
	b.report.add("events per poll", s.name, float64(poll.Events))
	b.report.add("bytes of history per poll", s.name, float64(poll.Bytes))
	b.report.add("billable actions per poll", s.name, float64(poll.Actions))
	b.report.add(b.whole("events"), s.name, float64(whole.Events))
	b.report.add(b.whole("bytes"), s.name, float64(whole.Bytes))
	b.report.add(b.whole("billable actions"), s.name, float64(whole.Actions))
	return nil
}

func (b *bench) whole(what string) string {
	return fmt.Sprintf("%s of a whole wait of %d polls", what, b.options.Polls)
}

func (c cost) plus(other cost) cost {
	return cost{Events: c.Events + other.Events, Bytes: c.Bytes + other.Bytes, Actions: c.Actions + other.Actions}
}

// Exact returns the names of the figures that are the same on every machine.
func Exact() []string {
	return []string{"events per poll", "bytes of history per poll", "billable actions per poll"}
}
