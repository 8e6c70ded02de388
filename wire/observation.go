package wire

import "time"

// Target identifies the job, and the credential to ask with, of a request to a provider.
type Target struct {
	Provider      string            `json:"provider"`
	Account       string            `json:"account"`
	ProviderJobID string            `json:"provider_job_id"`
	Params        map[string]string `json:"params,omitempty"`
	// StatusURL is taken from the spec, or from the last answer if the table reads a URL for the next poll.
	StatusURL     string `json:"status_url,omitempty"`
	CredentialRef string `json:"credential_ref,omitempty"`
}

// Authority is what an activity checks before it sends a request.
type Authority struct {
	// OriginalRunID is the original run id of the workflow; if the activity runs under another one, the workflow was reset.
	OriginalRunID string `json:"original_run_id,omitempty"`
	// AcknowledgedRuns are the run ids of resets that a person has acknowledged.
	AcknowledgedRuns []string `json:"acknowledged_runs,omitempty"`
	// DeniedVersions are the versions of the credential that the provider has refused.
	DeniedVersions []string `json:"denied_versions,omitempty"`
	// ApprovalUnasked reports whether no approval was asked for: if the credential's entry requires one, nothing is sent.
	ApprovalUnasked bool `json:"approval_unasked,omitempty"`
}

// PollRequest is the input of ActivityPollStatus.
type PollRequest struct {
	Target
	Authority
	// NotAfter is the earlier of the deadlines: nothing is sent at or after it.
	NotAfter       time.Time      `json:"not_after"`
	TimeoutSeconds int            `json:"timeout_seconds"`
	Reading        ReadingContext `json:"reading"`
	// MayHoldBack reports whether the request may be held back, with an ErrorHeldBack after which the activity is repeated.
	MayHoldBack bool `json:"may_hold_back,omitempty"`
}

// ReadingContext is what happened before an answer, as far as the meaning of the answer depends on it.
type ReadingContext struct {
	// SubmittedAt is taken from the spec; if it is null there, or later than that, it is the start of the wait.
	SubmittedAt time.Time `json:"submitted_at"`
	// Answered reports whether an answer about the job was read before, which ends any grace period after submission.
	Answered bool `json:"answered,omitempty"`
	// NotFound is how many answers before this one were 404 or 410.
	NotFound int `json:"not_found,omitempty"`
	// CancelSent reports whether the wait sent a cancel request before this request.
	CancelSent bool `json:"cancel_sent,omitempty"`
}

// NotSent says why a request was not sent. Empty means that it was, or may have been, sent.
type NotSent string

// The reasons for not sending a request.
const (
	NotSentTooLate              NotSent = "too_late"               // it could not be sent before the deadline
	NotSentHistoryReset         NotSent = "history_reset"          // this run is a reset that nobody has acknowledged
	NotSentURLRejected          NotSent = "poll_url_rejected"      // not an origin of the credential and the table
	NotSentCredentialDenied     NotSent = "credential_denied"      // this version was refused before
	NotSentCredentialUnresolved NotSent = "credential_unavailable" // the worker cannot resolve the name
	NotSentTableMissing         NotSent = "table_missing"          // the worker no longer has the table
	NotSentHeldBack             NotSent = "held_back"              // others' answers forbid it until the time allowed is over
	NotSentApprovalRequired     NotSent = "approval_required"      // nobody has approved the credential; the detail is its rule
)

// Withheld says why a request was not sent. All fields are empty if it was, or may have been, sent, unless the result that embeds
// it says otherwise.
type Withheld struct {
	NotSent NotSent `json:"not_sent,omitempty"`
	// Detail narrows NotSent. It never contains a URL or a secret.
	Detail string `json:"detail,omitempty"`
	// RunID is the run that a reset created, with NotSentHistoryReset.
	RunID string `json:"run_id,omitempty"`
	// CredentialVersion is the version that the provider had refused, with NotSentCredentialDenied.
	CredentialVersion string `json:"credential_version,omitempty"`
	// HeldUntil is the time before which the provider does not want to be asked, with NotSentHeldBack. Null if unknown.
	HeldUntil *time.Time `json:"held_until,omitempty"`
}

// PollResult is the result of ActivityPollStatus: either why nothing was sent, or an observation.
type PollResult struct {
	Withheld
	Observation *Observation `json:"observation,omitempty"`
	// HeldBack says how the request was held back before. Null means that it was not.
	HeldBack *HeldBack `json:"held_back,omitempty"`
}

