package operation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// TestReservationComesFirst: the counter rises and is in the audit before the request is given to the shell; nothing else
// is given while it is in flight (R2, R30, R36).
func TestReservationComesFirst(t *testing.T) {
	t.Parallel()
	op := opened(t, wire.TableFacts{})
	at := op.Record().Poll.At
	require.Equal(t, operation.Wait{Until: at, Summary: "poll 1 of 12, local_backoff"}, op.Next(start))
	require.Zero(t, op.Record().Counters.StatusRequestsUsed)

	command, ok := op.Next(at).(operation.SendStatus)
	require.True(t, ok)
	require.Equal(t, "poll 1 of 12, local_backoff", command.Summary)
	require.Equal(t, 1, op.Record().Counters.StatusRequestsUsed)
	require.Len(t, entriesOf(op, wire.EventRequestReserved), 1)
	require.True(t, op.InFlight())
	require.False(t, op.Quiet(), "a request in flight would be lost over continue-as-new (R49)")
	for _, later := range []time.Duration{0, time.Minute, 48 * time.Hour} {
		require.Equal(t, operation.Wait{Summary: "waiting for an answer"}, op.Next(at.Add(later)))
	}
	require.Equal(t, 1, op.Record().Counters.StatusRequestsUsed)
}

// TestBudgetIsLookedAtAtEachPoll: not only when the poll was planned. A record that comes with a poll beyond its budget, or
// a reservation whose request never left, sends nothing more (R30).
func TestBudgetIsLookedAtAtEachPoll(t *testing.T) {
	t.Parallel()
	one := func(s *wire.Spec) { s.MaxStatusRequests = 1 }
	record := opened(t, wire.TableFacts{}, one).Record()
	record.Counters.StatusRequestsUsed = 1
	op := operation.Resume(record)
	require.IsType(t, operation.Notify{}, op.Next(record.Poll.At))
	requireReason(t, op, wire.ReasonRequestBudgetExhausted, "")
	require.Equal(t, 1, op.Record().Counters.StatusRequestsUsed)

	op = opened(t, wire.TableFacts{}, one)
	now := polled(t, op, wire.PollResult{Withheld: wire.Withheld{NotSent: wire.NotSentTooLate}})
	require.IsType(t, operation.Notify{}, op.Next(now))
	requireReason(t, op, wire.ReasonRequestBudgetExhausted, "")
}

// TestNothingIsSentWhileEscalated, for the whole of the window, and its timer is the window's or the next reminder's (R36,
// R37).
func TestNothingIsSentWhileEscalated(t *testing.T) {
	t.Parallel()
	op, now := unknown(t, func(s *wire.Spec) { s.Escalation.ReminderSeconds = new(0) })
	opening := *op.Escalation()
	require.Equal(t, now.Add(24*time.Hour), opening.WindowEndsAt)
	for at := now; at.Before(opening.WindowEndsAt); at = at.Add(time.Hour) {
		require.Equal(t, operation.Wait{Until: opening.WindowEndsAt, Summary: "decision window, unknown_state"}, next(op, at))
	}
	outcome := closed(t, op, opening.WindowEndsAt)
	require.True(t, outcome.Undecided, "silence is never approval")
	require.Equal(t, wire.StatusUnresolved, outcome.Status)
	require.Equal(t, wire.ReasonUnknownState, outcome.Reason)
	require.Equal(t, 1, outcome.StatusRequestsUsed)
}

// TestReminders come at their interval while the window is open, and are not caught up after an outage (R37).
func TestReminders(t *testing.T) {
	t.Parallel()
	op, now := unknown(t)
	next(op, now)
	reminded := func(at time.Time) int {
		next(op, at)
		return len(entriesOf(op, wire.EventReminded))
	}
	require.Equal(t, 0, reminded(now.Add(4*time.Hour-time.Millisecond)))
	require.Equal(t, 1, reminded(now.Add(4*time.Hour)))
	require.Equal(t, 1, reminded(now.Add(5*time.Hour)))
	require.Equal(t, 2, reminded(now.Add(20*time.Hour)), "one for the missed ones")
	require.Equal(t, operation.Wait{Until: now.Add(24 * time.Hour), Summary: "decision window, unknown_state"}, next(op, now.Add(20*time.Hour)))
	require.Empty(t, op.Record().Notifications)
}

