package workflows_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/jobwait/jobwait/wire"
)

// requested is the answer to an extension request, as far as the test environment has it.
type requested struct {
	reply wire.ExtensionReply
	err   error
}

func (w *world) request(request any) *requested {
	got := &requested{err: errors.New("not answered")}
	w.UpdateWorkflow(wire.UpdateRequestExtension, "", &testsuite.TestUpdateCallback{
		OnAccept: func() {},
		OnReject: func(err error) { got.err = err },
		OnComplete: func(result any, err error) {
			got.err = err
			if reply, ok := result.(wire.ExtensionReply); ok {
				got.reply = reply
			}
		},
	}, request)
	return got
}

func more(requests int) wire.ExtensionRequest {
	return wire.ExtensionRequest{RequestID: "r-1", RequestedBy: "agent-7", StatusRequests: requests, ExpectedEffect: "done"}
}

// pollsUntil is a job that runs for so many polls.
func pollsUntil(last int) func(int, wire.PollRequest) (wire.PollResult, error) {
	return func(n int, _ wire.PollRequest) (wire.PollResult, error) {
		if n < last {
			return running()
		}
		return succeeded()
	}
}

// R42: a request is answered at once with the id of its proposal; polling goes on; a person grants more.
func TestProposalIsGranted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pollsUntil(14))
	w.registered = true
	var shown []string
	w.OnUpsertTypedSearchAttributes(mock.Anything).Run(func(args mock.Arguments) {
		attributes := args.Get(0).(temporal.SearchAttributes)
		phase, _ := attributes.GetKeyword(temporal.NewSearchAttributeKeyKeyword(wire.AttributePhase))
		reason, _ := attributes.GetKeyword(temporal.NewSearchAttributeKeyKeyword(wire.AttributeReason))
		by, _ := attributes.GetTime(temporal.NewSearchAttributeKeyTime(wire.AttributeDecideBy))
		line := phase + " " + reason
		if !by.IsZero() {
			line += " by " + by.UTC().Format("15:04")
		}
		shown = append(shown, line)
	}).Return(nil).Maybe()
	var first, again *requested
	var during wire.OperationView
	w.RegisterDelayedCallback(func() { first = w.request(more(4)) }, time.Minute)
	w.RegisterDelayedCallback(func() { again = w.request(more(4)) }, 2*time.Minute)
	w.RegisterDelayedCallback(func() {
		during = w.view()
		w.SignalWorkflow(wire.SignalDecide, w.openDecision("d-1", extend(0, 4)))
	}, 3*time.Minute)
	outcome := w.run(spec())
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, 14, outcome.StatusRequestsUsed, "two more than the spec allows")
	require.NoError(t, first.err)
	require.NoError(t, again.err)
	require.Equal(t, first.reply, again.reply, "the same request is the same proposal")
	require.Regexp(t, `^report-1#p1-[0-9a-f]{8}$`, first.reply.ProposalID)
	require.Equal(t, first.reply.ProposalID, during.Proposal.ID)
	require.Nil(t, during.Escalation)
	require.Equal(t, wire.PhasePolling, during.Phase)
	require.Equal(t, []string{"polling ", "polling extension_requested by 11:00", "polling ", "closed "}, shown)
	require.Len(t, w.notices, 1)
	require.Equal(t, wire.NotifyProposed, w.notices[0].Notification.Kind)
}

// Refusals have the words of decisions and an error type of their own; one that cannot be parsed leaves no trace.
func TestRefusedRequestSaysWhy(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		request any
		want    wire.RefusalReason
		entries int
	}{
		"unparsable":    {map[string]any{"request_id": 1}, wire.RefusalUnparsable, 0},
		"incomplete":    {wire.ExtensionRequest{RequestID: "r-1"}, wire.RefusalIncomplete, 1},
		"out of bounds": {more(-1), wire.RefusalOutOfBounds, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, pollsUntil(6))
			var got *requested
			w.RegisterDelayedCallback(func() { got = w.request(test.request) }, time.Minute)
			require.Equal(t, wire.StatusSucceeded, w.run(spec()).Status)
			var application *temporal.ApplicationError
			require.ErrorAs(t, got.err, &application)
			require.Equal(t, wire.ErrorRequestRefused, application.Type())
			require.Contains(t, application.Message(), "extension request refused: "+string(test.want))
			var refusal wire.Refusal
			require.NoError(t, application.Details(&refusal))
			require.Equal(t, test.want, refusal.Reason)
			entries := 0
			for _, event := range events(w) {
				if event == wire.EventExtensionRequested {
					entries++
				}
			}
			require.Equal(t, test.entries, entries)
		})
	}
}

// R49: an open proposal is carried over to the next run and answered there.
func TestProposalIsCarriedOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pollsUntil(8))
	var id string
	w.RegisterDelayedCallback(func() {
		w.SetContinueAsNewSuggested(true)
		id = w.request(more(4)).reply.ProposalID
	}, time.Minute)
	w.later = func() {
		w.SignalWorkflow(wire.SignalDecide, w.openDecision("d-1", func(d *wire.Decision) { d.Kind = wire.DecisionRefuse }))
	}
	s := spec()
	s.Schedule.InitialDelaySeconds = new(900)
	var carried wire.Record
	outcome, runs := w.runAll(s, func(record wire.Record) { carried = record })
	require.Equal(t, 2, runs)
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, "ana@example.com", outcome.DecidedBy)
	require.Equal(t, 0, outcome.ExtensionsUsed)
	require.Equal(t, carried.Proposal.ID, carried.ExtensionRequests[0].ProposalID)
	if id != "" { // the answer to an update whose run ends in the same task comes from the server, which is not here
		require.Equal(t, id, carried.Proposal.ID)
	}
}

// A wait that never began answers a request that came meanwhile.
func TestRequestOfAWaitThatNeverBegan(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	var got *requested
	w.RegisterDelayedCallback(func() { got = w.request(more(4)) }, 0)
	bad := spec()
	bad.MaxStatusRequests = 0
	w.ExecuteWorkflow(wire.WorkflowAwaitJob, bad)
	require.ErrorContains(t, w.GetWorkflowError(), "max_status_requests is missing")
	require.ErrorContains(t, got.err, "not_open")
}
