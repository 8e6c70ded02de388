package operation_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// TestReadingAnAnswer holds every kind of answer against what it means for the wait, and for the budgets (R1, R3 to R13).
// stops empty: the wait goes on.
func TestReadingAnAnswer(t *testing.T) {
	t.Parallel()
	otherJob := read("succeeded")
	otherJob.Job.OtherJob = true
	nothing := read("running")
	nothing.Job = nil
	tomorrow := read("running")
	tomorrow.Job.Category = "word of tomorrow"
	unproven := read("succeeded")
	unproven.Job.Unproven = []string{"result_url"}
	serverError := failed(wire.AnswerServerError, 503, "")
	serverError.Job = done().Job // a body that a 503 came with is not read
	for name, c := range map[string]struct {
		answer    wire.Observation
		stops     wire.Reason
		detail    string
		transport int
		limited   int
	}{
		"pending":                       {answer: read("running")},
		"cancelling without our cancel": {answer: read("cancelling")},
		"R3 unlisted state":             {answer: read("archiving"), stops: wire.ReasonUnknownState},
		"R3 S1 another case":            {answer: read("Running"), stops: wire.ReasonUnknownState},
		"R3 category of tomorrow":       {answer: tomorrow, stops: wire.ReasonUnknownState},
		"R4 S4 unproven success":        {answer: unproven, stops: wire.ReasonContradictoryResponse, detail: wire.DetailSuccessWithoutResult},
		"R6 S9 another job's success":   {answer: otherJob, stops: wire.ReasonContradictoryResponse, detail: wire.DetailOtherJob},
		"S3 needs input":                {answer: read("awaiting_review"), stops: wire.ReasonNeedsInput},
		"R7 H9 malformed":               {answer: failed(wire.AnswerMalformed, 200, wire.MalformedHTML), stops: wire.ReasonMalformedResponse, detail: wire.MalformedHTML},
		"R7 nothing read":               {answer: nothing, stops: wire.ReasonMalformedResponse},
		"R9 H12 401":                    {answer: failed(wire.AnswerDenied, 401, ""), stops: wire.ReasonAuthorizationDenied},
		"R9 403":                        {answer: failed(wire.AnswerDenied, 403, ""), stops: wire.ReasonAuthorizationDenied},
		"R10 S6 404":                    {answer: failed(wire.AnswerNotFound, 404, ""), stops: wire.ReasonJobNotFound},
		"R11 X2 302":                    {answer: failed(wire.AnswerUnexpected, 302, ""), stops: wire.ReasonIntegrationFailure},
		"R11 answer of tomorrow":        {answer: failed("teapot", 418, ""), stops: wire.ReasonIntegrationFailure, detail: `unknown answer "teapot"`},
		"R11 429":                       {answer: failed(wire.AnswerRateLimited, 429, ""), limited: 1},
		"R12 503 with a good body":      {answer: serverError, transport: 1},
		"R11 DNS":                       {answer: failed(wire.AnswerTransportFailure, 0, wire.TransportDNS), transport: 1},
		"R32 lost with its worker":      {answer: failed(wire.AnswerTransportFailure, 0, wire.TransportLost), transport: 1},
		"R13 partial":                   {answer: read("partially_succeeded"), stops: wire.ReasonPartialResult},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op := opened(t, cancelTable())
			polled(t, op, result(c.answer))
			require.Equal(t, c.transport, op.Record().Counters.TransportFailuresUsed)
			require.Equal(t, c.limited, op.Record().Counters.RateLimitedUsed)
			if c.stops == "" {
				require.Nil(t, op.Escalation())
				require.NotNil(t, op.Record().Poll)
				return
			}
			requireReason(t, op, c.stops, c.detail)
			require.Nil(t, op.Record().Poll)
		})
	}
}

