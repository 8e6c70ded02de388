package operation_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

func submitSpec(changes ...func(*wire.SubmitSpec)) wire.SubmitSpec {
	spec := wire.SubmitSpec{
		SubmissionID: "report-2026-11", Provider: "demo-export", Account: "acct-42", CredentialRef: "demo", Body: []byte(`{"report": 1}`),
		Wait: wire.SubmitWait{DeadlineAt: start.Add(40 * time.Minute), MaxStatusRequests: 12, MaxTransportFailures: 3},
	}
	for _, change := range changes {
		change(&spec)
	}
	return spec
}

// submission is one that has just begun, at a provider of that kind.
func submission(t require.TestingT, idempotency wire.Idempotency, changes ...func(*wire.SubmitSpec)) *operation.Operation {
	return submissionAt(t, wire.SubmissionFacts{Fingerprint: "sha256:f1", Idempotency: idempotency}, changes...)
}

// submissionAt is one that has just begun, at a provider of which these facts are known.
func submissionAt(t require.TestingT, facts wire.SubmissionFacts, changes ...func(*wire.SubmitSpec)) *operation.Operation {
	prepared, err := operation.PrepareSubmission(submitSpec(changes...), start, operation.Knowledge{}, facts)
	require.NoError(t, err)
	return operation.Open(prepared, firstRun, start, start)
}

// nextSubmit goes on until the next request to submit, and gives its time.
func nextSubmit(t require.TestingT, op *operation.Operation, now time.Time) (wire.SubmitRequest, time.Time) {
	for range 10 {
		switch command := op.Next(now).(type) {
		case operation.SendSubmit:
			return command.Request, now
		case operation.Wait:
			now = command.Until
		case operation.Notify:
			op.Notified(now, command.Request.Notification.ID, "")
		default:
			require.Fail(t, "nothing is sent", "%T", command)
		}
	}
	require.Fail(t, "nothing is sent")
	return wire.SubmitRequest{}, now
}

func submitResult(verdict wire.SubmitVerdict, status int) wire.SubmitResult {
	result := wire.SubmitResult{Verdict: verdict, Observation: &wire.Observation{Answer: wire.AnswerRead, HTTPStatus: status, SentAt: new(start)}}
	switch verdict {
	case wire.SubmitAccepted:
		result.Job = &wire.SubmittedJob{ProviderJobID: "exp_71c", StatusURL: "https://api.example.com/exp_71c"}
	case wire.SubmitNeverLeft:
		result.Observation = &wire.Observation{Answer: wire.AnswerTransportFailure, Detail: wire.TransportRefused}
	case wire.SubmitAmbiguous:
		result.Observation.Answer = wire.AnswerServerError
	case wire.SubmitLater:
		result.Observation.Answer = wire.AnswerRateLimited
	case wire.SubmitRefused:
		result.Observation.Answer = wire.AnswerUnexpected
	}
	return result
}

// awaiting gives the spec of the wait that follows.
func awaiting(t require.TestingT, op *operation.Operation, now time.Time) wire.Spec {
	for range 10 {
		switch command := op.Next(now).(type) {
		case operation.AwaitSubmitted:
			return command.Spec
		case operation.Notify:
			op.Notified(now, command.Request.Notification.ID, "")
		default:
			require.Fail(t, "nothing is waited for", "%T", command)
		}
	}
	require.Fail(t, "nothing is waited for")
	return wire.Spec{}
}

func submitDecision(op *operation.Operation, kind wire.DecisionKind, change func(*wire.Decision)) []byte {
	decision := wire.Decision{Kind: kind, DecisionID: "d-1", DecidedBy: "ana@example.com", Comment: "looked at the console"}
	if open := op.Escalation(); open != nil {
		decision.EscalationID = open.ID
	}
	if change != nil {
		change(&decision)
	}
	data, err := json.Marshal(decision)
	if err != nil {
		panic(err) // texts and numbers
	}
	return data
}

// What is wrong with the wait is told before anything is submitted, and that it is the wait.
func TestSubmissionWhoseWaitCannotBeRun(t *testing.T) {
	t.Parallel()
	spec := submitSpec(func(s *wire.SubmitSpec) { s.Wait.MaxStatusRequests = -1 })
	_, err := operation.PrepareSubmission(spec, start, operation.Knowledge{}, wire.SubmissionFacts{})
	require.EqualError(t, err, "spec: wait: max_status_requests is -1, allowed is 1 to 1000000")
	require.ErrorAs(t, err, new(*operation.SpecError))
}

