package check_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/jobwait/jobwait/internal/faults/check"
	"github.com/jobwait/jobwait/wire"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }

const result = "https://files.example.com/j.csv"

// told is a small wait, told by hand: what the provider saw, what history has and what the audit says.
type told struct {
	wait   check.Wait
	events []*historypb.HistoryEvent
	runs   int
	// reserved counts the requests that the audit has reserved.
	reserved int
	// credential is what status requests are sent with.
	credential string
}

// tell begins a wait whose job has 60 seconds, 4 requests and 3 failures.
func tell() *told {
	t := &told{credential: "shared", wait: check.Wait{
		Results: []string{result}, Most: wire.GrantBounds{Seconds: 90, StatusRequests: 2, TransportFailures: 2, RateLimited: 2},
		Spec: wire.Spec{
			OperationID: "op", Provider: "demo-export", Account: "a", ProviderJobID: "j",
			DeadlineAt: at(60), MaxStatusRequests: 4, MaxTransportFailures: 3,
			Schedule: wire.Schedule{MinDelaySeconds: new(2)},
		},
	}}
	return t.run("")
}

// run begins a run that continues another.
func (t *told) run(continued string) *told {
	t.runs++
	t.events = nil
	t.wait.Runs = append(t.wait.Runs, check.Run{ID: "run-" + strconv.Itoa(t.runs)})
	t.event(0, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, func(e *historypb.HistoryEvent) {
		e.Attributes = &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
			WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{ContinuedExecutionRunId: continued},
		}
	})
	return t
}

// continues ends the run and begins the next.
func (t *told) continues(seconds float64, as, by string) *told {
	t.event(seconds, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW, func(e *historypb.HistoryEvent) {
		e.Attributes = &historypb.HistoryEvent_WorkflowExecutionContinuedAsNewEventAttributes{
			WorkflowExecutionContinuedAsNewEventAttributes: &historypb.WorkflowExecutionContinuedAsNewEventAttributes{NewExecutionRunId: as},
		}
	})
	return t.run(by)
}

func (t *told) event(seconds float64, kind enumspb.EventType, fill func(*historypb.HistoryEvent)) int64 {
	event := &historypb.HistoryEvent{EventId: int64(len(t.events) + 1), EventTime: timestamppb.New(at(seconds)), EventType: kind}
	fill(event)
	t.events = append(t.events, event)
	t.wait.Runs[len(t.wait.Runs)-1].History = &historypb.History{Events: t.events}
	return event.GetEventId()
}

// entry adds an entry to the audit of the run.
func (t *told) entry(seconds float64, event wire.Event, decision *wire.Decision) {
	run := &t.wait.Runs[len(t.wait.Runs)-1]
	entry := wire.Entry{At: at(seconds), Event: event, DeadlineAt: new(at(60)), Detail: "<\"é\u2028\n\x01>"}
	if decision != nil {
		entry.Decision = marshal(decision)
	}
	run.Audit.Entries = append(run.Audit.Entries, entry)
	t.chain()
}

// chain numbers and hashes all entries afresh.
func (t *told) chain() {
	head, seq := "", 0
	for i := range t.wait.Runs {
		audit := &t.wait.Runs[i].Audit
		for j := range audit.Entries {
			seq++
			audit.Entries[j].Seq, audit.Entries[j].Prev = seq, head
			audit.Entries[j].Hash = check.EntryHash(audit.Entries[j])
			head = audit.Entries[j].Hash
		}
		audit.Head = head
	}
}

// reserves adds an activity that was reserved and started, and returns how to end it.
func (t *told) reserves(seconds float64, activity string) int64 {
	return t.reservesFor(seconds, activity, wire.PollRequest{Target: wire.Target{CredentialRef: t.credential}, MayHoldBack: true, NotAfter: at(60)})
}

// plans has the audit plan a request when the last thing happened, and reserve it.
func (t *told) plans(seconds float64) {
	planned := at(0)
	for _, run := range t.wait.Runs {
		for _, entry := range run.Audit.Entries {
			planned = entry.At
		}
	}
	t.entry(planned.Sub(start).Seconds(), wire.EventPollPlanned, nil)
	t.last().NextPollAt = new(at(seconds))
	t.entry(seconds, wire.EventRequestReserved, nil)
	t.reserved++
	t.last().StatusRequestsUsed = t.reserved
	t.chain()
}

