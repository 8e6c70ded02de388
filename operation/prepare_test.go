package operation_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// TestPrepareRefuses: what cannot be run gets one line that names the value, the rule and the way out; nothing bad is
// replaced (R28, R29, R45, R46).
func TestPrepareRefuses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 257)
	for name, c := range map[string]struct {
		change func(*wire.Spec)
		want   string
	}{
		"no operation id":      {func(s *wire.Spec) { s.OperationID = "" }, `spec: operation_id is missing, set it to 1 to 256 characters`},
		"no provider":          {func(s *wire.Spec) { s.Provider = "" }, `spec: provider is missing, set it to 1 to 256 characters`},
		"empty account":        {func(s *wire.Spec) { s.Account = "" }, `spec: account is missing, set it to 1 to 256 characters`},
		"no job id":            {func(s *wire.Spec) { s.ProviderJobID = "" }, `spec: provider_job_id is missing, set it to 1 to 256 characters`},
		"job id of 300":        {func(s *wire.Spec) { s.ProviderJobID = strings.Repeat("j", 300) }, `spec: provider_job_id has 300 characters, at most 256 are allowed`},
		"account of 257":       {func(s *wire.Spec) { s.Account = long }, `spec: account has 257 characters, at most 256 are allowed`},
		"control characters":   {func(s *wire.Spec) { s.ProviderJobID = "exp\n71c" }, `spec: provider_job_id "exp\n71c" has control characters or is not UTF-8`},
		"not UTF-8":            {func(s *wire.Spec) { s.Account = "acct\xff" }, `spec: account "acct\xff" has control characters or is not UTF-8`},
		"fingerprint of 257":   {func(s *wire.Spec) { s.RequestFingerprint = long }, `spec: request_fingerprint has 257 characters, at most 256 are allowed`},
		"workflow id too long": {func(s *wire.Spec) { s.ProviderJobID = strings.Repeat("/", 256); s.Account = strings.Repeat("ä", 50) }, `spec: provider, account and provider_job_id give a workflow id of 1089 bytes, at most 1000 are allowed`},
		"reopens half":         {func(s *wire.Spec) { s.Reopens = &wire.Reopens{RunID: "r", DecidedBy: "ana"} }, `spec: reopens needs run_id, decided_by and comment`},
		"reopens by nobody":    {func(s *wire.Spec) { s.Reopens = &wire.Reopens{RunID: "r", DecidedBy: " ", Comment: "c"} }, `spec: reopens needs run_id, decided_by and comment`},
		"reopens at length": {func(s *wire.Spec) {
			s.Reopens = &wire.Reopens{RunID: "r", DecidedBy: "ana", Comment: strings.Repeat("ä", 4097)}
		}, `spec: reopens.comment has 4097 characters, at most 4096 are allowed`},
		"reopens a long run":     {func(s *wire.Spec) { s.Reopens = &wire.Reopens{RunID: long, DecidedBy: "ana", Comment: "c"} }, `spec: reopens.run_id has 257 characters, at most 256 are allowed`},
		"reopens by a long name": {func(s *wire.Spec) { s.Reopens = &wire.Reopens{RunID: "r", DecidedBy: long, Comment: "c"} }, `spec: reopens.decided_by has 257 characters, at most 256 are allowed`},
		"credential of 257":      {func(s *wire.Spec) { s.CredentialRef = long }, `spec: credential_ref has 257 characters, at most 256 are allowed`},
		"no deadline":            {func(s *wire.Spec) { s.DeadlineAt = time.Time{} }, `spec: deadline_at is missing, it has no default: set the time until which the job may stay unresolved`},
		"deadline at the start":  {func(s *wire.Spec) { s.DeadlineAt = start }, `spec: deadline_at 2025-04-18T10:20:00Z is not after the start of the wait 2025-04-18T10:20:00Z`},
		"deadline before start":  {func(s *wire.Spec) { s.DeadlineAt = start.Add(-time.Hour) }, `spec: deadline_at 2025-04-18T09:20:00Z is not after the start of the wait 2025-04-18T10:20:00Z`},
		"before submission":      {func(s *wire.Spec) { s.SubmittedAt = new(start.Add(time.Hour)) }, `spec: deadline_at 2025-04-18T11:00:00Z is before submitted_at 2025-04-18T11:20:00Z`},
		"deadline beyond reach":  {func(s *wire.Spec) { s.DeadlineAt = start.AddDate(101, 0, 0) }, `spec: deadline_at 2126-04-18T10:20:00Z is more than 100 years away`},
		"business before start":  {func(s *wire.Spec) { s.BusinessDeadlineAt = new(start.Add(-time.Second)) }, `spec: business_deadline_at 2025-04-18T10:19:59Z is not after the start of the wait 2025-04-18T10:20:00Z`},
		"no request budget":      {func(s *wire.Spec) { s.MaxStatusRequests = 0 }, `spec: max_status_requests is missing, it has no default: set it to 1 to 1000000`},
		"no failure budget":      {func(s *wire.Spec) { s.MaxTransportFailures = 0 }, `spec: max_transport_failures is missing, it has no default: set it to 1 to 1000000`},
		"a billion requests":     {func(s *wire.Spec) { s.MaxStatusRequests = 1_000_000_000 }, `spec: max_status_requests is 1000000000, allowed is 1 to 1000000`},
		"negative failures":      {func(s *wire.Spec) { s.MaxTransportFailures = -3 }, `spec: max_transport_failures is -3, allowed is 1 to 1000000`},
		"no rate limits":         {func(s *wire.Spec) { s.MaxRateLimited = new(0) }, `spec: max_rate_limited is 0, allowed is 1 to 1000000`},
		"negative initial delay": {func(s *wire.Spec) { s.Schedule.InitialDelaySeconds = new(-1) }, `spec: schedule.initial_delay_seconds is -1, allowed is 0 to 604800`},
		"no base delay":          {func(s *wire.Spec) { s.Schedule.BaseDelaySeconds = new(0) }, `spec: schedule.base_delay_seconds is 0, allowed is 1 to 86400`},
		"max delay of two days":  {func(s *wire.Spec) { s.Schedule.MaxDelaySeconds = new(172800) }, `spec: schedule.max_delay_seconds is 172800, allowed is 1 to 86400`},
		"max delay below base":   {func(s *wire.Spec) { s.Schedule.MaxDelaySeconds = new(3) }, `spec: schedule.max_delay_seconds is 3, less than base_delay_seconds 5`},
		"no min delay":           {func(s *wire.Spec) { s.Schedule.MinDelaySeconds = new(0) }, `spec: schedule.min_delay_seconds is 0, allowed is 1 to 86400`},
		"half an expectation":    {func(s *wire.Spec) { s.Schedule.ExpectedP50Seconds = new(60) }, `spec: schedule.expected_p50_seconds and expected_p90_seconds belong together, one is missing`},
		"the other half":         {func(s *wire.Spec) { s.Schedule.ExpectedP90Seconds = new(60) }, `spec: schedule.expected_p50_seconds and expected_p90_seconds belong together, one is missing`},
		"no expected duration":   {func(s *wire.Spec) { s.Schedule.ExpectedP50Seconds, s.Schedule.ExpectedP90Seconds = new(0), new(60) }, `spec: schedule.expected_p50_seconds is 0, allowed is 1 to 604800`},
		"eight expected days": {func(s *wire.Spec) {
			s.Schedule.ExpectedP50Seconds, s.Schedule.ExpectedP90Seconds = new(60), new(691_200)
		}, `spec: schedule.expected_p90_seconds is 691200, allowed is 1 to 604800`},
		"median above the decile": {func(s *wire.Spec) { s.Schedule.ExpectedP50Seconds, s.Schedule.ExpectedP90Seconds = new(61), new(60) }, `spec: schedule.expected_p50_seconds is 61, more than expected_p90_seconds 60`},
		"time-out of 10 minutes":  {func(s *wire.Spec) { s.Schedule.RequestTimeoutSeconds = new(600) }, `spec: schedule.request_timeout_seconds is 600, allowed is 1 to 300`},
		"window of a second":      {func(s *wire.Spec) { s.Escalation.DecisionWindowSeconds = new(1) }, `spec: escalation.decision_window_seconds is 1, allowed is 60 to 2592000`},
		"reminder every second":   {func(s *wire.Spec) { s.Escalation.ReminderSeconds = new(1) }, `spec: escalation.reminder_seconds is 1, allowed is 60 to 2592000`},
		"a thousand extensions":   {func(s *wire.Spec) { s.Escalation.MaxExtensions = new(1000) }, `spec: escalation.max_extensions is 1000, allowed is 0 to 100`},
		"escalate on a rumour":    {func(s *wire.Spec) { s.Escalation.EscalateOn = []wire.Reason{"rumour"} }, `spec: escalation.escalate_on names "rumour", which is not a reason`},
		"escalate on an outcome":  {func(s *wire.Spec) { s.Escalation.EscalateOn = []wire.Reason{wire.ReasonWaitCancelled} }, `spec: escalation.escalate_on names "wait_cancelled", which is not a reason`},
		"deadline beyond policy":  {func(s *wire.Spec) { s.DeadlineAt = start.Add(2 * time.Hour) }, `spec: deadline_at 2025-04-18T12:20:00Z is more than the 3600 seconds away that the worker's policy allows`},
		"requests beyond policy":  {func(s *wire.Spec) { s.MaxStatusRequests = 101 }, `spec: max_status_requests is 101, the worker's policy allows at most 100`},
		"failures beyond policy":  {func(s *wire.Spec) { s.MaxTransportFailures = 11; s.MaxRateLimited = new(1) }, `spec: max_transport_failures is 11, the worker's policy allows at most 10`},
		"limits beyond policy":    {func(s *wire.Spec) { s.MaxRateLimited = new(10) }, `spec: max_rate_limited is 10, the worker's policy allows at most 9`},
		"extensions beyond":       {func(s *wire.Spec) { s.Escalation.MaxExtensions = new(3) }, `spec: escalation.max_extensions is 3, the worker's policy allows at most 2`},
		"more eager than policy":  {func(s *wire.Spec) { s.Schedule.BaseDelaySeconds = new(1) }, `spec: schedule.base_delay_seconds is 1, the worker's policy asks for at least 2`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := operation.Prepare(specWith(c.change), start, operation.Knowledge{Policy: strictPolicy()})
			var broken *operation.SpecError
			require.ErrorAs(t, err, &broken)
			require.EqualError(t, err, c.want)
		})
	}
	_, err := operation.Prepare(specWith(), start, operation.Knowledge{Policy: strictPolicy()})
	require.NoError(t, err, "the spec that these cases break")
}

