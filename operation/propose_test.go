package operation_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// wanted is a complete extension request, changed by the given functions.
func wanted(t require.TestingT, changes ...func(*wire.ExtensionRequest)) []byte {
	request := wire.ExtensionRequest{
		RequestID: "r-1", RequestedBy: "agent-7", Seconds: 3600, StatusRequests: 4, ExpectedEffect: "80 % are exported, the rest takes half an hour",
	}
	for _, change := range changes {
		change(&request)
	}
	payload, err := json.Marshal(request)
	require.NoError(t, err)
	return payload
}

// proposed is a wait that polls and has an open proposal.
func proposed(t require.TestingT) (*operation.Operation, time.Time) {
	op := opened(t, cancelTable())
	now := polled(t, op, result(read("running"))).Add(time.Second)
	reply, refusal := op.RequestExtension(now, wanted(t))
	require.Nil(t, refusal)
	require.Equal(t, wire.ExtensionReply{ProposalID: "report-export-1#p1-00000001"}, reply)
	return op, now
}

// R42, R38: approvers see what is asked for with state, elapsed time and calls, in both queries and in the message that they
// are sent; the stop has a place of its own.
func TestProposalIsSeen(t *testing.T) {
	t.Parallel()
	op, now := proposed(t)
	view := op.View(now)
	require.Equal(t, wire.PhasePolling, view.Phase)
	require.Nil(t, view.Escalation)
	require.NotNil(t, view.NextPollAt, "polling goes on")
	require.Equal(t, wire.EscalationProposal, view.Proposal.Kind)
	require.Equal(t, wire.ReasonExtensionRequested, view.Proposal.Reason)
	require.Equal(t, start.Add(40*time.Minute), view.Proposal.WindowEndsAt, "the deadline lapses it")
	require.Equal(t, 3600, view.Proposal.Request.Seconds)
	require.Equal(t, view.Proposal, op.EscalationView(now))
	require.Equal(t, wire.ReasonExtensionRequested, op.Reason())

	notify, ok := op.Next(now).(operation.Notify)
	require.True(t, ok)
	require.False(t, notify.Closing)
	require.Equal(t, wire.NotifyProposed, notify.Request.Notification.Kind)
	require.Equal(t, view.Proposal.Message, operation.Message(notify.Request.Notification.Briefing))
	require.Equal(t, `agent-7 asks for more; waiting goes on meanwhile
operation: report-export-1
job: exp_71c at demo-export, account acct-42
last state: "running", read as pending
waited: 5s since 2025-04-18T10:20:00Z, deadline 2025-04-18T11:00:00Z
status requests: 1 of 12 (answers: 200 x1)
last answer: HTTP 200, read
asked for: 1h00m from the decision on and 4 more checks
asked by: agent-7
expected effect: 80 % are exported, the rest takes half an hour
check: is the job still making progress at the provider, and is its result worth the time and the checks asked for?
answer report-export-1#p1-00000001 before 2025-04-18T11:00:00Z, else it lapses, and the deadline holds; options:
  extend: extend waiting by up to 7 days with up to 10000 more checks (and up to 1000 more failures, 1000 more rate limits); counts as an extension
  refuse: decline; polling goes on under the present limits`, view.Proposal.Message)
}

