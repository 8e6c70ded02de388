package wire

import (
	"encoding/json"
	"time"
)

// WorkflowSubmitAndAwait is the workflow type that submits a job, at most once as far as the provider makes that possible, and then
// has AwaitJob wait for it. One execution stands for one submission_id.
const WorkflowSubmitAndAwait = "SubmitAndAwait"

// The activity types of a submission.
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

// SubmitSpec is the input of SubmitAndAwait: what to submit, and how to wait for the resulting job.
type SubmitSpec struct {
	// SubmissionID is the caller's own name for what is to be done (an order, the report of a day). It is part of the workflow id, so
	// that only one execution submits the same thing, and it is the operation_id of the wait. 1 to 256 characters. Required.
	SubmissionID string `json:"submission_id"`
	// Provider names the state table, which must have a submit.request. Required.
	Provider string `json:"provider"`
	// Account is as in Spec. Required.
	Account string `json:"account"`
	// Params are values for the params that the table declares, used by the submission and by the wait. Params that the table reads
	// from the answer to the submission must be left out.
	Params map[string]string `json:"params,omitempty"`
	// CredentialRef names an entry of the worker's credentials, for the submission and for the wait.
	CredentialRef string `json:"credential_ref,omitempty"`
	// Body is the JSON object to submit, at most 256 KiB, without the idempotency key, which the worker adds where the table says. It
	// is stored in history, so it must not contain secrets. Null means no body.
	Body json.RawMessage `json:"body,omitempty"`
	// MaxSubmitRequests bounds the submit requests over all generations, repetitions included; people's decisions may raise it. 1 to
	// 100; 0 means 3.
	MaxSubmitRequests int `json:"max_submit_requests,omitempty"`
	// SubmitBy is the time until which the job must be submitted: after the start of the workflow, and not after wait.deadline_at.
	// Null means wait.deadline_at.
	SubmitBy *time.Time `json:"submit_by,omitempty"`
	// OfferResubmit asks people whether to submit again if the provider reports that the job failed or expired. If false, the
	// operation then ends as the wait did.
	OfferResubmit bool `json:"offer_resubmit,omitempty"`
	// Wait says how to wait for the job. Required.
	Wait SubmitWait `json:"wait"`
	// Predecessor is the operation that ended without success and that this one replaces. SubmissionID must then be SuccessorID of the
	// predecessor's, so that an operation has at most one successor. Null means that it replaces none.
	Predecessor *Predecessor `json:"predecessor,omitempty"`
}

// Predecessor names an ended operation of the same provider and account, and who decided to submit it again as a new operation. All
// fields are required.
type Predecessor struct {
	// SubmissionID is that of the ended operation.
	SubmissionID string `json:"submission_id"`
	// DecidedBy is who decided to replace it. 1 to 256 characters.
	DecidedBy string `json:"decided_by"`
	// Comment is the reason. 1 to 4,096 characters.
	Comment string `json:"comment"`
}

// Replaced is a predecessor with its end.
type Replaced struct {
	Predecessor
	// RunID is the run that ended. This field and those below are read from the server before anything is sent. They are empty if the
	// server was not asked, because this operation was told to stop before it was prepared, or was reset to a point before that.
	RunID string `json:"run_id,omitempty"`
	// Status is never StatusSucceeded.
	Status OutcomeStatus `json:"status,omitempty"`
	Reason Reason        `json:"reason,omitempty"`
	// ProviderJobID is empty if no job is known.
	ProviderJobID string `json:"provider_job_id,omitempty"`
}

// SubmitWait is the part of a Spec that describes the wait and not the job. Its fields are as in Spec.
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

// Idempotency says how a provider recognises a submission that it has received before.
type Idempotency string

// The kinds of idempotency that tables document.
const (
	IdempotencyNone     Idempotency = "none"      // documented to have none
	IdempotencyUnknown  Idempotency = "unknown"   // undocumented: treated as none
	IdempotencyHeader   Idempotency = "header"    // a key in a header
	IdempotencyBody     Idempotency = "body"      // a key in a field of the body
	IdempotencyQuery    Idempotency = "query"     // a key in the query of the URL
	IdempotencyClientID Idempotency = "client_id" // the caller chooses the job's id
)

