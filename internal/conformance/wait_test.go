package conformance_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

const (
	secret = "sk-conformance-0123456789"
	runID  = "00000000-0000-0000-0000-000000000000"
	// patience is how long after an example's answer the deadline of its wait is.
	patience = 400 * 24 * time.Hour
)

// wait is a wait about the job of an example, played by the real core up to the request that the example answers.
type wait struct {
	op      *operation.Operation
	request wire.PollRequest
	now     time.Time
}

// waitFor plays a wait so that its request leaves at the very time at which the example's answer is received, and after
// what the example says had happened before. Delays do not depend on the date, so the first play tells when to begin.
func waitFor(t *testing.T, table *statetables.Table, example statetables.Example, change func(*wire.Spec)) *wait {
	t.Helper()
	received := example.Response.ReceivedAt.UTC()
	first := play(t, table, example, received, change)
	w := play(t, table, example, received.Add(received.Sub(first.now)), change)
	require.Equal(t, received, w.now)
	return w
}

func play(t *testing.T, table *statetables.Table, example statetables.Example, start time.Time, change func(*wire.Spec)) *wait {
	t.Helper()
	w := &wait{now: start, op: operation.Open(prepare(t, table, example, start, change), runID, start, start)}
	w.next(t)
	for range example.Reading.NotFound {
		w.answered(wire.Observation{Answer: wire.AnswerRead, HTTPStatus: 404, Job: &wire.JobFact{RawState: "http_404", Category: wire.CategoryPending}})
		w.next(t)
	}
	if example.Reading.Answered || example.Reading.CancelSent {
		w.answered(atWork(w.op.Record().Prepared.Table.Cancel))
		if example.Reading.CancelSent {
			w.cancel(t)
		}
		w.next(t)
	}
	return w
}

func prepare(t *testing.T, table *statetables.Table, example statetables.Example, start time.Time, change func(*wire.Spec)) wire.Prepared {
	t.Helper()
	spec := example.Job
	spec.OperationID, spec.SubmittedAt = "conformance", &example.Reading.SubmittedAt
	spec.DeadlineAt = example.Response.ReceivedAt.Add(patience)
	spec.MaxStatusRequests, spec.MaxTransportFailures = 1000, 3
	if change != nil {
		change(&spec)
	}
	require.NoError(t, table.CheckSpec(spec))
	facts, err := table.Facts(spec)
	require.NoError(t, err)
	advice := table.Advice()
	prepared, err := operation.Prepare(spec, start, operation.Knowledge{
		Table: facts, Advice: advice.Schedule, FloorSeconds: advice.FloorSeconds, CapSeconds: advice.CapSeconds,
	})
	require.NoError(t, err)
	return prepared
}

// atWork is an answer after which the wait goes on and a cancel may be sent.
func atWork(facts *wire.CancelFacts) wire.Observation {
	job := wire.JobFact{RawState: "at work", Category: wire.CategoryPending, Cancellable: new(true)}
	if facts != nil && len(facts.States) > 0 {
		job.RawState = facts.States[0]
	}
	return wire.Observation{Answer: wire.AnswerRead, HTTPStatus: http.StatusOK, Job: &job}
}

func (w *wait) answered(seen wire.Observation) {
	seen.ReceivedAt = &w.now
	w.op.StatusAnswered(w.now, wire.PollResult{Observation: &seen})
}

func (w *wait) cancel(t *testing.T) {
	t.Helper()
	decision, err := json.Marshal(wire.Decision{Kind: wire.DecisionCancel, DecisionID: "d", DecidedBy: "test", Comment: "after_cancel"})
	require.NoError(t, err)
	_, refusal := w.op.Decide(w.now, decision, "")
	require.Nil(t, refusal)
}

// next lets time pass until the next status request leaves.
func (w *wait) next(t *testing.T) {
	t.Helper()
	for {
		switch command := w.op.Next(w.now).(type) {
		case operation.Wait:
			require.False(t, command.Until.IsZero())
			w.now = command.Until.UTC()
		case operation.SendCancel:
			w.op.CancelAnswered(w.now, wire.CancelResult{Accepted: true})
		case operation.Notify:
			w.op.Notified(w.now, command.Request.Notification.ID, "")
		case operation.SendStatus:
			w.request = command.Request
			return
		default:
			require.Fail(t, "the wait is over before the example's answer", "%+v", command)
		}
	}
}

// decide is what the wait does after what the request taught.
func (w *wait) decide(seen wire.Observation) operation.Command {
	w.op.StatusAnswered(w.now, wire.PollResult{Observation: &seen})
	for {
		command := w.op.Next(w.now)
		notify, ok := command.(operation.Notify)
		if !ok {
			return command
		}
		w.op.Notified(w.now, notify.Request.Notification.ID, "")
	}
}

// poll sends the request by the real activity. It runs at the time of the bubble that it is called in.
func (w *wait) poll(t *testing.T, p *provider, tables *statetables.Set) wire.Observation {
	t.Helper()
	to := w.address(t, tables)
	acts, err := activities.New(activities.Options{
		Tables: tables, Credentials: credential{to.Scheme + "://" + to.Host}, Logger: slog.New(slog.DiscardHandler),
		DialContext: p.dial(to.Scheme), RootCAs: p.authority.pool, Proxy: func(*http.Request) (*url.URL, error) { return nil, nil },
	})
	require.NoError(t, err)
	suite := testsuite.WorkflowTestSuite{}
	suite.SetLogger(quiet{})
	environment := suite.NewTestActivityEnvironment()
	acts.Register(environment)
	value, err := environment.ExecuteActivity(wire.ActivityPollStatus, w.request)
	require.NoError(t, err)
	var result wire.PollResult
	require.NoError(t, value.Get(&result))
	require.Empty(t, result.NotSent, result.Detail)
	require.NotNil(t, result.Observation)
	return *result.Observation
}

// address is where the table wants the request to go.
func (w *wait) address(t *testing.T, tables *statetables.Set) *url.URL {
	t.Helper()
	table, _ := tables.Table(w.request.Provider)
	request, err := table.StatusRequest(w.request.Target)
	require.NoError(t, err)
	address, err := url.Parse(request.URL)
	require.NoError(t, err)
	return address
}

// quiet drops the SDK's log.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}

// credential is a secret that may go to one origin.
type credential struct{ origin string }

func (c credential) Credential(context.Context, string) (activities.Credential, error) {
	return activities.Credential{
		Version: "1", Origins: []string{c.origin},
		Read: func(context.Context) (activities.Secret, error) { return activities.NewSecret(secret) },
	}, nil
}