// R42: what a caller writes is bounded, and stays in its line.
func TestRequestIsBounded(t *testing.T) {
	t.Parallel()
	op := opened(t, cancelTable())
	for name, payload := range map[string][]byte{
		"id":     wanted(t, func(r *wire.ExtensionRequest) { r.RequestID = strings.Repeat("é", 257) }),
		"name":   wanted(t, func(r *wire.ExtensionRequest) { r.RequestedBy = strings.Repeat("é", 257) }),
		"effect": wanted(t, func(r *wire.ExtensionRequest) { r.ExpectedEffect = strings.Repeat("é", 4097) }),
		"all":    []byte(`{"request_id":"` + strings.Repeat("x", wire.MaxDecisionBytes) + `"}`),
	} {
		_, refusal := op.RequestExtension(start, payload)
		require.NotNil(t, refusal, name)
		require.Less(t, len(refusal.Detail), 200, name)
	}
	for _, entry := range entriesOf(op, wire.EventExtensionRequested) {
		require.LessOrEqual(t, len(entry.Decision), 1100)
	}
	_, refusal := op.RequestExtension(start, wanted(t, func(r *wire.ExtensionRequest) { r.RequestedBy, r.ExpectedEffect = "agent\n7", "a\x1b[2J" }))
	require.Nil(t, refusal)
	require.Contains(t, operation.Message(op.Briefing(start)), "agent 7 asks for more")
	require.NotContains(t, operation.Message(op.Briefing(start)), "\x1b")
	require.Zero(t, operation.VerifyChain("", op.Audit().Entries))
}

// R42: a program that asks in a loop does not fill the audit.
func TestRefusedRequestsAreBounded(t *testing.T) {
	t.Parallel()
	op, now := proposed(t)
	for i := range 200 {
		_, refusal := op.RequestExtension(now, wanted(t, func(r *wire.ExtensionRequest) { r.RequestID = "loop-" + strconv.Itoa(i) }))
		require.Equal(t, wire.RefusalNotOffered, refusal.Reason, "whoever asks hears why all the same")
	}
	entries := entriesOf(op, wire.EventExtensionRequested)
	require.Len(t, entries, 21, "the proposal and twenty refusals")
	require.Contains(t, entries[20].Detail, "further refusals are not recorded")
}

// R42, R40: where decisions are signed, answers to proposals are; asking needs no signature, for it grants nothing.
func TestProposalOfASignedWait(t *testing.T) {
	t.Parallel()
	snapshot := prepared(t, specWith(), operation.Knowledge{Table: cancelTable()})
	snapshot.DecisionKeys = trusting(map[string]string{"ana": "ana@example.com"})
	op := operation.Open(snapshot, firstRun, start, start)
	_, refusal := op.RequestExtension(start, wanted(t))
	require.Nil(t, refusal)
	require.IsType(t, operation.LearnKeys{}, op.Next(start), "the keys that count are those of the opening")
	op.KeysLearned(snapshot.DecisionKeys)
	require.Contains(t, operation.Message(op.Briefing(start)), "answer, signed by a trusted key, report-export-1#p1-00000001 before")
	id := op.Record().Proposal.ID
	_, refusal = op.Decide(start, answer(op, wire.DecisionRefuse, map[string]any{"escalation_id": id}), "")
	require.Equal(t, wire.RefusalNotSigned, refusal.Reason)
	fields := map[string]any{"kind": "refuse", "decision_id": "d-2", "decided_by": "ana@example.com", "comment": "no", "escalation_id": id}
	sign(t, fields, "", "ana")
	payload, err := json.Marshal(fields)
	require.NoError(t, err)
	_, refusal = op.Decide(start, payload, "")
	require.Nil(t, refusal)
}

// R42: an answer in the same moment as another one lost; afterwards the proposal is not open.
func TestProposalIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	op, now := proposed(t)
	id := op.Record().Proposal.ID
	say := func(at time.Time, kind wire.DecisionKind, decision string) *wire.Refusal {
		_, refusal := op.Decide(at, answer(op, kind, map[string]any{"escalation_id": id, "decision_id": decision}), "")
		return refusal
	}
	require.Nil(t, say(now, wire.DecisionRefuse, "d-1"))
	require.Equal(t, wire.RefusalDuplicate, say(now, wire.DecisionRefuse, "d-1").Reason)
	lost := say(now, wire.DecisionRefuse, "d-2")
	require.Equal(t, wire.RefusalLost, lost.Reason)
	require.Equal(t, "d-1", lost.Winner)
	late := say(now.Add(time.Second), wire.DecisionRefuse, "d-3")
	require.Equal(t, wire.RefusalNotOpen, late.Reason)
	require.Equal(t, "d-1", late.Winner)
}
