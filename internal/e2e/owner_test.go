package e2e_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/jobwait/jobwait"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// R45, R47: of many who start the wait for a job at once, one becomes its owner, and the others are told who it is.
func TestOneOwner(t *testing.T) {
	t.Parallel()
	const callers = 8
	p := plan{job: "one-owner", script: waittest.Script(waittest.State("running"), result("one-owner"))}
	w := p.prepare(t)
	runs, failures := make([]client.WorkflowRun, callers), make([]error, callers)
	var all sync.WaitGroup
	for i := range callers {
		spec := w.spec
		spec.OperationID += "-" + string(rune('a'+i))
		spec.RequestFingerprint = []string{"sha256:even", "sha256:odd"}[i%2]
		all.Go(func() { runs[i], failures[i] = jobwait.Start(w.ctx, w.bed.Client, spec, jobwait.StartOptions{}) })
	}
	all.Wait()
	owner := -1
	for i, err := range failures {
		if err == nil {
			require.Equal(t, -1, owner, "two owners")
			owner, w.run = i, runs[i]
		}
	}
	require.NotEqual(t, -1, owner, "no owner: %v", errors.Join(failures...))
	for i, err := range failures {
		if i == owner {
			continue
		}
		owned := ownedBy(t, err)
		require.Equal(t, w.spec.OperationID+"-"+string(rune('a'+owner)), owned.OperationID)
		require.Equal(t, w.id(), owned.WorkflowID)
		require.False(t, owned.Closed)
		want := jobwait.FingerprintSame
		if i%2 != owner%2 {
			want = jobwait.FingerprintDifferent
		}
		require.Equal(t, want, owned.Fingerprint)
	}
	require.Equal(t, wire.StatusSucceeded, w.outcome().Status)
	require.Len(t, w.log(), 2, "somebody else asked as well")
	w.replay()
}

func ownedBy(t *testing.T, err error) *jobwait.AlreadyOwnedError {
	t.Helper()
	var owned *jobwait.AlreadyOwnedError
	require.ErrorAs(t, err, &owned)
	return owned
}

// R46: after a decided end the job is waited for again on a person's word alone, and that names the latest wait.
func TestReopen(t *testing.T) {
	t.Parallel()
	w := plan{job: "reopen", script: waittest.Script(waittest.Failed("E1", "no space"), result("reopen"))}.begin(t)
	require.Equal(t, wire.StatusFailed, w.outcome().Status)
	w.decidedRuns(1)

	_, err := jobwait.Start(w.ctx, w.bed.Client, w.spec, jobwait.StartOptions{})
	owned := ownedBy(t, err)
	require.True(t, owned.Closed)
	require.Equal(t, w.run.GetRunID(), owned.RunID)
	require.ErrorContains(t, owned, "has a decided end")

	w.refusedStart(wire.Reopens{RunID: "no-such-run", DecidedBy: "ana@example.com", Comment: "again"}, "no-such-run", w.run.GetRunID())
	w.refusedStart(wire.Reopens{RunID: w.run.GetRunID(), Comment: "again"}, "reopens needs run_id, decided_by and comment")
	again := w.reopened(w.run.GetRunID())
	outcome, err := w.bed.Outcome(w.ctx, again)
	require.NoError(t, err)
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Len(t, w.log(), 2)

	w.decidedRuns(2)
	w.refusedStart(wire.Reopens{RunID: w.run.GetRunID(), DecidedBy: "ana@example.com", Comment: "the first one again"}, again.GetRunID())
}

// R46: a terminated wait counts as decided, although Temporal would let anybody start again.
func TestReopenAfterTerminate(t *testing.T) {
	t.Parallel()
	w := plan{job: "terminated", script: waittest.Script(waittest.State("running"), result("terminated"))}.begin(t)
	w.requests(1)
	require.NoError(t, w.bed.Client.TerminateWorkflow(w.ctx, w.id(), "", "a test"))
	w.decidedRuns(1)
	sent := len(w.log())

	run, err := jobwait.Start(w.ctx, w.bed.Client, w.spec, jobwait.StartOptions{})
	require.NoError(t, err, "Temporal itself allows it")
	require.Contains(t, invalidSpecOf(w, run), w.run.GetRunID())
	require.Len(t, w.log(), sent)
	outcome, err := w.bed.Outcome(w.ctx, w.reopened(w.run.GetRunID()))
	require.NoError(t, err)
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
}

// R46: a start that failed as an invalid spec never was a wait, and needs nobody's word to be repeated.
func TestInvalidSpecIsNoWait(t *testing.T) {
	t.Parallel()
	w := plan{job: "second-try", script: waittest.Script(result("second-try"))}.prepare(t)
	bad := w.spec
	bad.MaxStatusRequests = 0
	run, err := jobwait.Start(w.ctx, w.bed.Client, bad, jobwait.StartOptions{})
	require.NoError(t, err)
	require.Contains(t, invalidSpecOf(w, run), "max_status_requests is missing")
	w.run, err = jobwait.Start(w.ctx, w.bed.Client, w.spec, jobwait.StartOptions{})
	require.NoError(t, err)
	require.Equal(t, wire.StatusSucceeded, w.outcome().Status)
	w.replay()
}

