package check

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/jobwait/jobwait/wire"
)

// Submission is one submission with everything that the witnesses say about it.
type Submission struct {
	Spec wire.SubmitSpec
	// Keyed reports whether the provider recognises a repeated submission by its key.
	Keyed bool
	// Runs are the runs of the workflow id, in the order of their starts.
	Runs []Run
	// Requests are its submit requests that the provider received, in the order of arrival.
	Requests []Request
	// Waits are the waits for the jobs that the provider made for it, by job id. One without runs was never started.
	Waits map[string]Wait
	// Keys and Most are as in Wait.
	Keys []wire.DecisionKey
	Most wire.GrantBounds
}

// Check returns every violation of a submission, as seen at the given time. Those of its waits are returned by Wait.Check.
func (s Submission) Check(now time.Time) []Violation {
	c := s.read(now)
	if !c.awaits() {
		c.ended()
	}
	for _, rule := range []func(){
		c.oneAtATime, c.reserved, c.withinBudget, c.neverEarly, c.neverLate, c.silentWhileAsking, c.cancelsOnce, c.nothingUnsent,
		c.reservationsCounted, c.signedRightly, c.goesOn, c.sentOnce, c.sentAsKnown, c.withinBounds, c.madeOnce, c.keyKept, c.keyCarried, c.oneWait, c.endedRightly,
	} {
		rule()
	}
	return c.found
}

// read takes in what the witnesses say of the time until the job is known, in which a submission is bound as a wait is.
func (s Submission) read(now time.Time) *submissionChecker {
	const usualRequests = 3
	most := s.Spec.MaxSubmitRequests
	if most == 0 {
		most = usualRequests
	}
	by := s.Spec.Wait.DeadlineAt
	if s.Spec.SubmitBy != nil {
		by = *s.Spec.SubmitBy
	}
	c := &submissionChecker{Submission: s, keys: map[int]string{}, checker: Wait{
		Spec: wire.Spec{
			OperationID: s.Spec.SubmissionID, ProviderJobID: s.Spec.SubmissionID, DeadlineAt: by,
			MaxStatusRequests: most, MaxTransportFailures: most, Schedule: s.Spec.Wait.Schedule, Escalation: s.Spec.Wait.Escalation,
		},
		Runs: s.Runs, Requests: s.Requests, Keys: s.Keys, Most: s.Most,
	}.readAs(wire.ActivitySubmit, now)}
	c.readSubmitted()
	return c
}

// submissionChecker is a submission being checked. Its requests are the checker's, which are in order.
type submissionChecker struct {
	*checker
	Submission Submission
	outcome    *wire.SubmitOutcome
	keys       map[int]string // by generation
}

func (c *submissionChecker) readSubmitted() {
	for _, run := range c.Runs {
		for _, event := range run.History.GetEvents() {
			completed := event.GetWorkflowExecutionCompletedEventAttributes()
			if completed == nil {
				continue
			}
			c.outcome = new(wire.SubmitOutcome)
			if err := json.Unmarshal(data(completed.GetResult()), c.outcome); err != nil {
				c.outcome = nil
				c.say(RuleLost, "the outcome cannot be read: %v", err)
			}
		}
	}
}

// awaits reports whether a wait for one of its jobs goes on, which has to end by itself.
func (c *submissionChecker) awaits() bool {
	for _, wait := range c.Submission.Waits {
		if len(wait.Runs) > 0 && !wait.read(c.now).closed {
			return true
		}
	}
	return false
}

// generationAt is the generation at that time: each resubmit that a person decided begins one.
func (c *submissionChecker) generationAt(at time.Time) int {
	generation := 1
	for _, a := range c.applied {
		generation += count(a.decision.Kind == wire.DecisionResubmit && !a.at.After(at))
	}
	return generation
}

// madeOnce holds what the provider has received against its own word on what it has made.
func (c *submissionChecker) madeOnce() {
	for i, request := range c.Requests {
		for j, before := range c.Requests[:i] {
			same := c.generationAt(before.ReceivedAt) == c.generationAt(request.ReceivedAt)
			switch {
			case same && before.Made && request.Made:
				c.say(RuleSubmission, "request %d made the job %q although request %d had made %q, and nobody had decided to", i+1, request.Job, j+1, before.Job)
			case same && !c.Submission.Keyed && !c.knownForNothing(before):
				c.say(RuleSubmission, "request %d was sent without a key although request %d may have made a job", i+1, j+1)
			case !same && c.Submission.Keyed && before.IdempotencyKey == request.IdempotencyKey:
				c.say(RuleSubmission, "request %d has the key of request %d, which is of another generation", i+1, j+1)
			}
		}
	}
}

