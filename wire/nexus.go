package wire

// Names under which callers of other namespaces reach the product through a Nexus endpoint.
const (
	// NexusService is the name of the service.
	NexusService = "jobwait"
	// NexusOperationAwait waits for one external job: its input is a Spec, its result an Outcome.
	NexusOperationAwait = "await"
	// NexusOperationSubmitAndAwait submits a job and waits for it: its input is a SubmitSpec, its result a SubmitOutcome.
	NexusOperationSubmitAndAwait = "submit-and-await"
)

// ErrorAlreadyOwned is the type of the application error that refuses a Nexus operation because another operation waits, or has
// waited, for the same job. Its detail is an AlreadyOwned.
const ErrorAlreadyOwned = "AlreadyOwned"

// AlreadyOwned describes the operation that owns a job.
type AlreadyOwned struct {
	Owner
	// Closed reports whether the owner's wait has ended with an outcome. Waiting again requires Spec.Reopens with its RunID.
	Closed bool `json:"closed"`
	// Fingerprint is the result of comparing the request fingerprints of the two specs, or the content of the two submissions:
	// "same", "different" or "unknown".
	Fingerprint string `json:"fingerprint"`
}
