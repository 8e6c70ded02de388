package statetables

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

// An id that is not UTF-8 would stand in history as another one: there is a job, and its id is not known.
func TestJobIDThatIsNotUTF8(t *testing.T) {
	t.Parallel()
	data, err := fs.ReadFile(Demo(), "demo-export.yaml")
	require.NoError(t, err)
	text := strings.Replace(string(data), "    job_id: body.job_id\n    status_url", "    job_id: header[\"x-job\"]\n    status_url", 1)
	before, _, found := strings.Cut(text, "  examples:\n    - name: accepted\n")
	require.True(t, found)
	_, after, _ := strings.Cut(text[len(before):], "\n\n")
	text = before + `  examples:
    - name: accepted
      given: {status: 202, headers: {Location: "http://127.0.0.1:8090/exports/exp_72", X-Job: exp_72}, body: {}}
      want: {verdict: accepted, job_id: exp_72, status_url: "http://127.0.0.1:8090/exports/exp_72"}

` + after
	set, err := Load(Source{FS: fstest.MapFS{"demo-export.yaml": {Data: []byte(text)}}})
	require.NoError(t, err)
	table, _ := set.Table("demo-export")
	reading := table.ReadSubmission(wire.Target{Provider: "demo-export", Account: "acct-42", Params: map[string]string{"port": "8090"}}, "key",
		"http://127.0.0.1:8090/exports", Response{
			Status: 202, Header: map[string][]string{"Location": {"/exports/1"}, "X-Job": {"exp_\xff"}}, Body: []byte(`{}`),
		})
	require.Equal(t, wire.SubmitAmbiguous, reading.Verdict, "%+q", reading.Job)
	require.Equal(t, wire.DetailNoJobID, reading.Detail)
}