// HeldBack says how long and why a request was held back, unsent, at the lane that all requests to the same origin with the same
// credential share.
type HeldBack struct {
	// Since is when it was first held back, Times how often it was.
	Since time.Time `json:"since"`
	Times int       `json:"times"`
	// Cause is why it was last held back.
	Cause HoldCause `json:"cause"`
	// Slot is when it may be sent. It is set in the heartbeat of a waiting activity, never in a result.
	Slot *time.Time `json:"slot,omitempty"`
	// NotBefore is the time before which the provider does not want to be asked, as far as the worker knew. It is set only beside
	// Slot. Null means that the provider did not cause the hold.
	NotBefore *time.Time `json:"not_before,omitempty"`
}

// HoldCause says why a request is held back.
type HoldCause string

// The causes of a hold.
const (
	HoldRateLimited HoldCause = "rate_limited" // another request got a 429
	HoldUnavailable HoldCause = "unavailable"  // another request got a 503 with Retry-After
	HoldProbe       HoldCause = "probe"        // one request is testing whether a long hold is over
	HoldQueue       HoldCause = "queue"        // requests that were held back earlier go first
	HoldRate        HoldCause = "rate"         // the worker's rate limit for this origin
	HoldConcurrency HoldCause = "concurrency"  // the worker's limit on concurrent requests
)

// Answer is the HTTP fact in one word: how a status request was answered. It says nothing about the job.
type Answer string

// The answers, in the order in which they are checked.
const (
	AnswerTransportFailure Answer = "transport_failure" // no answer: DNS, refused, reset, TLS, time-out
	AnswerDenied           Answer = "denied"            // 401, 403
	AnswerNotFound         Answer = "not_found"         // 404, 410 without a meaning in the table
	AnswerRateLimited      Answer = "rate_limited"      // 429
	AnswerServerError      Answer = "server_error"      // 5xx
	AnswerUnexpected       Answer = "unexpected_status" // any other code
	AnswerMalformed        Answer = "malformed"         // a status code that promises a body, and a body that cannot be read
	AnswerRead             Answer = "read"              // the body was read; see Observation.Job
)

// Details of AnswerTransportFailure.
const (
	TransportDNS     = "dns"
	TransportRefused = "refused"
	TransportReset   = "reset"
	TransportTLS     = "tls"
	TransportTimeout = "timeout" // may have been delivered
	TransportLost    = "lost"    // the worker was lost with the request: may have been delivered
	TransportOther   = "other"
)

// Details of AnswerMalformed.
const (
	MalformedHTML          = "html"
	MalformedNotJSON       = "not_json"
	MalformedTruncated     = "truncated"
	MalformedEmptyBody     = "empty_body"
	MalformedInvalidUTF8   = "invalid_utf8"
	MalformedDuplicateKey  = "duplicate_key"
	MalformedTooLarge      = "too_large"
	MalformedTooDeep       = "too_deep"
	MalformedContentCoding = "content_coding" // not gzip, or gzip that cannot be decoded
	MalformedNotObject     = "not_object"
	MalformedStateAbsent   = "state_absent"
	MalformedStateNull     = "state_null"
	MalformedStateType     = "state_type"      // not a string, number or boolean
	MalformedFieldType     = "field_type"      // a predicate compares a value of the wrong type
	MalformedJobIDType     = "job_id_type"     // not a string or number
	MalformedTimestamp     = "timestamp"       // not in the table's format, without a zone, or outside 2000 to 2100
	MalformedResultType    = "result_type"     // a result that is not a string or number
	MalformedResultTooLong = "result_too_long" // a result of more than 4 KiB
	MalformedTooCostly     = "too_costly"      // reading it would exceed the cost limit of expressions
)

