package jobwait

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nexus-rpc/sdk-go/nexus"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/temporalnexus"

	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/wire"
)

// nexusService returns jobwait as callers in other namespaces see it. It reads the input of an operation and none of its headers.
func nexusService(acts *activities.Activities) *nexus.Service {
	service := nexus.NewService(wire.NexusService)
	service.MustRegister(newAwaitOperation(acts), newSubmitOperation(acts))
	return service
}

// call is one call of an operation: the workflow that it starts, and what to do if the workflow id is taken.
type call struct {
	execution
	// owner looks up who has the workflow id. same reports whether it is this very operation, called before. refusal is the error for
	// a caller that may not join the owner; it wraps errUnread if the owner cannot be looked up at the moment.
	owner func(ctx context.Context, c client.Client, runID string) (owner wire.AlreadyOwned, same bool, refusal error)
	// reopens is the closed run after which the caller wants to wait again; empty if it does not.
	reopens string
}

// workflowOperation is an operation that ends when its workflow does. A repeated call joins the workflow of the first one, running or
// ended, and gets its outcome. A different call with the same workflow id is refused.
type workflowOperation[O any] struct {
	nexus.Operation[converter.RawValue, O]                                        // starts the workflow, and fails if its id is taken
	joins                                  nexus.Operation[converter.RawValue, O] // joins the workflow that has the id

	read   func(data []byte) (call, error)
	check  func(ctx context.Context, data []byte) error // whether a spec can be run, as the worker says
	prefix string                                       // of the workflow ids that the operation starts
}

func newWorkflowOperation[O any](name, prefix string, read func([]byte) (call, error), check func(context.Context, []byte) error) *workflowOperation[O] {
	return &workflowOperation[O]{
		Operation: started[O](name, read, enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL),
		joins:     started[O](name, read, enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING),
		read:      read, check: check, prefix: prefix,
	}
}

// started returns the operation that starts the workflow. It passes on the bytes that the caller wrote, so that the workflow
// decodes them again, and as strictly (R28).
func started[O any](name string, read func([]byte) (call, error), policy enumspb.WorkflowIdConflictPolicy) nexus.Operation[converter.RawValue, O] {
	return temporalnexus.MustNewWorkflowRunOperationWithOptions(temporalnexus.WorkflowRunOperationOptions[converter.RawValue, O]{
		Name: name,
		Handler: func(ctx context.Context, input converter.RawValue, options nexus.StartOperationOptions) (temporalnexus.WorkflowHandle[O], error) {
			call, err := read(input.Payload().GetData())
			if err != nil {
				return nil, err
			}
			start := call.startOptions()
			start.WorkflowIDConflictPolicy = policy
			return temporalnexus.ExecuteUntypedWorkflow[O](ctx, options, start, call.workflow, input)
		},
	})
}

func newAwaitOperation(acts *activities.Activities) *workflowOperation[wire.Outcome] {
	return newWorkflowOperation[wire.Outcome](wire.NexusOperationAwait, wire.WorkflowIDPrefix, readAwait,
		func(ctx context.Context, data []byte) error {
			_, err := acts.CheckSpec(ctx, data, time.Now())
			return err
		})
}

func readAwait(data []byte) (call, error) {
	spec, err := wire.DecodeSpec(data)
	return call{
		execution: waiting(spec),
		owner: func(ctx context.Context, c client.Client, runID string) (wire.AlreadyOwned, bool, error) {
			return awaited(ctx, c, spec, runID)
		},
		reopens: reopened(spec),
	}, err
}

func reopened(spec wire.Spec) string {
	if spec.Reopens == nil {
		return ""
	}
	return spec.Reopens.RunID
}

func newSubmitOperation(acts *activities.Activities) *workflowOperation[wire.SubmitOutcome] {
	return newWorkflowOperation[wire.SubmitOutcome](wire.NexusOperationSubmitAndAwait, wire.SubmitWorkflowIDPrefix, readSubmit,
		func(ctx context.Context, data []byte) error {
			_, err := acts.CheckSubmitSpec(ctx, data, time.Now())
			return err
		})
}

func readSubmit(data []byte) (call, error) {
	spec, err := wire.DecodeSubmitSpec(data)
	submission := submitting(spec)
	return call{
		execution: submission,
		owner: func(ctx context.Context, c client.Client, runID string) (wire.AlreadyOwned, bool, error) {
			found, err := submitted(ctx, c, spec, submission.id, runID)
			if unread(err) {
				return found, false, fmt.Errorf("%w: %w", errUnread, err)
			}
			return found, found.Fingerprint == string(FingerprintSame), &AlreadySubmittedError{WorkflowID: submission.id, RunID: runID}
		},
	}, err
}

// joinAttempts bounds how often a call looks for the owner, which may end or be replaced meanwhile.
const joinAttempts = 3

