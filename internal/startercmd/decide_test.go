package startercmd

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/temporal"

	"github.com/jobwait/jobwait/wire"
)

const askedWait = "jobwait/p/a/1"

// described lets a wait be found, open or not.
func described(c *mocks.Client, status enumspb.WorkflowExecutionStatus) {
	description := &client.WorkflowExecutionDescription{}
	description.Status, description.WorkflowType.Name = status, wire.WorkflowAwaitJob
	description.WorkflowExecution.ID = askedWait
	c.On("DescribeWorkflow", mock.Anything, askedWait, "").Return(description, nil)
}

func viewed(t *testing.T, c *mocks.Client, view wire.OperationView) {
	t.Helper()
	c.On("QueryWorkflow", mock.Anything, askedWait, "", wire.QueryOperation).Maybe().Return(client.NewValue(payloads(t, view)), nil)
}

func closing(id string, asJSON bool) *decisionFlags {
	return &decisionFlags{
		id: target{id: id}, json: asJSON,
		decision: wire.Decision{Kind: wire.DecisionClose, DecidedBy: "ana", Comment: "why", DecisionID: "d-1"},
	}
}

// An ID that is an escalation's is what the decision names, whatever is open by then.
func TestAStaleEscalationIsNeverReplacedByTheOpenOne(t *testing.T) {
	t.Parallel()
	c := mocks.NewClient(t)
	described(c, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING)
	viewed(t, c, wire.OperationView{Escalation: &wire.EscalationView{ID: "x1#2-01a2282b"}})
	refusal := wire.Refusal{Reason: wire.RefusalWrongEscalation, Detail: "the open one is x1#2-01a2282b"}
	c.On("UpdateWorkflow", mock.Anything, mock.MatchedBy(func(o client.UpdateWorkflowOptions) bool {
		return o.Args[0].(wire.Decision).EscalationID == "x1#1-01a2282b"
	})).Return(nil, temporal.NewApplicationError("refused", wire.ErrorDecisionRefused, refusal))

	flags := closing("x1#1-01a2282b", true)
	require.NoError(t, flags.complete())
	var out bytes.Buffer
	a := &app{out: &out, err: &out, name: "starter"}
	err := a.alsoAsJSON(flags, a.decideOn(t.Context(), testServer(c), askedWait, flags))
	require.EqualError(t, err, "decision refused: wrong_escalation: the open one is x1#2-01a2282b")
	require.JSONEq(t, `{"accepted": false, "decision_id": "d-1", "refusal": {"reason": "wrong_escalation", "detail": "the open one is x1#2-01a2282b"}}`, out.String())
}

func TestTheQuestionIsShownBeforeItIsAnswered(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"x1", "x1#2-01a2282b"} {
		c, flags := mocks.NewClient(t), closing(id, false)
		viewed(t, c, wire.OperationView{Escalation: &wire.EscalationView{ID: "x1#2-01a2282b", Message: "stopped waiting"}})
		require.NoError(t, flags.complete())
		var errs bytes.Buffer
		require.NoError(t, (&app{err: &errs}).address(t.Context(), testServer(c), askedWait, flags))
		require.Equal(t, "x1#2-01a2282b", flags.decision.EscalationID)
		require.Equal(t, "stopped waiting\n\n", errs.String())
	}
}

// A proposal is answered by extend and refuse only: whoever closes or cancels means the wait.
func TestAProposalIsAnsweredByItsKinds(t *testing.T) {
	t.Parallel()
	for kind, want := range map[wire.DecisionKind]string{
		wire.DecisionExtend: "x1#p1-01a2282b", wire.DecisionRefuse: "x1#p1-01a2282b", wire.DecisionCancel: "",
	} {
		c, flags := mocks.NewClient(t), closing("x1", false)
		flags.decision.Kind = kind
		viewed(t, c, wire.OperationView{Proposal: &wire.EscalationView{ID: "x1#p1-01a2282b", Message: "agent-7 asks for more"}})
		var errs bytes.Buffer
		require.NoError(t, (&app{err: &errs}).address(t.Context(), testServer(c), askedWait, flags))
		require.Equal(t, want, flags.decision.EscalationID, kind)
		require.Equal(t, want != "", errs.Len() > 0)
	}
	c, flags := mocks.NewClient(t), closing("x1", false)
	viewed(t, c, wire.OperationView{Proposal: &wire.EscalationView{ID: "x1#p1-01a2282b"}})
	err := (&app{name: "starter", err: &bytes.Buffer{}}).address(t.Context(), testServer(c), askedWait, flags)
	require.EqualError(t, err, "nothing waits for an answer in this wait")
}

