package e2e_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait"
	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// plainTable writes tables for providers that take submissions in other ways, bed.ProviderPlain among them.
func plainTable(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, bed.WriteTables(dir))
	return dir
}

// submitting is a submission in the making: a provider of its own and the built worker on a task queue of its own.
type submitting struct {
	*testing.T
	ctx      context.Context
	bed      *bed.Bed
	provider *waittest.Provider
	queue    string
	crew     *crew
	spec     wire.SubmitSpec
	run      client.WorkflowRun
}

// newSubmitting makes one for the table's provider, which takes submissions by the script.
func newSubmitting(t *testing.T, provider string, script waittest.SubmitScript) *submitting {
	t.Helper()
	return newSubmittingAt(t, shared, provider, script)
}

func newSubmittingAt(t *testing.T, at *bed.Bed, provider string, script waittest.SubmitScript) *submitting {
	t.Helper()
	own, err := waittest.NewProvider(waittest.ProviderOptions{Key: bed.Key, Script: waittest.ProviderScript{Submit: &script}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = own.Close() })
	seen := *at
	seen.Provider = own
	name := afresh(strings.ToLower(strings.NewReplacer("/", "-", " ", "-", "_", "-", ",", "").Replace(t.Name())))
	_, port, _ := strings.Cut(own.Address(), ":")
	one := 1
	return &submitting{
		T: t, ctx: within(t), bed: &seen, provider: own, queue: name,
		crew: newCrew(t, &seen, name, bed.Key, "--tables", plainTable(t)),
		spec: wire.SubmitSpec{
			SubmissionID: name, Provider: provider, Account: "acct-42", Params: map[string]string{"port": port}, CredentialRef: "demo",
			Body: []byte(`{"report": "2026-11", "rows": 9007199254740993}`),
			Wait: wire.SubmitWait{
				DeadlineAt: time.Now().Add(10 * time.Minute), MaxStatusRequests: 12, MaxTransportFailures: 3,
				Schedule: wire.Schedule{BaseDelaySeconds: &one, MaxDelaySeconds: &one, RequestTimeoutSeconds: new(10)},
			},
		},
	}
}

func (s *submitting) begin() {
	s.Helper()
	run, err := jobwait.StartSubmit(s.ctx, s.bed.Client, s.spec, jobwait.StartOptions{TaskQueue: s.queue})
	require.NoError(s, err)
	s.run = run
	s.Cleanup(s.replay)
}

// replay replays every run of the submission strictly.
func (s *submitting) replay() {
	if s.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), time.Minute)
	defer cancel()
	runs, err := s.bed.Runs(ctx, s.run.GetID(), "")
	require.NoError(s, err)
	for _, id := range runs {
		history, err := waittest.FetchHistory(ctx, s.bed.Client, s.run.GetID(), id)
		require.NoError(s, err)
		require.NoError(s, waittest.ReplayStrictly(history, waittest.ReplayOptions{}), "run %s", id)
	}
}

func (s *submitting) outcome() wire.SubmitOutcome {
	s.Helper()
	var outcome wire.SubmitOutcome
	require.NoError(s, s.run.Get(s.ctx, &outcome))
	return outcome
}

func (s *submitting) escalated() wire.EscalationView {
	s.Helper()
	open, err := s.bed.Escalated(s.ctx, s.run)
	require.NoError(s, err)
	return open
}

func (s *submitting) decide(d wire.Decision) {
	s.Helper()
	_, err := s.bed.Decide(s.ctx, s.run.GetID(), d)
	require.NoError(s, err)
}

// attach answers a question with a job that is there.
func (s *submitting) attach(open wire.EscalationView, job string) {
	s.Helper()
	attach := decision(wire.DecisionAttach, open.ID, "d-1")
	attach.ProviderJobID, attach.StatusURL = job, s.provider.StatusURL(job)
	s.decide(attach)
}

func (s *submitting) audit() []wire.Entry {
	s.Helper()
	answer, err := s.bed.Client.QueryWorkflow(s.ctx, s.run.GetID(), "", wire.QueryAudit)
	require.NoError(s, err)
	var view wire.AuditView
	require.NoError(s, answer.Get(&view))
	require.Zero(s, operation.VerifyChain("", view.Entries))
	return view.Entries
}

// requests waits until so many requests to submit have arrived at the provider.
func (s *submitting) requests(n int) {
	s.Helper()
	_, err := s.provider.Await(s.ctx, "", func([]waittest.LogEntry) bool { return len(s.provider.SubmitRequests()) >= n })
	require.NoError(s, err)
}

func kindsOf(open wire.EscalationView) []wire.DecisionKind {
	var kinds []wire.DecisionKind
	for _, option := range open.Options {
		kinds = append(kinds, option.Kind)
	}
	return kinds
}

