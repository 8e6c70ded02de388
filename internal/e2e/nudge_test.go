package e2e_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// slowSchedule asks at once and then every hour: whatever comes sooner was nudged.
func slowSchedule(spec *wire.Spec) {
	spec.Schedule = wire.Schedule{
		InitialDelaySeconds: new(0), BaseDelaySeconds: new(3600), MaxDelaySeconds: new(3600), MinDelaySeconds: new(1),
	}
	spec.DeadlineAt = at(5 * time.Hour)
}

// asked waits until a wait with slowSchedule has had its first answer. On a busy machine it may have woken late, and would ask
// within an hour (R22): a nudge takes that away. It tells how many that took.
func (w *wait) asked() (nudges int) {
	w.Helper()
	answered := func(view wire.OperationView) bool {
		return view.NextPollAt != nil && view.Counters.StatusRequestsUsed == 1
	}
	view := w.until(func(view wire.OperationView) bool {
		return answered(view) || view.NextPollAt != nil && time.Until(*view.NextPollAt) > time.Minute
	})
	if answered(view) {
		return 0
	}
	w.signal(wire.SignalNudge, wire.Nudge{Source: "webhook"})
	w.until(answered)
	return 1
}

// R21: a flood of signals brings one poll forward, not further than min_delay allows; the end is the provider's word.
func TestFloodOfNudges(t *testing.T) {
	t.Parallel()
	w := plan{
		job: "nudged", script: waittest.Script(waittest.State("running"), result("nudged")), spec: func(spec *wire.Spec) {
			slowSchedule(spec)
			spec.Schedule.MinDelaySeconds = new(5)
		},
	}.begin(t)
	extra := w.asked()
	sent := w.flood(60)
	outcome := w.outcome()
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, 2, outcome.StatusRequestsUsed)
	require.Equal(t, sent+extra, outcome.NudgesReceived)
	require.LessOrEqual(t, count(w.audit(), wire.EventNudged), 2+extra, "one is followed and one may come while that request is under way; the others are only counted")
	require.Equal(t, 1+extra, planned(w.audit(), wire.DelayNudge))
	require.GreaterOrEqual(t, w.log()[1].ReceivedAt.Sub(w.log()[0].ReceivedAt), 5*time.Second)
	w.bounded(12, w.spec.DeadlineAt)
}

// flood sends nudges until the wait has ended, that many at most, and tells how many came in time.
func (w *wait) flood(most int) (sent int) {
	w.Helper()
	for ; sent < most; sent++ {
		err := w.bed.Client.SignalWorkflow(w.ctx, w.id(), "", wire.SignalNudge, wire.Nudge{Source: "webhook"})
		if errors.As(err, new(*serviceerror.NotFound)) {
			break
		}
		require.NoError(w, err)
	}
	require.Greater(w, sent, 1, "that is no flood")
	return sent
}

func planned(entries []wire.Entry, source wire.DelaySource) int {
	n := 0
	for _, entry := range entries {
		if entry.DelaySource == source {
			n++
		}
	}
	return n
}

// D5: the same nudge after the end finds nobody.
func TestNudgeAfterTheEnd(t *testing.T) {
	t.Parallel()
	w := plan{job: "d5", spec: slowSchedule, script: waittest.Script(waittest.State("running"), result("d5"))}.begin(t)
	w.asked()
	w.signal(wire.SignalNudge, wire.Nudge{Source: "webhook"})
	outcome := w.outcome()
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	for range 2 {
		err := w.bed.Client.SignalWorkflow(w.ctx, w.id(), "", wire.SignalNudge, wire.Nudge{Source: "webhook"})
		require.ErrorAs(t, err, new(*serviceerror.NotFound))
	}
	require.Equal(t, outcome, w.outcome())
	require.Len(t, w.log(), 2)
}
