package operation_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// firstRun is the run id of every wait in these tests.
const firstRun = "3f9a2c1b-0000-4000-8000-000000000001"

// start is when every wait in these tests begins.
var start = time.Date(2025, 4, 18, 10, 20, 0, 0, time.UTC)

// shell drives an operation as package workflows does: decisions first, then answers, then timers; one alarm that is kept
// while its time holds and is never shorter than a second. Time is a value that jumps to whatever happens next.
type shell struct {
	op  *operation.Operation
	now time.Time

	// provider and canceller answer requests, after a latency.
	provider  func(at time.Time, request wire.PollRequest) (wire.PollResult, time.Duration)
	canceller func(at time.Time, request wire.CancelRequest) (wire.CancelResult, time.Duration)
	// submitter answers requests to submit, waiter says who waits for a job already, if anybody does, and how that wait ends.
	submitter func(at time.Time, request wire.SubmitRequest) (wire.SubmitResult, time.Duration)
	waiter    func(at time.Time, spec wire.Spec) (*wire.FoundOwner, operation.AwaitResult, time.Duration)
	// notifier delivers messages; nil delivers them in a second.
	notifier func(wire.Notification) (failure string, latency time.Duration)
	// person is asked what people do next; nil: nothing.
	person func(s *shell) (at time.Time, act func())
	// trusts says which keys are trusted at the n-th time that it is asked, from 1; nil: nobody can say.
	trusts func(n int) []wire.DecisionKey
	// down are times during which no worker runs: nothing is taken in before their end.
	down []span
	// carry hands the record over to a new run at every quiet moment.
	carry bool
	// withdrew is told that the last request was taken back before it left; nil: nobody.
	withdrew func()
	// seen is told every command as it is given; nil: nobody.
	seen func(operation.Command)

	alarmFor, alarmAt time.Time
	request           *pending
	followed          *pending
	notices           []pending

	// What happened.
	entries    []wire.Entry
	sent       []sent
	cancels    []time.Time
	submits    []submit
	waits      []wire.Spec
	openings   []wire.Escalation
	proposals  []wire.Escalation
	notified   []wire.Notification
	outcome    *wire.Outcome
	submitted  *wire.SubmitOutcome
	runs       int
	decisions  int
	asked      int
	requests   int
	lastRecord wire.Record
	// told says that the wait of a submission was told to stop.
	told bool
}

type span struct{ from, to time.Time }

// pending is an activity under way; take hands its result to the core.
type pending struct {
	due  time.Time
	take func()
	// held is until when a request waits without having left; zero: it does not.
	held time.Time
}

// sent is one status request with the limits that held when it left.
type sent struct {
	at      time.Time
	request wire.PollRequest
	limits  wire.Limits
	record  wire.Record
}

// submit is one request to submit.
type submit struct {
	at      time.Time
	request wire.SubmitRequest
}

// run drives the wait until it closes.
func (s *shell) run(t *testing.T) wire.Outcome {
	t.Helper()
	for range 200_000 {
		s.takeIn()
		command := s.op.Next(s.now)
		s.collect()
		if s.seen != nil {
			s.seen(command)
		}
		if s.carryOut(t, command) {
			return *s.outcome
		}
	}
	require.FailNow(t, "the wait does not end", "%+v", s.op.Record())
	return wire.Outcome{}
}

// takeIn hands over what is due in the one order that does not depend on the order of arrival.
func (s *shell) takeIn() {
	for s.person != nil {
		at, act := s.person(s)
		if act == nil || at.After(s.now) {
			break
		}
		act()
	}
	if s.request != nil && !s.request.due.After(s.now) {
		request := s.request
		s.request = nil
		request.take()
	}
	if s.followed != nil && !s.followed.due.After(s.now) {
		followed := s.followed
		s.followed = nil
		followed.take()
	}
	var later []pending
	for _, notice := range s.notices {
		if notice.due.After(s.now) {
			later = append(later, notice)
			continue
		}
		notice.take()
	}
	s.notices = later
	if !s.alarmAt.IsZero() && !s.alarmAt.After(s.now) {
		s.alarmFor, s.alarmAt = time.Time{}, time.Time{}
	}
}

func (s *shell) carryOut(t *testing.T, command operation.Command) (closed bool) {
	t.Helper()
	switch command := command.(type) {
	case operation.SendStatus:
		s.send(command.Request)
	case operation.SendCancel:
		s.cancels = append(s.cancels, s.now)
		result, latency := s.canceller(s.now, command.Request)
		s.request = &pending{due: s.now.Add(latency), take: func() { s.op.CancelAnswered(s.now, result) }}
	case operation.SendSubmit:
		s.submits = append(s.submits, submit{s.now, command.Request})
		result, latency := s.submitter(s.now, command.Request)
		s.request = &pending{due: s.now.Add(latency), take: func() { s.op.SubmitAnswered(s.now, result) }}
	case operation.AwaitSubmitted:
		s.await(command.Spec)
	case operation.Notify:
		s.notify(command)
	case operation.LearnKeys:
		s.asked++
		var keys []wire.DecisionKey
		if s.trusts != nil {
			keys = s.trusts(s.asked)
		}
		s.op.KeysLearned(keys)
	case operation.Wait:
		if command.Withdraw {
			s.withdraw()
		}
		s.stopFollowing()
		s.sleep(t, command.Until)
	case operation.Close:
		s.outcome = &command.Outcome
		if s.op.Record().Submission != nil {
			s.submitted = new(s.op.SubmitOutcome(command.Outcome))
		}
		return true
	}
	return false
}

