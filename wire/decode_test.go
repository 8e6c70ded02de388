package wire_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

// example is the spec of the documentation, every field set.
const example = `{
  "operation_id": "report-export-2025-04-18-01",
  "provider": "demo-export", "account": "acct-42", "provider_job_id": "exp_71c",
  "params": {"region": "eu"}, "status_url": "", "credential_ref": "demo",
  "request_fingerprint": "sha256:4f1c", "submitted_at": "2025-04-18T10:20:00Z",
  "deadline_at": "2025-04-18T11:00:00Z", "business_deadline_at": null, "provider_expires_at": null,
  "max_status_requests": 12, "max_transport_failures": 3, "max_rate_limited": 3,
  "expected_states": [], "accept_partial": false,
  "schedule": {"initial_delay_seconds": null, "base_delay_seconds": 5, "max_delay_seconds": 120, "min_delay_seconds": 1, "request_timeout_seconds": 10},
  "escalation": {"decision_window_seconds": 86400, "reminder_seconds": 14400, "max_extensions": 1, "escalate_on": null},
  "reopens": null
}`

func TestDecodeSpecReadsTheExample(t *testing.T) {
	t.Parallel()
	spec, err := wire.DecodeSpec([]byte(example))
	require.NoError(t, err)
	require.Equal(t, "exp_71c", spec.ProviderJobID)
	require.Equal(t, time.Date(2025, 4, 18, 11, 0, 0, 0, time.UTC), spec.DeadlineAt)
	require.Equal(t, 3, *spec.MaxRateLimited)
	require.Nil(t, spec.Schedule.InitialDelaySeconds)
	require.Nil(t, spec.Escalation.EscalateOn, "null is the default of R34")

	nobody, err := wire.DecodeSpec([]byte(`{"escalation":{"escalate_on":[]}}`))
	require.NoError(t, err)
	require.NotNil(t, nobody.Escalation.EscalateOn, "an empty list asks nobody (R34)")
}