// R46: a wait runs once, under its one name, and only its deadline ends it.
func TestWrongStarts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*client.StartWorkflowOptions)
		want   string
	}{
		"workflow id": {func(o *client.StartWorkflowOptions) { o.ID += "/2" }, `start it as "jobwait/demo-export/acct-42/start-workflow-id`},
		"cron":        {func(o *client.StartWorkflowOptions) { o.CronSchedule = "@every 1s" }, `cron schedule "@every 1s"`},
		"retries": {func(o *client.StartWorkflowOptions) {
			o.RetryPolicy = &temporal.RetryPolicy{MaximumAttempts: 3}
		}, "retry policy"},
		"execution timeout": {func(o *client.StartWorkflowOptions) { o.WorkflowExecutionTimeout = time.Hour }, "timeout of 3600 s"},
		"run timeout":       {func(o *client.StartWorkflowOptions) { o.WorkflowRunTimeout = 90 * time.Second }, "timeout of 90 s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := "start-" + wire.EscapeSegment(name)
			if name == "workflow id" {
				job = "start-workflow-id"
			}
			w := plan{job: job, script: waittest.Script(result(job))}.prepare(t)
			options := client.StartWorkflowOptions{
				ID: wire.WorkflowID(w.spec.Provider, w.spec.Account, w.spec.ProviderJobID), TaskQueue: wire.DefaultTaskQueue,
			}
			c.change(&options)
			run, err := w.bed.Client.ExecuteWorkflow(w.ctx, options, wire.WorkflowAwaitJob, w.spec)
			require.NoError(t, err)
			first, err := w.firstFailure(run)
			require.NoError(t, err)
			require.Contains(t, first, c.want)
			require.NotContains(t, first, "\n")
			require.Empty(t, w.log())
			_ = w.bed.Client.TerminateWorkflow(w.ctx, run.GetID(), "", "the next of a cron") // most have ended
		})
	}
}

// firstFailure is the failure of that run itself, not of those that follow it: a cron schedule starts the next one.
func (w *wait) firstFailure(run client.WorkflowRun) (string, error) {
	events := w.bed.Client.GetWorkflowHistory(w.ctx, run.GetID(), run.GetRunID(), true, enumspb.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT)
	end, err := events.Next()
	if err != nil {
		return "", err
	}
	failure := end.GetWorkflowExecutionFailedEventAttributes().GetFailure()
	if next := end.GetWorkflowExecutionContinuedAsNewEventAttributes(); next != nil {
		failure = next.GetFailure() //nolint:staticcheck // the server still says so, and nowhere else
	}
	if failure.GetApplicationFailureInfo().GetType() != wire.ErrorInvalidSpec {
		return "", errors.New("not an invalid spec: " + end.String())
	}
	return failure.GetMessage(), nil
}

// reopened starts the wait again on a person's word.
func (w *wait) reopened(runID string) client.WorkflowRun {
	w.Helper()
	spec := w.spec
	spec.Reopens = &wire.Reopens{RunID: runID, DecidedBy: "ana@example.com", Comment: "space was made"}
	run, err := jobwait.Start(w.ctx, w.bed.Client, spec, jobwait.StartOptions{})
	require.NoError(w, err)
	return run
}

func (w *wait) refusedStart(reopens wire.Reopens, wants ...string) {
	w.Helper()
	sent := len(w.log())
	spec := w.spec
	spec.Reopens = &reopens
	run, err := jobwait.Start(w.ctx, w.bed.Client, spec, jobwait.StartOptions{})
	require.NoError(w, err)
	message := invalidSpecOf(w, run)
	for _, want := range wants {
		require.Contains(w, message, want)
	}
	require.Len(w, w.log(), sent)
}

func invalidSpecOf(w *wait, run client.WorkflowRun) string {
	w.Helper()
	_, err := w.bed.Outcome(w.ctx, run)
	var application *temporal.ApplicationError
	require.ErrorAs(w, err, &application)
	require.Equal(w, wire.ErrorInvalidSpec, application.Type())
	return application.Message()
}

// decidedRuns waits until visibility shows so many decided runs, for it lags behind.
func (w *wait) decidedRuns(n int64) {
	w.Helper()
	w.listed("WorkflowId = '"+w.id()+"' AND ExecutionStatus IN ('Completed', 'Terminated')", n)
}

// listed waits until a visibility query finds so many workflows.
func (w *wait) listed(query string, n int64) {
	w.Helper()
	require.Eventually(w, func() bool {
		ctx, cancel := context.WithTimeout(w.ctx, 10*time.Second)
		defer cancel()
		found, err := w.bed.Client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: w.bed.Namespace, Query: query})
		return err == nil && found.GetCount() == n
	}, time.Minute, 50*time.Millisecond, query)
}
