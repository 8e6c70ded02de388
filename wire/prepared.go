package wire

import (
	"encoding/json"
	"time"
)

// PrepareRequest is the input of ActivityPrepare and ActivityPrepareSubmission, the first step of a wait or submission, which
// validates the spec and takes a snapshot of what the worker knows.
type PrepareRequest struct {
	// Spec is the input of the workflow, unchanged; the activity decodes it strictly.
	Spec json.RawMessage `json:"spec"`
	// StartedAt is the start of the workflow. Deadlines are validated against it, however late the worker is.
	StartedAt     time.Time `json:"started_at"`
	OriginalRunID string    `json:"original_run_id,omitempty"`
	// Start holds the options that the workflow was started with.
	Start StartOptions `json:"start"`
}

// StartOptions are the options of a workflow start that a wait checks.
type StartOptions struct {
	WorkflowID     string `json:"workflow_id"`
	CronSchedule   string `json:"cron_schedule,omitempty"`
	HasRetryPolicy bool   `json:"has_retry_policy,omitempty"`
	TimeoutSeconds int64  `json:"timeout_seconds,omitempty"` // the shorter of execution and run timeout; 0: none
}

// Prepared is the result of ActivityPrepare and ActivityPrepareSubmission: the snapshot that a wait or submission runs by. An
// upgrade of the worker does not change it.
type Prepared struct {
	// Spec is the accepted spec with its defaults filled in.
	Spec   Spec   `json:"spec"`
	Limits Limits `json:"limits"`
	Pace   Pace   `json:"pace"`
	// DecisionWindowSeconds and ReminderSeconds are taken from the spec or are their defaults.
	DecisionWindowSeconds int `json:"decision_window_seconds"`
	ReminderSeconds       int `json:"reminder_seconds"`
	// Grants bounds what one decision may grant.
	Grants GrantBounds `json:"grants"`
	Table  TableFacts  `json:"table"`
	// Approval is the approval rule of the spec's credential at the start. Empty, in waits from before there were rules, means none.
	Approval ApprovalRule `json:"approval,omitempty"`
	// ConfirmingEndsAtStop reports whether the status requests that a decision to cancel approves, to see the cancellation confirmed,
	// need approval like all others once the wait has stopped again. False only in waits that an older version prepared.
	ConfirmingEndsAtStop bool `json:"confirming_ends_at_stop,omitempty"`
	// FirstCatchesUpSoon reports whether a first poll that initial_delay_seconds brought forward, if late, is postponed by no more than
	// it was late, and whether no poll is planned if the deadline passed during preparation. False only in waits that an older
	// version prepared, which postpone it by up to the delay before jitter, and plan one.
	FirstCatchesUpSoon bool `json:"first_catches_up_soon,omitempty"`
	// DecisionKeys are the keys that the worker trusted at the start; one of them must sign each decision. Empty means that decisions
	// need no signature.
	DecisionKeys []DecisionKey `json:"decision_keys,omitempty"`
	// AttributesRegistered reports whether the search attributes were registered, so that the wait may upsert them.
	AttributesRegistered bool `json:"attributes_registered,omitempty"`
	// HoldBack reports whether requests may be held back before they are sent, and are then repeated by the server. If not, each
	// request has one attempt.
	HoldBack bool `json:"hold_back,omitempty"`
	// TellDecisions reports whether people are also notified of decisions, and of the end of a wait that they were asked about. Waits
	// that an older version prepared only notify of escalations, reminders and closing without an answer.
	TellDecisions bool `json:"tell_decisions,omitempty"`
	// Submission is set if the operation submits the job; null if it only waits for one.
	Submission *SubmissionFacts `json:"submission,omitempty"`
	// ResetRunID is the run id if a reset created this run.
	ResetRunID string   `json:"reset_run_id,omitempty"`
	Notes      []string `json:"notes,omitempty"`
}

