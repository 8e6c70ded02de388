package conformance_test

import (
	"fmt"
	"slices"
	"strings"
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

	reason wire.Reason // of an end
	detail string
}

func (d decision) String() string {
	if d.asksAgain {
		return "asks again"
	}
	return strings.TrimSpace(string(d.asks) + string(d.ends) + " " + d.detail)
}

// decidedTables is in how many tables an example leads to each decision, at least.
var decidedTables = map[string]int{
	"asks again": 75, "succeeded": 75, "failed": 74, "cancelled": 52, "expired": 20,
	"partial_result": 27, "needs_input": 18, "unknown_state": 71, "job_not_found": 31, "authorization_denied": 1, "integration_failure": 6,
	"contradictory_response other_job": 42, "contradictory_response success_without_result": 40,
	"contradictory_response past_provider_expiry": 1,
	"malformed_response empty_body":               2, "malformed_response field_type": 2, "malformed_response html": 2,
	"malformed_response state_absent": 14, "malformed_response state_null": 5, "malformed_response state_type": 1,
	"unresolved next_url": 1,
}

// wanted is what an example must lead to. It is told from what the example wants to be read and not from the code.
func wanted(example statetables.Example) decision {
	want := example.Want
	switch wire.Answer(want.Answer) {
	case "", wire.AnswerRead:
		return wantedOfJob(example)
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

func wantedOfJob(example statetables.Example) decision {
	want := example.Want
	switch category := wire.Category(want.Category); {
	case want.OtherJob:
		return decision{asks: wire.ReasonContradictoryResponse, detail: wire.DetailOtherJob} // R6
	case category.Waits() && pastExpiry(example):
		return decision{asks: wire.ReasonContradictoryResponse, detail: wire.DetailPastProviderExpiry} // R5
	case category.Waits() && want.NextURLRejected:
		return decision{ends: wire.StatusUnresolved, reason: wire.ReasonPollURLRejected, detail: "next_url"} // R51, R34
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
		return decision{ends: wire.StatusFailed, reason: wire.ReasonProviderFailure} // R34
	case wire.CategoryCancelled:
		return decision{ends: wire.StatusCancelled, reason: wire.ReasonProviderCancelled}
	case wire.CategoryExpired:
		return decision{ends: wire.StatusExpired, reason: wire.ReasonProviderExpired}
	case wire.CategoryNeedsInput:
		return decision{asks: wire.ReasonNeedsInput}
	case wire.CategoryUnknown:
		return decision{asks: wire.ReasonUnknownState} // R3
	case wire.CategoryPending, wire.CategoryCancelling:
	}
	panic(fmt.Sprintf("no example can want category %q here", category))
}

// pastExpiry says whether the provider's own time for the job was over. An example of such an answer writes when it ended.
func pastExpiry(example statetables.Example) bool {
	if example.Want.ExpiresAt == nil || *example.Want.ExpiresAt == "" {
		return false
	}
	expires, err := time.Parse(time.RFC3339, *example.Want.ExpiresAt)
	return err == nil && example.Response.ReceivedAt.After(expires.Add(30*time.Second))
}

// requireDecided holds what the wait did after the example's answer against what the example wants.
func requireDecided(t *testing.T, r *run) {
	t.Helper()
	name := r.example.Name
	switch want := wanted(r.example); {
	case want.asksAgain:
		requireWentOn(t, r)
	case want.asks != "":
		requireAsked(t, r, want)
	default:
		require.Len(t, r.polls, len(r.before)+1, name)
		require.Nil(t, r.escalation(), name)
		require.Equal(t, want.ends, r.outcome.Status, name)
		require.Equal(t, want.reason, r.outcome.Reason, name)
		require.Equal(t, want.detail, r.outcome.Detail, name)
		require.Equal(t, resultOf(r.example), r.outcome.Result, name)
	}
}

// requireWentOn wants one request more, never before the provider's minimum, the table's floor, and a second (R16, R18, R21).
func requireWentOn(t *testing.T, r *run) {
	t.Helper()
	name, doc := r.example.Name, r.known.file.Table
	require.Len(t, r.polls, len(r.before)+2, name)
	require.Equal(t, wire.ReasonAuthorizationDenied, r.outcome.Reason, name)
	planned, next := r.plannedAfter(t)
	delay := next.Sub(planned.At)
	require.GreaterOrEqual(t, delay, time.Second, name)
	if floor := doc.Schedule.Floor; floor != nil {
		require.GreaterOrEqual(t, delay, time.Duration(floor.Seconds)*time.Second, name)
	}
	guidance := r.seen().Guidance
	if minimum := guidance.RetryAfterSeconds; minimum != nil {
		require.GreaterOrEqual(t, delay, time.Duration(*minimum)*time.Second, name)
	}
	if hint := guidance.PollHintSeconds; hint != nil {
		require.NotEqual(t, wire.DelayLocalBackoff, planned.DelaySource, name)
	}
}

// plannedAfter is the entry by which the request after the example's answer was planned, and when that request left.
func (r *run) plannedAfter(t *testing.T) (wire.Entry, time.Time) {
	t.Helper()
	var planned wire.Entry
	for _, entry := range r.audit.Entries {
		switch {
		case entry.Event == wire.EventPollPlanned && entry.StatusRequestsUsed == len(r.before)+1:
			planned = entry
		case entry.Event == wire.EventRequestReserved && entry.StatusRequestsUsed == len(r.before)+2:
			require.NotNil(t, planned.NextPollAt, r.example.Name)
			require.False(t, entry.At.Before(*planned.NextPollAt), r.example.Name)
			return planned, entry.At
		}
	}
	require.Fail(t, "no request was planned after the answer", r.example.Name)
	return wire.Entry{}, time.Time{}
}

// requireAsked wants one question, which nobody answers, with a cancel where the reason leaves one and the table has one for
// this state (R34, R37, R43).
func requireAsked(t *testing.T, r *run, want decision) {
	t.Helper()
	name := r.example.Name
	require.Len(t, r.polls, len(r.before)+1, name)
	require.Equal(t, want.asks, r.outcome.Reason, name)
	require.Equal(t, want.detail, r.outcome.Detail, name)
	require.True(t, r.outcome.Undecided, name)
	require.Equal(t, wire.StatusUnresolved, r.outcome.Status, name)
	open := r.escalation()
	require.NotNil(t, open, name)
	require.Equal(t, want.asks, open.Reason, name)
	require.Equal(t, want.detail, open.Detail, name)
	require.Equal(t, leavesCancel(want.asks, want.detail) && r.mayCancel(), offersCancel(*open), name)
}

func offersCancel(open wire.Escalation) bool {
	return slices.ContainsFunc(open.Options, func(option wire.Option) bool { return option.Kind == wire.DecisionCancel })
}

// mayCancel says whether the table documents a cancel in the last state that was seen, and no answer rules it out.
func (r *run) mayCancel() bool {
	want := r.example.Want
	if want.Category == "" || want.OtherJob { // what tells nothing of the job leaves what was known before
		want = statetables.WantDoc{}
		if len(r.before) > 0 {
			want = r.before[0].Want
		}
	}
	call := r.known.file.Table.Cancel
	if call == nil || len(call.States) > 0 && !slices.Contains(call.States, want.RawState) {
		return false
	}
	seen := r.seen()
	return seen.Job == nil || seen.Job.OtherJob || seen.Job.Cancellable == nil || *seen.Job.Cancellable
}

// requireAsks wants an open question, with a cancel where the reason leaves one and the table has one for this state (R43).
func requireAsks(t *testing.T, w *wait, reason wire.Reason, detail string) {
	t.Helper()
	open := w.op.Escalation()
	require.NotNil(t, open)
	require.Equal(t, reason, open.Reason)
	require.Equal(t, detail, open.Detail)
	require.Equal(t, leavesCancel(reason, detail) && mayCancel(w.op.Record()), offersCancel(*open))
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
