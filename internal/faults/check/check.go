// Package check checks what is left after a run of many waits against the rules: the provider's own log, the histories and the
// outcomes. It is written from the rules alone and shares no code with the core that it checks.
package check

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	historypb "go.temporal.io/api/history/v1"

	"github.com/jobwait/jobwait/wire"
)

// Arrival is how long after it was sent a request may be recorded by the provider: on a loaded machine the sending and the
// receiving process must each get a processor. Rules about what is sent too late allow for it; rules about what is sent too early
// need not, because arriving late cannot break them.
const Arrival = 500 * time.Millisecond

// Wait is one wait with everything that the three witnesses say about it.
type Wait struct {
	Spec wire.Spec
	// Results are the result references that the provider can give for the job.
	Results []string
	// Runs are the runs of the workflow id, in the order of their starts.
	Runs []Run
	// Requests are the requests about the job that the provider received, in the order of arrival.
	Requests []Request
	// Keys are the trusted keys, one of which must sign each decision. Empty means that decisions need no signature.
	Keys []wire.DecisionKey
	// Approval says when a person has to approve the wait's credential; empty means never.
	Approval wire.ApprovalRule
	// Most is what one decision may grant.
	Most wire.GrantBounds
}

// Run is one run of a wait's workflow.
type Run struct {
	ID      string
	History *historypb.History
	Audit   wire.AuditView
}

// Request is one line of the provider's log.
type Request struct {
	ReceivedAt time.Time `json:"received_at"`
	Kind       string    `json:"kind"` // "status", "cancel", "submit" or "other"
	Job        string    `json:"job"`
	Status     int       `json:"status"`
	State      string    `json:"state"`
	AnsweredAt time.Time `json:"answered_at"`
	RetryAfter []string  `json:"retry_after"`
	Ending     string    `json:"ending"` // "answered", or how else it ended
	Authorized bool      `json:"authorized"`

	// Of a submission: its key, which submission it is by its body, and whether it has made Job.
	IdempotencyKey string `json:"idempotency_key,omitempty"`
	Report         string `json:"report,omitempty"`
	Made           bool   `json:"made,omitempty"`
}

// Violation is one rule that one wait has broken.
type Violation struct {
	Job  string `json:"job"`
	Rule string `json:"rule"`
	Text string `json:"text"`
}

func (v Violation) String() string { return v.Job + ": " + v.Rule + ": " + v.Text }

// The rules.
const (
	RuleLost        = "lost"        // every wait has an outcome, or an open question with an end
	RuleStuck       = "stuck"       // no workflow task fails
	RuleOwner       = "owner"       // one chain of runs per job, and never two requests at once
	RuleReservation = "reservation" // each request at the provider was reserved in history before it, and for it alone
	RuleBudget      = "budget"      // never more status requests than allowed, grants included
	RuleFailures    = "failures"    // nothing is sent after the failure that uses up its budget
	RuleRetryAfter  = "retry_after" // nothing is sent before a Retry-After has ended
	RuleMinDelay    = "min_delay"   // nor sooner than min_delay after the last request
	RuleDeadline    = "deadline"    // nor at or after the deadline in force
	RuleEscalated   = "escalated"   // nor while a person is asked
	RuleStop        = "stop"        // nor after an answer that does not mean "wait", unless a person said so
	RuleCancel      = "cancel"      // at most one cancel request per decision to cancel
	RuleDecision    = "decision"    // what was applied was sent, once, and within the number of extensions
	RuleAnswer      = "answer"      // history has what the provider answered
	RuleOutcome     = "outcome"     // the outcome is what the provider said, or what a person decided
	RuleCounters    = "counters"    // its counters are those of the history
	RuleAudit       = "audit"       // the audit is one unbroken chain
	RuleHold        = "hold"        // what one wait was told by 429 or 503, a worker heeds for all that share its credential
	RuleSigned      = "signed"      // where decisions must be signed, what was applied was, by a trusted key
	RuleNudge       = "nudge"       // between two requests one nudge counts
	RulePlan        = "plan"        // a request is planned where the wait may go on, and leaves when it was planned
	RuleReason      = "reason"      // what a person is asked, and why a wait gives up, is so, and is not slept over
	RuleApproval    = "approval"    // where a credential wants a person's approval, nothing leaves without
	RuleCredential  = "credential"  // each request has its credential, and none goes on with one that was turned down
	RuleSubmission  = "submission"  // no second job without a person's word, one key for all that may make it, and one wait for it
)

