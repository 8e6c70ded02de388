package check

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/jobwait/jobwait/wire"
)

// story is a wait's audit, read from its first entry on: what may follow depends on what came before.
type story struct {
	*checker
	reserved int        // requests that have the budget
	planned  *time.Time // when the next one may leave; nil: none is planned
	decided  bool       // somebody has decided something since the last one was reserved
	cancels  bool       // a cancel was decided and has not left yet
	asked    bool       // a question is open, or was answered by the decision that ends the wait
	due      due        // what the last answer leaves to do
	through  int        // up to which request a person has approved, beside all of them
	approved bool       // all of them
}

// due is why, and since when, a wait has to ask or to end; no reason: it may go on.
type due struct {
	why string
	at  time.Time
}

// goesOn holds each step of the wait against the steps before it, the answers and the limits.
func (c *checker) goesOn() {
	s := &story{checker: c}
	for _, entry := range c.entries {
		s.step(entry)
	}
	if n := len(c.polls()); s.reserved != n && len(c.entries) > 0 {
		c.say(RuleCounters, "the audit has %d reservations, the history %d", s.reserved, n)
	}
}

func (s *story) step(entry wire.Entry) {
	switch entry.Event { //nolint:exhaustive // after the others the wait stands where it stood
	case wire.EventPollPlanned:
		s.plans(entry)
	case wire.EventRequestReserved:
		s.reserves(entry)
	case wire.EventResponseReceived, wire.EventRequestLost:
		s.answered(entry)
	case wire.EventCancelSent:
		s.cancels = false
		s.answered(entry)
	case wire.EventRequestNotSent:
		s.cancels = s.cancels && !strings.HasPrefix(entry.Detail, "cancel")
	case wire.EventEscalated:
		s.asks(entry)
	case wire.EventDecisionApplied:
		s.decides(entry)
	case wire.EventClosed:
		s.closes(entry)
	}
}

// answered notes whether the wait may go on after what came. A cancel that is decided goes first.
func (s *story) answered(entry wire.Entry) {
	if s.activity == wire.ActivityPollStatus && !s.cancels {
		s.due = due{s.mustNot(entry.At), entry.At}
	}
}

// atOnce: what has to be asked, or to end, is not slept over.
func (s *story) atOnce(entry wire.Entry, at time.Time) {
	if at = at.Truncate(time.Millisecond); s.due.why != "" && at.After(s.due.at) {
		s.say(RuleReason, "entry %d comes at %s, and since %s %s", entry.Seq, clock(at), clock(s.due.at), s.due.why)
	}
	s.due = due{}
}

// plans: a request is planned only where the wait may go on by itself or somebody has said so, and for a time at which it may be
// sent.
func (s *story) plans(entry wire.Entry) {
	if why := s.mustNot(entry.At); why != "" {
		s.say(RulePlan, "entry %d plans a request, and %s", entry.Seq, why)
	}
	if s.planned = entry.NextPollAt; s.planned == nil {
		s.say(RulePlan, "entry %d plans a request for no time", entry.Seq)
		return
	}
	if stop := s.stopAt(entry.At); !s.planned.Before(stop) {
		s.say(RuleDeadline, "entry %d plans a request for %s, the deadline is %s", entry.Seq, clock(*s.planned), clock(stop))
	}
	if minimum := s.minimumAt(entry.At); s.planned.Before(minimum) {
		s.say(RuleRetryAfter, "entry %d plans a request for %s, before %s", entry.Seq, clock(*s.planned), clock(minimum))
	}
}

// minimumAt is until when the provider wants to be left alone, by the answers that the wait had at that time.
func (s *story) minimumAt(at time.Time) time.Time {
	var latest time.Time
	for _, asked := range s.heeded() {
		if !asked.learned.Truncate(time.Millisecond).After(at) && asked.until.After(latest) {
			latest = asked.until
		}
	}
	return latest
}

// mustNot says why the wait may not go on at that time; empty: it may.
func (s *story) mustNot(at time.Time) string {
	allowed := s.limitsAt(at)
	switch stop := s.stopAt(at); {
	case !at.Before(stop):
		return "the deadline was " + clock(stop)
	case s.reserved >= allowed.requests:
		return "no request is left"
	case !s.minimumAt(at).Before(stop):
		return "the provider wants to be left alone until " + clock(s.minimumAt(at)) + ", the deadline is " + clock(stop)
	case s.decided:
		return ""
	default:
		return s.lastForbids(at, allowed)
	}
}

