package wire

import "time"

// Target is what a request to a provider is about.
type Target struct {
	Provider      string            `json:"provider"`
	Account       string            `json:"account"`
	ProviderJobID string            `json:"provider_job_id"`
	Params        map[string]string `json:"params,omitempty"`
	// StatusURL is the spec's, or the one that the last answer handed out.
	StatusURL     string `json:"status_url,omitempty"`
	CredentialRef string `json:"credential_ref,omitempty"`
}

// Authority is what a sending activity checks before anything leaves.
type Authority struct {
	// OriginalRunID is the workflow's original run id; another run id of the activity proves a reset.
	OriginalRunID string `json:"original_run_id,omitempty"`
	// AcknowledgedRuns are run ids of resets that a person has acknowledged.
	AcknowledgedRuns []string `json:"acknowledged_runs,omitempty"`
	// DeniedVersions are versions of the target's credential that the provider has refused.
	DeniedVersions []string `json:"denied_versions,omitempty"`
	// ApprovalUnasked says that nobody was asked about the target's credential: if its entry wants approval, nothing leaves.
	ApprovalUnasked bool `json:"approval_unasked,omitempty"`
}

// PollRequest asks PollStatus for one status request.
type PollRequest struct {
	Target
	Authority
	// NotAfter is the earlier deadline: nothing leaves at or after it.
	NotAfter       time.Time      `json:"not_after"`
	TimeoutSeconds int            `json:"timeout_seconds"`
	Reading        ReadingContext `json:"reading"`
	// MayHoldBack says that the activity may be repeated after ErrorHeldBack.
	MayHoldBack bool `json:"may_hold_back,omitempty"`
}

// ReadingContext is what the meaning of an answer may depend on besides the answer.
type ReadingContext struct {
	// SubmittedAt is the spec's, else the start of the wait.
	SubmittedAt time.Time `json:"submitted_at"`
	// Answered says that a good answer was read before, which ends a grace after submission.
	Answered bool `json:"answered,omitempty"`
	// NotFound is how many answers before this one were 404 or 410.
	NotFound int `json:"not_found,omitempty"`
	// CancelSent says that our own cancel request left before this request.
	CancelSent bool `json:"cancel_sent,omitempty"`
}

// NotSent says why a request did not leave. Empty: it left, or may have left.
type NotSent string

// Why a request did not leave.
const (
	NotSentTooLate              NotSent = "too_late"               // it could not leave before the deadline
	NotSentHistoryReset         NotSent = "history_reset"          // this run is a reset nobody has acknowledged
	NotSentURLRejected          NotSent = "poll_url_rejected"      // not an origin of the credential and the table
	NotSentCredentialDenied     NotSent = "credential_denied"      // this version was refused before
	NotSentCredentialUnresolved NotSent = "credential_unavailable" // the worker cannot resolve the name
	NotSentTableMissing         NotSent = "table_missing"          // the worker has no such table any more
	NotSentHeldBack             NotSent = "held_back"              // others' answers forbid it until the time allowed is over
	NotSentApprovalRequired     NotSent = "approval_required"      // nobody has approved the credential; the detail is its rule
)

// Withheld says why a request did not leave. All of it is empty where it left, or may have left, unless the result that it is
// part of says otherwise.
type Withheld struct {
	NotSent NotSent `json:"not_sent,omitempty"`
	// Detail narrows NotSent; never a URL, never a secret.
	Detail string `json:"detail,omitempty"`
	// RunID is the run that found itself to be a reset.
	RunID string `json:"run_id,omitempty"`
	// CredentialVersion is the version that was found refused.
	CredentialVersion string `json:"credential_version,omitempty"`
	// HeldUntil is the time before which the provider does not want to be asked, where that is why nothing was sent.
	HeldUntil *time.Time `json:"held_until,omitempty"`
}

// PollResult is what one execution of PollStatus taught: either why nothing was sent, or an observation.
type PollResult struct {
	Withheld
	Observation *Observation `json:"observation,omitempty"`
	// HeldBack says how the request waited at its lane before this came of it. Null: it did not.
	HeldBack *HeldBack `json:"held_back,omitempty"`
}

// HeldBack says how a request waited at the lane of its origin and credential, without having been sent.
type HeldBack struct {
	// Since is when it was held back first, Times how often.
	Since time.Time `json:"since"`
	Times int       `json:"times"`
	// Cause is why it was held back last.
	Cause HoldCause `json:"cause"`
	// Slot is when it may leave. It is set while the request waits, in the heartbeat of its activity, and in no result.
	Slot *time.Time `json:"slot,omitempty"`
	// NotBefore is until when the provider wants to be left alone, as far as whoever held the request back knew. It is set
	// where Slot is. Null: nobody held it back for the provider's sake.
	NotBefore *time.Time `json:"not_before,omitempty"`
}

// HoldCause says why a request is held back.
type HoldCause string

// Why a request is held back.
const (
	HoldRateLimited HoldCause = "rate_limited" // a 429 was answered to another request
	HoldUnavailable HoldCause = "unavailable"  // a 503 with Retry-After was answered to another request
	HoldProbe       HoldCause = "probe"        // one request is out to see whether a long hold is over
	HoldQueue       HoldCause = "queue"        // others that were held back go first
	HoldRate        HoldCause = "rate"         // the worker's rate for this origin
	HoldConcurrency HoldCause = "concurrency"  // the worker's bound on requests under way
)

// Answer is the HTTP fact in one word: how a status request was answered. It says nothing of the job.
type Answer string

