package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// learning is how long an answer may take to be known where it holds others back, on a busy machine.
const learning = 2 * time.Second

// heedful starts a worker, on a queue of its own, whose waits heed what others are answered.
func heedful(t *testing.T, queue string) {
	t.Helper()
	stop, err := shared.Work(bed.WorkerOptions{TaskQueue: queue, Origins: &activities.Origins{}})
	require.NoError(t, err)
	t.Cleanup(stop)
}

// trips is a wait whose first answer is a 429 that asks for so many seconds.
func trips(t *testing.T, queue string, seconds int) *wait {
	t.Helper()
	w := plan{
		job: queue + "-trips", queue: queue, script: waittest.Script(waittest.Status(429).RetryAfter(fmt.Sprint(seconds)), result(queue)),
		spec: func(spec *wire.Spec) { spec.Schedule.InitialDelaySeconds = new(0) },
	}.begin(t)
	w.requests(1)
	return w
}

// heldUntil is the time before which the provider did not want to be asked.
func heldUntil(w *wait) (from, until time.Time) {
	w.Helper()
	first := w.log()[0]
	require.Equal(w, 429, first.Status)
	return first.AnsweredAt.Add(learning), first.NotBefore
}

// pending waits until the wait's request is held back.
func (w *wait) pending() *workflow.PendingActivityInfo {
	w.Helper()
	var held *workflow.PendingActivityInfo
	require.Eventually(w, func() bool {
		described, err := w.bed.Client.DescribeWorkflow(w.ctx, w.id(), "")
		require.NoError(w, err)
		pending := described.RawResponse.GetPendingActivities()
		i := slices.IndexFunc(pending, func(a *workflow.PendingActivityInfo) bool {
			return a.GetLastFailure().GetApplicationFailureInfo().GetType() == wire.ErrorHeldBack
		})
		if i >= 0 {
			held = pending[i]
		}
		return held != nil
	}, longest/2, 20*time.Millisecond)
	return held
}

// heldNotes are the entries that say that a request was held back.
func heldNotes(entries []wire.Entry) []wire.Entry {
	return slices.DeleteFunc(entries, func(e wire.Entry) bool { return !strings.Contains(e.Detail, "held_back ") })
}

// R2, R16, R30: one of twenty waits is told to stay away for half a minute. Nobody asks meanwhile, neither those that have asked
// before nor those that begin now; everybody is answered afterwards, and it costs nobody a request or a failure.
func TestOneAnswerHoldsBackTwentyWaits(t *testing.T) {
	t.Parallel()
	heedful(t, "held")
	var waits []*wait
	begin := func(n int) {
		for range n {
			job := fmt.Sprintf("held-%d", len(waits))
			waits = append(waits, plan{
				job: job, queue: "held", script: waittest.Script(waittest.State("running").Times(2), result(job)),
				spec: func(spec *wire.Spec) { spec.MaxStatusRequests = 100 },
			}.begin(t))
		}
	}
	begin(3)
	tripped := trips(t, "held", 30)
	begin(16)
	held := 0
	for _, w := range append(waits, tripped) {
		outcome := w.outcome()
		require.Equal(t, wire.StatusSucceeded, outcome.Status)
		require.LessOrEqual(t, len(w.log()), outcome.StatusRequestsUsed, "a request without a reservation")
		require.Zero(t, outcome.TransportFailuresUsed)
		held += len(heldNotes(w.audit()))
	}
	require.GreaterOrEqual(t, held, 10, "hardly anybody was held back")
	from, until := heldUntil(tripped)
	for _, w := range append(waits, tripped) {
		requireNoneBetween(w, from, until)
	}
	require.Equal(t, 1, tripped.outcome().RateLimitedUsed)
}

func requireNoneBetween(w *wait, from, until time.Time) {
	w.Helper()
	for _, request := range w.log() {
		require.False(w, request.ReceivedAt.After(from) && request.ReceivedAt.Before(until),
			"%s was asked about at %s, between %s and %s", w.job, request.ReceivedAt, from, until)
	}
}

// R2, R32: the worker dies while it holds requests back. Another one brings them at their time, which the server has kept.
func TestKilledWorkerWhileRequestsAreHeldBack(t *testing.T) {
	t.Parallel()
	crew := newCrew(t, shared, "held-kill", bed.Key)
	first := crew.start()
	tripped := trips(t, "held-kill", 12)
	_, until := heldUntil(tripped)
	var waits []*wait
	for i := range 5 {
		job := fmt.Sprintf("held-kill-%d", i)
		waits = append(waits, plan{job: job, queue: "held-kill", script: waittest.Script(result(job))}.begin(t))
	}
	for _, w := range waits {
		text := w.pending().GetLastFailure().GetMessage()
		require.Regexp(t, `^held back until \d\d:\d\d:\d\dZ by a 429 of http://127\.0\.0\.1:\d+, nothing sent$`, text)
	}
	first.kill()
	crew.start()
	for _, w := range waits {
		outcome := w.outcome()
		require.Equal(t, wire.StatusSucceeded, outcome.Status)
		require.Equal(t, 1, outcome.StatusRequestsUsed)
		require.Zero(t, outcome.TransportFailuresUsed)
		log := w.log()
		require.Len(t, log, 1)
		require.False(t, log[0].ReceivedAt.Before(until), "asked at %s, the provider had said not before %s", log[0].ReceivedAt, until)
		require.Len(t, heldNotes(w.audit()), 1)
	}
}

