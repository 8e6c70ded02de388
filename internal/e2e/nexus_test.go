package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nexus-rpc/sdk-go/nexus"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// A team in another namespace waits for a job with plain JSON.
func TestNexusAwait(t *testing.T) {
	t.Parallel()
	c := newCaller(t, shared, "nexus-await")
	for name, test := range map[string]func(*testing.T, *caller, string){
		"success":              nexusSuccess,
		"unresolved":           nexusUnresolved,
		"refused":              nexusRefused,
		"refused by the wait":  nexusRefusedLater,
		"another owner":        nexusAnotherOwner,
		"the same again":       nexusTheSameAgain,
		"the same too late":    nexusTooLate,
		"cancel":               nexusCancel,
		"no such operation":    nexusNoSuchOperation,
		"another's submission": nexusOtherSubmission,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, c, afresh("nexus-"+wire.EscapeSegment(strings.ReplaceAll(name, " ", "-"))))
		})
	}
}

func nexusSuccess(t *testing.T, c *caller, job string) {
	t.Helper()
	require.NoError(t, c.Provider.Set(job, waittest.Script(waittest.State("running"), result(job))))
	run := c.call(t, "await", c.plainSpec(job))
	outcome := c.answer(t, run)
	require.Equal(t, "succeeded", outcome["status"])
	require.Equal(t, "op-"+job, outcome["operation_id"])
	require.Equal(t, map[string]any{"file": "https://files.example.com/" + job + ".csv"}, outcome["result"])
	require.Len(t, c.Provider.Log(job), 2)
	c.replayed(t, job)
}

// A wait that ends undecided completes the operation: what it found out is in the outcome.
func nexusUnresolved(t *testing.T, c *caller, job string) {
	t.Helper()
	require.NoError(t, c.Provider.Set(job, waittest.Script(waittest.State("running"))))
	outcome := c.answer(t, c.call(t, "await", butWith(c.plainSpec(job), "max_status_requests", 1, "escalation", map[string]any{"escalate_on": []string{}})))
	require.Equal(t, "unresolved", outcome["status"])
	require.Equal(t, "request_budget_exhausted", outcome["reason"])
	require.Equal(t, "running", outcome["raw_state"])
}

// What cannot be run is refused before anything is started, with the line that the starter would print.
func nexusRefused(t *testing.T, c *caller, job string) {
	t.Helper()
	require.NoError(t, c.Provider.Set(job, waittest.Script(result(job))))
	spec := c.plainSpec(job)
	for want, input := range map[string]any{
		`spec: field "colour" is not known`:    butWith(spec, "colour", "green"),
		"max_status_requests is missing":       butWith(spec, "max_status_requests", 0),
		`provider "nobody" has no state table`: butWith(spec, "provider", "nobody"),
		`unknown credential "other"`:           butWith(spec, "credential_ref", "other"),
		"deadline_at":                          butWith(spec, "deadline_at", time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)),
		"at most 65536 are read":               butWith(spec, "operation_id", strings.Repeat("x", wire.MaxSpecBytes)),
		"spec: empty or cut off JSON":          nil,
		"status_url":                           butWith(spec, "status_url", "http://user:hidden-word@127.0.0.1/x"),
	} {
		handler, application := refusal(t, c.call(t, "await", input))
		require.Equal(t, nexus.HandlerErrorTypeBadRequest, handler.Type)
		require.Equal(t, wire.ErrorInvalidSpec, application.Type())
		require.Contains(t, application.Message(), want)
		require.NotContains(t, application.Message(), "hidden-word")
	}
	require.Empty(t, c.Provider.Log(job))
	_, err := c.Client.DescribeWorkflow(within(t), waitID(job), "")
	require.Error(t, err, "a wait was started")
}

// What only the wait itself can find out fails the operation with the same type of error.
func nexusRefusedLater(t *testing.T, c *caller, job string) {
	t.Helper()
	require.NoError(t, c.Provider.Set(job, waittest.Script(result(job))))
	require.Equal(t, "succeeded", c.answer(t, c.call(t, "await", c.plainSpec(job)))["status"])
	(&wait{T: t, ctx: within(t), bed: c.Bed, run: c.Client.GetWorkflow(within(t), waitID(job), "")}).decidedRuns(1)
	spec := butWith(c.plainSpec(job), "reopens", map[string]any{"run_id": "no-such-run", "decided_by": "ana@example.com", "comment": "again"})
	err := c.call(t, "await", spec).Get(within(t), nil)
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	require.Equal(t, wire.ErrorInvalidSpec, application.Type())
	require.Contains(t, application.Message(), "no-such-run")
}

