package waittest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/waittest"
)

// submit posts a body with an idempotency key and returns the status, the Location and the job.
func submit(t *testing.T, p *waittest.Provider, key, body string) (status int, location, job string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL()+"/exports", strings.NewReader(body))
	require.NoError(t, err)
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	var fields struct {
		JobID string `json:"job_id"`
	}
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	if len(text) > 0 {
		require.NoError(t, json.Unmarshal(text, &fields))
	}
	return answer.StatusCode, answer.Header.Get("Location"), fields.JobID
}

func takes(t *testing.T, script waittest.SubmitScript) *waittest.Provider {
	t.Helper()
	p, err := waittest.NewProvider(waittest.ProviderOptions{Script: waittest.ProviderScript{Submit: &script}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// A key makes one job however often it is sent, no key makes one each time, and a job whose id was chosen is there once.
func TestSubmissionsAreKnownByTheirKey(t *testing.T) {
	t.Parallel()
	p := takes(t, waittest.SubmitScript{Job: waittest.Script(waittest.State("running"))})
	status, location, first := submit(t, p, "k", `{"report": "a"}`)
	require.Equal(t, http.StatusAccepted, status)
	require.Equal(t, "/exports/"+first, location)
	_, _, again := submit(t, p, "k", `{"report": "a"}`)
	require.Equal(t, first, again)
	_, _, other := submit(t, p, "", `{}`)
	require.NotEqual(t, first, other)

	status, _, chosen := submit(t, p, "", `{"job_id": "mine", "report": "b"}`)
	require.Equal(t, http.StatusAccepted, status)
	require.Equal(t, "mine", chosen)
	status, location, chosen = submit(t, p, "", `{"job_id": "mine", "report": "b"}`)
	require.Equal(t, http.StatusConflict, status)
	require.Equal(t, "/exports/mine", location)
	require.Equal(t, "mine", chosen)

	require.Equal(t, []waittest.Submission{
		{JobID: first, Key: "k", Report: "a", Requests: 2}, {JobID: other, Requests: 1}, {JobID: "mine", Key: "mine", Report: "b", Requests: 2},
	}, p.Submissions())
	log := p.SubmitRequests()
	require.Len(t, log, 5)
	require.True(t, log[0].Made)
	require.False(t, log[1].Made)
	require.Equal(t, "k", log[1].IdempotencyKey)
	require.Equal(t, "mine", log[4].IdempotencyKey)
	require.Equal(t, "b", log[4].Report)
}

// Submissions of a report have a script of their own, and what is of none is not taken.
func TestSubmissionsByReport(t *testing.T) {
	t.Parallel()
	p := takes(t, waittest.SubmitScript{Reports: map[string]waittest.SubmitScript{
		"a": {Job: waittest.Script(waittest.State("running")), Steps: []waittest.SubmitStep{{NoJob: true, Answer: waittest.Status(503)}, {}}},
		"b": {Job: waittest.Script(waittest.State("failed"))},
	}})
	status, _, job := submit(t, p, "", `{"report": "a"}`)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Empty(t, job)
	_, _, failed := submit(t, p, "", `{"report": "b"}`)
	require.NotEmpty(t, failed)
	_, _, made := submit(t, p, "", `{"report": "a"}`)
	require.NotEmpty(t, made)
	status, _, _ = submit(t, p, "", `{"report": "c"}`)
	require.Equal(t, http.StatusNotFound, status)
	require.Len(t, p.Submissions(), 2)

	answer, err := http.Get(p.URL() + "/_submissions") //nolint:noctx // a test's own server
	require.NoError(t, err)
	defer answer.Body.Close()
	var told []waittest.Submission
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&told))
	require.Equal(t, p.Submissions(), told)
}

// A provider that comes back knows the keys of before, and gives no job's id to another.
func TestSubmissionsOfBefore(t *testing.T) {
	t.Parallel()
	before := waittest.Submission{JobID: "exp_s1_x", Key: "k", Report: "a", Requests: 1}
	p := takes(t, waittest.SubmitScript{Job: waittest.Script(waittest.State("running")), Made: []waittest.Submission{before}})
	_, _, known := submit(t, p, "k", `{"report": "a"}`)
	require.Equal(t, before.JobID, known)
	_, _, fresh := submit(t, p, "l", `{"report": "a"}`)
	require.True(t, strings.HasPrefix(fresh, "exp_s2_"), fresh)
	require.Equal(t, 2, p.Submissions()[0].Requests)
}

func TestSubmitScriptIsValidated(t *testing.T) {
	t.Parallel()
	running := waittest.Script(waittest.State("running"))
	for want, script := range map[string]waittest.SubmitScript{
		"no steps":                   {},
		`report "a": submit: job`:    {Reports: map[string]waittest.SubmitScript{"a": {}}},
		"reports or made of its own": {Reports: map[string]waittest.SubmitScript{"a": {Job: running, Made: []waittest.Submission{{}}}}},
		"step 1":                     {Job: running, Steps: []waittest.SubmitStep{{Answer: waittest.Status(9)}}},
	} {
		require.ErrorContains(t, script.Validate(), want)
	}
}