func TestSubmissionKeys(t *testing.T) {
	t.Parallel()
	require.Equal(t, operation.SubmissionKey("a", 1, 0), operation.SubmissionKey("a", 1, 36))
	require.NotEqual(t, operation.SubmissionKey("a", 1, 0), operation.SubmissionKey("a", 2, 0))
	require.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, operation.SubmissionKey("a", 1, 0))
	require.Len(t, operation.SubmissionKey("a", 1, 32), 32)
	require.Len(t, operation.SubmissionKey("a", 1, 20), 20)
}

// R55, R56, R57: whatever answers, people and resets do: no generation without a key is sent again once it may have made a job, and
// none whose job the provider has named; one with a key goes with that key alone, and not when it could arrive after the provider
// has forgotten it; every request was reserved, and none leaves at or after its deadline.
func TestNoGenerationMakesTwoJobs(t *testing.T) {
	t.Parallel()
	kindsOfKey := []wire.Idempotency{wire.IdempotencyNone, wire.IdempotencyUnknown, wire.IdempotencyHeader, wire.IdempotencyClientID}
	verdicts := []wire.SubmitVerdict{
		wire.SubmitAccepted, wire.SubmitRefused, wire.SubmitLater, wire.SubmitNeverLeft, wire.SubmitAmbiguous, "another", "",
	}
	rapid.Check(t, func(t *rapid.T) {
		seen := sightings{
			kind:  rapid.SampledFrom(kindsOfKey).Draw(t, "idempotency"),
			known: rapid.SampledFrom([]int{0, 20, 60, 1_800, 86_400}).Draw(t, "known"),
			maybe: map[int]bool{}, named: map[int]bool{}, key: map[int]string{}, used: map[int]time.Time{},
		}
		op := submissionAt(t, wire.SubmissionFacts{Fingerprint: "sha256:f1", Idempotency: seen.kind, KeySeconds: seen.known}, func(s *wire.SubmitSpec) {
			s.MaxSubmitRequests, s.OfferResubmit = rapid.IntRange(1, 6).Draw(t, "most"), rapid.Bool().Draw(t, "offer")
		})
		now, decisions := start, 0
		for range 60 {
			switch command := op.Next(now).(type) {
			case operation.SendSubmit:
				request := command.Request
				seen.check(t, request)
				require.True(t, now.Before(request.NotAfter))
				require.LessOrEqual(t, op.Record().Counters.StatusRequestsUsed, op.Record().Limits.MaxStatusRequests)
				sentAt := now.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "queued")) * time.Second)
				now = sentAt.Add(time.Second)
				if rapid.IntRange(0, 9).Draw(t, "reset") == 0 {
					seen.reset(request.Generation)
					op.SubmitAnswered(now, wire.SubmitResult{Withheld: wire.Withheld{NotSent: wire.NotSentHistoryReset, RunID: "run-" + now.String()}})
					continue
				}
				verdict := rapid.SampledFrom(verdicts).Draw(t, "verdict")
				result := submitResult(verdict, 200)
				if result.Observation.SentAt != nil {
					result.Observation.SentAt = rapid.SampledFrom([]*time.Time{&sentAt, nil}).Draw(t, "told when it left")
				}
				if result.Job != nil && rapid.Bool().Draw(t, "unusable") {
					result.Job.StatusURL, result.Job.Unusable = "", wire.DetailURLRejected
				}
				seen.take(request, sentAt, result)
				op.SubmitAnswered(now, result)
			case operation.AwaitSubmitted:
				op.AwaitEnded(now, rapid.SampledFrom([]operation.AwaitResult{
					{Outcome: &wire.Outcome{Status: wire.StatusFailed, Reason: wire.ReasonProviderFailure}},
					{Outcome: &wire.Outcome{Status: wire.StatusSucceeded}},
					{Invalid: "spec: no"},
					{Lost: "terminated"},
				}).Draw(t, "wait"))
			case operation.Notify:
				op.Notified(now, command.Request.Notification.ID, "")
			case operation.Wait:
				now = command.Until
				if open := op.Escalation(); open != nil && rapid.Bool().Draw(t, "answers") {
					now = open.OpenedAt.Add(rapid.SampledFrom([]time.Duration{time.Second, 10 * time.Minute, 3 * time.Hour}).Draw(t, "thinks for"))
					decisions++
					option := rapid.SampledFrom(open.Options).Draw(t, "option")
					_, _ = op.Decide(now, submitDecision(op, option.Kind, func(d *wire.Decision) {
						d.DecisionID = "d-" + strconv.Itoa(decisions)
						switch option.Kind { //nolint:exhaustive // the others need nothing more
						case wire.DecisionAttach:
							d.ProviderJobID = "exp_9"
						case wire.DecisionExtend:
							d.Seconds, d.StatusRequests, d.TransportFailures, d.RateLimited = 900, 2, 2, 2
						case wire.DecisionUseCredential:
							d.CredentialRef = "other"
						}
					}), "")
				}
			case operation.Close:
				require.Zero(t, operation.VerifyChain("", op.Audit().Entries))
				return
			}
		}
	})
}

