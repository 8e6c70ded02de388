package wire

import "time"

// Record is the whole of a wait between two commands. It is the second input of a run that continues another, so that
// nothing is lost over continue-as-new.
type Record struct {
	Prepared   Prepared  `json:"prepared"`
	FirstRunID string    `json:"first_run_id"`
	OpenedAt   time.Time `json:"opened_at"`

	Phase    Phase          `json:"phase"`
	Limits   Limits         `json:"limits"`
	Counters Counters       `json:"counters"`
	Answers  map[string]int `json:"answers,omitempty"`
	Notes    []string       `json:"notes,omitempty"`

	// CredentialRef is the spec's, or the one that a person put in its place.
	CredentialRef string              `json:"credential_ref,omitempty"`
	Denied        []CredentialVersion `json:"denied,omitempty"`
	NextStatusURL string              `json:"next_status_url,omitempty"`
	// Approval is the rule of the credential in use, Approved that a person has approved it for the whole wait.
	// ApprovedThrough is the number of the last status request that was approved singly or goes with a cancel.
	Approval        ApprovalRule `json:"approval,omitempty"`
	Approved        bool         `json:"approved,omitempty"`
	ApprovedThrough int          `json:"approved_through,omitempty"`
	// Overrides are raw states that a person said to wait in.
	Overrides []string `json:"overrides,omitempty"`

	LastObservation *Observation `json:"last_observation,omitempty"`
	// LastAnsweredAt is when the last request that left was answered or lost.
	LastAnsweredAt time.Time `json:"last_answered_at,omitzero"`
	// Answered reports whether a good answer was read; NotFound counts 404 and 410 before it.
	Answered bool `json:"answered,omitempty"`
	NotFound int  `json:"not_found,omitempty"`
	// LastRawState is the state of the last good answer, LastCategory its meaning.
	LastRawState string   `json:"last_raw_state,omitempty"`
	LastCategory Category `json:"last_category,omitempty"`
	// Terminal is the first terminal reading, unproven ones included.
	Terminal *Terminal `json:"terminal,omitempty"`

	Poll *PlannedPoll `json:"poll,omitempty"`
	// Cancel is empty when no cancel was decided; CancelDetail says in a word how the provider took it.
	Cancel       CancelState `json:"cancel,omitempty"`
	CancelDetail string      `json:"cancel_detail,omitempty"`
	// Nudges is what became of nudges since the last request left.
	Nudges Nudges `json:"nudges,omitzero"`
	// ProviderMinimum is the time before which the provider does not want to be asked.
	ProviderMinimum time.Time `json:"provider_minimum,omitzero"`
	// FinalLookFor is the deadline for which the one final look was planned.
	FinalLookFor time.Time `json:"final_look_for,omitzero"`

	Escalation *Escalation `json:"escalation,omitempty"`
	// Escalations counts the openings so far.
	Escalations int       `json:"escalations,omitempty"`
	RemindAt    time.Time `json:"remind_at,omitzero"`
	// Proposal is the open one, Proposals counts the openings so far, ExtensionRequests are those that led to them.
	Proposal          *Proposal      `json:"proposal,omitempty"`
	Proposals         int            `json:"proposals,omitempty"`
	ExtensionRequests []KnownRequest `json:"extension_requests,omitempty"`
	// RequestsRefused counts the refused requests that stand in the audit.
	RequestsRefused int `json:"requests_refused,omitempty"`
	// ResetRunID is the unacknowledged reset that stopped the wait; AcknowledgedRuns were answered for.
	ResetRunID       string            `json:"reset_run_id,omitempty"`
	AcknowledgedRuns []string          `json:"acknowledged_runs,omitempty"`
	Decisions        []AppliedDecision `json:"decisions,omitempty"`
	DecidedBy        string            `json:"decided_by,omitempty"`

	// DecisionKeys are the trusted keys as they were recorded last, KeysFor the opening for which that was.
	DecisionKeys []DecisionKey `json:"decision_keys,omitempty"`
	KeysFor      string        `json:"keys_for,omitempty"`
	// RefusedInARow counts the decisions that were refused since the last entry of another kind, LastRefusal is why the last
	// one was. Both are kept only where decisions are signed.
	RefusedInARow int           `json:"refused_in_a_row,omitempty"`
	LastRefusal   RefusalReason `json:"last_refusal,omitempty"`

	// Notifications are those that were not delivered yet.
	Notifications []Notification `json:"notifications,omitempty"`
	// Outcome is set when the wait is decided.
	Outcome *Outcome `json:"outcome,omitempty"`
	// EndTold reports whether people were told how the wait ended, or need not be (with Prepared.TellDecisions alone).
	EndTold bool `json:"end_told,omitempty"`

	// Submission is set with Prepared.Submission.
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
	// Unproven reports whether the success lacked its proof.
	Unproven bool `json:"unproven,omitempty"`
}