// Observation is what one status request found: an HTTP fact and, separately, a job fact.
type Observation struct {
	Answer Answer `json:"answer"`
	// Detail narrows Answer: a Transport or Malformed constant, or free text.
	Detail     string     `json:"detail,omitempty"`
	HTTPStatus int        `json:"http_status,omitempty"`
	SentAt     *time.Time `json:"sent_at,omitempty"`
	ReceivedAt *time.Time `json:"received_at,omitempty"`
	// ProviderRequestID is the provider's id of this request, at most 256 bytes.
	ProviderRequestID string `json:"provider_request_id,omitempty"`
	// Size is the length of the decoded body in bytes.
	Size int64 `json:"size,omitempty"`
	// Job is set only with AnswerRead.
	Job      *JobFact `json:"job,omitempty"`
	Guidance Guidance `json:"guidance,omitzero"`
	// NextStatusURL is the URL that the answer gives for the next poll, if the table reads one.
	NextStatusURL string `json:"next_status_url,omitempty"`
	// NextURLRejected reports whether the answer gives a URL for the next poll that the table does not accept. A wait that would
	// otherwise continue then stops with ReasonPollURLRejected.
	NextURLRejected   bool   `json:"next_url_rejected,omitempty"`
	TableDigest       string `json:"table_digest,omitempty"`
	CredentialRef     string `json:"credential_ref,omitempty"`
	CredentialVersion string `json:"credential_version,omitempty"`
}

// JobFact is what an answer says about the job.
type JobFact struct {
	// RawState is the provider's own word for the state, cut to at most 256 bytes.
	RawState string   `json:"raw_state"`
	Category Category `json:"category"`
	// Unproven names the success requirements that the answer does not meet.
	Unproven []string `json:"unproven,omitempty"`
	// OtherJob reports whether the answer is about a job other than the one asked for.
	OtherJob bool `json:"other_job,omitempty"`
	// Cancellable reports whether the provider would accept a cancel now. Null means that the answer does not say.
	Cancellable *bool `json:"cancellable,omitempty"`
	// Result holds the result references, verbatim, by their names in the table.
	Result map[string]string `json:"result,omitempty"`
	Error  ProviderError     `json:"error,omitzero"`
	// Progress is the provider's description of the progress, for people only.
	Progress  string     `json:"progress,omitempty"`
	UpdatedAt *time.Time `json:"updated_at,omitempty"`
	// ExpiresAt is when the provider gives up on the job, according to the answer.
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

// ProviderError is the provider's error, cut to 1 KiB and scrubbed of what looks like a secret.
type ProviderError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Guidance is what the provider says about when to ask again. Both values may be set.
type Guidance struct {
	// RetryAfterSeconds is the Retry-After, rounded up. Null if there is none or it was rejected.
	RetryAfterSeconds *int64 `json:"retry_after_seconds,omitempty"`
	// PollHintSeconds is the poll hint that the table reads, rounded up; 0 is a valid hint. Null if there is none or it was rejected.
	PollHintSeconds *int64             `json:"poll_hint_seconds,omitempty"`
	Rejected        []RejectedGuidance `json:"rejected,omitempty"`
}

// RejectedGuidance is guidance that cannot be followed.
type RejectedGuidance struct {
	// Source is DelayProviderRetryAfter or DelayProviderPollHint.
	Source DelaySource `json:"source"`
	Detail string      `json:"detail"`
}

// Details of rejected guidance.
const (
	GuidancePast         = "past"
	GuidanceZero         = "zero"
	GuidanceNegative     = "negative"
	GuidanceNotFinite    = "not_finite"
	GuidanceUnparsable   = "unparsable"
	GuidancePastDeadline = "past_deadline" // a hint past the deadline
)

// CancelRequest is the input of ActivityCancelAtProvider.
type CancelRequest struct {
	Target
	Authority
	TimeoutSeconds int `json:"timeout_seconds"`
	// HoldBackBefore is the latest time until which the request may be held back; it leaves time to confirm the cancellation. Zero
	// means that it may not be held back.
	HoldBackBefore time.Time `json:"hold_back_before,omitzero"`
}

// CancelResult is the result of ActivityCancelAtProvider. It does not prove a cancellation unless Confirmed: the following status
// answers decide.
type CancelResult struct {
	// Withheld also has a Detail if no answer came, and the CredentialVersion that was sent.
	Withheld
	// HTTPStatus is 0 if there was no answer.
	HTTPStatus int `json:"http_status,omitempty"`
	// Accepted reports whether the status code is one that the table expects.
	Accepted bool `json:"accepted,omitempty"`
	// Confirmed reports whether, by the table, an accepted cancel takes effect at once.
	Confirmed  bool       `json:"confirmed,omitempty"`
	SentAt     *time.Time `json:"sent_at,omitempty"`
	ReceivedAt *time.Time `json:"received_at,omitempty"`
	Guidance   Guidance   `json:"guidance,omitzero"`
	// HeldBack is as in PollResult.
	HeldBack *HeldBack `json:"held_back,omitempty"`
}
