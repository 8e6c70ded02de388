package e2e_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// heldJob is running at the first look, which waits to be released, and has succeeded at the second.
func heldJob() waittest.JobScript {
	return waittest.Script(waittest.State("running").Held().Times(1), waittest.Succeeded("https://files.example.com/report.csv"))
}

// event is the last event so far that is wanted, of the latest run.
func (s *submitting) event(wanted func(*historypb.HistoryEvent) bool) *historypb.HistoryEvent {
	s.Helper()
	history, err := waittest.FetchHistory(s.ctx, s.bed.Client, s.run.GetID(), "")
	require.NoError(s, err)
	var found *historypb.HistoryEvent
	for _, event := range history.GetEvents() {
		if wanted(event) {
			found = event
		}
	}
	require.NotNil(s, found)
	return found
}

// waitedFor waits until the job's wait has asked the provider, and gives the job.
func (s *submitting) waitedFor() string {
	s.Helper()
	var job string
	require.NoError(s, eventually(s.ctx, func() bool {
		made := s.provider.Submissions()
		if len(made) > 0 {
			job = made[0].JobID
		}
		return job != "" && statusRequests(s.provider.Log(job)) > 0
	}))
	return job
}

// continued waits until the submission goes on in another run.
func (s *submitting) continued() {
	s.Helper()
	require.NoError(s, eventually(s.ctx, func() bool {
		described, err := s.bed.Client.DescribeWorkflow(s.ctx, s.run.GetID(), "")
		return err == nil && described.WorkflowExecution.RunID != s.run.GetRunID()
	}))
	s.run = s.bed.Client.GetWorkflow(s.ctx, s.run.GetID(), "")
}

// wait is the wait for the job.
func (s *submitting) wait(job string) client.WorkflowRun {
	return s.bed.Client.GetWorkflow(s.ctx, wire.WorkflowID(s.spec.Provider, s.spec.Account, job), "")
}

// onlyOne wants one job, that many requests to submit it, and a wait of the submission's own that alone asked for it.
func (s *submitting) onlyOne(outcome wire.SubmitOutcome, requests int) {
	s.Helper()
	require.Equal(s, wire.StatusSucceeded, outcome.Status)
	require.Nil(s, outcome.Owner, "its own wait is no other's")
	made := s.provider.Submissions()
	require.Len(s, made, 1, "a second job")
	require.Equal(s, made[0].JobID, outcome.ProviderJobID)
	require.Len(s, s.provider.SubmitRequests(), requests)
	require.NotNil(s, outcome.Wait)
	require.Equal(s, outcome.Wait.StatusRequestsUsed, statusRequests(s.provider.Log(made[0].JobID)), "another wait has asked for it")
}

// R31, R57, R58: a submission that is reset asks before it sends anything, and sends nothing where its job was known by then. The wait
// that it has started goes on, and is its own.
func TestSubmissionIsReset(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		// to is the first event that is taken back, with the workflow task that led to it.
		to eventFilter
		// asks says that nobody knew by then whether there is a job.
		asks bool
	}{
		"before prepare":   {to: scheduled(wire.ActivityPrepareSubmission), asks: true},
		"before sending":   {to: scheduled(wire.ActivitySubmit), asks: true},
		"after acceptance": {to: is(enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED)},
		"while it waits":   {to: never},
	} {
		for _, provider := range []string{"demo-export", "demo-plain"} {
			t.Run(name+" "+provider, func(t *testing.T) {
				t.Parallel()
				s := newSubmitting(t, provider, waittest.SubmitScript{Job: heldJob(), NoKeys: provider == "demo-plain"})
				s.spec.Wait.Schedule.RequestTimeoutSeconds = new(120) // the job's first look is held
				s.crew.start()
				s.begin()
				job := s.waitedFor()
				s.followsStarted()
				reset, err := s.bed.Reset(s.ctx, s.run, s.taskBefore(test.to))
				require.NoError(t, err)
				s.run = reset
				requests := 1
				if test.asks {
					requests = s.answerReset(job)
				}
				s.released(job)
				s.onlyOne(s.outcome(), requests)
			})
		}
	}
}

// followsStarted waits until the submission knows that its wait has started.
func (s *submitting) followsStarted() {
	s.Helper()
	follow(s.T, s.bed.Client, s.run.GetID(), "", enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED)
	require.NoError(s, eventually(s.ctx, func() bool {
		return s.event(is(enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED)).GetEventId() > s.event(is(enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED)).GetEventId()
	}))
}

// taskBefore is the last workflow task that was completed before an event.
func (s *submitting) taskBefore(ends eventFilter) int64 {
	s.Helper()
	over := false
	return s.event(func(event *historypb.HistoryEvent) bool {
		over = over || ends(event)
		return !over && event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
	}).GetEventId()
}

func scheduled(activity string) eventFilter {
	return func(event *historypb.HistoryEvent) bool {
		return event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == activity
	}
}

func never(*historypb.HistoryEvent) bool { return false }

