package conformance_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"

	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
	"github.com/jobwait/jobwait/workflows"
)

// R1, R3, R4, R10, R12, R13, R16, R33, R34: every example of every table, served by waittest's provider over real connections,
// is asked for, read and decided by the whole controller: the workflow with its real activities.
func TestEveryExampleByTheWholeController(t *testing.T) {
	t.Parallel()
	var decided tally
	everyTable(t, func(t *testing.T, known table) {
		t.Helper()
		s := newServed(t, known)
		for _, example := range known.examples {
			r := newRun(t, known, example)
			s.expect(t, r.script(), r.statuses, r.cancels)
			at(t, example.Response.ReceivedAt, func(t *testing.T) {
				t.Helper()
				r.play(t, s)
			})
			require.Empty(t, s.wrong(), example.Name)
			require.Empty(t, example.Differences(r.seen()), example.Name)
			requireNoSecretLeft(t, r)
			requireDecided(t, r)
			decided.count(wanted(example).String(), known)
		}
	})
	decided.requireTables(t, decidedTables)
}

// run is one wait for the job of an example by the whole controller, and what came of it.
type run struct {
	known   table
	example statetables.Example
	// before are the answers that came before the example's.
	before            []statetables.Example
	statuses, cancels []statetables.Request

	polls     []wire.Observation
	cancelled bool
	notices   []wire.Notification
	outcome   wire.Outcome
	audit     wire.AuditView
}

// seen is how the example's answer was read.
func (r *run) seen() wire.Observation { return r.polls[len(r.before)] }

func newRun(t *testing.T, known table, example statetables.Example) *run {
	t.Helper()
	r := &run{known: known, example: example}
	if example.Reading.Answered || example.Reading.CancelSent {
		r.before = []statetables.Example{atWorkExample(t, known, example)}
	}
	require.Zero(t, example.Reading.NotFound, "no example so far has a 404 before it")
	target := targetOf(example.Job)
	r.statuses = []statetables.Request{authorized(t, known.table.StatusRequest, target)}
	if next := example.Want.NextURL; next != "" {
		target.StatusURL = next
		r.statuses = append(r.statuses, authorized(t, known.table.StatusRequest, target))
	}
	if example.Reading.CancelSent {
		r.cancels = []statetables.Request{authorized(t, known.table.CancelRequest, targetOf(example.Job))}
	}
	return r
}

func targetOf(spec wire.Spec) wire.Target {
	return wire.Target{
		Provider: spec.Provider, Account: spec.Account, ProviderJobID: spec.ProviderJobID, Params: spec.Params,
		StatusURL: spec.StatusURL, CredentialRef: spec.CredentialRef,
	}
}

func authorized(t *testing.T, make func(wire.Target) (statetables.Request, error), target wire.Target) statetables.Request {
	t.Helper()
	request, err := make(target)
	require.NoError(t, err)
	return request.Authorize(secretFor(request))
}

// atWorkExample is an answer after which a wait for this job goes on, and after which a cancel may be sent where one was.
func atWorkExample(t *testing.T, known table, example statetables.Example) statetables.Example {
	t.Helper()
	for _, other := range known.examples {
		want := other.Want
		if other.Response.Status < 300 && wire.Category(want.Category).Waits() && !want.OtherJob && want.NextURL == "" && !want.NextURLRejected &&
			other.Reading == (wire.ReadingContext{SubmittedAt: other.Reading.SubmittedAt}) && sameJob(other, example) &&
			(!example.Reading.CancelSent || cancellable(known.file.Table, want)) {
			return other
		}
	}
	require.Fail(t, "no example of the table goes on, to come before this one", example.Name)
	return statetables.Example{}
}

func sameJob(a, b statetables.Example) bool {
	return a.Job.ProviderJobID == b.Job.ProviderJobID && a.Job.StatusURL == b.Job.StatusURL && a.Job.Account == b.Job.Account
}

// cancellable says whether the table documents a cancel after an answer that is read so.
func cancellable(doc statetables.Document, want statetables.WantDoc) bool {
	call := doc.Cancel
	return call != nil && (len(call.States) == 0 || slices.Contains(call.States, want.RawState)) &&
		(want.Cancellable == nil || *want.Cancellable)
}

// script gives the answers in their order. A request beyond them finds that the key does not work any more: so a wait that
// goes on comes to an end, and shows that it went on.
func (r *run) script() waittest.JobScript {
	var steps []waittest.Step
	for _, example := range append(slices.Clone(r.before), r.example) {
		steps = append(steps, answerOf(example.Response))
	}
	script := waittest.Script(append(steps, waittest.Status(http.StatusUnauthorized))...)
	if call := r.known.file.Table.Cancel; call != nil {
		script = script.OnCancel(waittest.Status(call.Expect[0]).Header("Content-Type", "application/json"))
	}
	return script
}

