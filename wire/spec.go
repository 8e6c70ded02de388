package wire

import "time"

// Spec is the input of AwaitJob: what to wait for, and within which limits. It is immutable: what a person grants later is added to
// Limits, never to the spec.
type Spec struct {
	// OperationID is the caller's name for the wait, for people and logs. 1 to 256 characters. Required.
	OperationID string `json:"operation_id"`
	// Provider names the state table. Required.
	Provider string `json:"provider"`
	// Account is the account, project or organization within which ProviderJobID is unique; the table says which. 1 to 256
	// characters. Required.
	Account string `json:"account"`
	// ProviderJobID is the provider's id of the job. 1 to 256 characters. Required.
	ProviderJobID string `json:"provider_job_id"`
	// Params are the values that the table declares (a region, a repository's owner), each matching the pattern in the table.
	Params map[string]string `json:"params,omitempty"`
	// StatusURL is the absolute URL from the answer to the submission. Required if the table polls such a URL, refused otherwise. It
	// may have no userinfo, and in its query only names that the table lists.
	StatusURL string `json:"status_url,omitempty"`
	// CredentialRef names an entry of the worker's credentials. At most 256 characters; empty only where the provider can be
	// asked without one.
	CredentialRef string `json:"credential_ref,omitempty"`
	// RequestFingerprint identifies what was submitted, so that two callers can tell whether they mean the same job. At most 256
	// characters; empty if unknown.
	RequestFingerprint string `json:"request_fingerprint,omitempty"`
	// SubmittedAt is when the job was submitted, from which the table's grace period counts. Null means the start of the wait.
	SubmittedAt *time.Time `json:"submitted_at,omitempty"`
	// DeadlineAt is when the wait stops if the job is unresolved by then. It must be after the start of the workflow. Required.
	DeadlineAt time.Time `json:"deadline_at"`
	// BusinessDeadlineAt is when the result stops being useful. Null means never.
	BusinessDeadlineAt *time.Time `json:"business_deadline_at,omitempty"`
	// ProviderExpiresAt is when the provider gives up on the job, if its answers do not say. Null means unknown.
	ProviderExpiresAt *time.Time `json:"provider_expires_at,omitempty"`
	// MaxStatusRequests is the most status requests to send, 1 to 1,000,000. Required.
	MaxStatusRequests int `json:"max_status_requests"`
	// MaxTransportFailures is how many requests may fail without a usable answer before the wait stops: 3 stops at the third failure.
	// 1 to 1,000,000. Required.
	MaxTransportFailures int `json:"max_transport_failures"`
	// MaxRateLimited is the same for answers with 429, 1 to 1,000,000. Null means MaxTransportFailures.
	MaxRateLimited *int `json:"max_rate_limited,omitempty"`
	// ExpectedStates are the raw success and partial states to accept. Empty means any that the table lists.
	ExpectedStates []string `json:"expected_states,omitempty"`
	// AcceptPartial accepts a partial success as a success. Otherwise it goes to a person.
	AcceptPartial bool `json:"accept_partial,omitempty"`
	// Schedule paces the requests.
	Schedule Schedule `json:"schedule,omitzero"`
	// Escalation says how people are asked.
	Escalation EscalationSettings `json:"escalation,omitzero"`
	// Reopens authorises waiting again for a job whose wait has ended. Null for a first wait.
	Reopens *Reopens `json:"reopens,omitempty"`
}

// Schedule paces status requests. A null field means the table's advice, or else the default named here.
type Schedule struct {
	// InitialDelaySeconds is the time from the start of the wait to the first request, 0 to 604,800; 0 sends it at once. Default: the
	// base delay with jitter.
	InitialDelaySeconds *int `json:"initial_delay_seconds,omitempty"`
	// BaseDelaySeconds is the first delay of the backoff, which doubles with every request. 1 to 86,400. Default 5.
	BaseDelaySeconds *int `json:"base_delay_seconds,omitempty"`
	// MaxDelaySeconds bounds the backoff, 1 to 86,400 and at least the base delay. Default 120. A lower cap of the table wins.
	MaxDelaySeconds *int `json:"max_delay_seconds,omitempty"`
	// MinDelaySeconds is the least time between two requests, 1 to 86,400. Default 1. A higher floor of the table wins.
	MinDelaySeconds *int `json:"min_delay_seconds,omitempty"`
	// RequestTimeoutSeconds bounds one request, 1 to 300. Default 10.
	RequestTimeoutSeconds *int `json:"request_timeout_seconds,omitempty"`
	// ExpectedP50Seconds and ExpectedP90Seconds are the median and the 90th percentile of how long such jobs take from their
	// submission: 1 to 604,800, both or neither, the first not above the second. They lengthen delays, up to the median, while the
	// job is unlikely to end, and never shorten them. Default: the table's if the spec sets neither base nor maximum delay, else
	// unknown.
	ExpectedP50Seconds *int `json:"expected_p50_seconds,omitempty"`
	ExpectedP90Seconds *int `json:"expected_p90_seconds,omitempty"`
}

// EscalationSettings say how people are asked and how often they may extend.
type EscalationSettings struct {
	// DecisionWindowSeconds is how long an escalation stays open, 60 to 2,592,000. Default 86,400.
	DecisionWindowSeconds *int `json:"decision_window_seconds,omitempty"`
	// ReminderSeconds is the time between reminders, 60 to 2,592,000, or 0 for none. Default 14,400.
	ReminderSeconds *int `json:"reminder_seconds,omitempty"`
	// MaxExtensions is how often people may grant more time or requests, 0 to 100. Default 1.
	MaxExtensions *int `json:"max_extensions,omitempty"`
	// EscalateOn lists the reasons that go to a person. Null means every stop that leaves a choice; empty means none, so that the
	// wait ends and the caller decides.
	EscalateOn []Reason `json:"escalate_on"`
}

// Reopens is a person's permission to wait again for a job after a wait for it has ended. All three are required.
type Reopens struct {
	// RunID is the run id of the latest closed wait.
	RunID string `json:"run_id"`
	// DecidedBy is who decides. 1 to 256 characters.
	DecidedBy string `json:"decided_by"`
	// Comment is why. 1 to 4,096 characters.
	Comment string `json:"comment"`
}