// TestExpectedStates narrows which raw success and partial states are accepted; accept_partial is needed as well (R4, R13).
func TestExpectedStates(t *testing.T) {
	t.Parallel()
	partial := read("partially_succeeded")
	for name, c := range map[string]struct {
		expected []string
		partial  bool
		answer   wire.Observation
		stops    string
	}{
		"any":                     {nil, false, done(), ""},
		"this one":                {[]string{"succeeded"}, false, done(), ""},
		"another":                 {[]string{"completed"}, false, done(), "unexpected_success_state"},
		"partial refused":         {[]string{"partially_succeeded"}, false, partial, "partial_result"},
		"partial accepted":        {nil, true, partial, ""},
		"partial not among them":  {[]string{"succeeded"}, true, partial, "unexpected_success_state"},
		"partial is this one too": {[]string{"partially_succeeded"}, true, partial, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op := opened(t, wire.TableFacts{}, func(s *wire.Spec) { s.ExpectedStates, s.AcceptPartial = c.expected, c.partial })
			now := polled(t, op, result(c.answer))
			if c.stops == "" {
				require.Equal(t, wire.StatusSucceeded, closed(t, op, now).Status)
				return
			}
			require.Contains(t, []string{op.Escalation().Detail, string(op.Escalation().Reason)}, c.stops)
		})
	}
}

// TestExpiryTolerance is the boundary of R5: 30 s of clock tolerance after the provider's own expiry, the answer's before
// the spec's, measured when the answer was received (S8).
func TestExpiryTolerance(t *testing.T) {
	t.Parallel()
	received := start.Add(time.Minute)
	for _, c := range []struct {
		inAnswer, inSpec time.Duration // before received; 0: not given
		stops            bool
	}{
		{30 * time.Second, 0, false},
		{30*time.Second + time.Millisecond, 0, true},
		{0, 30 * time.Second, false},
		{0, 31 * time.Second, true},
		{10 * time.Second, time.Hour, false}, // the answer's own expiry counts
	} {
		seen := read("running")
		seen.ReceivedAt = &received
		if c.inAnswer > 0 {
			seen.Job.ExpiresAt = new(received.Add(-c.inAnswer))
		}
		op := opened(t, wire.TableFacts{}, func(s *wire.Spec) {
			if c.inSpec > 0 {
				s.ProviderExpiresAt = new(received.Add(-c.inSpec))
			}
		})
		polled(t, op, result(seen))
		require.Equal(t, c.stops, op.Escalation() != nil, "%+v", c)
	}
}

// TestFailureBudgets: a budget of N is exhausted by the Nth failure; good answers give nothing back; the last one's
// time-out is ambiguous (B1, B2, H10, H11, R11, R32).
func TestFailureBudgets(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failure wire.Observation
		reason  wire.Reason
		detail  string
	}{
		"503":      {failed(wire.AnswerServerError, 503, ""), wire.ReasonTransportBudgetExhausted, ""},
		"refused":  {failed(wire.AnswerTransportFailure, 0, wire.TransportRefused), wire.ReasonTransportBudgetExhausted, ""},
		"time-out": {failed(wire.AnswerTransportFailure, 0, wire.TransportTimeout), wire.ReasonTransportBudgetExhausted, wire.DetailAmbiguousDelivery},
		"unsent":   {unsent(wire.TransportTimeout), wire.ReasonTransportBudgetExhausted, ""},
		"lost":     {failed(wire.AnswerTransportFailure, 0, wire.TransportLost), wire.ReasonTransportBudgetExhausted, wire.DetailAmbiguousDelivery},
		"429":      {failed(wire.AnswerRateLimited, 429, ""), wire.ReasonRateLimited, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op := opened(t, wire.TableFacts{}, func(s *wire.Spec) { s.MaxStatusRequests = 100 })
			for range 2 {
				polled(t, op, result(c.failure))
				polled(t, op, result(read("running")))
				require.Nil(t, op.Escalation())
			}
			polled(t, op, result(c.failure))
			requireReason(t, op, c.reason, c.detail)
			require.Equal(t, 3, op.Record().Counters.TransportFailuresUsed+op.Record().Counters.RateLimitedUsed)
		})
	}
}