// Repeatable reports whether a submission may be sent again with the same key without making a second job.
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
	// Status is that of the wait, StatusRefused if the provider refused the submission, or StatusUnresolved if it is unknown whether
	// there is a job.
	Status OutcomeStatus `json:"status"`
	// Reason is that of the wait, or why there was no wait. Empty for a plain success.
	Reason    Reason `json:"reason"`
	Detail    string `json:"detail"`
	Undecided bool   `json:"undecided"`
	DecidedBy string `json:"decided_by"`

	SubmissionID string `json:"submission_id"`
	Provider     string `json:"provider"`
	Account      string `json:"account"`
	// ProviderJobID and StatusURL are taken from the provider's answer, or from the person who attached the job. Empty means that no
	// job is known.
	ProviderJobID string `json:"provider_job_id"`
	StatusURL     string `json:"status_url"`
	// WaitWorkflowID is the workflow id of the job's wait; empty if there is none.
	WaitWorkflowID string `json:"wait_workflow_id"`
	// Owner is another wait that owned the job already; Wait is then its outcome. Null means that the job belongs to this operation.
	Owner *Owner `json:"owner,omitempty"`
	// Result holds the result references by their names in the table: those of the wait, or those in the answer to the submission if
	// the job was already finished then.
	Result map[string]string `json:"result"`
	// Wait is the outcome of the wait. Null means that there was no wait, or that the outcome of the owner is unknown.
	Wait *Outcome `json:"wait,omitempty"`

	// Fingerprint identifies what was submitted: "sha256:" and the hash of the canonical request without credential and key.
	Fingerprint string `json:"fingerprint"`
	// Idempotency is the kind that the table documents. IdempotencyKey is the key of the last generation; empty if the provider knows
	// no keys.
	Idempotency    Idempotency `json:"idempotency"`
	IdempotencyKey string      `json:"idempotency_key"`
	// Generation counts from 1 and grows by one with each resubmit that a person decides. Before lists the generations that were
	// replaced.
	Generation int                 `json:"generation"`
	Before     []EarlierSubmission `json:"before,omitempty"`
	// Predecessor is the operation that this one replaced. Null means that it replaced none.
	Predecessor *Replaced `json:"predecessor,omitempty"`
	// SubmitRequestsUsed counts the requests that may have been sent, over all generations.
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
	// OperationID is the owner's; empty if it is not known.
	OperationID string `json:"operation_id"`
}

// EarlierSubmission is a generation that a person replaced by the next one.
type EarlierSubmission struct {
	Generation int `json:"generation"`
	// ProviderJobID is empty if it was not known whether there was a job.
	ProviderJobID string        `json:"provider_job_id"`
	Status        OutcomeStatus `json:"status"`
	Reason        Reason        `json:"reason"`
	DecidedBy     string        `json:"decided_by"`
}

// SubmissionFacts are the part of Prepared that only submissions have. An upgrade of the worker does not change them.
type SubmissionFacts struct {
	Fingerprint   string      `json:"fingerprint"`
	Idempotency   Idempotency `json:"idempotency"`
	OfferResubmit bool        `json:"offer_resubmit,omitempty"`
	Wait          SubmitWait  `json:"wait"`
	// KeyLength is the greatest length of a key that the provider documents, in characters; 0 means that it documents none.
	KeyLength int `json:"key_length,omitempty"`
	// KeyPlace is where the table puts the key: its kind and name. Empty means that there is no key, or that an older version prepared
	// the submission.
	KeyPlace string `json:"key_place,omitempty"`
	// KeySeconds is how long the provider remembers a key, from the first request with it. 0 means that it documents no limit.
	KeySeconds int `json:"key_seconds,omitempty"`
	// KnowsItsWait makes the submission record the run of its own wait, so that it finds that wait again after continue-as-new and
	// resets and can tell it from another's. Submissions that an older version prepared treat any wait that has the job's id already
	// as another's.
	KnowsItsWait bool `json:"knows_its_wait,omitempty"`
	// Predecessor is that of the spec, with its end.
	Predecessor *Replaced `json:"predecessor,omitempty"`
}

