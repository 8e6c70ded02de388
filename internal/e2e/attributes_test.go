package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// R46: in a namespace without the search attributes a wait is not blocked, and its outcome says so.
func TestNamespaceWithoutSearchAttributes(t *testing.T) {
	t.Parallel()
	bare := bareNamespace(t, afresh("bare-namespace"))
	work(t, bare, bed.WorkerOptions{})
	w := plan{job: "bare", bed: bare, script: waittest.Script(waittest.State("paused"), result("bare"))}.begin(t)
	w.decide(extend(w.escalated().ID, "d-1"))
	outcome := w.outcome()
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, []string{wire.NoteAttributesUnregistered}, outcome.Notes)
}

// bareNamespace registers a namespace and returns the shared bed as seen from it.
func bareNamespace(t *testing.T, name string) *bed.Bed {
	t.Helper()
	ctx := within(t)
	_, err := shared.Client.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace: name, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	})
	require.NoError(t, err)
	c, err := client.DialContext(ctx, client.Options{HostPort: shared.Server.Address, Namespace: name, Logger: bed.Quiet()})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		_, err := c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: name})
		return err == nil
	}, time.Minute, 50*time.Millisecond, "the frontend never knew the namespace")
	return shared.With(c, name)
}

// Waits are found by phase, reason and the end of their window, and no longer once they were answered.
func TestSearchAttributes(t *testing.T) {
	t.Parallel()
	w := plan{
		job: "found", script: waittest.Script(waittest.State("paused").Held(), waittest.State("running").Held(), result("found")),
		spec: func(spec *wire.Spec) { spec.Schedule.RequestTimeoutSeconds = new(60) },
	}.begin(t)
	mine := fmt.Sprintf("WorkflowId = '%s' AND JobWaitProvider = 'demo-export'", w.id())
	w.listed(mine+" AND JobWaitPhase = 'polling' AND JobWaitReason IS NULL AND JobWaitDecideBy IS NULL", 1)
	w.requests(1)
	shared.Provider.Release(w.job)
	open := w.escalated()
	ends := open.WindowEndsAt.Truncate(time.Second)
	waiting := fmt.Sprintf("%s AND JobWaitPhase = 'escalated' AND JobWaitReason = 'unknown_state' AND JobWaitDecideBy >= '%s' AND JobWaitDecideBy < '%s'",
		mine, ends.Format(time.RFC3339), ends.Add(time.Second).Format(time.RFC3339))
	w.listed(waiting, 1)
	w.decide(extend(open.ID, "d-1"))
	w.listed(waiting, 0)
	w.listed(mine+" AND JobWaitPhase = 'polling' AND JobWaitReason IS NULL AND JobWaitDecideBy IS NULL", 1)
	w.requests(2)
	shared.Provider.Release(w.job)
	require.Equal(t, wire.StatusSucceeded, w.outcome().Status)
	w.listed(mine+" AND JobWaitPhase = 'closed' AND JobWaitReason IS NULL AND JobWaitDecideBy IS NULL", 1)

	always := []string{wire.AttributePhase, wire.AttributeProvider}
	all := []string{wire.AttributeDecideBy, wire.AttributePhase, wire.AttributeProvider, wire.AttributeReason}
	require.Equal(t, [][]string{always, all, all, always}, upserted(w.history(w.ctx, "")), "only what is set is unset")
}

// upserted are the names of the attributes in each upsert.
func upserted(history *historypb.History) (names [][]string) {
	for _, event := range history.GetEvents() {
		if written := event.GetUpsertWorkflowSearchAttributesEventAttributes(); written != nil {
			names = append(names, slices.Sorted(maps.Keys(written.GetSearchAttributes().GetIndexedFields())))
		}
	}
	return names
}

// R49: the next run is found as the one before was, and forgets what was answered.
func TestSearchAttributesOverRuns(t *testing.T) {
	t.Parallel()
	w := plan{
		job: "found-again", bed: restless, script: waittest.Script(waittest.State("running").Times(4), waittest.State("paused"), result("found-again")),
	}.begin(t)
	open := *untilOver(w, func(view wire.OperationView) bool { return view.Escalation != nil }).Escalation
	mine := fmt.Sprintf("WorkflowId = '%s' AND ExecutionStatus = 'Running' AND JobWaitProvider = 'demo-export'", w.id())
	w.listed(mine+" AND JobWaitPhase = 'escalated' AND JobWaitReason = 'unknown_state' AND JobWaitDecideBy IS NOT NULL", 1)
	w.signal(wire.SignalDecide, extend(open.ID, "d-1"))
	require.Equal(t, wire.StatusSucceeded, w.outcome().Status)
	runs, err := w.bed.Runs(w.ctx, w.id(), "")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(runs), 3)
	closed := fmt.Sprintf("WorkflowId = '%s' AND ExecutionStatus = 'Completed' AND JobWaitPhase = 'closed'", w.id())
	w.listed(closed+" AND JobWaitReason IS NULL AND JobWaitDecideBy IS NULL", 1)
}

// untilOver is until over all runs of a wait that does not end before.
func untilOver(w *wait, wanted func(wire.OperationView) bool) wire.OperationView {
	w.Helper()
	view, ended := w.untilOrEnd(wanted)
	require.False(w, ended, "the wait ended before it was as wanted")
	return view
}
