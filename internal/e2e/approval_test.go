package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// workRuled runs a worker whose credentials have approval rules, on a queue of its own.
func workRuled(t *testing.T, queue string) {
	t.Helper()
	credentials := bed.Credentials{"wrong": shared.Credential("1", "wrong-key")}
	for name, rule := range map[string]wire.ApprovalRule{"once": wire.ApprovalPerOperation, "each": wire.ApprovalPerRequest} {
		credential := shared.Credential("1", bed.Key)
		credential.Approval = rule
		credentials[name] = credential
	}
	stop, err := shared.Work(bed.WorkerOptions{TaskQueue: queue, Credentials: credentials})
	require.NoError(t, err)
	t.Cleanup(stop)
}

func using(ref string) func(*wire.Spec) { return func(spec *wire.Spec) { spec.CredentialRef = ref } }

// R54: the provider receives nothing before a person's word, one request for each approval, or all after the first.
func TestApprovals(t *testing.T) {
	t.Parallel()
	workRuled(t, "approvals")
	t.Run("per request", func(t *testing.T) {
		t.Parallel()
		w := plan{job: "approval-each", queue: "approvals", spec: using("each"), script: waittest.Script(waittest.State("running"), result("each"))}.begin(t)
		first := w.settled()
		require.Equal(t, wire.ReasonApprovalRequired, first.Reason)
		require.Contains(t, first.Message, `approve_request: send status request 1 of 12 with credential "each", this one only`)
		require.Empty(t, w.log())
		w.decide(decision(wire.DecisionApproveRequest, first.ID, "d-1"))
		second := w.escalatedAfter(first.ID)
		require.Len(t, w.log(), 1)
		require.Equal(t, wire.RefusalWrongEscalation, w.refused(decision(wire.DecisionApproveRequest, first.ID, "d-2")).Reason)
		w.decide(decision(wire.DecisionApproveRequest, second.ID, "d-3"))
		outcome := w.outcome()
		require.Equal(t, wire.StatusSucceeded, outcome.Status)
		require.Zero(t, outcome.ExtensionsUsed)
		require.Len(t, w.log(), 2)
	})
	t.Run("per operation", func(t *testing.T) {
		t.Parallel()
		w := plan{job: "approval-once", queue: "approvals", spec: using("once"), script: waittest.Script(waittest.State("running").Times(2), result("once"))}.begin(t)
		w.decide(decision(wire.DecisionApproveRequest, w.settled().ID, "d-1"))
		require.Equal(t, wire.StatusSucceeded, w.outcome().Status)
		require.Len(t, w.log(), 3)
		require.Equal(t, 1, count(w.audit(), wire.EventEscalated))
	})
	t.Run("of the credential put in place", func(t *testing.T) {
		t.Parallel()
		w := plan{job: "approval-other", queue: "approvals", spec: using("wrong"), script: waittest.Script(result("other"))}.begin(t)
		denied := w.escalated()
		require.Equal(t, wire.ReasonAuthorizationDenied, denied.Reason)
		other := decision(wire.DecisionUseCredential, denied.ID, "d-1")
		other.CredentialRef = "each"
		w.decide(other)
		open := w.escalatedAfter(denied.ID)
		require.Equal(t, wire.ReasonApprovalRequired, open.Reason)
		require.Equal(t, "per_request", open.Detail)
		require.Len(t, w.log(), 1, "the good key was not sent")
		w.decide(decision(wire.DecisionApproveRequest, open.ID, "d-2"))
		require.Equal(t, wire.StatusSucceeded, w.outcome().Status)
		require.Len(t, w.log(), 2)
	})
	t.Run("cancel", func(t *testing.T) {
		t.Parallel()
		w := plan{job: "approval-cancel", queue: "approvals", spec: func(spec *wire.Spec) {
			spec.CredentialRef = "each"
			spec.Schedule.BaseDelaySeconds, spec.Schedule.MaxDelaySeconds = new(3600), new(3600)
			spec.Schedule.InitialDelaySeconds = new(0)
		}, script: waittest.Script(waittest.State("running"))}.begin(t)
		w.decide(decision(wire.DecisionApproveRequest, w.settled().ID, "d-1"))
		w.until(func(view wire.OperationView) bool { return view.LastObservation != nil })
		w.decide(decision(wire.DecisionCancel, "", "d-2"))
		require.Equal(t, wire.StatusCancelled, w.outcome().Status)
		require.Equal(t, 1, count(w.audit(), wire.EventEscalated), "a cancel is a person's word already")
	})
}
