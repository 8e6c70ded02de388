package operation_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// stopCase is one row of the table of options per reason: how a wait comes to stop for it, and what it offers then where
// extensions are left and the provider documents a cancel call.
type stopCase struct {
	reason wire.Reason
	detail string
	stop   func(t *testing.T, op *operation.Operation) time.Time
	spec   func(*wire.Spec)
	offers []wire.DecisionKind
	// grant is what an extension needs to be of use.
	grant map[string]any
	// closes is what close gives.
	closes wire.OutcomeStatus
}

// name is the reason with its detail, as in section 5.
func (c stopCase) name() string {
	if c.detail == "" {
		return string(c.reason)
	}
	return string(c.reason) + ": " + c.detail
}

func (c stopCase) open(t *testing.T, table wire.TableFacts, changes ...func(*wire.Spec)) (*operation.Operation, time.Time) {
	t.Helper()
	if c.spec != nil {
		changes = append([]func(*wire.Spec){c.spec}, changes...)
	}
	changes = append([]func(*wire.Spec){func(s *wire.Spec) { s.Escalation.EscalateOn = []wire.Reason{c.reason} }}, changes...)
	op := opened(t, table, changes...)
	now := c.stop(t, op)
	requireReason(t, op, c.reason, c.detail)
	return op, now
}

// answeredBy stops a wait with the answer to its first request.
func answeredBy(seen wire.Observation) func(*testing.T, *operation.Operation) time.Time {
	return func(t *testing.T, op *operation.Operation) time.Time {
		t.Helper()
		return polled(t, op, result(seen))
	}
}

func withheld(why wire.NotSent) func(*testing.T, *operation.Operation) time.Time {
	return func(t *testing.T, op *operation.Operation) time.Time {
		t.Helper()
		return polled(t, op, wire.PollResult{Withheld: wire.Withheld{NotSent: why, RunID: "99999999-0000-4000-8000-000000000001"}})
	}
}

func reachedAt(at time.Time) func(*testing.T, *operation.Operation) time.Time {
	return func(t *testing.T, op *operation.Operation) time.Time {
		t.Helper()
		require.IsType(t, operation.Notify{}, op.Next(at))
		return at
	}
}

// unconfirmed cancels while polling, and uses up the confirmation budget. An escalation that is left out of escalate_on
// would close, so the budgets are used up by one 503.
func unconfirmed(t *testing.T, op *operation.Operation) time.Time {
	t.Helper()
	now := polled(t, op, result(read("running")))
	_, refusal := op.Decide(now, answer(op, wire.DecisionCancel, map[string]any{"decision_id": "c-1"}), "")
	require.Nil(t, refusal)
	now = afterMinDelay(t, op, now)
	require.IsType(t, operation.SendCancel{}, op.Next(now))
	op.CancelAnswered(now, wire.CancelResult{HTTPStatus: 202, Accepted: true})
	return polled(t, op, result(failed(wire.AnswerServerError, 503, "")))
}

