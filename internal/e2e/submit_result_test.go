package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait"
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

// fetched carries what the outcome has as its file, or what stands at another URL.
func (s *submitting) fetched(outcome wire.SubmitOutcome, at string) wire.FetchOutcome {
	s.Helper()
	spec, err := jobwait.NewSubmittedFetchSpec(s.spec, outcome, "file")
	require.NoError(s, err)
	spec.URL, spec.Destination, spec.Key = at, "reports", "rows.csv"
	spec.MaxBytes, spec.DeadlineAt = 1<<20, s.spec.Wait.DeadlineAt
	return fetched(s.ctx, s.T, s.bed, s.queue, spec)
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