// TestFiveHundredGoodPolls: they leave the failure budgets alone; the request budget decides (B1, R30).
func TestFiveHundredGoodPolls(t *testing.T) {
	t.Parallel()
	op := opened(t, wire.TableFacts{}, func(s *wire.Spec) { s.MaxStatusRequests, s.DeadlineAt = 500, start.Add(48*time.Hour) })
	for i := range 500 {
		require.Nil(t, op.Escalation(), "after %d polls", i)
		polled(t, op, result(read("running")))
	}
	requireReason(t, op, wire.ReasonRequestBudgetExhausted, "")
	require.Equal(t, wire.Counters{StatusRequestsUsed: 500}, op.Record().Counters)
	require.Equal(t, map[string]int{"200": 500}, op.Record().Answers)
}

// TestOrderOfReasons: verdict of the answer, transport or rate budget, the earlier deadline, request budget, Retry-After
// past the deadline (R12). Each answer fulfils the reason and all that come after it.
func TestOrderOfReasons(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer wire.Observation
		late   bool
		budget int
		want   wire.Reason
	}{
		"verdict":             {read("archiving"), true, 1, wire.ReasonUnknownState},
		"transport budget":    {failed(wire.AnswerServerError, 503, ""), true, 1, wire.ReasonTransportBudgetExhausted},
		"rate budget":         {failed(wire.AnswerRateLimited, 429, ""), true, 1, wire.ReasonRateLimited},
		"earlier deadline":    {read("running"), true, 1, wire.ReasonBusinessDeadlineExceeded},
		"request budget":      {read("running"), false, 1, wire.ReasonRequestBudgetExhausted},
		"retry after is last": {read("running"), false, 2, wire.ReasonRetryAfterExceedsDeadline},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op := opened(t, wire.TableFacts{}, func(s *wire.Spec) {
				s.MaxStatusRequests, s.MaxTransportFailures = c.budget, 1
				s.DeadlineAt, s.BusinessDeadlineAt = start.Add(30*time.Second), new(start.Add(20*time.Second))
			})
			at := op.Record().Poll.At
			require.IsType(t, operation.SendStatus{}, op.Next(at))
			if c.late {
				at = start.Add(40 * time.Second)
			}
			op.StatusAnswered(at, result(retryAfter(c.answer, 86400)))
			require.NotNil(t, op.Escalation())
			require.Equal(t, c.want, op.Escalation().Reason)
		})
	}
}

// TestAnsweredAfterTheDeadline is the boundary of R25 (T2): received at the deadline is after it.
func TestAnsweredAfterTheDeadline(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		received time.Duration
		notes    []string
	}{{-time.Millisecond, []string{}}, {0, []string{wire.NoteAnsweredAfterDeadline}}, {4 * time.Second, []string{wire.NoteAnsweredAfterDeadline}}} {
		op := opened(t, wire.TableFacts{})
		require.IsType(t, operation.SendStatus{}, op.Next(op.Record().Poll.At))
		deadline := op.Record().Limits.DeadlineAt
		seen := done()
		seen.ReceivedAt = new(deadline.Add(c.received))
		op.StatusAnswered(deadline.Add(5*time.Second), result(seen))
		outcome := closed(t, op, deadline.Add(5*time.Second))
		require.Equal(t, wire.StatusSucceeded, outcome.Status)
		require.Equal(t, c.notes, outcome.Notes)
	}
}

