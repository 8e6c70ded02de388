package wire

import "time"

// Decision is a person's bounded answer to an escalation. All kinds need decision_id, decided_by and comment; fields
// that a kind does not use stay empty.
type Decision struct {
	Kind DecisionKind `json:"kind"`
	// DecisionID makes the decision applied at most once. 1 to 256 characters.
	DecisionID string `json:"decision_id"`
	// EscalationID names the escalation or proposal that is answered. Empty only for a cancel while polling.
	EscalationID string `json:"escalation_id"`
	// DecidedBy is who decides. 1 to 256 characters.
	DecidedBy string `json:"decided_by"`
	// Comment is why. 1 to 4,096 characters.
	Comment string `json:"comment"`
	// Seconds from the decision to the new deadline; an earlier one than the present changes nothing.
	Seconds int `json:"seconds"`
	// StatusRequests, TransportFailures and RateLimited raise the maxima.
	StatusRequests    int `json:"status_requests"`
	TransportFailures int `json:"transport_failures"`
	RateLimited       int `json:"rate_limited"`
	// PastBusinessDeadline waives the business deadline.
	PastBusinessDeadline bool `json:"past_business_deadline"`
	// CredentialRef is the name to go on with (use_credential).
	CredentialRef string `json:"credential_ref"`
	// RawState is the state to go on waiting in (treat_as_pending).
	RawState string `json:"raw_state"`
	// ProviderJobID and StatusURL are those of the job to wait for (attach), StatusURL where the table polls such a URL.
	// Audits and messages have it without its query.
	ProviderJobID string `json:"provider_job_id,omitempty"`
	StatusURL     string `json:"status_url,omitempty"`
	// Params are those that the table wants besides the spec's and reads from the answer to a submission (attach). At most 20,
	// with names of 1 to 64 characters and values of 1 to 1,024.
	Params map[string]string `json:"params,omitempty"`
	// KeyID names the key of Signature. Both are needed where the worker was given decision keys, and not looked at elsewhere.
	KeyID string `json:"key_id,omitempty"`
	// Signature is the Ed25519 signature of SignedText in base64url without padding.
	Signature string `json:"signature,omitempty"`
}

// DecisionReply answers an update whose decision was applied.
type DecisionReply struct {
	Accepted          bool      `json:"accepted"`
	DecisionID        string    `json:"decision_id"`
	DeadlineAt        time.Time `json:"deadline_at"`
	MaxStatusRequests int       `json:"max_status_requests"`
}

// Refusal says why a decision was not applied, or why a request opened no proposal. It is the detail of an
// ErrorDecisionRefused or ErrorRequestRefused.
type Refusal struct {
	Reason RefusalReason `json:"reason"`
	// Winner is the decision_id that answered first (lost, duplicate, conflict).
	Winner string `json:"winner,omitempty"`
	// Detail names the value, the rule and, where there is one, the value that would do.
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

// Escalation is one durable opening of a question to people.
type Escalation struct {
	// ID is unique to this opening: <operation_id>#<n>-<the last 8 hex of the first run id, after a reset of the reset run>.
	// That of a proposal has a p before the number.
	ID           string         `json:"id"`
	Kind         EscalationKind `json:"kind"`
	Reason       Reason         `json:"reason"`
	Detail       string         `json:"detail"`
	OpenedAt     time.Time      `json:"opened_at"`
	WindowEndsAt time.Time      `json:"window_ends_at"`
	// Options are frozen at opening.
	Options []Option `json:"options"`
}

// Option is one answer that an escalation accepts, with its maxima.
type Option struct {
	Kind                 DecisionKind `json:"kind"`
	MaxSeconds           int          `json:"max_seconds"`
	MaxStatusRequests    int          `json:"max_status_requests"`
	MaxTransportFailures int          `json:"max_transport_failures"`
	MaxRateLimited       int          `json:"max_rate_limited"`
	// Text is the option's cost and effect in words. It is rendered when somebody looks and never stored.
	Text string `json:"text,omitempty"`
	// Destructive says that the answer may destroy a result at the provider. Like Text it is never stored.
	Destructive bool `json:"destructive,omitempty"`
}
