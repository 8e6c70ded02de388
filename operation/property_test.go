package operation_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// TestProperties lets a random provider, random people and a random clock drive waits, and holds what must be true of
// every one of them.
func TestProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		world := drawWorld(rt)
		once := world.play(t, false)
		once.requireBounded(rt)
		once.requireCausedWaits(rt)
		once.requireOneCancelPerDecision(rt)
		once.requireApproved(rt)
		once.requireBoundedNudges(rt)
		once.requireProposals(rt)
		once.requireAudit(rt)

		again := world.play(t, false)
		require.Equal(rt, once.commands, again.commands, "the same events gave other commands (R15)")
		require.Equal(rt, once.outcome, again.outcome)

		carried := world.play(t, true)
		require.Equal(rt, once.entries, carried.entries, "carried over to new runs, the wait went another way (R49)")
		require.Equal(rt, once.outcome, carried.outcome)
	})
}

// world is everything that happens to a wait, drawn beforehand, so that it can happen again.
type world struct {
	spec      wire.Spec
	known     operation.Knowledge
	reset     string
	answers   []timedAnswer
	cancels   []wire.CancelResult
	decisions []timedDecision
	nudges    []time.Duration // each so long after the one before
	requests  []timedRequest
	down      []span
	stopAt    time.Duration // 0: never
	notice    time.Duration
	keys      []wire.DecisionKey
	approval  wire.ApprovalRule
	holdsBack bool
}

type timedAnswer struct {
	result  wire.PollResult
	latency time.Duration
	// heldUntil is until when a hold lasts that keeps the request from being sent, from the time when it was reserved on.
	heldUntil time.Duration
}

// timedRequest asks for more so long after the request before it.
type timedRequest struct {
	delay             time.Duration
	seconds, requests int
}

// timedDecision is given so long after the start, or after the opening before it, on whatever is open then.
type timedDecision struct {
	delay  time.Duration
	kind   wire.DecisionKind
	fields map[string]any
	stale  bool // names the opening before
	signer string
}

func drawWorld(rt *rapid.T) world {
	w := world{
		spec:      drawSpec(rt),
		answers:   rapid.SliceOfN(rapid.Custom(drawAnswer), 1, 30).Draw(rt, "answers"),
		cancels:   rapid.SliceOfN(rapid.Custom(drawCancel), 1, 3).Draw(rt, "cancels"),
		decisions: rapid.SliceOfN(rapid.Custom(drawDecision), 0, 12).Draw(rt, "decisions"),
		nudges:    rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) time.Duration { return drawDelay(rt, "nudge after", 300) }), 0, 12).Draw(rt, "nudges"),
		notice:    rapid.SampledFrom([]time.Duration{0, time.Second, 10 * time.Minute}).Draw(rt, "notice"),
		reset:     rapid.SampledFrom([]string{"", "", "", "", "eeeeeeee-0000-4000-8000-000000000001"}).Draw(rt, "reset"),
	}
	if rapid.IntRange(0, 2).Draw(rt, "signed") == 0 {
		w.keys = trusting(map[string]string{"ana": "ana", "inbox": "*"})
	}
	w.requests = rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) timedRequest {
		return timedRequest{
			delay: drawDelay(rt, "request after", 300), seconds: rapid.SampledFrom([]int{0, 1, 60, 1800, 604801}).Draw(rt, "wanted"),
			requests: rapid.IntRange(-1, 4).Draw(rt, "wanted requests"),
		}
	}), 0, 8).Draw(rt, "extension requests")
	w.approval = rapid.SampledFrom([]wire.ApprovalRule{
		"", "", wire.ApprovalNone, wire.ApprovalPerOperation, wire.ApprovalPerRequest, "rule of tomorrow",
	}).Draw(rt, "approval")
	w.holdsBack = rapid.Bool().Draw(rt, "holds back")
	if rapid.Bool().Draw(rt, "cancellable") {
		w.known.Table = cancelTable()
	}
	w.known.FloorSeconds = rapid.SampledFrom([]int{0, 0, 7}).Draw(rt, "floor")
	w.known.CapSeconds = rapid.SampledFrom([]int{0, 0, 45}).Draw(rt, "cap")
	for range rapid.IntRange(0, 2).Draw(rt, "outages") {
		from := start.Add(drawDelay(rt, "down from", 3600))
		w.down = append(w.down, span{from, from.Add(drawDelay(rt, "down for", 7200))})
	}
	if rapid.IntRange(0, 4).Draw(rt, "stops") == 0 {
		w.stopAt = drawDelay(rt, "stop at", 3600)
	}
	return w
}