func strictPolicy() operation.Policy {
	return operation.Policy{
		MaxDeadlineSeconds: 3600, MaxStatusRequests: 100, MaxTransportFailures: 10, MaxRateLimited: 9, MaxExtensions: new(2),
		MinBaseDelaySeconds: 2,
	}
}

// TestPolicyBoundsWhatTheSpecLeavesOpen: a policy is no reason to refuse a spec that says nothing of what it bounds (R29).
func TestPolicyBoundsWhatTheSpecLeavesOpen(t *testing.T) {
	t.Parallel()
	got := prepared(t, specWith(func(s *wire.Spec) { s.MaxTransportFailures = 10 }), operation.Knowledge{
		Advice: wire.Schedule{BaseDelaySeconds: new(1)},
		Policy: operation.Policy{MinBaseDelaySeconds: 2, MaxRateLimited: 4, MaxExtensions: new(0)},
	})
	require.Equal(t, 2, got.Pace.BaseDelaySeconds)
	require.Equal(t, 4, got.Limits.MaxRateLimited)
	require.Zero(t, got.Limits.MaxExtensions)
}

// TestPrepareDefaults: the deadline and the two budgets come from the spec alone; the rest from the spec, else the table,
// else the defaults (R28).
func TestPrepareDefaults(t *testing.T) {
	t.Parallel()
	got := prepared(t, specWith(), operation.Knowledge{})
	require.Equal(t, wire.Limits{
		DeadlineAt: start.Add(40 * time.Minute), MaxStatusRequests: 12, MaxTransportFailures: 3, MaxRateLimited: 3, MaxExtensions: 1,
	}, got.Limits)
	require.Equal(t, wire.Pace{BaseDelaySeconds: 5, MaxDelaySeconds: 120, MinDelaySeconds: 1, RequestTimeoutSeconds: 10, JitterAboveMinimum: true}, got.Pace)
	require.Equal(t, 86400, got.DecisionWindowSeconds)
	require.Equal(t, 14400, got.ReminderSeconds)
	require.Equal(t, wire.GrantBounds{Seconds: 604800, StatusRequests: 10_000, TransportFailures: 1000, RateLimited: 1000}, got.Grants)
	require.Equal(t, 3, *got.Spec.MaxRateLimited, "queries show the spec with its defaults")
	require.Nil(t, got.Spec.Escalation.EscalateOn, "null stays null: it is the default of R34")

	advice := wire.Schedule{
		InitialDelaySeconds: new(30), BaseDelaySeconds: new(20), MaxDelaySeconds: new(300), MinDelaySeconds: new(4), RequestTimeoutSeconds: new(20),
	}
	got = prepared(t, specWith(), operation.Knowledge{Advice: advice})
	require.Equal(t, wire.Pace{
		InitialDelaySeconds: new(30), BaseDelaySeconds: 20, MaxDelaySeconds: 300, MinDelaySeconds: 4, RequestTimeoutSeconds: 20,
		JitterAboveMinimum: true,
	}, got.Pace)

	own := wire.Schedule{
		InitialDelaySeconds: new(0), BaseDelaySeconds: new(2), MaxDelaySeconds: new(10), MinDelaySeconds: new(2), RequestTimeoutSeconds: new(3),
	}
	got = prepared(t, specWith(func(s *wire.Spec) { s.Schedule = own }), operation.Knowledge{Advice: advice})
	require.Equal(t, wire.Pace{
		InitialDelaySeconds: new(0), BaseDelaySeconds: 2, MaxDelaySeconds: 10, MinDelaySeconds: 2, RequestTimeoutSeconds: 3,
		JitterAboveMinimum: true,
	}, got.Pace)
}

