package waits

import (
	"context"
	"errors"

	commonpb "go.temporal.io/api/common/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
)

const pageSize = 1000

// ErrEnough ends a listing that has seen what it wanted.
var ErrEnough = errors.New("enough")

// List calls look with each execution that a visibility query finds, in the server's order (the newest first). An error of
// look ends it.
func (c Client) List(ctx context.Context, query string, look func(context.Context, *workflowpb.WorkflowExecutionInfo) error) error {
	request := &workflowservice.ListWorkflowExecutionsRequest{Query: query, PageSize: pageSize}
	for {
		page, err := c.ListWorkflow(ctx, request)
		if err != nil {
			return err
		}
		for _, execution := range page.GetExecutions() {
			if err := look(ctx, execution); err != nil {
				return err
			}
		}
		request.NextPageToken = page.GetNextPageToken()
		if len(request.NextPageToken) == 0 {
			return nil
		}
	}
}

// MemoText is a text of a memo, empty where there is none or it cannot be read.
func (c Client) MemoText(memo *commonpb.Memo, name string) string {
	payload, ok := memo.GetFields()[name]
	if !ok {
		return ""
	}
	var text string
	if err := c.Converter.FromPayload(payload, &text); err != nil {
		return ""
	}
	return text
}

// Attribute is a search attribute as visibility has it; they pass no codec. What is not set or of another type is the zero
// value.
func Attribute[T any](info *workflowpb.WorkflowExecutionInfo, name string) T {
	var value, none T
	payload, ok := info.GetSearchAttributes().GetIndexedFields()[name]
	if !ok || converter.GetDefaultDataConverter().FromPayload(payload, &value) != nil {
		return none
	}
	return value
}
