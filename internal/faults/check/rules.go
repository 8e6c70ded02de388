package check

import (
	"maps"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobwait/jobwait/wire"
)

// ended: a wait has an outcome that speaks of it, or it waits for a person, and not for ever.
func (c *checker) ended() {
	if c.outcome != nil {
		if c.outcome.OperationID != c.Spec.OperationID || c.outcome.ProviderJobID != c.Spec.ProviderJobID {
			c.say(RuleOutcome, "the outcome is of operation %q and job %q", c.outcome.OperationID, c.outcome.ProviderJobID)
		}
		return
	}
	if c.closed {
		return // said where it was read
	}
	n := len(c.asking)
	if n == 0 || !c.asking[n-1].until.IsZero() {
		c.say(RuleLost, "it is still open and asks nobody")
		return
	}
	const usualWindow = 24 * time.Hour
	window := usualWindow
	if seconds := c.Spec.Escalation.DecisionWindowSeconds; seconds != nil {
		window = time.Duration(*seconds) * time.Second
	}
	const patience = 30 * time.Second
	if end := c.asking[n-1].from.Add(window); c.now.After(end.Add(patience)) {
		c.say(RuleLost, "the question opened at %s should have lapsed at %s", clock(c.asking[n-1].from), clock(end))
	}
}

// oneAtATime: no two activities that may send overlap, whatever run they are of; nor do requests at the provider.
func (c *checker) oneAtATime() {
	for i := 1; i < len(c.sendings); i++ {
		before, after := c.sendings[i-1], c.sendings[i]
		if before.closed.IsZero() || after.scheduled.Before(before.closed) {
			c.say(RuleOwner, "a request was reserved at %s while the one of %s was under way", clock(after.scheduled), clock(before.scheduled))
		}
	}
	for i := 1; i < len(c.Requests); i++ {
		if before, after := c.Requests[i-1], c.Requests[i]; before.AnsweredAt.After(after.ReceivedAt) {
			c.say(RuleOwner, "request %d came before request %d was answered", i+1, i)
		}
	}
}

// reserved: the history had reserved at least as many requests as the provider had received, at every moment.
func (c *checker) reserved() {
	polls := c.polls()
	for n, request := range c.budgeted() {
		if n >= len(polls) || polls[n].scheduled.After(request.ReceivedAt) {
			c.say(RuleReservation, "request %d came at %s and %d were reserved", n+1, clock(request.ReceivedAt), len(polls))
		}
	}
}

// sentOnce: the server was told to send no request again that may have left.
func (c *checker) sentOnce() {
	for _, s := range c.sendings {
		if s.repeated {
			c.say(RuleReservation, "the request reserved at %s would be sent again by the server after a time-out", clock(s.scheduled))
		}
	}
}

// sentAsKnown: the provider knows the credential of each request, and none goes on with one that was turned down.
func (c *checker) sentAsKnown() {
	for i, request := range c.Requests {
		if !request.Authorized {
			c.say(RuleCredential, "request %d at %s came without its credential", i+1, clock(request.ReceivedAt))
		}
	}
	denied := map[string]time.Time{}
	for _, s := range c.sendings {
		if at, is := denied[s.credential]; is && s.request != nil {
			c.say(RuleCredential, "sent at %s with %q, which was turned down at %s", clock(s.request.ReceivedAt), s.credential, clock(at))
		}
		if seen := s.observation(); seen != nil && (seen.HTTPStatus == http.StatusUnauthorized || seen.HTTPStatus == http.StatusForbidden) {
			denied[s.credential] = s.closed
		}
	}
}

// budgeted are the requests that have the budget.
func (c *checker) budgeted() []Request {
	return slices.DeleteFunc(slices.Clone(c.Requests), func(r Request) bool { return activityOf(r) != c.activity })
}

func (c *checker) withinBudget() {
	for n, request := range c.budgeted() {
		if most := c.limitsAt(request.ReceivedAt).requests; n+1 > most {
			c.say(RuleBudget, "request %d at %s, %d were allowed", n+1, clock(request.ReceivedAt), most)
		}
	}
	for n, poll := range c.polls() {
		if most := c.limitsAt(poll.scheduled).requests; n+1 > most {
			c.say(RuleBudget, "reservation %d at %s, %d were allowed", n+1, clock(poll.scheduled), most)
		}
	}
}