// TestPrepareTableCapAndFloor: a table's cap or floor wins over the spec, and is recorded (R27).
func TestPrepareTableCapAndFloor(t *testing.T) {
	t.Parallel()
	patient := specWith(func(s *wire.Spec) {
		s.Schedule = wire.Schedule{
			InitialDelaySeconds: new(3600), BaseDelaySeconds: new(900), MaxDelaySeconds: new(3600), MinDelaySeconds: new(1000),
		}
	})
	got := prepared(t, patient, operation.Knowledge{CapSeconds: 600, FloorSeconds: 15}).Pace
	require.Equal(t, wire.Pace{
		InitialDelaySeconds: new(600), BaseDelaySeconds: 600, MaxDelaySeconds: 600, MinDelaySeconds: 600,
		TableMinDelaySeconds: 15, CapSeconds: 600, RequestTimeoutSeconds: 10, JitterAboveMinimum: true,
	}, got)

	got = prepared(t, specWith(), operation.Knowledge{CapSeconds: 600, FloorSeconds: 15}).Pace
	require.Equal(t, 15, got.MinDelaySeconds)
	require.Nil(t, got.InitialDelaySeconds)
}

// TestPreparePolicyBoundsGrants: the worker's policy bounds what one decision may grant; zero leaves the standard (R29,
// R39).
func TestPreparePolicyBoundsGrants(t *testing.T) {
	t.Parallel()
	policy := operation.Policy{Grants: wire.GrantBounds{Seconds: 900, StatusRequests: 1_000_000}}
	got := prepared(t, specWith(), operation.Knowledge{Policy: policy})
	require.Equal(t, wire.GrantBounds{Seconds: 900, StatusRequests: 10_000, TransportFailures: 1000, RateLimited: 1000}, got.Grants)

	op := operation.Open(got, firstRun, start, start)
	now := polled(t, op, result(read("archiving")))
	requireReason(t, op, wire.ReasonUnknownState, "")
	require.Equal(t, 900, op.Escalation().Options[0].MaxSeconds)
	_, refusal := op.Decide(now, answer(op, wire.DecisionExtend, map[string]any{"seconds": 901}), "")
	require.NotNil(t, refusal)
	require.Equal(t, "seconds is 901, allowed is 0 to 900", refusal.Detail)
}