// SubmissionRecord is the state of a submission.
type SubmissionRecord struct {
	Generation int    `json:"generation"`
	Key        string `json:"key,omitempty"`
	// KeyUsedAt is when the first request with the key of this generation that may have arrived was sent, or an earlier time. It is
	// recorded only if the provider forgets keys after a documented time.
	KeyUsedAt time.Time `json:"key_used_at,omitzero"`
	// MaybeSent reports whether a request of this generation may have made a job that is not known.
	MaybeSent bool          `json:"maybe_sent,omitempty"`
	Job       *SubmittedJob `json:"job,omitempty"`
	// Named is a job that the provider's answer named without what it takes to ask for its status. It is kept whatever people attach.
	Named *SubmittedJob `json:"named,omitempty"`
	// Attached reports whether a person named the job.
	Attached    bool       `json:"attached,omitempty"`
	SubmittedAt *time.Time `json:"submitted_at,omitempty"`
	// DecidedAt is when a person last attached a job, resubmitted, or granted more time. The wait for the job then lasts at least as
	// long from DecidedAt as it would have from the start.
	DecidedAt time.Time  `json:"decided_at,omitzero"`
	Await     AwaitState `json:"await,omitempty"`
	// WaitRunID is the first run of the submission's own wait; empty if there is none, or if it was not recorded.
	WaitRunID string              `json:"wait_run_id,omitempty"`
	Owner     *Owner              `json:"owner,omitempty"`
	Wait      *Outcome            `json:"wait,omitempty"`
	Before    []EarlierSubmission `json:"before,omitempty"`
}

// AwaitState is the progress of the wait for a submitted job.
type AwaitState string

// The states of the wait for a submitted job.
const (
	AwaitWanted  AwaitState = "wanted"  // the job is known, but its wait is not started yet
	AwaitRunning AwaitState = "running" // started, or followed if another owns the job
	AwaitEnded   AwaitState = "ended"
)

// SubmittedJob is what is known of a job from its submission.
type SubmittedJob struct {
	ProviderJobID string `json:"provider_job_id"`
	StatusURL     string `json:"status_url,omitempty"`
	// Params are those that the answer, or a person, adds to the spec's for the wait.
	Params map[string]string `json:"params,omitempty"`
	// Unusable says why the status of the job cannot be asked for with what the answer contains: DetailURLRejected, or DetailNoParam
	// and the name of the param. Empty means that it can.
	Unusable string `json:"unusable,omitempty"`
}

// SubmitRequest is the input of ActivitySubmit.
type SubmitRequest struct {
	Target
	Authority
	// Body is that of the spec.
	Body json.RawMessage `json:"body,omitempty"`
	// Key is the idempotency key of this generation; empty if the provider knows no keys.
	Key string `json:"key,omitempty"`
	// Fingerprint is that of SubmissionFacts. A request whose fingerprint has changed since is not sent.
	Fingerprint string `json:"fingerprint"`
	// KeyPlace is that of SubmissionFacts. A request whose key would now be in another place is not sent.
	KeyPlace       string    `json:"key_place,omitempty"`
	Generation     int       `json:"generation"`
	NotAfter       time.Time `json:"not_after"`
	TimeoutSeconds int       `json:"timeout_seconds"`
	MayHoldBack    bool      `json:"may_hold_back,omitempty"`
}

// SubmitVerdict is the result of a submit request in one word.
type SubmitVerdict string

// The results of a submit request.
const (
	SubmitAccepted  SubmitVerdict = "accepted"   // there is a job, and its id is known
	SubmitRefused   SubmitVerdict = "refused"    // there is none, and will be none from this request
	SubmitLater     SubmitVerdict = "later"      // there is none, but the provider may accept it later
	SubmitNeverLeft SubmitVerdict = "never_left" // nothing was sent
	SubmitAmbiguous SubmitVerdict = "ambiguous"  // there may be a job
)

