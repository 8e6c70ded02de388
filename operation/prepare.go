package operation

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jobwait/jobwait/wire"
)

// Values that apply where neither the spec nor the table sets one.
const (
	DefaultBaseDelaySeconds      = 5
	DefaultMaxDelaySeconds       = 120
	DefaultMinDelaySeconds       = 1
	DefaultRequestTimeoutSeconds = 10
	DefaultDecisionWindowSeconds = 24 * 3600
	DefaultReminderSeconds       = 4 * 3600
	DefaultMaxExtensions         = 1
)

// The bounds of a spec's values; fields without a minimum here start at 0 or 1.
const (
	maxBudget                = 1_000_000
	maxDelaySeconds          = 24 * 3600
	maxInitialDelaySeconds   = 7 * 24 * 3600
	maxExpectedSeconds       = 7 * 24 * 3600
	maxRequestTimeoutSeconds = 300
	minDecisionWindowSeconds = 60
	maxDecisionWindowSeconds = 30 * 24 * 3600
	maxExtensions            = 100
)

// standardGrants are the largest grants of one decision unless a policy says less (R39).
func standardGrants() wire.GrantBounds {
	return wire.GrantBounds{Seconds: 7 * 24 * 3600, StatusRequests: 10_000, TransportFailures: 1000, RateLimited: 1000}
}

// Knowledge is what the worker knows when it prepares a wait.
type Knowledge struct {
	Table wire.TableFacts
	// Advice is the table's schedule; nil fields advise nothing.
	Advice wire.Schedule
	// FloorSeconds is the table's minimum time between two requests, CapSeconds its cap on delays; 0 means none.
	FloorSeconds int
	CapSeconds   int
	// RetentionSeconds is how long the provider keeps a job after its submission; 0 if unknown.
	RetentionSeconds int64
	// TellDecisions reports whether people are also notified of decisions and ends.
	TellDecisions bool
	Policy        Policy
}

// Policy caps what a spec may ask for (R29). Zero values cap nothing.
type Policy struct {
	MaxDeadlineSeconds   int64
	MaxStatusRequests    int
	MaxTransportFailures int
	MaxRateLimited       int
	MaxExtensions        *int
	MinBaseDelaySeconds  int
	// Grants caps what one decision may grant; a zero field means the built-in bound.
	Grants wire.GrantBounds
}

// SpecError reports the rule that a spec breaks, with the value and what to do about it.
type SpecError struct{ Problem string }

func (e *SpecError) Error() string { return "spec: " + e.Problem }

func specError(format string, args ...any) error {
	return &SpecError{Problem: fmt.Sprintf(format, args...)}
}

// Prepare validates the values of the spec, fills in its defaults, and takes the snapshot that the wait runs by (R28). The error is
// a *SpecError; invalid values are never replaced.
func Prepare(spec wire.Spec, startedAt time.Time, known Knowledge) (wire.Prepared, error) {
	for _, check := range []func(wire.Spec) error{checkIdentity, checkBudgets, checkSchedule, checkEscalation} {
		if err := check(spec); err != nil {
			return wire.Prepared{}, err
		}
	}
	if err := checkTimes(spec, startedAt); err != nil {
		return wire.Prepared{}, err
	}
	prepared, err := snapshot(spec, known)
	if err != nil {
		return wire.Prepared{}, err
	}
	if err := checkPolicy(prepared, startedAt, known.Policy); err != nil {
		return wire.Prepared{}, err
	}
	if keeps := known.RetentionSeconds; keeps > 0 && spec.DeadlineAt.After(startedAt.Add(seconds(keeps))) {
		prepared.Notes = append(prepared.Notes, wire.NoteDeadlinePastRetention)
	}
	return prepared, nil
}

func checkIdentity(spec wire.Spec) error {
	if why := badID(
		namedID{"operation_id", spec.OperationID},
		namedID{"provider", spec.Provider},
		namedID{"account", spec.Account},
		namedID{"provider_job_id", spec.ProviderJobID},
	); why != "" {
		return &SpecError{Problem: why}
	}
	if why := tooLong(
		givenText{"request_fingerprint", spec.RequestFingerprint, wire.MaxIDChars},
		givenText{"credential_ref", spec.CredentialRef, wire.MaxIDChars},
	); why != "" {
		return &SpecError{Problem: why}
	}
	if id := wire.WorkflowID(spec.Provider, spec.Account, spec.ProviderJobID); len(id) > wire.MaxWorkflowIDBytes {
		return specError("provider, account and provider_job_id give a workflow id of %d bytes, at most %d are allowed", len(id), wire.MaxWorkflowIDBytes)
	}
	return checkReopens(spec.Reopens)
}

// namedID is an id from outside, with the name of its field.
type namedID struct{ name, value string }

