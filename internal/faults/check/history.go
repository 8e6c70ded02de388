package check

import (
	"encoding/json"
	"slices"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/jobwait/jobwait/wire"
)

// sending is one activity that may have sent a request.
type sending struct {
	activity                   string
	scheduled, started, closed time.Time // zero: it did not come that far; started is the last attempt's
	// worker is who ran the last attempt; credential is what it was to send with; yields says that it may be held back.
	worker, credential string
	yields             bool
	// notAfter is the time by which it was to leave; repeated says that the server would have had it sent again after a time-out.
	notAfter time.Time
	repeated bool
	// unsent is why its activity brought no result and yet sent nothing, by the history's word; empty: it may have sent.
	unsent string
	// poll is what a status request, or one to submit, taught; nil when its activity brought no result.
	poll *wire.PollResult
	// reserved is what history had of a request to submit before it could leave.
	reserved wire.SubmitRequest
	// request is the one that the provider has received for it.
	request *Request
}

// covers reports whether a request that arrived at that time can be this one's.
func (s sending) covers(at time.Time) bool {
	return !s.started.IsZero() && !at.Before(s.started) && (s.closed.IsZero() || !at.After(s.closed.Add(Arrival)))
}

// observation is what was learned of an answer; nil when nothing was.
func (s sending) observation() *wire.Observation {
	if s.poll == nil {
		return nil
	}
	return s.poll.Observation
}

// read is the job fact that the wait took from the answer; nil when there was none.
func (s sending) read() *wire.JobFact {
	if seen := s.observation(); seen != nil && seen.Answer == wire.AnswerRead {
		return seen.Job
	}
	return nil
}

// arrival is a decision that came in by a signal or an update.
type arrival struct {
	decision wire.Decision
	times    int
}

// Waited returns the runs without those whose spec could not be run, if other runs came after them: such a run waited for nothing,
// and the next caller takes over the workflow id. It is kept if it sent a request, or if it is the last.
func Waited(runs []Run) []Run {
	kept := slices.Clone(runs)
	for len(kept) > 1 && neverWaited(kept[0].History.GetEvents()) {
		kept = kept[1:]
	}
	return kept
}

func neverWaited(events []*historypb.HistoryEvent) bool {
	if len(events) == 0 {
		return false
	}
	failure := events[len(events)-1].GetWorkflowExecutionFailedEventAttributes().GetFailure()
	return failure.GetApplicationFailureInfo().GetType() == wire.ErrorInvalidSpec &&
		!slices.ContainsFunc(events, func(event *historypb.HistoryEvent) bool {
			name := event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName()
			return name != "" && name != wire.ActivityPrepare
		})
}

// readHistories reads the runs one after the other and holds them against being one chain.
func (c *checker) readHistories() {
	c.arrived = map[string]arrival{}
	next := ""
	for i, run := range c.Runs {
		if len(run.History.GetEvents()) == 0 {
			c.say(RuleLost, "run %s has no history", run.ID)
			continue
		}
		started := run.History.Events[0].GetWorkflowExecutionStartedEventAttributes()
		if i > 0 && (next != run.ID || started.GetContinuedExecutionRunId() != c.Runs[i-1].ID) {
			c.say(RuleOwner, "run %s does not continue run %s", run.ID, c.Runs[i-1].ID)
		}
		next = c.readRun(run)
	}
	if len(c.Runs) == 0 {
		c.say(RuleLost, "there is no run")
	}
	slices.SortStableFunc(c.sendings, func(a, b sending) int { return a.scheduled.Compare(b.scheduled) })
}

// readRun reads the events of a run and returns the run that it continues as.
func (c *checker) readRun(run Run) (next string) {
	activities := map[int64]*sending{}
	failure := ""
	for _, event := range run.History.GetEvents() {
		c.readActivity(event, activities)
		c.readDecision(event)
		switch event.GetEventType() { //nolint:exhaustive // the others are read above or say nothing
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED:
			failure = c.readTaskFailure(run, event.GetWorkflowTaskFailedEventAttributes())
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
			failure = ""
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
			c.told = true
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
			next = event.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
			c.readOutcome(event.GetWorkflowExecutionCompletedEventAttributes().GetResult())
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
			c.closed = true
			c.say(RuleLost, "failed: %s", event.GetWorkflowExecutionFailedEventAttributes().GetFailure().GetMessage())
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT,
			enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
			c.closed = true
			c.say(RuleLost, "ended without an outcome: %s", event.GetEventType())
		}
	}
	if failure != "" {
		c.say(RuleStuck, "the last workflow task of run %s failed: %s", run.ID, failure)
	}
	for _, s := range activities {
		c.sendings = append(c.sendings, *s)
	}
	return next
}

