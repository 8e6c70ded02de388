package activities

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// underBoth is what the tables of these tests have in common.
const underBoth = `
provider: demo-export
title: Of a test
sources: {t: {at: this test, read: 2026-11-29, for: [params, request, state, states, success_requires]}}
read_only: {source: t}
params: {port: {pattern: "^[1-9][0-9]{0,4}$", default: "8090", about: where it listens}}
state: body.state
states: {pending: [running], success: [succeeded], failure: [failed]}
success_requires: {none: there is nothing to carry away}
examples:
  - {name: running, given: {body: {state: running}}, want: {category: pending, raw_state: running}}
  - {name: succeeded, given: {body: {state: succeeded}}, want: {category: success, raw_state: succeeded}}
  - {name: failed, given: {body: {state: failed}}, want: {category: failure, raw_state: failed}}
`

// handedOut is a table of a provider that says in a header where the job is.
const handedOut = underBoth + `
request:
  url: "{status_url}"
  status_url_query: [api-version]
  origins: ["http://127.0.0.1:*"]
  auth: {scheme: bearer}
  allow_private_network: true
submit:
  idempotency: none
  source: t
  request: {method: POST, url: "http://127.0.0.1:{params.port}/v1/jobs", source: t}
  answer: {job_id: 'FROM', status_url: 'header["header"]', source: t}
  examples:
    - name: accepted
      given: {status: 202, headers: {HEADER: "http://127.0.0.1:8090/v1/operations/op-7?api-version=1"}, body: {id: op-7}}
      want: {verdict: accepted, job_id: op-7, status_url: "http://127.0.0.1:8090/v1/operations/op-7?api-version=1"}
    - name: accepted, and to be asked elsewhere
      given: {status: 202, headers: {HEADER: "https://elsewhere.example.com/v1/operations/op-7"}, body: {id: op-7}}
      want: {verdict: accepted, job_id: op-7, detail: status_url}
example_job: {id: op-1, status_url: "http://127.0.0.1:8090/v1/operations/op-1"}
`

// handedOutIn is the table of a header, with the job's id from there.
func handedOutIn(header, from string) string {
	return strings.NewReplacer("FROM", from, "HEADER", header, `"header"`, `"`+strings.ToLower(header)+`"`).Replace(handedOut)
}

// chosen is a table of a provider at which the caller chooses the job's id, in the URL.
const chosen = underBoth + `
request:
  url: "http://127.0.0.1:{params.port}/v2/instances/{job_id}"
  origins: ["http://127.0.0.1:*"]
  auth: {scheme: bearer}
  allow_private_network: true
submit:
  idempotency: client_id
  name: id
  source: t
  request: {method: PUT, url: "http://127.0.0.1:{params.port}/v2/instances/{key}", query: {accepts_incomplete: "true"}, source: t}
  answer: {accepted: [201, 202], exists: [200, 409], source: t}
  examples:
    - {name: accepted, key: k-1, given: {status: 202, body: {}}, want: {verdict: accepted, job_id: k-1}}
    - {name: there already, key: k-1, given: {status: 200, body: {}}, want: {verdict: accepted, job_id: k-1, detail: key_used}}
example_job: {id: op-1}
`

func (w *world) tabled(text string) {
	w.t.Helper()
	tables, err := statetables.Load(statetables.Source{FS: fstest.MapFS{"demo-export.yaml": {Data: []byte(text)}}})
	require.NoError(w.t, err)
	w.options.Tables = tables
}

// submitAndLook submits once, and asks once for the job that the answer names.
func (w *world) submitAndLook() (wire.SubmitResult, wire.PollResult) {
	w.t.Helper()
	request := w.submitRequest()
	var result wire.SubmitResult
	require.NoError(w.t, w.run(wire.ActivitySubmit, request, &result))
	require.NotNil(w.t, result.Job, "%+v", result)
	target := request.Target
	target.ProviderJobID, target.StatusURL = result.Job.ProviderJobID, result.Job.StatusURL
	return result, w.poll(func(poll *wire.PollRequest) { poll.Target = target })
}

