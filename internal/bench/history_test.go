package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

var began = time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)

// twoPolls is the opening, two whole polls and the begin of a third.
func twoPolls() *historypb.History {
	h := &historypb.History{}
	add := func(kind enumspb.EventType, fill func(*historypb.HistoryEvent)) {
		event := &historypb.HistoryEvent{EventId: int64(len(h.Events) + 1), EventType: kind, EventTime: timestamppb.New(began)}
		if fill != nil {
			fill(event)
		}
		h.Events = append(h.Events, event)
	}
	add(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, nil)
	for attempt := range int32(3) {
		add(enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, func(e *historypb.HistoryEvent) {
			e.Attributes = &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{
				ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{
					ActivityType: &commonpb.ActivityType{Name: "Get"},
				},
			}
		})
		add(enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED, func(e *historypb.HistoryEvent) {
			e.Attributes = &historypb.HistoryEvent_ActivityTaskStartedEventAttributes{
				ActivityTaskStartedEventAttributes: &historypb.ActivityTaskStartedEventAttributes{Attempt: attempt + 1},
			}
		})
		add(enumspb.EVENT_TYPE_TIMER_STARTED, func(e *historypb.HistoryEvent) {
			e.Attributes = &historypb.HistoryEvent_TimerStartedEventAttributes{
				TimerStartedEventAttributes: &historypb.TimerStartedEventAttributes{StartToFireTimeout: durationpb.New(time.Second)},
			}
		})
		if attempt == 2 {
			return h
		}
		started := int64(len(h.Events))
		add(enumspb.EVENT_TYPE_TIMER_FIRED, func(e *historypb.HistoryEvent) {
			e.EventTime = timestamppb.New(began.Add(time.Second + time.Duration(attempt)*time.Millisecond))
			e.Attributes = &historypb.HistoryEvent_TimerFiredEventAttributes{
				TimerFiredEventAttributes: &historypb.TimerFiredEventAttributes{StartedEventId: started},
			}
		})
	}
	return h
}

func TestAPollReachesToTheNext(t *testing.T) {
	t.Parallel()
	polls := pollsIn(twoPolls(), "Get")
	require.Len(t, polls, 2, "neither the opening nor the last request is a whole poll")
	require.Equal(t, 4, polls[0].Events)
	require.Equal(t, []int{2, 3}, []int{polls[0].Actions, polls[1].Actions}, "a retry is an action of its own")
	require.Positive(t, polls[0].Bytes)
	require.Empty(t, pollsIn(twoPolls(), "Other"))
	require.Equal(t, cost{Events: 4, Bytes: 10, Actions: 2}, medianPoll([]cost{{4, 10, 2}, {4, 30, 2}, {9, 8, 2}}))
}

func TestLatenessIsBehindThePlan(t *testing.T) {
	t.Parallel()
	require.Equal(t, []time.Duration{0, time.Millisecond}, lateness(twoPolls()))
}

func TestCutEndsWithThePauseAfterAPoll(t *testing.T) {
	t.Parallel()
	require.Len(t, cut(twoPolls(), "Get", 1).GetEvents(), 4)
	require.Len(t, cut(twoPolls(), "Get", 2).GetEvents(), 8)
	require.Len(t, cut(twoPolls(), "Get", 99).GetEvents(), len(twoPolls().GetEvents()))
}

func TestQuantiles(t *testing.T) {
	t.Parallel()
	require.Zero(t, median(nil))
	require.InDelta(t, 7, quantile([]float64{7}, 0.99), 0)
	require.InDelta(t, 2.5, median([]float64{4, 1, 3, 2}), 1e-9)
	require.InDelta(t, 4, quantile([]float64{4, 1, 3, 2}, 1), 0)
}
