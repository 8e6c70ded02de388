package startercmd

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"

	"github.com/jobwait/jobwait/internal/listing"
	"github.com/jobwait/jobwait/wire"
)

// Where the search attribute is not registered, the query that names it is refused, and every open wait is asked.
func TestEscalationsAreFoundWithoutSearchAttributes(t *testing.T) {
	t.Parallel()
	c := mocks.NewClient(t)
	named := func(named bool) any {
		return mock.MatchedBy(func(r *workflowservice.ListWorkflowExecutionsRequest) bool {
			return strings.Contains(r.GetQuery(), wire.AttributeDecideBy) == named
		})
	}
	c.On("ListWorkflow", mock.Anything, named(true)).Return(nil, serviceerror.NewInvalidArgument("no such attribute JobWaitDecideBy"))
	c.On("ListWorkflow", mock.Anything, named(false)).Return(&workflowservice.ListWorkflowExecutionsResponse{
		Executions: []*workflowpb.WorkflowExecutionInfo{
			execution(t, "jobwait/p/a/polling", ""), execution(t, "jobwait/p/a/busy", ""), execution(t, "jobwait/p/a/open", ""),
		},
	}, nil)
	answer := func(id string, view *wire.EscalationView, err error) {
		c.On("QueryWorkflow", mock.Anything, id, "", wire.QueryEscalation).Return(client.NewValue(payloads(t, view)), err)
	}
	answer("jobwait/p/a/polling", nil, nil)
	answer("jobwait/p/a/busy", nil, errors.New("no poller"))
	answer("jobwait/p/a/open", &wire.EscalationView{
		ID: "op#1-01234567", Reason: wire.ReasonUnknownState, WindowEndsAt: noon,
		Options: []wire.Option{{Kind: wire.DecisionExtend}, {Kind: wire.DecisionClose}},
	}, nil)

	var out, errs bytes.Buffer
	list := &escalationList{app: &app{out: &out, err: &errs, name: "starter"}, server: testServer(c), limit: 5}
	require.NoError(t, list.collect(t.Context()))
	require.NoError(t, list.print())
	require.EqualError(t, list.incomplete(), "1 wait could not be asked and may wait for an answer")
	require.Equal(t, `ESCALATION     REASON         ANSWER BEFORE         OPTIONS
op#1-01234567  unknown_state  2026-11-29 12:00:00Z  extend, close
`, out.String())
	require.Equal(t, "the search attribute JobWaitDecideBy is not registered: asking every open wait\n"+
		"jobwait/p/a/busy does not answer: no poller\n`starter show ID` shows what a decision needs, `starter decide ID` answers\n", errs.String())
}

// Without a worker the list is that of visibility, it comes soon, and it does not say that nothing waits.
func TestEscalationsWithoutAWorker(t *testing.T) {
	t.Parallel()
	c := mocks.NewClient(t)
	var executions []*workflowpb.WorkflowExecutionInfo
	for i := range listAskedAtOnce + 2 {
		info := execution(t, fmt.Sprintf("jobwait/p/a/%d", i), fmt.Sprintf("op-%d", i))
		info.TaskQueue = "jobwait"
		info.SearchAttributes = &commonpb.SearchAttributes{IndexedFields: map[string]*commonpb.Payload{
			wire.AttributeReason: payload(t, "unknown_state"), wire.AttributeDecideBy: payload(t, noon),
		}}
		executions = append(executions, info)
	}
	c.On("ListWorkflow", mock.Anything, mock.Anything).Return(&workflowservice.ListWorkflowExecutionsResponse{Executions: executions}, nil)
	c.On("QueryWorkflow", mock.Anything, mock.Anything, "", wire.QueryEscalation).Times(listAskedAtOnce).Return(nil, errors.New("no poller"))

	var out, errs bytes.Buffer
	list := &escalationList{app: &app{out: &out, err: &errs, name: "starter"}, server: testServer(c), limit: 100}
	require.NoError(t, list.collect(t.Context()))
	require.NoError(t, list.print())
	require.Contains(t, out.String(), "op-21       unknown_state  2026-11-29 12:00:00Z  (could not be asked)\n")
	require.NotContains(t, errs.String(), "nothing waits")
	err := list.incomplete()
	require.EqualError(t, err, "22 waits could not be asked")
	require.Equal(t, `waits are asked through their workers; is one running on task queue "jobwait"?`, hintOf(err))
	require.Equal(t, wire.ReasonUnknownState, list.found[0].Reason)
	require.Equal(t, noon, list.found[0].DecideBy.UTC())
}

// Where visibility cannot tell, a wait that does not answer is no escalation, and the list is not complete.
func TestNobodyKnowsWhetherSomethingWaits(t *testing.T) {
	t.Parallel()
	var errs bytes.Buffer
	list := &escalationList{app: &app{err: &errs}, server: testServer(mocks.NewClient(t)), limit: 5}
	list.take(listing.Row{WorkflowID: "jobwait/p/a/1", OperationID: "op-1"}, nil, errSilent)
	require.NoError(t, list.print())
	require.Empty(t, errs.String())
	require.EqualError(t, list.incomplete(), "1 wait could not be asked and may wait for an answer")
}
