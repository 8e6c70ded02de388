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

// ErrorAlreadyOwned is the type of the application error in the refusal of a Nexus operation whose job another operation
// waits for, or has waited for; its detail is an AlreadyOwned.
const ErrorAlreadyOwned = "AlreadyOwned"

// AlreadyOwned says whose a job is.
type AlreadyOwned struct {
	Owner
	// Closed says that the owner's wait has a decided end; waiting again takes Spec.Reopens with its RunID.
	Closed bool `json:"closed"`
	// Fingerprint compares the request fingerprints of the two specs, or what the two submissions submit: "same", "different" or
	// "unknown".
	Fingerprint string `json:"fingerprint"`
}