func drawDelay(rt *rapid.T, label string, most int) time.Duration {
	return time.Duration(rapid.IntRange(1, most*1000).Draw(rt, label)) * time.Millisecond
}

func drawSpec(rt *rapid.T) wire.Spec {
	spec := specWith()
	maybe := func(label string, least, most int) *int {
		if !rapid.Bool().Draw(rt, label+" set") {
			return nil
		}
		return new(rapid.IntRange(least, most).Draw(rt, label))
	}
	spec.DeadlineAt = start.Add(drawDelay(rt, "deadline", 3600))
	if rapid.Bool().Draw(rt, "business") {
		spec.BusinessDeadlineAt = new(start.Add(drawDelay(rt, "business deadline", 3600)))
	}
	spec.MaxStatusRequests = rapid.IntRange(1, 12).Draw(rt, "requests")
	spec.MaxTransportFailures = rapid.IntRange(1, 4).Draw(rt, "failures")
	spec.AcceptPartial = rapid.Bool().Draw(rt, "partial")
	spec.Schedule.InitialDelaySeconds = maybe("initial", 0, 100)
	spec.Schedule.BaseDelaySeconds = maybe("base", 1, 60)
	spec.Schedule.MaxDelaySeconds = new(rapid.IntRange(60, 600).Draw(rt, "max"))
	spec.Schedule.MinDelaySeconds = maybe("min", 1, 20)
	spec.Schedule.RequestTimeoutSeconds = maybe("timeout", 1, 30)
	if spec.Schedule.ExpectedP50Seconds = maybe("p50", 1, 1800); spec.Schedule.ExpectedP50Seconds != nil {
		spec.Schedule.ExpectedP90Seconds = new(rapid.IntRange(*spec.Schedule.ExpectedP50Seconds, 3600).Draw(rt, "p90"))
	}
	spec.Escalation.DecisionWindowSeconds = maybe("window", 60, 7200)
	spec.Escalation.MaxExtensions = maybe("extensions", 0, 4)
	return spec
}

func drawAnswer(rt *rapid.T) timedAnswer {
	a := timedAnswer{latency: drawDelay(rt, "latency", 20)}
	if rapid.IntRange(0, 11).Draw(rt, "unsent") == 0 {
		a.result.Withheld = wire.Withheld{NotSent: rapid.SampledFrom([]wire.NotSent{
			wire.NotSentApprovalRequired, wire.NotSentTooLate, wire.NotSentHistoryReset, wire.NotSentCredentialDenied, wire.NotSentTableMissing, "word of tomorrow",
		}).Draw(rt, "why"), RunID: "dddddddd-0000-4000-8000-000000000001", CredentialVersion: "1"}
		return a
	}
	switch rapid.IntRange(0, 11).Draw(rt, "held") {
	case 0:
		a.result, a.heldUntil = wire.PollResult{Withheld: wire.Withheld{NotSent: wire.NotSentHeldBack}}, drawDelay(rt, "until", 7200)
	case 1:
		a.result = wire.PollResult{Withheld: wire.Withheld{NotSent: wire.NotSentHeldBack}}
	case 2, 3:
		a.result, a.latency = result(drawObservation(rt)), drawDelay(rt, "held for", 900)
		a.result.HeldBack = &wire.HeldBack{Times: 1, Cause: wire.HoldQueue}
	default:
		a.result = result(drawObservation(rt))
	}
	return a
}