// TestEscalationIDs are unique to the opening, to the wait and to a reset, also where a run id is no UUID (R31, R40).
func TestEscalationIDs(t *testing.T) {
	t.Parallel()
	open := func(run, reset string) string {
		snapshot := prepared(t, specWith(), operation.Knowledge{})
		snapshot.ResetRunID = reset
		op := operation.Open(snapshot, run, start, start)
		if reset == "" {
			polled(t, op, result(read("archiving")))
		}
		return op.Escalation().ID
	}
	require.Equal(t, "report-export-1#1-00000001", open(firstRun, ""))
	require.NotEqual(t, open("01a22829-2378-7629-b900-002fb31da39d", ""), open("01a22829-25d4-7ae9-8677-6872bd8fa573", ""),
		"two runs of one minute: a UUID of version 7 begins with the time")
	require.Equal(t, "report-export-1#1-aabbccdd", open(firstRun, "00000002-0000-4000-8000-0000aabbccdd"))
	require.Regexp(t, `^report-export-1#1-[0-9a-f]{8}$`, open("default-test-run-id", ""))
	require.NotEqual(t, open("default-test-run-id", ""), open("another-test-run-id", ""))
}

// TestNotificationsHoldNothingUp: while one is being delivered the wait goes on; the last word of a wait is waited for, an
// older message is not (R37, T6).
func TestNotificationsHoldNothingUp(t *testing.T) {
	t.Parallel()
	op, now := unknown(t)
	escalated, ok := op.Next(now).(operation.Notify)
	require.True(t, ok)
	require.False(t, escalated.Closing)
	require.False(t, op.Quiet())
	require.IsType(t, operation.Wait{}, op.Next(now), "each message is given once")

	end := op.Escalation().WindowEndsAt
	reminded, ok := op.Next(end.Add(-time.Hour)).(operation.Notify)
	require.True(t, ok)
	require.Equal(t, wire.NotifyReminded, reminded.Request.Notification.Kind)
	last, ok := op.Next(end).(operation.Notify)
	require.True(t, ok)
	require.True(t, last.Closing)
	require.Equal(t, operation.Wait{Summary: "telling people how it ended"}, op.Next(end))
	op.Notified(end, last.Request.Notification.ID, "not delivered")
	until := end.Add(15 * time.Second)
	require.Equal(t, operation.Wait{Until: until, Summary: "telling people how it ended"}, op.Next(end), "the two before it")
	require.IsType(t, operation.Close{}, op.Next(until), "are not waited for any longer")
	require.Len(t, map[string]bool{
		escalated.Request.Notification.ID: true, reminded.Request.Notification.ID: true, last.Request.Notification.ID: true,
	}, 3, "ids are idempotency keys")
}

// TestNotificationsAreCarried: one that was not delivered yet is given again to the next run, under the same id (R49).
func TestNotificationsAreCarried(t *testing.T) {
	t.Parallel()
	op, now := unknown(t)
	first, ok := op.Next(now).(operation.Notify)
	require.True(t, ok)
	resumed := operation.Resume(overJSON(t, op.Record()))
	again, ok := resumed.Next(now).(operation.Notify)
	require.True(t, ok)
	require.Equal(t, first.Request.Notification.ID, again.Request.Notification.ID)
	resumed.Notified(now, again.Request.Notification.ID, "")
	resumed.Notified(now, again.Request.Notification.ID, "")
	require.Len(t, entriesOf(resumed, wire.EventNotified), 1)
	require.True(t, resumed.Quiet())
}

