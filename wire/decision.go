package wire

import "time"

// Decision is a person's bounded answer to an escalation. All kinds need decision_id, decided_by and comment; fields
// that a kind does not use stay empty.
type Decision struct {
	Kind DecisionKind `json:"kind"`
	// DecisionID identifies the decision, which is applied at most once however often it is sent. 1 to 256 characters.
	DecisionID string `json:"decision_id"`
	// EscalationID is the escalation or proposal that this answers. Empty only for a cancel while polling.
	EscalationID string `json:"escalation_id"`
	// DecidedBy is who decides. 1 to 256 characters.
	DecidedBy string `json:"decided_by"`
	// Comment is why. 1 to 4,096 characters.
	Comment string `json:"comment"`
	// Seconds is the time from the decision to the new deadline (extend, treat_as_pending, use_credential). A deadline earlier than
	// the present one changes nothing.
	Seconds int `json:"seconds"`
	// StatusRequests, TransportFailures and RateLimited are added to the limits of the same names.
	StatusRequests    int `json:"status_requests"`
	TransportFailures int `json:"transport_failures"`
	RateLimited       int `json:"rate_limited"`
	// PastBusinessDeadline waives the business deadline.
	PastBusinessDeadline bool `json:"past_business_deadline"`
	// CredentialRef is the credential to use from now on (use_credential).
	CredentialRef string `json:"credential_ref"`
	// RawState is the raw state to treat as pending (treat_as_pending).
	RawState string `json:"raw_state"`
	// ProviderJobID and StatusURL identify the job to wait for (attach). StatusURL is set only if the table polls such a URL;
	// audits and messages show it without its query.
	ProviderJobID string `json:"provider_job_id,omitempty"`
	StatusURL     string `json:"status_url,omitempty"`
	// Params are the params that the table otherwise reads from the answer to a submission (attach). At most 20, with names of 1 to
	// 64 characters and values of 1 to 1,024.
	Params map[string]string `json:"params,omitempty"`
	// KeyID names the key that made Signature. Both are required if the worker has decision keys, and ignored otherwise.
	KeyID string `json:"key_id,omitempty"`
	// Signature is the Ed25519 signature of SignedText in base64url without padding.
	Signature string `json:"signature,omitempty"`
}

// DecisionReply is the result of UpdateDecide when the decision was applied, with the limits that hold from then on.
type DecisionReply struct {
	Accepted          bool      `json:"accepted"`
	DecisionID        string    `json:"decision_id"`
	DeadlineAt        time.Time `json:"deadline_at"`
	MaxStatusRequests int       `json:"max_status_requests"`
}

// Refusal says why a decision was not applied, or why an extension request opened no proposal. It is the detail of an application
// error of type ErrorDecisionRefused or ErrorRequestRefused.
type Refusal struct {
	Reason RefusalReason `json:"reason"`
	// Winner is the decision_id that was applied instead (lost, duplicate, conflict).
	Winner string `json:"winner,omitempty"`
	// Detail names the value, the rule that it breaks and, if there is one, a value that would be accepted.
	Detail string `json:"detail,omitempty"`
}

// Error renders the refusal of a decision in one line.
func (r *Refusal) Error() string { return r.Of("decision") }

// Of renders the refusal of something in one line.
func (r *Refusal) Of(what string) string {
	text := what + " refused: " + string(r.Reason)
	if r.Detail != "" {
		text += ": " + r.Detail
	}
	return text
}

// EscalationKind tells a stop from a proposal.
type EscalationKind string

// The kinds of escalation.
const (
	EscalationStop     EscalationKind = "stop"
	EscalationProposal EscalationKind = "proposal"
)

// Escalation is a question to people that the wait has opened.
type Escalation struct {
	// ID is unique to this opening: <operation_id>#<n>-<the last 8 hex of the first run id, after a reset of the reset run>.
	// That of a proposal has a p before the number.
	ID           string         `json:"id"`
	Kind         EscalationKind `json:"kind"`
	Reason       Reason         `json:"reason"`
	Detail       string         `json:"detail"`
	OpenedAt     time.Time      `json:"opened_at"`
	WindowEndsAt time.Time      `json:"window_ends_at"`
	// Options are the answers that it accepts. They do not change while it is open.
	Options []Option `json:"options"`
}

// Option is one answer that an escalation accepts, with the most that it may grant.
type Option struct {
	Kind                 DecisionKind `json:"kind"`
	MaxSeconds           int          `json:"max_seconds"`
	MaxStatusRequests    int          `json:"max_status_requests"`
	MaxTransportFailures int          `json:"max_transport_failures"`
	MaxRateLimited       int          `json:"max_rate_limited"`
	// Text describes the cost and effect of the option. It is rendered for each query and never stored.
	Text string `json:"text,omitempty"`
	// Destructive reports whether the option may destroy a result at the provider. Like Text, it is never stored.
	Destructive bool `json:"destructive,omitempty"`
}