// knownForNothing reports whether the wait has learned that the request made no job: a code by which the provider says so came
// through.
func (c *submissionChecker) knownForNothing(request Request) bool {
	for _, s := range c.polls() {
		if s.request == nil || !s.request.ReceivedAt.Equal(request.ReceivedAt) {
			continue
		}
		seen := s.observation()
		return seen != nil && seen.HTTPStatus == request.Status && saysNothingMade(request.Status)
	}
	return false
}

// saysNothingMade are the codes of demo-export after which there is no job, from its documentation.
func saysNothingMade(status int) bool {
	return slices.Contains([]int{
		http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusTooManyRequests,
	}, status)
}

// keyKept: history had key and fingerprint of each request before it could leave; a generation keeps its key, and a submission its
// fingerprint.
func (c *submissionChecker) keyKept() {
	fingerprint := ""
	for n, s := range c.polls() {
		generation, has := c.generationAt(s.scheduled), s.reserved
		kept, known := c.keys[generation]
		switch {
		case has.Generation != generation:
			c.say(RuleSubmission, "reservation %d is of generation %d, by the decisions it is %d", n+1, has.Generation, generation)
		case (has.Key != "") != c.Submission.Keyed:
			c.say(RuleSubmission, "reservation %d has the key %q", n+1, has.Key)
		case known && has.Key != kept:
			c.say(RuleSubmission, "reservation %d has the key %q, its generation had %q", n+1, has.Key, kept)
		case s.request != nil && s.request.IdempotencyKey != has.Key:
			c.say(RuleSubmission, "the request at %s had the key %q, reserved was %q", clock(s.request.ReceivedAt), s.request.IdempotencyKey, has.Key)
		case has.Fingerprint == "" || n > 0 && has.Fingerprint != fingerprint:
			c.say(RuleSubmission, "reservation %d has the fingerprint %q, the one before %q", n+1, has.Fingerprint, fingerprint)
		}
		c.keys[generation], fingerprint = has.Key, has.Fingerprint
	}
}

// keyCarried: a run that continues another has its key and its fingerprint.
func (c *submissionChecker) keyCarried() {
	for _, run := range c.Runs[min(1, len(c.Runs)):] {
		events := run.History.GetEvents()
		if len(events) == 0 {
			continue // said where it was read
		}
		var record struct {
			Prepared struct {
				Submission struct {
					Fingerprint string `json:"fingerprint"`
				} `json:"submission"`
			} `json:"prepared"`
			Submission struct {
				Generation int    `json:"generation"`
				Key        string `json:"key"`
			} `json:"submission"`
		}
		inputs := events[0].GetWorkflowExecutionStartedEventAttributes().GetInput().GetPayloads()
		if len(inputs) < 2 || json.Unmarshal(inputs[1].GetData(), &record) != nil {
			c.say(RuleSubmission, "run %s has no record of the run before", run.ID)
			continue
		}
		if key, sent := c.keys[record.Submission.Generation]; sent && record.Submission.Key != key || record.Prepared.Submission.Fingerprint == "" {
			c.say(RuleSubmission, "run %s goes on with the key %q and the fingerprint %q, sent was the key %q",
				run.ID, record.Submission.Key, record.Prepared.Submission.Fingerprint, key)
		}
	}
}