// withinFailures: the failure that uses up a budget is the last thing that happens without a person. One who has the job
// cancelled then wants to see it confirmed, and the next failure is the last.
func (c *checker) withinFailures() {
	transport, limited := 0, 0
	polls := c.polls()
	for i := 1; i < len(polls); i++ {
		before, at := polls[i-1], polls[i].scheduled
		transport += failed(before)
		limited += rateLimited(before)
		allowed := c.limitsAt(at)
		if c.cancelledBetween(before.closed, at) {
			continue
		}
		if failed(before) == 1 && transport >= allowed.transport {
			c.say(RuleFailures, "reserved at %s after %d of %d transport failures", clock(at), transport, allowed.transport)
		}
		if rateLimited(before) == 1 && limited >= allowed.rateLimited {
			c.say(RuleFailures, "reserved at %s after %d of %d answers 429", clock(at), limited, allowed.rateLimited)
		}
	}
}

func (c *checker) cancelledBetween(from, until time.Time) bool {
	return slices.ContainsFunc(c.decidedBetween(from, until), func(d wire.Decision) bool { return d.Kind == wire.DecisionCancel })
}

// failed is 1 for a request that cost a transport failure: no answer, an answer that broke off, or a 5xx.
func failed(poll sending) int {
	seen := poll.observation()
	switch {
	case poll.poll != nil && poll.poll.NotSent != "", poll.unsent != "":
		return 0
	case seen == nil:
		return count(!poll.started.IsZero() && !poll.closed.IsZero())
	default:
		return count(seen.HTTPStatus >= 500 || seen.HTTPStatus == 0 && seen.Answer != wire.AnswerMalformed)
	}
}

func rateLimited(poll sending) int {
	seen := poll.observation()
	return count(seen != nil && seen.HTTPStatus == http.StatusTooManyRequests)
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// neverEarly holds what came against min_delay and against what the answers before it had asked for. An answer that did not
// come through to the wait asks for nothing.
func (c *checker) neverEarly() {
	minimum := time.Second
	if seconds := c.Spec.Schedule.MinDelaySeconds; seconds != nil {
		minimum = time.Duration(*seconds) * time.Second
	}
	heeded := c.heeded()
	for i, request := range c.Requests {
		if i > 0 && request.ReceivedAt.Sub(c.Requests[i-1].ReceivedAt) < minimum {
			c.say(RuleMinDelay, "request %d came %s after the one before", i+1, request.ReceivedAt.Sub(c.Requests[i-1].ReceivedAt))
		}
		for _, wanted := range heeded {
			if activityOf(request) == c.activity && wanted.holds(request.ReceivedAt) {
				c.say(RuleRetryAfter, "request %d came at %s, before %s", i+1, clock(request.ReceivedAt), clock(wanted.until))
			}
		}
	}
}

// wanted is a time in which the provider wants to be left alone, and when the wait had learned of it.
type wanted struct {
	interval
	learned time.Time
}

// heeded are the times in which the provider did not want to be asked, as far as the wait has learned of them.
func (c *checker) heeded() []wanted {
	var out []wanted
	for _, s := range c.sendings {
		if s.request == nil || s.closed.IsZero() {
			continue
		}
		seen := s.observation()
		if s.activity == c.activity && (seen == nil || seen.ReceivedAt == nil) {
			continue
		}
		if wait := retryAfter(s.request.RetryAfter, s.request.AnsweredAt); wait > 0 && !s.request.AnsweredAt.IsZero() {
			out = append(out, wanted{interval{from: s.request.AnsweredAt, until: s.request.AnsweredAt.Add(wait)}, s.closed})
		}
	}
	return out
}

var plainNumber = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)