// What the answer to a submission says of where the job is, is where it is asked for, whatever the header is called and however the
// URL is written.
func TestWhereTheAnswerSaysThatTheJobIs(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"Location", "Operation-Location", "Azure-AsyncOperation"} {
		for form, written := range map[string]string{
			"whole":       "http://HOST/v1/operations/op-7",
			"with query":  "http://HOST/v1/operations/op-7?api-version=2026-01-01",
			"without one": "/v1/operations/op-7",
		} {
			t.Run(header+" "+form, func(t *testing.T) {
				t.Parallel()
				asked := make(chan string, 2)
				w := newWorld(t, func(out http.ResponseWriter, request *http.Request) {
					asked <- request.Method + " " + request.URL.RequestURI()
					if request.Method == http.MethodPost {
						out.Header().Set(header, strings.Replace(written, "HOST", request.Host, 1))
						out.WriteHeader(http.StatusAccepted)
						return
					}
					_, _ = fmt.Fprint(out, `{"state": "running"}`)
				})
				w.tabled(handedOutIn(header, `last_segment(header["`+strings.ToLower(header)+`"])`))
				result, polled := w.submitAndLook()
				require.Equal(t, wire.SubmitAccepted, result.Verdict)
				require.Equal(t, "op-7", result.Job.ProviderJobID)
				require.Equal(t, "POST /v1/jobs", <-asked)
				require.Equal(t, "GET "+strings.TrimPrefix(written, "http://HOST"), <-asked)
				require.Equal(t, "running", polled.Observation.Job.RawState)
			})
		}
	}
}

// begun is a table of a provider that takes submissions in another way: what is written for REQUEST.
const begun = underBoth + `
request: {url: "http://127.0.0.1:{params.port}/v1/jobs/{job_id}", auth: {scheme: bearer}, allow_private_network: true}
submit:
  idempotency: header
  name: Idempotency-Key
  source: t
  request: {REQUEST, source: t}
  answer: {job_id: body.id, source: t}
  examples: [{name: taken, given: {status: 202, body: {id: op-7}}, want: {verdict: accepted, job_id: op-7}}]
example_job: {id: op-1}
`

// A provider that takes forms gets one, and one that begins its jobs by a GET gets that without a body: once, with key and credential.
func TestSubmissionsOfOtherKinds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ request, body, line, kind, sent string }{
		"form": {
			`method: POST, url: "http://127.0.0.1:{params.port}/v1/jobs", send_as: form`, `{"to": "a b", "at": {"from": 9007199254740993}}`,
			"POST /v1/jobs", "application/x-www-form-urlencoded", "at%5Bfrom%5D=9007199254740993&to=a+b",
		},
		"GET": {`method: GET, url: "http://127.0.0.1:{params.port}/v1/$export", query: {_type: "Patient,Device"}`, "", "GET /v1/$export?_type=Patient%2CDevice", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, answers(http.StatusAccepted, `{"id": "op-7"}`))
			w.tabled(strings.Replace(begun, "REQUEST", test.request, 1))
			request := w.submitRequestOf(test.body)
			var result wire.SubmitResult
			require.NoError(t, w.run(wire.ActivitySubmit, request, &result))
			require.Equal(t, wire.SubmitAccepted, result.Verdict, "%+v", result)
			require.Equal(t, "op-7", result.Job.ProviderJobID)
			require.Len(t, w.saw(), 1)
			sent := w.saw()[0]
			require.Equal(t, test.line, sent.Method+" "+sent.RequestURI)
			require.Equal(t, test.sent, w.bodies[0])
			require.Equal(t, test.kind, sent.Header.Get("Content-Type"))
			require.Equal(t, request.Key, sent.Header.Get("Idempotency-Key"))
			require.Equal(t, "Bearer "+marker, sent.Header.Get("Authorization"))
		})
	}
}

