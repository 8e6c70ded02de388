package whole_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// destination has the workers of a submission carry results into a directory, as "reports".
func (s *submitting) destination() (dir string) {
	s.Helper()
	dir = s.TempDir()
	file := filepath.Join(s.TempDir(), "destinations.yaml")
	require.NoError(s, os.WriteFile(file, []byte("destinations: {reports: {url: 'file://"+dir+"?no_tmp_dir=true'}}"), 0o600))
	s.crew.flags = append(s.crew.flags, "--destinations", file)
	return dir
}

// fetched carries what the outcome has under a name, or what stands at another URL, and replays how.
func (s *submitting) fetched(outcome wire.SubmitOutcome, at string) wire.FetchOutcome {
	s.Helper()
	spec := wire.FetchSpec{
		OperationID: outcome.SubmissionID, Provider: outcome.Provider, Account: outcome.Account, ProviderJobID: outcome.ProviderJobID,
		StatusURL: outcome.StatusURL, CredentialRef: s.spec.CredentialRef,
		ResultName: "file", URL: at, Destination: "reports", Key: "rows.csv", MaxBytes: 1 << 20, DeadlineAt: s.spec.Wait.DeadlineAt,
	}
	run, err := s.bed.Client.ExecuteWorkflow(s.ctx, client.StartWorkflowOptions{
		ID: wire.FetchWorkflowID(spec), TaskQueue: s.queue,
	}, wire.WorkflowFetchResult, spec)
	require.NoError(s, err)
	var fetched wire.FetchOutcome
	require.NoError(s, run.Get(s.ctx, &fetched))
	history, err := waittest.FetchHistory(s.ctx, s.bed.Client, run.GetID(), run.GetRunID())
	require.NoError(s, err)
	require.NoError(s, waittest.ReplayStrictly(history, waittest.ReplayOptions{}))
	return fetched
}

// R51: a result that the answer to the submission tells, and no status repeats, is in the outcome, and is fetched from there with
// the credential, whether the job was waited for or finished at once. What no outcome names is not.
func TestResultThatTheSubmissionTells(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]string{"of a job that is waited for": "queued", "of a job that is finished at once": "succeeded"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSubmitting(t, bed.ProviderTelling, waittest.SubmitScript{Job: finished()})
			file := s.provider.StatusURL("rows") // what is there is asked for with the credential only
			require.NoError(t, s.provider.Set("rows", waittest.Script(waittest.Raw("text/csv", "a,b\n"))))
			require.NoError(t, s.provider.Set("private", waittest.Script(waittest.Raw("text/csv", "c,d\n"))))
			require.NoError(t, s.provider.TakeSubmissions(waittest.SubmitScript{
				Job:   waittest.Script(waittest.State("running"), waittest.State("succeeded")),
				Steps: []waittest.SubmitStep{{Answer: waittest.Step{State: state, ResultURL: file}}},
			}))
			dir := s.destination()
			s.crew.start()
			s.begin()
			outcome := s.outcome()
			require.Equal(t, wire.StatusSucceeded, outcome.Status, outcome.Detail)
			require.Equal(t, map[string]string{"file": file}, outcome.Result)
			require.Equal(t, state == "queued", outcome.Wait != nil)

			refused := s.fetched(outcome, s.provider.StatusURL("private"))
			require.Equal(t, wire.FetchReferenceRejected, refused.Reason)
			require.Empty(t, s.provider.Log("private"))

			fetched := s.fetched(outcome, outcome.Result["file"])
			require.Equal(t, wire.FetchDone, fetched.Status, fetched.Detail)
			rows, err := os.ReadFile(filepath.Join(dir, "rows.csv"))
			require.NoError(t, err)
			require.Equal(t, "a,b\n", string(rows))
			require.Len(t, s.provider.Log("rows"), 1)
		})
	}
}
