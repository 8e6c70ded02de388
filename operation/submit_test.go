package operation_test

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

func submitSpec(changes ...func(*wire.SubmitSpec)) wire.SubmitSpec {
	spec := wire.SubmitSpec{
		SubmissionID: "report-2026-11", Provider: "demo-export", Account: "acct-42", CredentialRef: "demo", Body: []byte(`{"report": 1}`),
		Wait: wire.SubmitWait{DeadlineAt: start.Add(40 * time.Minute), MaxStatusRequests: 12, MaxTransportFailures: 3},
	}
	for _, change := range changes {
		change(&spec)
	}
	return spec
}

// submission is one that has just begun, at a provider of that kind.
func submission(t require.TestingT, idempotency wire.Idempotency, changes ...func(*wire.SubmitSpec)) *operation.Operation {
	prepared, err := operation.PrepareSubmission(submitSpec(changes...), start, operation.Knowledge{},
		wire.SubmissionFacts{Fingerprint: "sha256:f1", Idempotency: idempotency})
	require.NoError(t, err)
	return operation.Open(prepared, firstRun, start, start)
}

// nextSubmit goes on until the next request to submit, and gives its time.
func nextSubmit(t require.TestingT, op *operation.Operation, now time.Time) (wire.SubmitRequest, time.Time) {
	for range 10 {
		switch command := op.Next(now).(type) {
		case operation.SendSubmit:
			return command.Request, now
		case operation.Wait:
			now = command.Until
		case operation.Notify:
			op.Notified(now, command.Request.Notification.ID, "")
		default:
			require.Fail(t, "nothing is sent", "%T", command)
		}
	}
	require.Fail(t, "nothing is sent")
	return wire.SubmitRequest{}, now
}

func submitResult(verdict wire.SubmitVerdict, status int) wire.SubmitResult {
	result := wire.SubmitResult{Verdict: verdict, Observation: &wire.Observation{Answer: wire.AnswerRead, HTTPStatus: status, SentAt: new(start)}}
	switch verdict {
	case wire.SubmitAccepted:
		result.Job = &wire.SubmittedJob{ProviderJobID: "exp_71c", StatusURL: "https://api.example.com/exp_71c"}
	case wire.SubmitNeverLeft:
		result.Observation = &wire.Observation{Answer: wire.AnswerTransportFailure, Detail: wire.TransportRefused}
	case wire.SubmitAmbiguous:
		result.Observation.Answer = wire.AnswerServerError
	case wire.SubmitLater:
		result.Observation.Answer = wire.AnswerRateLimited
	case wire.SubmitRefused:
		result.Observation.Answer = wire.AnswerUnexpected
	}
	return result
}

// awaiting gives the spec of the wait that follows.
func awaiting(t require.TestingT, op *operation.Operation, now time.Time) wire.Spec {
	for range 10 {
		switch command := op.Next(now).(type) {
		case operation.AwaitSubmitted:
			return command.Spec
		case operation.Notify:
			op.Notified(now, command.Request.Notification.ID, "")
		default:
			require.Fail(t, "nothing is waited for", "%T", command)
		}
	}
	require.Fail(t, "nothing is waited for")
	return wire.Spec{}
}

func submitted(t require.TestingT, op *operation.Operation, now time.Time) wire.SubmitOutcome {
	for range 20 {
		switch command := op.Next(now).(type) {
		case operation.Close:
			return op.SubmitOutcome(command.Outcome)
		case operation.Notify:
			op.Notified(now, command.Request.Notification.ID, "")
		case operation.Wait:
			now = command.Until
		default:
			require.Fail(t, "it goes on", "%T", command)
		}
	}
	require.Fail(t, "it does not end")
	return wire.SubmitOutcome{}
}