func finished() waittest.JobScript {
	return waittest.Script(waittest.State("running"), waittest.Succeeded("https://files.example.com/report.csv"))
}

// A submission that meets no fault: one request, one job, one wait, and its result.
func TestSubmitAndAwait(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"demo-export", bed.ProviderPlain} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			s := newSubmitting(t, provider, waittest.SubmitScript{Job: finished()})
			s.crew.start()
			s.begin()
			outcome := s.outcome()
			require.Equal(t, wire.StatusSucceeded, outcome.Status)
			made := s.provider.Submissions()
			require.Len(t, made, 1)
			require.Equal(t, made[0].JobID, outcome.ProviderJobID)
			require.Equal(t, 1, outcome.SubmitRequestsUsed)
			require.Equal(t, map[string]string{"file": "https://files.example.com/report.csv"}, outcome.Result)
			require.NotNil(t, outcome.Wait)
			require.Equal(t, outcome.Fingerprint, specOfWait(s, outcome).RequestFingerprint)
			require.Equal(t, made[0].Key, outcome.IdempotencyKey)
			entries := s.audit()
			require.Len(t, entries, outcome.AuditEntries)
			require.Equal(t, outcome.AuditHead, entries[len(entries)-1].Hash)
			require.Equal(t, provider == "demo-export", outcome.IdempotencyKey != "")
			_, err := jobwait.StartSubmit(s.ctx, s.bed.Client, s.spec, jobwait.StartOptions{TaskQueue: s.queue})
			require.ErrorAs(t, err, new(*jobwait.AlreadySubmittedError))
		})
	}
}

func specOfWait(s *submitting, outcome wire.SubmitOutcome) wire.Spec {
	s.Helper()
	view, err := s.bed.View(s.ctx, outcome.WaitWorkflowID)
	require.NoError(s, err)
	return view.Spec
}

// submitFault is one thing that goes wrong with the first request of a submission.
type submitFault struct {
	name  string
	first waittest.SubmitStep
	// kill ends the worker while the provider holds the answer.
	kill bool
	// made is how many jobs the first request makes.
	made int
}

func submitFaults() []submitFault {
	return []submitFault{
		{name: "cut during", first: waittest.SubmitStep{NoJob: true, Answer: waittest.ResetConnection()}},
		{name: "answer lost after", first: waittest.SubmitStep{Answer: waittest.Hangup()}, made: 1},
		{name: "answer cut", first: waittest.SubmitStep{Answer: waittest.Step{Do: waittest.DoCut, Omit: []string{"updated_at"}}}, made: 1},
		{name: "answered 503", first: waittest.SubmitStep{NoJob: true, Answer: waittest.Status(503)}},
		{name: "answered 500 after", first: waittest.SubmitStep{Answer: waittest.Status(500)}, made: 1},
		{name: "accepted without an id", first: waittest.SubmitStep{Answer: waittest.Step{Omit: []string{"job_id"}}}, made: 1},
		{name: "no answer in time", first: waittest.SubmitStep{Answer: waittest.Step{Hold: true}}, made: 1},
		{name: "worker killed", first: waittest.SubmitStep{Answer: waittest.Step{Hold: true}}, kill: true, made: 1},
	}
}

// R55, R56: with a documented key an unanswered submission is repeated, and there is exactly one job.
func TestSubmissionFaultsWithAKey(t *testing.T) {
	t.Parallel()
	for _, fault := range submitFaults() {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			s := newSubmitting(t, "demo-export", waittest.SubmitScript{Job: finished(), Steps: []waittest.SubmitStep{fault.first, {}}})
			fault.pass(s)
			outcome := s.outcome()
			require.Equal(t, wire.StatusSucceeded, outcome.Status)
			made := s.provider.Submissions()
			require.Len(t, made, 1, "a second job")
			require.Equal(t, outcome.IdempotencyKey, made[0].Key)
			require.Equal(t, fault.made+1, made[0].Requests)
			require.Len(t, s.provider.SubmitRequests(), 2)
			require.Equal(t, 2, outcome.SubmitRequestsUsed)
			require.Equal(t, 1, outcome.Generation)
		})
	}
}

// pass begins and lets the fault happen.
func (f submitFault) pass(s *submitting) {
	worker := s.crew.start()
	s.begin()
	if f.kill {
		s.requests(1)
		worker.kill()
		s.crew.start()
	}
}