// TestDeniedVersionsTravel: a request names the versions of its credential that were refused, and no others (R9).
func TestDeniedVersionsTravel(t *testing.T) {
	t.Parallel()
	op := opened(t, wire.TableFacts{})
	denied := failed(wire.AnswerDenied, 401, "")
	denied.CredentialRef, denied.CredentialVersion = "demo", "3"
	now := polled(t, op, result(denied))
	for i, c := range []struct {
		use  string
		want []string
	}{{"spare", nil}, {"demo", []string{"3"}}, {"demo", []string{"3", "4"}}} {
		_, refusal := op.Decide(now, answer(op, wire.DecisionUseCredential, map[string]any{
			"credential_ref": c.use, "decision_id": strconv.Itoa(i),
		}), "")
		require.Nil(t, refusal)
		next(op, now)
		command, ok := next(op, op.Record().Poll.At).(operation.SendStatus)
		require.True(t, ok)
		require.Equal(t, c.use, command.Request.CredentialRef)
		require.Equal(t, c.want, command.Request.DeniedVersions)
		now = now.Add(time.Minute)
		op.StatusAnswered(now, wire.PollResult{Withheld: wire.Withheld{NotSent: wire.NotSentCredentialDenied, CredentialVersion: strconv.Itoa(3 + i)}})
	}
}

// TestReadingContext: what a 404 means depends on the time since submission, on good answers before it, and on our own
// cancel; the core says so with each request (R10, S5, S6).
func TestReadingContext(t *testing.T) {
	t.Parallel()
	op := opened(t, cancelTable(), func(s *wire.Spec) { s.SubmittedAt = new(start.Add(-time.Second)) })
	within := read("not_found")
	within.HTTPStatus, within.Job.Category = 404, wire.CategoryPending
	want := wire.ReadingContext{SubmittedAt: start.Add(-time.Second)}
	ask := func(seen wire.Observation) {
		at := op.Record().Poll.At
		command, ok := next(op, at).(operation.SendStatus)
		require.True(t, ok)
		require.Equal(t, want, command.Request.Reading)
		op.StatusAnswered(at, result(seen))
	}
	ask(within)
	want.NotFound = 1
	ask(within)
	want.NotFound = 2
	ask(read("running"))
	want.Answered = true
	ask(read("running"))
	now := op.Record().Poll.At
	_, refusal := op.Decide(now, answer(op, wire.DecisionCancel, nil), "")
	require.Nil(t, refusal)
	require.IsType(t, operation.SendCancel{}, op.Next(now))
	op.CancelAnswered(now, wire.CancelResult{HTTPStatus: 202, Accepted: true})
	want.CancelSent = true
	ask(read("cancelling"))

	for name, submittedAt := range map[string]*time.Time{"else from the start": nil, "nor later than that": new(start.Add(20 * time.Minute))} {
		unsubmitted := opened(t, wire.TableFacts{}, func(s *wire.Spec) { s.SubmittedAt = submittedAt })
		command, ok := unsubmitted.Next(unsubmitted.Record().Poll.At).(operation.SendStatus)
		require.True(t, ok)
		require.Equal(t, start, command.Request.Reading.SubmittedAt, name)
	}
}

// TestNextStatusURL: a URL handed out for the next poll is asked next, and only one from an answer about our job (R6, R51).
func TestNextStatusURL(t *testing.T) {
	t.Parallel()
	op := opened(t, wire.TableFacts{}, func(s *wire.Spec) { s.StatusURL = "https://api.example.com/1"; s.Escalation.MaxExtensions = new(2) })
	asked := func() string {
		command, ok := op.Next(op.Record().Poll.At).(operation.SendStatus)
		require.True(t, ok)
		return command.Request.StatusURL
	}
	require.Equal(t, "https://api.example.com/1", asked())
	seen := read("running")
	seen.NextStatusURL = "https://api.example.com/2"
	op.StatusAnswered(op.Record().OpenedAt.Add(5*time.Second), result(seen))
	require.Equal(t, "https://api.example.com/2", asked())
	other := read("running")
	other.Job.OtherJob, other.NextStatusURL = true, "https://api.example.com/3"
	now := start.Add(time.Minute)
	op.StatusAnswered(now, result(other))
	_, refusal := op.Decide(now, answer(op, wire.DecisionExtend, nil), "")
	require.Nil(t, refusal)
	next(op, now)
	require.Equal(t, "https://api.example.com/2", asked())
}