func (r *run) spec() wire.Spec {
	spec := r.example.Job
	received := r.example.Response.ReceivedAt
	spec.OperationID, spec.SubmittedAt, spec.DeadlineAt = "conformance", &r.example.Reading.SubmittedAt, received.Add(patience)
	spec.MaxStatusRequests, spec.MaxTransportFailures = 1000, 3
	spec.Escalation.DecisionWindowSeconds, spec.Escalation.ReminderSeconds = new(60), new(0)
	return spec
}

// play runs the workflow at the time of the bubble, at which the answers are then received, up to the example's; the workflow's
// own time skips what it waits.
func (r *run) play(t *testing.T, s *served) {
	t.Helper()
	suite := testsuite.WorkflowTestSuite{}
	suite.SetLogger(quiet{})
	env := suite.NewTestWorkflowEnvironment()
	spec := r.spec()
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: wire.WorkflowID(spec.Provider, spec.Account, spec.ProviderJobID)})
	env.SetStartTime(r.example.Response.ReceivedAt)
	workflows.Register(env)
	r.activities(t, s).Register(env)
	env.SetOnActivityCompletedListener(func(info *activity.Info, result converter.EncodedValue, err error) {
		require.NoError(t, err, "%s: %s", r.example.Name, info.ActivityType.Name)
		if info.ActivityType.Name == wire.ActivityPollStatus {
			r.polled(t, result)
		}
	})
	env.SetOnTimerScheduledListener(func(string, time.Duration) { r.cancelOnce(t, env) })
	env.SetOnTimerFiredListener(func(string) { r.catchUp(env) })
	env.ExecuteWorkflow(wire.WorkflowAwaitJob, spec)

	require.True(t, env.IsWorkflowCompleted(), r.example.Name)
	require.NoError(t, env.GetWorkflowError(), r.example.Name)
	require.NoError(t, env.GetWorkflowResult(&r.outcome))
	value, err := env.QueryWorkflow(wire.QueryAudit)
	require.NoError(t, err)
	require.NoError(t, value.Get(&r.audit))
}

func (r *run) polled(t *testing.T, result converter.EncodedValue) {
	t.Helper()
	var polled wire.PollResult
	require.NoError(t, result.Get(&polled))
	require.Empty(t, polled.NotSent, "%s: %s", r.example.Name, polled.Detail)
	r.polls = append(r.polls, *polled.Observation)
}

// catchUp brings the time of the bubble, by which requests are held back, to the workflow's, once the example's answer is in.
func (r *run) catchUp(env *testsuite.TestWorkflowEnvironment) {
	if len(r.polls) > len(r.before) {
		time.Sleep(time.Until(env.Now()))
	}
}

// cancelOnce has a person cancel the job once an answer has come, where the example says that one did.
func (r *run) cancelOnce(t *testing.T, env *testsuite.TestWorkflowEnvironment) {
	t.Helper()
	if r.cancelled || !r.example.Reading.CancelSent || len(r.polls) == 0 {
		return
	}
	r.cancelled = true
	env.SignalWorkflow(wire.SignalCancel, wire.Decision{DecisionID: "d", DecidedBy: "test", Comment: "after_cancel"})
}

func (r *run) activities(t *testing.T, s *served) *activities.Activities {
	t.Helper()
	return s.activities(t, r.known, r.statuses[0].URL, func(options *activities.Options) {
		options.Notifier, options.Visibility = r, noWaits{}
	})
}

// Notify keeps what people are told.
func (r *run) Notify(_ context.Context, notification wire.Notification) error {
	r.notices = append(r.notices, notification)
	return nil
}

// escalation is the first question that was opened after the example's answer; nil: none was.
func (r *run) escalation() *wire.Escalation {
	for _, notice := range r.notices {
		if open := notice.Briefing.Escalation; open != nil && notice.Briefing.Counters.StatusRequestsUsed == len(r.before)+1 {
			return open
		}
	}
	return nil
}

// noWaits is a server that shows no earlier wait and has no search attributes: the SDK's environment has none to ask.
type noWaits struct{}

func (noWaits) ListWorkflow(context.Context, *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	return &workflowservice.ListWorkflowExecutionsResponse{}, nil
}

func (noWaits) CountWorkflow(context.Context, *workflowservice.CountWorkflowExecutionsRequest) (*workflowservice.CountWorkflowExecutionsResponse, error) {
	return nil, serviceerror.NewInvalidArgument("not registered")
}

// requireNoSecretLeft: the credential is in nothing that a wait leaves behind (R50).
func requireNoSecretLeft(t *testing.T, r *run) {
	t.Helper()
	text, err := json.Marshal([]any{r.polls, r.notices, r.outcome, r.audit})
	require.NoError(t, err)
	require.NotContains(t, string(text), secret)
	require.NotContains(t, string(text), base64.StdEncoding.EncodeToString([]byte(secret)))
}