func drawObservation(rt *rapid.T) wire.Observation {
	states := []string{
		"queued", "running", "running", "running", "cancelling", "succeeded", "partially_succeeded", "failed", "cancelled",
		"expired", "awaiting_review", "archiving",
	}
	seen := rapid.SampledFrom([]wire.Observation{
		failed(wire.AnswerTransportFailure, 0, wire.TransportTimeout), failed(wire.AnswerServerError, 503, ""),
		failed(wire.AnswerRateLimited, 429, ""), failed(wire.AnswerDenied, 401, ""), failed(wire.AnswerNotFound, 404, ""),
		failed(wire.AnswerUnexpected, 302, ""), failed(wire.AnswerMalformed, 200, wire.MalformedHTML), failed("word of tomorrow", 200, ""),
		read(""), read(""), read(""), read(""), read(""), read(""), read(""), read(""), read(""), read(""), read(""), read(""),
	}).Draw(rt, "answer")
	if seen.Job != nil {
		seen = read(rapid.SampledFrom(states).Draw(rt, "state"))
		if rapid.Bool().Draw(rt, "proof") {
			seen.Job.Result = map[string]string{"file": "f"}
		} else if seen.Job.Category == wire.CategorySuccess {
			seen.Job.Unproven = []string{"result_url"}
		}
		seen.Job.OtherJob = rapid.IntRange(0, 19).Draw(rt, "other job") == 0
	}
	seen.CredentialRef, seen.CredentialVersion = "demo", "1"
	return drawGuidance(rt, seen)
}

func drawGuidance(rt *rapid.T, seen wire.Observation) wire.Observation {
	numbers := []int64{0, 1, 30, 90, 600, 5000, 1 << 40, 1<<63 - 1, -1 << 63}
	if rapid.IntRange(0, 3).Draw(rt, "retry-after") == 0 {
		seen = retryAfter(seen, rapid.SampledFrom(numbers).Draw(rt, "seconds"))
	}
	if rapid.IntRange(0, 3).Draw(rt, "hint") == 0 {
		seen = hinted(seen, rapid.SampledFrom(numbers).Draw(rt, "hinted"))
	}
	return seen
}

func drawCancel(rt *rapid.T) wire.CancelResult {
	unsent := func(why wire.Withheld) wire.CancelResult { return wire.CancelResult{Withheld: why} }
	return rapid.SampledFrom([]wire.CancelResult{
		{HTTPStatus: 202, Accepted: true},
		{HTTPStatus: 409},
		{Withheld: wire.Withheld{Detail: wire.TransportTimeout}},
		{HTTPStatus: 200, Accepted: true, Confirmed: true},
		unsent(wire.Withheld{NotSent: wire.NotSentHistoryReset, RunID: "ffffffff-0000-4000-8000-000000000001"}),
		unsent(wire.Withheld{NotSent: wire.NotSentTableMissing}),
		unsent(wire.Withheld{NotSent: wire.NotSentHeldBack}),
		unsent(wire.Withheld{NotSent: wire.NotSentTooLate}),
		unsent(wire.Withheld{NotSent: wire.NotSentHeldBack, HeldUntil: new(start.Add(drawDelay(rt, "cancel held until", 7200)))}),
	}).Draw(rt, "cancel")
}

func drawDecision(rt *rapid.T) timedDecision {
	few := func(label string) int { return rapid.SampledFrom([]int{0, 0, 1, 3, -1}).Draw(rt, label) }
	d := timedDecision{
		delay: drawDelay(rt, "after", 600),
		kind: rapid.SampledFrom([]wire.DecisionKind{
			wire.DecisionExtend, wire.DecisionExtend, wire.DecisionExtend, wire.DecisionTreatAsPending, wire.DecisionUseCredential,
			wire.DecisionCancel, wire.DecisionCancel, wire.DecisionAcceptResult, wire.DecisionClose, wire.DecisionRefuse,
			wire.DecisionApproveRequest, wire.DecisionApproveRequest, wire.DecisionApproveRequest, wire.DecisionApproveRequest,
		}).Draw(rt, "kind"),
		fields: map[string]any{
			"seconds":         rapid.SampledFrom([]int{0, 1, 60, 1800, 604801}).Draw(rt, "seconds"),
			"status_requests": few("requests"), "transport_failures": few("failures"), "rate_limited": few("limited"),
			"past_business_deadline": rapid.Bool().Draw(rt, "past business deadline"),
		},
		stale:  rapid.IntRange(0, 9).Draw(rt, "stale") == 0,
		signer: rapid.SampledFrom([]string{"", "ana", "ana", "inbox", "inbox", "mallory"}).Draw(rt, "signer"),
	}
	switch d.kind { //nolint:exhaustive // the others need nothing more
	case wire.DecisionTreatAsPending:
		d.fields["raw_state"] = "archiving"
	case wire.DecisionUseCredential:
		d.fields["credential_ref"] = "spare"
	case wire.DecisionCancel, wire.DecisionAcceptResult, wire.DecisionClose, wire.DecisionApproveRequest:
		d.fields = map[string]any{}
	}
	return d
}