// Check returns every violation of a wait, as seen at the given time.
func (w Wait) Check(now time.Time) []Violation {
	c := w.read(now)
	for _, rule := range []func(){
		c.ended, c.oneAtATime, c.reserved, c.withinBudget, c.withinFailures, c.neverEarly, c.neverLate,
		c.silentWhileAsking, c.stopsWhereItMust, c.cancelsOnce, c.nothingUnsent, c.answersAgree, c.outcomeAgrees, c.countersAgree,
		c.signedRightly, c.hurriedOnce, c.goesOn, c.sentOnce, c.sentAsKnown, c.allTaken, c.withinBounds,
	} {
		rule()
	}
	return c.found
}

// read takes in what the witnesses say.
func (w Wait) read(now time.Time) *checker { return w.readAs(wire.ActivityPollStatus, now) }

// readAs reads a wait, or a submission as the wait that it is until its job is known.
func (w Wait) readAs(activity string, now time.Time) *checker {
	slices.SortStableFunc(w.Requests, func(a, b Request) int { return a.ReceivedAt.Compare(b.ReceivedAt) })
	c := &checker{Wait: w, now: now, activity: activity}
	c.readHistories()
	c.readAudit()
	c.match()
	return c
}

// checker is a wait being checked, with what was read out of its histories.
type checker struct {
	Wait
	now   time.Time
	found []Violation
	// activity is the one whose requests have the budget: PollStatus, or Submit.
	activity string

	sendings []sending // polls and cancels in the order of their reservations
	arrived  map[string]arrival
	outcome  *wire.Outcome
	closed   bool
	nudges   int  // that came in
	told     bool // to stop

	entries []wire.Entry
	applied []applied
	asking  []interval
}

func (c *checker) say(rule, format string, args ...any) {
	c.found = append(c.found, Violation{Job: c.Spec.ProviderJobID, Rule: rule, Text: fmt.Sprintf(format, args...)})
}

// polls are the sendings that have the budget.
func (c *checker) polls() []sending {
	return slices.DeleteFunc(slices.Clone(c.sendings), func(s sending) bool { return s.activity != c.activity })
}

// match says which reservation each request at the provider belongs to: the one whose activity was running when it came.
func (c *checker) match() {
	for i, request := range c.Requests {
		found := false
		for j := range c.sendings {
			s := &c.sendings[j]
			if s.activity != activityOf(request) || !s.covers(request.ReceivedAt) {
				continue
			}
			if found = true; s.request != nil {
				c.say(RuleReservation, "request %d at %s was sent for the same reservation as another one", i+1, clock(request.ReceivedAt))
			}
			s.request = &c.Requests[i]
			break
		}
		if !found {
			c.say(RuleReservation, "no reservation was under way for request %d (%s) at %s", i+1, request.Kind, clock(request.ReceivedAt))
		}
	}
}

func activityOf(request Request) string {
	switch request.Kind {
	case "cancel":
		return wire.ActivityCancelAtProvider
	case "submit":
		return wire.ActivitySubmit
	default:
		return wire.ActivityPollStatus
	}
}

// interval is a time from which on, and until which, something holds.
type interval struct{ from, until time.Time }

func (i interval) holds(at time.Time) bool {
	return at.After(i.from) && (i.until.IsZero() || at.Before(i.until))
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }

// ByRule counts violations by their rule, for a report.
func ByRule(violations []Violation) map[string]int {
	counts := map[string]int{}
	for _, violation := range violations {
		counts[violation.Rule]++
	}
	return counts
}

// Sort orders violations by rule and job.
func Sort(violations []Violation) {
	slices.SortStableFunc(violations, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Job, b.Job))
	})
}
