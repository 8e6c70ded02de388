package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// shortestWindow is the least window of an escalation.
func shortestWindow(spec *wire.Spec) {
	spec.Escalation.DecisionWindowSeconds = new(60)
	spec.Escalation.ReminderSeconds = new(0)
}

// W3, R40: the window lapses and extend arrives in one workflow task, because no worker is there. The decision counts in
// both orders of arrival.
func TestDecisionBeforeLapseInOneTask(t *testing.T) {
	t.Parallel()
	for name, signalFirst := range map[string]bool{"timer then extend": false, "extend then timer": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := fmt.Sprintf("arrival-%t", signalFirst)
			stop := workOn(t, shared, job, worker.Options{})
			w := plan{job: job, queue: job, script: waittest.Script(waittest.State("paused"), result(job)), spec: shortestWindow}.begin(t)
			open := w.settled()
			stop()
			if signalFirst {
				w.signal(wire.SignalExtend, plain(extend(open.ID, "d-1")))
			}
			timer := w.event(is(enumspb.EVENT_TYPE_TIMER_FIRED).after(w.opening()))
			if !signalFirst {
				w.signal(wire.SignalExtend, plain(extend(open.ID, "d-1")))
			}
			signal := w.event(is(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED))
			workOn(t, shared, job, worker.Options{})
			outcome := w.outcome()

			require.Equal(t, signalFirst, signal.GetEventId() < timer.GetEventId())
			w.requireSameTask(signal, timer)
			require.Equal(t, wire.StatusSucceeded, outcome.Status)
			require.Equal(t, "ana@example.com", outcome.DecidedBy)
			require.False(t, outcome.Undecided)
			require.Equal(t, 1, outcome.ExtensionsUsed)
			w.bounded(16, w.spec.DeadlineAt)
		})
	}
}

// plain is what people send with the plain signals: no kind.
func plain(decision wire.Decision) wire.Decision {
	decision.Kind = ""
	return decision
}

// opening is the event by which people were told of the first escalation.
func (w *wait) opening() int64 {
	w.Helper()
	return w.event(func(event *historypb.HistoryEvent) bool {
		return event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == wire.ActivityNotify
	}).GetEventId()
}

// requireSameTask says that no workflow task began between two events.
func (w *wait) requireSameTask(a, b *historypb.HistoryEvent) {
	w.Helper()
	first, last := min(a.GetEventId(), b.GetEventId()), max(a.GetEventId(), b.GetEventId())
	for _, event := range w.history(w.ctx, "").GetEvents() {
		between := event.GetEventId() > first && event.GetEventId() < last
		require.False(w, between && event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED, "event %d", event.GetEventId())
	}
}

// workOn starts a worker of this process on a task queue and returns what stops it before the end of the test.
func workOn(t *testing.T, b *bed.Bed, queue string, options worker.Options) (stop func()) {
	t.Helper()
	return work(t, b, bed.WorkerOptions{TaskQueue: queue, Worker: options})
}

func work(t *testing.T, b *bed.Bed, options bed.WorkerOptions) (stop func()) {
	t.Helper()
	end, err := b.Work(options)
	require.NoError(t, err)
	once := sync.OnceFunc(end)
	t.Cleanup(once)
	return once
}

// W5, R49: at the very moment at which a run decides to continue as new, a signal reaches it. The server then refuses to
// close the run, and the decision is applied once.
func TestSignalWhileTheRunContinuesAsNew(t *testing.T) {
	t.Parallel()
	var w *wait
	late := &lateSender{sent: map[string]string{}}
	late.send = func(run string, carried wire.Record) {
		if carried.Escalation == nil {
			return
		}
		late.sent[run] = carried.Escalation.ID
		w.signal(wire.SignalDecide, extend(carried.Escalation.ID, "late-"+run))
	}
	workOn(t, restless, "late", worker.Options{Interceptors: []interceptor.WorkerInterceptor{late}})
	w = manyEscalations("late", "late", 8).begin(t)
	answerAll(w, 8)

	outcome := w.outcome()
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.NotEmpty(t, late.sent, "no run continued as new while it was escalated")
	require.Positive(t, w.refusedCloses(), "the server never saw a signal beside continue-as-new")
	w.requireAppliedOnce(outcome)
}