// lived is a wait that was played to its end.
type lived struct {
	*shell

	commands []operation.Command
	// applied are the ids of the decisions that were applied, cancelling and granting how many of them were of that kind.
	applied              map[string]bool
	cancelling, granting int
	// minimum is what the provider asked for in all answers so far, as this test reckons it.
	minimum time.Time
	early   []string
}

func (w world) play(t *testing.T, carry bool) *lived {
	t.Helper()
	snapshot := prepared(t, w.spec, w.known)
	snapshot.ResetRunID, snapshot.DecisionKeys, snapshot.Approval = w.reset, w.keys, w.approval
	snapshot.HoldBack = w.holdsBack
	l := &lived{applied: map[string]bool{}, shell: &shell{
		op: operation.Open(snapshot, firstRun, start, start), now: start, down: w.down, carry: carry,
		trusts:   func(int) []wire.DecisionKey { return w.keys },
		notifier: func(wire.Notification) (string, time.Duration) { return "", w.notice },
	}}
	l.seen = func(command operation.Command) {
		if wait, ok := command.(operation.Wait); !ok || wait.Until != l.alarmFor {
			l.commands = append(l.commands, command)
		}
	}
	polls := 0
	l.provider = func(at time.Time, _ wire.PollRequest) (wire.PollResult, time.Duration) {
		next := w.answers[polls%len(w.answers)]
		polls++
		if at.Before(l.minimum) {
			l.early = append(l.early, fmt.Sprintf("request %d left at %s, before %s", polls, at, l.minimum))
		}
		before := l.minimum
		l.withdrew = func() { l.minimum = before } // what it would have been answered, nobody knows
		l.minimum = latest(l.minimum, asksFor(next, at))
		return arrived(next, at), next.latency
	}
	l.canceller = func(time.Time, wire.CancelRequest) (wire.CancelResult, time.Duration) {
		return w.cancels[(len(l.cancels)-1)%len(w.cancels)], 3 * time.Second
	}
	l.person = firstOf(w.people(t, l), firstOf(w.callers(t), w.nudgers()))
	l.run(t)
	return l
}

// firstOf lets two act, whoever is due first; the first of them where both are.
func firstOf(a, b func(*shell) (time.Time, func())) func(*shell) (time.Time, func()) {
	return func(s *shell) (time.Time, func()) {
		at, act := a(s)
		if other, nudge := b(s); act == nil || nudge != nil && other.Before(at) {
			return other, nudge
		}
		return at, act
	}
}

// callers ask for more one after the other; each third asks again what the one before has asked.
func (w world) callers(t *testing.T) func(*shell) (time.Time, func()) {
	t.Helper()
	i, last := 0, start
	return func(s *shell) (time.Time, func()) {
		if i == len(w.requests) {
			return time.Time{}, nil
		}
		wanted := w.requests[i]
		at := last.Add(wanted.delay)
		return at, func() {
			i, last = i+1, at
			payload, err := json.Marshal(wire.ExtensionRequest{
				RequestID: fmt.Sprintf("r-%d", i-i%3), RequestedBy: "agent-7", ExpectedEffect: "done",
				Seconds: wanted.seconds, StatusRequests: wanted.requests,
			})
			require.NoError(t, err)
			before := s.op.Record().Limits
			_, _ = s.op.RequestExtension(s.now, payload) // the audit has the refusal
			require.Equal(t, before, s.op.Record().Limits, "a request grants nothing (R42)")
		}
	}
}

