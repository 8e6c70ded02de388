package e2e_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/jobwait/jobwait"
	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// successor is the spec that takes the place of the submission, whatever became of that.
func (s *submitting) successor() wire.SubmitSpec {
	s.Helper()
	spec, err := jobwait.SuccessorSpec(s.spec, wire.SubmitOutcome{
		SubmissionID: s.spec.SubmissionID, Provider: s.spec.Provider, Account: s.spec.Account, Status: wire.StatusFailed, OpenedAt: time.Now(),
	}, "ana@example.com", "the disk has room again", time.Now())
	require.NoError(s, err)
	return spec
}

// again goes on as the submission in the place of this one.
func (s *submitting) again() *submitting {
	s.Helper()
	next := *s
	next.spec = s.successor()
	next.begin()
	return &next
}

// refused starts a submission that is an invalid spec, and has nothing sent.
func (s *submitting) refused(spec wire.SubmitSpec, want string) {
	s.Helper()
	before := len(s.provider.SubmitRequests())
	run, err := jobwait.StartSubmit(s.ctx, s.bed.Client, spec, jobwait.StartOptions{TaskQueue: s.queue})
	require.NoError(s, err)
	var application *temporal.ApplicationError
	require.ErrorAs(s, run.Get(s.ctx, nil), &application)
	require.Equal(s, wire.ErrorInvalidSpec, application.Type())
	require.Contains(s, application.Message(), want)
	require.Len(s, s.provider.SubmitRequests(), before, "it was submitted")
}

// failingJobs makes jobs that fail.
func failingJobs() waittest.SubmitScript {
	return waittest.SubmitScript{Job: waittest.Script(waittest.Failed("E_ROWS", "too many rows"))}
}

// R57: what ended without success is submitted again as another operation, once, whoever asks for it: its job is a second one, its
// key another, and it names what it replaces. It may be replaced in its turn.
func TestSubmittedAgainAfterTheEnd(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"demo-export", bed.ProviderPlain} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			first := newSubmitting(t, provider, failingJobs())
			first.crew.start()
			first.begin()
			failed := first.outcome()
			require.Equal(t, wire.StatusFailed, failed.Status)
			second := first.again()
			_, err := jobwait.StartSubmit(first.ctx, first.bed.Client, first.successor(), jobwait.StartOptions{TaskQueue: first.queue})
			require.ErrorAs(t, err, new(*jobwait.AlreadySubmittedError))
			outcome := second.outcome()
			_, err = jobwait.StartSubmit(first.ctx, first.bed.Client, first.successor(), jobwait.StartOptions{TaskQueue: first.queue})
			require.ErrorAs(t, err, new(*jobwait.AlreadySubmittedError), "its end does not make room for another")

			made := first.provider.Submissions()
			require.Len(t, made, 2)
			require.Equal(t, made[1].JobID, outcome.ProviderJobID)
			require.Equal(t, provider == "demo-export", made[0].Key != made[1].Key)
			require.Equal(t, &wire.Replaced{
				Predecessor: *second.spec.Predecessor, RunID: first.run.GetRunID(),
				Status: wire.StatusFailed, Reason: wire.ReasonProviderFailure, ProviderJobID: made[0].JobID,
			}, outcome.Predecessor)
			opened := second.audit()[0]
			require.Equal(t, first.spec.SubmissionID, opened.Reason)
			require.Equal(t, "failed: provider_failure; job "+made[0].JobID, opened.Detail)

			third := second.again()
			require.Equal(t, first.spec.SubmissionID+"~3", third.spec.SubmissionID)
			require.Equal(t, second.spec.SubmissionID, third.outcome().Predecessor.SubmissionID)
			require.Len(t, first.provider.Submissions(), 3)
		})
	}
}

// R57: what goes on, has succeeded, or is another's is not replaced, and nothing is sent.
func TestPredecessorThatIsNotReplaced(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		submit waittest.SubmitScript
		// become brings the submission to where it is.
		become func(s *submitting)
		want   string
	}{
		"goes on": {
			submit: waittest.SubmitScript{Job: heldJob()},
			become: func(s *submitting) { s.waitedFor() },
			want:   "goes on; wait for its end, or answer what it asks",
		},
		"succeeded": {
			submit: waittest.SubmitScript{Job: finished()},
			become: func(s *submitting) { require.Equal(s, wire.StatusSucceeded, s.outcome().Status) },
			want:   "has succeeded; its result is in its outcome",
		},
		"another's": {
			submit: waittest.SubmitScript{
				Job:    waittest.Script(waittest.State("running").Held().Times(1), waittest.Failed("E_ROWS", "too many rows")),
				NoKeys: true, Steps: []waittest.SubmitStep{{Answer: waittest.Hangup()}},
			},
			become: ownedByAnother,
			want:   "did not own its job, which is that of \"jobwait/demo-plain/acct-42/",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSubmitting(t, bed.ProviderPlain, test.submit)
			s.spec.Wait.Schedule.RequestTimeoutSeconds = new(120) // a look may be held
			s.crew.start()
			s.begin()
			test.become(s)
			made := s.provider.Submissions()
			s.refused(s.successor(), test.want)
			require.Equal(t, made, s.provider.Submissions())
			for _, job := range made {
				s.provider.Release(job.JobID)
			}
		})
	}
}

