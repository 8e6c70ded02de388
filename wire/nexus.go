package wire

// Names under which callers of other namespaces reach the product through a Nexus endpoint.
const (
	// NexusService is the name of the service.
	NexusService = "jobwait"
	// NexusOperationAwait waits for one external job: its input is a Spec, its result an Outcome.
	NexusOperationAwait = "await"
)

// ErrorAlreadyOwned is the type of the application error in the refusal of a Nexus operation whose job another operation
// waits for, or has waited for; its detail is an Owner.
const ErrorAlreadyOwned = "AlreadyOwned"

// Owner is the wait that a job belongs to.
type Owner struct {
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	// OperationID is empty where the owner's spec cannot be read.
	OperationID string `json:"operation_id"`
	// Closed says that the wait has a decided end; waiting again takes Spec.Reopens with this RunID.
	Closed bool `json:"closed"`
	// Fingerprint compares the request fingerprints of the two specs: "same", "different" or "unknown".
	Fingerprint string `json:"fingerprint"`
}
