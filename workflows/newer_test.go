package workflows_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// tomorrow writes values as a newer version might: with one field more.
type tomorrow struct {
	converter.DataConverter
	knows func(value any) bool
}

func (c tomorrow) ToPayload(value any) (*commonpb.Payload, error) {
	if c.knows(value) {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		value = json.RawMessage(`{"of_tomorrow":true,` + string(text[1:]))
	}
	return c.DataConverter.ToPayload(value)
}

func (c tomorrow) ToPayloads(values ...any) (*commonpb.Payloads, error) {
	payloads := &commonpb.Payloads{}
	for _, value := range values {
		payload, err := c.ToPayload(value)
		if err != nil {
			return nil, err
		}
		payloads.Payloads = append(payloads.Payloads, payload)
	}
	return payloads, nil
}

func is[T any](value any) bool {
	_, yes := value.(T)
	return yes
}

// What a newer version wrote is not gone by: the workflow task fails, and nothing that was recorded says anything about the wait.
func TestWhatANewerVersionWroteIsLeftToIt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		knows func(any) bool
		polls int
	}{
		"snapshot": {is[wire.Prepared], 0},
		"answer":   {is[wire.PollResult], 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(int, wire.PollRequest) (wire.PollResult, error) { return succeeded() })
			w.SetDataConverter(tomorrow{converter.GetDefaultDataConverter(), test.knows})
			w.ExecuteWorkflow(wire.WorkflowAwaitJob, spec())
			w.requireLeft()
			require.Len(t, w.polls, test.polls)
		})
	}
}

// A submission whose spec a newer version's prepare has taken is not sent without what only that version reads.
func TestASpecThatOnlyANewerVersionReadsIsNotSubmitted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	submitted := submitSpec()
	w.RegisterActivityWithOptions(func(_ context.Context, request wire.PrepareRequest) (wire.Prepared, error) {
		return operation.PrepareSubmission(submitted, request.StartedAt, operation.Knowledge{}, wire.SubmissionFacts{Idempotency: wire.IdempotencyNone})
	}, activity.RegisterOptions{Name: wire.ActivityPrepareSubmission})
	w.RegisterActivityWithOptions(func(context.Context, wire.SubmitRequest) (wire.SubmitResult, error) {
		require.Fail(t, "it was sent")
		return wire.SubmitResult{}, nil
	}, activity.RegisterOptions{Name: wire.ActivitySubmit})
	w.SetDataConverter(tomorrow{converter.GetDefaultDataConverter(), is[wire.SubmitSpec]})
	w.ExecuteWorkflow(wire.WorkflowSubmitAndAwait, submitted)
	w.requireLeft()
}

func submitSpec() wire.SubmitSpec {
	waited := spec()
	return wire.SubmitSpec{
		SubmissionID: "report-1", Provider: waited.Provider, Account: waited.Account, Body: []byte(`{"report": 1}`),
		Wait: wire.SubmitWait{
			DeadlineAt: waited.DeadlineAt, MaxStatusRequests: waited.MaxStatusRequests, MaxTransportFailures: waited.MaxTransportFailures,
		},
	}
}

func TestARunThatANewerVersionContinuedIsLeftToIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.SetContinuedExecutionRunID("the-run-before")
	w.SetDataConverter(tomorrow{converter.GetDefaultDataConverter(), is[wire.Record]})
	w.ExecuteWorkflow(wire.WorkflowAwaitJob, spec(), wire.Record{Phase: wire.PhasePolling})
	w.requireLeft()
}

// requireLeft wants the task to have panicked, which fails the task alone where a server is there: the test environment makes it
// the workflow's error.
func (w *world) requireLeft() {
	w.t.Helper()
	require.ErrorContains(w.t, w.GetWorkflowError(), `left to a worker of a newer version, which wrote this: field "of_tomorrow" is not known`)
	require.ErrorAs(w.t, w.GetWorkflowError(), new(*temporal.PanicError))
}
