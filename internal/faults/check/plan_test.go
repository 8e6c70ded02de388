package check_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/jobwait/jobwait/internal/faults/check"
	"github.com/jobwait/jobwait/wire"
)

// TestCleanStepsBreakNoRule: the stories below differ from these in one thing each.
func TestCleanStepsBreakNoRule(t *testing.T) {
	t.Parallel()
	for name, story := range map[string]*told{
		"out of time":        tell().poll(50, "running", nil).escalates(60).because(wire.ReasonDeadlineExceeded).closed(70),
		"out of requests":    tell().polls(4).escalates(20.1).because(wire.ReasonRequestBudgetExhausted).closed(70),
		"out of failures":    tell().poll(5, "", busy("")).poll(10, "", busy("")).poll(15, "", busy("")).escalates(15.1).because(wire.ReasonTransportBudgetExhausted).closed(70),
		"too often":          tell().poll(5, "", limited("")).poll(10, "", limited("")).poll(15, "", limited("")).escalates(15.1).because(wire.ReasonRateLimited).closed(70),
		"asked to stay away": tell().poll(5, "", busy("90")).escalates(5.1).because(wire.ReasonRetryAfterExceedsDeadline).closed(70),
		"needs input":        tell().poll(5, "awaiting_review", nil).escalates(5.1).because(wire.ReasonNeedsInput).closed(70),
		"no proof":           tell().poll(5, "succeeded", unproven).unproven().escalates(5.1).because(wire.ReasonContradictoryResponse).closed(70),
		"turned down":        tell().poll(5, "", denied).escalates(5.1).because(wire.ReasonAuthorizationDenied).closed(70),
		"another credential": tell().poll(5, "", denied).escalates(5.1).because(wire.ReasonAuthorizationDenied).decides(7, decision(wire.DecisionUseCredential)).with("other").poll(10, "succeeded", nil).succeeded(10.1, map[string]int{"401": 1, "200": 1}),
		"not confirmed": tell().poll(5, "running", nil).decides(8, decision(wire.DecisionCancel)).cancel(9).poll(12, "running", nil).
			escalates(68.001).because(wire.ReasonCancelUnconfirmed).decidesAs("e", 69, decision(wire.DecisionClose)).closes(69, outcome(wire.StatusUnresolved, "running", wire.Counters{StatusRequestsUsed: 2}, map[string]int{"200": 2})),
		"extended":    tell().poll(5, "archiving", nil).escalates(5.1).decides(7, extend("d", 30, 1)).poll(10, "succeeded", nil).extended(10.1),
		"told":        tell().poll(5, "running", nil).toldToStop(6).closes(6, gaveUp(wire.ReasonWaitCancelled, 1)),
		"approved":    tell().wants(wire.ApprovalPerOperation).asksApproval(4).poll(5, "running", nil).succeeds(10, 2),
		"each":        tell().wants(wire.ApprovalPerRequest).asksApproval(4).poll(5, "running", nil).asksApproval(8).succeeds(10, 2),
		"with cancel": tell().wants(wire.ApprovalPerRequest).decides(2, decision(wire.DecisionCancel)).cancel(3).poll(6, "cancelled", nil).closes(6.1, outcome(wire.StatusCancelled, "cancelled", wire.Counters{StatusRequestsUsed: 1}, map[string]int{"200": 1})),
		"asks nobody": tell().asksNobody().poll(5, "archiving", nil).closes(5.1, gaveUpIn("archiving", wire.ReasonUnknownState, 1)),
	} {
		require.Empty(t, story.wait.Check(at(100)), name)
	}
}

