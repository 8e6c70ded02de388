package jobwait

import (
	"encoding/json"
	"errors"
	"unicode/utf8"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/jobwait/jobwait/wire"
)

// Await waits for an external job from inside a workflow. The wait is a child workflow that owns the job by its id and
// goes on when the parent ends, so that a second parent cannot ask the provider about the same job beside it.
//
// The child runs on the parent's task queue, or on the one that workflow.WithWorkflowTaskQueue has put on ctx:
//
//	outcome, err := jobwait.Await(workflow.WithWorkflowTaskQueue(ctx, "jobwait"), spec)
//
// Cancelling ctx tells the child to stop waiting, which leaves the job itself alone, and gives its outcome: unresolved,
// unless a request in flight brought the job's end.
//
// However the wait was decided, Await returns an outcome and no error; look at its Status. The errors are an
// *AlreadyOwnedError, of which a workflow learns no more than the workflow id, a *temporal.ApplicationError of type
// wire.ErrorInvalidSpec for a spec that cannot be run, and what else can happen to a child workflow.
func Await(ctx workflow.Context, spec wire.Spec) (wire.Outcome, error) {
	id := wire.WorkflowID(spec.Provider, spec.Account, spec.ProviderJobID)
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            id,
		TaskQueue:             workflow.GetChildWorkflowOptions(ctx).TaskQueue,
		WorkflowIDReusePolicy: reusePolicy(spec),
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
		WaitForCancellation:   true,
		Memo:                  memo(spec),
		StaticSummary:         summary(spec),
	})
	var outcome wire.Outcome
	err := workflow.ExecuteChildWorkflow(ctx, wire.WorkflowAwaitJob, spec).Get(ctx, &outcome)
	if errors.As(err, new(*temporal.ChildWorkflowExecutionAlreadyStartedError)) {
		return wire.Outcome{}, &AlreadyOwnedError{WorkflowID: id}
	}
	return outcome, err
}

// reusePolicy lets a job be waited for again after a wait that never began. After a decided end it takes a person's word,
// which the wait itself checks (R46).
func reusePolicy(spec wire.Spec) enumspb.WorkflowIdReusePolicy {
	if spec.Reopens != nil {
		return enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	}
	return enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY
}

func memo(spec wire.Spec) map[string]any {
	return map[string]any{wire.MemoOperationID: spec.OperationID}
}

// maxSummaryBytes is half of what Temporal's API allows a summary by default, so that a codec has room to add to it.
const maxSummaryBytes = 200

// summary is the one line that Temporal's UI shows for the wait. Ids may be long; what counts is the encoded text.
func summary(spec wire.Spec) string {
	return shortened("wait for " + spec.ProviderJobID + " at " + spec.Provider + " (" + spec.OperationID + ")")
}

func shortened(text string) string {
	for encodedLen(text) > maxSummaryBytes {
		_, last := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-last]
	}
	return text
}

func encodedLen(text string) int {
	encoded, err := json.Marshal(text)
	if err != nil { // a string always marshals
		return 0
	}
	return len(encoded)
}
