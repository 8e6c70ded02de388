package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// longest bounds every test. None needs a quarter of it on an idle machine.
const longest = 5 * time.Minute

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	t.Cleanup(cancel)
	return ctx
}

// plan is a wait to begin. Only the job is required.
type plan struct {
	job    string
	script waittest.JobScript
	spec   func(*wire.Spec)
	// bed is the shared one if nil, queue that of the bed's own worker if empty.
	bed   *bed.Bed
	queue string
	// converter is the one that the bed's client has.
	converter converter.DataConverter
}

// wait is a wait that has begun.
type wait struct {
	*testing.T
	ctx  context.Context
	bed  *bed.Bed
	job  string
	spec wire.Spec
	run  client.WorkflowRun
	dc   converter.DataConverter
}

// begin starts a wait. At the end of the test every run of it is replayed strictly, whatever the test was about.
func (p plan) begin(t *testing.T) *wait {
	t.Helper()
	w := p.prepare(t)
	run, err := w.bed.StartOn(w.ctx, p.queueName(), w.spec)
	require.NoError(t, err)
	w.run = run
	t.Cleanup(w.replay)
	return w
}

// prepare gives the job its script and makes the spec, and starts nothing.
func (p plan) prepare(t *testing.T) *wait {
	t.Helper()
	if p.bed == nil {
		p.bed = shared
	}
	p.job = afresh(p.job)
	if len(p.script.Steps) > 0 {
		require.NoError(t, p.bed.Provider.Set(p.job, p.script))
	}
	spec := p.bed.Spec(p.job)
	if p.spec != nil {
		p.spec(&spec)
	}
	return &wait{T: t, ctx: within(t), bed: p.bed, job: p.job, spec: spec, dc: p.converter}
}

// used counts how often a job was wanted: with -count a test runs again on the same server, where a job has one owner.
var used sync.Map

// afresh is a name that no earlier run of the test has used; the first run keeps the plain one.
func afresh(name string) string {
	n, _ := used.LoadOrStore(name, new(atomic.Int64))
	if times := n.(*atomic.Int64).Add(1); times > 1 {
		return fmt.Sprintf("%s-%d", name, times)
	}
	return name
}

func (p plan) queueName() string {
	if p.queue == "" {
		return wire.DefaultTaskQueue
	}
	return p.queue
}

func (w *wait) id() string { return w.run.GetID() }

// latest is the wait's latest run, whichever that is when it is used.
func (w *wait) latest() client.WorkflowRun { return w.bed.Client.GetWorkflow(w.ctx, w.id(), "") }

func (w *wait) outcome() wire.Outcome {
	w.Helper()
	outcome, err := w.bed.Outcome(w.ctx, w.latest())
	require.NoError(w, err)
	return outcome
}

// invalidSpec is the message of a wait that never began, which sent nothing.
func (w *wait) invalidSpec() string {
	w.Helper()
	_, err := w.bed.Outcome(w.ctx, w.run)
	var application *temporal.ApplicationError
	require.ErrorAs(w, err, &application)
	require.Equal(w, wire.ErrorInvalidSpec, application.Type())
	require.True(w, application.NonRetryable())
	require.NotContains(w, application.Message(), "\n")
	require.Empty(w, w.log(), "something was sent")
	return application.Message()
}

func (w *wait) view() wire.OperationView {
	w.Helper()
	view, err := w.bed.View(w.ctx, w.id())
	require.NoError(w, err)
	return view
}

// until follows the latest run up to the first view that is wanted.
func (w *wait) until(wanted func(wire.OperationView) bool) wire.OperationView {
	w.Helper()
	view, err := w.bed.Until(w.ctx, w.latest(), wanted)
	require.NoError(w, err)
	return view
}

// escalated waits for an open escalation, for that number if one is given.
func (w *wait) escalated() wire.EscalationView {
	w.Helper()
	return *w.until(func(view wire.OperationView) bool { return view.Escalation != nil }).Escalation
}

// escalatedAfter waits for an escalation that is another than the given one.
func (w *wait) escalatedAfter(id string) wire.EscalationView {
	w.Helper()
	return *w.until(func(view wire.OperationView) bool { return view.Escalation != nil && view.Escalation.ID != id }).Escalation
}

// settled waits until people were told of the open escalation, after which nothing is under way.
func (w *wait) settled() wire.EscalationView {
	w.Helper()
	open := w.escalated()
	w.event(func(event *historypb.HistoryEvent) bool {
		return event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED && count(w.audit(), wire.EventNotified) > 0
	})
	return open
}

// event follows the latest run by its history to the first event that is wanted. No worker is needed for that.
func (w *wait) event(wanted func(*historypb.HistoryEvent) bool) *historypb.HistoryEvent {
	w.Helper()
	events := w.bed.Client.GetWorkflowHistory(w.ctx, w.id(), "", true, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(w, err)
		if wanted(event) {
			return event
		}
	}
	require.FailNow(w, "the run ended before the event came")
	return nil
}

// eventFilter says which events are waited for.
type eventFilter func(*historypb.HistoryEvent) bool

// after looks only at what follows an event.
func (f eventFilter) after(id int64) eventFilter {
	return func(event *historypb.HistoryEvent) bool { return event.GetEventId() > id && f(event) }
}

// nth is the n-th of the events, counted from 1.
func (f eventFilter) nth(n int) eventFilter {
	return func(event *historypb.HistoryEvent) bool {
		if f(event) {
			n--
		}
		return n == 0
	}
}

func is(kind enumspb.EventType) eventFilter {
	return func(event *historypb.HistoryEvent) bool { return event.GetEventType() == kind }
}