// Start claims the workflow id, or joins the owner if that is the same operation.
func (o *workflowOperation[O]) Start(
	ctx context.Context, input converter.RawValue, options nexus.StartOperationOptions,
) (nexus.HandlerStartOperationResult[O], error) {
	input = bare(input)
	if err := o.check(ctx, input.Payload().GetData()); err != nil {
		return o.unrunnable(ctx, input, options, refused(err))
	}
	call, err := o.read(input.Payload().GetData())
	if err != nil {
		return nil, err
	}
	begun, err := o.Operation.Start(ctx, input, options)
	for range joinAttempts {
		runID, taken := takenBy(err)
		if !taken {
			return begun, err
		}
		owner, same, why := call.owner(ctx, temporalnexus.GetClient(ctx), runID)
		switch {
		case errors.Is(why, errUnread):
			return nil, why
		case !same:
			return nil, badRequest(why.Error(), temporal.NewNonRetryableApplicationError(why.Error(), wire.ErrorAlreadyOwned, nil, owner))
		case owner.Closed:
			return ended[O](ctx, owner)
		}
		begun, err = o.joins.Start(ctx, input, options)
	}
	return begun, err
}

// bare returns the input without the caller's metadata, which is unbounded and would be carried along by every run.
func bare(input converter.RawValue) converter.RawValue {
	return converter.NewRawValue(&commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)}, Data: input.Payload().GetData(),
	})
}

// unrunnable refuses a spec that cannot be run, unless the operation was called before, when it could be run: a deadline that has
// passed since, or a credential that is gone, must not keep a caller from the outcome of what it started.
func (o *workflowOperation[O]) unrunnable(
	ctx context.Context, input converter.RawValue, options nexus.StartOperationOptions, refusal error,
) (nexus.HandlerStartOperationResult[O], error) {
	call, err := o.read(input.Payload().GetData())
	if err != nil {
		return nil, refusal
	}
	owner, same, err := call.madeBefore(ctx, temporalnexus.GetClient(ctx))
	switch {
	case err != nil:
		return nil, err
	case !same:
		return nil, refusal
	case !owner.Closed:
		return o.joins.Start(ctx, input, options)
	}
	result, err := ended[O](ctx, owner)
	if errors.As(err, new(*temporal.WorkflowExecutionError)) { // the first call could not be run either
		return nil, refusal
	}
	return result, err
}

// madeBefore looks for an earlier call of the same operation. Waiting again is another operation than the wait that it reopens.
func (c call) madeBefore(ctx context.Context, in client.Client) (wire.AlreadyOwned, bool, error) {
	latest, err := in.DescribeWorkflow(ctx, c.id, "")
	switch {
	case errors.As(err, new(*serviceerror.NotFound)):
		return wire.AlreadyOwned{}, false, nil
	case err != nil:
		return wire.AlreadyOwned{}, false, fmt.Errorf("%w: %w", errUnread, err)
	case latest.WorkflowExecution.RunID == c.reopens:
		return wire.AlreadyOwned{}, false, nil
	}
	owner, same, why := c.owner(ctx, in, latest.WorkflowExecution.RunID)
	if errors.Is(why, errUnread) {
		return owner, false, why
	}
	return owner, same, nil
}

// ended returns the outcome of an earlier call of the operation.
func ended[O any](ctx context.Context, owner wire.AlreadyOwned) (nexus.HandlerStartOperationResult[O], error) {
	var outcome O
	if err := temporalnexus.GetClient(ctx).GetWorkflow(ctx, owner.WorkflowID, owner.RunID).Get(ctx, &outcome); err != nil {
		return nil, err
	}
	return &nexus.HandlerStartOperationResultSync[O]{Value: outcome}, nil
}

// Cancel tells the workflow to stop waiting (R48). The token comes from outside, so it must name a workflow of this operation and no
// other one of the namespace.
func (o *workflowOperation[O]) Cancel(ctx context.Context, token string, options nexus.CancelOperationOptions) error {
	if !strings.HasPrefix(workflowOf(token), o.prefix) {
		return nexus.NewHandlerErrorf(nexus.HandlerErrorTypeBadRequest, "the operation token is not one of this operation")
	}
	err := o.Operation.Cancel(ctx, token, options)
	if errors.As(err, new(*serviceerror.NotFound)) {
		return nil // the workflow has ended, and its outcome is being delivered
	}
	return err
}

// workflowOf returns the workflow id in an operation token of the SDK; empty if it is not one.
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

// refused turns the error of a spec that cannot be run into one for the caller. Other errors may be temporary and are retried.
func refused(err error) error {
	invalid := new(temporal.ApplicationError)
	if !errors.As(err, &invalid) || invalid.Type() != wire.ErrorInvalidSpec {
		return err
	}
	return badRequest(invalid.Message(), invalid)
}

// badRequest is an error that is not retried. The type CONFLICT would suit a job that has an owner better, but server 1.29 does not
// know it and retries such a call until it times out. The cause tells callers what to match on; older servers transmit nothing
// else.
func badRequest(message string, cause error) error {
	return &nexus.HandlerError{
		Type: nexus.HandlerErrorTypeBadRequest, Message: message, Cause: cause,
		RetryBehavior: nexus.HandlerErrorRetryBehaviorNonRetryable,
	}
}
