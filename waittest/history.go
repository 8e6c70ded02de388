package waittest

import (
	"context"
	"fmt"
	"io"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"
)

// FetchHistory reads the whole history of one run as it stands. An empty run id means the latest run.
func FetchHistory(ctx context.Context, from client.Client, workflowID, runID string) (*historypb.History, error) {
	history := &historypb.History{}
	events := from.GetWorkflowHistory(ctx, workflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return nil, fmt.Errorf("history of workflow %q run %q: %w", workflowID, runID, err)
		}
		history.Events = append(history.Events, event)
	}
	return history, nil
}

// ReadHistory reads a history in the JSON that WriteHistory, the Temporal command line and the Temporal UI write.
func ReadHistory(from io.Reader) (*historypb.History, error) {
	history, err := client.HistoryFromJSON(from, client.HistoryJSONOptions{})
	if err != nil {
		return nil, fmt.Errorf("not a workflow history in JSON: %w", err)
	}
	return history, nil
}

// WriteHistory writes a history as the JSON that ReadHistory reads.
func WriteHistory(to io.Writer, history *historypb.History) error {
	text, err := temporalproto.CustomJSONMarshalOptions{Indent: " "}.Marshal(history)
	if err != nil {
		return fmt.Errorf("history as JSON: %w", err)
	}
	_, err = to.Write(append(text, '\n'))
	return err
}