func nexusAnotherOwner(t *testing.T, c *caller, job string) {
	t.Helper()
	first := c.held(t, job)

	owner := nexusOwner(t, c.call(t, "await", butWith(c.plainSpec(job), "operation_id", "another")))
	require.Equal(t, waitID(job), owner.WorkflowID)
	require.Equal(t, "op-"+job, owner.OperationID)
	require.Equal(t, "unknown", owner.Fingerprint)
	require.False(t, owner.Closed)

	c.released(t, job, first)
	owner = nexusOwner(t, c.call(t, "await", butWith(c.plainSpec(job), "operation_id", "another")))
	require.True(t, owner.Closed)
	require.NotEmpty(t, owner.RunID)
	require.Len(t, c.Provider.Log(job), 2)
}

// The same operation id with the fingerprint of another submission is a mix-up and no second call.
func nexusOtherSubmission(t *testing.T, c *caller, job string) {
	t.Helper()
	require.NoError(t, c.Provider.Set(job, waittest.Script(result(job))))
	require.Equal(t, "succeeded", c.answer(t, c.call(t, "await", butWith(c.plainSpec(job), "request_fingerprint", "sha256:1")))["status"])
	owner := nexusOwner(t, c.call(t, "await", butWith(c.plainSpec(job), "request_fingerprint", "sha256:2")))
	require.Equal(t, "different", owner.Fingerprint)
}

// A caller that makes the same operation once more, while it is running or after its end, is told the one end.
func nexusTheSameAgain(t *testing.T, c *caller, job string) {
	t.Helper()
	first := c.held(t, job)
	second := c.call(t, "await", c.plainSpec(job))
	c.begun(t, second)
	ended := c.released(t, job, first)
	require.Equal(t, ended, c.answer(t, second))
	require.Equal(t, ended, c.answer(t, c.call(t, "await", c.plainSpec(job))))
	past := butWith(c.plainSpec(job), "deadline_at", time.Now().Add(-time.Hour).UTC().Format(time.RFC3339))
	require.Equal(t, ended, c.answer(t, c.call(t, "await", past)), "the deadline has passed since it was made")
	owner := nexusOwner(t, c.call(t, "await", butWith(c.plainSpec(job), "accept_partial", true)))
	require.Equal(t, "op-"+job, owner.OperationID)
	_, application := refusal(t, c.call(t, "await", butWith(past, "operation_id", "another")))
	require.Equal(t, wire.ErrorInvalidSpec, application.Type())
	_, application = refusal(t, c.call(t, "await", butWith(past, "reopens", map[string]any{"run_id": owner.RunID, "decided_by": "ana@example.com", "comment": "again"})))
	require.Equal(t, wire.ErrorInvalidSpec, application.Type())
	require.Len(t, c.Provider.Log(job), 2, "somebody asked twice")
	c.replayed(t, job)
}

// A call that is repeated after its deadline, while people are asked say, joins the wait that runs.
func nexusTooLate(t *testing.T, c *caller, job string) {
	t.Helper()
	first := c.held(t, job)
	second := c.call(t, "await", butWith(c.plainSpec(job), "deadline_at", time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)))
	c.begun(t, second)
	ended := c.released(t, job, first)
	require.Equal(t, ended, c.answer(t, second))
	c.replayed(t, job)
}

// R48: to cancel the operation is to stop waiting, and the outcome still comes.
func nexusCancel(t *testing.T, c *caller, job string) {
	t.Helper()
	require.NoError(t, c.Provider.Set(job, waittest.Script(waittest.State("running"))))
	run := c.call(t, "await", butWith(c.plainSpec(job), "schedule", map[string]any{"initial_delay_seconds": 0, "base_delay_seconds": 3600, "max_delay_seconds": 3600}))
	_, err := c.Provider.AwaitRequests(within(t), job, 1)
	require.NoError(t, err)
	c.begun(t, run)
	require.NoError(t, c.client.CancelWorkflow(within(t), run.GetID(), run.GetRunID()))
	outcome := c.answer(t, run)
	require.Equal(t, "unresolved", outcome["status"])
	require.Equal(t, "wait_cancelled", outcome["reason"])
	c.replayed(t, job)
}

func nexusNoSuchOperation(t *testing.T, c *caller, job string) {
	t.Helper()
	handler := new(nexus.HandlerError)
	require.ErrorAs(t, c.call(t, "poll-for-ever", c.plainSpec(job)).Get(within(t), nil), &handler)
	require.Equal(t, nexus.HandlerErrorTypeNotFound, handler.Type)
}