// nudgers nudge one after the other, every third time with something that cannot be read.
func (w world) nudgers() func(*shell) (time.Time, func()) {
	i, last := 0, start
	return func(s *shell) (time.Time, func()) {
		if i == len(w.nudges) {
			return time.Time{}, nil
		}
		at := last.Add(w.nudges[i])
		return at, func() {
			i, last = i+1, at
			payload := `{"source":"webhook"}`
			if i%3 == 0 {
				payload = `{"source":`
			}
			s.op.Nudge(s.now, []byte(payload))
		}
	}
}

// asksFor is the earliest time that an answer allows: no request of these worlds comes a hundred years later.
func asksFor(a timedAnswer, at time.Time) time.Time {
	if a.heldUntil > 0 {
		return at.Add(a.heldUntil)
	}
	if a.result.Observation == nil || a.result.Observation.Guidance.RetryAfterSeconds == nil {
		return at
	}
	seconds := min(*a.result.Observation.Guidance.RetryAfterSeconds, 100*365*24*3600)
	return at.Add(a.latency).Add(time.Duration(max(seconds, 0)) * time.Second)
}

// arrived puts the times into an answer. A request that is held back leaves three quarters of the way to it.
func arrived(a timedAnswer, at time.Time) wire.PollResult {
	answered, sentAt := a.result, at
	if answered.HeldBack != nil {
		sentAt = at.Add(3 * a.latency / 4)
	}
	if answered.Observation != nil {
		seen := *answered.Observation
		seen.SentAt, seen.ReceivedAt = &sentAt, new(at.Add(a.latency))
		answered.Observation = &seen
	}
	if a.heldUntil > 0 {
		answered.HeldUntil = new(at.Add(a.heldUntil))
	}
	return answered
}

// people decide one after the other: the first after the start, each other after the one before.
func (w world) people(t *testing.T, l *lived) func(*shell) (time.Time, func()) {
	t.Helper()
	i, last, stopped := 0, start, w.stopAt == 0
	return func(s *shell) (time.Time, func()) {
		if at := start.Add(w.stopAt); !stopped && (i == len(w.decisions) || at.Before(last.Add(w.decisions[i].delay))) {
			return at, func() {
				stopped = true
				s.op.StopWaiting()
			}
		}
		if i == len(w.decisions) {
			return time.Time{}, nil
		}
		d := w.decisions[i]
		at := last.Add(d.delay)
		return at, func() {
			i, last = i+1, at
			l.decide(t, d, i)
		}
	}
}

func (l *lived) decide(t *testing.T, d timedDecision, n int) {
	t.Helper()
	fields := map[string]any{
		"kind": d.kind, "decision_id": fmt.Sprintf("d-%d", n%7), "decided_by": "ana", "comment": "c", "escalation_id": "",
	}
	if open := l.op.Question(); open != nil && (d.kind != wire.DecisionCancel || open.Kind != wire.EscalationProposal) {
		fields["escalation_id"] = open.ID
	}
	if d.stale && len(l.openings) > 1 {
		fields["escalation_id"] = l.openings[len(l.openings)-2].ID
	}
	for name, value := range d.fields {
		fields[name] = value
	}
	signing := l.op.View(l.now).Signing
	if signing != nil && d.kind == wire.DecisionCancel && l.op.Escalation() == nil {
		fields["escalation_id"] = signing.WaitID
	}
	if d.signer != "" {
		sign(t, fields, "", d.signer)
	}
	payload, err := json.Marshal(fields)
	require.NoError(t, err)
	reply, refusal := l.op.Decide(l.now, payload, "")
	if refusal != nil {
		return
	}
	require.True(t, signing == nil || d.signer == "ana" || d.signer == "inbox", "applied without a signature that counts (R53)")
	require.False(t, l.applied[reply.DecisionID], "%s was applied twice (R40)", reply.DecisionID)
	l.applied[reply.DecisionID] = true
	switch d.kind { //nolint:exhaustive // the others end the wait, or grant nothing
	case wire.DecisionCancel:
		l.cancelling++
	case wire.DecisionExtend, wire.DecisionTreatAsPending:
		l.granting++
	}
}