// sightings are what a provider, which knows a key for so many seconds, has seen of a submission, per generation.
type sightings struct {
	kind         wire.Idempotency
	known        int
	maybe, named map[int]bool
	key          map[int]string
	used         map[int]time.Time // the first request with the key
	wasReset     bool              // any key may have been used since the start
}

// check holds a request against what was seen before.
func (s *sightings) check(t *rapid.T, request wire.SubmitRequest) {
	generation := request.Generation
	require.False(t, s.maybe[generation] && !s.kind.Repeatable(), "it is sent again without a key")
	require.False(t, s.named[generation], "there is a job of this generation")
	require.Equal(t, s.kind.Repeatable(), request.Key != "")
	if before, ok := s.key[generation]; ok {
		require.Equal(t, before, request.Key, "it has two keys")
	}
	s.key[generation] = request.Key
	if s.known > 0 && s.maybe[generation] {
		arrives := request.NotAfter.Add(time.Duration(request.TimeoutSeconds) * time.Second)
		forgotten := s.used[generation].Add(time.Duration(s.known) * time.Second)
		require.False(t, arrives.After(forgotten), "it may arrive when its key is forgotten")
	}
}

// take sees a request that left, and what became of it.
func (s *sightings) take(request wire.SubmitRequest, at time.Time, result wire.SubmitResult) {
	generation := request.Generation
	switch result.Verdict { //nolint:exhaustive // the others, unknown ones too, may have made a job
	case wire.SubmitNeverLeft:
		return
	case wire.SubmitRefused, wire.SubmitLater:
	default:
		s.maybe[generation] = true
	}
	s.named[generation] = s.named[generation] || result.Job != nil && result.Job.Unusable != ""
	s.use(generation, at)
}

// reset sees that the run goes on which was reset, and may have sent it.
func (s *sightings) reset(generation int) {
	s.wasReset = true
	s.maybe[generation] = true
	s.use(generation, start)
}

func (s *sightings) use(generation int, at time.Time) {
	if s.wasReset {
		at = start
	}
	if _, ok := s.used[generation]; !ok {
		s.used[generation] = at
	}
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

// R38: who is asked what to do about a request that may have made a job reads until when it may be sent again with its key, where
// the provider forgets it.
func TestMessageSaysWhenTheKeyEnds(t *testing.T) {
	t.Parallel()
	for known, want := range map[int]bool{0: false, 600: true} {
		op := submissionAt(t, wire.SubmissionFacts{Fingerprint: "sha256:f1", Idempotency: wire.IdempotencyHeader, KeySeconds: known}, func(s *wire.SubmitSpec) {
			s.MaxSubmitRequests = 1
		})
		_, now := nextSubmit(t, op, start)
		op.SubmitAnswered(now, submitResult(wire.SubmitAmbiguous, 500))
		require.Equal(t, wire.ReasonSubmissionAmbiguous, op.Escalation().Reason)
		// Ten minutes from the request, less the 30 seconds that one more may take.
		line := "\nsent again: not after 2025-04-18T10:29:30Z, when the provider may forget the key\n"
		require.Equal(t, want, strings.Contains(operation.Message(op.Briefing(now)), line))
	}
}