// R56, R57: without a key nothing is repeated: a person attaches the job that is there, has it submitted again, or closes.
func TestSubmissionFaultsWithoutAKey(t *testing.T) {
	t.Parallel()
	for _, fault := range submitFaults() {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			s := newSubmitting(t, bed.ProviderPlain, waittest.SubmitScript{Job: finished(), NoKeys: true, Steps: []waittest.SubmitStep{fault.first, {}}})
			fault.pass(s)
			open := s.escalated()
			require.Equal(t, wire.ReasonSubmissionAmbiguous, open.Reason)
			require.Equal(t, []wire.DecisionKind{wire.DecisionAttach, wire.DecisionResubmit, wire.DecisionClose}, kindsOf(open))
			require.Len(t, s.provider.SubmitRequests(), 1, "sent again by itself")
			require.Len(t, s.provider.Submissions(), fault.made)
			if fault.made == 0 {
				s.decide(decision(wire.DecisionResubmit, open.ID, "d-1"))
			} else {
				s.attach(open, s.provider.Submissions()[0].JobID)
			}
			outcome := s.outcome()
			require.Equal(t, wire.StatusSucceeded, outcome.Status)
			require.Len(t, s.provider.Submissions(), 1, "a second job")
			require.Equal(t, s.provider.Submissions()[0].JobID, outcome.ProviderJobID)
			require.Equal(t, 2-fault.made, outcome.SubmitRequestsUsed)
			require.Equal(t, 2-fault.made, outcome.Generation)
		})
	}
}

// What never left may be sent again, with a key and without.
func TestSubmissionThatNeverLeft(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"demo-export", bed.ProviderPlain} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			s := newSubmitting(t, provider, waittest.SubmitScript{Job: finished(), NoKeys: true})
			address := s.provider.Address()
			require.NoError(t, s.provider.Close())
			s.spec.MaxSubmitRequests = 100
			s.crew.start()
			s.begin()
			_, err := s.bed.Until(s.ctx, s.run, func(view wire.OperationView) bool { return view.Counters.TransportFailuresUsed >= 1 })
			require.NoError(t, err)
			again, err := waittest.NewProvider(waittest.ProviderOptions{
				Address: address, Key: bed.Key, Script: waittest.ProviderScript{Submit: &waittest.SubmitScript{Job: finished(), NoKeys: true}},
			})
			require.NoError(t, err)
			t.Cleanup(func() { _ = again.Close() })
			outcome := s.outcome()
			require.Equal(t, wire.StatusSucceeded, outcome.Status)
			require.Len(t, again.Submissions(), 1)
			require.Equal(t, 1, outcome.Generation)
			require.Greater(t, outcome.SubmitRequestsUsed, 1)
		})
	}
}

// A provider that refuses has made nothing: the caller hears of it at once.
func TestSubmissionRefused(t *testing.T) {
	t.Parallel()
	s := newSubmitting(t, bed.ProviderPlain, waittest.SubmitScript{Job: finished(), Steps: []waittest.SubmitStep{
		{NoJob: true, Answer: waittest.Step{Status: 422, Error: &waittest.JobError{Code: "E_FORMAT", Message: "no such format"}}},
	}})
	s.crew.start()
	s.begin()
	outcome := s.outcome()
	require.Equal(t, wire.StatusRefused, outcome.Status)
	require.Equal(t, wire.ReasonSubmissionRefused, outcome.Reason)
	require.Contains(t, outcome.Detail, "E_FORMAT no such format")
	require.Empty(t, s.provider.Submissions())
	require.Len(t, s.provider.SubmitRequests(), 1)
}

// R58: a job that has an owner already is not waited for twice: the outcome names the owner, and is the owner's.
func TestSubmissionOfAnOwnedJob(t *testing.T) {
	t.Parallel()
	s := newSubmitting(t, bed.ProviderPlain, waittest.SubmitScript{
		Job: waittest.Script(waittest.State("running").Held().Times(1), waittest.Succeeded("https://files.example.com/report.csv")), NoKeys: true,
		Steps: []waittest.SubmitStep{{Answer: waittest.Hangup()}},
	})
	s.crew.start()
	s.begin()
	open := s.escalated()
	job := s.provider.Submissions()[0].JobID
	owned := s.bed.Spec(job)
	owned.Provider, owned.Params = bed.ProviderPlain, s.spec.Params
	owner, err := s.bed.StartOn(s.ctx, s.queue, owned)
	require.NoError(t, err)
	_, err = s.provider.Await(s.ctx, job, func(entries []waittest.LogEntry) bool { return statusRequests(entries) >= 1 })
	require.NoError(t, err)

	s.attach(open, job)
	_, err = s.bed.Until(s.ctx, s.run, func(view wire.OperationView) bool { return view.Submission.Owner != nil })
	require.NoError(t, err)
	require.Equal(t, 1, s.provider.Release(job))
	outcome := s.outcome()
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, &wire.Owner{WorkflowID: owner.GetID(), RunID: owner.GetRunID(), OperationID: owned.OperationID}, outcome.Owner)
	require.Equal(t, owned.OperationID, outcome.Wait.OperationID)
	require.Equal(t, outcome.Wait.StatusRequestsUsed, statusRequests(s.provider.Log(job)), "the provider was asked by another than the owner")
}