func TestSubmissionLeadsToItsWait(t *testing.T) {
	t.Parallel()
	op := submission(t, wire.IdempotencyHeader)
	request, now := nextSubmit(t, op, start)
	require.Equal(t, start, now, "at once")
	require.Len(t, request.Key, 36)
	require.Equal(t, "sha256:f1", request.Fingerprint)
	require.Equal(t, 30, request.TimeoutSeconds)
	op.SubmitAnswered(now, submitResult(wire.SubmitAccepted, 201))
	spec := awaiting(t, op, now)
	require.Equal(t, "exp_71c", spec.ProviderJobID)
	require.Equal(t, "report-2026-11", spec.OperationID)
	require.Equal(t, "sha256:f1", spec.RequestFingerprint)
	require.Equal(t, start.Add(40*time.Minute), spec.DeadlineAt)
	require.Equal(t, 12, spec.MaxStatusRequests)
	require.Equal(t, wire.PhaseAwaiting, op.Phase())
	require.IsType(t, operation.Wait{}, op.Next(now))
	op.AwaitEnded(now, operation.AwaitResult{Outcome: &wire.Outcome{Status: wire.StatusSucceeded, Result: map[string]string{"file": "f"}}})
	outcome := submitted(t, op, now)
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, "exp_71c", outcome.ProviderJobID)
	require.Equal(t, map[string]string{"file": "f"}, outcome.Result)
	require.Equal(t, request.Key, outcome.IdempotencyKey)
	require.Equal(t, wire.WorkflowID("demo-export", "acct-42", "exp_71c"), outcome.WaitWorkflowID)
}

// A job that is finished in the answer is not waited for.
func TestSubmissionThatIsFinishedAtOnce(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]wire.OutcomeStatus{"succeeded": wire.StatusSucceeded, "failed": wire.StatusFailed} {
		op := submission(t, wire.IdempotencyNone)
		_, now := nextSubmit(t, op, start)
		result := submitResult(wire.SubmitAccepted, 200)
		seen := read(state)
		if state == "succeeded" {
			seen = done()
		}
		result.Observation.Job = seen.Job
		op.SubmitAnswered(now, result)
		outcome := submitted(t, op, now)
		require.Equal(t, want, outcome.Status)
		require.Empty(t, outcome.WaitWorkflowID)
		require.Equal(t, state == "succeeded", len(outcome.Result) == 1)
	}
}

func TestWhatAnAnswerToASubmissionLeavesOpen(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kind    wire.Idempotency
		results []wire.SubmitResult
		reason  wire.Reason
		options []wire.DecisionKind
	}{
		"ambiguous without a key": {
			wire.IdempotencyUnknown,
			[]wire.SubmitResult{submitResult(wire.SubmitAmbiguous, 500)},
			wire.ReasonSubmissionAmbiguous,
			[]wire.DecisionKind{wire.DecisionAttach, wire.DecisionResubmit, wire.DecisionClose},
		},
		"lost without a key": {
			wire.IdempotencyNone,
			[]wire.SubmitResult{operation.LostSubmission()},
			wire.ReasonSubmissionAmbiguous,
			[]wire.DecisionKind{wire.DecisionAttach, wire.DecisionResubmit, wire.DecisionClose},
		},
		"ambiguous to the end of the budget with a key": {
			wire.IdempotencyBody,
			[]wire.SubmitResult{submitResult(wire.SubmitAmbiguous, 500), submitResult(wire.SubmitAmbiguous, 502), operation.LostSubmission()},
			wire.ReasonSubmissionAmbiguous,
			[]wire.DecisionKind{wire.DecisionExtend, wire.DecisionAttach, wire.DecisionResubmit, wire.DecisionClose},
		},
		"refused after an ambiguous one": {
			wire.IdempotencyBody,
			[]wire.SubmitResult{submitResult(wire.SubmitAmbiguous, 500), submitResult(wire.SubmitRefused, 400)},
			wire.ReasonSubmissionAmbiguous,
			[]wire.DecisionKind{wire.DecisionExtend, wire.DecisionAttach, wire.DecisionResubmit, wire.DecisionClose},
		},
		"never left to the end of the budget": {
			wire.IdempotencyNone,
			[]wire.SubmitResult{submitResult(wire.SubmitNeverLeft, 0), submitResult(wire.SubmitNeverLeft, 0), submitResult(wire.SubmitNeverLeft, 0)},
			wire.ReasonTransportBudgetExhausted,
			[]wire.DecisionKind{wire.DecisionExtend, wire.DecisionClose},
		},
		"later to the end of the budget": {
			wire.IdempotencyNone,
			[]wire.SubmitResult{submitResult(wire.SubmitLater, 429), submitResult(wire.SubmitLater, 429), submitResult(wire.SubmitLater, 429)},
			wire.ReasonRateLimited,
			[]wire.DecisionKind{wire.DecisionExtend, wire.DecisionClose},
		},
		"accepted without an id": {
			wire.IdempotencyNone,
			[]wire.SubmitResult{{Verdict: wire.SubmitAccepted, Observation: &wire.Observation{Answer: wire.AnswerRead, HTTPStatus: 201}}},
			wire.ReasonSubmissionAmbiguous,
			[]wire.DecisionKind{wire.DecisionAttach, wire.DecisionResubmit, wire.DecisionClose},
		},
		"a word of another version": {
			wire.IdempotencyHeader,
			[]wire.SubmitResult{{Verdict: "perhaps", Observation: &wire.Observation{Answer: wire.AnswerRead, HTTPStatus: 201}}},
			wire.ReasonSubmissionAmbiguous,
			[]wire.DecisionKind{wire.DecisionExtend, wire.DecisionAttach, wire.DecisionResubmit, wire.DecisionClose},
		},
		"a reset": {
			wire.IdempotencyNone,
			[]wire.SubmitResult{{NotSent: wire.NotSentHistoryReset, RunID: "another"}},
			wire.ReasonHistoryReset,
			[]wire.DecisionKind{wire.DecisionAttach, wire.DecisionResubmit, wire.DecisionClose},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op, now := submission(t, test.kind), start
			for _, result := range test.results {
				_, now = nextSubmit(t, op, now)
				op.SubmitAnswered(now, result)
			}
			require.NotNil(t, op.Escalation())
			require.Equal(t, test.reason, op.Escalation().Reason)
			require.Equal(t, test.options, kinds(op.Escalation().Options))
		})
	}
}

