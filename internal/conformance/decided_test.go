package conformance_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// decision is what the rules want after an answer. Exactly one of the three is set.
type decision struct {
	asksAgain bool
	asks      wire.Reason // a person
	ends      wire.OutcomeStatus

	detail string
}

// wanted is what an example must lead to. It is told from what the example wants to be read and not from the code.
func wanted(example statetables.Example, seen wire.Observation) decision {
	want := example.Want
	switch wire.Answer(want.Answer) {
	case "", wire.AnswerRead:
		return wantedOfJob(example, seen)
	case wire.AnswerDenied:
		return decision{asks: wire.ReasonAuthorizationDenied} // R9
	case wire.AnswerNotFound:
		return decision{asks: wire.ReasonJobNotFound} // R10
	case wire.AnswerMalformed:
		return decision{asks: wire.ReasonMalformedResponse, detail: want.Detail} // R7
	case wire.AnswerUnexpected:
		return decision{asks: wire.ReasonIntegrationFailure} // R11
	case wire.AnswerRateLimited, wire.AnswerServerError:
		return decision{asksAgain: true} // R11: the job is as it was
	case wire.AnswerTransportFailure:
	}
	panic("no example can want " + want.Answer)
}

func wantedOfJob(example statetables.Example, seen wire.Observation) decision {
	want := example.Want
	switch category := wire.Category(want.Category); {
	case want.OtherJob:
		return decision{asks: wire.ReasonContradictoryResponse, detail: wire.DetailOtherJob} // R6
	case category.Waits() && pastExpiry(example, seen):
		return decision{asks: wire.ReasonContradictoryResponse, detail: wire.DetailPastProviderExpiry} // R5
	case category.Waits() && want.NextURLRejected:
		return decision{ends: wire.StatusUnresolved, detail: "next_url"} // R51: nothing but to close (R34)
	case category.Waits():
		return decision{asksAgain: true}
	case category == wire.CategorySuccess && len(want.Unproven) > 0:
		return decision{asks: wire.ReasonContradictoryResponse, detail: wire.DetailSuccessWithoutResult} // R4
	default:
		return wantedOfCategory(category)
	}
}

func wantedOfCategory(category wire.Category) decision {
	switch category {
	case wire.CategorySuccess:
		return decision{ends: wire.StatusSucceeded} // R33
	case wire.CategoryPartial:
		return decision{asks: wire.ReasonPartialResult} // R13
	case wire.CategoryFailure:
		return decision{ends: wire.StatusFailed} // R34
	case wire.CategoryCancelled:
		return decision{ends: wire.StatusCancelled}
	case wire.CategoryExpired:
		return decision{ends: wire.StatusExpired}
	case wire.CategoryNeedsInput:
		return decision{asks: wire.ReasonNeedsInput}
	case wire.CategoryUnknown:
		return decision{asks: wire.ReasonUnknownState} // R3
	case wire.CategoryPending, wire.CategoryCancelling:
	}
	panic(fmt.Sprintf("no example can want category %q here", category))
}

func pastExpiry(example statetables.Example, seen wire.Observation) bool {
	expires := seen.Job.ExpiresAt
	return expires != nil && example.Response.ReceivedAt.After(expires.Add(30*time.Second))
}

// requireDecided gives what was seen to the core and holds what the wait does against what the example wants.
func requireDecided(t *testing.T, w *wait, example statetables.Example, seen wire.Observation) {
	t.Helper()
	command := w.decide(seen)
	switch want := wanted(example, seen); {
	case want.asksAgain:
		requireAsksAgain(t, w, seen, example.Name)
	case want.asks != "":
		requireAsks(t, w, want.asks, want.detail)
	default:
		end := requireEnd(t, command)
		require.Equal(t, want.ends, end.Status, example.Name)
		require.Equal(t, want.detail, end.Detail, example.Name)
		require.Equal(t, resultOf(example), end.Result, example.Name)
	}
}

// R16, R18, R21: never before the provider's minimum, the table's floor, and a second.
func requireAsksAgain(t *testing.T, w *wait, seen wire.Observation, name string) {
	t.Helper()
	view := w.op.View(w.now)
	require.Nil(t, view.Escalation, name)
	require.NotNil(t, view.NextPollAt, name)
	delay := view.NextPollAt.Sub(w.now)
	pace := w.op.Record().Prepared.Pace
	require.GreaterOrEqual(t, delay, time.Second)
	require.GreaterOrEqual(t, delay, time.Duration(pace.TableMinDelaySeconds)*time.Second)
	if minimum := seen.Guidance.RetryAfterSeconds; minimum != nil {
		require.GreaterOrEqual(t, delay, time.Duration(*minimum)*time.Second, name)
	}
	if hint := seen.Guidance.PollHintSeconds; hint != nil {
		require.NotEqual(t, wire.DelayLocalBackoff, view.DelaySource, name)
	}
}

// requireAsks wants an open question, with a cancel where the reason leaves one and the table has one for this state (R43).
func requireAsks(t *testing.T, w *wait, reason wire.Reason, detail string) {
	t.Helper()
	open := w.op.Escalation()
	require.NotNil(t, open)
	require.Equal(t, reason, open.Reason)
	require.Equal(t, detail, open.Detail)
	offers := slices.ContainsFunc(open.Options, func(option wire.Option) bool { return option.Kind == wire.DecisionCancel })
	require.Equal(t, leavesCancel(reason, detail) && mayCancel(w.op.Record()), offers)
}

// leavesCancel says which reasons leave a cancel to be wished for: not those that find the job over, nor a refused credential.
func leavesCancel(reason wire.Reason, detail string) bool {
	over := detail == wire.DetailSuccessWithoutResult || detail == wire.DetailUnexpectedSuccessState
	return !over && reason != wire.ReasonPartialResult && reason != wire.ReasonAuthorizationDenied
}

// mayCancel says whether the table documents a cancel in the last state, and the answer does not rule it out.
func mayCancel(record wire.Record) bool {
	facts := record.Prepared.Table.Cancel
	if facts == nil || len(facts.States) > 0 && !slices.Contains(facts.States, record.LastRawState) {
		return false
	}
	seen := record.LastObservation
	return seen.Job == nil || seen.Job.OtherJob || seen.Job.Cancellable == nil || *seen.Job.Cancellable
}

func requireEnd(t *testing.T, command operation.Command) wire.Outcome {
	t.Helper()
	end, ok := command.(operation.Close)
	require.True(t, ok, "%+v", command)
	return end.Outcome
}

func resultOf(example statetables.Example) map[string]string {
	if example.Want.Result == nil {
		return map[string]string{}
	}
	return example.Want.Result
}
