package wire

import (
	"encoding/json"
	"time"
)

// PrepareRequest asks the first recorded step of a wait, or of a submission, to validate its spec and to snapshot what the
// worker knows. The answer to a submission is a Prepared whose Submission is set.
type PrepareRequest struct {
	// Spec is the input as it stands in history; prepare decodes it strictly.
	Spec json.RawMessage `json:"spec"`
	// StartedAt is the workflow's start: a late worker does not turn a deadline into an invalid spec.
	StartedAt     time.Time `json:"started_at"`
	OriginalRunID string    `json:"original_run_id,omitempty"`
	// Start is how the workflow was started, as far as a wait restricts it.
	Start StartOptions `json:"start"`
}

// StartOptions are the options of a workflow start that a wait refuses or checks.
type StartOptions struct {
	WorkflowID     string `json:"workflow_id"`
	CronSchedule   string `json:"cron_schedule,omitempty"`
	HasRetryPolicy bool   `json:"has_retry_policy,omitempty"`
	TimeoutSeconds int64  `json:"timeout_seconds,omitempty"` // the shorter of execution and run timeout; 0: none
}

// Prepared is the snapshot that a wait runs by. An upgrade of the worker changes nothing in it.
type Prepared struct {
	// Spec as accepted, defaults filled in.
	Spec   Spec   `json:"spec"`
	Limits Limits `json:"limits"`
	Pace   Pace   `json:"pace"`
	// DecisionWindowSeconds and ReminderSeconds are the spec's or their defaults.
	DecisionWindowSeconds int `json:"decision_window_seconds"`
	ReminderSeconds       int `json:"reminder_seconds"`
	// Grants bounds what one decision may grant.
	Grants GrantBounds `json:"grants"`
	Table  TableFacts  `json:"table"`
	// Approval is the rule of the spec's credential at the start. Empty: a wait from before there were rules, which has none.
	Approval ApprovalRule `json:"approval,omitempty"`
	// ConfirmingEndsAtStop reports whether the requests which a decision to cancel lets out, to see it confirmed, need approval like all
	// others once the wait has stopped again. A wait that was prepared before this was known sends the rest of them without.
	ConfirmingEndsAtStop bool `json:"confirming_ends_at_stop,omitempty"`
	// FirstCatchesUpSoon reports whether a first poll which initial_delay_seconds brought forward, and which came late, waits once more
	// for no longer than it was late. A wait that was prepared before this was known waits for up to its undrawn delay.
	FirstCatchesUpSoon bool `json:"first_catches_up_soon,omitempty"`
	// DecisionKeys are the keys of which one must have signed a decision, as the worker had them at the start. Empty:
	// decisions need no signature.
	DecisionKeys []DecisionKey `json:"decision_keys,omitempty"`
	// AttributesRegistered reports whether the search attributes may be upserted.
	AttributesRegistered bool `json:"attributes_registered,omitempty"`
	// HoldBack reports whether requests may be held back before they are sent, and are then repeated by the server. Absent: each
	// request has one attempt.
	HoldBack bool `json:"hold_back,omitempty"`
	// TellDecisions reports whether people are told of decisions, too, and of the end of a wait that they were asked about. A wait
	// that was prepared before this was known tells of escalations, reminders, and closing without an answer alone.
	TellDecisions bool `json:"tell_decisions,omitempty"`
	// Submission is set where the operation submits the job and does not only wait for it.
	Submission *SubmissionFacts `json:"submission,omitempty"`
	// ResetRunID is set when prepare found its run to be a reset.
	ResetRunID string   `json:"reset_run_id,omitempty"`
	Notes      []string `json:"notes,omitempty"`
}

// Limits bound a wait. Grants raise them; nothing lowers them.
type Limits struct {
	DeadlineAt         time.Time  `json:"deadline_at"`
	BusinessDeadlineAt *time.Time `json:"business_deadline_at"`
	// MaxStatusRequests bounds the requests: of a wait those for the status, of a submission those that submit.
	MaxStatusRequests int `json:"max_status_requests"`
	// MaxTransportFailures bounds the requests without an answer that says something: of a submission those that may have made a
	// job and those that never left.
	MaxTransportFailures int `json:"max_transport_failures"`
	MaxRateLimited       int `json:"max_rate_limited"`
	MaxExtensions        int `json:"max_extensions"`
}

// Counters count what a wait, or a submission, has used of its Limits, each field what the limit of its name bounds. They never
// go down.
type Counters struct {
	StatusRequestsUsed    int `json:"status_requests_used"`
	TransportFailuresUsed int `json:"transport_failures_used"`
	RateLimitedUsed       int `json:"rate_limited_used"`
	ExtensionsUsed        int `json:"extensions_used"`
	// NudgesReceived counts the nudges of a wait, whatever became of them. The audit has the first one of each interval.
	NudgesReceived int `json:"nudges_received,omitempty"`
}

// Pace is the schedule after the spec, the table's advice, cap and floor, and the defaults were put together.
type Pace struct {
	// InitialDelaySeconds null: the backoff of no completed polls.
	InitialDelaySeconds *int `json:"initial_delay_seconds,omitempty"`
	BaseDelaySeconds    int  `json:"base_delay_seconds"`
	MaxDelaySeconds     int  `json:"max_delay_seconds"`
	MinDelaySeconds     int  `json:"min_delay_seconds"`
	// TableMinDelaySeconds is the part of the minimum that the table's floor asks for; 0: none.
	TableMinDelaySeconds int `json:"table_min_delay_seconds,omitempty"`
	// CapSeconds is the table's cap on any local delay (a retention that forbids a longer sleep); 0: none.
	CapSeconds            int `json:"cap_seconds,omitempty"`
	RequestTimeoutSeconds int `json:"request_timeout_seconds"`
	// ExpectedP50Seconds and ExpectedP90Seconds are how long such jobs take; 0: nothing is expected. TypicalDelaySeconds is the
	// delay at the median that goes with them.
	ExpectedP50Seconds  int `json:"expected_p50_seconds,omitempty"`
	ExpectedP90Seconds  int `json:"expected_p90_seconds,omitempty"`
	TypicalDelaySeconds int `json:"typical_delay_seconds,omitempty"`
	// JitterAboveMinimum keeps a jitter where the minimum is above the drawn delay. Waits that began without it have none there.
	JitterAboveMinimum bool `json:"jitter_above_minimum,omitempty"`
}

// GrantBounds are the largest grants of one decision.
type GrantBounds struct {
	Seconds           int `json:"seconds"`
	StatusRequests    int `json:"status_requests"`
	TransportFailures int `json:"transport_failures"`
	RateLimited       int `json:"rate_limited"`
}

// TableFacts are what the controller needs to know of a state table.
type TableFacts struct {
	Digest string `json:"digest"`
	// Cancel is null where the table documents no cancel call.
	Cancel *CancelFacts `json:"cancel,omitempty"`
	// ConsoleURL leads a person to the job at the provider; empty: none.
	ConsoleURL string `json:"console_url,omitempty"`
}

// CancelFacts are what the controller needs to know of a documented cancel call.
type CancelFacts struct {
	// States are the raw states in which the call is allowed. Empty: any.
	States []string `json:"states,omitempty"`
	// Destructive reports whether the call may destroy results.
	Destructive bool `json:"destructive,omitempty"`
	// ConfirmRequests and ConfirmSeconds are granted with the decision to see the cancellation confirmed.
	ConfirmRequests int `json:"confirm_requests"`
	ConfirmSeconds  int `json:"confirm_seconds"`
}