// Nudges bound what nudges do between two requests: one counts, and one that cannot be read is noted.
type Nudges struct {
	Counted bool `json:"counted,omitempty"`
	Refused bool `json:"refused,omitempty"`
	// Hurry reports whether one came while a request was under way: the poll after its answer comes as soon as it may.
	Hurry bool `json:"hurry,omitempty"`
	// NotBefore is set by a request that did not leave: min_delay keeps away from that one as well.
	NotBefore time.Time `json:"not_before,omitzero"`
}

// PlannedPoll is the next status request.
type PlannedPoll struct {
	At     time.Time   `json:"at"`
	Source DelaySource `json:"source"`
	// CaughtUp reports whether a late wake has waited once more already.
	CaughtUp bool `json:"caught_up,omitempty"`
	// RawDelaySeconds is the undrawn local delay, from which a late wake draws.
	RawDelaySeconds int64 `json:"raw_delay_seconds"`
}

// CancelState says how far the one cancel request of a decision came.
type CancelState string

// The states of a cancel request.
const (
	CancelWanted   CancelState = "wanted"   // decided, not sent
	CancelInFlight CancelState = "inflight" // may have left
	CancelSent     CancelState = "sent"     // answered or lost; status answers decide
)

// AppliedDecision remembers a decision_id, so that it is applied at most once.
type AppliedDecision struct {
	ID string `json:"id"`
	// Digest is the hash of its content, which tells a duplicate from a conflict.
	Digest       string `json:"digest"`
	EscalationID string `json:"escalation_id"`
}

// NotificationKind says what people are told.
type NotificationKind string

// The notifications.
const (
	NotifyEscalated NotificationKind = "escalated"
	NotifyReminded  NotificationKind = "reminded"
	NotifyClosed    NotificationKind = "closed"   // closed without a person's answer
	NotifyProposed  NotificationKind = "proposed" // a caller asks for more, polling goes on
	NotifyDecided   NotificationKind = "decided"  // a decision was applied
	NotifyEnded     NotificationKind = "ended"    // ended by itself after people had been asked
)

// Notification is the typed content of a message to people; whoever delivers it renders the words.
type Notification struct {
	// ID is an idempotency key: <id of the escalation or the proposal>/<kind>/<n>. Where none is spoken of, the id of a zeroth
	// escalation stands in its place.
	ID       string           `json:"id"`
	Kind     NotificationKind `json:"kind"`
	Briefing Briefing         `json:"briefing"`
}

// Briefing is what a decision needs to know of a wait, and no secret.
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
	// LastHTTPStatus is 0 when the last request had no answer; LastAnswer says how it was answered.
	LastHTTPStatus int           `json:"last_http_status,omitempty"`
	LastAnswer     Answer        `json:"last_answer,omitempty"`
	LastAnswerAt   *time.Time    `json:"last_answer_at,omitempty"`
	ProviderError  ProviderError `json:"provider_error,omitzero"`
	CredentialRef  string        `json:"credential_ref,omitempty"`
	ConsoleURL     string        `json:"console_url,omitempty"`
	Cancel         *CancelFacts  `json:"cancel,omitempty"`
	Escalation     *Escalation   `json:"escalation,omitempty"`
	// Proposal is never set beside an escalation.
	Proposal *Proposal `json:"proposal,omitempty"`
	// Signed reports whether the answer must be signed by a trusted key.
	Signed bool `json:"signed,omitempty"`
	// Decided is the decision that NotifyDecided tells of.
	Decided *Decided `json:"decided,omitempty"`
	Outcome *Outcome `json:"outcome,omitempty"`
	// Submission is set where the operation submits the job.
	Submission *SubmissionView `json:"submission,omitempty"`
}

// TrustedKeys is what ActivityTrustedKeys answers: the keys that the worker trusts at this moment.
type TrustedKeys struct {
	Keys []DecisionKey `json:"keys"`
}

// Outcome is the result of a wait that was decided.
type Outcome struct {
	Status OutcomeStatus `json:"status"`
	// Reason is empty for a plain success.
	Reason Reason `json:"reason"`
	Detail string `json:"detail"`
	// Undecided reports whether an escalation lapsed without an answer.
	Undecided bool `json:"undecided"`
	// DecidedBy is who gave the last applied decision; empty when none was applied.
	DecidedBy     string            `json:"decided_by"`
	OperationID   string            `json:"operation_id"`
	Provider      string            `json:"provider"`
	Account       string            `json:"account"`
	ProviderJobID string            `json:"provider_job_id"`
	RawState      string            `json:"raw_state"`
	Result        map[string]string `json:"result"`
	// Partial reports whether the result is not the whole of what was asked for.
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
