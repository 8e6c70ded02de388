package jobwait

import (
	"context"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/jobwait/jobwait/internal/waits"
	"github.com/jobwait/jobwait/wire"
)

// StartOptions are the options of Start, StartSubmit and StartFetch. The zero value suits the stock worker.
type StartOptions struct {
	// TaskQueue is the worker's task queue. Empty means wire.DefaultTaskQueue.
	TaskQueue string
	// DataConverter is the data converter of the client. Start uses it only to read the owner's spec for an AlreadyOwnedError;
	// StartSubmit and StartFetch ignore it. Nil means the SDK's default.
	DataConverter converter.DataConverter
}

func (o StartOptions) queue() string {
	if o.TaskQueue == "" {
		return wire.DefaultTaskQueue
	}
	return o.TaskQueue
}

// Start starts the wait for a job and returns without waiting for its end; run.Get returns the wire.Outcome.
//
// The worker validates the spec: one that cannot be run fails the workflow with an application error of type
// wire.ErrorInvalidSpec. If the job has an owner already, the error is an *AlreadyOwnedError. The server decides this
// atomically, so two callers never both become the owner.
func Start(ctx context.Context, c client.Client, spec wire.Spec, options StartOptions) (client.WorkflowRun, error) {
	run, err := waiting(spec).start(ctx, c, options, spec)
	if runID, taken := takenBy(err); taken {
		return nil, owned(ctx, c, spec, runID, options)
	}
	return run, err
}

// FingerprintMatch is the result of comparing the request fingerprint of a spec with that of the job's owner.
type FingerprintMatch string

// How two fingerprints compare.
const (
	FingerprintSame      FingerprintMatch = "same"
	FingerprintDifferent FingerprintMatch = "different"
	FingerprintUnknown   FingerprintMatch = "unknown" // one of the two has none, or the owner's spec cannot be read
)

// AlreadyOwnedError reports that another wait owns the job, or that an earlier wait for it has ended with an outcome.
type AlreadyOwnedError struct {
	// WorkflowID is the workflow id of the job's wait. RunID is the latest run of its owner.
	WorkflowID string
	RunID      string
	// OperationID is the owner's operation id; empty if its spec cannot be read.
	OperationID string
	// Closed reports whether the owner's wait has ended. To wait again, a person must say so: set Spec.Reopens with this RunID.
	Closed bool
	// Fingerprint says whether the owner waits for the same submission.
	Fingerprint FingerprintMatch
}

// Error says who owns the job and what to do about it.
func (e *AlreadyOwnedError) Error() string {
	owner := fmt.Sprintf("workflow %q", e.WorkflowID)
	if e.OperationID != "" {
		owner = fmt.Sprintf("operation %q (%s)", e.OperationID, owner)
	}
	text := "the job is owned by " + owner
	if e.Closed {
		text = fmt.Sprintf("the job was waited for by %s, run %q, and has a decided end", owner, e.RunID)
	}
	switch e.Fingerprint {
	case FingerprintSame:
		return text + "; its request fingerprint is the same"
	case FingerprintDifferent:
		return text + "; its request fingerprint is another, so somebody else submitted it"
	case FingerprintUnknown:
		return text
	default:
		return text
	}
}

// owned describes the owner of a job after a start was refused. What cannot be found out stays empty: the refusal stands
// anyway.
func owned(ctx context.Context, c client.Client, spec wire.Spec, runID string, options StartOptions) *AlreadyOwnedError {
	found, _, _ := ownerOf(ctx, c, spec, runID, options)
	return found
}

// ownerOf is the owner of a job and its spec. The error is why the spec cannot be read.
func ownerOf(ctx context.Context, c client.Client, spec wire.Spec, runID string, options StartOptions) (*AlreadyOwnedError, wire.Spec, error) {
	id := wire.WorkflowID(spec.Provider, spec.Account, spec.ProviderJobID)
	found := &AlreadyOwnedError{WorkflowID: id, RunID: runID, Fingerprint: FingerprintUnknown}
	if described, err := c.DescribeWorkflow(ctx, id, runID); err == nil {
		found.Closed = described.Status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	}
	owner, err := waits.New(c, options.DataConverter).Spec(ctx, &commonpb.WorkflowExecution{WorkflowId: id, RunId: runID})
	if err != nil {
		return found, wire.Spec{}, err
	}
	found.OperationID = owner.OperationID
	switch mine, theirs := spec.RequestFingerprint, owner.RequestFingerprint; {
	case mine == "" || theirs == "":
	case mine == theirs:
		found.Fingerprint = FingerprintSame
	default:
		found.Fingerprint = FingerprintDifferent
	}
	return found, owner, nil
}