func stopCases() []stopCase {
	const (
		extend = wire.DecisionExtend
		treat  = wire.DecisionTreatAsPending
		use    = wire.DecisionUseCredential
		cancel = wire.DecisionCancel
		accept = wire.DecisionAcceptResult
		end    = wire.DecisionClose
	)
	unresolved := wire.StatusUnresolved
	job := func(change func(*wire.JobFact)) wire.Observation {
		seen := read("running")
		change(seen.Job)
		return seen
	}
	unproven := read("succeeded")
	unproven.Job.Unproven = []string{"result_url"}
	one := func(s *wire.Spec) { s.MaxStatusRequests, s.MaxTransportFailures = 1, 1 }
	anHour := map[string]any{"seconds": 3600}
	standard := []wire.DecisionKind{extend, cancel, end}
	return []stopCase{
		{wire.ReasonDeadlineExceeded, "", reachedAt(start.Add(40 * time.Minute)), nil, standard, anHour, unresolved},
		{
			wire.ReasonBusinessDeadlineExceeded, "", reachedAt(start.Add(20 * time.Minute)),
			func(s *wire.Spec) { s.BusinessDeadlineAt = new(start.Add(20 * time.Minute)) }, standard,
			map[string]any{"past_business_deadline": true},
			unresolved,
		},
		{
			wire.ReasonRetryAfterExceedsDeadline, "2025-04-18T12:00:00Z",
			func(t *testing.T, op *operation.Operation) time.Time {
				t.Helper()
				at := op.Record().Poll.At.Add(200 * time.Millisecond)
				wait := int64(start.Add(100*time.Minute).Sub(at)/time.Second) + 1
				return polled(t, op, result(retryAfter(read("running"), wait)))
			}, nil, standard,
			map[string]any{"seconds": 7200},
			unresolved,
		},
		{wire.ReasonRequestBudgetExhausted, "", answeredBy(read("running")), one, standard, map[string]any{"status_requests": 1}, unresolved},
		{
			wire.ReasonTransportBudgetExhausted, "", answeredBy(failed(wire.AnswerServerError, 503, "")), one, standard,
			map[string]any{"status_requests": 1, "transport_failures": 1},
			unresolved,
		},
		{
			wire.ReasonRateLimited, "", answeredBy(failed(wire.AnswerRateLimited, 429, "")), one, standard,
			map[string]any{"status_requests": 1, "rate_limited": 1},
			unresolved,
		},
		{wire.ReasonUnknownState, "", answeredBy(read("archiving")), nil, []wire.DecisionKind{extend, treat, cancel, end}, nil, unresolved},
		{wire.ReasonNeedsInput, "", answeredBy(read("awaiting_review")), nil, standard, nil, unresolved},
		{
			wire.ReasonContradictoryResponse, wire.DetailSuccessWithoutResult, answeredBy(unproven), nil,
			[]wire.DecisionKind{extend, accept, end},
			nil, unresolved,
		},
		{
			wire.ReasonContradictoryResponse, wire.DetailUnexpectedSuccessState, answeredBy(done()),
			func(s *wire.Spec) { s.ExpectedStates = []string{"completed"} },
			[]wire.DecisionKind{extend, accept, end},
			nil, unresolved,
		},
		{
			wire.ReasonContradictoryResponse, wire.DetailPastProviderExpiry,
			answeredBy(job(func(j *wire.JobFact) { j.ExpiresAt = new(start.Add(-time.Hour)) })), nil, standard, nil, unresolved,
		},
		{
			wire.ReasonContradictoryResponse, wire.DetailOtherJob,
			answeredBy(job(func(j *wire.JobFact) { j.OtherJob = true })), nil, standard, nil, unresolved,
		},
		{
			wire.ReasonContradictoryResponse, wire.DetailStateRegressed,
			func(t *testing.T, op *operation.Operation) time.Time {
				t.Helper()
				now := polled(t, op, result(unproven))
				_, refusal := op.Decide(now, answer(op, extend, map[string]any{"decision_id": "first"}), "")
				require.Nil(t, refusal)
				op.Next(now)
				return polled(t, op, result(read("running")))
			}, func(s *wire.Spec) { s.Escalation.MaxExtensions = new(2) }, standard, nil, unresolved,
		},
		{wire.ReasonMalformedResponse, wire.MalformedHTML, answeredBy(failed(wire.AnswerMalformed, 200, wire.MalformedHTML)), nil, standard, nil, unresolved},
		{wire.ReasonJobNotFound, "", answeredBy(failed(wire.AnswerNotFound, 410, "")), nil, standard, nil, unresolved},
		{wire.ReasonIntegrationFailure, "", answeredBy(failed(wire.AnswerUnexpected, 418, "")), nil, standard, nil, unresolved},
		{wire.ReasonIntegrationFailure, "table_missing", withheld(wire.NotSentTableMissing), nil, standard, nil, unresolved},
		{wire.ReasonAuthorizationDenied, "", answeredBy(failed(wire.AnswerDenied, 401, "")), nil, []wire.DecisionKind{use, end}, nil, unresolved},
		{wire.ReasonAuthorizationDenied, "credential_unavailable", withheld(wire.NotSentCredentialUnresolved), nil, []wire.DecisionKind{use, end}, nil, unresolved},
		{wire.ReasonPartialResult, "", answeredBy(read("partially_succeeded")), nil, []wire.DecisionKind{accept, end}, nil, unresolved},
		{wire.ReasonPollURLRejected, "", withheld(wire.NotSentURLRejected), nil, []wire.DecisionKind{end}, nil, unresolved},
		{wire.ReasonProviderFailure, "", answeredBy(read("failed")), nil, []wire.DecisionKind{end}, nil, wire.StatusFailed},
		{wire.ReasonProviderCancelled, "", answeredBy(read("cancelled")), nil, []wire.DecisionKind{end}, nil, wire.StatusCancelled},
		{wire.ReasonProviderExpired, "", answeredBy(read("expired")), nil, []wire.DecisionKind{end}, nil, wire.StatusExpired},
		{
			wire.ReasonCancelUnconfirmed, "cancel_accepted; transport_budget_exhausted", unconfirmed,
			func(s *wire.Spec) { s.MaxTransportFailures = 1 }, standard,
			map[string]any{"transport_failures": 1},
			unresolved,
		},
		{wire.ReasonHistoryReset, "", withheld(wire.NotSentHistoryReset), nil, standard, nil, unresolved},
		{
			wire.ReasonApprovalRequired, string(wire.ApprovalPerRequest), withheld(wire.NotSentApprovalRequired), nil,
			[]wire.DecisionKind{wire.DecisionApproveRequest, end},
			nil, unresolved,
		},
	}
}