// badID names what is wrong with the first id that cannot be one.
func badID(ids ...namedID) string {
	for _, id := range ids {
		switch n := utf8.RuneCountInString(id.value); {
		case n == 0:
			return fmt.Sprintf("%s is missing, set it to 1 to %d characters", id.name, wire.MaxIDChars)
		case n > wire.MaxIDChars:
			return fmt.Sprintf("%s has %d characters, at most %d are allowed", id.name, n, wire.MaxIDChars)
		case strings.ContainsFunc(id.value, unicode.IsControl) || !utf8.ValidString(id.value):
			return fmt.Sprintf("%s %q has control characters or is not UTF-8", id.name, id.value)
		}
	}
	return ""
}

func checkReopens(reopens *wire.Reopens) error {
	if reopens == nil {
		return nil
	}
	if blank(reopens.RunID) || blank(reopens.DecidedBy) || blank(reopens.Comment) {
		return specError("reopens needs run_id, decided_by and comment")
	}
	if why := tooLong(
		givenText{"reopens.run_id", reopens.RunID, wire.MaxIDChars},
		givenText{"reopens.decided_by", reopens.DecidedBy, wire.MaxIDChars},
		givenText{"reopens.comment", reopens.Comment, wire.MaxCommentChars},
	); why != "" {
		return &SpecError{Problem: why}
	}
	return nil
}

func checkBudgets(spec wire.Spec) error {
	if err := checkBudget("max_status_requests", spec.MaxStatusRequests); err != nil {
		return err
	}
	if err := checkBudget("max_transport_failures", spec.MaxTransportFailures); err != nil {
		return err
	}
	if spec.MaxRateLimited == nil {
		return nil
	}
	return inRange("max_rate_limited", spec.MaxRateLimited, 1, maxBudget)
}

func checkBudget(name string, value int) error {
	if value == 0 {
		return specError("%s is missing, it has no default: set it to 1 to %d", name, maxBudget)
	}
	return inRange(name, &value, 1, maxBudget)
}

// inRange refuses a value outside [least, most]; null is open.
func inRange(name string, value *int, least, most int) error {
	if value == nil || *value >= least && *value <= most {
		return nil
	}
	return specError("%s is %d, allowed is %d to %d", name, *value, least, most)
}

func checkSchedule(spec wire.Spec) error {
	for _, field := range []struct {
		name        string
		value       *int
		least, most int
	}{
		{"schedule.initial_delay_seconds", spec.Schedule.InitialDelaySeconds, 0, maxInitialDelaySeconds},
		{"schedule.base_delay_seconds", spec.Schedule.BaseDelaySeconds, 1, maxDelaySeconds},
		{"schedule.max_delay_seconds", spec.Schedule.MaxDelaySeconds, 1, maxDelaySeconds},
		{"schedule.min_delay_seconds", spec.Schedule.MinDelaySeconds, 1, maxDelaySeconds},
		{"schedule.request_timeout_seconds", spec.Schedule.RequestTimeoutSeconds, 1, maxRequestTimeoutSeconds},
		{"schedule.expected_p50_seconds", spec.Schedule.ExpectedP50Seconds, 1, maxExpectedSeconds},
		{"schedule.expected_p90_seconds", spec.Schedule.ExpectedP90Seconds, 1, maxExpectedSeconds},
		{"escalation.decision_window_seconds", spec.Escalation.DecisionWindowSeconds, minDecisionWindowSeconds, maxDecisionWindowSeconds},
		{"escalation.max_extensions", spec.Escalation.MaxExtensions, 0, maxExtensions},
	} {
		if err := inRange(field.name, field.value, field.least, field.most); err != nil {
			return err
		}
	}
	return checkExpected(spec.Schedule.ExpectedP50Seconds, spec.Schedule.ExpectedP90Seconds)
}

// checkExpected refuses half an expectation, and one whose median is above its ninth decile.
func checkExpected(p50, p90 *int) error {
	switch {
	case (p50 == nil) != (p90 == nil):
		return specError("schedule.expected_p50_seconds and expected_p90_seconds belong together, one is missing")
	case p50 != nil && *p50 > *p90:
		return specError("schedule.expected_p50_seconds is %d, more than expected_p90_seconds %d", *p50, *p90)
	default:
		return nil
	}
}

func checkEscalation(spec wire.Spec) error {
	if every := spec.Escalation.ReminderSeconds; every != nil && *every != 0 {
		if err := inRange("escalation.reminder_seconds", every, minDecisionWindowSeconds, maxDecisionWindowSeconds); err != nil {
			return err
		}
	}
	for _, reason := range spec.Escalation.EscalateOn {
		if !slices.Contains(wire.Reasons(), reason) {
			return specError("escalation.escalate_on names %q, which is not a reason", bounded(string(reason), wire.MaxIDChars))
		}
	}
	return nil
}