// A refusal ends at once; with escalate_on it asks.
func TestRefusedSubmission(t *testing.T) {
	t.Parallel()
	op := submission(t, wire.IdempotencyNone)
	_, now := nextSubmit(t, op, start)
	op.SubmitAnswered(now, submitResult(wire.SubmitRefused, 422))
	outcome := submitted(t, op, now)
	require.Equal(t, wire.StatusRefused, outcome.Status)
	require.Equal(t, "422", outcome.Detail)

	op = submission(t, wire.IdempotencyNone, func(s *wire.SubmitSpec) {
		s.Wait.Escalation.EscalateOn = []wire.Reason{wire.ReasonSubmissionRefused}
	})
	_, now = nextSubmit(t, op, start)
	op.SubmitAnswered(now, submitResult(wire.SubmitRefused, 422))
	require.Equal(t, []wire.DecisionKind{wire.DecisionResubmit, wire.DecisionClose}, kinds(op.Escalation().Options))
}

func submitDecision(op *operation.Operation, kind wire.DecisionKind, change func(*wire.Decision)) []byte {
	decision := wire.Decision{Kind: kind, DecisionID: "d-1", DecidedBy: "ana@example.com", Comment: "looked at the console"}
	if open := op.Escalation(); open != nil {
		decision.EscalationID = open.ID
	}
	if change != nil {
		change(&decision)
	}
	data, err := json.Marshal(decision)
	if err != nil {
		panic(err) // texts and numbers
	}
	return data
}

// An attached job is waited for as long as the spec would have from the start; one that cannot be waited for asks again.
func TestAttach(t *testing.T) {
	t.Parallel()
	op := submission(t, wire.IdempotencyNone)
	_, now := nextSubmit(t, op, start)
	op.SubmitAnswered(now, submitResult(wire.SubmitAmbiguous, 500))
	now = now.Add(2 * time.Hour)
	for _, bad := range []string{"", "https://me:secret@api.example.com/x", "/relative"} {
		_, refusal := op.Decide(now, submitDecision(op, wire.DecisionAttach, func(d *wire.Decision) { d.StatusURL, d.ProviderJobID = bad, "exp_9" }), "")
		if bad != "" {
			require.Equal(t, wire.RefusalOutOfBounds, refusal.Reason)
			require.NotContains(t, refusal.Detail, "secret")
			continue
		}
		require.Nil(t, refusal)
		break
	}
	spec := awaiting(t, op, now)
	require.Equal(t, "exp_9", spec.ProviderJobID)
	require.Equal(t, now.Add(40*time.Minute), spec.DeadlineAt)
	op.AwaitEnded(now, operation.AwaitResult{Invalid: "spec: params: region is missing"})
	require.Equal(t, wire.ReasonSubmissionAmbiguous, op.Escalation().Reason)
	require.Contains(t, op.Escalation().Detail, "region is missing")
	require.Contains(t, kinds(op.Escalation().Options), wire.DecisionAttach)
}

