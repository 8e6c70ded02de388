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

// StartOptions say how a wait is started. The zero value suits the stock worker.
type StartOptions struct {
	// TaskQueue is the worker's. Empty: wire.DefaultTaskQueue.
	TaskQueue string
	// DataConverter is the client's own, where it has one: Start reads the owner's spec by it for an AlreadyOwnedError, and nothing
	// else. StartSubmit and StartFetch ignore it. Nil: the SDK's default.
	DataConverter converter.DataConverter
}

func (o StartOptions) queue() string {
	if o.TaskQueue == "" {
		return wire.DefaultTaskQueue
	}
	return o.TaskQueue
}

// Start starts the wait for a job and does not wait for its end; run.Get gives the wire.Outcome.
//
// It checks nothing of the spec: what cannot be run fails the workflow with an application error of type
// wire.ErrorInvalidSpec. A job that has an owner gives an *AlreadyOwnedError; there is no moment between looking and
// starting in which two callers could both become the owner.
func Start(ctx context.Context, c client.Client, spec wire.Spec, options StartOptions) (client.WorkflowRun, error) {
	run, err := waiting(spec).start(ctx, c, options, spec)
	if runID, taken := takenBy(err); taken {
		return nil, owned(ctx, c, spec, runID, options)
	}
	return run, err
}

// FingerprintMatch says how the request fingerprint of a spec compares with the owner's.
type FingerprintMatch string

// How two fingerprints compare.
const (
	FingerprintSame      FingerprintMatch = "same"
	FingerprintDifferent FingerprintMatch = "different"
	FingerprintUnknown   FingerprintMatch = "unknown" // one of the two has none, or the owner's spec cannot be read
)

// AlreadyOwnedError says that another wait owns the job, or that the job was waited for and has a decided end.
type AlreadyOwnedError struct {
	// WorkflowID is the job's. RunID is the latest run of its owner.
	WorkflowID string
	RunID      string
	// OperationID is the owner's; empty where its spec cannot be read.
	OperationID string
	// Closed says that the owner's wait has ended. Waiting again takes a person's word: set Reopens in the spec, with this
	// RunID.
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
