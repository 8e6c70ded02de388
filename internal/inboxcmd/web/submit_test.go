package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/inboxcmd/inboxtest"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// A submission of which nobody knows whether it made a job asks in the inbox, and a person names the job there.
func TestAttach(t *testing.T) {
	t.Parallel()
	require.NoError(t, shared.Provider.TakeSubmissions(waittest.SubmitScript{
		Job:   waittest.Script(waittest.Succeeded("https://files.example.com/report.csv")),
		Steps: []waittest.SubmitStep{{Answer: waittest.Hangup()}},
	}))
	run, open := inboxtest.Submitted(t, shared, "attached")
	require.Equal(t, wire.ReasonSubmissionAmbiguous, open.Reason)

	inbox := inboxtest.Open(t, shared, inboxtest.Headers("127.0.0.1"), policy)
	cyd, looker := as(t, inbox, "cyd@example.com", ""), as(t, inbox, "eve@example.com", "lookers")
	page := cyd.get(inbox.Page(run.GetID()))
	require.Equal(t, http.StatusOK, page.status)
	require.Contains(t, page.plain(), "It was submitted, and nobody knows whether there is a job")
	require.Contains(t, page.plain(), "Submission attached at demo-export")
	require.Contains(t, page.text, `name="attach.job"`)
	require.Contains(t, page.text, `name="attach.status_url"`)
	require.Equal(t, http.StatusOK, looker.get(inbox.Page(run.GetID())).status)
	require.Equal(t, http.StatusForbidden, as(t, inbox, "mal@example.com", "").get(inbox.Page(run.GetID())).status)

	missing := cyd.answerTo(run.GetID(), "attach", "comment", "seen")
	require.Equal(t, http.StatusUnprocessableEntity, missing.status)
	require.Contains(t, missing.plain(), "Name the job that you found at the provider.")

	for _, params := range []string{"region", "=eu", "region=eu region=us"} {
		wrong := cyd.answerTo(run.GetID(), "attach", "attach.job", "exp_1", "attach.params", params, "comment", "seen")
		require.Equal(t, http.StatusUnprocessableEntity, wrong.status, params)
		require.Contains(t, wrong.plain(), "is not name=value, or its name is there already.")
	}
	long := "https://jobs.example.com/" + strings.Repeat("s", 4096)
	for name, value := range map[string]string{"attach.status_url": long, "attach.job": strings.Repeat("j", 257)} {
		tooLong := cyd.answerTo(run.GetID(), "attach", "attach.job", "exp_1", name, value, "comment", "seen")
		require.Equal(t, http.StatusUnprocessableEntity, tooLong.status, name)
		require.Contains(t, tooLong.plain(), " characters; at most ", name)
		require.Contains(t, tooLong.text, `value="`+value+`"`, "what was typed is kept")
	}
	for _, node := range page.nodes() {
		if most, ok := map[string]string{"attach.job": "256", "attach.status_url": "4096"}[attribute(node, "name")]; ok {
			require.Equal(t, most, attribute(node, "maxlength"))
		}
	}

	job := shared.Provider.Submissions()[0].JobID
	status := shared.Provider.StatusURL(job)
	sent := cyd.answerTo(run.GetID(), "attach", "attach.job", job, "attach.status_url", status, "comment", "seen in the list")
	require.Equal(t, http.StatusSeeOther, sent.status, sent.text)
	var outcome wire.SubmitOutcome
	require.NoError(t, run.Get(t.Context(), &outcome))
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, job, outcome.ProviderJobID)
	require.Equal(t, "cyd@example.com", outcome.DecidedBy)
	page = cyd.get(inbox.Page(run.GetID()))
	require.Contains(t, page.plain(), "attached succeeded")
	require.Contains(t, page.text, `<a href="/waits/`+url.PathEscape(wire.WorkflowID("demo-export", "acct-42", job))+`">`+job+`</a>`)
	applied, _ := decisions(t, run.GetID())
	require.Len(t, applied, 1)
	decision, err := wire.DecodeDecision(applied[0].Decision)
	require.NoError(t, err)
	require.Equal(t, status, decision.StatusURL)

	submittedAgain(t, inbox, cyd)

	// The URL of the table's cancel, which is longer, has the same limit.
	for _, length := range []int{1025, 4096 - len("/cancel")} {
		run, _ := inboxtest.Submitted(t, shared, fmt.Sprint("attached-", length), func(spec *wire.SubmitSpec) { spec.Provider = "demo-query" })
		made := shared.Provider.Submissions()
		job := made[len(made)-1].JobID
		status := shared.Provider.StatusURL(job) + "?sig="
		status += strings.Repeat("s", length-len(status))
		_, port, _ := strings.Cut(shared.Provider.Address(), ":")
		sent := cyd.answerTo(run.GetID(), "attach", "attach.job", job, "attach.status_url", status, "attach.params", "port="+port, "comment", "seen in the list")
		require.Equal(t, http.StatusSeeOther, sent.status, sent.text)
		require.NoError(t, run.Get(t.Context(), &outcome))
		require.Equal(t, status, outcome.StatusURL, "it arrives whole")
		applied, _ := decisions(t, run.GetID())
		decision, err := wire.DecodeDecision(applied[0].Decision)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"port": port}, decision.Params)
		require.Equal(t, wire.StatusSucceeded, outcome.Status)
	}
}

// submittedAgain (R57): the page of what ended without success says how it is submitted again, that of its successor in whose place it is.
func submittedAgain(t *testing.T, inbox *inboxtest.Inbox, cyd *visitor) {
	t.Helper()
	run, _ := inboxtest.Submitted(t, shared, "again")
	const offer = "submit againjobwait resubmit jobwait-submit/demo-export/acct-42/again --comment WHY, as a new operation"
	require.NotContains(t, cyd.get(inbox.Page(run.GetID())).plain(), "submit again")
	require.Equal(t, http.StatusSeeOther, cyd.answerTo(run.GetID(), "close", "comment", "not now").status)
	require.NoError(t, run.Get(t.Context(), nil))
	require.Contains(t, cyd.get(inbox.Page(run.GetID())).plain(), offer)

	next, open := inboxtest.Submitted(t, shared, "again~2", func(spec *wire.SubmitSpec) {
		spec.Predecessor = &wire.Predecessor{SubmissionID: "again", DecidedBy: "<b>ana</b>", Comment: "the disk\n<script>has</script> room"}
	})
	require.Contains(t, open.Message, "\nin place of: again (unresolved: ")
	require.Contains(t, cyd.get(inbox.Page(next.GetID())).text, `<dt>in place of</dt><dd><a href="/waits/`+url.PathEscape(run.GetID())+
		`">again (unresolved: submission_ambiguous), decided by &lt;b&gt;ana&lt;/b&gt;: the disk &lt;script&gt;has&lt;/script&gt; room</a>`)
}
