package statetables

import (
	"net/http"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

const limitedTable = `provider: limited
title: Limited
sources: {docs: {at: page, read: 2026-01-31, for: [request, state, states, success_requires]}}
read_only: {source: docs}
request: {url: "https://api.example.com/jobs/{job_id}", auth: {scheme: bearer}}
http_codes: {"409": {read_as: pending, source: docs}}
rate_limited: {when: 'header["x-left"] == "0" || body.error.reason == "tooFast"', source: docs}
state: body.state
states: {pending: [running], success: [done]}
success_requires: {none: the state says it}
example_job: {id: "1"}
examples:
  - name: running
    given: {body: {state: running}}
    want: {category: pending, raw_state: running}
`

// R9, R11, R12: what the table documents as a rate limit is one under any code of an error that has no meaning of its own.
func TestRateLimitUnderAnotherCode(t *testing.T) {
	t.Parallel()
	set, err := Load(Source{FS: fstest.MapFS{"limited.yaml": {Data: []byte(limitedTable)}}})
	require.NoError(t, err)
	limited, _ := set.Table("limited")
	left := http.Header{"X-Left": {"0"}}
	for name, test := range map[string]struct {
		status int
		header http.Header
		body   string
		want   wire.Answer
	}{
		"a header":                 {403, left, "", wire.AnswerRateLimited},
		"a header beside a page":   {403, left, "<html>", wire.AnswerRateLimited},
		"the body":                 {403, nil, `{"error": {"reason": "tooFast"}}`, wire.AnswerRateLimited},
		"another reason":           {403, nil, `{"error": {"reason": "forbidden"}}`, wire.AnswerDenied},
		"a body of another kind":   {403, nil, `{"error": 5}`, wire.AnswerDenied},
		"a body that was cut":      {403, nil, `{"error": {"reason": "tooFast"`, wire.AnswerDenied},
		"nothing":                  {403, nil, "", wire.AnswerDenied},
		"instead of a 503":         {503, left, "", wire.AnswerRateLimited},
		"instead of a 401":         {401, left, "", wire.AnswerRateLimited},
		"a good answer":            {200, left, `{"state": "running"}`, wire.AnswerRead},
		"a code with a meaning":    {409, left, `{}`, wire.AnswerRead},
		"429 without any of these": {429, nil, "", wire.AnswerRateLimited},
	} {
		seen := limited.Classify(wire.Target{ProviderJobID: "1"}, wire.ReadingContext{}, Response{
			Status: test.status, Header: test.header, Body: []byte(test.body), ReceivedAt: now,
		})
		require.Equal(t, test.want, seen.Answer, name)
		require.Equal(t, test.want == wire.AnswerRead, seen.Job != nil, name)
	}
}
