package statetables

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

const doneSection = `submit:
  idempotency: none
  source: docs
  request: {method: POST, url: "https://api.example.com/jobs", source: docs}
  answer: {done: [201], job_id: 'last_segment(header["location"])', source: docs}
  examples:
    - name: done
      given: {status: 201, headers: {Location: /jobs/j-2}, body: {output: o-2}}
      want: {verdict: accepted, job_id: j-2, category: success}
`

// R4, R6, R56: a code that says that the job is over makes a success as a status answer does: with its result, proven or not, and
// not where the answer is about another job or has a field of another type.
func TestSubmissionThatIsDoneAtOnce(t *testing.T) {
	t.Parallel()
	head, err := os.ReadFile("testdata/right/acme-jobs.yaml")
	require.NoError(t, err)
	set, err := Load(Source{FS: fstest.MapFS{"acme-jobs.yaml": {Data: append(head, doneSection...)}}})
	require.NoError(t, err)
	table, _ := set.Table("acme-jobs")
	success := func(result map[string]string, unproven ...string) *wire.JobFact {
		return &wire.JobFact{RawState: "http_201", Category: wire.CategorySuccess, Result: result, Unproven: unproven}
	}
	for name, test := range map[string]struct {
		status int
		body   string
		want   *wire.JobFact
	}{
		"with a result":        {status: 201, body: `{"output": "o-2"}`, want: success(map[string]string{"output": "o-2"})},
		"without one":          {status: 201, body: `{}`, want: success(nil, "output")},
		"no body":              {status: 201, want: success(nil, "output")},
		"about another job":    {status: 201, body: `{"id": "j-3", "output": "o-2"}`},
		"a result of no kind":  {status: 201, body: `{"output": true}`},
		"a page":               {status: 201, body: `<html>welcome</html>`},
		"another code":         {status: 202, body: `{"output": "o-2"}`},
		"a state that is over": {status: 200, body: `{"id": "j-2", "status": "done", "output": "o-2"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := table.ReadSubmission(wire.Target{Provider: "acme-jobs", Account: "a"}, "", "https://api.example.com/jobs", Response{
				Status: test.status, Body: []byte(test.body), Header: map[string][]string{"Location": {"/jobs/j-2"}}, ReceivedAt: now,
			})
			require.Equal(t, wire.SubmitAccepted, got.Verdict)
			require.Equal(t, "j-2", got.Job.ProviderJobID)
			require.Equal(t, test.want, got.Observation.Job)
		})
	}
}