// retryAfter is the longest wait that the lines ask for. A date counts from the answer's own, which has whole seconds.
func retryAfter(lines []string, answered time.Time) time.Duration {
	var longest time.Duration
	for _, line := range lines {
		if at, err := http.ParseTime(line); err == nil {
			longest = max(longest, at.Sub(answered.Truncate(time.Second)))
			continue
		}
		for part := range strings.SplitSeq(line, ",") {
			part = strings.TrimSpace(part)
			if seconds, err := strconv.ParseFloat(part, 64); err == nil && plainNumber.MatchString(part) {
				longest = max(longest, time.Duration(min(math.Ceil(seconds), 1e9))*time.Second)
			}
		}
	}
	return longest
}

// neverLate holds what came against the deadline in force, what the sender says against it to the millisecond, and until when the
// sender was to send.
func (c *checker) neverLate() {
	for n, request := range c.budgeted() {
		if stop := c.stopAt(request.ReceivedAt); !request.ReceivedAt.Before(stop.Add(Arrival)) {
			c.say(RuleDeadline, "request %d came at %s, the deadline was %s", n+1, clock(request.ReceivedAt), clock(stop))
		}
	}
	for _, poll := range c.polls() {
		if stop := c.stopAt(poll.scheduled); poll.notAfter.IsZero() || poll.notAfter.After(stop) {
			c.say(RuleDeadline, "reserved at %s to leave before %s, the deadline was %s", clock(poll.scheduled), clock(poll.notAfter), clock(stop))
		}
		seen := poll.observation()
		if seen == nil || seen.SentAt == nil {
			continue
		}
		if stop := c.stopAt(*seen.SentAt); !seen.SentAt.Before(stop) {
			c.say(RuleDeadline, "sent at %s by its own account, the deadline was %s", clock(*seen.SentAt), clock(stop))
		}
	}
}

func (c *checker) silentWhileAsking() {
	for _, asked := range c.asking {
		for i, request := range c.Requests {
			if asked.holds(request.ReceivedAt) {
				c.say(RuleEscalated, "request %d came at %s while a person was asked from %s on", i+1, clock(request.ReceivedAt), clock(asked.from))
			}
		}
		for _, s := range c.sendings {
			if asked.holds(s.scheduled.Truncate(time.Millisecond)) { // the audit's times have no more than these
				c.say(RuleEscalated, "a request was reserved at %s while a person was asked from %s on", clock(s.scheduled), clock(asked.from))
			}
		}
	}
}

// waits are the states of demo-export in which a wait may go on by itself, from the provider's documentation.
var waits = []string{"queued", "running", "processing", "cancelling"} //nolint:gochecknoglobals // a constant in all but the language

// stopsWhereItMust: after an answer that came through and does not mean "wait", the next request needs a person's word.
func (c *checker) stopsWhereItMust() {
	polls := c.polls()
	for i := 1; i < len(polls); i++ {
		why := mustStop(polls[i-1])
		if why == "" || len(c.decidedBetween(polls[i-1].closed, polls[i].scheduled)) > 0 || c.waitsIn(polls[i-1].request.State, polls[i].scheduled) {
			continue
		}
		c.say(RuleStop, "asked again at %s after %s, and nobody had decided", clock(polls[i].scheduled), why)
	}
}

// mustStop says in the provider's words why an answer ends the waiting; empty: it does not.
func mustStop(poll sending) string {
	request, seen := poll.request, poll.observation()
	if request == nil || seen == nil || request.Ending != "answered" || seen.HTTPStatus == 0 {
		return ""
	}
	switch {
	case request.Status == http.StatusTooManyRequests, request.Status >= 500, request.Status == http.StatusNotFound:
		return ""
	case request.Status != http.StatusOK:
		return "status " + strconv.Itoa(request.Status)
	case slices.Contains(waits, request.State):
		return ""
	default:
		return "state " + strconv.Quote(request.State)
	}
}

// decidedBetween are the decisions that were applied in that time.
func (c *checker) decidedBetween(from, until time.Time) []wire.Decision {
	var out []wire.Decision
	for _, a := range c.applied {
		if !a.at.Before(from.Truncate(time.Millisecond)) && !a.at.After(until) {
			out = append(out, a.decision)
		}
	}
	return out
}

