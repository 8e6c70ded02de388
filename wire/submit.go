package wire

import (
	"encoding/json"
	"time"
)

// WorkflowSubmitAndAwait is the workflow type of an action beside the wait: it submits a job, once as far as the provider
// allows to know, and then has AwaitJob wait for it. One execution stands for one submission_id.
const WorkflowSubmitAndAwait = "SubmitAndAwait"

// The activities of a submission.
const (
	ActivityPrepareSubmission = "jobwait.PrepareSubmission"
	ActivitySubmit            = "jobwait.Submit"
	ActivityFindOwner         = "jobwait.FindOwner"
	ActivityAwaitOwner        = "jobwait.AwaitOwner"
)

// MaxSubmitBodyBytes bounds the body of a submission, MaxSubmitSpecBytes the whole input of SubmitAndAwait.
const (
	MaxSubmitBodyBytes = 256 << 10
	MaxSubmitSpecBytes = MaxSubmitBodyBytes + MaxSpecBytes
)

// SubmitSpec is the input of SubmitAndAwait: what to submit, and how to wait for what comes of it.
type SubmitSpec struct {
	// SubmissionID is the caller's own name of what is to be done (an order, a report of a day). It is part of the workflow id,
	// so that the same thing is submitted by one execution only, and it is the operation_id of the wait. 1 to 256 characters.
	// Required.
	SubmissionID string `json:"submission_id"`
	// Provider names the state table, whose submit.request says how to submit. Required.
	Provider string `json:"provider"`
	// Account is that of Spec. Required.
	Account string `json:"account"`
	// Params are the names the table declares, for the submission and for the wait. Those that the table reads from the answer
	// are left out.
	Params map[string]string `json:"params,omitempty"`
	// CredentialRef names an entry of the worker's credentials, for the submission and for the wait.
	CredentialRef string `json:"credential_ref,omitempty"`
	// Body is the JSON object that is submitted, at most 256 KiB, without the idempotency key, which the worker puts where the
	// table says. It stands in history: no secret belongs in it. Null: none.
	Body json.RawMessage `json:"body,omitempty"`
	// MaxSubmitRequests is how many requests may leave to submit it, repetitions and what people decide included. 1 to 100.
	// 0: 3.
	MaxSubmitRequests int `json:"max_submit_requests,omitempty"`
	// SubmitBy is until when it must be submitted; after the workflow's start and not after wait.deadline_at. Null:
	// wait.deadline_at.
	SubmitBy *time.Time `json:"submit_by,omitempty"`
	// OfferResubmit asks people whether to submit once more when the provider says that the job failed or expired. False: the
	// operation then ends as the wait did.
	OfferResubmit bool `json:"offer_resubmit,omitempty"`
	// Wait is how the job is waited for. Required.
	Wait SubmitWait `json:"wait"`
	// Predecessor is the operation that ended without success and in whose place this one submits once more. SubmissionID is
	// then SuccessorID of its own, so that an operation has one successor. Null: it replaces none.
	Predecessor *Predecessor `json:"predecessor,omitempty"`
}

// Predecessor names an ended operation, of the same provider and account, and is a person's word that it is submitted again as
// another operation. All of it is required.
type Predecessor struct {
	// SubmissionID is that of the ended operation.
	SubmissionID string `json:"submission_id"`
	// DecidedBy is who decided it. 1 to 256 characters.
	DecidedBy string `json:"decided_by"`
	// Comment is why. 1 to 4,096 characters.
	Comment string `json:"comment"`
}

// Replaced is a predecessor, and how it ended.
type Replaced struct {
	Predecessor
	// RunID is the run that ended so. It and the fields below are as the server told them before anything was sent; empty where
	// it was not asked, because this operation was told to stop by then, or was reset to before it was prepared.
	RunID string `json:"run_id,omitempty"`
	// Status is never StatusSucceeded.
	Status OutcomeStatus `json:"status,omitempty"`
	Reason Reason        `json:"reason,omitempty"`
	// ProviderJobID is empty where no job is known.
	ProviderJobID string `json:"provider_job_id,omitempty"`
}

