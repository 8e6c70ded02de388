package bench

import (
	"context"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"

	"github.com/jobwait/jobwait/waittest"
)

// cost is what a part of a history consists of.
type cost struct {
	Events  int `json:"events"`
	Bytes   int `json:"bytes"`
	Actions int `json:"actions"`
}

func costOf(events []*historypb.HistoryEvent) cost {
	var c cost
	for _, event := range events {
		c.Events++
		c.Bytes += proto.Size(event)
		c.Actions += actionsOf(event)
	}
	return c
}

// actionsOf returns how many actions Temporal Cloud bills for an event: starts (including continue-as-new), timers, activities with
// their retries, markers, signals, updates, search attributes and children. Queries and heartbeats leave no event; a wait sends no
// heartbeats.
func actionsOf(event *historypb.HistoryEvent) int {
	switch event.GetEventType() { //nolint:exhaustive // the others are not billed
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
		enumspb.EVENT_TYPE_TIMER_STARTED,
		enumspb.EVENT_TYPE_MARKER_RECORDED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED,
		enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES,
		enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
		return 1
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED: // its attempt number includes the retries
		return int(event.GetActivityTaskStartedEventAttributes().GetAttempt())
	default:
		return 0
	}
}

// pollsIn splits a history into its polls, each from scheduling one request to scheduling the next. What comes before the first
// request, and from the last one on, belongs to the opening and the end of the wait.
func pollsIn(history *historypb.History, activity string) []cost {
	var starts []int
	for i, event := range history.GetEvents() {
		if event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == activity {
			starts = append(starts, i)
		}
	}
	var polls []cost
	for i := 1; i < len(starts); i++ {
		polls = append(polls, costOf(history.GetEvents()[starts[i-1]:starts[i]]))
	}
	return polls
}

// medianPoll returns the median of each figure over the polls of a history.
func medianPoll(polls []cost) cost {
	return cost{
		Events:  middle(polls, func(c cost) int { return c.Events }),
		Bytes:   middle(polls, func(c cost) int { return c.Bytes }),
		Actions: middle(polls, func(c cost) int { return c.Actions }),
	}
}

func middle(polls []cost, of func(cost) int) int {
	var all []float64
	for _, poll := range polls {
		all = append(all, float64(of(poll)))
	}
	return int(median(all))
}

// lateness returns how much later than planned each timer of a history fired, by the server's clock.
func lateness(history *historypb.History) []time.Duration {
	planned := map[int64]time.Time{}
	var late []time.Duration
	for _, event := range history.GetEvents() {
		at := event.GetEventTime().AsTime()
		if started := event.GetTimerStartedEventAttributes(); started != nil {
			planned[event.GetEventId()] = at.Add(started.GetStartToFireTimeout().AsDuration())
		}
		if fired := event.GetTimerFiredEventAttributes(); fired != nil {
			late = append(late, at.Sub(planned[fired.GetStartedEventId()]))
		}
	}
	return late
}

// fetch returns the histories of all runs of a workflow, the first run first.
func fetch(ctx context.Context, c client.Client, workflowID, firstRunID string) ([]*historypb.History, error) {
	var histories []*historypb.History
	for runID := firstRunID; runID != ""; {
		history, err := waittest.FetchHistory(ctx, c, workflowID, runID)
		if err != nil {
			return nil, err
		}
		histories = append(histories, history)
		last := history.GetEvents()[len(history.GetEvents())-1]
		runID = last.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
	}
	return histories, nil
}

// median returns the median; that of no values is 0.
func median(values []float64) float64 { return quantile(values, 0.5) }

// quantile returns the value that the given part of the values does not exceed, interpolated between two values.
func quantile(values []float64, part float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	place := part * float64(len(sorted)-1)
	low := int(place)
	if low+1 == len(sorted) {
		return sorted[low]
	}
	return sorted[low] + (sorted[low+1]-sorted[low])*(place-float64(low))
}
