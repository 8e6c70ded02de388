package jobwait

import (
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/workflow"

	"github.com/jobwait/jobwait/wire"
)

// Await waits for an external job from inside a workflow. The wait is a child workflow whose id is derived from the job, so
// that a job has one wait at a time. It continues if the parent ends first.
//
// The child runs on the parent's task queue, or on the one that workflow.WithWorkflowTaskQueue has put on ctx:
//
//	outcome, err := jobwait.Await(workflow.WithWorkflowTaskQueue(ctx, "jobwait"), spec)
//
// Cancelling ctx tells the child to stop waiting and leaves the job itself alone. Await then returns the child's outcome, which
// is unresolved unless a request in flight brought the end of the job.
//
// A wait that ends without success is not an error: check the Status of the outcome. The error is an *AlreadyOwnedError (with
// only the workflow id set), a *temporal.ApplicationError of type wire.ErrorInvalidSpec for a spec that cannot be run, or
// another failure of a child workflow.
func Await(ctx workflow.Context, spec wire.Spec) (wire.Outcome, error) {
	wait, outcome := waiting(spec), wire.Outcome{}
	taken, err := wait.child(ctx, spec, &outcome)
	if taken {
		return wire.Outcome{}, &AlreadyOwnedError{WorkflowID: wait.id}
	}
	return outcome, err
}

// waiting is the wait for a job, which owns the job by its id.
func waiting(spec wire.Spec) execution {
	return execution{
		workflow:    wire.WorkflowAwaitJob,
		id:          wire.WorkflowID(spec.Provider, spec.Account, spec.ProviderJobID),
		operationID: spec.OperationID,
		summary:     "wait for " + spec.ProviderJobID + " at " + spec.Provider + " (" + spec.OperationID + ")",
		reuse:       reusePolicy(spec),
		parentClose: enumspb.PARENT_CLOSE_POLICY_ABANDON,
	}
}

// reusePolicy lets a job be waited for again after a wait that never began. After a decided end it takes a person's word,
// which the wait itself checks (R46).
func reusePolicy(spec wire.Spec) enumspb.WorkflowIdReusePolicy {
	if spec.Reopens != nil {
		return enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	}
	return enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY
}