// R57: a resubmission is a new generation with another key, and the record names what it replaced.
func TestResubmit(t *testing.T) {
	t.Parallel()
	op := submission(t, wire.IdempotencyHeader, func(s *wire.SubmitSpec) { s.OfferResubmit, s.MaxSubmitRequests = true, 1 })
	first, now := nextSubmit(t, op, start)
	op.SubmitAnswered(now, submitResult(wire.SubmitAccepted, 201))
	awaiting(t, op, now)
	now = now.Add(time.Hour)
	op.AwaitEnded(now, operation.AwaitResult{Outcome: &wire.Outcome{Status: wire.StatusFailed, Reason: wire.ReasonProviderFailure}})
	require.Equal(t, wire.ReasonProviderFailure, op.Escalation().Reason)
	require.Equal(t, []wire.DecisionKind{wire.DecisionResubmit, wire.DecisionClose}, kinds(op.Escalation().Options))
	_, refusal := op.Decide(now, submitDecision(op, wire.DecisionResubmit, nil), "")
	require.Nil(t, refusal)
	second, now := nextSubmit(t, op, now)
	require.NotEqual(t, first.Key, second.Key)
	require.Equal(t, 2, second.Generation)
	op.SubmitAnswered(now, submitResult(wire.SubmitAccepted, 201))
	awaiting(t, op, now)
	op.AwaitEnded(now, operation.AwaitResult{Outcome: &wire.Outcome{Status: wire.StatusSucceeded}})
	outcome := submitted(t, op, now)
	require.Equal(t, []wire.EarlierSubmission{{
		Generation: 1, ProviderJobID: "exp_71c", Status: wire.StatusFailed, Reason: wire.ReasonProviderFailure, DecidedBy: "ana@example.com",
	}}, outcome.Before)
	require.Equal(t, 2, outcome.SubmitRequestsUsed)
}

// Without offer_resubmit the operation ends as the job did; so does one whose job another wait owns.
func TestFailureWithoutAnOffer(t *testing.T) {
	t.Parallel()
	for _, owned := range []bool{false, true} {
		op := submission(t, wire.IdempotencyHeader, func(s *wire.SubmitSpec) { s.OfferResubmit = owned })
		_, now := nextSubmit(t, op, start)
		op.SubmitAnswered(now, submitResult(wire.SubmitAccepted, 201))
		awaiting(t, op, now)
		result := operation.AwaitResult{Outcome: &wire.Outcome{Status: wire.StatusFailed, Reason: wire.ReasonProviderFailure}}
		if owned {
			op.OwnedBy("jobwait/x")
			result.Owner = &wire.Owner{WorkflowID: "jobwait/x", RunID: "r", OperationID: "other"}
		}
		op.AwaitEnded(now, result)
		outcome := submitted(t, op, now)
		require.Equal(t, wire.StatusFailed, outcome.Status)
		require.Equal(t, result.Owner, outcome.Owner)
	}
}

func TestCancelledSubmission(t *testing.T) {
	t.Parallel()
	op := submission(t, wire.IdempotencyHeader)
	_, now := nextSubmit(t, op, start)
	op.StopWaiting()
	op.SubmitAnswered(now, submitResult(wire.SubmitAmbiguous, 500))
	outcome := submitted(t, op, now)
	require.Equal(t, wire.StatusUnresolved, outcome.Status)
	require.Equal(t, wire.ReasonWaitCancelled, outcome.Reason)
	require.Equal(t, 1, outcome.SubmitRequestsUsed, "sent again after it was cancelled")
}

