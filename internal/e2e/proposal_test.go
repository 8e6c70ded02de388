package e2e_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// request sends an extension request as an update.
func (w *wait) request(request any) (wire.ExtensionReply, error) {
	w.Helper()
	var reply wire.ExtensionReply
	handle, err := w.bed.Client.UpdateWorkflow(w.ctx, client.UpdateWorkflowOptions{
		WorkflowID: w.id(), UpdateName: wire.UpdateRequestExtension, Args: []any{request},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return reply, err
	}
	return reply, handle.Get(w.ctx, &reply)
}

func more(id string, requests int) wire.ExtensionRequest {
	return wire.ExtensionRequest{RequestID: id, RequestedBy: "agent-7", StatusRequests: requests, ExpectedEffect: "the rest is exported"}
}

// R42: an agent asks for more, approvers find the question by visibility while polling goes on, and one of them grants it.
func TestProposalIsGranted(t *testing.T) {
	t.Parallel()
	w := plan{
		job: "proposed", spec: func(spec *wire.Spec) { slowSchedule(spec); spec.MaxStatusRequests = 2 },
		script: waittest.Script(waittest.State("running").Times(2), result("proposed")),
	}.begin(t)
	w.asked()
	reply, err := w.request(more("r-1", 4))
	require.NoError(t, err)
	again, err := w.request(more("r-1", 4))
	require.NoError(t, err)
	require.Equal(t, reply, again)
	_, err = w.request(more("r-2", 4))
	var refused *temporal.ApplicationError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, wire.ErrorRequestRefused, refused.Type())
	require.ErrorContains(t, err, "extension request refused: not_offered: proposal")

	mine := fmt.Sprintf("WorkflowId = '%s' AND ExecutionStatus = 'Running' AND JobWaitPhase = 'polling'", w.id())
	w.listed(mine+" AND JobWaitReason = 'extension_requested' AND JobWaitDecideBy IS NOT NULL", 1)
	require.Equal(t, 1, w.view().Counters.StatusRequestsUsed, "nothing is granted yet")
	grant := extend(reply.ProposalID, "d-1")
	grant.Seconds = 0
	require.Equal(t, 6, w.decide(grant).MaxStatusRequests)
	w.listed(mine+" AND JobWaitReason IS NULL AND JobWaitDecideBy IS NULL", 1)
	for polled := 1; polled < 3; polled++ { // each poll is an hour away unless nudged
		w.until(func(view wire.OperationView) bool {
			return view.NextPollAt != nil && view.Counters.StatusRequestsUsed == polled
		})
		w.signal(wire.SignalNudge, wire.Nudge{Source: "webhook"})
	}
	outcome := w.outcome()
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, 3, outcome.StatusRequestsUsed)
	require.Equal(t, 1, outcome.ExtensionsUsed)
	w.bounded(6, w.spec.DeadlineAt)
}

// R42, R49: proposals over many runs: none is lost, none is opened twice, and the stop that comes takes the place of the last.
func TestProposalOverRuns(t *testing.T) {
	t.Parallel()
	w := plan{
		job: "proposed-runs", bed: restless, spec: func(spec *wire.Spec) { spec.MaxStatusRequests = 30 },
		script: waittest.Script(waittest.State("running").Times(14), waittest.State("paused"), result("proposed-runs")),
	}.begin(t)
	w.requests(1)
	reply, err := w.request(more("r-1", 4))
	require.NoError(t, err)
	open := *untilOver(w, func(view wire.OperationView) bool { return view.Escalation != nil }).Escalation
	again, err := w.request(more("r-1", 4))
	require.NoError(t, err, "the same request is answered alike, runs later and while a stop asks")
	require.Equal(t, reply, again)
	w.decide(extend(open.ID, "d-1"))
	require.Equal(t, wire.StatusSucceeded, w.outcome().Status)
	runs, err := w.bed.Runs(w.ctx, w.id(), "")
	require.NoError(t, err)
	require.Greater(t, len(runs), 1)
	all := w.wholeAudit()
	require.Equal(t, 1, count(all, wire.EventExtensionRequested))
	require.Equal(t, 1, count(all, wire.EventProposalLapsed))
}