// R19, R24: what another wait was told leads past the deadline of this one. It stops at once, with the time, and sends nothing.
func TestAHoldPastTheDeadlineStopsAtOnce(t *testing.T) {
	t.Parallel()
	heedful(t, "held-deadline")
	_, until := heldUntil(trips(t, "held-deadline", 500))
	w := plan{
		job: "held-deadline", queue: "held-deadline", script: waittest.Script(result("held-deadline")),
		spec: deadline(time.Minute),
	}.begin(t)
	open := w.escalated()
	require.Equal(t, wire.ReasonRetryAfterExceedsDeadline, open.Reason)
	named, err := time.Parse(time.RFC3339, open.Detail)
	require.NoError(t, err)
	require.WithinDuration(t, until, named, learning)
	require.Empty(t, w.log())
	require.Less(t, time.Now(), w.spec.DeadlineAt, "it waited for the deadline")
	refusal := w.refused(extend(open.ID, "d-1"))
	require.Equal(t, wire.RefusalOutOfBounds, refusal.Reason, "a grant keeps to the time as well: %s", refusal.Detail)
	w.decide(decision(wire.DecisionClose, open.ID, "d-2"))
	require.Equal(t, wire.StatusUnresolved, w.outcome().Status)
}

// R48: to stop waiting takes a held-back request back at once.
func TestAHeldBackRequestIsWithdrawn(t *testing.T) {
	t.Parallel()
	heedful(t, "held-stop")
	trips(t, "held-stop", 60)
	w := plan{job: "held-stop", queue: "held-stop", script: waittest.Script(result("held-stop"))}.begin(t)
	w.pending()
	require.NoError(t, w.bed.Client.CancelWorkflow(w.ctx, w.id(), ""))
	outcome := w.outcome()
	require.Equal(t, wire.ReasonWaitCancelled, outcome.Reason)
	require.Empty(t, w.log())
	require.Less(t, outcome.ClosedAt.Sub(outcome.OpenedAt), 50*time.Second)
}

// R43: a person's cancel does not stand behind a poll that is held back, and is itself held back until the provider may be
// asked again.
func TestACancelWhileRequestsAreHeldBack(t *testing.T) {
	t.Parallel()
	heedful(t, "held-cancel")
	_, until := heldUntil(trips(t, "held-cancel", 10))
	w := plan{job: "held-cancel", queue: "held-cancel", script: waittest.Script(waittest.State("running"))}.begin(t)
	w.pending()
	w.signal(wire.SignalCancel, wire.Decision{DecisionID: "d-1", DecidedBy: "ana@example.com", Comment: "test"})
	outcome := w.outcome()
	require.Equal(t, wire.StatusCancelled, outcome.Status)
	log := w.log()
	require.Equal(t, waittest.KindCancel, log[0].Kind, "the poll was sent first")
	require.False(t, log[0].ReceivedAt.Before(until))
}

// R2: whatever fails after a request was sent, and by whatever name, is not repeated: the provider sees as many requests as
// were reserved, and each counts as lost.
func TestNoFailureIsRepeatedButThatOfBeingHeldBack(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func() error{
		"plain":     func() error { return errors.New("a middleware failed") },
		"retryable": func() error { return temporal.NewApplicationError("a middleware failed", "Middleware") },
		"panic":     func() error { panic("a middleware failed") },
		"false":     func() error { return temporal.NewApplicationError("nothing sent, it says", wire.ErrorHeldBack) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			queue := afresh("after-" + name)
			stop, err := shared.Work(bed.WorkerOptions{
				TaskQueue: queue, Worker: worker.Options{Interceptors: []interceptor.WorkerInterceptor{&failing{fail: fail}}},
			})
			require.NoError(t, err)
			t.Cleanup(stop)
			w := plan{
				job: queue, queue: queue, script: waittest.Script(waittest.State("running")),
				spec: func(spec *wire.Spec) { spec.MaxTransportFailures = 2 },
			}.begin(t)
			open := w.escalated()
			require.Equal(t, wire.ReasonTransportBudgetExhausted, open.Reason)
			require.Len(t, w.log(), 2)
			require.Equal(t, 2, count(w.audit(), wire.EventRequestLost))
			w.decide(decision(wire.DecisionClose, open.ID, "d-1"))
			w.outcome()
			require.Len(t, w.log(), 2)
		})
	}
}

// failing fails after each status request was sent.
type failing struct {
	interceptor.WorkerInterceptorBase
	fail func() error
}

func (f *failing) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	inbound := &failingActivity{fail: f.fail}
	inbound.Next = next
	return inbound
}

type failingActivity struct {
	interceptor.ActivityInboundInterceptorBase
	fail func() error
}

func (f *failingActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	result, err := f.Next.ExecuteActivity(ctx, in)
	if _, polled := result.(wire.PollResult); polled && err == nil {
		return nil, f.fail()
	}
	return result, err
}

// R24: a hold begins and no worker is there any more. The server gives the request up with the deadline, and it was not sent.
func TestNoWorkerAtTheEndOfAHold(t *testing.T) {
	t.Parallel()
	crew := newCrew(t, shared, "held-alone", bed.Key)
	first := crew.start()
	trips(t, "held-alone", 10)
	w := plan{
		job: "held-alone", queue: "held-alone", script: waittest.Script(result("held-alone")), spec: deadline(20 * time.Second),
	}.begin(t)
	w.pending()
	first.kill()
	w.event(is(enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT))
	crew.start()
	open := w.escalated()
	require.Equal(t, wire.ReasonDeadlineExceeded, open.Reason)
	require.Equal(t, 1, count(w.audit(), wire.EventRequestNotSent))
	require.Zero(t, w.view().Counters.TransportFailuresUsed)
	require.Empty(t, w.log())
	w.decide(decision(wire.DecisionClose, open.ID, "d-1"))
	w.outcome()
}
