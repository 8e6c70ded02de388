package startercmd

import (
	"context"
	"errors"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
)

const (
	// askTimeout bounds one question to a worker.
	askTimeout = 10 * time.Second
	// noWorkerAfter is how long nothing may happen to a wait before a missing worker is the likely cause.
	noWorkerAfter = 5 * time.Second
)

// follower follows one wait to its end, over all its runs. It hears of news by long-polling the history, so that a wait
// of days costs about one call a minute.
type follower struct {
	server     *server
	workflowID string
	runID      string
	// news is called after something happened to the wait, for several things at once where they came together. An error
	// ends the following.
	news func(ctx context.Context, runID string) error
	// quiet is called once when no worker has taken the wait up for a while; nil: nobody is told.
	quiet func()
}

// follow returns how it ended, or why it has no outcome.
func (f *follower) follow(ctx context.Context) (howEnded, error) {
	for runID := f.runID; ; {
		last, err := f.followRun(ctx, runID)
		if err != nil {
			return howEnded{}, err
		}
		next := last.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
		if next == "" {
			return f.server.ended(ctx, f.workflowID, runID)
		}
		runID = next
	}
}

// followRun returns the last event of a run.
func (f *follower) followRun(ctx context.Context, runID string) (*historypb.HistoryEvent, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watched := f.watch(ctx, runID)
	patience := time.NewTimer(noWorkerAfter)
	defer patience.Stop()
	for {
		select {
		case <-watched.news:
			patience.Stop()
			if err := f.news(ctx, runID); err != nil {
				return nil, err
			}
		case <-patience.C:
			if f.quiet != nil {
				f.quiet()
			}
		case end := <-watched.end:
			return end.event, errors.Join(end.err, f.lastNews(ctx, runID, watched))
		}
	}
}

// lastNews shows what came together with the end.
func (f *follower) lastNews(ctx context.Context, runID string, watched watched) error {
	select {
	case <-watched.news:
		return f.news(ctx, runID)
	default:
		return nil
	}
}

// watched is a run whose history is being read.
type watched struct {
	// news holds one token for any number of workflow tasks that were not looked at yet.
	news chan struct{}
	end  chan ending
}

type ending struct {
	event *historypb.HistoryEvent
	err   error
}

func (f *follower) watch(ctx context.Context, runID string) watched {
	w := watched{news: make(chan struct{}, 1), end: make(chan ending, 1)}
	events := f.server.GetWorkflowHistory(ctx, f.workflowID, runID, true, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	go func() {
		for events.HasNext() {
			event, err := events.Next()
			switch {
			case err != nil:
				w.end <- ending{err: orCancelled(ctx, err)}
				return
			case event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
				select {
				case w.news <- struct{}{}:
				default:
				}
			case ends(event):
				w.end <- ending{event: event}
				return
			}
		}
		w.end <- ending{err: orCancelled(ctx, errors.New("the history ended without an end of the workflow"))}
	}()
	return w
}

func orCancelled(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func ends(event *historypb.HistoryEvent) bool {
	switch event.GetEventType() { //nolint:exhaustive // the events that close a run
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
		return true
	default:
		return false
	}
}
