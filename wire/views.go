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
	// Message is all of it in words, as people get it: Headline, Lines, Ask and the options.
	Message string `json:"message"`
	// Headline says in one line that the wait has stopped, or who asks for more. Empty from a worker of before this field, as
	// are Lines and Ask.
	Headline string `json:"headline,omitempty"`
	// Lines are the facts to decide by.
	Lines []MessageLine `json:"lines,omitempty"`
	// Ask says by which id and until when to answer, and what comes of silence.
	Ask     string   `json:"ask,omitempty"`
	Options []Option `json:"options"`
	// Request is what a proposal asks for. Null with a stop.
	Request *ExtensionRequest `json:"request,omitempty"`
}

// MessageLine is one fact of a message in words: "status requests", "3 of 12". The words change with releases.
type MessageLine struct {
	// Name is what the fact is about.
	Name string `json:"name"`
	Text string `json:"text"`
	// Link reports whether the text is an address from the state table: where to look at the job at its provider.
	Link bool `json:"link,omitempty"`
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