// TestPrepareKeepsTheStart: a deadline is compared with the start of the workflow, however late the worker is (R28), and is
// looked at before anything is sent (T3).
func TestPrepareKeepsTheStart(t *testing.T) {
	t.Parallel()
	late := start.Add(3 * time.Hour)
	op := operation.Open(prepared(t, specWith(), operation.Knowledge{}), firstRun, start, late)
	require.IsType(t, operation.Notify{}, op.Next(late))
	requireReason(t, op, wire.ReasonDeadlineExceeded, "")
	require.Zero(t, op.Record().Counters.StatusRequestsUsed)
}

// TestPrepareNotesRetention: a deadline past the provider's documented retention is a note, not an error.
func TestPrepareNotesRetention(t *testing.T) {
	t.Parallel()
	for retention, want := range map[int64][]string{
		0: nil, 2400: nil, 2399: {wire.NoteDeadlinePastRetention}, 1<<63 - 1: nil,
	} {
		got := prepared(t, specWith(), operation.Knowledge{RetentionSeconds: retention})
		require.Equal(t, want, got.Notes, "retention %d", retention)
	}
}

// TestIDsOfAnyCharacters: 256 characters are allowed whatever their bytes, and slashes and dots are an id like any other
// (R45).
func TestIDsOfAnyCharacters(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"a/b", "..", "ä", strings.Repeat("ж", 60), "9007199254740993"} {
		got, err := operation.Prepare(specWith(func(s *wire.Spec) { s.ProviderJobID = id }), start, operation.Knowledge{})
		require.NoError(t, err)
		require.Equal(t, id, got.Spec.ProviderJobID, "R8: digit for digit")
	}
	_, err := operation.Prepare(specWith(func(s *wire.Spec) { s.OperationID = strings.Repeat("ж", 256) }), start, operation.Knowledge{})
	require.NoError(t, err)
}

// TestDeadlinesInUTC: whatever zone a deadline was written in, limits show UTC.
func TestDeadlinesInUTC(t *testing.T) {
	t.Parallel()
	east := time.FixedZone("", 2*3600)
	got := prepared(t, specWith(func(s *wire.Spec) {
		s.DeadlineAt, s.BusinessDeadlineAt = s.DeadlineAt.In(east), new(start.Add(time.Minute).In(east))
	}), operation.Knowledge{})
	require.Equal(t, "2025-04-18 11:00:00 +0000 UTC", fmt.Sprint(got.Limits.DeadlineAt))
	require.Equal(t, "2025-04-18 10:21:00 +0000 UTC", fmt.Sprint(*got.Limits.BusinessDeadlineAt))
}