// lastForbids says why the wait may not go on after the last answer; empty: it may.
func (s *story) lastForbids(at time.Time, allowed limits) string {
	last := s.last()
	if last == nil || s.activity != wire.ActivityPollStatus { // one that submits may repeat what may have made a job
		return ""
	}
	transport, limited := s.failures()
	switch why := mustStop(*last); {
	case why != "" && !s.waitsIn(last.request.State, at):
		return "the last answer was " + why
	case failed(*last) == 1 && transport >= allowed.transport:
		return "its transport failures are used up"
	case rateLimited(*last) == 1 && limited >= allowed.rateLimited:
		return "its answers 429 are used up"
	default:
		return ""
	}
}

// last is the request that was reserved last.
func (s *story) last() *sending {
	if polls := s.polls(); s.reserved > 0 && s.reserved <= len(polls) {
		return &polls[s.reserved-1]
	}
	return nil
}

// failures are those of the requests until now.
func (s *story) failures() (transport, limited int) {
	polls := s.polls()
	for _, poll := range polls[:min(s.reserved, len(polls))] {
		transport += failed(poll)
		limited += rateLimited(poll)
	}
	return transport, limited
}

// reserves: a request leaves when it was planned, approved where its credential wants that, and after a cancel that was decided.
func (s *story) reserves(entry wire.Entry) {
	switch {
	case s.planned == nil:
		s.say(RulePlan, "entry %d reserves a request that was not planned", entry.Seq)
	case entry.At.Before(*s.planned):
		s.say(RulePlan, "entry %d reserves a request at %s, it was planned for %s", entry.Seq, clock(entry.At), clock(*s.planned))
	}
	if s.cancels {
		s.say(RuleCancel, "entry %d reserves a request before the cancel that was decided", entry.Seq)
	}
	if s.Approval != "" && !s.approved && s.reserved >= s.through {
		s.say(RuleApproval, "entry %d reserves request %d, and nobody has approved it", entry.Seq, s.reserved+1)
	}
	s.reserved, s.planned, s.decided, s.due = s.reserved+1, nil, false, due{}
}

func (s *story) decides(entry wire.Entry) {
	var d wire.Decision
	if json.Unmarshal(entry.Decision, &d) != nil {
		return // said where it was read
	}
	s.decided, s.due = true, due{}
	s.asked = d.Kind == wire.DecisionClose || d.Kind == wire.DecisionAcceptResult
	switch d.Kind { //nolint:exhaustive // the others let nothing out by themselves
	case wire.DecisionCancel:
		s.cancels, s.through = true, s.reserved+confirmRequests // whoever cancels approves what confirms it
	case wire.DecisionApproveRequest:
		s.through, s.approved = s.reserved+1, s.Approval == wire.ApprovalPerOperation
	case wire.DecisionExtend, wire.DecisionTreatAsPending:
		s.grants(entry)
	}
}

// grants: what would stop again at once is not granted.
func (s *story) grants(entry wire.Entry) {
	if s.activity != wire.ActivityPollStatus {
		return // which takes what lets it ask once more
	}
	transport, limited := s.failures()
	allowed, why := s.limitsAt(entry.At), s.mustNot(entry.At)
	if why == "" && (transport >= allowed.transport || limited >= allowed.rateLimited) {
		why = "no failure is left"
	}
	if why != "" {
		s.say(RuleDecision, "entry %d grants what does not help: %s", entry.Seq, why)
	}
}

// closes: a wait asks before it gives up, where a person could let it go on; and what was decided was done.
func (s *story) closes(entry wire.Entry) {
	if s.outcome == nil || s.told {
		return
	}
	s.atOnce(entry, s.outcome.ClosedAt)
	if s.outcome.Status != wire.StatusUnresolved {
		return
	}
	if s.cancels {
		s.say(RuleCancel, "closed with a cancel that was decided and did not leave")
	}
	if s.asked {
		return
	}
	if why := s.unfounded(s.outcome.Reason, entry.At); why != "" {
		s.say(RuleReason, "closed for %s, and %s", s.outcome.Reason, why)
	}
	if s.Spec.Escalation.EscalateOn == nil && s.limitsAt(entry.At).extensions < s.maxExtensions() && slices.Contains(extendable, s.outcome.Reason) {
		s.say(RuleReason, "closed for %s without asking, and it could have been extended", s.outcome.Reason)
	}
}
