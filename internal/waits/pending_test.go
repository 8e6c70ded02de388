package waits_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/jobwait/jobwait/internal/waits"
	"github.com/jobwait/jobwait/wire"
)

// underWay describes a wait with activities under way.
func underWay(pending ...*workflowpb.PendingActivityInfo) *client.WorkflowExecutionDescription {
	return &client.WorkflowExecutionDescription{RawResponse: &workflowservice.DescribeWorkflowExecutionResponse{PendingActivities: pending}}
}

func failed(activity, kind, text string, state enumspb.PendingActivityState) *workflowpb.PendingActivityInfo {
	return &workflowpb.PendingActivityInfo{
		ActivityType: &commonpb.ActivityType{Name: activity}, State: state, Attempt: 3,
		LastFailure: &failurepb.Failure{Message: text, FailureInfo: &failurepb.Failure_ApplicationFailureInfo{
			ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{Type: kind},
		}},
	}
}

const (
	scheduled = enumspb.PENDING_ACTIVITY_STATE_SCHEDULED
	started   = enumspb.PENDING_ACTIVITY_STATE_STARTED
)

func TestHeldBack(t *testing.T) {
	t.Parallel()
	const text = "held back until 10:22:34Z by a 429 of https://api.example.com, nothing sent"
	require.Equal(t, text, waits.HeldBack(underWay(failed(wire.ActivityPollStatus, wire.ErrorHeldBack, text, scheduled))))
	require.Empty(t, waits.HeldBack(underWay(failed(wire.ActivityPollStatus, wire.ErrorHeldBack, text, started))), "it is being sent")
	require.Empty(t, waits.HeldBack(underWay(failed(wire.ActivityPollStatus, "Other", text, scheduled))))
	require.Empty(t, waits.HeldBack(&client.WorkflowExecutionDescription{}))
}

// A message that does not arrive is told with its attempts, in words of bounded length.
func TestNoticeText(t *testing.T) {
	t.Parallel()
	const text = "not delivered: pager (HTTP 500)"
	waiting := failed(wire.ActivityNotify, wire.ErrorNotDelivered, text, scheduled)
	waiting.NextAttemptScheduleTime = timestamppb.New(time.Date(2026, 11, 29, 10, 22, 34, 0, time.UTC))
	pending := &wire.NoticeView{Kind: wire.NotifyEscalated, Pending: true}
	for want, seen := range map[string]struct {
		notice *wire.NoticeView
		info   *client.WorkflowExecutionDescription
	}{
		"": {nil, underWay(waiting)},
		"telling people (escalated): " + text + "; attempt 3 at 2026-11-29 10:22:34Z":               {pending, underWay(waiting)},
		"telling people (escalated): " + text + "; attempt 3 is under way":                          {pending, underWay(failed(wire.ActivityNotify, "", text, started))},
		"telling people (escalated): " + text + "; attempt 3 is due":                                {pending, underWay(failed(wire.ActivityNotify, "", text, scheduled))},
		"telling people (escalated)":                                                                {pending, underWay(failed(wire.ActivityPollStatus, "", text, scheduled))},
		"told people (escalated) by mail":                                                           {&wire.NoticeView{Kind: wire.NotifyEscalated, Detail: "delivered: mail"}, underWay(waiting)},
		"telling people (escalated): a b " + strings.Repeat("é", 296) + "…; attempt 3 is under way": {pending, underWay(failed(wire.ActivityNotify, "", "a\n\tb "+strings.Repeat("é", 400), started))},
	} {
		require.Equal(t, want, waits.NoticeText(seen.notice, waits.Telling(seen.info)))
	}
	require.Equal(t, 6, waits.Attempts(underWay(waiting, waiting)))
}