// Limits bound a wait or a submission. Decisions raise them; nothing lowers them.
type Limits struct {
	DeadlineAt         time.Time  `json:"deadline_at"`
	BusinessDeadlineAt *time.Time `json:"business_deadline_at"`
	// MaxStatusRequests bounds the status requests of a wait, or the submit requests of a submission.
	MaxStatusRequests int `json:"max_status_requests"`
	// MaxTransportFailures bounds the requests that got no usable answer. Of a submission these are the requests that may have made a
	// job and those that were never sent.
	MaxTransportFailures int `json:"max_transport_failures"`
	MaxRateLimited       int `json:"max_rate_limited"`
	MaxExtensions        int `json:"max_extensions"`
}

// Counters count how much of its Limits a wait or a submission has used. They never go down.
type Counters struct {
	StatusRequestsUsed    int `json:"status_requests_used"`
	TransportFailuresUsed int `json:"transport_failures_used"`
	RateLimitedUsed       int `json:"rate_limited_used"`
	ExtensionsUsed        int `json:"extensions_used"`
	// NudgesReceived counts all nudges. The audit records only the first between two requests.
	NudgesReceived int `json:"nudges_received,omitempty"`
}

// Pace is the effective schedule: the spec's, the table's advice, cap and floor, and the defaults combined.
type Pace struct {
	// InitialDelaySeconds is the delay of the first poll. Null means the backoff before any poll.
	InitialDelaySeconds *int `json:"initial_delay_seconds,omitempty"`
	BaseDelaySeconds    int  `json:"base_delay_seconds"`
	MaxDelaySeconds     int  `json:"max_delay_seconds"`
	MinDelaySeconds     int  `json:"min_delay_seconds"`
	// TableMinDelaySeconds is the table's floor, which is contained in MinDelaySeconds; 0 means none.
	TableMinDelaySeconds int `json:"table_min_delay_seconds,omitempty"`
	// CapSeconds is the table's cap on local delays, because of the provider's retention; 0 means none.
	CapSeconds            int `json:"cap_seconds,omitempty"`
	RequestTimeoutSeconds int `json:"request_timeout_seconds"`
	// ExpectedP50Seconds and ExpectedP90Seconds are how long half and nine in ten of such jobs take; 0 if unknown.
	// TypicalDelaySeconds is the delay that they lead to at the median.
	ExpectedP50Seconds  int `json:"expected_p50_seconds,omitempty"`
	ExpectedP90Seconds  int `json:"expected_p90_seconds,omitempty"`
	TypicalDelaySeconds int `json:"typical_delay_seconds,omitempty"`
	// JitterAboveMinimum reports whether there is jitter when MinDelaySeconds exceeds the jittered delay. False only in waits that an
	// older version prepared.
	JitterAboveMinimum bool `json:"jitter_above_minimum,omitempty"`
}

// GrantBounds are the most that one decision may grant.
type GrantBounds struct {
	Seconds           int `json:"seconds"`
	StatusRequests    int `json:"status_requests"`
	TransportFailures int `json:"transport_failures"`
	RateLimited       int `json:"rate_limited"`
}

// TableFacts are the facts of a state table that decisions depend on.
type TableFacts struct {
	Digest string `json:"digest"`
	// Cancel is null if the table documents no cancel call.
	Cancel *CancelFacts `json:"cancel,omitempty"`
	// ConsoleURL is where a person can look at the job; empty if there is no such page.
	ConsoleURL string `json:"console_url,omitempty"`
}

// CancelFacts are the facts of a documented cancel call that decisions depend on.
type CancelFacts struct {
	// States are the raw states in which the call is allowed. Empty means any.
	States []string `json:"states,omitempty"`
	// Destructive reports whether the call may destroy results.
	Destructive bool `json:"destructive,omitempty"`
	// ConfirmRequests and ConfirmSeconds are granted together with a cancel, so that its confirmation can be seen.
	ConfirmRequests int `json:"confirm_requests"`
	ConfirmSeconds  int `json:"confirm_seconds"`
}
