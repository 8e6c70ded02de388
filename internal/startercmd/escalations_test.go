package startercmd

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"

	"github.com/jobwait/jobwait/wire"
)

// Where the search attribute is not registered, the query that names it is refused, and every open wait is asked.
func TestEscalationsAreFoundWithoutSearchAttributes(t *testing.T) {
	t.Parallel()
	c := mocks.NewClient(t)
	named := func(named bool) any {
		return mock.MatchedBy(func(r *workflowservice.ListWorkflowExecutionsRequest) bool {
			return strings.Contains(r.GetQuery(), wire.AttributePhase) == named
		})
	}
	c.On("ListWorkflow", mock.Anything, named(true)).Return(nil, serviceerror.NewInvalidArgument("no such attribute"))
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
	require.Equal(t, `ESCALATION     REASON         ANSWER BEFORE         OPTIONS
op#1-01234567  unknown_state  2026-11-29 12:00:00Z  extend, close
`, out.String())
	require.Equal(t, "the search attribute JobWaitPhase is not registered: asking every open wait\n"+
		"jobwait/p/a/busy does not answer: no poller\n`starter show ID` shows what a decision needs\n", errs.String())
}