// SubmitWait is what a Spec says about the wait and not about the job. Its fields are those of Spec.
type SubmitWait struct {
	DeadlineAt           time.Time          `json:"deadline_at"`
	BusinessDeadlineAt   *time.Time         `json:"business_deadline_at,omitempty"`
	ProviderExpiresAt    *time.Time         `json:"provider_expires_at,omitempty"`
	MaxStatusRequests    int                `json:"max_status_requests"`
	MaxTransportFailures int                `json:"max_transport_failures"`
	MaxRateLimited       *int               `json:"max_rate_limited,omitempty"`
	ExpectedStates       []string           `json:"expected_states,omitempty"`
	AcceptPartial        bool               `json:"accept_partial,omitempty"`
	Schedule             Schedule           `json:"schedule,omitzero"`
	Escalation           EscalationSettings `json:"escalation,omitzero"`
}

// Idempotency says how a provider recognises a submission that was sent before.
type Idempotency string

// The kinds of idempotency that tables know.
const (
	IdempotencyNone     Idempotency = "none"      // read that there is none
	IdempotencyUnknown  Idempotency = "unknown"   // nothing is documented: treated as none
	IdempotencyHeader   Idempotency = "header"    // a key in a header
	IdempotencyBody     Idempotency = "body"      // a key in a field of the body
	IdempotencyQuery    Idempotency = "query"     // a key in the query
	IdempotencyClientID Idempotency = "client_id" // the caller chooses the job's id
)

// Repeatable reports whether the same submission may be sent again with its key.
func (i Idempotency) Repeatable() bool {
	switch i {
	case IdempotencyHeader, IdempotencyBody, IdempotencyQuery, IdempotencyClientID:
		return true
	case IdempotencyNone, IdempotencyUnknown:
		return false
	default:
		return false
	}
}

// SubmitOutcome is the result of SubmitAndAwait.
type SubmitOutcome struct {
	// Status is that of the wait, StatusRefused where the provider took no job, or StatusUnresolved where it is not known
	// whether there is one.
	Status OutcomeStatus `json:"status"`
	// Reason is the wait's, or why nothing was waited for. Empty for a plain success.
	Reason    Reason `json:"reason"`
	Detail    string `json:"detail"`
	Undecided bool   `json:"undecided"`
	DecidedBy string `json:"decided_by"`

	SubmissionID string `json:"submission_id"`
	Provider     string `json:"provider"`
	Account      string `json:"account"`
	// ProviderJobID and StatusURL are what the provider, or a person who attached the job, said of it. Empty: no job is known.
	ProviderJobID string `json:"provider_job_id"`
	StatusURL     string `json:"status_url"`
	// WaitWorkflowID is that of the job's wait; empty when there is none.
	WaitWorkflowID string `json:"wait_workflow_id"`
	// Owner is the wait that owned the job already, whose outcome is then Wait. Null: the job is this operation's own.
	Owner *Owner `json:"owner,omitempty"`
	// Result has the references of the result, by the names of the table: the wait's, or those of a submission that was answered
	// with a finished job.
	Result map[string]string `json:"result"`
	// Wait is the outcome of the wait. Null: there is none, or the owner's is not known.
	Wait *Outcome `json:"wait,omitempty"`

	// Fingerprint identifies what was submitted: "sha256:" and the hash of the canonical request without credential and key.
	Fingerprint string `json:"fingerprint"`
	// Idempotency is the table's kind, IdempotencyKey the key of the last generation; empty where there is none.
	Idempotency    Idempotency `json:"idempotency"`
	IdempotencyKey string      `json:"idempotency_key"`
	// Generation counts from 1; each resubmit that a person decided is one more. Before are the ones it replaced.
	Generation int                 `json:"generation"`
	Before     []EarlierSubmission `json:"before,omitempty"`
	// Predecessor is the operation in whose place this one submitted. Null: it replaced none.
	Predecessor *Replaced `json:"predecessor,omitempty"`
	// SubmitRequestsUsed counts the requests that may have left, over all generations.
	SubmitRequestsUsed int `json:"submit_requests_used"`

	OpenedAt     time.Time `json:"opened_at"`
	ClosedAt     time.Time `json:"closed_at"`
	AuditEntries int       `json:"audit_entries"`
	AuditHead    string    `json:"audit_head"`
}

// Owner is the wait that owns a job.
type Owner struct {
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	// OperationID is the owner's; empty where it is not known.
	OperationID string `json:"operation_id"`
}

// EarlierSubmission is a generation that a person replaced by another.
type EarlierSubmission struct {
	Generation int `json:"generation"`
	// ProviderJobID is empty where it was not known whether there was a job.
	ProviderJobID string        `json:"provider_job_id"`
	Status        OutcomeStatus `json:"status"`
	Reason        Reason        `json:"reason"`
	DecidedBy     string        `json:"decided_by"`
}