// TestEachStepIsHeld plants one fault in each story.
func TestEachStepIsHeld(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		story *told
		want  string
	}{
		"not planned":                    {tell().poll(5, "running", nil).forgets(wire.EventPollPlanned), check.RulePlan},
		"planned for no time":            {tell().poll(5, "running", nil).changes(wire.EventPollPlanned, func(e *wire.Entry) { e.NextPollAt = nil }), check.RulePlan},
		"sooner than planned":            {tell().poll(5, "running", nil).changes(wire.EventPollPlanned, func(e *wire.Entry) { e.NextPollAt = new(at(5)) }), check.RulePlan},
		"planned for the deadline":       {tell().poll(5, "running", nil).changes(wire.EventPollPlanned, func(e *wire.Entry) { e.NextPollAt = new(at(60)) }), check.RuleDeadline},
		"planned before Retry-After":     {tell().poll(5, "", busy("9")).poll(14.05, "running", nil), check.RuleRetryAfter},
		"planned in an unknown state":    {tell().poll(5, "archiving", nil).poll(10, "running", nil), check.RulePlan},
		"planned without a request":      {tell().polls(4).poll(25, "running", nil), check.RulePlan},
		"planned without a failure":      {tell().poll(5, "", busy("")).poll(10, "", busy("")).poll(15, "", busy("")).poll(20, "running", nil), check.RulePlan},
		"planned after too many 429":     {tell().poll(5, "", limited("")).poll(10, "", limited("")).poll(15, "", limited("")).poll(20, "running", nil), check.RulePlan},
		"planned past the deadline":      {tell().poll(59.95, "running", nil).poll(65, "running", nil), check.RulePlan},
		"planned into Retry-After":       {tell().poll(5, "", busy("90")).poll(50, "running", nil), check.RulePlan},
		"a reservation that is not told": {tell().poll(5, "running", nil).forgets(wire.EventRequestReserved), check.RuleCounters},
		"to leave after the deadline":    {tell().poll(5, "running", nil).within(50), check.RuleDeadline},
		"repeated by the server":         {tell().poll(5, "running", nil).repeated(), check.RuleReservation},

		"asked too early":        {tell().poll(50, "running", nil).escalates(59).because(wire.ReasonDeadlineExceeded), check.RuleReason},
		"asked with requests":    {tell().polls(3).escalates(15.1).because(wire.ReasonRequestBudgetExhausted), check.RuleReason},
		"asked with failures":    {tell().poll(5, "", busy("")).escalates(5.1).because(wire.ReasonTransportBudgetExhausted), check.RuleReason},
		"asked after one 429":    {tell().poll(5, "", limited("")).escalates(5.1).because(wire.ReasonRateLimited), check.RuleReason},
		"asked with time":        {tell().poll(5, "", busy("9")).escalates(5.1).because(wire.ReasonRetryAfterExceedsDeadline), check.RuleReason},
		"asked in a known state": {tell().poll(5, "running", nil).escalates(5.1), check.RuleReason},
		"asked for input":        {tell().poll(5, "running", nil).escalates(5.1).because(wire.ReasonNeedsInput), check.RuleReason},
		"asked for a credential": {tell().poll(5, "running", nil).escalates(5.1).because(wire.ReasonAuthorizationDenied), check.RuleReason},
		"asked for approval":     {tell().escalates(5).because(wire.ReasonApprovalRequired), check.RuleReason},
		"asked before it began":  {tell().escalates(5), check.RuleReason},
		"asked about a cancel":   {tell().poll(5, "running", nil).escalates(5.1).because(wire.ReasonCancelUnconfirmed), check.RuleReason},
		"asked about a reset":    {tell().poll(5, "running", nil).escalates(5.1).because(wire.ReasonHistoryReset), check.RuleReason},
		"asked after a failure":  {tell().poll(5, "failed", nil).escalates(5.1).because(wire.ReasonProviderFailure), check.RuleReason},
		"asked after a success":  {tell().poll(5, "succeeded", nil).escalates(5.1).because(wire.ReasonContradictoryResponse), check.RuleReason},
		"asked after no answer":  {tell().poll(5, "succeeded", nil).unheard().escalates(5.1).because(wire.ReasonContradictoryResponse), check.RuleReason},
		"asked late":             {tell().poll(5, "archiving", nil).escalates(9), check.RuleReason},
		"slept over Retry-After": {tell().poll(5, "", busy("90")).escalates(60).because(wire.ReasonDeadlineExceeded), check.RuleReason},
		"slept over the budget":  {tell().polls(4).escalates(60).because(wire.ReasonDeadlineExceeded), check.RuleReason},
		"ended late":             {tell().poll(5, "failed", nil).closes(9, outcome(wire.StatusFailed, "failed", wire.Counters{StatusRequestsUsed: 1}, map[string]int{"200": 1})), check.RuleReason},
		"gave up unasked":        {tell().poll(5, "archiving", nil).closes(5.1, gaveUpIn("archiving", wire.ReasonUnknownState, 1)), check.RuleReason},
		"gave up for nothing":    {tell().asksNobody().poll(5, "running", nil).closes(5.1, gaveUp(wire.ReasonDeadlineExceeded, 1)), check.RuleReason},
		"stopped by nobody":      {tell().poll(5, "running", nil).closes(6, gaveUp(wire.ReasonWaitCancelled, 1)), check.RuleOutcome},

		"on after it was told":      {tell().poll(5, "running", nil).toldToStop(6).succeeds(10, 2), check.RuleStop},
		"on before the cancel":      {tell().poll(5, "running", nil).decides(8, decision(wire.DecisionCancel)).poll(10, "running", nil), check.RuleCancel},
		"cancel that never left":    {tell().poll(5, "running", nil).decides(8, decision(wire.DecisionCancel)).closes(60, gaveUp(wire.ReasonDeadlineExceeded, 1)), check.RuleCancel},
		"asked for a cancel unsent": {tell().poll(5, "running", nil).decides(8, decision(wire.DecisionCancel)).escalates(68.001).because(wire.ReasonCancelUnconfirmed), check.RuleCancel},
		"a grant of nothing":        {tell().polls(4).escalates(20.1).because(wire.ReasonRequestBudgetExhausted).decides(25, extend("d", 90, 0)), check.RuleDecision},
		"a grant of the past":       {tell().poll(50, "running", nil).escalates(60).because(wire.ReasonDeadlineExceeded).decides(65, extend("d", 0, 1)), check.RuleDecision},
		"a grant of no failure":     {tell().poll(5, "", busy("")).poll(10, "", busy("")).poll(15, "", busy("")).escalates(15.1).because(wire.ReasonTransportBudgetExhausted).decides(17, extend("d", 30, 1)), check.RuleDecision},
		"a grant below Retry-After": {tell().poll(5, "", busy("90")).escalates(5.1).because(wire.ReasonRetryAfterExceedsDeadline).decides(7, extend("d", 60, 1)), check.RuleDecision},
		"more than one may grant":   {tell().poll(5, "archiving", nil).escalates(5.1).decides(7, extend("d", 30, 3)), check.RuleDecision},
		"a decision nobody took":    {tell().poll(5, "running", nil).signals(6, extend("d", 30, 1)).succeeds(10, 2), check.RuleDecision},
		"approved by nobody":        {tell().wants(wire.ApprovalPerOperation).poll(5, "running", nil), check.RuleApproval},
		"approved once":             {tell().wants(wire.ApprovalPerRequest).asksApproval(4).poll(5, "running", nil).poll(10, "running", nil), check.RuleApproval},
		"no credential":             {tell().poll(5, "running", func(r *check.Request) { r.Authorized = false }), check.RuleCredential},
		"one turned down":           {tell().poll(5, "", denied).escalates(5.1).because(wire.ReasonAuthorizationDenied).decides(7, decision(wire.DecisionUseCredential)).poll(10, "running", nil), check.RuleCredential},
		"nudged while asked":        {tell().poll(5, "archiving", nil).escalates(5.1).nudged(6), check.RuleNudge},
		"nudged to the last one":    {tell().polls(3).nudged(16), check.RuleNudge},
	} {
		require.Contains(t, c.story.broken(), c.want, name)
	}
}

