package wire

import "time"

// OperationView is the result of QueryOperation.
type OperationView struct {
	Spec            Spec           `json:"spec"`
	Limits          Limits         `json:"limits"`
	Counters        Counters       `json:"counters"`
	Answers         map[string]int `json:"answers"`
	Phase           Phase          `json:"phase"`
	LastObservation *Observation   `json:"last_observation"`
	NextPollAt      *time.Time     `json:"next_poll_at"`
	DelaySource     DelaySource    `json:"delay_source"`
	// Approval is when a person must approve the use of the credential. Empty means ApprovalNone.
	Approval ApprovalRule `json:"approval,omitempty"`
	// Signing is what is needed to sign a decision. Null means that decisions need no signature.
	Signing *SigningView `json:"signing,omitempty"`
	// Escalation is the open escalation; null if there is none.
	Escalation *EscalationView `json:"escalation"`
	// Proposal is the open proposal; null if there is none. It is never set together with Escalation.
	Proposal *EscalationView `json:"proposal"`
	// Submission is set if the operation submits the job. Spec is then the spec of the wait, as far as it is known.
	Submission *SubmissionView `json:"submission,omitempty"`
	// Notice is the latest notification of this run; null if there was none.
	Notice *NoticeView `json:"notice,omitempty"`
}

// EscalationView is the result of QueryEscalation: the open escalation or proposal with its message in words.
type EscalationView struct {
	ID           string         `json:"id"`
	Kind         EscalationKind `json:"kind"`
	Reason       Reason         `json:"reason"`
	Detail       string         `json:"detail"`
	OpenedAt     time.Time      `json:"opened_at"`
	WindowEndsAt time.Time      `json:"window_ends_at"`
	// Message is the whole text as notifications contain it: Headline, Lines, Ask and the options.
	Message string `json:"message"`
	// Headline says in one line that the wait has stopped, or who asks for more. It is empty, like Lines and Ask, in the views of
	// older workers.
	Headline string `json:"headline,omitempty"`
	// Lines are the facts to decide by.
	Lines []MessageLine `json:"lines,omitempty"`
	// Ask says how and until when to answer, and what happens without an answer.
	Ask     string   `json:"ask,omitempty"`
	Options []Option `json:"options"`
	// Request is what a proposal asks for; null for an escalation.
	Request *ExtensionRequest `json:"request,omitempty"`
}

// MessageLine is one fact of a message in words: "status requests", "3 of 12". The words may change with any release.
type MessageLine struct {
	// Name is what the fact is about.
	Name string `json:"name"`
	Text string `json:"text"`
	// Link reports whether Text is a URL built by the state table, where a person can look at the job.
	Link bool `json:"link,omitempty"`
}

// AuditView is the result of QueryAudit: the audit entries of one run.
type AuditView struct {
	Entries []Entry `json:"entries"`
	// Head is the hash of the last entry of the wait so far.
	Head string `json:"head"`
	// FirstSeq is the sequence number of the first entry of this run.
	FirstSeq int `json:"first_seq"`
}

// SigningView is what is needed to sign a decision on a wait.
type SigningView struct {
	// KeyIDs are the keys of which one must sign the decision.
	KeyIDs []string `json:"key_ids"`
	// WaitID is the escalation_id for a signed cancel while polling, which ties the signature to this wait.
	WaitID string `json:"wait_id"`
}