// W5, R49: signals that arrive just as the next run begins are applied in it, each once.
func TestSignalsAsTheNextRunBegins(t *testing.T) {
	t.Parallel()
	const escalations = 12
	w := manyEscalations("next-run", "", escalations).begin(t)
	var all sync.WaitGroup
	all.Go(func() { w.signalNextRuns() })
	answerAll(w, escalations)
	outcome := w.outcome()
	all.Wait()

	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	runs, err := w.bed.Runs(w.ctx, w.id(), "")
	require.NoError(t, err)
	require.Greater(t, len(runs), escalations/3)
	w.requireAppliedOnce(outcome)
}

// manyEscalations is a job that stops in an unlisted state again and again, on the server that likes to continue as new.
func manyEscalations(job, queue string, n int) plan {
	return plan{
		job: job, queue: queue, bed: restless, script: waittest.Script(waittest.State("paused").Times(n), result(job)),
		spec: func(spec *wire.Spec) {
			spec.Escalation.MaxExtensions = new(n)
			spec.MaxStatusRequests = 50
		},
	}
}

// answerAll answers escalations until the wait has ended, by a signal each: another answer may be faster.
func answerAll(w *wait, n int) {
	w.Helper()
	last := ""
	for range n {
		view, ended := w.untilOrEnd(func(view wire.OperationView) bool { return view.Escalation != nil && view.Escalation.ID != last })
		if ended {
			return
		}
		last = view.Escalation.ID
		w.signalUnlessEnded(extend(last, "d-"+last))
	}
}

// signalUnlessEnded sends a decision that another may have made pointless by ending the wait.
func (w *wait) signalUnlessEnded(decision wire.Decision) {
	w.Helper()
	err := w.bed.Client.SignalWorkflow(w.ctx, w.id(), "", wire.SignalDecide, decision)
	if !errors.As(err, new(*serviceerror.NotFound)) {
		require.NoError(w, err)
	}
}

// untilOrEnd is until over all runs of a wait.
func (w *wait) untilOrEnd(wanted func(wire.OperationView) bool) (view wire.OperationView, ended bool) {
	w.Helper()
	for {
		view, err := w.bed.Until(w.ctx, w.latest(), wanted)
		if err == nil {
			return view, false
		}
		if w.ctx.Err() != nil {
			w.stuck()
		}
		described, err := w.bed.Client.DescribeWorkflow(w.ctx, w.id(), "")
		require.NoError(w, err)
		if described.Status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
			return wire.OperationView{}, true
		}
	}
}

// stuck fails the test with what a person would look at.
func (w *wait) stuck() {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), 10*time.Second)
	defer cancel()
	var story []string
	for _, event := range w.history(ctx, "").GetEvents() {
		story = append(story, fmt.Sprintf("%d %s", event.GetEventId(), event.GetEventType()))
	}
	view, err := w.bed.View(ctx, w.id())
	require.FailNow(w, "nothing happens any more", "%s\n%s %v", strings.Join(story, "\n"), jsonOf(w.T, view), err)
}

// signalNextRuns follows the runs and sends each next one a decision as soon as the one before has ended.
func (w *wait) signalNextRuns() {
	run := w.run.GetRunID()
	for run != "" {
		events := w.bed.Client.GetWorkflowHistory(w.ctx, w.id(), run, true, enumspb.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT)
		end, err := events.Next()
		if err != nil {
			return
		}
		continued := end.GetWorkflowExecutionContinuedAsNewEventAttributes()
		if run = continued.GetNewExecutionRunId(); run == "" {
			return
		}
		var carried wire.Record
		if err := converter.GetDefaultDataConverter().FromPayload(continued.GetInput().GetPayloads()[1], &carried); err != nil {
			return
		}
		about := "none"
		if carried.Escalation != nil {
			about = carried.Escalation.ID
		}
		_ = w.bed.Client.SignalWorkflow(w.ctx, w.id(), run, wire.SignalDecide, extend(about, "next-"+run)) // it may have ended
	}
}

// refusedCloses counts how often the server did not let a run end because something had arrived.
func (w *wait) refusedCloses() int {
	w.Helper()
	n := 0
	for _, event := range w.allEvents() {
		if event.GetWorkflowTaskFailedEventAttributes().GetCause() == enumspb.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND {
			n++
		}
	}
	return n
}

func (w *wait) allEvents() []*historypb.HistoryEvent {
	w.Helper()
	runs, err := w.bed.Runs(w.ctx, w.id(), "")
	require.NoError(w, err)
	var all []*historypb.HistoryEvent
	for _, run := range runs {
		all = append(all, w.history(w.ctx, run).GetEvents()...)
	}
	return all
}