// R7, R56: a code by which the job is over says so beside an answer that can be read, or beside none.
func TestSubmissionDoneAtOnceByAWholeAnswer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body, coding string
		done         bool
	}{
		"in words": {body: `{"state": "succeeded"}`, done: true}, "without": {done: true}, "a coding": {body: "?", coding: "br"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, answers(http.StatusCreated, test.body, "Location", "/v1/jobs/op-7", "Content-Encoding", test.coding))
			w.tabled(strings.NewReplacer(
				"REQUEST", `method: POST, url: "http://127.0.0.1:{params.port}/v1/jobs"`,
				"{job_id: body.id,", `{done: [201], job_id: 'last_segment(header["location"])',`,
				"status: 202, body: {id: op-7}}", "status: 201, headers: {Location: /v1/jobs/op-7}}", "job_id: op-7}", "job_id: op-7, category: success}",
			).Replace(begun))
			var result wire.SubmitResult
			require.NoError(t, w.run(wire.ActivitySubmit, w.submitRequest(), &result))
			require.Equal(t, wire.SubmitAccepted, result.Verdict, "%+v", result)
			require.Equal(t, "op-7", result.Job.ProviderJobID)
			require.Equal(t, test.done, result.Observation.Job != nil)
		})
	}
}

// R51, R56: a job that is to be asked for where nothing may go is known all the same, and the URL is not kept.
func TestJobThatIsToBeAskedForElsewhere(t *testing.T) {
	t.Parallel()
	for name, elsewhere := range map[string]string{
		"another host": "https://elsewhere.example.com/v1/op-7", "another host, same scheme": "//elsewhere.example.com/v1/op-7",
		"a user": "http://127.0.0.1:1@elsewhere.example.com/op-7", "a query": "/v1/op-7?token=hidden-word",
		"relative": "op-7", "malformed": "http://[::1/op-7", "too long": "/" + strings.Repeat("x", 20_000), "none": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, answers(http.StatusAccepted, `{"id": "op-7"}`, "Location", elsewhere))
			w.tabled(handedOutIn("Location", "body.id"))
			var result wire.SubmitResult
			require.NoError(t, w.run(wire.ActivitySubmit, w.submitRequest(), &result))
			require.Equal(t, wire.SubmitAccepted, result.Verdict)
			require.Equal(t, &wire.SubmittedJob{ProviderJobID: "op-7", Unusable: wire.DetailURLRejected}, result.Job)
		})
	}
}

// An id that the caller chooses stands in the URL that the job is made at, and in the one at which it is asked for. Who sends it again
// meets the same job.
func TestJobWhoseIDTheCallerChooses(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 4)
	w := newWorld(t, func(out http.ResponseWriter, request *http.Request) {
		asked <- request.Method + " " + request.URL.RequestURI()
		if request.Method == http.MethodPut && len(asked) > 2 {
			out.WriteHeader(http.StatusConflict)
			return
		}
		if request.Method == http.MethodPut {
			out.WriteHeader(http.StatusAccepted)
		}
		_, _ = fmt.Fprint(out, `{"state": "running"}`)
	})
	w.tabled(chosen)
	request := w.submitRequest()
	result, polled := w.submitAndLook()
	require.Equal(t, wire.SubmitAccepted, result.Verdict)
	require.Equal(t, request.Key, result.Job.ProviderJobID)
	require.Equal(t, "running", polled.Observation.Job.RawState)
	again, _ := w.submitAndLook()
	require.Equal(t, wire.DetailKeyUsed, again.Detail)
	require.Equal(t, request.Key, again.Job.ProviderJobID)
	for range 2 {
		require.Equal(t, "PUT /v2/instances/"+request.Key+"?accepts_incomplete=true", <-asked)
		require.Equal(t, "GET /v2/instances/"+request.Key, <-asked)
	}
}