// waitsIn reports whether a person has said to wait in that state.
func (c *checker) waitsIn(state string, until time.Time) bool {
	return slices.ContainsFunc(c.applied, func(a applied) bool {
		return a.decision.Kind == wire.DecisionTreatAsPending && a.decision.RawState == state && !a.at.After(until)
	})
}

func (c *checker) cancelsOnce() {
	sent := 0
	for _, request := range c.Requests {
		if request.Kind != "cancel" {
			continue
		}
		sent++
		if decided := c.limitsAt(request.ReceivedAt).cancels; sent > decided {
			c.say(RuleCancel, "cancel request %d at %s after %d decisions to cancel", sent, clock(request.ReceivedAt), decided)
		}
	}
	if used, most := c.limitsAt(c.now).extensions, c.maxExtensions(); used > most {
		c.say(RuleDecision, "%d extensions were applied, %d were allowed", used, most)
	}
}

func (c *checker) maxExtensions() int {
	if most := c.Spec.Escalation.MaxExtensions; most != nil {
		return *most
	}
	return 1
}

// nothingUnsent: what history says was not sent has not come to the provider.
func (c *checker) nothingUnsent() {
	for _, s := range c.sendings {
		why := s.unsent
		if s.poll != nil && s.poll.NotSent != "" {
			why = string(s.poll.NotSent)
		}
		if why != "" && s.request != nil {
			c.say(RuleAnswer, "request at %s, and history says that it was not sent: %s", clock(s.request.ReceivedAt), why)
		}
	}
}

// answersAgree: where an answer came through, history says of it what the provider says.
func (c *checker) answersAgree() {
	for _, poll := range c.polls() {
		seen := poll.observation()
		if seen == nil || seen.HTTPStatus == 0 {
			continue
		}
		if poll.request == nil || poll.request.AnsweredAt.IsZero() {
			c.say(RuleAnswer, "the answer %d to the poll of %s was never given", seen.HTTPStatus, clock(poll.scheduled))
			continue
		}
		if seen.HTTPStatus != poll.request.Status {
			c.say(RuleAnswer, "%d was answered at %s, history has %d", poll.request.Status, clock(poll.request.AnsweredAt), seen.HTTPStatus)
		}
		if job := poll.read(); job != nil && job.RawState != poll.request.State && poll.request.Status == http.StatusOK {
			c.say(RuleAnswer, "state %q was answered at %s, history has %q", poll.request.State, clock(poll.request.AnsweredAt), job.RawState)
		}
	}
}

// outcomeAgrees holds the outcome against the last answers of the provider and the decisions of people.
func (c *checker) outcomeAgrees() {
	if c.outcome == nil {
		return
	}
	if c.outcome.Reason == wire.ReasonWaitCancelled && !c.told {
		c.say(RuleOutcome, "it was not told to stop, and ended for that")
	}
	state, unproven := c.lastState()
	switch said := c.outcome.Status; said {
	case wire.StatusSucceeded:
		c.succeededRightly(state)
	case wire.StatusFailed, wire.StatusCancelled, wire.StatusExpired:
		if state != string(said) {
			c.say(RuleOutcome, "%s, and the provider's last word was %q", said, state)
		}
	case wire.StatusUnresolved:
		ended := state == "succeeded" && !unproven || state == "failed" || state == "cancelled" || state == "expired"
		if ended && c.outcome.Detail != wire.DetailStateRegressed {
			c.say(RuleOutcome, "unresolved (%s), although the provider had said %q", c.outcome.Reason, state)
		}
	case wire.StatusRefused: // which is for submissions
		fallthrough
	default:
		c.say(RuleOutcome, "status %q", said)
	}
	if state != c.outcome.RawState && state != "" {
		c.say(RuleOutcome, "raw_state is %q, the provider's last word was %q", c.outcome.RawState, state)
	}
}

// lastState is the provider's last word that came through, and whether it was a success without its result.
func (c *checker) lastState() (state string, unproven bool) {
	for _, poll := range c.polls() {
		if job := poll.read(); job != nil && poll.request != nil && poll.request.Status == http.StatusOK {
			state, unproven = poll.request.State, len(job.Result) == 0
		}
	}
	return state, unproven
}

