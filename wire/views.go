package wire

import "time"

// OperationView answers QueryOperation.
type OperationView struct {
	Spec            Spec           `json:"spec"`
	Limits          Limits         `json:"limits"`
	Counters        Counters       `json:"counters"`
	Answers         map[string]int `json:"answers"`
	Phase           Phase          `json:"phase"`
	LastObservation *Observation   `json:"last_observation"`
	NextPollAt      *time.Time     `json:"next_poll_at"`
	DelaySource     DelaySource    `json:"delay_source"`
	// Approval is when a person must approve that the credential is used; empty or "none": never.
	Approval ApprovalRule `json:"approval,omitempty"`
	// Signing is what a signature needs to know; null: decisions need none.
	Signing *SigningView `json:"signing,omitempty"`
	// Escalation is the stop that waits for a person. Null: none.
	Escalation *EscalationView `json:"escalation"`
	// Proposal is what a caller asks for while polling goes on. Null: nothing; never set beside an escalation.
	Proposal *EscalationView `json:"proposal"`
	// Submission is set where the operation submits the job; Spec is then the wait's as far as it is known.
	Submission *SubmissionView `json:"submission,omitempty"`
	// Notice is the latest notification of this run: whether people could be told. Null: there was none.
	Notice *NoticeView `json:"notice,omitempty"`
}

// EscalationView answers QueryEscalation: the open escalation or proposal with its message in words.
type EscalationView struct {
	ID           string         `json:"id"`
	Kind         EscalationKind `json:"kind"`
	Reason       Reason         `json:"reason"`
	Detail       string         `json:"detail"`
	OpenedAt     time.Time      `json:"opened_at"`
	WindowEndsAt time.Time      `json:"window_ends_at"`
	Message      string         `json:"message"`
	Options      []Option       `json:"options"`
	// Request is what a proposal asks for. Null with a stop.
	Request *ExtensionRequest `json:"request,omitempty"`
}

// AuditView answers QueryAudit: the entries of this run.
type AuditView struct {
	Entries []Entry `json:"entries"`
	// Head is the hash of the last entry of the wait so far.
	Head string `json:"head"`
	// FirstSeq is the first sequence number that this run can show.
	FirstSeq int `json:"first_seq"`
}

// SigningView is what a signed decision needs to know of a wait.
type SigningView struct {
	// KeyIDs are the keys of which one must sign.
	KeyIDs []string `json:"key_ids"`
	// WaitID is the escalation_id of a cancel while polling: signed, it is for this wait and no other.
	WaitID string `json:"wait_id"`
}
