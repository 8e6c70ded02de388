package jobwait

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
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
	"github.com/jobwait/jobwait/internal/waits"
	"github.com/jobwait/jobwait/wire"
)

// nexusService is the product as callers of other namespaces see it. It reads the input of an operation and none of its
// headers.
func nexusService(acts *activities.Activities) *nexus.Service {
	service := nexus.NewService(wire.NexusService)
	service.MustRegister(newAwaitOperation(acts), newSubmitOperation(acts))
	return service
}

// call is one call of an operation: the workflow that it starts, and how to tell what a second call is.
type call struct {
	execution
	// owner is who has the workflow id; same says that it is this very operation, made before. why says so to who is refused; it
	// wraps errUnread where that cannot be known for the moment.
	owner func(ctx context.Context, c client.Client, runID string) (owner wire.AlreadyOwned, same bool, why error)
	// reopens is the run after whose end somebody wants to wait anew; empty otherwise.
	reopens string
}

// errUnread says that the server did not tell who the owner is, and may when it is asked again.
var errUnread = errors.New("the owner cannot be looked up at the moment")

// unread reports a failure that says nothing of the owner.
func unread(err error) bool {
	var answered serviceerror.ServiceError
	return errors.As(err, &answered) && !errors.As(err, new(*serviceerror.NotFound)) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// workflowOperation is an operation that ends when its workflow does. A call of what is under way, or has ended, is that very
// operation, made once more: it is told the one end. Any other second call is refused.
type workflowOperation[O any] struct {
	nexus.Operation[converter.RawValue, O] // claims the workflow id
	joins                                  nexus.Operation[converter.RawValue, O]

	read   func(data []byte) (call, error)
	check  func(ctx context.Context, data []byte) error
	prefix string
}

func newWorkflowOperation[O any](name, prefix string, read func([]byte) (call, error), check func(context.Context, []byte) error) *workflowOperation[O] {
	return &workflowOperation[O]{
		Operation: started[O](name, read, enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL),
		joins:     started[O](name, read, enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING),
		read:      read, check: check, prefix: prefix,
	}
}

// started gives the workflow the bytes that the caller wrote, so that they are read once more and as strictly (R28).
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

// awaited describes who waits for a job.
func awaited(ctx context.Context, c client.Client, spec wire.Spec, runID string) (wire.AlreadyOwned, bool, error) {
	owner, theirs, err := ownerOf(ctx, c, spec, runID, StartOptions{})
	found := wire.AlreadyOwned{
		Owner:  wire.Owner{WorkflowID: owner.WorkflowID, RunID: owner.RunID, OperationID: owner.OperationID},
		Closed: owner.Closed, Fingerprint: string(owner.Fingerprint),
	}
	switch {
	case unread(err):
		return found, false, fmt.Errorf("%w: %w", errUnread, err)
	case owner.OperationID != spec.OperationID || owner.Fingerprint == FingerprintDifferent:
		return found, false, owner
	case !sameJob(spec, theirs):
		return found, false, fmt.Errorf("%w; its params, status_url, expected_states or accept_partial are others", owner)
	default:
		return found, true, owner
	}
}

// sameJob compares what two specs of one operation wait for, and not how long or how often (R47).
func sameJob(a, b wire.Spec) bool {
	return a.StatusURL == b.StatusURL && maps.Equal(a.Params, b.Params) && a.AcceptPartial == b.AcceptPartial &&
		slices.Equal(slices.Sorted(slices.Values(a.ExpectedStates)), slices.Sorted(slices.Values(b.ExpectedStates)))
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

// submitted describes who has a submission_id, as far as that can be found out. The error is why its spec cannot be read.
func submitted(ctx context.Context, c client.Client, spec wire.SubmitSpec, id, runID string) (wire.AlreadyOwned, error) {
	found := wire.AlreadyOwned{Owner: wire.Owner{WorkflowID: id, RunID: runID}, Fingerprint: string(FingerprintUnknown)}
	if described, err := c.DescribeWorkflow(ctx, id, runID); err == nil {
		found.Closed = described.Status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	}
	data, err := waits.New(c, nil).Input(ctx, &commonpb.WorkflowExecution{WorkflowId: id, RunId: runID})
	if err != nil {
		return found, err
	}
	theirs, err := wire.DecodeSubmitSpec(data)
	if err != nil {
		return found, err
	}
	found.OperationID, found.Fingerprint = theirs.SubmissionID, string(FingerprintDifferent)
	if sameSubmission(spec, theirs) {
		found.Fingerprint = string(FingerprintSame)
	}
	return found, nil
}

// sameSubmission compares what two specs submit, numbers by their digits.
func sameSubmission(a, b wire.SubmitSpec) bool {
	return maps.Equal(a.Params, b.Params) && reflect.DeepEqual(plain(a.Body), plain(b.Body))
}

// plain is a JSON text as values; nil where there is none.
func plain(text json.RawMessage) (value any) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return nil
	}
	return value
}

// joinAttempts bounds how often an owner is looked at that may end, or give way to another, in that very moment.
const joinAttempts = 3

// Start claims the workflow id, or joins the owner that is this operation already.
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

// bare is the input without the metadata that a caller put around it, which nothing bounds and which every run would carry along.
func bare(input converter.RawValue) converter.RawValue {
	return converter.NewRawValue(&commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)}, Data: input.Payload().GetData(),
	})
}

// unrunnable refuses what cannot be run, unless it is an operation that was made before, when it could be: a deadline that has passed
// since, or a credential that is gone, does not part a caller from the end of what it began.
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
	if errors.As(err, new(*temporal.WorkflowExecutionError)) { // it could never be run
		return nil, refusal
	}
	return result, err
}

// madeBefore finds the operation where it was made before. To wait anew is another one than the wait that it reopens.
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

// ended is the outcome of this operation, which was made before.
func ended[O any](ctx context.Context, owner wire.AlreadyOwned) (nexus.HandlerStartOperationResult[O], error) {
	var outcome O
	if err := temporalnexus.GetClient(ctx).GetWorkflow(ctx, owner.WorkflowID, owner.RunID).Get(ctx, &outcome); err != nil {
		return nil, err
	}
	return &nexus.HandlerStartOperationResultSync[O]{Value: outcome}, nil
}

// Cancel says "stop waiting" (R48). The token comes from outside: it may name what the operation starts and no other workflow
// of the namespace.
func (o *workflowOperation[O]) Cancel(ctx context.Context, token string, options nexus.CancelOperationOptions) error {
	if !strings.HasPrefix(workflowOf(token), o.prefix) {
		return nexus.NewHandlerErrorf(nexus.HandlerErrorTypeBadRequest, "the operation token is not one of this operation")
	}
	err := o.Operation.Cancel(ctx, token, options)
	if errors.As(err, new(*serviceerror.NotFound)) {
		return nil // it has ended, and its outcome is on its way
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

// badRequest is an error that no repetition of the call mends. The type CONFLICT would be truer of a job that has an owner, but
// server 1.29 does not know it and repeats such a call until it times out. The cause tells callers what to match on; older
// servers carry nothing else.
func badRequest(message string, cause error) error {
	return &nexus.HandlerError{
		Type: nexus.HandlerErrorTypeBadRequest, Message: message, Cause: cause,
		RetryBehavior: nexus.HandlerErrorRetryBehaviorNonRetryable,
	}
}