func (c *checker) succeededRightly(state string) {
	accepted := slices.ContainsFunc(c.applied, func(a applied) bool { return a.decision.Kind == wire.DecisionAcceptResult })
	proven := slices.Contains(c.Results, c.outcome.Result["file"])
	switch {
	case accepted && (state == "succeeded" || state == "partially_succeeded"):
	case state == "succeeded" && proven:
	case state == "partially_succeeded" && proven && c.Spec.AcceptPartial:
	default:
		c.say(RuleOutcome, "succeeded with the result %q, and the provider's last word was %q", c.outcome.Result["file"], state)
	}
}

// countersAgree counts afresh, over all runs.
func (c *checker) countersAgree() {
	c.reservationsCounted()
	if c.outcome == nil {
		return
	}
	want := wire.Counters{StatusRequestsUsed: len(c.polls()), ExtensionsUsed: c.limitsAt(c.now).extensions}
	if told := c.outcome.NudgesReceived; told <= c.nudges { // those that come when it is told to stop count no more
		want.NudgesReceived = told
	}
	answers := map[string]int{}
	for _, poll := range c.polls() {
		want.TransportFailuresUsed += failed(poll)
		want.RateLimitedUsed += rateLimited(poll)
		if kind := answerKind(poll); kind != "" {
			answers[kind]++
		}
	}
	if c.outcome.Counters != want {
		c.say(RuleCounters, "the outcome has %+v, the history %+v", c.outcome.Counters, want)
	}
	if !maps.Equal(c.outcome.Answers, answers) {
		c.say(RuleCounters, "the outcome counts the answers %v, the history %v", c.outcome.Answers, answers)
	}
	c.auditEnds(c.outcome.AuditEntries, c.outcome.AuditHead)
}

// auditEnds: the outcome names the audit that the runs show.
func (c *checker) auditEnds(entries int, head string) {
	if n := len(c.entries); n != entries || n > 0 && c.entries[n-1].Hash != head {
		c.say(RuleAudit, "the outcome has %d entries with the head %.20s, the runs show %d", entries, head, n)
	}
}

// hurriedOnce: between two requests one nudge brings the next one forward, none while a person is asked, and none the last one. That
// it never comes too early is held by the rules on every request.
func (c *checker) hurriedOnce() {
	followed, asked, reserved := false, false, 0
	for _, entry := range c.entries {
		switch entry.Event { //nolint:exhaustive // the others let no more nudges count
		case wire.EventRequestReserved, wire.EventEscalated, wire.EventDecisionApplied:
			followed, asked = false, entry.Event == wire.EventEscalated
			reserved += count(entry.Event == wire.EventRequestReserved)
		case wire.EventNudged:
			if entry.Reason != string(wire.NudgeFollowed) {
				continue
			}
			if followed || asked || reserved+1 >= c.limitsAt(entry.At).requests {
				c.say(RuleNudge, "entry %d follows a nudge: another since the last request %t, while a person is asked %t, %d requests reserved", entry.Seq, followed, asked, reserved)
			}
			followed = true
		}
	}
}

// reservationsCounted: the nth reservation says that it is the nth, whatever run it is of.
func (c *checker) reservationsCounted() {
	n := 0
	for _, entry := range c.entries {
		if entry.Event != wire.EventRequestReserved {
			continue
		}
		if n++; entry.StatusRequestsUsed != n {
			c.say(RuleCounters, "entry %d counts %d status requests, it is number %d", entry.Seq, entry.StatusRequestsUsed, n)
		}
	}
}

// answerKind is the name under which people find an answer: its status, else what broke; empty: nothing was sent.
func answerKind(poll sending) string {
	seen := poll.observation()
	switch {
	case seen == nil && failed(poll) == 1:
		return wire.TransportLost
	case seen == nil:
		return ""
	case seen.HTTPStatus != 0:
		return strconv.Itoa(seen.HTTPStatus)
	case seen.Detail != "":
		return seen.Detail
	default:
		return string(seen.Answer)
	}
}
