package operation_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// specWith is a valid spec of 12 requests in 40 minutes, changed by the given functions.
func specWith(changes ...func(*wire.Spec)) wire.Spec {
	spec := wire.Spec{
		OperationID: "report-export-1", Provider: "demo-export", Account: "acct-42", ProviderJobID: "exp_71c",
		CredentialRef: "demo", DeadlineAt: start.Add(40 * time.Minute), MaxStatusRequests: 12, MaxTransportFailures: 3,
	}
	for _, change := range changes {
		change(&spec)
	}
	return spec
}

// cancelTable is a table that documents a cancel call, confirmed within 4 requests and 60 s.
func cancelTable() wire.TableFacts {
	return wire.TableFacts{Digest: "sha256:table", Cancel: &wire.CancelFacts{ConfirmRequests: 4, ConfirmSeconds: 60}}
}

func prepared(t require.TestingT, spec wire.Spec, known operation.Knowledge) wire.Prepared {
	snapshot, err := operation.Prepare(spec, start, known)
	require.NoError(t, err)
	return snapshot
}

// opened is a wait that has just begun.
func opened(t require.TestingT, table wire.TableFacts, changes ...func(*wire.Spec)) *operation.Operation {
	return operation.Open(prepared(t, specWith(changes...), operation.Knowledge{Table: table}), firstRun, start, start)
}

// polled is a wait that was answered so at its first request, and the time of it.
func polled(t require.TestingT, op *operation.Operation, result wire.PollResult) time.Time {
	now := op.Record().Poll.At
	require.IsType(t, operation.SendStatus{}, op.Next(now))
	now = now.Add(200 * time.Millisecond)
	op.StatusAnswered(now, result)
	return now
}

// read is an answer in a state of the demo table.
func read(state string) wire.Observation {
	return wire.Observation{Answer: wire.AnswerRead, HTTPStatus: 200, Job: &wire.JobFact{RawState: state, Category: demoCategory(state)}}
}

// done is a success with its proof.
func done() wire.Observation {
	seen := read("succeeded")
	seen.Job.Result = map[string]string{"file": "https://files.example.com/exp_71c.csv?sig=SECRETSIG"}
	return seen
}

func result(seen wire.Observation) wire.PollResult { return wire.PollResult{Observation: &seen} }

// failed is a request that was not answered as a status: a transport failure, a 429, a 5xx and so on.
func failed(answer wire.Answer, status int, detail string) wire.Observation {
	return wire.Observation{Answer: answer, HTTPStatus: status, Detail: detail, SentAt: new(start.Add(time.Second))}
}

// unsent is a request that failed before its first byte left.
func unsent(detail string) wire.Observation {
	return wire.Observation{Answer: wire.AnswerTransportFailure, Detail: detail}
}

// afterMinDelay is the first time after an answer at which anything may be sent (R21).
func afterMinDelay(t require.TestingT, op *operation.Operation, now time.Time) time.Time {
	wait, ok := op.Next(now).(operation.Wait)
	require.True(t, ok, "nothing is sent sooner than min_delay after the last request")
	require.GreaterOrEqual(t, wait.Until.Sub(now), time.Second)
	return wait.Until
}

func retryAfter(seen wire.Observation, seconds int64) wire.Observation {
	seen.Guidance.RetryAfterSeconds = &seconds
	return seen
}

func hinted(seen wire.Observation, seconds int64) wire.Observation {
	seen.Guidance.PollHintSeconds = &seconds
	return seen
}

// demoCategory is the state table of demo-export, as far as the core sees it.
func demoCategory(state string) wire.Category {
	switch state {
	case "queued", "running", "processing":
		return wire.CategoryPending
	case "cancelling":
		return wire.CategoryCancelling
	case "succeeded":
		return wire.CategorySuccess
	case "partially_succeeded":
		return wire.CategoryPartial
	case "failed":
		return wire.CategoryFailure
	case "cancelled":
		return wire.CategoryCancelled
	case "expired":
		return wire.CategoryExpired
	case "awaiting_review":
		return wire.CategoryNeedsInput
	default:
		return wire.CategoryUnknown
	}
}

// answer is a complete decision on the open escalation, with the given fields over it.
func answer(op *operation.Operation, kind wire.DecisionKind, fields map[string]any) []byte {
	decision := map[string]any{
		"kind": kind, "decision_id": "d-1", "decided_by": "ana@example.com", "comment": "looked at the console",
	}
	if open := op.Escalation(); open != nil {
		decision["escalation_id"] = open.ID
	}
	maps.Copy(decision, fields)
	data, err := json.Marshal(decision)
	if err != nil {
		panic(fmt.Sprintf("a decision of these tests does not marshal: %v", err))
	}
	return data
}

func kinds(options []wire.Option) []wire.DecisionKind {
	var out []wire.DecisionKind
	for _, option := range options {
		out = append(out, option.Kind)
	}
	return out
}

// events are the kinds of audit entries with an event, in order.
func entriesOf(op *operation.Operation, event wire.Event) []wire.Entry {
	var out []wire.Entry
	for _, entry := range op.Audit().Entries {
		if entry.Event == event {
			out = append(out, entry)
		}
	}
	return out
}

func requireReason(t *testing.T, op *operation.Operation, reason wire.Reason, detail string) {
	t.Helper()
	require.NotNil(t, op.Escalation(), "nothing is open: %+v", op.Record().Outcome)
	require.Equal(t, reason, op.Escalation().Reason)
	require.Equal(t, detail, op.Escalation().Detail)
}
