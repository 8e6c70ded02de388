package wire

import "time"

// Spec is the input of AwaitJob: what to wait for and how long, how often and how patiently. It is immutable; what a
// person grants later is added to the limits of the record, never to the spec.
type Spec struct {
	// OperationID names the wait for people and logs. 1 to 256 characters. Required.
	OperationID string `json:"operation_id"`
	// Provider names the state table. Required.
	Provider string `json:"provider"`
	// Account is whatever makes the job id unique at the provider; the table says what. 1 to 256 characters. Required.
	Account string `json:"account"`
	// ProviderJobID is the job's id at the provider, digit for digit. 1 to 256 characters. Required.
	ProviderJobID string `json:"provider_job_id"`
	// Params are the names the table declares (a region, a repository's owner), each matching the table's pattern.
	Params map[string]string `json:"params,omitempty"`
	// StatusURL is the absolute URL that the submission was answered with, where the table polls such a URL. It has no
	// userinfo and only those query names that the table lists.
	StatusURL string `json:"status_url,omitempty"`
	// CredentialRef names an entry of the worker's credentials. At most 256 characters; empty only where the provider can be
	// asked without one.
	CredentialRef string `json:"credential_ref,omitempty"`
	// RequestFingerprint identifies the submission, so that two callers can tell whether they mean the same job. At most
	// 256 characters; empty if unknown.
	RequestFingerprint string `json:"request_fingerprint,omitempty"`
	// SubmittedAt is when the job was submitted; a grace after submission counts from it. Null: from the start.
	SubmittedAt *time.Time `json:"submitted_at,omitempty"`
	// DeadlineAt is how long the job may stay unresolved. After the workflow's start. Required.
	DeadlineAt time.Time `json:"deadline_at"`
	// BusinessDeadlineAt is when the result is of no more use. Null: none.
	BusinessDeadlineAt *time.Time `json:"business_deadline_at,omitempty"`
	// ProviderExpiresAt is when the provider gives the job up, where its answers do not say so. Null: unknown.
	ProviderExpiresAt *time.Time `json:"provider_expires_at,omitempty"`
	// MaxStatusRequests is how many status requests may be sent, 1 to 1,000,000. Required.
	MaxStatusRequests int `json:"max_status_requests"`
	// MaxTransportFailures is the failure that stops the wait: 3 stops at the third. 1 to 1,000,000. Required.
	MaxTransportFailures int `json:"max_transport_failures"`
	// MaxRateLimited is the 429 that stops the wait, 1 to 1,000,000. Null: MaxTransportFailures.
	MaxRateLimited *int `json:"max_rate_limited,omitempty"`
	// ExpectedStates narrows which raw success and partial states are accepted. Empty: any that the table lists.
	ExpectedStates []string `json:"expected_states,omitempty"`
	// AcceptPartial takes a partial success as a success; otherwise it goes to a person.
	AcceptPartial bool `json:"accept_partial,omitempty"`
	// Schedule is how the requests are paced.
	Schedule Schedule `json:"schedule,omitzero"`
	// Escalation is how people are asked.
	Escalation EscalationSettings `json:"escalation,omitzero"`
	// Reopens authorises waiting again for a job whose wait has ended. Null: this is the first wait.
	Reopens *Reopens `json:"reopens,omitempty"`
}

// Schedule paces status requests. Null means: the table's advice, else the default named here.
type Schedule struct {
	// InitialDelaySeconds is the delay of the first request from the start of the wait, 0 to 604,800; 0 asks at once.
	// Null: the backoff of no completed polls.
	InitialDelaySeconds *int `json:"initial_delay_seconds,omitempty"`
	// BaseDelaySeconds doubles with every request, 1 to 86,400. Default 5.
	BaseDelaySeconds *int `json:"base_delay_seconds,omitempty"`
	// MaxDelaySeconds bounds the backoff, 1 to 86,400, at least the base. Default 120. A table's cap wins.
	MaxDelaySeconds *int `json:"max_delay_seconds,omitempty"`
	// MinDelaySeconds is the least time between two requests, 1 to 86,400. Default 1. A table's floor wins.
	MinDelaySeconds *int `json:"min_delay_seconds,omitempty"`
	// RequestTimeoutSeconds bounds one request, 1 to 300. Default 10.
	RequestTimeoutSeconds *int `json:"request_timeout_seconds,omitempty"`
	// ExpectedP50Seconds and ExpectedP90Seconds are how long half and nine in ten of such jobs take, from their submission;
	// 1 to 604,800, both or none, the first not above the second. Delays are then longer, up to the first, while the job is
	// unlikely to end, and never shorter than without them. Null: the table's, where the spec leaves both delays open, else
	// nothing is expected.
	ExpectedP50Seconds *int `json:"expected_p50_seconds,omitempty"`
	ExpectedP90Seconds *int `json:"expected_p90_seconds,omitempty"`
}

// EscalationSettings say how people are asked and how often they may extend.
type EscalationSettings struct {
	// DecisionWindowSeconds is how long an escalation stays open, 60 to 2,592,000. Default 86,400.
	DecisionWindowSeconds *int `json:"decision_window_seconds,omitempty"`
	// ReminderSeconds is the time between reminders, 0 or 60 to 2,592,000; 0 means none. Default 14,400.
	ReminderSeconds *int `json:"reminder_seconds,omitempty"`
	// MaxExtensions is how many grants of more time or requests are possible, 0 to 100. Default 1.
	MaxExtensions *int `json:"max_extensions,omitempty"`
	// EscalateOn names exactly the reasons that go to a person. Null: every stop that leaves a choice. Empty: none, the
	// caller decides on the outcome.
	EscalateOn []Reason `json:"escalate_on"`
}

// Reopens is a person's word that a job may be waited for again after a decided end. All three are required.
type Reopens struct {
	// RunID is the run id of the latest closed wait.
	RunID string `json:"run_id"`
	// DecidedBy is who decides. 1 to 256 characters.
	DecidedBy string `json:"decided_by"`
	// Comment is why. 1 to 4,096 characters.
	Comment string `json:"comment"`
}