func (c *checker) readActivity(event *historypb.HistoryEvent, activities map[int64]*sending) {
	at := event.GetEventTime().AsTime()
	switch event.GetEventType() { //nolint:exhaustive // only activities are read here
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		scheduled := event.GetActivityTaskScheduledEventAttributes()
		name := scheduled.GetActivityType().GetName()
		if name == c.activity || name == wire.ActivityCancelAtProvider {
			s := &sending{activity: name, scheduled: at, repeated: repeats(scheduled.GetRetryPolicy())}
			s.readRequest(scheduled.GetInput())
			activities[event.GetEventId()] = s
			if c.told {
				c.say(RuleStop, "reserved at %s after it was told to stop", clock(at))
			}
		}
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED:
		started := event.GetActivityTaskStartedEventAttributes()
		if s := activities[started.GetScheduledEventId()]; s != nil {
			s.started, s.worker = at, started.GetIdentity()
		}
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		completed := event.GetActivityTaskCompletedEventAttributes()
		if s := activities[completed.GetScheduledEventId()]; s != nil {
			s.closed = at
			c.readResult(s, completed.GetResult())
		}
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:
		failed := event.GetActivityTaskFailedEventAttributes()
		if s := activities[failed.GetScheduledEventId()]; s != nil {
			s.closed = at
			if failed.GetFailure().GetApplicationFailureInfo().GetType() == wire.ErrorHeldBack {
				s.unsent = "it was held back"
			}
		}
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
		timedOut := event.GetActivityTaskTimedOutEventAttributes()
		if s := activities[timedOut.GetScheduledEventId()]; s != nil {
			s.closed, s.unsent = at, beforeSending(timedOut.GetFailure())
		}
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED:
		if s := activities[event.GetActivityTaskCanceledEventAttributes().GetScheduledEventId()]; s != nil {
			s.closed, s.unsent = at, "it was withdrawn before it started"
		}
	}
}

// beforeSending tells time-outs that end the waiting for a worker from the one that ends an attempt, which may have sent.
func beforeSending(failure *failurepb.Failure) string {
	switch kind := failure.GetTimeoutFailureInfo().GetTimeoutType(); kind { //nolint:exhaustive // the others may have sent
	case enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START, enumspb.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE:
		return "it timed out (" + kind.String() + ")"
	default:
		return ""
	}
}

// readRequest reads what the rules on shared holds need of an activity's input.
func (s *sending) readRequest(input *commonpb.Payloads) {
	var request struct {
		CredentialRef  string     `json:"credential_ref"`
		MayHoldBack    bool       `json:"may_hold_back"`
		HoldBackBefore *time.Time `json:"hold_back_before"`
		NotAfter       time.Time  `json:"not_after"`
	}
	if json.Unmarshal(data(input), &request) == nil { // the product's own tests hold the inputs
		s.credential, s.yields = request.CredentialRef, request.MayHoldBack || request.HoldBackBefore != nil
		s.notAfter = request.NotAfter
	}
	if s.activity == wire.ActivitySubmit {
		_ = json.Unmarshal(data(input), &s.reserved) // without its key and fingerprint the rules find it
	}
}

// repeats reports whether the server has an activity run again after a time-out by which it may have sent something.
func repeats(policy *commonpb.RetryPolicy) bool {
	final := policy.GetNonRetryableErrorTypes()
	ends := slices.Contains(final, "TemporalTimeout:StartToClose") && slices.Contains(final, "TemporalTimeout:Heartbeat")
	return policy.GetMaximumAttempts() != 1 && !ends
}

func (c *checker) readResult(s *sending, result *commonpb.Payloads) {
	if s.activity == wire.ActivityCancelAtProvider {
		return
	}
	var poll wire.PollResult // a submission's result has these fields, too
	if err := json.Unmarshal(data(result), &poll); err != nil {
		c.say(RuleAnswer, "the result of the poll scheduled at %s: %v", clock(s.scheduled), err)
		return
	}
	s.poll = &poll
}

// readTaskFailure tells code that does not replay, which is a fault whatever comes afterwards, from what a worker or a server
// that goes away explains. Such a failure is returned: the next attempt has to do better.
func (c *checker) readTaskFailure(run Run, failed *historypb.WorkflowTaskFailedEventAttributes) string {
	what := failed.GetCause().String() + ": " + failed.GetFailure().GetMessage()
	if failed.GetCause() == enumspb.WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR {
		c.say(RuleStuck, "a workflow task of run %s failed: %s", run.ID, what)
	}
	return what
}

func (c *checker) readOutcome(result *commonpb.Payloads) {
	c.closed = true
	if c.activity == wire.ActivitySubmit {
		return // which its own rules read
	}
	var outcome wire.Outcome
	if err := json.Unmarshal(data(result), &outcome); err != nil {
		c.say(RuleLost, "the outcome cannot be read: %v", err)
		return
	}
	c.outcome = &outcome
}

// readDecision notes decisions as they came in. A refused update is in history too; what was applied is the audit's to say.
func (c *checker) readDecision(event *historypb.HistoryEvent) {
	var payload []byte
	kind := wire.DecisionKind("")
	switch event.GetEventType() { //nolint:exhaustive // only these two bring decisions
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
		signal := event.GetWorkflowExecutionSignaledEventAttributes()
		payload = data(signal.GetInput())
		c.nudges += count(signal.GetSignalName() == wire.SignalNudge)
		if signal.GetSignalName() != wire.SignalDecide {
			kind = wire.DecisionKind(signal.GetSignalName()) // the plain signals are named like their kinds
		}
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
		payload = data(event.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetAcceptedRequest().GetInput().GetArgs())
	default:
		return
	}
	var decision wire.Decision
	if json.Unmarshal(payload, &decision) != nil || decision.DecisionID == "" {
		return // an unparsable one; it cannot be applied either
	}
	if kind != "" {
		decision.Kind = kind
	}
	if came := c.arrived[decision.DecisionID]; came.times > 0 {
		c.arrived[decision.DecisionID] = arrival{came.decision, came.times + 1}
		return
	}
	c.arrived[decision.DecisionID] = arrival{decision, 1}
}

func data(payloads *commonpb.Payloads) []byte {
	if len(payloads.GetPayloads()) == 0 {
		return nil
	}
	return payloads.GetPayloads()[0].GetData()
}