// SubmissionFacts are what a submission runs by, besides what it has in common with a wait. An upgrade of the worker changes
// nothing in it.
type SubmissionFacts struct {
	Fingerprint   string      `json:"fingerprint"`
	Idempotency   Idempotency `json:"idempotency"`
	OfferResubmit bool        `json:"offer_resubmit,omitempty"`
	Wait          SubmitWait  `json:"wait"`
	// KeyLength is the longest key that the provider takes; 0: any.
	KeyLength int `json:"key_length,omitempty"`
	// KeyPlace is where the table puts the key, its kind and name. Empty: there is none, or it was not noted.
	KeyPlace string `json:"key_place,omitempty"`
	// KeySeconds is how long the provider knows a key, from the first request that had it. 0: it documents no end.
	KeySeconds int `json:"key_seconds,omitempty"`
	// KnowsItsWait has the submission note the run of its own wait, find it by that over runs and resets, and tell it from
	// another's. Submissions that began without it take every wait that they did not start themselves for another's.
	KnowsItsWait bool `json:"knows_its_wait,omitempty"`
	// Predecessor is the spec's, with how it ended.
	Predecessor *Replaced `json:"predecessor,omitempty"`
}

// SubmissionRecord is where a submission stands.
type SubmissionRecord struct {
	Generation int    `json:"generation"`
	Key        string `json:"key,omitempty"`
	// KeyUsedAt is when the first request that may have arrived had the key of this generation: not later than it left. It is
	// noted where the provider knows a key for a time only.
	KeyUsedAt time.Time `json:"key_used_at,omitzero"`
	// MaybeSent says that a request of this generation may have made a job that is not known.
	MaybeSent bool          `json:"maybe_sent,omitempty"`
	Job       *SubmittedJob `json:"job,omitempty"`
	// Named is the job that the provider's answer named and that cannot be asked for by it. It stays known, whatever people
	// attach.
	Named *SubmittedJob `json:"named,omitempty"`
	// Attached says that a person named the job.
	Attached    bool       `json:"attached,omitempty"`
	SubmittedAt *time.Time `json:"submitted_at,omitempty"`
	// DecidedAt is when a person attached or resubmitted a job last: it is waited for as long from then on.
	DecidedAt time.Time  `json:"decided_at,omitzero"`
	Await     AwaitState `json:"await,omitempty"`
	// WaitRunID is the first run of the submission's own wait; empty: it has none, or it was not noted.
	WaitRunID string              `json:"wait_run_id,omitempty"`
	Owner     *Owner              `json:"owner,omitempty"`
	Wait      *Outcome            `json:"wait,omitempty"`
	Before    []EarlierSubmission `json:"before,omitempty"`
}

// AwaitState says how far the wait for a submitted job is.
type AwaitState string

// The states of the wait for a submitted job.
const (
	AwaitWanted  AwaitState = "wanted"  // the job is known, its wait was not started
	AwaitRunning AwaitState = "running" // started, or followed where another owns the job
	AwaitEnded   AwaitState = "ended"
)

// SubmittedJob is what is known of a job after its submission.
type SubmittedJob struct {
	ProviderJobID string `json:"provider_job_id"`
	StatusURL     string `json:"status_url,omitempty"`
	// Params are those that the answer, or a person, has for the wait, besides the spec's.
	Params map[string]string `json:"params,omitempty"`
	// Unusable says in a word why the job cannot be asked for by what the answer says: DetailURLRejected, or DetailNoParam and a
	// name. Empty: it can.
	Unusable string `json:"unusable,omitempty"`
}

// SubmitRequest asks Submit for one request.
type SubmitRequest struct {
	Target
	Authority
	// Body is the spec's.
	Body json.RawMessage `json:"body,omitempty"`
	// Key is the idempotency key of this generation; empty where the provider knows none.
	Key string `json:"key,omitempty"`
	// Fingerprint is what prepare found. A request that has another by now is not sent.
	Fingerprint string `json:"fingerprint"`
	// KeyPlace is what prepare found. A request that has its key elsewhere by now is not sent.
	KeyPlace       string    `json:"key_place,omitempty"`
	Generation     int       `json:"generation"`
	NotAfter       time.Time `json:"not_after"`
	TimeoutSeconds int       `json:"timeout_seconds"`
	MayHoldBack    bool      `json:"may_hold_back,omitempty"`
}