// await has a job waited for, by a wait of its own where nobody waits for it already.
func (s *shell) await(spec wire.Spec) {
	s.waits = append(s.waits, spec)
	found, ends, after := s.waiter(s.now, spec)
	if found == nil {
		s.op.AwaitStarted("run-" + spec.ProviderJobID)
	} else {
		s.op.OwnerFound(*found)
	}
	s.followed = &pending{due: s.now.Add(after), take: func() { s.op.AwaitEnded(s.now, ends) }}
}

// stopFollowing tells a wait of its own to stop, and follows that of another no more (R48).
func (s *shell) stopFollowing() {
	if s.followed == nil || !s.op.Stopping() || s.told {
		return
	}
	s.told = true
	ends := operation.AwaitResult{Lost: "not followed any more"}
	if s.op.OwnWait() {
		ends = operation.AwaitResult{Outcome: &wire.Outcome{Status: wire.StatusUnresolved, Reason: wire.ReasonWaitCancelled}}
	}
	s.followed = &pending{due: s.now.Add(50 * time.Millisecond), take: func() { s.op.AwaitEnded(s.now, ends) }}
}

func (s *shell) send(request wire.PollRequest) {
	record := s.op.Record()
	s.sent = append(s.sent, sent{s.now, request, record.Limits, record})
	result, latency := s.provider(s.now, request)
	s.request = &pending{due: s.now.Add(latency), take: func() { s.op.StatusAnswered(s.now, result) }, held: heldUntil(result)}
}

// heldUntil is when a request leaves that is held back.
func heldUntil(result wire.PollResult) time.Time {
	if result.HeldBack == nil || result.Observation == nil {
		return time.Time{}
	}
	return *result.Observation.SentAt
}

// withdraw ends a request that has not left; one that has is waited for.
func (s *shell) withdraw() {
	if s.request != nil && s.request.held.After(s.now) {
		result := wire.PollResult{Withheld: wire.Withheld{NotSent: wire.NotSentHeldBack, Detail: "withdrawn"}}
		s.request = &pending{due: s.now, take: func() { s.op.StatusAnswered(s.now, result) }}
		if s.withdrew != nil {
			s.withdrew()
		}
	}
}

func (s *shell) notify(command operation.Notify) {
	notification := command.Request.Notification
	s.notified = append(s.notified, notification)
	failure, latency := "", time.Second
	switch {
	case command.HandOver: // the workflow that takes it has started
		failure, latency = operation.NoticeHandedOver("told"), 50*time.Millisecond
	case s.notifier != nil:
		failure, latency = s.notifier(notification)
	}
	s.notices = append(s.notices, pending{
		due: s.now.Add(latency), take: func() { s.op.Notified(s.now, notification.ID, failure) },
	})
}

func (s *shell) sleep(t *testing.T, until time.Time) {
	t.Helper()
	if s.carry && s.op.Quiet() && !s.op.Stopping() {
		s.op = operation.Resume(overJSON(t, s.op.Record()))
		s.runs++
	}
	if !until.Equal(s.alarmFor) {
		s.alarmFor, s.alarmAt = until, time.Time{}
		if !until.IsZero() {
			s.alarmAt = latest(until, s.now.Add(time.Second))
		}
	}
	next := s.nextMoment()
	require.False(t, next.IsZero(), "nothing will ever happen again: %+v", s.op.Record())
	s.now = latest(next, s.now)
}

// nextMoment is when the next thing happens, or its worker is back.
func (s *shell) nextMoment() time.Time {
	var next time.Time
	consider := func(at time.Time) {
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	consider(s.alarmAt)
	for _, one := range []*pending{s.request, s.followed} {
		if one != nil {
			consider(one.due)
		}
	}
	for _, notice := range s.notices {
		consider(notice.due)
	}
	if s.person != nil {
		if at, act := s.person(s); act != nil {
			consider(latest(at, s.now.Add(time.Nanosecond)))
		}
	}
	for _, outage := range s.down {
		if next.After(outage.from) && next.Before(outage.to) {
			next = outage.to
		}
	}
	return next
}

// collect keeps the audit over all runs, and every opening of a question.
func (s *shell) collect() {
	for _, entry := range s.op.Audit().Entries {
		if entry.Seq > len(s.entries) {
			s.entries = append(s.entries, entry)
		}
	}
	if open := s.op.Escalation(); open != nil {
		if n := len(s.openings); n == 0 || s.openings[n-1].ID != open.ID {
			s.openings = append(s.openings, *open)
		}
	}
	s.lastRecord = s.op.Record()
}

// overJSON is the record as the next run receives it.
func overJSON(t require.TestingT, record wire.Record) wire.Record {
	data, err := json.Marshal(record)
	require.NoError(t, err)
	var carried wire.Record
	require.NoError(t, json.Unmarshal(data, &carried))
	return carried
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