// checkTimes compares with the workflow's start, so that a late worker does not turn a deadline into an invalid spec.
func checkTimes(spec wire.Spec, startedAt time.Time) error {
	deadline := spec.DeadlineAt
	switch {
	case deadline.IsZero():
		return specError("deadline_at is missing, it has no default: set the time until which the job may stay unresolved")
	case spec.SubmittedAt != nil && deadline.Before(*spec.SubmittedAt):
		return specError("deadline_at %s is before submitted_at %s", timestamp(deadline), timestamp(*spec.SubmittedAt))
	case !deadline.After(startedAt):
		return specError("deadline_at %s is not after the start of the wait %s", timestamp(deadline), timestamp(startedAt))
	case deadline.Sub(startedAt) > longestDelay:
		return specError("deadline_at %s is more than 100 years away", timestamp(deadline))
	}
	if business := spec.BusinessDeadlineAt; business != nil && !business.After(startedAt) {
		return specError("business_deadline_at %s is not after the start of the wait %s", timestamp(*business), timestamp(startedAt))
	}
	return nil
}

// snapshot fills the defaults: the spec's value, else the table's advice, else the default; a table's cap or floor wins.
func snapshot(spec wire.Spec, known Knowledge) (wire.Prepared, error) {
	pace := pacing(spec.Schedule, known)
	if most := spec.Schedule.MaxDelaySeconds; most != nil && *most < pace.BaseDelaySeconds {
		return wire.Prepared{}, specError("schedule.max_delay_seconds is %d, less than base_delay_seconds %d", *most, pace.BaseDelaySeconds)
	}
	spec = filled(spec, pace, known.Policy)
	return wire.Prepared{
		Spec: spec,
		Limits: wire.Limits{
			DeadlineAt: spec.DeadlineAt.UTC(), BusinessDeadlineAt: inUTC(spec.BusinessDeadlineAt),
			MaxStatusRequests: spec.MaxStatusRequests, MaxTransportFailures: spec.MaxTransportFailures,
			MaxRateLimited: *spec.MaxRateLimited, MaxExtensions: *spec.Escalation.MaxExtensions,
		},
		Pace:                  pace,
		DecisionWindowSeconds: *spec.Escalation.DecisionWindowSeconds,
		ReminderSeconds:       *spec.Escalation.ReminderSeconds,
		Grants:                capGrants(standardGrants(), known.Policy.Grants),
		Table:                 known.Table,
		ConfirmingEndsAtStop:  true,
		FirstCatchesUpSoon:    true,
		TellDecisions:         known.TellDecisions,
	}, nil
}

func inUTC(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(t.UTC())
}

func pacing(schedule wire.Schedule, known Knowledge) wire.Pace {
	pace := wire.Pace{
		InitialDelaySeconds:   firstSet(schedule.InitialDelaySeconds, known.Advice.InitialDelaySeconds),
		BaseDelaySeconds:      *firstSet(schedule.BaseDelaySeconds, new(known.baseDelay())),
		RequestTimeoutSeconds: *firstSet(schedule.RequestTimeoutSeconds, known.Advice.RequestTimeoutSeconds, new(DefaultRequestTimeoutSeconds)),
		CapSeconds:            known.CapSeconds,
		TableMinDelaySeconds:  known.FloorSeconds,
	}
	longest := *firstSet(schedule.MaxDelaySeconds, known.Advice.MaxDelaySeconds, new(DefaultMaxDelaySeconds))
	pace.MaxDelaySeconds = max(longest, pace.BaseDelaySeconds)
	minimum := *firstSet(schedule.MinDelaySeconds, known.Advice.MinDelaySeconds, new(DefaultMinDelaySeconds))
	pace.MinDelaySeconds = max(minimum, known.FloorSeconds)
	if known.CapSeconds > 0 {
		capPace(&pace, known)
	}
	pace.JitterAboveMinimum = true
	if p50, p90 := expected(schedule, known.Advice); p50 != nil && p90 != nil {
		pace.ExpectedP50Seconds, pace.ExpectedP90Seconds = *p50, *p90
		pace.TypicalDelaySeconds = typicalDelay(*p50, *p90, pace.MaxDelaySeconds)
	}
	return pace
}

// expected is the spec's expectation, else the table's where the spec has no delays of its own: who set them has thought of
// how long the job takes.
func expected(schedule, advice wire.Schedule) (p50, p90 *int) {
	switch {
	case schedule.ExpectedP50Seconds != nil:
		return schedule.ExpectedP50Seconds, schedule.ExpectedP90Seconds
	case schedule.BaseDelaySeconds == nil && schedule.MaxDelaySeconds == nil:
		return advice.ExpectedP50Seconds, advice.ExpectedP90Seconds
	default:
		return nil, nil
	}
}