// SubmitResult is the result of ActivitySubmit: either why nothing was sent, or a verdict with an observation.
type SubmitResult struct {
	// Withheld says why nothing was sent. If something was, its Detail narrows Verdict.
	Withheld
	// HeldBack is as in PollResult.
	HeldBack *HeldBack     `json:"held_back,omitempty"`
	Verdict  SubmitVerdict `json:"verdict,omitempty"`
	// Observation is the HTTP fact. Its job fact is set if the answer contains the state of the job as a status answer does.
	Observation *Observation `json:"observation,omitempty"`
	// Job is set if Verdict is SubmitAccepted.
	Job *SubmittedJob `json:"job,omitempty"`
}

// Details that narrow a SubmitVerdict, or the reason of a stop of a submission.
const (
	DetailNoJobID        = "no_job_id"       // accepted, but no job id can be read
	DetailRequestChanged = "request_changed" // the table now builds a request other than the one that was fingerprinted
	DetailKeyUsed        = "key_used"        // the provider has a job under this key already
	DetailURLRejected    = "status_url"      // accepted, but the table does not accept the status URL
	DetailNoParam        = "no_param_"       // accepted, but a param that the wait needs is missing; its name follows
	DetailAfterAmbiguous = "refused_again"   // refused, after a request that may have made a job
	DetailKeyExpired     = "key_expired"     // a repetition could arrive after the provider has forgotten the key
	DetailWaitNotRun     = "wait_not_run"    // the wait for the job cannot be run
	DetailWaitLost       = "wait_lost"       // the wait for the job ended without an outcome
)

// OwnerRequest is the input of ActivityFindOwner, which finds out whose the wait for a job is, and of ActivityAwaitOwner, which
// waits for its outcome. Both ask the Temporal server, never the provider.
type OwnerRequest struct {
	WorkflowID string `json:"workflow_id"`
	// RunID is the first run of the wait that is meant; runs that continue it, or that a reset put in their place, belong to that
	// wait. Empty means the latest wait of that id.
	RunID string `json:"run_id,omitempty"`
}

// FoundOwner is the result of ActivityFindOwner. Its Owner has no RunID if the server no longer knows the workflow.
type FoundOwner struct {
	Owner Owner `json:"owner"`
	// FirstRunID is the first run of the owner's wait.
	FirstRunID string `json:"first_run_id,omitempty"`
	// ParentWorkflowID is the workflow that started the owner; empty if it has no parent.
	ParentWorkflowID string `json:"parent_workflow_id,omitempty"`
}

// OwnerResult is the result of ActivityAwaitOwner. Outcome is null if the owner ended without one.
type OwnerResult struct {
	Owner   Owner    `json:"owner"`
	Outcome *Outcome `json:"outcome,omitempty"`
	// Invalid is why the owner's spec could not be run, in which case it never waited for the job. Empty otherwise.
	Invalid string `json:"invalid,omitempty"`
}

// SubmissionView is the part of the operation query that only submissions have.
type SubmissionView struct {
	Fingerprint    string              `json:"fingerprint"`
	Idempotency    Idempotency         `json:"idempotency"`
	IdempotencyKey string              `json:"idempotency_key"`
	Generation     int                 `json:"generation"`
	ProviderJobID  string              `json:"provider_job_id"`
	WaitWorkflowID string              `json:"wait_workflow_id"`
	Owner          *Owner              `json:"owner,omitempty"`
	Before         []EarlierSubmission `json:"before,omitempty"`
	// Predecessor is the operation that this one replaces. Null means that it replaces none.
	Predecessor *Replaced `json:"predecessor,omitempty"`
	// MaybeSent reports whether a request of this generation may have made a job that is not known.
	MaybeSent bool `json:"maybe_sent,omitempty"`
	// RepeatBefore is the time from which a request that may have made a job is not sent again, because the provider forgets its key.
	// Null means that there is no such request, or that the key has no documented end.
	RepeatBefore *time.Time `json:"repeat_before,omitempty"`
}