// answerReset answers the question that a reset asks: where the provider knows the key, by sending the same again, else with the job
// that is there. It gives how many requests were sent by then.
func (s *submitting) answerReset(job string) int {
	s.Helper()
	open := s.escalated()
	require.Equal(s, wire.ReasonHistoryReset, open.Reason)
	require.Len(s, s.provider.SubmitRequests(), 1, "sent before the decision")
	if s.spec.Provider == "demo-export" {
		s.decide(extend(open.ID, "d-1"))
		return 2
	}
	s.attach(open, job)
	return 1
}

// released waits until the submission follows the job's wait again, and lets the provider answer that.
func (s *submitting) released(job string) {
	s.Helper()
	_, err := s.bed.Until(s.ctx, s.run, func(view wire.OperationView) bool {
		return view.Phase == wire.PhaseAwaiting && view.Submission.WaitWorkflowID != ""
	})
	require.NoError(s, err)
	require.Equal(s, 1, s.provider.Release(job))
}

// over is a submission that has a history behind it when its job is waited for: on the restless bed it continues as new then.
func over(t *testing.T, on *bed.Bed, provider string, job waittest.JobScript) *submitting {
	t.Helper()
	s := newSubmittingAt(t, on, provider, waittest.SubmitScript{
		Job: job, NoKeys: provider == "demo-plain",
		Steps: []waittest.SubmitStep{{NoJob: true, Answer: waittest.Step{Status: 429}}, {}},
	})
	s.spec.Wait.MaxStatusRequests = 500
	return s
}

// R48: to cancel a submission is to tell its own wait to stop, also when a run before has started that.
func TestCancelledSubmissionOverRuns(t *testing.T) {
	t.Parallel()
	s := over(t, restless, "demo-export", waittest.Script(waittest.State("running")))
	s.crew.start()
	s.begin()
	s.continued()
	s.waitedFor()
	s.stopped()
}

// R48: the same after a reset, by which its wait has become the child of a run that is over.
func TestCancelledSubmissionAfterAReset(t *testing.T) {
	t.Parallel()
	s := over(t, shared, "demo-export", waittest.Script(waittest.State("running")))
	s.crew.start()
	s.begin()
	s.waitedFor()
	s.followsStarted()
	reset, err := s.bed.Reset(s.ctx, s.run, s.taskBefore(never))
	require.NoError(t, err)
	s.run = reset
	s.stopped()
}

// stopped tells a submission to stop, and wants its end and that of its own wait.
func (s *submitting) stopped() {
	s.Helper()
	require.NoError(s, s.bed.Client.CancelWorkflow(s.ctx, s.run.GetID(), ""))
	outcome := s.outcome()
	require.Equal(s, wire.ReasonWaitCancelled, outcome.Reason)
	require.Nil(s, outcome.Owner)
	require.NotNil(s, outcome.Wait, "the wait goes on")
	require.Equal(s, wire.ReasonWaitCancelled, outcome.Wait.Reason)
	require.Len(s, s.provider.Submissions(), 1)
}

// R58: a wait that was reset is followed over the reset, also when it cannot be run any more: what is wrong with it is asked about, and
// the job is still known.
func TestSubmissionWhoseWaitIsReset(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ child, runs bool }{
		"as a child": {child: true, runs: true}, "and goes on": {runs: true}, "and cannot be run": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := waittest.Script(waittest.State("paused"), waittest.Succeeded("https://files.example.com/report.csv"))
			on := restless
			if test.child {
				on = shared
			}
			s := over(t, on, "demo-plain", script)
			worker := s.crew.start()
			s.begin()
			if !test.child {
				s.continued()
			}
			job := s.waitedFor()
			waiting := s.wait(job)
			asked, err := s.bed.Escalated(s.ctx, waiting)
			require.NoError(t, err)
			require.Equal(t, wire.ReasonUnknownState, asked.Reason)
			if !test.runs {
				worker.kill()
			}
			s.resetWait(waiting)
			if !test.runs {
				newCrew(t, s.bed, s.queue, bed.Key).start() // which does not know the table
				open := s.escalated()
				require.Equal(t, wire.ReasonIntegrationFailure, open.Reason)
				require.Contains(t, open.Detail, `provider "demo-plain" has no state table`)
				s.decide(decision(wire.DecisionClose, open.ID, "d-1"))
				require.Equal(t, job, s.outcome().ProviderJobID)
				return
			}
			asked, err = s.bed.Escalated(s.ctx, s.wait(job))
			require.NoError(t, err)
			require.Equal(t, wire.ReasonHistoryReset, asked.Reason)
			_, err = s.bed.Decide(s.ctx, waiting.GetID(), extend(asked.ID, "d-1"))
			require.NoError(t, err)
			outcome := s.outcome()
			require.Equal(t, wire.StatusSucceeded, outcome.Status)
			require.Nil(t, outcome.Owner, "its own wait is no other's")
			require.Len(t, s.provider.Submissions(), 1)
			require.Equal(t, 2, statusRequests(s.provider.Log(job)))
		})
	}
}