func statusRequests(entries []waittest.LogEntry) int {
	n := 0
	for _, entry := range entries {
		if entry.Kind == waittest.KindStatus {
			n++
		}
	}
	return n
}

// A submission that continues as new while its job is waited for goes on with the same wait.
func TestSubmissionOverRuns(t *testing.T) {
	t.Parallel()
	require.NoError(t, restless.Provider.TakeSubmissions(waittest.SubmitScript{
		Job:   waittest.Script(waittest.State("running").Times(3), waittest.Succeeded("https://files.example.com/report.csv")),
		Steps: []waittest.SubmitStep{{Answer: waittest.Hangup().Times(2)}, {}},
	}))
	_, port, _ := strings.Cut(restless.Provider.Address(), ":")
	one, ctx := 1, within(t)
	run, err := jobwait.StartSubmit(ctx, restless.Client, wire.SubmitSpec{
		SubmissionID: afresh("runs"), Provider: "demo-export", Account: "acct-42", Params: map[string]string{"port": port}, CredentialRef: "demo",
		Wait: wire.SubmitWait{
			DeadlineAt: time.Now().Add(10 * time.Minute), MaxStatusRequests: 20, MaxTransportFailures: 3,
			Schedule: wire.Schedule{BaseDelaySeconds: &one, MaxDelaySeconds: &one},
		},
	}, jobwait.StartOptions{})
	require.NoError(t, err)
	var outcome wire.SubmitOutcome
	require.NoError(t, restless.Client.GetWorkflow(ctx, run.GetID(), "").Get(ctx, &outcome))
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Nil(t, outcome.Owner, "its own wait is no other's")
	require.Len(t, restless.Provider.Submissions(), 1)
	require.Equal(t, 3, outcome.SubmitRequestsUsed)
	runs, err := restless.Runs(ctx, run.GetID(), "")
	require.NoError(t, err)
	require.Greater(t, len(runs), 1)
	for _, id := range runs {
		history, err := waittest.FetchHistory(ctx, restless.Client, run.GetID(), id)
		require.NoError(t, err)
		require.NoError(t, waittest.ReplayStrictly(history, waittest.ReplayOptions{}))
	}
}

// A run that becomes long just as the job is taken continues only when the job's wait has started: the server starts no child of
// a run that is over, and the job would have nobody who waits for it.
func TestSubmissionContinuesAsTheJobIsTaken(t *testing.T) {
	t.Parallel()
	s := newSubmittingAt(t, restless, "demo-export", waittest.SubmitScript{
		Job: finished(), Steps: []waittest.SubmitStep{{NoJob: true, Answer: waittest.Step{Status: 429}}, {}},
	})
	s.crew.start()
	s.begin()
	first := s.run.GetRunID()
	outcome := s.outcome()
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Len(t, s.provider.Submissions(), 1)
	require.NotEmpty(t, outcome.WaitWorkflowID)
	described, err := s.bed.Client.DescribeWorkflow(s.ctx, s.run.GetID(), "")
	require.NoError(t, err)
	require.NotEqual(t, first, described.WorkflowExecution.RunID, "it did not continue")
}

// R56: a request with a key that the provider has forgotten by the time it would arrive is not sent: a person is asked, and the
// provider is not asked for a second job.
func TestSubmissionWhoseKeyIsForgotten(t *testing.T) {
	t.Parallel()
	s := newSubmitting(t, bed.ProviderForgetful, waittest.SubmitScript{
		Job: finished(), NoKeys: true, Steps: []waittest.SubmitStep{{Answer: waittest.Hangup()}, {}}, // whoever sends it again makes a second one
	})
	s.crew.start()
	s.begin()
	open := s.escalated()
	require.Equal(t, wire.ReasonSubmissionAmbiguous, open.Reason)
	require.Contains(t, open.Detail, wire.DetailKeyExpired)
	require.Contains(t, open.Message, "\nsent again: not after ")
	require.Equal(t, []wire.DecisionKind{wire.DecisionAttach, wire.DecisionResubmit, wire.DecisionClose}, kindsOf(open))
	made := s.provider.Submissions()
	require.Len(t, made, 1)
	s.attach(open, made[0].JobID)
	outcome := s.outcome()
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, made[0].JobID, outcome.ProviderJobID)
	require.Equal(t, 1, outcome.SubmitRequestsUsed)
	require.Equal(t, made, s.provider.Submissions(), "a second job")
	require.Len(t, s.provider.SubmitRequests(), 1)
}