// last is the audit's last entry of the run.
func (t *told) last() *wire.Entry {
	entries := t.wait.Runs[len(t.wait.Runs)-1].Audit.Entries
	return &entries[len(entries)-1]
}

func (t *told) reservesFor(seconds float64, activity string, input any) int64 {
	if activity != wire.ActivityCancelAtProvider {
		t.plans(seconds - 0.1)
	}
	id := t.event(seconds-0.1, enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, func(e *historypb.HistoryEvent) {
		e.Attributes = &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{
			ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{
				ActivityType: &commonpb.ActivityType{Name: activity},
				Input:        payload(input),
				RetryPolicy:  &commonpb.RetryPolicy{MaximumAttempts: 1},
			},
		}
	})
	t.event(seconds-0.05, enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED, func(e *historypb.HistoryEvent) {
		e.Attributes = &historypb.HistoryEvent_ActivityTaskStartedEventAttributes{
			ActivityTaskStartedEventAttributes: &historypb.ActivityTaskStartedEventAttributes{ScheduledEventId: id, Identity: "7@host"},
		}
	})
	return id
}

func (t *told) completes(seconds float64, id int64, value any) {
	t.event(seconds, enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED, func(e *historypb.HistoryEvent) {
		e.Attributes = &historypb.HistoryEvent_ActivityTaskCompletedEventAttributes{
			ActivityTaskCompletedEventAttributes: &historypb.ActivityTaskCompletedEventAttributes{ScheduledEventId: id, Result: payload(value)},
		}
	})
}

// received adds a line to the provider's log.
func (t *told) received(seconds float64, change func(*check.Request)) {
	request := check.Request{
		ReceivedAt: at(seconds), AnsweredAt: at(seconds), Kind: "status", Job: "j", Status: 200, State: "running", Ending: "answered",
		Authorized: true,
	}
	if change != nil {
		change(&request)
	}
	t.wait.Requests = append(t.wait.Requests, request)
}

// poll is a status request with its answer, as all three witnesses have it.
func (t *told) poll(seconds float64, state string, change func(*check.Request)) *told {
	id := t.reserves(seconds, wire.ActivityPollStatus)
	t.received(seconds, func(r *check.Request) {
		r.State = state
		if change != nil {
			change(r)
		}
	})
	request := t.wait.Requests[len(t.wait.Requests)-1]
	seen := wire.Observation{Answer: wire.AnswerRead, HTTPStatus: request.Status, SentAt: new(at(seconds)), ReceivedAt: new(at(seconds))}
	switch {
	case request.Status >= 500:
		seen.Answer = wire.AnswerServerError
	case request.Status == 429:
		seen.Answer = wire.AnswerRateLimited
	case request.Status == 401:
		seen.Answer = wire.AnswerDenied
	default:
		seen.Job = &wire.JobFact{RawState: state}
		if state == "succeeded" {
			seen.Job.Result = map[string]string{"file": result}
		}
	}
	t.completes(seconds+0.1, id, wire.PollResult{Observation: &seen})
	t.entry(seconds+0.1, wire.EventResponseReceived, nil)
	return t
}

// lost is a request whose worker was lost with it.
func (t *told) lost(seconds float64) *told {
	id := t.reserves(seconds, wire.ActivityPollStatus)
	t.received(seconds, func(r *check.Request) { r.Ending, r.Status, r.AnsweredAt = "client_gone", 0, time.Time{} })
	t.event(seconds+7, enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT, func(e *historypb.HistoryEvent) {
		e.Attributes = &historypb.HistoryEvent_ActivityTaskTimedOutEventAttributes{
			ActivityTaskTimedOutEventAttributes: &historypb.ActivityTaskTimedOutEventAttributes{ScheduledEventId: id},
		}
	})
	t.entry(seconds+7, wire.EventRequestLost, nil)
	return t
}

