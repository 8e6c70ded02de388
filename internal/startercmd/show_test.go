package startercmd

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait/wire"
)

// What the wait itself cannot know is what its server says of the pending request.
func TestShowTellsThatARequestIsHeldBack(t *testing.T) {
	t.Parallel()
	const text = "held back until 10:22:34Z by a 429 of https://api.example.com, nothing sent"
	pending := func(failure string, state enumspb.PendingActivityState) *client.WorkflowExecutionDescription {
		return &client.WorkflowExecutionDescription{RawResponse: &workflowservice.DescribeWorkflowExecutionResponse{
			PendingActivities: []*workflowpb.PendingActivityInfo{{State: state, LastFailure: &failurepb.Failure{
				Message: text, FailureInfo: &failurepb.Failure_ApplicationFailureInfo{
					ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{Type: failure},
				},
			}}},
		}}
	}
	require.Equal(t, text, heldBack(pending(wire.ErrorHeldBack, enumspb.PENDING_ACTIVITY_STATE_SCHEDULED)))
	require.Empty(t, heldBack(pending(wire.ErrorHeldBack, enumspb.PENDING_ACTIVITY_STATE_STARTED)), "it is being sent")
	require.Empty(t, heldBack(pending("Other", enumspb.PENDING_ACTIVITY_STATE_SCHEDULED)))
	require.Empty(t, heldBack(&client.WorkflowExecutionDescription{}))

	var out bytes.Buffer
	require.NoError(t, writeOperation(&out, shown{Operation: &wire.OperationView{Phase: wire.PhasePolling}, HeldBack: text}))
	require.Contains(t, out.String(), "next          "+text)
}
