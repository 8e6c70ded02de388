package e2e_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// R28, R29, R45, R47, R51, X3: what cannot be run fails as InvalidSpec with one line that names the value, the rule and
// the way out, and nothing is sent.
func TestBadSpecs(t *testing.T) {
	t.Parallel()
	work(t, shared, bed.WorkerOptions{TaskQueue: "strict", Policy: activities.Policy{Caps: activities.Caps{
		MaxDeadlineSeconds: new(3600), MaxStatusRequests: new(100), MaxTransportFailures: new(10), MaxExtensions: new(2),
	}}})
	for name, c := range map[string]struct {
		change func(fields)
		wants  []string
	}{
		"no deadline":           {without("deadline_at"), []string{"deadline_at is missing", "it has no default", "set the time"}},
		"no request budget":     {without("max_status_requests"), []string{"max_status_requests is missing", "it has no default", "set it to 1 to"}},
		"no transport budget":   {without("max_transport_failures"), []string{"max_transport_failures is missing", "set it to 1 to"}},
		"unknown field":         {with("max_status_request", 12), []string{`field "max_status_request" is not known`}},
		"field in another case": {with("Deadline_At", "2030-01-01T00:00:00Z"), []string{`field "Deadline_At" is not known`}},
		"unknown nested field":  {with("schedule", fields{"base_delay": 5}), []string{`field "schedule.base_delay" is not known`}},
		"wrong type":            {with("max_status_requests", "12"), []string{`field "max_status_requests": a string where a whole number belongs`}},
		"no time":               {with("deadline_at", "tomorrow"), []string{`field "deadline_at"`, "RFC 3339"}},
		"deadline before the start": {
			with("deadline_at", "2025-04-18T09:00:00Z"), []string{"deadline_at 2025-04-18T09:00:00Z is not after the start of the wait"},
		},
		"deadline before submission": {
			with("submitted_at", "2125-04-18T10:20:00Z"), []string{"deadline_at 20", "is before submitted_at 2125-04-18T10:20:00Z"},
		},
		"negative budget":          {with("max_status_requests", -1), []string{"max_status_requests is -1, allowed is 1 to"}},
		"deadline beyond policy":   {with("deadline_at", at(2*time.Hour).UTC().Format(time.RFC3339)), []string{"deadline_at 20", "more than the 3600 seconds", "policy"}},
		"requests beyond policy":   {with("max_status_requests", 1_000_000), []string{"max_status_requests is 1000000", "policy allows at most 100"}},
		"failures beyond policy":   {with("max_transport_failures", 11), []string{"max_transport_failures is 11", "policy allows at most 10"}},
		"extensions beyond policy": {with("escalation", fields{"max_extensions": 3}), []string{"escalation.max_extensions is 3", "policy allows at most 2"}},
		"unknown provider":         {with("provider", "demo-import"), []string{`provider "demo-import" has no state table`, "demo-export"}},
		"unknown credential":       {with("credential_ref", "root"), []string{`credential_ref: unknown credential "root"`}},
		"no credential":            {without("credential_ref"), []string{"credential_ref is empty", "wants a credential"}},
		"empty account":            {with("account", ""), []string{"account is missing", "1 to 256 characters"}},
		"no operation":             {without("operation_id"), []string{"operation_id is missing"}},
		"job id too long":          {with("provider_job_id", strings.Repeat("j", 300)), []string{"provider_job_id has 300 characters, at most 256"}},
		"job id of control bytes":  {with("provider_job_id", "a\nb"), []string{`provider_job_id "a\nb" has control characters`}},
		"undeclared param":         {with("params", fields{"region": "eu"}), []string{`params: "region" is not a param of demo-export`}},
		"job id that leads upwards": {
			elsewhere("openai-batch", "..", nil), []string{`job_id ".." cannot stand in a path`},
		},
		"job id that climbs": {
			elsewhere("openai-batch", "../../x", nil), []string{`job_id "../../x" cannot stand in a path`},
		},
		"missing param": {
			elsewhere("github-actions-run", "7", fields{"owner": "octo"}), []string{"params: repo is missing", "matching"},
		},
		"ill-formed param": {
			elsewhere("github-actions-run", "8", fields{"owner": "octo/x", "repo": "demo"}), []string{`params: owner "octo/x" does not match`},
		},
		"another account": {
			elsewhere("github-actions-run", "9", fields{"owner": "octo", "repo": "demo"}), []string{`account "acct-42" must be "octo/demo"`},
		},
		"unlisted expected state": {with("expected_states", []string{"done"}), []string{`"done" is not a success or partial state of demo-export`, "succeeded"}},
		"unlisted escalation":     {with("escalation", fields{"escalate_on": []string{"boredom"}}), []string{`names "boredom", which is not a reason`}},
		"no window":               {with("escalation", fields{"decision_window_seconds": 5}), []string{"decision_window_seconds is 5, allowed is 60 to"}},
		"relative url":            {with("status_url", "/exports/1"), []string{"status_url"}},
		"X3 token in the url":     {with("status_url", shared.Provider.URL()+"/exports/x?token=hunter2"), []string{"status_url", "query"}},
		"X3 password in the url":  {with("status_url", "http://ana:hunter2@127.0.0.1:1/exports/x"), []string{"status_url", "a user or a password"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := "bad-" + wire.EscapeSegment(name)
			w := plan{job: job, script: waittest.Script(result(job))}.prepare(t)
			spec := fieldsOf(t, w.spec)
			c.change(spec)
			w.startRaw("strict", spec)
			message := w.invalidSpec()
			for _, want := range append(c.wants, "spec: ") {
				require.Contains(t, message, want)
			}
			require.NotContains(t, message, "hunter2")
		})
	}
}

