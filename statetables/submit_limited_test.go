package statetables

import (
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

const limitedSubmission = `submit:
  idempotency: none
  source: docs
  request: {method: POST, url: "https://api.example.com/jobs", source: docs}
  answer: {job_id: body.id, source: docs}
  examples:
    - name: taken
      given: {status: 201, body: {id: j-2}}
      want: {verdict: accepted, job_id: j-2}
`

// R56: who is told that there were too many requests has made nothing, by HTTP's own code and by what the table documents for
// another one, unless the table says of the code what it means here.
func TestSubmissionThatIsRateLimited(t *testing.T) {
	t.Parallel()
	left := http.Header{"X-Left": {"0"}}
	for name, test := range map[string]struct {
		answer string // of the table
		status int
		header http.Header
		body   string
		want   wire.SubmitVerdict
	}{
		"429":                        {"", 429, nil, "", wire.SubmitLater},
		"429 beside a page":          {"", 429, nil, "<html>", wire.SubmitLater},
		"429, where others are said": {"later: [503]", 429, nil, "", wire.SubmitAmbiguous},
		"429, where none is":         {"later: []", 429, nil, "", wire.SubmitAmbiguous},
		"429 of a full account":      {"refused: [429]", 429, nil, "", wire.SubmitRefused},
		"a header":                   {"", 403, left, "", wire.SubmitLater},
		"a header with 429":          {"later: []", 429, left, "", wire.SubmitLater},
		"the body":                   {"", 403, nil, `{"error": {"reason": "tooFast"}}`, wire.SubmitLater},
		"another reason":             {"", 403, nil, `{"error": {"reason": "forbidden"}}`, wire.SubmitRefused},
		"instead of a 503":           {"", 503, left, "", wire.SubmitLater},
		"503":                        {"", 503, nil, "", wire.SubmitAmbiguous},
		"a job all the same":         {"", 201, left, `{"id": "j-2"}`, wire.SubmitAccepted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := limitedTable + limitedSubmission
			if test.answer != "" {
				text = strings.Replace(text, "answer: {job_id: body.id", "answer: {"+test.answer+", job_id: body.id", 1)
			}
			set, err := Load(Source{FS: fstest.MapFS{"limited.yaml": {Data: []byte(text)}}})
			require.NoError(t, err)
			limited, _ := set.Table("limited")
			header := http.Header{"Retry-After": {"7"}}
			for name, values := range test.header {
				header[name] = values
			}
			got := limited.ReadSubmission(wire.Target{Provider: "limited"}, "", "https://api.example.com/jobs", Response{
				Status: test.status, Header: header, Body: []byte(test.body), ReceivedAt: now,
			})
			require.Equal(t, test.want, got.Verdict)
			require.EqualValues(t, 7, *got.Observation.Guidance.RetryAfterSeconds, "R16")
			if test.want == wire.SubmitLater {
				require.Equal(t, wire.AnswerRateLimited, got.Observation.Answer)
			}
		})
	}
}
