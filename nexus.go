package jobwait

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/nexus-rpc/sdk-go/nexus"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/temporalnexus"

	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/wire"
)

// nexusService is the product as callers of other namespaces see it. It reads the input of an operation and none of its
// headers.
func nexusService(acts *activities.Activities) *nexus.Service {
	service := nexus.NewService(wire.NexusService)
	service.MustRegister(newAwaitOperation(acts))
	return service
}

// backed is an operation that ends when its workflow does.
type backed = nexus.Operation[converter.RawValue, wire.Outcome]

// awaitOperation waits for a job under its one workflow id. A call with the operation id of the job's owner is that very
// operation, made once more: it is told the owner's end. Any other second call is refused.
type awaitOperation struct {
	backed // claims the job
	joins  backed
	acts   *activities.Activities
}

func newAwaitOperation(acts *activities.Activities) *awaitOperation {
	return &awaitOperation{
		backed: workflowOperation(enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL),
		joins:  workflowOperation(enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING),
		acts:   acts,
	}
}

// workflowOperation gives the wait the bytes that the caller wrote, so that they are read once more and as strictly (R28).
func workflowOperation(policy enumspb.WorkflowIdConflictPolicy) backed {
	return temporalnexus.MustNewWorkflowRunOperationWithOptions(temporalnexus.WorkflowRunOperationOptions[converter.RawValue, wire.Outcome]{
		Name: wire.NexusOperationAwait,
		Handler: func(ctx context.Context, input converter.RawValue, options nexus.StartOperationOptions) (temporalnexus.WorkflowHandle[wire.Outcome], error) {
			spec, err := wire.DecodeSpec(input.Payload().GetData())
			if err != nil {
				return nil, err
			}
			return temporalnexus.ExecuteUntypedWorkflow[wire.Outcome](ctx, options, client.StartWorkflowOptions{
				ID:                       wire.WorkflowID(spec.Provider, spec.Account, spec.ProviderJobID),
				WorkflowIDReusePolicy:    reusePolicy(spec),
				WorkflowIDConflictPolicy: policy,
				Memo:                     memo(spec),
				StaticSummary:            summary(spec),
			}, wire.WorkflowAwaitJob, input)
		},
	})
}

// joinAttempts bounds how often an owner is looked at that may end, or give way to another, in that very moment.
const joinAttempts = 3

// Start claims the job, or joins the owner that is this operation already.
func (o *awaitOperation) Start(
	ctx context.Context, input converter.RawValue, options nexus.StartOperationOptions,
) (nexus.HandlerStartOperationResult[wire.Outcome], error) {
	spec, err := o.acts.CheckSpec(ctx, input.Payload().GetData(), time.Now())
	if err != nil {
		return nil, refused(err)
	}
	begun, err := o.backed.Start(ctx, input, options)
	for range joinAttempts {
		already := new(serviceerror.WorkflowExecutionAlreadyStarted)
		if !errors.As(err, &already) {
			return begun, err
		}
		owner := owned(ctx, temporalnexus.GetClient(ctx), spec, already.RunId, StartOptions{})
		switch {
		case owner.OperationID != spec.OperationID || owner.Fingerprint == FingerprintDifferent:
			return nil, ownedByAnother(owner)
		case owner.Closed:
			return ended(ctx, owner)
		}
		begun, err = o.joins.Start(ctx, input, options)
	}
	return begun, err
}

// ended is the outcome of this operation, which was waited for before.
func ended(ctx context.Context, owner *AlreadyOwnedError) (nexus.HandlerStartOperationResult[wire.Outcome], error) {
	var outcome wire.Outcome
	if err := temporalnexus.GetClient(ctx).GetWorkflow(ctx, owner.WorkflowID, owner.RunID).Get(ctx, &outcome); err != nil {
		return nil, err
	}
	return &nexus.HandlerStartOperationResultSync[wire.Outcome]{Value: outcome}, nil
}

// Cancel says "stop waiting" (R48). The token comes from outside: it may name waits and no other workflow of the namespace.
func (o *awaitOperation) Cancel(ctx context.Context, token string, options nexus.CancelOperationOptions) error {
	if !strings.HasPrefix(workflowOf(token), wire.WorkflowIDPrefix) {
		return nexus.NewHandlerErrorf(nexus.HandlerErrorTypeBadRequest, "the operation token is not that of a wait")
	}
	err := o.backed.Cancel(ctx, token, options)
	if errors.As(err, new(*serviceerror.NotFound)) {
		return nil // the wait has ended, and its outcome is on its way
	}
	return err
}

// workflowOf is the workflow id in a token that the SDK made; empty if it is none.
func workflowOf(token string) string {
	data, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return ""
	}
	var content struct {
		WorkflowID string `json:"wid"`
	}
	if json.Unmarshal(data, &content) != nil {
		return ""
	}
	return content.WorkflowID
}

// refused turns what cannot be run into the caller's error; what else went wrong may pass and is tried again.
func refused(err error) error {
	invalid := new(temporal.ApplicationError)
	if !errors.As(err, &invalid) || invalid.Type() != wire.ErrorInvalidSpec {
		return err
	}
	return badRequest(invalid.Message(), invalid)
}

func ownedByAnother(owner *AlreadyOwnedError) error {
	detail := wire.AlreadyOwned{
		Owner:  wire.Owner{WorkflowID: owner.WorkflowID, RunID: owner.RunID, OperationID: owner.OperationID},
		Closed: owner.Closed, Fingerprint: string(owner.Fingerprint),
	}
	return badRequest(owner.Error(), temporal.NewNonRetryableApplicationError(owner.Error(), wire.ErrorAlreadyOwned, nil, detail))
}

// badRequest is an error that no repetition of the call mends. The type CONFLICT would be truer of a job that has an owner, but
// server 1.29 does not know it and repeats such a call until it times out. The cause tells callers what to match on; older
// servers carry nothing else.
func badRequest(message string, cause error) error {
	return &nexus.HandlerError{
		Type: nexus.HandlerErrorTypeBadRequest, Message: message, Cause: cause,
		RetryBehavior: nexus.HandlerErrorRetryBehaviorNonRetryable,
	}
}
