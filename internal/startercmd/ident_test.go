package startercmd

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/mocks"

	"github.com/jobwait/jobwait/internal/waits"
	"github.com/jobwait/jobwait/wire"
)

func testServer(c *mocks.Client) *server {
	return &server{waits.New(c, nil)}
}

func payload(t *testing.T, value any) *commonpb.Payload {
	t.Helper()
	made, err := converter.GetDefaultDataConverter().ToPayload(value)
	require.NoError(t, err)
	return made
}

func payloads(t *testing.T, value any) *commonpb.Payloads {
	t.Helper()
	return &commonpb.Payloads{Payloads: []*commonpb.Payload{payload(t, value)}}
}

// execution is a wait in a list; without an operation id it has no memo.
func execution(t *testing.T, workflowID, operation string) *workflowpb.WorkflowExecutionInfo {
	t.Helper()
	info := &workflowpb.WorkflowExecutionInfo{Execution: &commonpb.WorkflowExecution{WorkflowId: workflowID, RunId: "run"}}
	if operation != "" {
		info.Memo = &commonpb.Memo{Fields: map[string]*commonpb.Payload{wire.MemoOperationID: payload(t, operation)}}
	}
	return info
}

// searched answers the search among open waits, then the one among closed waits.
func searched(t *testing.T, c *mocks.Client, open, closed []*workflowpb.WorkflowExecutionInfo) {
	t.Helper()
	for query, found := range map[string][]*workflowpb.WorkflowExecutionInfo{
		"WorkflowType = 'AwaitJob' AND ExecutionStatus = 'Running'":                                                open,
		"WorkflowType = 'AwaitJob' AND ExecutionStatus != 'Running' AND ExecutionStatus != 'ContinuedAsNew'":       closed,
		"WorkflowType = 'SubmitAndAwait' AND ExecutionStatus = 'Running'":                                          nil,
		"WorkflowType = 'SubmitAndAwait' AND ExecutionStatus != 'Running' AND ExecutionStatus != 'ContinuedAsNew'": nil,
	} {
		c.On("ListWorkflow", mock.Anything, mock.MatchedBy(func(r *workflowservice.ListWorkflowExecutionsRequest) bool {
			return r.GetQuery() == query
		})).Maybe().Return(&workflowservice.ListWorkflowExecutionsResponse{Executions: found}, nil)
	}
}

func TestIDsNameAWait(t *testing.T) {
	t.Parallel()
	const id = "jobwait/demo-export/acct/exp"
	for name, test := range map[string]struct {
		target target
		want   string
	}{
		"flags":           {target{provider: "demo-export", account: "a/b", job: "exp 1"}, "jobwait/demo-export/a%2Fb/exp%201"},
		"workflow id":     {target{id: "jobwait/demo-export/x/y"}, "jobwait/demo-export/x/y"},
		"operation id":    {target{id: "op-1"}, id},
		"escalation id":   {target{id: "op-1#12-01ab23cd"}, id},
		"with a number":   {target{id: "op#2"}, "jobwait/demo-export/acct/numbered"},
		"a closed one":    {target{id: "op-closed"}, "jobwait/demo-export/acct/closed"},
		"run again twice": {target{id: "op-again"}, "jobwait/demo-export/acct/again"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := mocks.NewClient(t)
			searched(t, c,
				[]*workflowpb.WorkflowExecutionInfo{
					execution(t, "jobwait/demo-export/acct/other", "op"), execution(t, id, "op-1"),
					execution(t, "jobwait/demo-export/acct/numbered", "op#2"),
				},
				[]*workflowpb.WorkflowExecutionInfo{
					execution(t, "jobwait/demo-export/acct/closed", "op-closed"),
					execution(t, "jobwait/demo-export/acct/again", "op-again"), execution(t, "jobwait/demo-export/acct/again", "op-again"),
				})
			got, err := test.target.workflowID(t.Context(), testServer(c))
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}

func TestUnknownAndAmbiguousOperations(t *testing.T) {
	t.Parallel()
	c := mocks.NewClient(t)
	searched(t, c, []*workflowpb.WorkflowExecutionInfo{execution(t, "jobwait/p/a/1", "twice"), execution(t, "jobwait/p/a/2", "twice")}, nil)
	_, err := testServer(c).findOperation(t.Context(), "missing")
	require.EqualError(t, err, `no wait has the operation id "missing"`)
	require.Contains(t, hintOf(err), "give the workflow id")
	_, err = testServer(c).findOperation(t.Context(), "twice")
	require.EqualError(t, err, `operation id "twice" is that of 2 jobs`)
	require.Equal(t, "give one of these: jobwait/p/a/1, jobwait/p/a/2", hintOf(err))
}

// A wait that another language started has no memo; its first event names the operation.
func TestOperationWithoutAMemoIsFound(t *testing.T) {
	t.Parallel()
	c, events := mocks.NewClient(t), mocks.NewHistoryEventIterator(t)
	searched(t, c, []*workflowpb.WorkflowExecutionInfo{execution(t, "jobwait/p/a/1", "")}, nil)
	events.On("HasNext").Return(true)
	events.On("Next").Return(&historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
		WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{
			Input: &commonpb.Payloads{Payloads: []*commonpb.Payload{payload(t, wire.Spec{OperationID: "foreign"})}},
		},
	}}, nil)
	c.On("GetWorkflowHistory", mock.Anything, "jobwait/p/a/1", "run", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT).Return(events)
	got, err := testServer(c).findOperation(t.Context(), "foreign")
	require.NoError(t, err)
	require.Equal(t, "jobwait/p/a/1", got)
}

func TestListingErrorsArePassedOn(t *testing.T) {
	t.Parallel()
	c, cause := mocks.NewClient(t), errors.New("no route to host")
	c.On("ListWorkflow", mock.Anything, mock.Anything).Return(nil, cause)
	_, err := testServer(c).findOperation(t.Context(), "op")
	require.ErrorIs(t, err, cause)
}
