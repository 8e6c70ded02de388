package startercmd

import (
	"context"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"

	"github.com/jobwait/jobwait/wire"
)

// started is the first event of a run, which needs no worker to be read.
func (s *server) started(ctx context.Context, run *commonpb.WorkflowExecution) (*historypb.WorkflowExecutionStartedEventAttributes, error) {
	events := s.GetWorkflowHistory(ctx, run.GetWorkflowId(), run.GetRunId(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	if !events.HasNext() {
		return nil, fmt.Errorf("run %q has no events", run.GetRunId())
	}
	first, err := events.Next()
	if err != nil {
		return nil, err
	}
	return first.GetWorkflowExecutionStartedEventAttributes(), nil
}

// spec is the input of a run.
func (s *server) spec(ctx context.Context, run *commonpb.WorkflowExecution) (wire.Spec, error) {
	first, err := s.started(ctx, run)
	if err != nil {
		return wire.Spec{}, err
	}
	var raw converter.RawValue
	if err := s.converter.FromPayloads(first.GetInput(), &raw); err != nil {
		return wire.Spec{}, err
	}
	return wire.DecodeSpec(raw.Payload().GetData())
}

// ask queries one run of a wait.
func ask[T any](ctx context.Context, s *server, workflowID, runID, query string) (T, error) {
	return askWithin[T](ctx, askTimeout, s, workflowID, runID, query)
}

func askWithin[T any](ctx context.Context, bound time.Duration, s *server, workflowID, runID, query string) (T, error) {
	var answer T
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	value, err := s.QueryWorkflow(ctx, workflowID, runID, query)
	if err != nil {
		return answer, err
	}
	return answer, value.Get(&answer)
}
