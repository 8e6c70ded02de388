package jobwait

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/jobwait/jobwait/wire"
)

// execution is a workflow of this module with the one id that it may have. It is the same whether a client, a parent workflow or a
// Nexus call starts it.
type execution struct {
	workflow, id string
	// operationID is the memo by which people find the workflow; empty means none.
	operationID string
	// summary is the line that Temporal's UI shows.
	summary     string
	reuse       enumspb.WorkflowIdReusePolicy
	parentClose enumspb.ParentClosePolicy
}

func (e execution) memo() map[string]any {
	if e.operationID == "" {
		return nil
	}
	return map[string]any{wire.MemoOperationID: e.operationID}
}

// startOptions returns the options of a start, without the task queue and without what to do if the id is taken.
func (e execution) startOptions() client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID: e.id, WorkflowIDReusePolicy: e.reuse, Memo: e.memo(), StaticSummary: shortened(e.summary),
	}
}

// start starts the workflow and returns without waiting for its end. takenBy recognises the error of an id that is taken.
func (e execution) start(ctx context.Context, c client.Client, options StartOptions, input any) (client.WorkflowRun, error) {
	start := e.startOptions()
	start.TaskQueue = options.queue()
	start.WorkflowIDConflictPolicy = enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL
	// Otherwise the client answers a conflict with the run of the owner and no error.
	start.WorkflowExecutionErrorWhenAlreadyStarted = true
	run, err := c.ExecuteWorkflow(ctx, start, e.workflow, input)
	if err != nil {
		return nil, fmt.Errorf("starting %q: %w", e.id, err)
	}
	return run, nil
}

// takenBy returns the run that has the id already, if the error is about that.
func takenBy(err error) (runID string, taken bool) {
	already := new(serviceerror.WorkflowExecutionAlreadyStarted)
	if !errors.As(err, &already) {
		return "", false
	}
	return already.RunId, true
}

// child runs the workflow as a child and reads its outcome. taken reports whether another execution has the id; a workflow learns
// no more about it.
func (e execution) child(ctx workflow.Context, input, outcome any) (taken bool, err error) {
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            e.id,
		TaskQueue:             workflow.GetChildWorkflowOptions(ctx).TaskQueue,
		WorkflowIDReusePolicy: e.reuse,
		ParentClosePolicy:     e.parentClose,
		WaitForCancellation:   true,
		Memo:                  e.memo(),
		StaticSummary:         shortened(e.summary),
	})
	err = workflow.ExecuteChildWorkflow(ctx, e.workflow, input).Get(ctx, outcome)
	return errors.As(err, new(*temporal.ChildWorkflowExecutionAlreadyStartedError)), err
}

// maxSummaryBytes is half of what Temporal's API allows a summary by default, so that a codec has room to add to it.
const maxSummaryBytes = 200

// shortened cuts a summary to the limit, which applies to the encoded text: ids may be long.
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
