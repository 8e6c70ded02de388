package jobwait

import (
	"context"
	"fmt"
	"maps"
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/workflow"

	"github.com/jobwait/jobwait/wire"
)

// NewFetchSpec returns a spec for fetching the named result of a wait that succeeded. The job and the URL of the result are
// filled in; Destination, Key, MaxBytes and DeadlineAt are left to the caller. If the outcome has no such result, the error
// lists the names that it has.
func NewFetchSpec(waited wire.Spec, outcome wire.Outcome, resultName string) (wire.FetchSpec, error) {
	reference, ok := outcome.Result[resultName]
	if !ok {
		return wire.FetchSpec{}, fmt.Errorf("fetch: the outcome has no result %q; it has %q", resultName, slices.Sorted(maps.Keys(outcome.Result)))
	}
	return wire.FetchSpec{
		OperationID: waited.OperationID, Provider: waited.Provider, Account: waited.Account, ProviderJobID: waited.ProviderJobID,
		Params: waited.Params, StatusURL: waited.StatusURL, CredentialRef: waited.CredentialRef,
		ResultName: resultName, URL: reference,
	}, nil
}

// NewSubmittedFetchSpec is NewFetchSpec for the result of a submission. An outcome does not contain the params that the table
// reads from the answer to the submission; the caller must add those that have no default.
func NewSubmittedFetchSpec(submitted wire.SubmitSpec, outcome wire.SubmitOutcome, resultName string) (wire.FetchSpec, error) {
	return NewFetchSpec(wire.Spec{
		OperationID: submitted.SubmissionID, Provider: submitted.Provider, Account: submitted.Account, ProviderJobID: outcome.ProviderJobID,
		Params: submitted.Params, StatusURL: outcome.StatusURL, CredentialRef: submitted.CredentialRef,
	}, wire.Outcome{Result: outcome.Result}, resultName)
}

// Fetch copies a result to a destination of the worker, from inside a workflow. It runs as a child workflow on the parent's
// task queue, or on the one that workflow.WithWorkflowTaskQueue has put on ctx, and ends when the parent ends.
//
// A fetch that fails is not an error: check the Status of the outcome. The error is an *AlreadyFetchedError, a
// *temporal.ApplicationError of type wire.ErrorInvalidSpec for a spec that cannot be run, a *temporal.CanceledError, or
// another failure of a child workflow.
func Fetch(ctx workflow.Context, spec wire.FetchSpec) (wire.FetchOutcome, error) {
	fetch, outcome := fetching(spec), wire.FetchOutcome{}
	taken, err := fetch.child(ctx, spec, &outcome)
	if taken {
		return wire.FetchOutcome{}, &AlreadyFetchedError{WorkflowID: fetch.id}
	}
	return outcome, err
}

// StartFetch starts a fetch without waiting for it to end; run.Get returns the wire.FetchOutcome. If the result is being fetched
// already, the error is an *AlreadyFetchedError.
func StartFetch(ctx context.Context, c client.Client, spec wire.FetchSpec, options StartOptions) (client.WorkflowRun, error) {
	fetch := fetching(spec)
	run, err := fetch.start(ctx, c, options, spec)
	if runID, taken := takenBy(err); taken {
		return nil, &AlreadyFetchedError{WorkflowID: fetch.id, RunID: runID}
	}
	return run, err
}

// fetching is the carrying of one result. It may be done again once it has ended, and ends with its parent.
func fetching(spec wire.FetchSpec) execution {
	return execution{
		workflow: wire.WorkflowFetchResult,
		id:       wire.FetchWorkflowID(spec),
		summary:  "fetch " + spec.ResultName + " of " + spec.ProviderJobID + " at " + spec.Provider,
		reuse:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}
}

// AlreadyFetchedError reports that the result is being fetched by another execution.
type AlreadyFetchedError struct {
	WorkflowID string
	// RunID is empty if the caller is a workflow: the server tells workflows only the workflow id.
	RunID string
}

// Error names the execution.
func (e *AlreadyFetchedError) Error() string {
	return fmt.Sprintf("the result is being fetched by workflow %q", e.WorkflowID)
}