// TestOptionsPerReason is the table of section 5: every reason with what it offers, and with what is left of it when the
// extensions are used up or the provider documents no cancel call (R34, R39, R41, R43).
func TestOptionsPerReason(t *testing.T) {
	t.Parallel()
	for _, c := range stopCases() {
		t.Run(c.name(), func(t *testing.T) {
			t.Parallel()
			op, _ := c.open(t, cancelTable())
			require.Equal(t, c.offers, kinds(op.Escalation().Options))

			if c.reason != wire.ReasonCancelUnconfirmed { // comes of a cancel
				op, _ = c.open(t, wire.TableFacts{})
				require.Equal(t, without(c.offers, wire.DecisionCancel), kinds(op.Escalation().Options))
			}
			if c.detail != wire.DetailStateRegressed { // comes of an extension
				op, _ = c.open(t, cancelTable(), func(s *wire.Spec) { s.Escalation.MaxExtensions = new(0) })
				require.Equal(t, without(c.offers, wire.DecisionExtend, wire.DecisionTreatAsPending), kinds(op.Escalation().Options))
			}
		})
	}
}

// TestCancelIsOfferedUnlessTheAnswerRefusesIt is R43 where the provider's answers tell whether it would take a cancel.
func TestCancelIsOfferedUnlessTheAnswerRefusesIt(t *testing.T) {
	t.Parallel()
	for told, offered := range map[*bool]bool{nil: true, new(true): true, new(false): false} {
		seen := read("awaiting_review")
		seen.Job.Cancellable = told
		op := opened(t, cancelTable())
		polled(t, op, result(seen))
		require.Equal(t, offered, slices.Contains(kinds(op.Escalation().Options), wire.DecisionCancel))
	}
}

// TestEveryReasonHasItsRow keeps the table of section 5 complete.
func TestEveryReasonHasItsRow(t *testing.T) {
	t.Parallel()
	covered := map[wire.Reason]bool{}
	for _, c := range stopCases() {
		covered[c.reason] = true
	}
	for _, ofSubmissions := range []wire.Reason{wire.ReasonSubmissionAmbiguous, wire.ReasonSubmissionRefused} {
		covered[ofSubmissions] = true // see submit_test.go
	}
	for _, reason := range wire.Reasons() {
		require.True(t, covered[reason], "no case stops for %s", reason)
	}
}

// TestEveryOptionDoesWhatItSays takes every option of every reason (section 5, R34, R41, R43).
func TestEveryOptionDoesWhatItSays(t *testing.T) {
	t.Parallel()
	for _, c := range stopCases() {
		for _, kind := range c.offers {
			t.Run(c.name()+"/"+string(kind), func(t *testing.T) {
				t.Parallel()
				op, now := c.open(t, cancelTable())
				now = now.Add(time.Minute)
				before := op.Record()
				_, refusal := op.Decide(now, answer(op, kind, c.fields(op, kind)), "")
				require.Nil(t, refusal)
				c.checkApplied(t, op, kind, now, before)
			})
		}
	}
}