// How a request was answered, in the order of reading.
const (
	AnswerTransportFailure Answer = "transport_failure" // no answer: DNS, refused, reset, TLS, time-out
	AnswerDenied           Answer = "denied"            // 401, 403
	AnswerNotFound         Answer = "not_found"         // 404, 410 without a meaning in the table
	AnswerRateLimited      Answer = "rate_limited"      // 429
	AnswerServerError      Answer = "server_error"      // 5xx
	AnswerUnexpected       Answer = "unexpected_status" // any other code
	AnswerMalformed        Answer = "malformed"         // readable code, unreadable body
	AnswerRead             Answer = "read"              // Job says what it says
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
	MalformedContentCoding = "content_coding" // another than gzip, or gzip that cannot be decoded
	MalformedNotObject     = "not_object"
	MalformedStateAbsent   = "state_absent"
	MalformedStateNull     = "state_null"
	MalformedStateType     = "state_type"      // neither a text, a number nor a boolean
	MalformedFieldType     = "field_type"      // a predicate met a value of another type than it compares
	MalformedJobIDType     = "job_id_type"     // neither a text nor a number
	MalformedTimestamp     = "timestamp"       // another format than the table's, no zone, or outside 2000 to 2100
	MalformedResultType    = "result_type"     // a reference that is neither a text nor a number
	MalformedResultTooLong = "result_too_long" // a reference above 4 KiB
	MalformedTooCostly     = "too_costly"      // reading it would take more work than a table may cause
)

// Observation is what one status request taught: an HTTP fact and, apart from it, a job fact.
type Observation struct {
	Answer Answer `json:"answer"`
	// Detail narrows Answer: the kind of transport failure, what is malformed.
	Detail     string     `json:"detail,omitempty"`
	HTTPStatus int        `json:"http_status,omitempty"`
	SentAt     *time.Time `json:"sent_at,omitempty"`
	ReceivedAt *time.Time `json:"received_at,omitempty"`
	// ProviderRequestID is the provider's id of this request, at most 256 bytes.
	ProviderRequestID string `json:"provider_request_id,omitempty"`
	// Size is the length of the decoded body in bytes.
	Size int64 `json:"size,omitempty"`
	// Job is set with AnswerRead only.
	Job      *JobFact `json:"job,omitempty"`
	Guidance Guidance `json:"guidance,omitzero"`
	// NextStatusURL is the URL that the answer handed out for the next poll, where the table reads one.
	NextStatusURL string `json:"next_status_url,omitempty"`
	// NextURLRejected says that the answer handed out a URL for the next poll which the table does not accept, so that
	// a wait which would go on stops with ReasonPollURLRejected.
	NextURLRejected   bool   `json:"next_url_rejected,omitempty"`
	TableDigest       string `json:"table_digest,omitempty"`
	CredentialRef     string `json:"credential_ref,omitempty"`
	CredentialVersion string `json:"credential_version,omitempty"`
}

// JobFact is what an answer says of the job.
type JobFact struct {
	// RawState is the provider's word, at most 256 bytes, cut on a rune.
	RawState string   `json:"raw_state"`
	Category Category `json:"category"`
	// Unproven names the success requirements that the answer does not meet.
	Unproven []string `json:"unproven,omitempty"`
	// OtherJob says that the answer is about another job than the one asked for.
	OtherJob bool `json:"other_job,omitempty"`
	// Cancellable says whether the provider would take a cancel now, where its answer tells. Null: it does not tell.
	Cancellable *bool `json:"cancellable,omitempty"`
	// Result holds the references by their names in the table, verbatim.
	Result map[string]string `json:"result,omitempty"`
	Error  ProviderError     `json:"error,omitzero"`
	// Progress is the provider's own word on progress, for people only.
	Progress  string     `json:"progress,omitempty"`
	UpdatedAt *time.Time `json:"updated_at,omitempty"`
	// ExpiresAt is when the provider gives the job up, as the answer has it.
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

// ProviderError is the provider's own error, bounded to 1 KiB and scrubbed of what looks like a secret.
type ProviderError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Guidance is what the provider says about when to ask again.
type Guidance struct {
	// RetryAfterSeconds is the minimum asked for, rounded up. Null: none, or rejected.
	RetryAfterSeconds *int64 `json:"retry_after_seconds,omitempty"`
	// PollHintSeconds is the hint that the table names, rounded up; 0 is a hint. Null: none, or rejected.
	PollHintSeconds *int64             `json:"poll_hint_seconds,omitempty"`
	Rejected        []RejectedGuidance `json:"rejected,omitempty"`
}

// RejectedGuidance records guidance that was not followed.
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
	GuidancePastDeadline = "past_deadline" // a hint that leads past the deadline
)

// CancelRequest asks CancelAtProvider for the one cancel request of a decision.
type CancelRequest struct {
	Target
	Authority
	TimeoutSeconds int `json:"timeout_seconds"`
	// HoldBackBefore is the time until which the request may be held back, so that there is time left to see the
	// cancellation confirmed. Zero: it may not.
	HoldBackBefore time.Time `json:"hold_back_before,omitzero"`
}

// CancelResult is what the cancel request taught. Whatever it says, the next status answers decide.
type CancelResult struct {
	// Withheld has a Detail where no answer came, too, and the CredentialVersion that was sent.
	Withheld
	// HTTPStatus is 0 when there was no answer.
	HTTPStatus int `json:"http_status,omitempty"`
	// Accepted says that the code is one that the table expects.
	Accepted bool `json:"accepted,omitempty"`
	// Confirmed says that the table documents an accepted cancel as done at once.
	Confirmed  bool       `json:"confirmed,omitempty"`
	SentAt     *time.Time `json:"sent_at,omitempty"`
	ReceivedAt *time.Time `json:"received_at,omitempty"`
	Guidance   Guidance   `json:"guidance,omitzero"`
	// HeldBack is as in PollResult.
	HeldBack *HeldBack `json:"held_back,omitempty"`
}