func TestSubmissionKeys(t *testing.T) {
	t.Parallel()
	require.Equal(t, operation.SubmissionKey("a", 1, 0), operation.SubmissionKey("a", 1, 36))
	require.NotEqual(t, operation.SubmissionKey("a", 1, 0), operation.SubmissionKey("a", 2, 0))
	require.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, operation.SubmissionKey("a", 1, 0))
	require.Len(t, operation.SubmissionKey("a", 1, 32), 32)
	require.Len(t, operation.SubmissionKey("a", 1, 20), 20)
}

// R55, R56: whatever answers and people do: no generation without a key is sent again once it may have made a job, one with a key goes
// with that key alone, every request was reserved, and none leaves at or after its deadline.
func TestNoGenerationMakesTwoJobs(t *testing.T) {
	t.Parallel()
	kindsOfKey := []wire.Idempotency{wire.IdempotencyNone, wire.IdempotencyUnknown, wire.IdempotencyHeader, wire.IdempotencyClientID}
	verdicts := []wire.SubmitVerdict{
		wire.SubmitAccepted, wire.SubmitRefused, wire.SubmitLater, wire.SubmitNeverLeft, wire.SubmitAmbiguous, "another", "",
	}
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(kindsOfKey).Draw(t, "idempotency")
		op := submission(t, kind, func(s *wire.SubmitSpec) {
			s.MaxSubmitRequests, s.OfferResubmit = rapid.IntRange(1, 6).Draw(t, "most"), rapid.Bool().Draw(t, "offer")
		})
		now, maybe, key, decisions := start, map[int]bool{}, map[int]string{}, 0
		for range 60 {
			switch command := op.Next(now).(type) {
			case operation.SendSubmit:
				request := command.Request
				if !kind.Repeatable() && maybe[request.Generation] {
					t.Fatalf("generation %d was sent again without a key", request.Generation)
				}
				if known, ok := key[request.Generation]; ok && known != request.Key {
					t.Fatalf("generation %d has two keys", request.Generation)
				}
				key[request.Generation] = request.Key
				require.Equal(t, kind.Repeatable(), request.Key != "")
				require.True(t, now.Before(request.NotAfter))
				require.LessOrEqual(t, op.Record().Counters.StatusRequestsUsed, op.Record().Limits.MaxStatusRequests)
				now = now.Add(time.Second)
				verdict := rapid.SampledFrom(verdicts).Draw(t, "verdict")
				maybe[request.Generation] = maybe[request.Generation] || verdict == wire.SubmitAccepted || verdict == wire.SubmitAmbiguous || verdict == "another" || verdict == ""
				op.SubmitAnswered(now, submitResult(verdict, 200))
			case operation.AwaitSubmitted:
				op.AwaitEnded(now, rapid.SampledFrom([]operation.AwaitResult{
					{Outcome: &wire.Outcome{Status: wire.StatusFailed, Reason: wire.ReasonProviderFailure}},
					{Outcome: &wire.Outcome{Status: wire.StatusSucceeded}},
					{Invalid: "spec: no"},
					{Lost: "terminated"},
				}).Draw(t, "wait"))
			case operation.Notify:
				op.Notified(now, command.Request.Notification.ID, "")
			case operation.Wait:
				now = command.Until
				if open := op.Escalation(); open != nil && rapid.Bool().Draw(t, "answers") {
					now = open.OpenedAt.Add(time.Second)
					decisions++
					option := rapid.SampledFrom(open.Options).Draw(t, "option")
					_, _ = op.Decide(now, submitDecision(op, option.Kind, func(d *wire.Decision) {
						d.DecisionID = "d-" + strconv.Itoa(decisions)
						switch option.Kind { //nolint:exhaustive // the others need nothing more
						case wire.DecisionAttach:
							d.ProviderJobID = "exp_9"
						case wire.DecisionExtend:
							d.Seconds, d.StatusRequests, d.TransportFailures, d.RateLimited = 900, 2, 2, 2
						case wire.DecisionUseCredential:
							d.CredentialRef = "other"
						}
					}), "")
				}
			case operation.Close:
				require.Zero(t, operation.VerifyChain("", op.Audit().Entries))
				return
			}
		}
	})
}
