package jobwait

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait/internal/waits"
	"github.com/jobwait/jobwait/wire"
)

// errUnread reports that the owner cannot be looked up at the moment. A retry may succeed.
var errUnread = errors.New("the owner cannot be looked up at the moment")

// unread reports whether an error says nothing about the owner.
func unread(err error) bool {
	var answered serviceerror.ServiceError
	return errors.As(err, &answered) && !errors.As(err, new(*serviceerror.NotFound)) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// awaited describes the owner of a job, as call.owner does.
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

// submitted describes the owner of a submission_id, with the fields that can be read. The error says why its spec cannot be read.
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

// sameSubmission compares what two specs submit, and in whose place. Numbers are compared digit by digit.
func sameSubmission(a, b wire.SubmitSpec) bool {
	return (a.Predecessor == nil) == (b.Predecessor == nil) && // whose it is follows from the submission id
		maps.Equal(a.Params, b.Params) && reflect.DeepEqual(decoded(a.Body), decoded(b.Body))
}

// decoded returns a JSON text as Go values; nil if it is empty.
func decoded(text json.RawMessage) (value any) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return nil
	}
	return value
}