// TestDecodeSpecRefuses: unknown fields and bad values are refused, never replaced or dropped; the line names the place and
// never the value, which may be a URL with a secret (R28, X3).
func TestDecodeSpecRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ spec, want string }{
		"unknown field":    {`{"deadline": "x"}`, `spec: field "deadline" is not known`},
		"unknown below":    {`{"schedule": {"base_delay": 5}}`, `spec: field "schedule.base_delay" is not known`},
		"another case":     {`{"Operation_ID": "x"}`, `spec: field "Operation_ID" is not known`},
		"given twice":      {`{"account": "a", "account": "b"}`, `spec: field "account" is given twice`},
		"text for number":  {`{"max_status_requests": "12"}`, `spec: field "max_status_requests": a string where a whole number belongs`},
		"fraction":         {`{"max_status_requests": 1.5}`, `spec: field "max_status_requests": a number where a whole number belongs`},
		"number for text":  {`{"provider_job_id": 71}`, `spec: field "provider_job_id": a number where a string belongs`},
		"number too large": {`{"max_status_requests": 9223372036854775808}`, `spec: field "max_status_requests": a number where a whole number belongs`},
		"local time":       {`{"deadline_at": "2025-04-18T11:00:00"}`, `spec: field "deadline_at": a string where a time in RFC 3339 (2025-04-18T10:20:00Z) belongs`},
		"seconds as time":  {`{"deadline_at": 1744974000}`, `spec: field "deadline_at": a number where a time in RFC 3339 (2025-04-18T10:20:00Z) belongs`},
		"text for list":    {`{"expected_states": "done"}`, `spec: field "expected_states": a string where a list belongs`},
		"text for object":  {`{"schedule": "fast"}`, `spec: field "schedule": a string where an object belongs`},
		"text for boolean": {`{"accept_partial": "yes"}`, `spec: field "accept_partial": a string where true or false belongs`},
		"secret value":     {`{"accept_partial": "https://user:hunter2@example.com"}`, `spec: field "accept_partial": a string where true or false belongs`},
		"list":             {`[]`, `spec: a JSON object is wanted, got a list`},
		"null":             {`null`, `spec: a JSON object is wanted, got null`},
		"text":             {`"spec"`, `spec: a JSON object is wanted, got a string`},
		"empty":            {``, `spec: empty or cut off JSON`},
		"cut off":          {`{"account": "a"`, `spec: empty or cut off JSON`},
		"followed by more": {`{} {}`, `spec: not valid JSON at byte 3`},
		"not JSON":         {`not-json`, `spec: not valid JSON at byte 1`},
		"not UTF-8":        {"{\"account\": \"\xff\"}", `spec: not valid JSON at byte 13`},
		"endless name":     {`{"` + strings.Repeat("é", 5000) + `": 1}`, `spec: field "` + strings.Repeat("é", 64) + `..." is not known`},
		"too large":        {`{"account": "` + strings.Repeat("a", wire.MaxSpecBytes) + `"}`, `spec: 65551 bytes, at most 65536 are read`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := wire.DecodeSpec([]byte(c.spec))
			require.EqualError(t, err, c.want)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

// TestDecodeDecisionRefuses: a decision is read as strictly as a spec: a wrong type is an answer, not silence (R40).
func TestDecodeDecisionRefuses(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		`{"kind": "extend", "seconds": "900"}`: `decision: field "seconds": a string where a whole number belongs`,
		`{"kind": "extend", "minutes": 15}`:    `decision: field "minutes" is not known`,
		`{"kind": 1}`:                          `decision: field "kind": a number where a string belongs`,
		`"extend"`:                             `decision: a JSON object is wanted, got a string`,
	} {
		_, err := wire.DecodeDecision([]byte(payload))
		require.EqualError(t, err, want)
	}
	_, err := wire.DecodeDecision(make([]byte, wire.MaxDecisionBytes+1))
	require.EqualError(t, err, "decision: 16385 bytes, at most 16384 are read")
}

// TestCanonical holds RFC 8785's own examples of strings, numbers and order against literal text.
func TestCanonical(t *testing.T) {
	t.Parallel()
	for give, want := range map[string]string{
		`{"b": 2, "a": 1}`: `{"a":1,"b":2}`,
		`{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001], "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}`: `{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		`{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`:                                                                                                    "{\"\\r\":2,\"1\":4,\"\u0080\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\ufb33\":3}",
		`  "<&>\u2028" `: "\"<&>\u2028\"",
	} {
		got, err := wire.Canonical([]byte(give))
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	for _, give := range []string{``, `{`, `{"a":1,"a":2}`, "\"\xff\"", `1 2`} {
		_, err := wire.Canonical([]byte(give))
		require.Error(t, err, "%q", give)
	}
	given := []byte(`{"b": 1, "a": 2}`)
	_, err := wire.Canonical(given)
	require.NoError(t, err)
	require.JSONEq(t, `{"b": 1, "a": 2}`, string(given))
	require.Equal(t, `{"b": 1, "a": 2}`, string(given), "what was given is left as it was")
}

// FuzzDecodeSpec: whatever comes in is a spec or one short line; a spec that was read reads the same again.
func FuzzDecodeSpec(f *testing.F) {
	for _, seed := range []string{example, `{}`, `null`, `{"schedule":{"base_delay_seconds":1e3}}`, `{"deadline_at":"2025-04-18T11:00:00+02:00"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		spec, err := wire.DecodeSpec(data)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			require.Equal(t, wire.Spec{}, spec, "nothing is half read")
			return
		}
		again, err := json.Marshal(spec)
		require.NoError(t, err)
		read, err := wire.DecodeSpec(again)
		require.NoError(t, err)
		rewritten, err := json.Marshal(read)
		require.NoError(t, err)
		require.Equal(t, string(again), string(rewritten))
	})
}

// FuzzCanonical: the canonical form is JSON of the same value, and its own canonical form.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"b":1.0,"a":[true,null]}`, `"\ud83d\ude00"`, `-0`, `1e400`, `{"":{"":[]}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		canonical, err := wire.Canonical(data)
		if err != nil {
			return
		}
		require.True(t, json.Valid(canonical))
		again, err := wire.Canonical(canonical)
		require.NoError(t, err)
		require.Equal(t, string(canonical), string(again))
	})
}
