package operation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// runnable holds what a submission hands over against what the wait itself checks.
func runnable(t *testing.T, spec wire.Spec, now time.Time) {
	t.Helper()
	_, err := operation.Prepare(spec, now, operation.Knowledge{})
	require.NoError(t, err, "the job was submitted, and its wait cannot be run")
}

// Who extends a submission past the deadline of its wait means the wait as well: it would be invalid before it began.
func TestExtendedSubmissionIsWaitedFor(t *testing.T) {
	t.Parallel()
	business := start.Add(30 * time.Minute)
	op := submission(t, wire.IdempotencyHeader, func(s *wire.SubmitSpec) { s.Wait.BusinessDeadlineAt = &business })
	now := start
	for range 3 {
		_, now = nextSubmit(t, op, now)
		op.SubmitAnswered(now, submitResult(wire.SubmitNeverLeft, 0))
	}
	require.Equal(t, wire.ReasonTransportBudgetExhausted, op.Escalation().Reason)
	now = now.Add(3 * time.Hour)
	_, refusal := op.Decide(now, submitDecision(op, wire.DecisionExtend, func(d *wire.Decision) {
		d.Seconds, d.StatusRequests, d.TransportFailures, d.PastBusinessDeadline = 600, 2, 2, true
	}), "")
	require.Nil(t, refusal)
	_, now = nextSubmit(t, op, now)
	op.SubmitAnswered(now, submitResult(wire.SubmitAccepted, 201))
	spec := awaiting(t, op, now)
	runnable(t, spec, now)
	require.WithinDuration(t, now.Add(40*time.Minute), spec.DeadlineAt, time.Minute)
}

// A job whose answer comes after the deadline is known, and whether it is still waited for is a person's to say. It is no
// fault of the worker, and nothing is submitted again.
func TestSubmissionAnsweredAfterTheDeadline(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*wire.SubmitSpec)
		reason wire.Reason
	}{
		"deadline": {func(*wire.SubmitSpec) {}, wire.ReasonDeadlineExceeded},
		"business deadline": {func(s *wire.SubmitSpec) {
			s.Wait.BusinessDeadlineAt = new(start.Add(30 * time.Minute))
		}, wire.ReasonBusinessDeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op := submission(t, wire.IdempotencyNone, test.change)
			request, _ := nextSubmit(t, op, start)
			now := request.NotAfter.Add(3 * time.Second)
			op.SubmitAnswered(now, submitResult(wire.SubmitAccepted, 201))
			open := op.Escalation()
			require.NotNil(t, open, "a wait that cannot be run was started")
			require.Equal(t, test.reason, open.Reason)
			require.Equal(t, []wire.DecisionKind{wire.DecisionAttach, wire.DecisionClose}, kinds(open.Options))
			_, refusal := op.Decide(now.Add(time.Hour), submitDecision(op, wire.DecisionAttach, func(d *wire.Decision) { d.ProviderJobID = "exp_71c" }), "")
			require.Nil(t, refusal)
			runnable(t, awaiting(t, op, now.Add(time.Hour)), now.Add(time.Hour))
		})
	}
}

// The provider's expiry of the first job says nothing of the one that was submitted in its place.
func TestResubmittedJobHasAnExpiryOfItsOwn(t *testing.T) {
	t.Parallel()
	expires := start.Add(35 * time.Minute)
	op := submission(t, wire.IdempotencyHeader, func(s *wire.SubmitSpec) { s.OfferResubmit, s.Wait.ProviderExpiresAt = true, &expires })
	_, now := nextSubmit(t, op, start)
	op.SubmitAnswered(now, submitResult(wire.SubmitAccepted, 201))
	require.Equal(t, expires, *awaiting(t, op, now).ProviderExpiresAt)
	now = now.Add(2 * time.Hour)
	op.AwaitEnded(now, operation.AwaitResult{Outcome: &wire.Outcome{Status: wire.StatusExpired, Reason: wire.ReasonProviderExpired}})
	_, refusal := op.Decide(now, submitDecision(op, wire.DecisionResubmit, nil), "")
	require.Nil(t, refusal)
	_, now = nextSubmit(t, op, now)
	op.SubmitAnswered(now, submitResult(wire.SubmitAccepted, 201))
	require.WithinDuration(t, now.Add(35*time.Minute), *awaiting(t, op, now).ProviderExpiresAt, time.Minute)
}

// The server refuses a child whose workflow id is too long, and with it the whole workflow task, again and again: such an
// id must not get that far, whoever names it.
func TestJobIDThatMakesNoWorkflowID(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\u4e00", 200) // 200 characters, 1,800 bytes as a part of a workflow id
	op := submission(t, wire.IdempotencyNone)
	_, now := nextSubmit(t, op, start)
	result := submitResult(wire.SubmitAccepted, 201)
	result.Job.ProviderJobID = long
	op.SubmitAnswered(now, result)
	require.NotNil(t, op.Escalation(), "it is waited for under an id that the server refuses")
	require.Equal(t, wire.ReasonSubmissionAmbiguous, op.Escalation().Reason)
	_, refusal := op.Decide(now, submitDecision(op, wire.DecisionAttach, func(d *wire.Decision) { d.ProviderJobID = long }), "")
	require.NotNil(t, refusal)
	require.Equal(t, wire.RefusalOutOfBounds, refusal.Reason)
}

// A key is known to the account that it came from. Who repeats with another credential what may have made a job is told so.
func TestAnotherCredentialForWhatMayHaveBeenSent(t *testing.T) {
	t.Parallel()
	for _, before := range []wire.SubmitVerdict{wire.SubmitAmbiguous, wire.SubmitNeverLeft} {
		op := submission(t, wire.IdempotencyHeader)
		_, now := nextSubmit(t, op, start)
		op.SubmitAnswered(now, submitResult(before, 500))
		_, now = nextSubmit(t, op, now)
		denied := submitResult(wire.SubmitRefused, 401)
		denied.Observation.Answer, denied.Observation.CredentialRef = wire.AnswerDenied, "demo"
		op.SubmitAnswered(now, denied)
		require.Equal(t, wire.ReasonAuthorizationDenied, op.Escalation().Reason)
		message := operation.Message(op.Briefing(now))
		require.Contains(t, message, "another credential")
		require.Equal(t, before == wire.SubmitAmbiguous, strings.Contains(message, "there are TWO"), message)
	}
}