// heldBack is a request that was held back until it was too late: its activity failed, timed out in all, or was withdrawn.
func (t *told) heldBack(seconds float64, end enumspb.EventType) *told {
	id := t.reserves(seconds, wire.ActivityPollStatus)
	t.event(seconds+7, end, func(e *historypb.HistoryEvent) {
		switch end { //nolint:exhaustive // how an activity ends without a result
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:
			e.Attributes = &historypb.HistoryEvent_ActivityTaskFailedEventAttributes{
				ActivityTaskFailedEventAttributes: &historypb.ActivityTaskFailedEventAttributes{
					ScheduledEventId: id, Failure: &failurepb.Failure{FailureInfo: &failurepb.Failure_ApplicationFailureInfo{
						ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{Type: wire.ErrorHeldBack},
					}},
				},
			}
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
			e.Attributes = &historypb.HistoryEvent_ActivityTaskTimedOutEventAttributes{
				ActivityTaskTimedOutEventAttributes: &historypb.ActivityTaskTimedOutEventAttributes{
					ScheduledEventId: id, Failure: &failurepb.Failure{FailureInfo: &failurepb.Failure_TimeoutFailureInfo{
						TimeoutFailureInfo: &failurepb.TimeoutFailureInfo{TimeoutType: enumspb.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE},
					}},
				},
			}
		default:
			e.Attributes = &historypb.HistoryEvent_ActivityTaskCanceledEventAttributes{
				ActivityTaskCanceledEventAttributes: &historypb.ActivityTaskCanceledEventAttributes{ScheduledEventId: id},
			}
		}
	})
	t.entry(seconds+7, wire.EventRequestNotSent, nil)
	return t
}

// refused is a request that was not sent, by the word of its activity.
func (t *told) refused(seconds float64) *told {
	id := t.reserves(seconds, wire.ActivityPollStatus)
	t.completes(seconds+7, id, wire.PollResult{Withheld: wire.Withheld{NotSent: wire.NotSentTooLate}})
	t.entry(seconds+7, wire.EventRequestNotSent, nil)
	return t
}

// leaks has the provider receive a request all the same.
func (t *told) leaks(seconds float64) *told {
	t.received(seconds, nil)
	return t
}

// What a workflow task can fail of.
const (
	undetermined = enumspb.WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR
	unhandled    = enumspb.WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE
)

func (t *told) taskCompletes(seconds float64) *told {
	t.event(seconds, enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, func(*historypb.HistoryEvent) {})
	return t
}

func (t *told) cancel(seconds float64) *told {
	id := t.reserves(seconds, wire.ActivityCancelAtProvider)
	t.received(seconds, func(r *check.Request) { r.Kind, r.Status, r.State = "cancel", 202, "cancelling" })
	t.completes(seconds+0.1, id, wire.CancelResult{HTTPStatus: 202})
	t.entry(seconds+0.1, wire.EventCancelSent, nil)
	return t
}

// escalates asks what to do in a state that nobody listed, unless because says else.
func (t *told) escalates(seconds float64) *told {
	t.entry(seconds, wire.EventEscalated, nil)
	return t.because(wire.ReasonUnknownState)
}

func (t *told) because(reason wire.Reason) *told {
	t.last().Reason = string(reason)
	t.chain()
	return t
}

// decides is a decision that came by a signal and was applied.
func (t *told) decides(seconds float64, decision wire.Decision) *told {
	t.signals(seconds, decision)
	t.entry(seconds, wire.EventDecisionApplied, &decision)
	return t
}

func (t *told) signals(seconds float64, decision wire.Decision) *told {
	return t.signalled(seconds, wire.SignalDecide, decision)
}

func (t *told) signalled(seconds float64, name string, value any) *told {
	t.event(seconds, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, func(e *historypb.HistoryEvent) {
		e.Attributes = &historypb.HistoryEvent_WorkflowExecutionSignaledEventAttributes{
			WorkflowExecutionSignaledEventAttributes: &historypb.WorkflowExecutionSignaledEventAttributes{SignalName: name, Input: payload(value)},
		}
	})
	return t
}

// nudged is a nudge that came in and was followed.
func (t *told) nudged(seconds float64) *told {
	t.signalled(seconds, wire.SignalNudge, wire.Nudge{Source: "a webhook"})
	t.entry(seconds, wire.EventNudged, nil)
	return t.because(wire.Reason(wire.NudgeFollowed))
}

