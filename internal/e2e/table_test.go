package e2e_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/statetables"
)

// table is a provider like the demonstration's, under another name, that documents no cancel call and hands out status
// URLs with a signature in the query.
func table(provider string) string { return strings.ReplaceAll(exportTable, "PROVIDER", provider) }

const exportTable = `provider: PROVIDER
title: an export that nobody can cancel
sources:
  here: {at: "this test", read: 2026-11-29, for: [request, job_id, state, states, success_requires, result]}
read_only: {source: here}
request:
  url: "{status_url}"
  status_url_query: [sig]
  origins: ["http://127.0.0.1:*"]
  auth: {scheme: bearer}
  allow_private_network: true
job_id: body.job_id
state: body.state
states:
  pending: [running]
  success: [succeeded]
  partial: [partially_succeeded]
success_requires:
  result_url: given(body.result_url)
result:
  file: body.result_url
example_job: {id: exp_1, account: acct-42, status_url: "http://127.0.0.1:8090/exports/exp_1"}
examples:
  - name: running
    given: {body: {job_id: exp_1, state: running}}
    want: {category: pending, raw_state: running}
  - name: done
    given: {body: {job_id: exp_1, state: succeeded, result_url: "https://files.example.com/1"}}
    want: {category: success, raw_state: succeeded, result: {file: "https://files.example.com/1"}}
  - name: done in part
    given: {body: {job_id: exp_1, state: partially_succeeded, result_url: "https://files.example.com/1"}}
    want: {category: partial, raw_state: partially_succeeded, result: {file: "https://files.example.com/1"}}
  - name: done without a result
    given: {body: {job_id: exp_1, state: succeeded}}
    want: {category: success, raw_state: succeeded, unproven: [result_url]}
`

func workWithoutCancel(t *testing.T, queue string) {
	t.Helper()
	work(t, shared, bed.WorkerOptions{TaskQueue: queue, Tables: []statetables.Source{{
		Name: "test", FS: fstest.MapFS{"no-cancel.yaml": {Data: []byte(table("no-cancel"))}},
	}}})
}