// The end of a wait reaches its caller over all the runs that the wait goes through, and also one that came later.
func TestNexusOverManyRuns(t *testing.T) {
	t.Parallel()
	c := newCaller(t, restless, "nexus-runs")
	job := afresh("nexus-runs")
	require.NoError(t, c.Provider.Set(job, waittest.Script(waittest.State("running").Times(5), waittest.State("running").Held(), waittest.State("running").Times(5), result(job))))
	first := c.call(t, "await", c.plainSpec(job))
	_, err := c.Provider.AwaitRequests(within(t), job, 6)
	require.NoError(t, err)
	second := c.call(t, "await", c.plainSpec(job))
	c.begun(t, second)
	ended := c.released(t, job, first)
	require.Equal(t, ended, c.answer(t, second))
	runs, err := c.Runs(within(t), waitID(job), "")
	require.NoError(t, err)
	require.Greater(t, len(runs), 2)
	c.replayed(t, job)
}

// A caller of one namespace that cancels one of two calls of the same operation stops the one wait, for both.
func TestNexusCancelIsForTheWait(t *testing.T) {
	t.Parallel()
	c := newCaller(t, shared, "nexus-cancel-both")
	job := afresh("nexus-cancel-both")
	first := c.held(t, job)
	second := c.call(t, "await", c.plainSpec(job))
	c.begun(t, first)
	c.begun(t, second)
	require.NoError(t, c.client.CancelWorkflow(within(t), second.GetID(), second.GetRunID()))
	c.happened(t, waitID(job), enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED)
	require.Equal(t, 1, c.Provider.Release(job))
	for _, run := range []client.WorkflowRun{first, second} {
		outcome := c.answer(t, run)
		require.Equal(t, "unresolved", outcome["status"])
		require.Equal(t, "wait_cancelled", outcome["reason"])
	}
	c.replayed(t, job)
}

// held begins a wait whose first request the provider holds.
func (c *caller) held(t *testing.T, job string) client.WorkflowRun {
	t.Helper()
	require.NoError(t, c.Provider.Set(job, waittest.Script(waittest.State("running").Held(), result(job))))
	run := c.call(t, "await", c.plainSpec(job))
	_, err := c.Provider.AwaitRequests(within(t), job, 1)
	require.NoError(t, err)
	return run
}

// released lets the request go on and returns how the wait succeeded.
func (c *caller) released(t *testing.T, job string, run client.WorkflowRun) map[string]any {
	t.Helper()
	require.Equal(t, 1, c.Provider.Release(job))
	ended := c.answer(t, run)
	require.Equal(t, "succeeded", ended["status"])
	return ended
}

func waitID(job string) string { return wire.WorkflowID("demo-export", "acct-42", job) }

// begun waits until the caller's server knows that its operation runs.
func (c *caller) begun(t *testing.T, run client.WorkflowRun) {
	t.Helper()
	follow(t, c.client, run.GetID(), run.GetRunID(), enumspb.EVENT_TYPE_NEXUS_OPERATION_STARTED)
}

// happened waits until something has happened in a wait.
func (c *caller) happened(t *testing.T, workflowID string, kind enumspb.EventType) {
	t.Helper()
	follow(t, c.Client, workflowID, "", kind)
}

func follow(t *testing.T, in client.Client, workflowID, runID string, kind enumspb.EventType) {
	t.Helper()
	events := in.GetWorkflowHistory(within(t), workflowID, runID, true, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(t, err)
		if event.GetEventType() == kind {
			return
		}
	}
	require.FailNow(t, "the run ended before the event came", "%s", kind)
}

// replayed replays every run of the wait strictly: callbacks and links that callers attach leave it as it is.
func (c *caller) replayed(t *testing.T, job string) {
	t.Helper()
	(&wait{T: t, ctx: within(t), bed: c.Bed, job: job, run: c.Client.GetWorkflow(within(t), waitID(job), "")}).replay()
}

// refusal is the error by which an operation was refused before it began.
func refusal(t *testing.T, run client.WorkflowRun) (*nexus.HandlerError, *temporal.ApplicationError) {
	t.Helper()
	err := run.Get(within(t), nil)
	var handler *nexus.HandlerError
	require.ErrorAs(t, err, &handler)
	var application *temporal.ApplicationError
	require.ErrorAs(t, handler, &application)
	return handler, application
}

// nexusOwner is who the refusal says owns the job.
func nexusOwner(t *testing.T, run client.WorkflowRun) wire.AlreadyOwned {
	t.Helper()
	handler, application := refusal(t, run)
	require.Equal(t, nexus.HandlerErrorTypeBadRequest, handler.Type)
	require.Equal(t, wire.ErrorAlreadyOwned, application.Type())
	var owner wire.AlreadyOwned
	require.NoError(t, application.Details(&owner))
	require.Contains(t, application.Message(), owner.OperationID)
	return owner
}