// ownedByAnother has the submission end with a job that another has waited for, and that failed.
func ownedByAnother(s *submitting) {
	s.Helper()
	open := s.escalated()
	job := s.provider.Submissions()[0].JobID
	owned := s.bed.Spec(job)
	owned.Provider, owned.Params = bed.ProviderPlain, s.spec.Params
	_, err := s.bed.StartOn(s.ctx, s.queue, owned)
	require.NoError(s, err)
	s.waitedFor()
	s.attach(open, job)
	_, err = s.bed.Until(s.ctx, s.run, func(view wire.OperationView) bool { return view.Submission.Owner != nil })
	require.NoError(s, err)
	s.provider.Release(job)
	outcome := s.outcome()
	require.Equal(s, wire.StatusFailed, outcome.Status)
	require.NotNil(s, outcome.Owner)
}

// R57: what the server does not know is not replaced, and nothing waits for it to appear; what could not be run is started under its
// own id, and its successor then.
func TestPredecessorThatNeverRan(t *testing.T) {
	t.Parallel()
	s := newSubmitting(t, "demo-export", failingJobs())
	s.crew.start()
	s.refused(s.successor(), "the server knows no workflow")
	broken := s.spec
	broken.CredentialRef = "nobody"
	s.refused(broken, "credential_ref")
	s.refused(s.successor(), "could not be run, and its submission_id is free")
	s.begin()
	require.Equal(t, wire.StatusFailed, s.outcome().Status)
	require.Equal(t, wire.StatusFailed, s.again().outcome().Status)
	require.Len(t, s.provider.Submissions(), 2)
}

// R57: a submission that was terminated has left open whether there is a job. A reset asks a person, and what came of that may be
// replaced.
func TestPredecessorThatWasTerminated(t *testing.T) {
	t.Parallel()
	s := newSubmitting(t, bed.ProviderPlain, waittest.SubmitScript{
		Job: finished(), NoKeys: true, Steps: []waittest.SubmitStep{{NoJob: true, Answer: waittest.Hangup()}, {}},
	})
	s.crew.start()
	s.begin()
	s.escalated()
	task := s.taskBefore(never)
	require.NoError(t, s.bed.Client.TerminateWorkflow(s.ctx, s.run.GetID(), "", "a test"))
	s.refused(s.successor(), "left open whether there is a job; reset it: it goes on, or asks")

	reset, err := s.bed.Reset(s.ctx, s.run, task)
	require.NoError(t, err)
	s.run = reset
	open := s.escalated()
	s.refused(s.successor(), "goes on; wait for its end, or answer what it asks")
	s.decide(decision(wire.DecisionClose, open.ID, "d-1"))
	require.Equal(t, wire.StatusUnresolved, s.outcome().Status)
	outcome := s.again().outcome()
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, wire.StatusUnresolved, outcome.Predecessor.Status)
	require.Len(t, s.provider.Submissions(), 1)
}

// R31, R57: a successor that is reset asks a person, and does not ask again for a predecessor that the server may have forgotten since.
func TestSuccessorIsReset(t *testing.T) {
	t.Parallel()
	first := newSubmitting(t, bed.ProviderPlain, waittest.SubmitScript{
		Job: heldJob(), NoKeys: true, Steps: []waittest.SubmitStep{{NoJob: true, Answer: waittest.Step{Status: 422}}, {}},
	})
	first.spec.Wait.Schedule.RequestTimeoutSeconds = new(120) // the job's first look is held
	first.crew.start()
	run, err := jobwait.StartSubmit(first.ctx, first.bed.Client, first.spec, jobwait.StartOptions{TaskQueue: first.queue})
	require.NoError(t, err)
	require.NoError(t, run.Get(first.ctx, nil))
	s := first.again()
	job := s.waitedFor()
	s.followsStarted()
	s.forgotten(run)

	reset, err := s.bed.Reset(s.ctx, s.run, s.taskBefore(scheduled(wire.ActivityPrepareSubmission)))
	require.NoError(t, err)
	s.run = reset
	open := s.escalated()
	require.Equal(t, wire.ReasonHistoryReset, open.Reason)
	require.Contains(t, open.Message, "\nin place of: "+first.spec.SubmissionID+", decided by ana@example.com: the disk has room again\n")
	s.attach(open, job)
	s.released(job)
	outcome := s.outcome()
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, &wire.Replaced{Predecessor: *s.spec.Predecessor}, outcome.Predecessor)
	require.Len(t, s.provider.Submissions(), 1)
}

// forgotten has the server forget a run that has ended, as a namespace's retention does.
func (s *submitting) forgotten(run client.WorkflowRun) {
	s.Helper()
	_, err := s.bed.Client.WorkflowService().DeleteWorkflowExecution(s.ctx, &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: s.bed.Namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: run.GetID(), RunId: run.GetRunID()},
	})
	require.NoError(s, err)
	require.NoError(s, eventually(s.ctx, func() bool {
		_, err := s.bed.Client.DescribeWorkflow(s.ctx, run.GetID(), run.GetRunID())
		return err != nil
	}))
}
