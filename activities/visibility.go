package activities

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"

	"github.com/jobwait/jobwait/wire"
)

// Visibility is the part of client.Client that Prepare uses.
type Visibility interface {
	ListWorkflow(ctx context.Context, request *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error)
	CountWorkflow(ctx context.Context, request *workflowservice.CountWorkflowExecutionsRequest) (*workflowservice.CountWorkflowExecutionsResponse, error)
}

// visible is the configured visibility, else the client of the worker that runs the activity.
func (a *Activities) visible(ctx context.Context) Visibility {
	if a.visibility != nil {
		return a.visibility
	}
	return activity.GetClient(ctx)
}

// latestDecided is the run id of the latest decided wait of a workflow id, empty if visibility shows none. A run that
// failed never was a wait, and one that continued as new was not its end (R46).
//
// The id was compared with that of wire.WorkflowID, whose alphabet has no quote and no backslash: it needs no escaping.
func latestDecided(ctx context.Context, visibility Visibility, workflowID string) (string, error) {
	found, err := visibility.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		PageSize: 100,
		Query:    "WorkflowId = '" + workflowID + "' AND ExecutionStatus IN ('Completed', 'Canceled', 'Terminated', 'TimedOut')",
	})
	if err != nil {
		return "", fmt.Errorf("looking for earlier waits of this job: %w", err)
	}
	// Runs of one id follow one another, so the one that started last is the latest.
	var latest *workflow.WorkflowExecutionInfo
	for _, run := range found.GetExecutions() {
		if latest == nil || run.GetStartTime().AsTime().After(latest.GetStartTime().AsTime()) {
			latest = run
		}
	}
	return latest.GetExecution().GetRunId(), nil
}

// attributesRegistered reports whether the search attributes may be upserted. A query that names an unregistered one, or
// compares one with a value of another type, is refused. That needs no administrator's rights to find out, whereas such
// an upsert would block the workflow for ever.
func attributesRegistered(ctx context.Context, visibility Visibility, workflowID string) (bool, error) {
	query := "WorkflowId = '" + workflowID + "'"
	for _, name := range []string{wire.AttributeProvider, wire.AttributePhase, wire.AttributeReason} {
		query += " AND " + name + " = 'none'"
	}
	query += " AND " + wire.AttributeDecideBy + " = '2000-01-01T00:00:00Z'"
	_, err := visibility.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: query})
	switch {
	case err == nil:
		return true, nil
	case errors.As(err, new(*serviceerror.InvalidArgument)):
		return false, nil
	default:
		return false, fmt.Errorf("asking whether search attributes are registered: %w", err)
	}
}
