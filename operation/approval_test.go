package operation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// underRule is a wait whose credential has an approval rule, and the time at which its first request is due.
func underRule(t require.TestingT, rule wire.ApprovalRule, changes ...func(*wire.Spec)) (*operation.Operation, time.Time) {
	snapshot := prepared(t, specWith(changes...), operation.Knowledge{Table: cancelTable()})
	snapshot.Approval = rule
	op := operation.Open(snapshot, firstRun, start, start)
	return op, op.Record().Poll.At
}

// TestApprovalRules: when a request that is due asks first (R54). A word of another version is the strictest rule, and no
// word at all is a wait from before there were rules.
func TestApprovalRules(t *testing.T) {
	t.Parallel()
	for rule, asks := range map[wire.ApprovalRule]bool{
		"": false, wire.ApprovalNone: false, wire.ApprovalUnknown: false,
		wire.ApprovalPerOperation: true, wire.ApprovalPerRequest: true, "rule of tomorrow": true,
	} {
		op, due := underRule(t, rule)
		require.IsType(t, operation.Wait{}, op.Next(due.Add(-time.Second)))
		require.Nil(t, op.Escalation(), "nobody is asked before the request is due")
		command := op.Next(due)
		if !asks {
			require.IsType(t, operation.SendStatus{}, command, rule)
			continue
		}
		require.IsType(t, operation.Notify{}, command, rule)
		requireReason(t, op, wire.ReasonApprovalRequired, string(rule))
		require.Equal(t, []wire.DecisionKind{wire.DecisionApproveRequest, wire.DecisionClose}, kinds(op.Escalation().Options))
		require.Zero(t, op.Record().Counters.StatusRequestsUsed, "nothing is reserved before the approval")
	}
}

// TestApprovalIsOfOneKind: it takes no grants, and is offered for nothing else (R39, R54).
func TestApprovalIsOfOneKind(t *testing.T) {
	t.Parallel()
	op, due := underRule(t, wire.ApprovalPerRequest)
	op.Next(due)
	_, refusal := op.Decide(due, answer(op, wire.DecisionApproveRequest, map[string]any{"status_requests": 1}), "")
	require.Equal(t, &wire.Refusal{Reason: wire.RefusalOutOfBounds, Detail: "status_requests is 1, allowed is 0 to 0"}, refusal)
	_, refusal = op.Decide(due, answer(op, wire.DecisionCancel, nil), "")
	require.Equal(t, wire.RefusalNotOffered, refusal.Reason)
	stopped, now := unknown(t)
	_, refusal = stopped.Decide(now, answer(stopped, wire.DecisionApproveRequest, nil), "")
	require.Equal(t, wire.RefusalNotOffered, refusal.Reason)
}

// TestApprovalMessageNamesTheRequest (R38, R54).
func TestApprovalMessageNamesTheRequest(t *testing.T) {
	t.Parallel()
	for rule, want := range map[wire.ApprovalRule]string{
		wire.ApprovalPerOperation: `approve_request: send the status requests of this wait, from number 1 of 12 on, with credential "demo", and do not ask again`,
		wire.ApprovalPerRequest:   `approve_request: send status request 1 of 12 with credential "demo", this one only; the next one asks again`,
	} {
		op, due := underRule(t, rule)
		op.Next(due)
		view := op.EscalationView(due)
		require.Contains(t, view.Message, want)
		require.Contains(t, view.Message, `check: may credential "demo" be used for this job now?`)
		require.Equal(t, rule, op.View(due).Approval)
	}
}