func limited(retryAfter string) func(*check.Request) {
	return func(r *check.Request) { r.Status, r.RetryAfter = 429, []string{retryAfter} }
}

func denied(r *check.Request) { r.Status = 401 }

func unproven(r *check.Request) { r.State = "succeeded" }

// unproven has the last answer come without a result.
func (t *told) unproven() *told {
	for _, event := range t.events {
		if completed := event.GetActivityTaskCompletedEventAttributes(); completed != nil {
			seen := wire.Observation{
				Answer: wire.AnswerRead, HTTPStatus: 200, SentAt: new(at(5)), ReceivedAt: new(at(5)), Job: &wire.JobFact{RawState: "succeeded"},
			}
			completed.Result = payload(wire.PollResult{Observation: &seen})
		}
	}
	return t
}

// unheard has nothing come to the provider.
func (t *told) unheard() *told {
	t.wait.Requests = nil
	return t
}

// polls are so many status requests, one every five seconds.
func (t *told) polls(n int) *told {
	for i := range n {
		t.poll(float64(5*(i+1)), "running", nil)
	}
	return t
}

// closed has a person end the wait, with the counts that its requests have made.
func (t *told) closed(seconds float64) *told {
	counters, answers, state := wire.Counters{}, map[string]int{}, ""
	for _, request := range t.wait.Requests {
		counters.StatusRequestsUsed++
		switch request.Status {
		case 503:
			counters.TransportFailuresUsed++
			answers["503"]++
		case 429:
			counters.RateLimitedUsed++
			answers["429"]++
		case 401:
			answers["401"]++
		default:
			answers["200"]++
			state = request.State
		}
	}
	return t.decides(seconds, decision(wire.DecisionClose)).closes(seconds, outcome(wire.StatusUnresolved, state, counters, answers))
}