func (c stopCase) fields(op *operation.Operation, kind wire.DecisionKind) map[string]any {
	switch kind { //nolint:exhaustive // the others need nothing more
	case wire.DecisionExtend:
		return c.grant
	case wire.DecisionTreatAsPending:
		return map[string]any{"raw_state": op.Record().LastRawState}
	case wire.DecisionUseCredential:
		return map[string]any{"credential_ref": "spare"}
	default:
		return nil
	}
}

func (c stopCase) checkApplied(t *testing.T, op *operation.Operation, kind wire.DecisionKind, now time.Time, before wire.Record) {
	t.Helper()
	after := op.Record()
	require.Nil(t, after.Escalation)
	require.Equal(t, "ana@example.com", after.DecidedBy)
	if before.ResetRunID != "" && kind != wire.DecisionClose {
		require.Equal(t, []string{before.ResetRunID}, after.AcknowledgedRuns)
	}
	switch kind {
	case wire.DecisionExtend, wire.DecisionTreatAsPending:
		require.Equal(t, before.Counters.ExtensionsUsed+1, after.Counters.ExtensionsUsed)
		requirePolling(t, op, now, before)
	case wire.DecisionUseCredential:
		require.Equal(t, before.Counters.ExtensionsUsed, after.Counters.ExtensionsUsed)
		require.Equal(t, "spare", after.CredentialRef)
		requirePolling(t, op, now, before)
	case wire.DecisionApproveRequest:
		require.Equal(t, before.Limits, after.Limits)
		require.Equal(t, before.Counters, after.Counters)
		require.Equal(t, wire.DelayApproval, after.Poll.Source)
	case wire.DecisionCancel:
		require.Equal(t, before.Limits.MaxStatusRequests+4, after.Limits.MaxStatusRequests)
		require.Nil(t, after.Limits.BusinessDeadlineAt)
		require.False(t, after.Limits.DeadlineAt.Before(now.Add(time.Minute)))
		require.IsType(t, operation.SendCancel{}, next(op, now))
	case wire.DecisionAcceptResult:
		require.Equal(t, wire.StatusSucceeded, closed(t, op, now).Status)
	case wire.DecisionClose:
		outcome := closed(t, op, now)
		require.Equal(t, c.closes, outcome.Status)
		require.Equal(t, c.reason, outcome.Reason)
		require.Equal(t, c.detail, outcome.Detail)
		require.False(t, outcome.Undecided)
	case wire.DecisionAttach, wire.DecisionResubmit, wire.DecisionRefuse:
		require.Fail(t, "a stop never offers refuse")
	}
}

// requirePolling checks that a grant leads to a poll: soon, jittered, not before the provider's minimum (R41).
func requirePolling(t *testing.T, op *operation.Operation, now time.Time, before wire.Record) {
	t.Helper()
	poll := op.Record().Poll
	require.NotNil(t, poll)
	require.Equal(t, wire.DelayManualExtension, poll.Source)
	require.False(t, poll.At.Before(now.Add(time.Second)), "R21")
	require.False(t, poll.At.Before(before.ProviderMinimum), "R16")
	wait, ok := next(op, now).(operation.Wait)
	require.True(t, ok)
	require.Equal(t, poll.At, wait.Until)
	require.IsType(t, operation.SendStatus{}, next(op, poll.At))
}

// next is the next command but messages to people, which are delivered at once.
func next(op *operation.Operation, now time.Time) operation.Command {
	for {
		command := op.Next(now)
		notify, ok := command.(operation.Notify)
		if !ok {
			return command
		}
		op.Notified(now, notify.Request.Notification.ID, "")
	}
}

// closed is the outcome once nobody waits for messages any more.
func closed(t *testing.T, op *operation.Operation, now time.Time) wire.Outcome {
	t.Helper()
	command := next(op, now)
	if wait, ok := command.(operation.Wait); ok {
		command = next(op, wait.Until)
	}
	require.IsType(t, operation.Close{}, command)
	return command.(operation.Close).Outcome
}

func without(all []wire.DecisionKind, some ...wire.DecisionKind) []wire.DecisionKind {
	return slices.DeleteFunc(slices.Clone(all), func(kind wire.DecisionKind) bool { return slices.Contains(some, kind) })
}
