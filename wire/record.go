package wire

import "time"

// Record is the complete state of a wait or submission. It is the second input of a run that continues another, so that nothing is
// lost over continue-as-new.
type Record struct {
	Prepared   Prepared  `json:"prepared"`
	FirstRunID string    `json:"first_run_id"`
	OpenedAt   time.Time `json:"opened_at"`

	Phase    Phase          `json:"phase"`
	Limits   Limits         `json:"limits"`
	Counters Counters       `json:"counters"`
	Answers  map[string]int `json:"answers,omitempty"`
	Notes    []string       `json:"notes,omitempty"`

	// CredentialRef is the credential in use: the spec's, or the one by which a person replaced it.
	CredentialRef string              `json:"credential_ref,omitempty"`
	Denied        []CredentialVersion `json:"denied,omitempty"`
	NextStatusURL string              `json:"next_status_url,omitempty"`
	// Approval is the rule of the credential in use, and Approved whether a person has approved it for the whole wait.
	// ApprovedThrough is the number of the last status request that was approved singly or together with a cancel.
	Approval        ApprovalRule `json:"approval,omitempty"`
	Approved        bool         `json:"approved,omitempty"`
	ApprovedThrough int          `json:"approved_through,omitempty"`
	// Overrides are the raw states that a person decided to treat as pending.
	Overrides []string `json:"overrides,omitempty"`

	LastObservation *Observation `json:"last_observation,omitempty"`
	// LastAnsweredAt is when the last request that was sent was answered or lost.
	LastAnsweredAt time.Time `json:"last_answered_at,omitzero"`
	// Answered reports whether an answer about the job was read; NotFound counts the 404 and 410 before it.
	Answered bool `json:"answered,omitempty"`
	NotFound int  `json:"not_found,omitempty"`
	// LastRawState is the state in the last answer about the job, LastCategory its category.
	LastRawState string   `json:"last_raw_state,omitempty"`
	LastCategory Category `json:"last_category,omitempty"`
	// Terminal is the first terminal reading, unproven ones included.
	Terminal *Terminal `json:"terminal,omitempty"`

	Poll *PlannedPoll `json:"poll,omitempty"`
	// Cancel is empty if no cancel was decided; CancelDetail is the provider's reaction in one word.
	Cancel       CancelState `json:"cancel,omitempty"`
	CancelDetail string      `json:"cancel_detail,omitempty"`
	// Nudges is the effect of the nudges since the last request.
	Nudges Nudges `json:"nudges,omitzero"`
	// ProviderMinimum is the time before which the provider does not want to be asked.
	ProviderMinimum time.Time `json:"provider_minimum,omitzero"`
	// FinalLookFor is the deadline for which the one final look was planned.
	FinalLookFor time.Time `json:"final_look_for,omitzero"`

	Escalation *Escalation `json:"escalation,omitempty"`
	// Escalations counts the escalations so far.
	Escalations int       `json:"escalations,omitempty"`
	RemindAt    time.Time `json:"remind_at,omitzero"`
	// Proposal is the open one, Proposals counts those so far, and ExtensionRequests are the requests that opened them.
	Proposal          *Proposal      `json:"proposal,omitempty"`
	Proposals         int            `json:"proposals,omitempty"`
	ExtensionRequests []KnownRequest `json:"extension_requests,omitempty"`
	// RequestsRefused counts the refused extension requests in the audit.
	RequestsRefused int `json:"requests_refused,omitempty"`
	// ResetRunID is the run of the unacknowledged reset that stopped the wait; AcknowledgedRuns are those that people acknowledged.
	ResetRunID       string            `json:"reset_run_id,omitempty"`
	AcknowledgedRuns []string          `json:"acknowledged_runs,omitempty"`
	Decisions        []AppliedDecision `json:"decisions,omitempty"`
	DecidedBy        string            `json:"decided_by,omitempty"`

	// DecisionKeys are the trusted keys as last recorded, KeysFor the escalation or proposal for which that was done.
	DecisionKeys []DecisionKey `json:"decision_keys,omitempty"`
	KeysFor      string        `json:"keys_for,omitempty"`
	// RefusedInARow counts the decisions that were refused since the last audit entry of another kind, and LastRefusal is why the
	// last one was. Both are kept only if decisions are signed.
	RefusedInARow int           `json:"refused_in_a_row,omitempty"`
	LastRefusal   RefusalReason `json:"last_refusal,omitempty"`

	// Notifications are those that are not delivered yet.
	Notifications []Notification `json:"notifications,omitempty"`
	// Outcome is set when the wait is decided.
	Outcome *Outcome `json:"outcome,omitempty"`
	// EndTold reports whether people were notified of the end, or need not be. Used only with Prepared.TellDecisions.
	EndTold bool `json:"end_told,omitempty"`

	// Submission is set if Prepared.Submission is.
	Submission *SubmissionRecord `json:"submission,omitempty"`

	AuditSeq  int    `json:"audit_seq"`
	AuditHead string `json:"audit_head"`
}

// CredentialVersion is one version of one named credential.
type CredentialVersion struct {
	Ref     string `json:"ref"`
	Version string `json:"version"`
}

// Terminal is the first terminal reading of a wait.
type Terminal struct {
	RawState string   `json:"raw_state"`
	Category Category `json:"category"`
	// Unproven reports whether a success did not meet the table's success requirements.
	Unproven bool `json:"unproven,omitempty"`
}