// fields is a JSON object.
type fields map[string]any

func with(name string, value any) func(fields) { return func(f fields) { f[name] = value } }

func without(name string) func(fields) { return func(f fields) { delete(f, name) } }

// elsewhere makes a spec for a provider that is asked at a URL made of the job id.
func elsewhere(provider, job string, params fields) func(fields) {
	return func(f fields) {
		delete(f, "status_url")
		maps.Copy(f, fields{"provider": provider, "provider_job_id": job})
		if params != nil {
			f["params"] = params
		}
	}
}

func fieldsOf(t *testing.T, value any) fields {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	var out fields
	require.NoError(t, json.Unmarshal(text, &out))
	return out
}

// startRaw starts a wait with whatever somebody takes for a spec, under the id that it asks for.
func (w *wait) startRaw(queue string, input ...any) {
	w.Helper()
	options := client.StartWorkflowOptions{ID: wire.WorkflowID("demo-export", "acct-42", w.job), TaskQueue: queue}
	if len(input) > 0 {
		if spec, ok := input[0].(fields); ok {
			text := func(name string) string { s, _ := spec[name].(string); return s }
			options.ID = wire.WorkflowID(text("provider"), text("account"), text("provider_job_id"))
		}
	}
	run, err := w.bed.Client.ExecuteWorkflow(w.ctx, options, wire.WorkflowAwaitJob, input...)
	require.NoError(w, err)
	w.run = run
	w.Cleanup(w.replay)
}

// R28: an input that is no spec at all, and a second one that only a run that continues another may have.
func TestInputsThatAreNoSpecs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		input []any
		want  string
	}{
		"nothing":       {nil, "the input is missing or not valid JSON; start with one JSON object"},
		"null":          {[]any{nil}, "the input is missing or not valid JSON; start with one JSON object"},
		"text":          {[]any{"exp_71c"}, "a JSON object is wanted, got a string"},
		"list":          {[]any{[]int{1}}, "a JSON object is wanted, got a list"},
		"bytes":         {[]any{[]byte{0xff, 0xfe}}, "not valid JSON; start with one JSON object"},
		"given twice":   {[]any{json.RawMessage(`{"provider":"a","provider":"b"}`)}, `field "provider" is given twice`},
		"forged record": {[]any{fieldsOf(t, shared.Spec("input-forged%20record")), wire.Record{Phase: wire.PhaseClosed}}, "a second input, which only a run that continues another has"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := plan{job: "input-" + wire.EscapeSegment(name)}.prepare(t)
			w.startRaw(wire.DefaultTaskQueue, c.input...)
			require.Contains(t, w.invalidSpec(), c.want)
		})
	}
}

// R45: slashes, percent signs and other letters in a job id are one segment of the workflow id and of the path.
func TestJobIDsWithSlashes(t *testing.T) {
	t.Parallel()
	for _, job := range []string{"a/b/c", "50%/half", "größe 1"} {
		t.Run(wire.EscapeSegment(job), func(t *testing.T) {
			t.Parallel()
			w := plan{job: job, script: waittest.Script(result("x"))}.begin(t)
			require.Equal(t, "jobwait/demo-export/acct-42/"+wire.EscapeSegment(w.job), w.id())
			require.Equal(t, wire.StatusSucceeded, w.outcome().Status)
			require.Len(t, w.log(), 1)
		})
	}
}
