package wire

import "time"

// WorkflowFetchResult is the workflow type of an action beside the wait: it carries the result of a finished job to a
// destination that the worker knows. One execution carries one result.
const WorkflowFetchResult = "FetchResult"

// ActivityFetchResult is the activity that carries it.
const ActivityFetchResult = "jobwait.FetchResult"

// ErrorFetchInterrupted is the type of the application error by which the activity asks to be tried again.
const ErrorFetchInterrupted = "FetchInterrupted"

// FetchDestination begins the detail of an ErrorFetchInterrupted that is the destination's fault and not the provider's.
const FetchDestination = "destination: "

// FetchSpec is the input of FetchResult.
type FetchSpec struct {
	// OperationID, Provider, Account, ProviderJobID, Params, StatusURL and CredentialRef are those of the wait that found the
	// result. The first four are required.
	OperationID   string            `json:"operation_id"`
	Provider      string            `json:"provider"`
	Account       string            `json:"account"`
	ProviderJobID string            `json:"provider_job_id"`
	Params        map[string]string `json:"params,omitempty"`
	StatusURL     string            `json:"status_url,omitempty"`
	CredentialRef string            `json:"credential_ref,omitempty"`
	// ResultName is the name under which the outcome has the reference, URL the reference itself: absolute, https, or an
	// origin of the provider's table. Required.
	ResultName string `json:"result_name"`
	URL        string `json:"url"`
	// Destination names a destination of the worker, Key the object there: 1 to 512 characters, path segments divided by "/",
	// none of them empty, "." or "..". Required.
	Destination string `json:"destination"`
	Key         string `json:"key"`
	// MaxBytes is the largest result that is taken, at least 1. The destination may allow less. Required.
	MaxBytes int64 `json:"max_bytes"`
	// ExpectedBytes and ExpectedSHA256 (64 lower-case hex digits) are what the result must have. Null and empty: not known.
	ExpectedBytes  *int64 `json:"expected_bytes,omitempty"`
	ExpectedSHA256 string `json:"expected_sha256,omitempty"`
	// DeadlineAt is until when the result is tried for. After the workflow's start. Required.
	DeadlineAt time.Time `json:"deadline_at"`
	// MaxAttempts bounds the attempts, each of which begins anew; a connection that breaks within one is taken up where it
	// broke, where the provider allows. 1 to 100. 0: 5.
	MaxAttempts int `json:"max_attempts,omitempty"`
}

// FetchStatus says how a fetch ended.
type FetchStatus string

// The ends of a fetch.
const (
	FetchDone   FetchStatus = "fetched"
	FetchFailed FetchStatus = "failed"
)

// FetchReason says why nothing was carried.
type FetchReason string

// Why nothing was carried. Whatever was written of the object by then is gone.
const (
	FetchTooLarge           FetchReason = "too_large"           // more than max_bytes, said or found out
	FetchWrongLength        FetchReason = "wrong_length"        // another length than expected
	FetchWrongDigest        FetchReason = "wrong_digest"        // another SHA-256 than expected
	FetchReferenceRejected  FetchReason = "reference_rejected"  // not a URL that may be asked
	FetchReferenceExpired   FetchReason = "reference_expired"   // the provider does not give it out (any more)
	FetchDenied             FetchReason = "denied"              // 401 or 403 to the credential
	FetchUnexpectedAnswer   FetchReason = "unexpected_answer"   // a code that is no result
	FetchUnavailable        FetchReason = "unavailable"         // every attempt ended without the whole result
	FetchDestinationUnknown FetchReason = "destination_unknown" // the worker has no such destination, or it is not for this job
	FetchDestinationTaken   FetchReason = "destination_taken"   // another fetch has written the object
	FetchDestinationFailed  FetchReason = "destination_failed"  // no attempt could write it
)

// FetchOutcome is the result of FetchResult.
type FetchOutcome struct {
	Status FetchStatus `json:"status"`
	// Reason is empty when the result was carried. Detail narrows it; never a URL, never a secret.
	Reason FetchReason `json:"reason"`
	Detail string      `json:"detail"`

	OperationID   string `json:"operation_id"`
	Provider      string `json:"provider"`
	Account       string `json:"account"`
	ProviderJobID string `json:"provider_job_id"`
	ResultName    string `json:"result_name"`
	Destination   string `json:"destination"`
	Key           string `json:"key"`
	// Bytes and SHA256 (lower-case hex) are those of the object as it was written; 0 and empty when nothing was.
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	// ContentType is the provider's, bounded to 256 bytes.
	ContentType string `json:"content_type"`
	// Resumed is how often the last attempt took a broken connection up again; Renewed says that the reference was read anew.
	Resumed int  `json:"resumed"`
	Renewed bool `json:"renewed"`
	// Attempts is how many executions of the activity it took.
	Attempts int       `json:"attempts"`
	ClosedAt time.Time `json:"closed_at"`
}

// FetchRequest asks the activity to carry one result.
type FetchRequest struct {
	Spec FetchSpec `json:"spec"`
	// Renewed says that the reference was read anew already.
	Renewed bool `json:"renewed,omitempty"`
	// FirstRunID names the execution over resets and retries: what one has written, no other of the same workflow id overwrites.
	// Empty: the workflow id alone names it, as for fetches that began before there was this field.
	FirstRunID string `json:"first_run_id,omitempty"`
}

// FetchResponse is what the activity made of it.
type FetchResponse struct {
	Outcome FetchOutcome `json:"outcome"`
	// Renewable says, of an expired reference, that the provider's next status answer has a fresh one.
	Renewable bool `json:"renewable,omitempty"`
}

// Target is the job whose status answer has the reference.
func (s FetchSpec) Target() Target {
	return Target{
		Provider: s.Provider, Account: s.Account, ProviderJobID: s.ProviderJobID,
		Params: s.Params, StatusURL: s.StatusURL, CredentialRef: s.CredentialRef,
	}
}

// FetchProgress is what the activity's heartbeats tell.
type FetchProgress struct {
	// Bytes have come so far.
	Bytes int64 `json:"bytes"`
}