func (t *told) succeeded(seconds float64, answers map[string]int) *told {
	return t.closes(seconds, outcome(wire.StatusSucceeded, "succeeded", wire.Counters{StatusRequestsUsed: len(t.wait.Requests)}, answers))
}

// extended is a success after an extension.
func (t *told) extended(seconds float64) *told {
	used := len(t.wait.Requests)
	return t.closes(seconds, outcome(wire.StatusSucceeded, "succeeded", wire.Counters{StatusRequestsUsed: used, ExtensionsUsed: 1}, map[string]int{"200": used}))
}

func gaveUp(reason wire.Reason, used int) wire.Outcome { return gaveUpIn("running", reason, used) }

func gaveUpIn(state string, reason wire.Reason, used int) wire.Outcome {
	o := outcome(wire.StatusUnresolved, state, wire.Counters{StatusRequestsUsed: used}, map[string]int{"200": used})
	o.Reason = reason
	return o
}

// decidesAs is a decision with another id, where a story has two.
func (t *told) decidesAs(id string, seconds float64, d wire.Decision) *told {
	d.DecisionID = id
	return t.decides(seconds, d)
}

// with has what follows sent with that credential.
func (t *told) with(credential string) *told {
	t.credential = credential
	return t
}

func (t *told) toldToStop(seconds float64) *told {
	t.event(seconds, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED, func(*historypb.HistoryEvent) {})
	return t
}

// wants has the wait's credential approved by a person.
func (t *told) wants(rule wire.ApprovalRule) *told {
	t.wait.Approval = rule
	return t
}

// asksApproval is a request that is due, and approved.
func (t *told) asksApproval(seconds float64) *told {
	t.escalates(seconds).because(wire.ReasonApprovalRequired)
	approve := decision(wire.DecisionApproveRequest)
	return t.decidesAs("approve-"+strconv.Itoa(t.reserved), seconds, approve)
}

func (t *told) asksNobody() *told {
	t.wait.Spec.Escalation.EscalateOn = []wire.Reason{}
	return t
}

// forgets leaves all entries of an event out.
func (t *told) forgets(event wire.Event) *told {
	audit := &t.wait.Runs[0].Audit
	audit.Entries = slices.DeleteFunc(audit.Entries, func(e wire.Entry) bool { return e.Event == event })
	t.chain()
	return t
}

// changes changes all entries of an event.
func (t *told) changes(event wire.Event, change func(*wire.Entry)) *told {
	for i, entry := range t.wait.Runs[0].Audit.Entries {
		if entry.Event == event {
			change(&t.wait.Runs[0].Audit.Entries[i])
		}
	}
	t.chain()
	return t
}

// repeated has the server send what may have left once more.
func (t *told) repeated() *told {
	for _, event := range t.events {
		if scheduled := event.GetActivityTaskScheduledEventAttributes(); scheduled != nil {
			scheduled.RetryPolicy = &commonpb.RetryPolicy{NonRetryableErrorTypes: []string{"TemporalTimeout:Heartbeat"}}
		}
	}
	return t
}