// TestRecordCarriesEverything: credential, overrides, next URL, terminal reading, minimum, acknowledged runs, decisions,
// notes: nothing of a record is lost on its way to the next run (R49).
func TestRecordCarriesEverything(t *testing.T) {
	t.Parallel()
	op := opened(t, cancelTable(), func(s *wire.Spec) { s.Escalation.MaxExtensions = new(9); s.Escalation.EscalateOn = nil })
	decide := func(now time.Time, kind wire.DecisionKind, fields map[string]any) {
		_, refusal := op.Decide(now, answer(op, kind, fields), "")
		require.Nil(t, refusal)
		next(op, now)
	}
	now := polled(t, op, wire.PollResult{Withheld: wire.Withheld{NotSent: wire.NotSentHistoryReset, RunID: "aabbccdd-0000-4000-8000-000000000002"}})
	decide(now, wire.DecisionExtend, map[string]any{"decision_id": "1"})
	denied := failed(wire.AnswerDenied, 401, "")
	denied.CredentialRef, denied.CredentialVersion = "demo", "1"
	now = polled(t, op, result(denied))
	decide(now, wire.DecisionUseCredential, map[string]any{"decision_id": "2", "credential_ref": "spare"})
	now = polled(t, op, result(read("archiving")))
	decide(now, wire.DecisionTreatAsPending, map[string]any{"decision_id": "3", "raw_state": "archiving"})
	seen := retryAfter(read("archiving"), 30)
	seen.NextStatusURL = "https://api.example.com/2"
	polled(t, op, result(seen))

	record := op.Record()
	require.Equal(t, []string{"archiving"}, record.Overrides)
	require.Equal(t, "spare", record.CredentialRef)
	require.Len(t, record.Denied, 1)
	require.Len(t, record.Decisions, 3)
	require.Len(t, record.AcknowledgedRuns, 1)
	require.Equal(t, "https://api.example.com/2", record.NextStatusURL)
	require.False(t, record.ProviderMinimum.IsZero())
	carried := overJSON(t, record)
	require.Equal(t, overJSON(t, carried), carried)
	require.Equal(t, op.Next(now), operation.Resume(carried).Next(now))
}

// TestStopWaiting closes at once when nothing is in flight, and never touches the provider (R48).
func TestStopWaiting(t *testing.T) {
	t.Parallel()
	op := opened(t, cancelTable())
	now := polled(t, op, result(read("running")))
	_, refusal := op.Decide(now, answer(op, wire.DecisionCancel, nil), "")
	require.Nil(t, refusal)
	op.StopWaiting()
	outcome := closed(t, op, now)
	require.Equal(t, wire.StatusUnresolved, outcome.Status)
	require.Equal(t, wire.ReasonWaitCancelled, outcome.Reason)
	require.Empty(t, entriesOf(op, wire.EventCancelSent))
}

// TestOutcome has every field of the contract: who, what, how much, and where the audit ends (R33, section 4).
func TestOutcome(t *testing.T) {
	t.Parallel()
	op, now := unknown(t)
	_, refusal := op.Decide(now, answer(op, wire.DecisionExtend, nil), "")
	require.Nil(t, refusal)
	next(op, now)
	polled(t, op, result(failed(wire.AnswerServerError, 503, "")))
	now = polled(t, op, result(done()))
	outcome := closed(t, op, now)
	entries := op.Audit().Entries
	require.Equal(t, wire.Outcome{
		Status: wire.StatusSucceeded, DecidedBy: "ana@example.com", OperationID: "report-export-1", Provider: "demo-export",
		Account: "acct-42", ProviderJobID: "exp_71c", RawState: "succeeded",
		Result: map[string]string{"file": "https://files.example.com/exp_71c.csv?sig=SECRETSIG"}, Notes: []string{},
		Counters: wire.Counters{StatusRequestsUsed: 3, TransportFailuresUsed: 1, ExtensionsUsed: 1},
		Answers:  map[string]int{"200": 2, "503": 1}, OpenedAt: start, ClosedAt: now,
		AuditEntries: len(entries), AuditHead: entries[len(entries)-1].Hash,
	}, outcome)
	require.Equal(t, wire.PhaseClosed, op.Phase())
	require.True(t, strings.HasPrefix(outcome.AuditHead, "sha256:"))
}