// ana has the key of which decisions on a wait must be signed.
var ana = struct { //nolint:gochecknoglobals // a constant in all but the language
	private ed25519.PrivateKey
	public  wire.DecisionKey
}{
	ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)),
	wire.DecisionKey{
		KeyID: "ana-1", DecidedBy: "ana",
		PublicKey: base64.RawURLEncoding.EncodeToString(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)).Public().(ed25519.PublicKey)),
	},
}

// signed is a decision with the signature of ana's key, over the product's own text.
func signed(d wire.Decision) wire.Decision {
	d.KeyID = ana.public.KeyID
	text, err := wire.SignedText(d)
	if err != nil {
		panic(err)
	}
	d.Signature = base64.RawURLEncoding.EncodeToString(ed25519.Sign(ana.private, text))
	return d
}

// trusts has decisions signed by ana.
func (t *told) trusts() *told {
	t.wait.Keys = []wire.DecisionKey{ana.public}
	return t
}

func (t *told) taskFails(seconds float64, cause enumspb.WorkflowTaskFailedCause) *told {
	t.event(seconds, enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED, func(e *historypb.HistoryEvent) {
		e.Attributes = &historypb.HistoryEvent_WorkflowTaskFailedEventAttributes{
			WorkflowTaskFailedEventAttributes: &historypb.WorkflowTaskFailedEventAttributes{
				Cause: cause, Failure: &failurepb.Failure{Message: "something went wrong"},
			},
		}
	})
	return t
}

// closes gives the wait an outcome.
func (t *told) closes(seconds float64, outcome wire.Outcome) *told {
	t.entry(seconds, wire.EventClosed, nil)
	outcome.OperationID, outcome.ProviderJobID, outcome.ClosedAt = "op", "j", at(seconds)
	for _, run := range t.wait.Runs {
		outcome.AuditEntries += len(run.Audit.Entries)
		outcome.AuditHead = run.Audit.Head
	}
	t.event(seconds, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, func(e *historypb.HistoryEvent) {
		e.Attributes = &historypb.HistoryEvent_WorkflowExecutionCompletedEventAttributes{
			WorkflowExecutionCompletedEventAttributes: &historypb.WorkflowExecutionCompletedEventAttributes{Result: payload(outcome)},
		}
	})
	return t
}

func outcome(status wire.OutcomeStatus, state string, counters wire.Counters, answers map[string]int) wire.Outcome {
	o := wire.Outcome{Status: status, RawState: state, Counters: counters, Answers: answers, Result: map[string]string{}}
	if status == wire.StatusSucceeded {
		o.Result["file"] = result
	}
	return o
}

// succeeds ends the wait with a second poll that finds the result.
func (t *told) succeeds(seconds float64, used int) *told {
	return t.poll(seconds, "succeeded", nil).closes(seconds+0.1, outcome(wire.StatusSucceeded, "succeeded",
		wire.Counters{StatusRequestsUsed: used}, map[string]int{"200": used}))
}

