package startercmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"

	"github.com/jobwait/jobwait/wire"
)

// posed is a question as a server has it.
type posed struct {
	job, escalation string
	left            time.Duration
	err             error
}

// onlooker looks again and again at a server whose questions change.
type onlooker struct {
	*watcher
	t      *testing.T
	client *mocks.Client
	out    bytes.Buffer
	// blind is a server without the search attributes.
	blind bool
}

func newOnlooker(t *testing.T, limit int) *onlooker {
	t.Helper()
	w := &onlooker{t: t, client: mocks.NewClient(t)}
	a := &app{out: &w.out, err: &w.out, name: "jobwait"}
	w.watcher = &watcher{app: a, server: testServer(w.client), limit: limit, show: a.viewer(true)}
	return w
}

// look is one round; it gives the events of it.
func (w *onlooker) look(questions ...posed) []string {
	w.t.Helper()
	w.client.ExpectedCalls = nil
	w.out.Reset()
	var found []*workflowpb.WorkflowExecutionInfo
	for _, q := range questions {
		id := "jobwait/p/a/" + q.job
		info := execution(w.t, id, q.job)
		if !w.blind {
			info.SearchAttributes = &commonpb.SearchAttributes{IndexedFields: map[string]*commonpb.Payload{
				wire.AttributeReason: payload(w.t, "unknown_state"), wire.AttributeDecideBy: payload(w.t, noon.Add(q.left)),
			}}
		}
		found = append(found, info)
		w.client.On("QueryWorkflow", mock.Anything, id, "", wire.QueryEscalation).Maybe().Return(client.NewValue(payloads(w.t, &wire.EscalationView{
			ID: q.job + "#" + q.escalation, Reason: wire.ReasonUnknownState, WindowEndsAt: noon.Add(q.left), Options: []wire.Option{{Kind: wire.DecisionClose}},
		})), q.err)
	}
	if w.blind {
		w.client.On("ListWorkflow", mock.Anything, mock.MatchedBy(func(r *workflowservice.ListWorkflowExecutionsRequest) bool {
			return strings.Contains(r.GetQuery(), "JobWait")
		})).Return(nil, serviceerror.NewInvalidArgument("no such attribute JobWaitPhase, JobWaitDecideBy"))
	}
	w.client.On("ListWorkflow", mock.Anything, mock.Anything).Return(&workflowservice.ListWorkflowExecutionsResponse{Executions: found}, nil)
	require.NoError(w.t, w.round(w.t.Context()))
	return w.events()
}

func (w *onlooker) events() []string {
	w.t.Helper()
	var events []string
	for line := range strings.Lines(w.out.String()) {
		var change jsonChange
		require.NoError(w.t, json.Unmarshal([]byte(line), &change))
		text := change.Event + " " + change.OperationID
		if change.Escalation != nil {
			text = change.Event + " " + change.Escalation.ID
		}
		events = append(events, text)
	}
	return events
}

// The most urgent questions are shown. One that makes room for them is not gone, and is not told twice.
func TestWhoMakesRoomIsNotGone(t *testing.T) {
	t.Parallel()
	w := newOnlooker(t, 1)
	late, soon := posed{job: "late", escalation: "1-01234567", left: 2 * time.Hour}, posed{job: "soon", escalation: "1-89abcdef", left: time.Hour}
	require.Equal(t, []string{"open late#1-01234567"}, w.look(late))
	require.Equal(t, []string{"open soon#1-89abcdef"}, w.look(late, soon))
	require.Equal(t, "soon", w.open[0].OperationID)
	require.Equal(t, []string{"gone soon#1-89abcdef"}, w.look(late))
	require.Equal(t, []string{"gone late#1-01234567"}, w.look())
}

// What was more urgent than the last that is shown is gone, however many there are.
func TestAnUrgentOneIsGoneAmongMany(t *testing.T) {
	t.Parallel()
	w := newOnlooker(t, 1)
	first, second, third := posed{job: "1", left: 1 * time.Hour}, posed{job: "2", left: 2 * time.Hour}, posed{job: "3", left: 3 * time.Hour}
	require.Equal(t, []string{"open 1#"}, w.look(third, second, first))
	require.Equal(t, []string{"open 2#", "gone 1#"}, w.look(third, second))
}

// Without search attributes, a wait that does not answer is as it was, and its next question is another one.
func TestWhoDoesNotAnswerIsNotGone(t *testing.T) {
	t.Parallel()
	w := newOnlooker(t, 10)
	w.blind = true
	asks := posed{job: "op", escalation: "1-01234567", left: time.Hour}
	require.Equal(t, []string{"open op#1-01234567"}, w.look(asks))
	silent := asks
	silent.err = errors.New("worker busy")
	require.Empty(t, w.look(silent))
	require.Len(t, w.open, 1)
	require.Empty(t, w.look(asks))
	asks.escalation = "2-89abcdef"
	require.Equal(t, []string{"open op#2-89abcdef", "gone op#1-01234567"}, w.look(asks))
	require.Equal(t, []string{"gone op#2-89abcdef"}, w.look())
}

// A question that could be told by its operation alone is the same when its wait answers.
func TestOneThatGetsItsIDIsTheSame(t *testing.T) {
	t.Parallel()
	w := newOnlooker(t, 10)
	asks := posed{job: "op", escalation: "1-01234567", left: time.Hour}
	silent := asks
	silent.err = errors.New("no poller")
	require.Equal(t, []string{"open op"}, w.look(silent))
	require.Empty(t, w.look(asks))
	require.Equal(t, []string{"gone op#1-01234567"}, w.look())
}