// requireBounded: never at or after the deadline in force, never above the budget (grants included), never sooner than
// min_delay or the provider's minimum, nothing sent while a question is open; limits and counters never go down.
func (l *lived) requireBounded(t require.TestingT) {
	var before sent
	for i, now := range l.sent {
		require.True(t, now.at.Before(now.limits.DeadlineAt), "request %d left at the deadline or after it (R24)", i+1)
		if business := now.limits.BusinessDeadlineAt; business != nil {
			require.True(t, now.at.Before(*business), "request %d left at the business deadline or after it (R26)", i+1)
		}
		require.LessOrEqual(t, now.record.Counters.StatusRequestsUsed, now.limits.MaxStatusRequests, "R30")
		require.Equal(t, i+1, now.record.Counters.StatusRequestsUsed, "R30")
		require.False(t, now.at.Before(now.record.ProviderMinimum), "request %d left before the provider's minimum (R16)", i+1)
		require.Nil(t, now.record.Escalation, "R36")
		require.Equal(t, "exp_71c at demo-export of acct-42", // B4: nothing is submitted, the wait only holds a handle (R44, R47)
			now.request.ProviderJobID+" at "+now.request.Provider+" of "+now.request.Account)
		if i > 0 {
			least := time.Duration(now.record.Prepared.Pace.MinDelaySeconds) * time.Second
			require.GreaterOrEqual(t, now.at.Sub(before.at), least, "R21")
			requireNoLess(t, before.record, now.record)
		}
		before = now
	}
	require.LessOrEqual(t, l.outcome.StatusRequestsUsed, l.lastRecord.Limits.MaxStatusRequests, "R30")
	require.Empty(t, l.early, "R16")
	require.LessOrEqual(t, l.outcome.ExtensionsUsed, l.lastRecord.Limits.MaxExtensions, "R41")
	require.GreaterOrEqual(t, l.outcome.ExtensionsUsed, l.granting, "R41")
	require.NotEmpty(t, l.outcome.Status)
}

func requireNoLess(t require.TestingT, before, after wire.Record) {
	b, a := before.Counters, after.Counters
	require.GreaterOrEqual(t, a.TransportFailuresUsed, b.TransportFailuresUsed, "R31")
	require.GreaterOrEqual(t, a.RateLimitedUsed, b.RateLimitedUsed, "R31")
	require.GreaterOrEqual(t, a.ExtensionsUsed, b.ExtensionsUsed, "R31")
	require.False(t, after.Limits.DeadlineAt.Before(before.Limits.DeadlineAt), "R41")
	require.GreaterOrEqual(t, after.Limits.MaxStatusRequests, before.Limits.MaxStatusRequests, "R41")
	require.False(t, after.ProviderMinimum.Before(before.ProviderMinimum), "R16")
}

// requireCausedWaits: after an answer with a job fact, polling goes on by itself only for a category that waits, or in a
// state that a person said to wait in (R3). A grant or a cancel in between is a person's word.
func (l *lived) requireCausedWaits(t require.TestingT) {
	person := true // the first poll needs no answer before it
	var last wire.Entry
	for _, entry := range l.entries {
		switch entry.Event { //nolint:exhaustive // the other events do not bear on it
		case wire.EventResponseReceived:
			last, person = entry, false
		case wire.EventDecisionApplied, wire.EventCancelSent, wire.EventRequestLost, wire.EventRequestNotSent:
			person = true
		case wire.EventPollPlanned:
			if !person && last.Reason == string(wire.AnswerRead) {
				waits := last.Category.Waits() || slices.Contains(l.lastRecord.Overrides, last.RawState)
				require.True(t, waits, "went on by itself (R3):\n%s", strings.Join(operation.StoryOf(l.entries), "\n"))
			}
		}
	}
}

// requireApproved: under a rule no request leaves without a person's word: one for the wait, or one for each request. A cancel
// brings the requests that confirm it; another credential has another rule (R54).
func (l *lived) requireApproved(t require.TestingT) {
	rule := l.lastRecord.Prepared.Approval
	if rule == "" || rule == wire.ApprovalNone {
		return
	}
	approved := 0
	for _, entry := range l.entries {
		switch {
		case entry.Event == wire.EventDecisionApplied && entry.Reason == string(wire.DecisionApproveRequest):
			approved = 1
		case entry.Event == wire.EventDecisionApplied && entry.Reason == string(wire.DecisionUseCredential),
			entry.Event == wire.EventRequestNotSent && entry.Reason == string(wire.NotSentApprovalRequired):
			return
		case entry.Event == wire.EventDecisionApplied && entry.Reason == string(wire.DecisionCancel):
			approved = l.lastRecord.Prepared.Table.Cancel.ConfirmRequests
		case entry.Event == wire.EventRequestReserved && rule == wire.ApprovalPerOperation:
			require.Positive(t, approved, "R54")
		case entry.Event == wire.EventRequestReserved:
			require.Positive(t, approved, "R54")
			approved--
		}
	}
}