func (t *told) broken() []string {
	var rules []string
	for _, violation := range t.wait.Check(at(100)) {
		rules = append(rules, violation.Rule)
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

func payload(value any) *commonpb.Payloads {
	return &commonpb.Payloads{Payloads: []*commonpb.Payload{{Data: marshal(value)}}}
}

func marshal(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}

// extend grants that many seconds and requests.
func extend(id string, seconds, requests int) wire.Decision {
	return wire.Decision{
		Kind: wire.DecisionExtend, DecisionID: id, EscalationID: "e", DecidedBy: "ana", Comment: "go on",
		Seconds: seconds, StatusRequests: requests,
	}
}

func more(d wire.Decision) wire.Decision {
	d.StatusRequests++
	return d
}

func by(who string, d wire.Decision) wire.Decision {
	d.DecidedBy = who
	return d
}

func decision(kind wire.DecisionKind) wire.Decision {
	return wire.Decision{Kind: kind, DecisionID: "d", DecidedBy: "ana", Comment: "done"}
}

// TestCleanWaitsBreakNoRule: the stories below differ from these in one thing each.
func TestCleanWaitsBreakNoRule(t *testing.T) {
	t.Parallel()
	for name, story := range map[string]*told{
		"success":          tell().poll(5, "running", nil).succeeds(10, 2),
		"two runs":         tell().poll(5, "running", nil).continues(6, "run-2", "run-1").succeeds(10, 2),
		"asked and closed": tell().poll(5, "archiving", nil).escalates(5.1).decides(9, decision(wire.DecisionClose)).closes(9, outcome(wire.StatusUnresolved, "archiving", wire.Counters{StatusRequestsUsed: 1}, map[string]int{"200": 1})),
		"still asked":      tell().poll(95, "archiving", nil).escalates(95.1).within(200),
		"lost and found": tell().lost(5).poll(20, "succeeded", nil).closes(20.1, outcome(wire.StatusSucceeded, "succeeded",
			wire.Counters{StatusRequestsUsed: 2, TransportFailuresUsed: 1}, map[string]int{"lost": 1, "200": 1})),
		"cancelled": tell().poll(5, "running", nil).decides(8, decision(wire.DecisionCancel)).cancel(9).poll(12, "cancelled", nil).closes(12.1,
			outcome(wire.StatusCancelled, "cancelled", wire.Counters{StatusRequestsUsed: 2}, map[string]int{"200": 2})),
		"a task that failed once": tell().poll(5, "running", nil).taskFails(6, unhandled).taskCompletes(7).succeeds(10, 2),
		"cancelled after the last failure": tell().poll(5, "", busy("")).poll(10, "", busy("")).poll(15, "", busy("")).escalates(15.1).because(wire.ReasonTransportBudgetExhausted).
			decides(17, decision(wire.DecisionCancel)).cancel(18).poll(21, "running", nil).poll(25, "cancelled", nil).closes(25.1,
			outcome(wire.StatusCancelled, "cancelled", wire.Counters{StatusRequestsUsed: 5, TransportFailuresUsed: 3}, map[string]int{"503": 3, "200": 2})),
		"held back": tell().heldBack(5, enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED).heldBack(15, enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT).
			heldBack(25, enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED).poll(35, "succeeded", nil).closes(35.1,
			outcome(wire.StatusSucceeded, "succeeded", wire.Counters{StatusRequestsUsed: 4}, map[string]int{"200": 1})),
		"nudged": tell().poll(5, "running", nil).nudged(6).poll(8, "running", nil).nudged(9).poll(11, "succeeded", nil).
			closes(11.1, outcome(wire.StatusSucceeded, "succeeded", wire.Counters{StatusRequestsUsed: 3, NudgesReceived: 2}, map[string]int{"200": 3})),
		"signed": tell().trusts().poll(5, "archiving", nil).escalates(5.1).signals(6, extend("unsigned", 90, 1)).decides(9, signed(decision(wire.DecisionClose))).
			closes(9, outcome(wire.StatusUnresolved, "archiving", wire.Counters{StatusRequestsUsed: 1}, map[string]int{"200": 1})),
		"retry-after kept": tell().poll(5, "", busy("4")).poll(9.1, "succeeded", nil).closes(9.2, outcome(wire.StatusSucceeded, "succeeded",
			wire.Counters{StatusRequestsUsed: 2, TransportFailuresUsed: 1}, map[string]int{"503": 1, "200": 1})),
	} {
		require.Empty(t, story.wait.Check(at(100)), name)
	}
}

// within moves the deadline.
func (t *told) within(seconds float64) *told {
	t.wait.Spec.DeadlineAt = at(seconds)
	return t
}

func busy(retryAfter string) func(*check.Request) {
	return func(r *check.Request) { r.Status, r.RetryAfter = 503, []string{retryAfter} }
}

// TestEachRuleIsFound plants one fault in each story.
func TestEachRuleIsFound(t *testing.T) {
	t.Parallel()
	closed := outcome(wire.StatusUnresolved, "running", wire.Counters{StatusRequestsUsed: 1}, map[string]int{"200": 1})
	for name, c := range map[string]struct {
		story *told
		want  string
	}{
		"no outcome":           {tell().poll(5, "running", nil), check.RuleLost},
		"window never lapsed":  {tell().poll(5, "archiving", nil).escalates(5.1).window(60), check.RuleLost},
		"does not replay":      {tell().poll(5, "running", nil).taskFails(6, undetermined).taskCompletes(7).succeeds(10, 2), check.RuleStuck},
		"tasks go on failing":  {tell().poll(5, "running", nil).escalates(5.1).taskFails(6, unhandled), check.RuleStuck},
		"broken chain of runs": {tell().poll(5, "running", nil).continues(6, "run-2", "run-7").succeeds(10, 2), check.RuleOwner},
		"second request meanwhile": {func() *told {
			w := tell()
			w.reserves(5, wire.ActivityPollStatus)
			return w.succeeds(10, 2)
		}(), check.RuleOwner},
		"request that nobody reserved": {func() *told {
			w := tell().poll(5, "running", nil)
			w.received(7.5, nil)
			return w.succeeds(10, 2)
		}(), check.RuleReservation},
		"reservation used twice": {func() *told {
			w := tell().poll(5, "running", nil)
			w.received(5.05, nil)
			return w.succeeds(10, 2)
		}(), check.RuleReservation},
		"above the budget":          {tell().poll(5, "running", nil).poll(10, "running", nil).poll(15, "running", nil).poll(20, "running", nil).succeeds(25, 5), check.RuleBudget},
		"after the last failure":    {tell().poll(5, "", busy("")).poll(10, "", busy("")).poll(15, "", busy("")).poll(20, "running", nil), check.RuleFailures},
		"before Retry-After":        {tell().poll(5, "", busy("9")).succeeds(13.9, 2), check.RuleRetryAfter},
		"before a fraction's end":   {tell().poll(5, "", busy("1, 6.5")).succeeds(11.9, 2), check.RuleRetryAfter},
		"before a date":             {tell().poll(5, "", busy(at(20).Format("Mon, 02 Jan 2006 15:04:05 GMT"))).succeeds(19, 2), check.RuleRetryAfter},
		"sooner than min_delay":     {tell().poll(5, "running", nil).succeeds(6.9, 2), check.RuleMinDelay},
		"at the deadline":           {tell().poll(5, "running", nil).succeeds(60.6, 2), check.RuleDeadline},
		"sent at it, by itself":     {tell().poll(5, "running", nil).succeeds(60.1, 2), check.RuleDeadline},
		"after an extension's end":  {tell().poll(50, "running", nil).escalates(55).decides(56, extend("d", 10, 2)).succeeds(66.6, 2), check.RuleDeadline},
		"while a person is asked":   {tell().poll(5, "running", nil).escalates(6).succeeds(10, 2), check.RuleEscalated},
		"on in an unknown state":    {tell().poll(5, "archiving", nil).succeeds(10, 2), check.RuleStop},
		"on after a failure":        {tell().poll(5, "failed", nil).succeeds(10, 2), check.RuleStop},
		"cancel without a decision": {tell().poll(5, "running", nil).cancel(9).poll(12, "running", nil), check.RuleCancel},
		"cancel sent twice":         {tell().poll(5, "running", nil).decides(8, decision(wire.DecisionCancel)).cancel(9).cancel(12).poll(15, "running", nil), check.RuleCancel},
		"one extension too many":    {tell().poll(5, "running", nil).decides(6, extend("d", 90, 1)).decides(7, extend("e", 90, 1)).succeeds(10, 2), check.RuleDecision},
		"decision that nobody sent": {tell().poll(5, "running", nil).invents(6, extend("d", 90, 1)).succeeds(10, 2), check.RuleDecision},
		"answer that was not given": {tell().poll(5, "running", nil).says("queued").succeeds(10, 2), check.RuleAnswer},
		"held back and sent":        {tell().heldBack(5, enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED).leaks(6), check.RuleAnswer},
		"timed out and sent":        {tell().heldBack(5, enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT).leaks(6), check.RuleAnswer},
		"withdrawn and sent":        {tell().heldBack(5, enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED).leaks(6), check.RuleAnswer},
		"refused and sent":          {tell().refused(5).leaks(6), check.RuleAnswer},
		"success nobody spoke of":   {tell().poll(5, "running", nil).closes(9, outcome(wire.StatusSucceeded, "running", wire.Counters{StatusRequestsUsed: 1}, map[string]int{"200": 1})), check.RuleOutcome},
		"failure nobody spoke of":   {tell().poll(5, "running", nil).closes(9, outcome(wire.StatusFailed, "running", wire.Counters{StatusRequestsUsed: 1}, map[string]int{"200": 1})), check.RuleOutcome},
		"success thrown away":       {tell().poll(5, "succeeded", nil).closes(9, outcome(wire.StatusUnresolved, "succeeded", wire.Counters{StatusRequestsUsed: 1}, map[string]int{"200": 1})), check.RuleOutcome},
		"unsigned and applied":      {tell().trusts().poll(5, "running", nil).decides(6, extend("d", 90, 1)).succeeds(10, 2), check.RuleSigned},
		"changed after signing":     {tell().trusts().poll(5, "running", nil).decides(6, more(signed(extend("d", 90, 1)))).succeeds(10, 2), check.RuleSigned},
		"signed in another's name":  {tell().trusts().poll(5, "running", nil).decides(6, signed(by("ben", extend("d", 90, 1)))).succeeds(10, 2), check.RuleSigned},
		"two nudges followed":       {tell().poll(5, "running", nil).nudged(6).nudged(7).succeeds(10, 2), check.RuleNudge},
		"nudges that nobody sent":   {tell().poll(5, "running", nil).closes(9, outcome(wire.StatusUnresolved, "running", wire.Counters{StatusRequestsUsed: 1, NudgesReceived: 1}, map[string]int{"200": 1})), check.RuleCounters},
		"nudged past Retry-After":   {tell().poll(5, "", busy("9")).nudged(6).succeeds(8, 2), check.RuleRetryAfter},
		"nudged past min_delay":     {tell().poll(5, "running", nil).nudged(5.5).succeeds(6, 2), check.RuleMinDelay},
		"counting from one again":   {tell().poll(5, "running", nil).continues(6, "run-2", "run-1").forgetful().succeeds(10, 2), check.RuleCounters},
		"counter too low":           {tell().poll(5, "running", nil).succeeds(10, 1), check.RuleCounters},
		"audit changed":             {tell().poll(5, "running", nil).escalates(6).decides(7, decision(wire.DecisionClose)).closes(7, closed).rewritten(), check.RuleAudit},
		"audit shortened":           {tell().poll(5, "running", nil).escalates(6).decides(7, decision(wire.DecisionClose)).closes(7, closed).shortened(), check.RuleAudit},
	} {
		require.Contains(t, c.story.broken(), c.want, name)
	}
}

// TestFleet: what one wait was told, another that shares worker and credential heeds, from when the worker has learned of it.
func TestFleet(t *testing.T) {
	t.Parallel()
	limited := func(r *check.Request) { r.Status, r.RetryAfter = 429, []string{"9"} }
	asked := func(r *check.Request) { r.RetryAfter = []string{"9"} }
	for name, c := range map[string]struct {
		first func(*check.Request)
		next  *told
		want  int
	}{
		"after its end":              {limited, tell().poll(14, "running", nil), 0},
		"before its end":             {limited, tell().poll(13.9, "running", nil), 1},
		"503":                        {busy("9"), tell().poll(13.9, "running", nil), 1},
		"without a number":           {busy(""), tell().poll(6, "running", nil), 0},
		"of one job alone":           {asked, tell().poll(6, "running", nil), 0},
		"begun before it was known":  {limited, tell().poll(5.1, "running", nil), 0},
		"another worker":             {limited, tell().poll(6, "running", nil).by("8@host", "shared"), 0},
		"another credential":         {limited, tell().poll(6, "running", nil).by("7@host", "own"), 0},
		"two of those that share it": {limited, tell().poll(6, "running", nil).poll(12, "running", nil), 2},
	} {
		var fleet check.Fleet
		fleet.Add(tell().poll(5, "running", c.first).wait)
		fleet.Add(c.next.wait)
		require.Len(t, fleet.Check(), c.want, name)
		for _, found := range fleet.Check() {
			require.Equal(t, check.RuleHold, found.Rule, name)
		}
	}
}

// by has all requests sent by that worker with that credential.
func (t *told) by(worker, credential string) *told {
	for _, event := range t.events {
		if scheduled := event.GetActivityTaskScheduledEventAttributes(); scheduled != nil {
			scheduled.Input = payload(wire.PollRequest{Target: wire.Target{CredentialRef: credential}, MayHoldBack: true})
		}
		if started := event.GetActivityTaskStartedEventAttributes(); started != nil {
			started.Identity = worker
		}
	}
	return t
}

// window says how long a question stays open.
func (t *told) window(seconds int) *told {
	t.wait.Spec.Escalation.DecisionWindowSeconds = &seconds
	return t
}

// forgetful has the audit count its reservations from one again.
func (t *told) forgetful() *told {
	t.reserved = 0
	return t
}

// invents puts a decision into the audit that never came in.
func (t *told) invents(seconds float64, d wire.Decision) *told {
	t.entry(seconds, wire.EventDecisionApplied, &d)
	return t
}

// says changes what the provider claims to have answered last.
func (t *told) says(state string) *told {
	t.wait.Requests[len(t.wait.Requests)-1].State = state
	return t
}

// rewritten changes an entry and leaves its hash.
func (t *told) rewritten() *told {
	t.wait.Runs[0].Audit.Entries[1].Reason = "something else"
	return t
}

// shortened leaves the last entry out.
func (t *told) shortened() *told {
	audit := &t.wait.Runs[0].Audit
	audit.Entries = audit.Entries[:len(audit.Entries)-1]
	audit.Head = audit.Entries[len(audit.Entries)-1].Hash
	return t
}

// TestEntryHash holds the checker's own canonical form against a text written out by hand from the documentation.
func TestEntryHash(t *testing.T) {
	t.Parallel()
	entry := wire.Entry{
		Seq: 2, At: time.Date(2026, 3, 1, 12, 0, 0, 5e6, time.UTC), Event: wire.EventDecisionApplied, RawState: "läuft \"a\"\n",
		DeadlineAt: new(at(60)), Decision: json.RawMessage(`{"seconds": 9, "kind": "extend"}`), Prev: "sha256:00",
	}
	//nolint:testifylint // its order and its spaces are the point
	require.Equal(t, `{"seq":2,"at":"2026-03-01T12:00:00.005Z","event":"decision_applied","raw_state":"läuft \"a\"\n","category":"",`+
		`"http_status":0,"provider_request_id":"","next_poll_at":null,"delay_source":"","status_requests_used":0,"max_status_requests":0,`+
		`"deadline_at":"2026-03-01T12:01:00.000Z","reason":"","detail":"","decision":{"kind":"extend","seconds":9},"table_digest":"","prev":"sha256:00"}`,
		check.CanonicalEntry(entry))
}

// fails ends the run with a failure of the given type.
func (t *told) fails(seconds float64, kind string) *told {
	t.event(seconds, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED, func(e *historypb.HistoryEvent) {
		e.Attributes = &historypb.HistoryEvent_WorkflowExecutionFailedEventAttributes{
			WorkflowExecutionFailedEventAttributes: &historypb.WorkflowExecutionFailedEventAttributes{
				Failure: &failurepb.Failure{FailureInfo: &failurepb.Failure_ApplicationFailureInfo{
					ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{Type: kind},
				}},
			},
		}
	})
	return t
}

// TestWaited: a run that could not be run is nobody's predecessor, and whatever else failed is looked at.
func TestWaited(t *testing.T) {
	t.Parallel()
	requested := tell()
	requested.reserves(1, wire.ActivityPollStatus)
	for name, c := range map[string]struct {
		give *told
		want []string
	}{
		"replaced":        {tell().fails(1, wire.ErrorInvalidSpec).run(""), []string{"run-2"}},
		"replaced twice":  {tell().fails(1, wire.ErrorInvalidSpec).run("").fails(2, wire.ErrorInvalidSpec).run(""), []string{"run-3"}},
		"the last":        {tell().fails(1, wire.ErrorInvalidSpec), []string{"run-1"}},
		"another failure": {tell().fails(1, "Broken").run(""), []string{"run-1", "run-2"}},
		"sent a request":  {requested.fails(2, wire.ErrorInvalidSpec).run(""), []string{"run-1", "run-2"}},
		"continued":       {tell().continues(1, "run-2", "run-1"), []string{"run-1", "run-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ids []string
			for _, run := range check.Waited(c.give.wait.Runs) {
				ids = append(ids, run.ID)
			}
			require.Equal(t, c.want, ids)
		})
	}
}