// Nudges limits what nudges do between two requests: one has an effect, and one that cannot be read is recorded.
type Nudges struct {
	Counted bool `json:"counted,omitempty"`
	Refused bool `json:"refused,omitempty"`
	// Hurry reports whether a nudge came while a request was in flight, so that the next poll is due as soon as it is allowed.
	Hurry bool `json:"hurry,omitempty"`
	// NotBefore is set by a request that was not sent, from which min_delay counts, too.
	NotBefore time.Time `json:"not_before,omitzero"`
}

// PlannedPoll is the next status request.
type PlannedPoll struct {
	At     time.Time   `json:"at"`
	Source DelaySource `json:"source"`
	// CaughtUp reports whether this poll was late already and has been postponed once.
	CaughtUp bool `json:"caught_up,omitempty"`
	// RawDelaySeconds is the local delay before jitter, which bounds how long a late poll is postponed.
	RawDelaySeconds int64 `json:"raw_delay_seconds"`
}

// CancelState is the progress of the cancel request of a decision.
type CancelState string

// The states of a cancel request.
const (
	CancelWanted   CancelState = "wanted"   // decided, not sent yet
	CancelInFlight CancelState = "inflight" // may have been sent
	CancelSent     CancelState = "sent"     // answered or lost; status answers decide
)

// AppliedDecision records a decision_id, so that it is applied at most once.
type AppliedDecision struct {
	ID string `json:"id"`
	// Digest is the hash of the decision, which distinguishes a duplicate from a conflict.
	Digest       string `json:"digest"`
	EscalationID string `json:"escalation_id"`
}

// NotificationKind is what a notification reports.
type NotificationKind string

// The kinds of notification.
const (
	NotifyEscalated NotificationKind = "escalated"
	NotifyReminded  NotificationKind = "reminded"
	NotifyClosed    NotificationKind = "closed"   // closed without a person's answer
	NotifyProposed  NotificationKind = "proposed" // a caller asks for more, polling goes on
	NotifyDecided   NotificationKind = "decided"  // a decision was applied
	NotifyEnded     NotificationKind = "ended"    // ended by itself after people had been asked
)

// Notification is the content of a message to people. The notifier renders it as text.
type Notification struct {
	// ID is an idempotency key: <id of the escalation or proposal>/<kind>/<n>. A notification about neither has the id of an
	// escalation number 0.
	ID       string           `json:"id"`
	Kind     NotificationKind `json:"kind"`
	Briefing Briefing         `json:"briefing"`
}

// Briefing is what people need to know about a wait to decide. It contains no secret.
type Briefing struct {
	OperationID   string         `json:"operation_id"`
	Provider      string         `json:"provider"`
	Account       string         `json:"account"`
	ProviderJobID string         `json:"provider_job_id"`
	Phase         Phase          `json:"phase"`
	RawState      string         `json:"raw_state"`
	Category      Category       `json:"category,omitempty"`
	OpenedAt      time.Time      `json:"opened_at"`
	At            time.Time      `json:"at"`
	Limits        Limits         `json:"limits"`
	Counters      Counters       `json:"counters"`
	Answers       map[string]int `json:"answers,omitempty"`
	// LastHTTPStatus is 0 if the last request got no answer; LastAnswer says how it was answered.
	LastHTTPStatus int           `json:"last_http_status,omitempty"`
	LastAnswer     Answer        `json:"last_answer,omitempty"`
	LastAnswerAt   *time.Time    `json:"last_answer_at,omitempty"`
	ProviderError  ProviderError `json:"provider_error,omitzero"`
	CredentialRef  string        `json:"credential_ref,omitempty"`
	ConsoleURL     string        `json:"console_url,omitempty"`
	Cancel         *CancelFacts  `json:"cancel,omitempty"`
	Escalation     *Escalation   `json:"escalation,omitempty"`
	// Proposal is never set together with Escalation.
	Proposal *Proposal `json:"proposal,omitempty"`
	// Signed reports whether the answer must be signed by a trusted key.
	Signed bool `json:"signed,omitempty"`
	// Decided is the decision that a NotifyDecided reports.
	Decided *Decided `json:"decided,omitempty"`
	Outcome *Outcome `json:"outcome,omitempty"`
	// Submission is set if the operation submits the job.
	Submission *SubmissionView `json:"submission,omitempty"`
}

// TrustedKeys is the result of ActivityTrustedKeys: the keys that the worker trusts now.
type TrustedKeys struct {
	Keys []DecisionKey `json:"keys"`
}

// Outcome is the result of a wait.
type Outcome struct {
	Status OutcomeStatus `json:"status"`
	// Reason is empty for a plain success.
	Reason Reason `json:"reason"`
	Detail string `json:"detail"`
	// Undecided reports whether an escalation lapsed without an answer.
	Undecided bool `json:"undecided"`
	// DecidedBy is who made the last decision that was applied; empty if none was.
	DecidedBy     string            `json:"decided_by"`
	OperationID   string            `json:"operation_id"`
	Provider      string            `json:"provider"`
	Account       string            `json:"account"`
	ProviderJobID string            `json:"provider_job_id"`
	RawState      string            `json:"raw_state"`
	Result        map[string]string `json:"result"`
	// Partial reports whether Result is incomplete.
	Partial       bool          `json:"partial"`
	ProviderError ProviderError `json:"provider_error"`
	Notes         []string      `json:"notes"`
	Counters
	Answers      map[string]int `json:"answers"`
	OpenedAt     time.Time      `json:"opened_at"`
	ClosedAt     time.Time      `json:"closed_at"`
	AuditEntries int            `json:"audit_entries"`
	AuditHead    string         `json:"audit_head"`
}