// oneWait: the job that the submission goes on with was made for it, and one wait has it: its own, or the owner's that it names.
func (c *submissionChecker) oneWait() {
	if c.outcome == nil || c.outcome.ProviderJobID == "" {
		return
	}
	job := c.outcome.ProviderJobID
	wait, made := c.Submission.Waits[job]
	if !made {
		c.say(RuleSubmission, "it goes on with the job %q, which the provider has not made for it", job)
		return
	}
	if begun := len(wait.Runs) > 0; begun != (c.outcome.WaitWorkflowID != "") {
		c.say(RuleSubmission, "the job %q has %d runs of a wait, the outcome names the wait %q", job, len(wait.Runs), c.outcome.WaitWorkflowID)
		return
	}
	if len(wait.Runs) == 0 {
		return
	}
	own := wait.Spec.OperationID == c.Spec.OperationID
	if own != (c.outcome.Owner == nil) {
		c.say(RuleSubmission, "the wait of the job %q is that of %q, the outcome names the owner %v", job, wait.Spec.OperationID, c.outcome.Owner)
	}
	if own {
		c.waitsAsSaid(wait.Spec)
	}
	if ended, told := wait.read(c.now).outcome, c.outcome.Wait; told != nil && (ended == nil || ended.Status != told.Status || ended.AuditHead != told.AuditHead) {
		c.say(RuleOutcome, "the outcome of the wait is told as %q, the wait has another", told.Status)
	}
}

// waitsAsSaid: the wait is for what was submitted, and may use what the spec of the submission says. What a person decides gives it as
// much time again.
func (c *submissionChecker) waitsAsSaid(wait wire.Spec) {
	if wait.RequestFingerprint != c.outcome.Fingerprint {
		c.say(RuleSubmission, "the wait has the fingerprint %q, the submission %q", wait.RequestFingerprint, c.outcome.Fingerprint)
	}
	said := c.Submission.Spec.Wait
	by := limits{deadline: said.DeadlineAt}
	for _, a := range c.applied {
		by.extend(a.at.Add(said.DeadlineAt.Sub(c.opened())))
	}
	if wait.MaxStatusRequests != said.MaxStatusRequests || wait.MaxTransportFailures != said.MaxTransportFailures || wait.DeadlineAt.After(by.deadline) {
		c.say(RuleSubmission, "the wait may send %d requests, fail %d times and go on until %s, the submission says %d, %d and %s", wait.MaxStatusRequests,
			wait.MaxTransportFailures, clock(wait.DeadlineAt), said.MaxStatusRequests, said.MaxTransportFailures, clock(by.deadline))
	}
}

// endedRightly holds the outcome against the provider's word, the histories and the decisions.
func (c *submissionChecker) endedRightly() {
	if c.outcome == nil {
		return
	}
	if c.outcome.SubmissionID != c.Spec.OperationID {
		c.say(RuleOutcome, "the outcome is of submission %q", c.outcome.SubmissionID)
	}
	c.statusAgrees()
	c.auditEnds(c.outcome.AuditEntries, c.outcome.AuditHead)
	if n := len(c.polls()); c.outcome.SubmitRequestsUsed != n {
		c.say(RuleCounters, "the outcome counts %d requests, reserved were %d", c.outcome.SubmitRequestsUsed, n)
	}
	generation := c.generationAt(c.now)
	if c.outcome.Generation != generation || len(c.outcome.Before) != generation-1 {
		c.say(RuleCounters, "the outcome is of generation %d and names %d before, by the decisions it is %d", c.outcome.Generation, len(c.outcome.Before), generation)
	}
	if key, sent := c.keys[generation]; sent && c.outcome.IdempotencyKey != key {
		c.say(RuleSubmission, "the outcome has the key %q, sent was %q", c.outcome.IdempotencyKey, key)
	}
}

// statusAgrees: refused is what made no job, and every other end but unresolved is the wait's, or the provider's at once.
func (c *submissionChecker) statusAgrees() {
	said := c.outcome.Status
	switch {
	case said == wire.StatusUnresolved:
	case said == wire.StatusRefused:
		for i, request := range c.Requests {
			if request.Made && c.generationAt(request.ReceivedAt) == c.outcome.Generation {
				c.say(RuleOutcome, "refused, and request %d made the job %q", i+1, request.Job)
			}
		}
	case c.outcome.Wait != nil:
		if c.outcome.Wait.Status != said {
			c.say(RuleOutcome, "%s, and the wait ended %s", said, c.outcome.Wait.Status)
		}
	default:
		if n := len(c.Requests); n == 0 || c.Requests[n-1].State != string(said) {
			c.say(RuleOutcome, "%s, which neither a wait nor the answer to the submission has said", said)
		}
	}
}
