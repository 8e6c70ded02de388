package statetables

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

// toldTable is of a provider that says with the submission alone where the result will be.
const toldTable = `provider: told
title: Told
sources: {docs: {at: page, read: 2026-01-31, for: [params, request, state, states, success_requires, result]}}
read_only: {source: docs}
params: {result_url: {pattern: '^(https://files\.example\.com/.+)?$', default: "", about: where the result is}}
request: {url: "https://api.example.com/jobs/{job_id}", auth: {scheme: bearer}}
state: body.state
states: {pending: [running], success: [done]}
success_requires: {result: 'given(params.result_url)'}
result:
  file: either(body.result_url, params.result_url)
submit:
  idempotency: none
  source: docs
  request: {method: POST, url: "https://api.example.com/jobs", source: docs}
  answer: {job_id: body.id, params: {result_url: body.result_url}, read_as: status, source: docs}
  examples:
    - name: taken
      given: {status: 201, body: {id: j-2, result_url: "https://files.example.com/2"}}
      want: {verdict: accepted, job_id: j-2, params: {result_url: "https://files.example.com/2"}}
example_job: {id: "1"}
examples:
  - name: running
    given: {body: {state: running}}
    want: {category: pending, raw_state: running}
`

// R14, R51: where the answer to a submission says that the result is, is kept as it stands if the table takes it, is a result
// of the job from then on, and is bounded. What the answer does not say is left out.
func TestResultThatTheSubmissionTells(t *testing.T) {
	t.Parallel()
	set, err := Load(Source{FS: fstest.MapFS{"told.yaml": {Data: []byte(toldTable)}}})
	require.NoError(t, err)
	told, _ := set.Table("told")
	const here = "https://files.example.com/2?signature=1"
	for name, test := range map[string]struct {
		fields map[string]any
		params map[string]string
		detail string
		result map[string]string // of a job that was done at once
	}{
		"told":             {map[string]any{"result_url": here}, map[string]string{"result_url": here}, "", nil},
		"told, and done":   {map[string]any{"result_url": here, "state": "done"}, map[string]string{"result_url": here}, "", map[string]string{"file": here}},
		"not told":         {nil, nil, "", nil},
		"null":             {map[string]any{"result_url": nil}, nil, "", nil},
		"elsewhere":        {map[string]any{"result_url": "https://elsewhere.example.com/2"}, nil, "no_param_result_url", nil},
		"of another kind":  {map[string]any{"result_url": []int{1}}, nil, "", nil},
		"longer than read": {map[string]any{"result_url": here + strings.Repeat("x", maxReferenceBytes)}, nil, "no_param_result_url", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fields := map[string]any{"id": "j-2"}
			for field, value := range test.fields {
				fields[field] = value
			}
			body, err := json.Marshal(fields)
			require.NoError(t, err)
			got := told.ReadSubmission(wire.Target{Provider: "told"}, "", "https://api.example.com/jobs", Response{Status: 201, Body: body, ReceivedAt: now})
			require.Equal(t, wire.SubmitAccepted, got.Verdict)
			require.Equal(t, test.detail, got.Detail)
			require.Equal(t, test.params, got.Job.Params)
			require.Equal(t, test.result != nil, got.Observation.Job != nil)
			if test.result != nil {
				require.Equal(t, test.result, got.Observation.Job.Result)
			}
			later := told.Classify(wire.Target{Provider: "told", ProviderJobID: "j-2", Params: got.Job.Params}, wire.ReadingContext{}, Response{
				Status: 200, Body: []byte(`{"state": "done"}`), ReceivedAt: now,
			})
			require.Equal(t, test.params["result_url"], later.Job.Result["file"])
			require.Equal(t, test.params == nil, len(later.Job.Unproven) > 0)
		})
	}
}