// capPace lets no delay of our own sleep longer than the table allows; its floor stands above its cap.
func capPace(pace *wire.Pace, known Knowledge) {
	pace.MaxDelaySeconds = min(pace.MaxDelaySeconds, known.CapSeconds)
	pace.BaseDelaySeconds = min(pace.BaseDelaySeconds, known.CapSeconds)
	pace.MinDelaySeconds = max(min(pace.MinDelaySeconds, known.CapSeconds), known.FloorSeconds)
	if initial := pace.InitialDelaySeconds; initial != nil {
		pace.InitialDelaySeconds = new(min(*initial, known.CapSeconds))
	}
}

func firstSet(values ...*int) *int {
	for _, value := range values {
		if value != nil {
			return value
		}
	}
	return nil
}

// filled is the spec with its defaults, as queries show it.
func filled(spec wire.Spec, pace wire.Pace, policy Policy) wire.Spec {
	spec.MaxRateLimited = firstSet(spec.MaxRateLimited, new(capped(spec.MaxTransportFailures, policy.MaxRateLimited)))
	spec.Schedule = wire.Schedule{
		InitialDelaySeconds: pace.InitialDelaySeconds, BaseDelaySeconds: &pace.BaseDelaySeconds,
		MaxDelaySeconds: &pace.MaxDelaySeconds, MinDelaySeconds: &pace.MinDelaySeconds,
		RequestTimeoutSeconds: &pace.RequestTimeoutSeconds,
	}
	if pace.ExpectedP50Seconds > 0 {
		spec.Schedule.ExpectedP50Seconds, spec.Schedule.ExpectedP90Seconds = &pace.ExpectedP50Seconds, &pace.ExpectedP90Seconds
	}
	spec.Escalation.DecisionWindowSeconds = firstSet(spec.Escalation.DecisionWindowSeconds, new(DefaultDecisionWindowSeconds))
	spec.Escalation.ReminderSeconds = firstSet(spec.Escalation.ReminderSeconds, new(DefaultReminderSeconds))
	spec.Escalation.MaxExtensions = firstSet(spec.Escalation.MaxExtensions, new(policy.extensions()))
	return spec
}

// baseDelay and extensions are what holds where the spec says nothing: a policy bounds advice and defaults too, for nobody
// wrote them down who could be told.
func (k Knowledge) baseDelay() int {
	return max(*firstSet(k.Advice.BaseDelaySeconds, new(DefaultBaseDelaySeconds)), k.Policy.MinBaseDelaySeconds)
}

func (p Policy) extensions() int {
	if p.MaxExtensions != nil {
		return min(DefaultMaxExtensions, *p.MaxExtensions)
	}
	return DefaultMaxExtensions
}

func capGrants(standard, policy wire.GrantBounds) wire.GrantBounds {
	return wire.GrantBounds{
		Seconds:           capped(standard.Seconds, policy.Seconds),
		StatusRequests:    capped(standard.StatusRequests, policy.StatusRequests),
		TransportFailures: capped(standard.TransportFailures, policy.TransportFailures),
		RateLimited:       capped(standard.RateLimited, policy.RateLimited),
	}
}

// capped is the smaller of the two; a limit of zero caps nothing.
func capped(most, limit int) int {
	if limit > 0 {
		return min(most, limit)
	}
	return most
}

// checkPolicy refuses what goes beyond the worker's policy: an agent cannot grant itself a billion requests (R29).
func checkPolicy(prepared wire.Prepared, startedAt time.Time, policy Policy) error {
	limits := prepared.Limits
	if most := policy.MaxDeadlineSeconds; most > 0 && limits.DeadlineAt.Sub(startedAt) > seconds(most) {
		return specError("deadline_at %s is more than the %d seconds away that the worker's policy allows", timestamp(limits.DeadlineAt), most)
	}
	for _, field := range []struct {
		name        string
		value, most int
	}{
		{"max_status_requests", limits.MaxStatusRequests, policy.MaxStatusRequests},
		{"max_transport_failures", limits.MaxTransportFailures, policy.MaxTransportFailures},
		{"max_rate_limited", limits.MaxRateLimited, policy.MaxRateLimited},
	} {
		if field.most > 0 && field.value > field.most {
			return specError("%s is %d, the worker's policy allows at most %d", field.name, field.value, field.most)
		}
	}
	if most := policy.MaxExtensions; most != nil && limits.MaxExtensions > *most {
		return specError("escalation.max_extensions is %d, the worker's policy allows at most %d", limits.MaxExtensions, *most)
	}
	if least := policy.MinBaseDelaySeconds; prepared.Pace.BaseDelaySeconds < least {
		return specError("schedule.base_delay_seconds is %d, the worker's policy asks for at least %d", prepared.Pace.BaseDelaySeconds, least)
	}
	return nil
}