func TestEscalationNamedTwice(t *testing.T) {
	t.Parallel()
	flags := closing("x1#1-01a2282b", false)
	flags.decision.EscalationID = "x1#2-01a2282b"
	require.EqualError(t, flags.complete(), `the ID is escalation "x1#1-01a2282b", and --escalation is "x1#2-01a2282b"; give one of them`)
	for id, want := range map[string]string{"x1": "", "x#1": "", "jobwait/p/a/1": "", "x1#1-01a2282b": "x1#1-01a2282b", "x1#p1-01a2282b": "x1#p1-01a2282b"} {
		require.Equal(t, want, (&target{id: id}).escalation())
	}
}

// What needs no worker to be refused is told as JSON all the same.
func TestNothingToDecideAsJSON(t *testing.T) {
	t.Parallel()
	for status, want := range map[enumspb.WorkflowExecutionStatus]string{
		enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:   "nothing waits for an answer in this wait",
		enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED: "the wait has ended; there is nothing to decide any more",
	} {
		c, flags := mocks.NewClient(t), closing("x1", true)
		described(c, status)
		viewed(t, c, wire.OperationView{})
		var out bytes.Buffer
		a := &app{out: &out, err: &out, name: "starter"}
		err := a.alsoAsJSON(flags, a.decideOn(t.Context(), testServer(c), askedWait, flags))
		require.EqualError(t, err, want)
		require.Equal(t, exitError, report(err, &bytes.Buffer{}))
		require.JSONEq(t, `{"accepted": false, "decision_id": "d-1", "refusal": {"reason": "not_open", "detail": "`+want+`"}}`, out.String())
	}
}

func TestShowSaysThatAnEscalationIsNotOpen(t *testing.T) {
	t.Parallel()
	open := &wire.EscalationView{ID: "x1#2-01a2282b"}
	for _, test := range []struct {
		seen        shown
		named, want string
	}{
		{shown{Operation: &wire.OperationView{Escalation: open}}, "", ""},
		{shown{Operation: &wire.OperationView{Escalation: open}}, "x1#2-01a2282b", ""},
		{shown{Operation: &wire.OperationView{Escalation: open}}, "x1#1-01a2282b", `escalation "x1#1-01a2282b" is not the open one, which is "x1#2-01a2282b"`},
		{shown{Operation: &wire.OperationView{}}, "x1#1-01a2282b", `escalation "x1#1-01a2282b" is not open: nothing waits for an answer in this wait`},
		{shown{Outcome: &wire.Outcome{}}, "x1#1-01a2282b", `escalation "x1#1-01a2282b" is not open: the wait has ended`},
	} {
		require.Equal(t, test.want, test.seen.stale(test.named))
	}
}

func TestParamsOfAnAttachedJob(t *testing.T) {
	t.Parallel()
	attach := &decisionFlags{
		id: target{id: "x1"}, params: []string{"region=eu", "query=a=b"},
		decision: wire.Decision{Kind: wire.DecisionAttach, DecidedBy: "ana", Comment: "why", ProviderJobID: "exp_9"},
	}
	require.NoError(t, attach.complete())
	require.Equal(t, map[string]string{"region": "eu", "query": "a=b"}, attach.decision.Params)
	attach.params = []string{"region"}
	require.EqualError(t, attach.complete(), `--param "region" is not name=value`)
}