// R58: a wait that ended without an outcome is lost, also where somebody waits for the job anew by then: that is no part of it.
func TestSubmissionWhoseWaitIsLost(t *testing.T) {
	t.Parallel()
	s := over(t, restless, "demo-export", waittest.Script(waittest.State("running")))
	worker := s.crew.start()
	s.begin()
	s.continued()
	waiting := s.wait(s.waitedFor())
	worker.kill()
	require.NoError(t, s.bed.Client.TerminateWorkflow(s.ctx, waiting.GetID(), "", "by a test"))
	anew, err := s.bed.StartOn(s.ctx, s.queue+"-nobody", s.bed.Spec(s.provider.Submissions()[0].JobID))
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = s.bed.Client.TerminateWorkflow(context.WithoutCancel(s.ctx), anew.GetID(), "", "by a test")
	})
	s.crew.start()
	outcome := s.outcome()
	require.Equal(t, wire.StatusUnresolved, outcome.Status)
	require.Contains(t, outcome.Detail, wire.DetailWaitLost)
	require.Nil(t, outcome.Owner)
	require.Len(t, s.provider.SubmitRequests(), 2, "a 429, and the one that made the job")
}

// resetWait resets a wait to the first workflow task of its first run.
func (s *submitting) resetWait(waiting client.WorkflowRun) {
	s.Helper()
	runs, err := s.bed.Runs(s.ctx, waiting.GetID(), "")
	require.NoError(s, err)
	first := &wait{T: s.T, ctx: s.ctx, bed: s.bed, run: s.bed.Client.GetWorkflow(s.ctx, waiting.GetID(), runs[0])}
	for _, event := range first.history(s.ctx, runs[0]).GetEvents() {
		if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			_, err := s.bed.Reset(s.ctx, first.run, event.GetEventId())
			require.NoError(s, err)
			return
		}
	}
	require.FailNow(s, "no workflow task was completed")
}

// R58: an owner whose spec cannot be run never waited: the job is waited for after all.
func TestSubmissionWhoseOwnerNeverWaited(t *testing.T) {
	t.Parallel()
	s := newSubmitting(t, "demo-plain", waittest.SubmitScript{Job: finished(), NoKeys: true, Steps: []waittest.SubmitStep{{Answer: waittest.Hangup()}}})
	s.crew.start()
	s.begin()
	open := s.escalated()
	job := s.provider.Submissions()[0].JobID
	owned := s.bed.Spec(job)
	owned.Provider, owned.Params, owned.MaxStatusRequests = "demo-plain", s.spec.Params, 0
	_, err := s.bed.StartOn(s.ctx, s.queue+"-later", owned)
	require.NoError(t, err)
	s.attach(open, job)
	_, err = s.bed.Until(s.ctx, s.run, func(view wire.OperationView) bool { return view.Submission.Owner != nil })
	require.NoError(t, err)
	newCrew(t, s.bed, s.queue+"-later", bed.Key, "--tables", plainTable(t)).start()
	s.onlyOne(s.outcome(), 1)
}

// A job that is finished in the answer to its submission is not asked for.
func TestSubmissionFinishedAtOnce(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]wire.OutcomeStatus{"succeeded": wire.StatusSucceeded, "failed": wire.StatusFailed} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			answer := waittest.Step{Status: 201, State: state, ResultURL: "https://files.example.com/report.csv"}
			s := newSubmitting(t, "demo-export", waittest.SubmitScript{Job: finished(), Steps: []waittest.SubmitStep{{Answer: answer}}})
			s.crew.start()
			s.begin()
			outcome := s.outcome()
			require.Equal(t, want, outcome.Status)
			require.Equal(t, map[string]string{"file": "https://files.example.com/report.csv"}, outcome.Result)
			require.Empty(t, outcome.WaitWorkflowID)
			made := s.provider.Submissions()
			require.Len(t, made, 1)
			require.Equal(t, made[0].JobID, outcome.ProviderJobID)
			require.Zero(t, statusRequests(s.provider.Log(made[0].JobID)))
			_, err := s.bed.Client.DescribeWorkflow(s.ctx, s.wait(made[0].JobID).GetID(), "")
			require.Error(t, err, "it is waited for")
		})
	}
}

// R51, R56: the provider names the job, and a status URL elsewhere: nothing is sent there, and nothing is sent again. A person says how
// to ask for the job.
func TestSubmissionWhoseStatusURLIsRejected(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"demo-export", "demo-plain"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			answer := waittest.Step{}.Header("Location", "http://169.254.169.254/exports/1?token=hidden-word")
			s := newSubmitting(t, provider, waittest.SubmitScript{Job: finished(), Steps: []waittest.SubmitStep{{Answer: answer}}})
			s.crew.start()
			s.begin()
			open := s.escalated()
			made := s.provider.Submissions()
			require.Len(t, made, 1)
			job := made[0].JobID
			require.Equal(t, wire.ReasonPollURLRejected, open.Reason)
			require.Equal(t, []wire.DecisionKind{wire.DecisionAttach, wire.DecisionClose}, kindsOf(open))
			require.Contains(t, open.Message, job)
			require.NotContains(t, open.Message, "hidden-word")
			s.attach(open, job)
			s.onlyOne(s.outcome(), 1)
			require.Equal(t, 1, count(s.audit(), wire.EventRequestReserved))
		})
	}
}