// SubmitVerdict says in one word what came of one request to submit.
type SubmitVerdict string

// What came of a request to submit.
const (
	SubmitAccepted  SubmitVerdict = "accepted"   // there is a job, and its id is known
	SubmitRefused   SubmitVerdict = "refused"    // there is none, and will be none
	SubmitLater     SubmitVerdict = "later"      // there is none, and the provider takes it later perhaps
	SubmitNeverLeft SubmitVerdict = "never_left" // nothing was sent
	SubmitAmbiguous SubmitVerdict = "ambiguous"  // there may be one
)

// SubmitResult is what one execution of Submit taught: either why nothing was sent, or a verdict with an observation.
type SubmitResult struct {
	// Withheld has a Detail that narrows Verdict, too.
	Withheld
	// HeldBack is as in PollResult.
	HeldBack *HeldBack     `json:"held_back,omitempty"`
	Verdict  SubmitVerdict `json:"verdict,omitempty"`
	// Observation is the HTTP fact. Its job fact is set where the answer tells the state of the job as a status answer does.
	Observation *Observation `json:"observation,omitempty"`
	// Job is set with SubmitAccepted.
	Job *SubmittedJob `json:"job,omitempty"`
}

// Details of a submission's verdict.
const (
	DetailNoJobID        = "no_job_id"       // accepted, and no job id can be read
	DetailRequestChanged = "request_changed" // the table builds another request than the one that was fingerprinted
	DetailKeyUsed        = "key_used"        // the provider has a job under this key already
	DetailURLRejected    = "status_url"      // accepted, and its status URL is not one that the table accepts
	DetailNoParam        = "no_param_"       // accepted, and a param that its wait needs is not there; its name follows
	DetailAfterAmbiguous = "refused_again"   // refused, after a request that may have made a job
	DetailKeyExpired     = "key_expired"     // sent again, it could arrive when the provider does not know the key any more
	DetailWaitNotRun     = "wait_not_run"    // the wait for the job cannot be run
	DetailWaitLost       = "wait_lost"       // the wait for the job ended without an outcome
)

// OwnerRequest asks FindOwner who a workflow is that waits for a job, or AwaitOwner to wait for its outcome. They ask the
// Temporal server, never the provider.
type OwnerRequest struct {
	WorkflowID string `json:"workflow_id"`
	// RunID is the first run of the wait that is meant, with all that continue it or that a reset puts in their place. Empty:
	// the latest wait of that id.
	RunID string `json:"run_id,omitempty"`
}

// FoundOwner is what FindOwner found. Its Owner has no run where the server knows none.
type FoundOwner struct {
	Owner Owner `json:"owner"`
	// FirstRunID is the first run of the owner's wait.
	FirstRunID string `json:"first_run_id,omitempty"`
	// ParentWorkflowID is the workflow that started the owner; empty: none did.
	ParentWorkflowID string `json:"parent_workflow_id,omitempty"`
}

// OwnerResult is what AwaitOwner found. Outcome is null where the owner ended without one.
type OwnerResult struct {
	Owner   Owner    `json:"owner"`
	Outcome *Outcome `json:"outcome,omitempty"`
	// Invalid is why the owner's spec could not be run, so that it never waited for the job.
	Invalid string `json:"invalid,omitempty"`
}

// SubmissionView is what the operation query says of a submission.
type SubmissionView struct {
	Fingerprint    string              `json:"fingerprint"`
	Idempotency    Idempotency         `json:"idempotency"`
	IdempotencyKey string              `json:"idempotency_key"`
	Generation     int                 `json:"generation"`
	ProviderJobID  string              `json:"provider_job_id"`
	WaitWorkflowID string              `json:"wait_workflow_id"`
	Owner          *Owner              `json:"owner,omitempty"`
	Before         []EarlierSubmission `json:"before,omitempty"`
	// Predecessor is the operation in whose place this one submits. Null: it replaces none.
	Predecessor *Replaced `json:"predecessor,omitempty"`
	// MaybeSent says that a request of this generation may have made a job that is not known.
	MaybeSent bool `json:"maybe_sent,omitempty"`
	// RepeatBefore is when a request that may have made a job is not sent again any more, because the provider forgets its key.
	// Null: there is none, or its key has no documented end.
	RepeatBefore *time.Time `json:"repeat_before,omitempty"`
}