// requireAppliedOnce holds the audit of all runs against the signals of all histories: each was applied or refused, each
// once, and every escalation was answered once.
func (w *wait) requireAppliedOnce(outcome wire.Outcome) {
	w.Helper()
	signals := 0
	for _, event := range w.allEvents() {
		if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED {
			signals++
		}
	}
	audit := w.wholeAudit()
	answered := map[string]int{}
	seen := map[string]int{}
	for _, entry := range audit {
		if entry.Event != wire.EventDecisionApplied && entry.Event != wire.EventDecisionRefused {
			continue
		}
		decision, err := wire.DecodeDecision(entry.Decision)
		require.NoError(w, err)
		seen[decision.DecisionID]++
		if entry.Event == wire.EventDecisionApplied {
			answered[decision.EscalationID]++
		}
	}
	for id, times := range seen {
		require.Equal(w, 1, times, "decision %s", id)
	}
	require.Len(w, seen, signals)
	for id, times := range answered {
		require.Equal(w, 1, times, "escalation %s", id)
	}
	require.Len(w, answered, count(audit, wire.EventEscalated))
	require.Len(w, answered, outcome.ExtensionsUsed)
}

// lateSender sends something while a run hands in that it continues as new: once a run, because the server makes the run
// think again.
type lateSender struct {
	interceptor.WorkerInterceptorBase
	send func(run string, carried wire.Record)

	mu   sync.Mutex
	runs map[string]bool
	sent map[string]string
}

func (s *lateSender) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	inbound := &lateInbound{sender: s}
	inbound.Next = next
	return inbound
}

type lateInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	sender *lateSender
}

func (i *lateInbound) Init(next interceptor.WorkflowOutboundInterceptor) error {
	outbound := &lateOutbound{sender: i.sender}
	outbound.Next = next
	return i.Next.Init(outbound)
}

type lateOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	sender *lateSender
}

func (o *lateOutbound) NewContinueAsNewError(ctx workflow.Context, wfn any, args ...any) error {
	o.sender.once(workflow.GetInfo(ctx).WorkflowExecution.RunID, recordIn(args))
	return o.Next.NewContinueAsNewError(ctx, wfn, args...)
}

// recordIn is what the next run is given beside the spec.
func recordIn(args []any) (record wire.Record) {
	if raw, ok := args[1].(converter.RawValue); ok {
		_ = json.Unmarshal(raw.Payload().GetData(), &record) // without an escalation nothing is sent, which the test notices
	}
	return record
}

func (s *lateSender) once(run string, carried wire.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runs == nil {
		s.runs = map[string]bool{}
	}
	if !s.runs[run] {
		s.runs[run] = true
		s.send(run, carried)
	}
}

// W2, R37: an answered escalation leaves one cancelled timer behind and costs the same number of events each time.
func TestEventsPerEscalation(t *testing.T) {
	t.Parallel()
	const escalations = 10
	w := plan{
		job: "events", script: waittest.Script(waittest.State("paused").Times(escalations), result("events")),
		spec: func(spec *wire.Spec) { spec.Escalation.MaxExtensions = new(escalations) },
	}.begin(t)
	last := ""
	for range escalations {
		open := w.escalatedAfter(last)
		last = open.ID
		require.InDelta(t, 24*time.Hour, open.WindowEndsAt.Sub(open.OpenedAt), float64(time.Second))
		w.decide(extend(last, "d-"+last))
	}
	require.Equal(t, wire.StatusSucceeded, w.outcome().Status)

	timers := map[enumspb.EventType]int{}
	for _, event := range w.allEvents() {
		timers[event.GetEventType()]++
	}
	started, fired, cancelled := timers[enumspb.EVENT_TYPE_TIMER_STARTED], timers[enumspb.EVENT_TYPE_TIMER_FIRED], timers[enumspb.EVENT_TYPE_TIMER_CANCELED]
	require.Contains(t, []int{2 * escalations, 2*escalations + 1}, started, "the windows' and the polls', of which the first may be due at once")
	require.Equal(t, started, fired+cancelled, "a timer was left behind")
	require.GreaterOrEqual(t, cancelled, escalations, "the windows'; a poll that another event wakes has its timer cancelled, too")
	// A poll is 11 events. Asking and being answered adds 21: two notifications and their tasks (12), a timer set and cancelled,
	// two upserts, an update and its task (5). The start of the wait, its last poll and its end are 24, and handing over the word
	// on the end 5.
	require.LessOrEqual(t, len(w.allEvents()), 24+5+escalations*(11+21))
}
