package wire

import "time"

// WorkflowFetchResult is the workflow type that copies one result of a finished job to a destination of the worker. Its input is a
// FetchSpec, its result a FetchOutcome.
const WorkflowFetchResult = "FetchResult"

// ActivityFetchResult is the activity type that does the copying.
const ActivityFetchResult = "jobwait.FetchResult"

// ErrorFetchInterrupted is the type of the application error of an attempt that should be retried.
const ErrorFetchInterrupted = "FetchInterrupted"

// FetchDestination is the prefix of the detail of an ErrorFetchInterrupted that the destination caused, not the provider.
const FetchDestination = "destination: "

// FetchSpec is the input of FetchResult.
type FetchSpec struct {
	// OperationID, Provider, Account, ProviderJobID, Params, StatusURL and CredentialRef are as in the Spec of the wait that found
	// the result. The first four are required.
	OperationID   string            `json:"operation_id"`
	Provider      string            `json:"provider"`
	Account       string            `json:"account"`
	ProviderJobID string            `json:"provider_job_id"`
	Params        map[string]string `json:"params,omitempty"`
	StatusURL     string            `json:"status_url,omitempty"`
	CredentialRef string            `json:"credential_ref,omitempty"`
	// ResultName is the name of the result in the outcome of the wait, URL its value there: an absolute URL, with https or at an
	// origin of the provider's table. Both are required.
	ResultName string `json:"result_name"`
	URL        string `json:"url"`
	// Destination names a destination of the worker, Key the object to write there: 1 to 512 characters, in path segments separated
	// by "/", none of which is empty, "." or "..". Both are required.
	Destination string `json:"destination"`
	Key         string `json:"key"`
	// MaxBytes is the largest result that is accepted, at least 1. The destination may allow less. Required.
	MaxBytes int64 `json:"max_bytes"`
	// ExpectedBytes and ExpectedSHA256 (64 lower-case hex digits) are what the result must match. Null and empty mean unchecked.
	ExpectedBytes  *int64 `json:"expected_bytes,omitempty"`
	ExpectedSHA256 string `json:"expected_sha256,omitempty"`
	// DeadlineAt is when the fetch gives up. It must be after the start of the workflow. Required.
	DeadlineAt time.Time `json:"deadline_at"`
	// MaxAttempts is how many times the download may start from the beginning, 1 to 100; 0 means 5. Within an attempt a broken
	// connection is resumed if the provider allows it.
	MaxAttempts int `json:"max_attempts,omitempty"`
}

// FetchStatus says how a fetch ended.
type FetchStatus string

// The ends of a fetch.
const (
	FetchDone   FetchStatus = "fetched"
	FetchFailed FetchStatus = "failed"
)

// FetchReason says why a fetch failed.
type FetchReason string

// The reasons of a failed fetch. None of them leaves a partial object behind.
const (
	FetchTooLarge           FetchReason = "too_large"           // more than max_bytes, announced or received
	FetchWrongLength        FetchReason = "wrong_length"        // another length than expected
	FetchWrongDigest        FetchReason = "wrong_digest"        // another SHA-256 than expected
	FetchReferenceRejected  FetchReason = "reference_rejected"  // the URL may not be requested
	FetchReferenceExpired   FetchReason = "reference_expired"   // the provider does not, or no longer, serve it
	FetchDenied             FetchReason = "denied"              // 401 or 403 to the credential
	FetchUnexpectedAnswer   FetchReason = "unexpected_answer"   // an HTTP status that carries no result
	FetchUnavailable        FetchReason = "unavailable"         // no attempt received the whole result
	FetchDestinationUnknown FetchReason = "destination_unknown" // the worker has no such destination, or it is not for this job
	FetchDestinationTaken   FetchReason = "destination_taken"   // another fetch has written the object
	FetchDestinationFailed  FetchReason = "destination_failed"  // no attempt could write it
)

// FetchOutcome is the result of FetchResult.
type FetchOutcome struct {
	Status FetchStatus `json:"status"`
	// Reason is empty when the result was fetched. Detail narrows it and never contains a URL or a secret.
	Reason FetchReason `json:"reason"`
	Detail string      `json:"detail"`

	OperationID   string `json:"operation_id"`
	Provider      string `json:"provider"`
	Account       string `json:"account"`
	ProviderJobID string `json:"provider_job_id"`
	ResultName    string `json:"result_name"`
	Destination   string `json:"destination"`
	Key           string `json:"key"`
	// Bytes and SHA256 (lower-case hex) describe the object that was written; 0 and empty if none was.
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	// ContentType is the provider's Content-Type, at most 256 bytes.
	ContentType string `json:"content_type"`
	// Resumed is how often the last attempt resumed a broken connection. Renewed reports whether the URL had expired and a fresh one
	// was read from the provider.
	Resumed int  `json:"resumed"`
	Renewed bool `json:"renewed"`
	// Attempts is how many times the activity was executed.
	Attempts int       `json:"attempts"`
	ClosedAt time.Time `json:"closed_at"`
}

// FetchRequest is the input of ActivityFetchResult.
type FetchRequest struct {
	Spec FetchSpec `json:"spec"`
	// Renewed reports whether an expired URL was replaced by a fresh one already.
	Renewed bool `json:"renewed,omitempty"`
	// FirstRunID identifies the execution over resets and retries: an object that one execution has written is not overwritten by
	// another with the same workflow id. Empty in fetches that began before this field existed: the workflow id alone identifies them.
	FirstRunID string `json:"first_run_id,omitempty"`
}

// FetchResponse is the result of ActivityFetchResult.
type FetchResponse struct {
	Outcome FetchOutcome `json:"outcome"`
	// Renewable reports whether the URL has expired and the provider's next status answer contains a fresh one.
	Renewable bool `json:"renewable,omitempty"`
}

// Target returns the job whose status answer contains the URL of the result.
func (s FetchSpec) Target() Target {
	return Target{
		Provider: s.Provider, Account: s.Account, ProviderJobID: s.ProviderJobID,
		Params: s.Params, StatusURL: s.StatusURL, CredentialRef: s.CredentialRef,
	}
}

// FetchProgress is the heartbeat of ActivityFetchResult.
type FetchProgress struct {
	// Bytes is how many bytes have been received so far.
	Bytes int64 `json:"bytes"`
}