// TestApprovedRequestIsSentAsSoonAsItMay: at once where nothing holds it, else behind min_delay and the provider's minimum
// (R16, R21, R54).
func TestApprovedRequestIsSentAsSoonAsItMay(t *testing.T) {
	t.Parallel()
	op, due := underRule(t, wire.ApprovalPerRequest)
	op.Next(due)
	now := due.Add(time.Hour / 2)
	_, refusal := op.Decide(now, answer(op, wire.DecisionApproveRequest, nil), "")
	require.Nil(t, refusal)
	require.Equal(t, wire.DelayApproval, op.Record().Poll.Source)
	require.Equal(t, now, op.Record().Poll.At)
	next(op, now)
	require.Equal(t, 1, op.Record().Counters.StatusRequestsUsed)

	op.StatusAnswered(now, result(retryAfter(read("running"), 240)))
	minimum := now.Add(4 * time.Minute)
	at := op.Record().Poll.At
	op.Next(at)
	requireReason(t, op, wire.ReasonApprovalRequired, string(wire.ApprovalPerRequest))
	_, refusal = op.Decide(at, answer(op, wire.DecisionApproveRequest, map[string]any{"decision_id": "d-2"}), "")
	require.Nil(t, refusal)
	require.False(t, op.Record().Poll.At.Before(minimum))
	require.False(t, op.Record().Poll.At.Before(at.Add(time.Second)))
}

// TestApprovalOfAnotherCredentialIsUnasked: what the polling activity is told, and what it teaches (R54).
func TestApprovalOfAnotherCredentialIsUnasked(t *testing.T) {
	t.Parallel()
	denied := func(rule wire.ApprovalRule) (*operation.Operation, time.Time) {
		op, _ := underRule(t, rule)
		now := polled(t, op, result(failed(wire.AnswerDenied, 401, "")))
		return op, now
	}
	use := func(op *operation.Operation, now time.Time, ref string) wire.PollRequest {
		_, refusal := op.Decide(now, answer(op, wire.DecisionUseCredential, map[string]any{"credential_ref": ref}), "")
		require.Nil(t, refusal)
		next(op, now)
		return op.Next(op.Record().Poll.At).(operation.SendStatus).Request
	}
	op, now := denied(wire.ApprovalNone)
	require.True(t, use(op, now, "vault").ApprovalUnasked)
	seen := read("running")
	seen.CredentialRef = "vault"
	op.StatusAnswered(now, result(seen))
	require.Equal(t, wire.ApprovalNone, op.Record().Approval, "it was sent, so its entry asks for nothing")

	op, now = denied(wire.ApprovalNone)
	require.True(t, use(op, now, "vault").ApprovalUnasked)
	op.StatusAnswered(now, result(failed(wire.AnswerTransportFailure, 0, wire.TransportLost)))
	require.Equal(t, wire.ApprovalUnknown, op.Record().Approval, "a lost worker says nothing of its credential")

	op, now = denied(wire.ApprovalNone)
	require.False(t, use(op, now, "demo").ApprovalUnasked, "the same name, rotated")
	op, now = denied("")
	require.False(t, use(op, now, "vault").ApprovalUnasked, "a wait from before there were rules")
}

// TestUnaskedCredentialWithoutARequestLeft: the budget is the first question, the approval the next one (R30, R54).
func TestUnaskedCredentialWithoutARequestLeft(t *testing.T) {
	t.Parallel()
	op, _ := underRule(t, wire.ApprovalNone, func(s *wire.Spec) { s.MaxStatusRequests, s.Escalation.MaxExtensions = 2, new(2) })
	now := polled(t, op, result(failed(wire.AnswerDenied, 401, "")))
	_, refusal := op.Decide(now, answer(op, wire.DecisionUseCredential, map[string]any{"credential_ref": "vault"}), "")
	require.Nil(t, refusal)
	next(op, now)
	now = polled(t, op, wire.PollResult{Withheld: wire.Withheld{NotSent: wire.NotSentApprovalRequired, Detail: string(wire.ApprovalPerOperation)}})
	next(op, now)
	requireReason(t, op, wire.ReasonRequestBudgetExhausted, "")
	_, refusal = op.Decide(now, answer(op, wire.DecisionExtend, map[string]any{"decision_id": "d-2", "status_requests": 1}), "")
	require.Nil(t, refusal)
	next(op, now)
	op.Next(op.Record().Poll.At)
	requireReason(t, op, wire.ReasonApprovalRequired, string(wire.ApprovalPerOperation))
}