// requireOneCancelPerDecision: a cancel request is one person's decision (R43).
func (l *lived) requireOneCancelPerDecision(t require.TestingT) {
	require.LessOrEqual(t, len(l.cancels), l.cancelling)
}

// requireBoundedNudges: between two requests, and during each question, one nudge counts and one that cannot be read is
// noted; none ever brings the last request forward.
func (l *lived) requireBoundedNudges(t require.TestingT) {
	counted, unreadable := 0, 0
	for _, entry := range l.entries {
		switch {
		case entry.Event == wire.EventRequestReserved, entry.Event == wire.EventEscalated, entry.Event == wire.EventDecisionApplied:
			counted, unreadable = 0, 0
		case entry.Event == wire.EventNudged && entry.Reason == string(wire.NudgeUnparsable):
			unreadable++
		case entry.Event == wire.EventNudged:
			counted++
		case entry.DelaySource == wire.DelayNudge:
			require.Less(t, entry.StatusRequestsUsed+1, entry.MaxStatusRequests, "the last request was brought forward")
		}
		require.LessOrEqual(t, max(counted, unreadable), 1)
	}
	require.LessOrEqual(t, count(l.entries, wire.EventNudged), l.outcome.NudgesReceived)
}

// requireProposals: three in all, one at a time and never beside a stop, each answered or lapsed once; limits rise by a
// person's decision only (R42).
func (l *lived) requireProposals(t require.TestingT) {
	open, opened := "", map[string]bool{}
	before := l.entries[0]
	for _, entry := range l.entries {
		switch {
		case entry.Event == wire.EventExtensionRequested && entry.Reason == "":
			require.Empty(t, open, "a second one was opened")
			require.False(t, opened[entry.Detail], "the id %s was given twice", entry.Detail)
			open, opened[entry.Detail] = entry.Detail, true
		case entry.Event == wire.EventProposalLapsed:
			require.Equal(t, open, entry.Detail)
			open = ""
		case entry.Event == wire.EventDecisionApplied && (entry.Reason == "extend" || entry.Reason == "refuse"):
			open = ""
		case entry.Event == wire.EventEscalated, entry.Event == wire.EventClosed:
			require.Empty(t, open, "a proposal is open beside a stop or behind the end")
		}
		if entry.Event != wire.EventDecisionApplied {
			require.Equal(t, before.MaxStatusRequests, entry.MaxStatusRequests, "R42")
			require.Equal(t, before.DeadlineAt, entry.DeadlineAt, "R42")
		}
		before = entry
	}
	require.LessOrEqual(t, len(opened), 3)
	require.Len(t, opened, l.lastRecord.Proposals)
}

func count(entries []wire.Entry, event wire.Event) int {
	n := 0
	for _, entry := range entries {
		if entry.Event == event {
			n++
		}
	}
	return n
}

// requireAudit: the chain holds, counts what the outcome counts, and gives every opening an id of its own.
func (l *lived) requireAudit(t require.TestingT) {
	require.Zero(t, operation.VerifyChain("", l.entries))
	require.Equal(t, len(l.entries), l.outcome.AuditEntries)
	require.Equal(t, l.entries[len(l.entries)-1].Hash, l.outcome.AuditHead)
	require.Equal(t, wire.EventClosed, l.entries[len(l.entries)-1].Event)
	ids := map[string]bool{}
	for _, open := range l.openings {
		require.False(t, ids[open.ID], "the id %s was given twice", open.ID)
		ids[open.ID] = true
		require.True(t, open.WindowEndsAt.After(open.OpenedAt), "R37")
	}
}