// A team in another namespace has a job submitted and waited for, once however often it calls.
func TestNexusSubmitAndAwait(t *testing.T) {
	t.Parallel()
	own, err := waittest.NewProvider(waittest.ProviderOptions{Key: bed.Key, Script: waittest.ProviderScript{Submit: &waittest.SubmitScript{Job: finished()}}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = own.Close() })
	seen := *shared
	seen.Provider = own
	c := newCaller(t, &seen, "nexus-submit")
	name := afresh("nexus-submit-1")
	spec := c.submitSpec(name)
	first, second := c.call(t, "submit-and-await", spec), c.call(t, "submit-and-await", spec)
	outcome := c.answer(t, first)
	require.Equal(t, "succeeded", outcome["status"])
	require.Equal(t, name, outcome["submission_id"])
	require.NotEmpty(t, outcome["provider_job_id"])
	require.Equal(t, outcome, c.answer(t, second))
	require.Equal(t, outcome, c.answer(t, c.call(t, "submit-and-await", spec)))

	owner := nexusOwner(t, c.call(t, "submit-and-await", butWith(spec, "body", map[string]any{"report": "2026-12"})))
	require.Equal(t, wire.SubmitWorkflowID("demo-export", "acct-42", name), owner.WorkflowID)
	require.Equal(t, "different", owner.Fingerprint)
	require.True(t, owner.Closed)

	_, application := refusal(t, c.call(t, "submit-and-await", butWith(spec, "submission_id", name+"-b", "wait", map[string]any{})))
	require.Equal(t, wire.ErrorInvalidSpec, application.Type())
	require.Len(t, own.Submissions(), 1, "something was submitted twice")
}

// R57: a team has what failed submitted again as a successor, once however often it calls; one that may not be replaced fails the call.
func TestNexusSubmitsAgain(t *testing.T) {
	t.Parallel()
	own, err := waittest.NewProvider(waittest.ProviderOptions{Key: bed.Key, Script: waittest.ProviderScript{Submit: new(failingJobs())}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = own.Close() })
	seen := *shared
	seen.Provider = own
	c := newCaller(t, &seen, "nexus-again")
	spec := c.submitSpec(afresh("nexus-again-1"))
	name := spec["submission_id"].(string)
	successor := butWith(spec, "submission_id", name+"~2", "predecessor", map[string]any{
		"submission_id": name, "decided_by": "ana@example.com", "comment": "the disk has room again",
	})
	failed := func(want string) {
		var application *temporal.ApplicationError
		require.ErrorAs(t, c.call(t, "submit-and-await", successor).Get(within(t), nil), &application)
		require.Equal(t, wire.ErrorInvalidSpec, application.Type())
		require.Contains(t, application.Message(), want)
	}
	failed("predecessor: the server knows no workflow")
	first := c.answer(t, c.call(t, "submit-and-await", spec))
	require.Equal(t, "failed", first["status"])
	again, twice := c.call(t, "submit-and-await", successor), c.call(t, "submit-and-await", successor)
	second := c.answer(t, again)
	require.Equal(t, second, c.answer(t, twice))
	require.Equal(t, name+"~2", second["submission_id"])
	replaced := second["predecessor"].(map[string]any)
	require.Equal(t, []any{name, "failed", first["provider_job_id"], "ana@example.com"},
		[]any{replaced["submission_id"], replaced["status"], replaced["provider_job_id"], replaced["decided_by"]})
	require.NotEqual(t, first["provider_job_id"], second["provider_job_id"])
	require.Len(t, own.Submissions(), 2)

	_, refused := refusal(t, c.call(t, "submit-and-await", butWith(successor, "submission_id", name+"~3")))
	require.Contains(t, refused.Message(), fmt.Sprintf("in place of %q it must be %q", name, name+"~2"))
}

// submitSpec is plainSpec for a submission.
func (c *caller) submitSpec(name string) map[string]any {
	_, port, _ := strings.Cut(c.Provider.Address(), ":")
	return map[string]any{
		"submission_id": name, "provider": "demo-export", "account": "acct-42", "credential_ref": "demo",
		"params": map[string]any{"port": port}, "body": map[string]any{"report": "2026-11"},
		"wait": map[string]any{
			"deadline_at":         time.Now().Add(10 * time.Minute).UTC().Format(time.RFC3339),
			"max_status_requests": 12, "max_transport_failures": 3,
			"schedule": map[string]any{"base_delay_seconds": 1, "max_delay_seconds": 1},
		},
	}
}