// TestViews answer the queries: what is planned, what is open, nothing where nothing is.
func TestViews(t *testing.T) {
	t.Parallel()
	op := opened(t, cancelTable())
	view := op.View(start)
	require.Equal(t, op.Record().Poll.At, *view.NextPollAt)
	require.Equal(t, wire.DelayLocalBackoff, view.DelaySource)
	require.Equal(t, wire.PhasePolling, view.Phase)
	require.Nil(t, view.Escalation)
	require.Nil(t, op.EscalationView(start))
	require.Empty(t, op.Reason())

	now := polled(t, op, result(read("archiving")))
	view = op.View(now)
	require.Nil(t, view.NextPollAt)
	require.Equal(t, wire.PhaseEscalated, view.Phase)
	require.Equal(t, "archiving", view.LastObservation.Job.RawState)
	require.Equal(t, map[string]int{"200": 1}, view.Answers)
	require.Equal(t, wire.ReasonUnknownState, op.Reason())
	require.Equal(t, op.Escalation().ID, view.Escalation.ID)
	require.Contains(t, view.Escalation.Message, "stopped waiting: unknown_state")
}

// TestProgressExtendsNothing: whatever progress an answer tells of, deadline and budgets stay as they are (R35).
func TestProgressExtendsNothing(t *testing.T) {
	t.Parallel()
	op := opened(t, wire.TableFacts{})
	limits := op.Record().Limits
	for _, progress := range []string{"10 %", "55 %", "99 %"} {
		seen := read("running")
		seen.Job.Progress, seen.Job.UpdatedAt = progress, new(op.Record().Poll.At)
		polled(t, op, result(seen))
		require.Equal(t, limits, op.Record().Limits)
		require.Equal(t, progress, op.Record().LastObservation.Job.Progress, "it is for people")
	}
}

// TestRequestNamesTheJob: provider, account, job, params and the name of the credential travel with every request, the
// cancel included; the credential itself is never known here (R47, R50).
func TestRequestNamesTheJob(t *testing.T) {
	t.Parallel()
	op := opened(t, cancelTable(), func(s *wire.Spec) {
		s.Params, s.StatusURL = map[string]string{"region": "eu"}, "https://api.example.com/jobs/1"
	})
	want := wire.Target{
		Provider: "demo-export", Account: "acct-42", ProviderJobID: "exp_71c", Params: map[string]string{"region": "eu"},
		StatusURL: "https://api.example.com/jobs/1", CredentialRef: "demo",
	}
	now := op.Record().Poll.At
	poll, ok := op.Next(now).(operation.SendStatus)
	require.True(t, ok)
	require.Equal(t, want, poll.Request.Target)
	require.Equal(t, 10, poll.Request.TimeoutSeconds)
	op.StatusAnswered(now, result(read("running")))
	_, refusal := op.Decide(now, answer(op, wire.DecisionCancel, nil), "")
	require.Nil(t, refusal)
	cancel, ok := op.Next(afterMinDelay(t, op, now)).(operation.SendCancel)
	require.True(t, ok)
	require.Equal(t, operation.SendCancel{Request: wire.CancelRequest{Target: want, TimeoutSeconds: 10}}, cancel)
}

// TestUnreadableResult: a result without an observation leaves the request where a lost worker leaves it (R32).
func TestUnreadableResult(t *testing.T) {
	t.Parallel()
	op := opened(t, wire.TableFacts{})
	polled(t, op, wire.PollResult{})
	require.Equal(t, wire.Counters{StatusRequestsUsed: 1, TransportFailuresUsed: 1}, op.Record().Counters)
	require.Equal(t, map[string]int{"lost": 1}, op.Record().Answers)
	require.Len(t, entriesOf(op, wire.EventRequestLost), 1)
}