// extend is a decision on an escalation that lets the wait go on for a while.
func extend(escalationID, decisionID string) wire.Decision {
	return wire.Decision{
		Kind: wire.DecisionExtend, DecisionID: decisionID, EscalationID: escalationID,
		DecidedBy: "ana@example.com", Comment: "test", Seconds: 300, StatusRequests: 4,
	}
}

func decision(kind wire.DecisionKind, escalationID, decisionID string) wire.Decision {
	return wire.Decision{
		Kind: kind, DecisionID: decisionID, EscalationID: escalationID, DecidedBy: "ana@example.com", Comment: "test",
	}
}

// decide sends a decision as an update, which is applied.
func (w *wait) decide(decision wire.Decision) wire.DecisionReply {
	w.Helper()
	reply, err := w.bed.Decide(w.ctx, w.id(), decision)
	require.NoError(w, err)
	require.True(w, reply.Accepted)
	return reply
}

// refused sends a decision as an update, which is refused.
func (w *wait) refused(decision any) wire.Refusal {
	w.Helper()
	_, err := w.bed.Decide(w.ctx, w.id(), decision)
	return refusalIn(w, err)
}

func refusalIn(w *wait, err error) wire.Refusal {
	w.Helper()
	var application *temporal.ApplicationError
	require.ErrorAs(w, err, &application)
	require.Equal(w, wire.ErrorDecisionRefused, application.Type())
	require.NotContains(w, application.Message(), "\n")
	var refusal wire.Refusal
	require.NoError(w, application.Details(&refusal))
	require.ErrorContains(w, &refusal, string(refusal.Reason))
	return refusal
}

func (w *wait) signal(name string, payload any) {
	w.Helper()
	require.NoError(w, w.bed.Client.SignalWorkflow(w.ctx, w.id(), "", name, payload))
}

// audit is the audit of the latest run.
func (w *wait) audit() []wire.Entry {
	w.Helper()
	audit, err := w.bed.Audit(w.ctx, w.id(), "")
	require.NoError(w, err)
	return audit.Entries
}

// wholeAudit is the audit over all runs, whose chain is unbroken.
func (w *wait) wholeAudit() []wire.Entry {
	w.Helper()
	runs, err := w.bed.Runs(w.ctx, w.id(), "")
	require.NoError(w, err)
	var all []wire.Entry
	prev := ""
	for _, run := range runs {
		part, err := w.bed.Audit(w.ctx, w.id(), run)
		require.NoError(w, err)
		for _, entry := range part.Entries {
			require.Equal(w, len(all)+1, entry.Seq)
			require.Equal(w, prev, entry.Prev)
			prev = entry.Hash
			all = append(all, entry)
		}
	}
	return all
}

func count(entries []wire.Entry, event wire.Event) int {
	n := 0
	for _, entry := range entries {
		if entry.Event == event {
			n++
		}
	}
	return n
}

// log is what the provider says it was asked for this job, whatever the product says.
func (w *wait) log() []waittest.LogEntry { return w.bed.Provider.Log(w.job) }

func (w *wait) requests(n int) []waittest.LogEntry {
	w.Helper()
	log, err := w.bed.Provider.AwaitRequests(w.ctx, w.job, n)
	require.NoError(w, err)
	return log
}

// bounded holds the provider's own log against the limits of the wait: never above the maximum, never before a Retry-After
// has ended, never after the deadline.
func (w *wait) bounded(maximum int, deadline time.Time) {
	w.Helper()
	waittest.RequireWithinBudget(w, w.log(), maximum)
	waittest.RequireNeverEarly(w, w.log())
	waittest.RequireNoneFrom(w, w.log(), deadline)
}

// history is that of one run, the latest for "".
func (w *wait) history(ctx context.Context, runID string) *historypb.History {
	w.Helper()
	history, err := waittest.FetchHistory(ctx, w.bed.Client, w.id(), runID)
	require.NoError(w, err)
	return history
}

// replay holds the code against what was just recorded, for the run that was started, the latest one, and all between.
func (w *wait) replay() {
	if w.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), time.Minute)
	defer cancel()
	first, err := w.bed.Runs(ctx, w.id(), w.run.GetRunID())
	require.NoError(w, err)
	last, err := w.bed.Runs(ctx, w.id(), "")
	require.NoError(w, err)
	runs := slices.Concat(first, last)
	slices.Sort(runs)
	for _, run := range slices.Compact(runs) {
		err := waittest.ReplayStrictly(w.history(ctx, run), waittest.ReplayOptions{DataConverter: w.dc})
		require.NoError(w, err, "replay of run %s", run)
	}
}

func at(after time.Duration) time.Time { return time.Now().Add(after) }

// deadline gives a spec that much time.
func deadline(after time.Duration) func(*wire.Spec) {
	return func(spec *wire.Spec) { spec.DeadlineAt = at(after) }
}

// result is a success with that result.
func result(job string) waittest.Step {
	return waittest.Succeeded("https://files.example.com/" + job + ".csv")
}

// write writes a file below a directory and returns where it is.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// demoAs is the demonstration's table for a provider of another name, with each first text of the edits replaced by the one after it.
func demoAs(t *testing.T, provider string, edits ...string) string {
	t.Helper()
	text, err := bed.DemoAs(provider, edits...)
	require.NoError(t, err)
	return text
}

// beside is the shared provider with more than its own paths.
func beside(t *testing.T, more map[string]http.HandlerFunc) *httptest.Server {
	t.Helper()
	home, err := url.Parse(shared.Provider.URL())
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("/", httputil.NewSingleHostReverseProxy(home))
	for pattern, handle := range more {
		mux.HandleFunc(pattern, handle)
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}
