package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/internal/inboxcmd/inboxtest"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// Where a credential wants it, people approve requests in the inbox: each with its number and cost, or all with the first. A form
// that is sent again approves nothing more.
func TestApprovals(t *testing.T) {
	t.Parallel()
	rules := map[wire.ApprovalRule]struct {
		text  string
		asked int
	}{
		wire.ApprovalPerRequest:   {`Send status request %d of 12 with credential "per_request", this one only; the next one asks again.`, 2},
		wire.ApprovalPerOperation: {`Send the status requests of this wait, from number %d of 12 on, with credential "per_operation", and do not ask again.`, 1},
	}
	stop, err := shared.Work(bed.WorkerOptions{TaskQueue: "approvals", Credentials: inboxtest.Ruled(shared)})
	require.NoError(t, err)
	t.Cleanup(stop)
	inbox := inboxtest.Open(t, shared, inboxtest.Headers("127.0.0.1"), policy)
	for rule, c := range rules {
		t.Run(string(rule), func(t *testing.T) {
			t.Parallel()
			job := "approval-" + string(rule)
			id := inboxtest.StartOn(t, shared, "approvals", job, waittest.Script(waittest.State("running"), waittest.Succeeded("https://files.example.com/x")),
				func(spec *wire.Spec) { spec.CredentialRef = string(rule) })
			cyd, ana := as(t, inbox, "cyd@example.com", ""), as(t, inbox, "ana@example.com", "oncall")
			for n := 1; n <= c.asked; n++ {
				page := cyd.until(inbox.Page(id), func(p seenPage) bool { return strings.Contains(p.plain(), fmt.Sprintf(c.text, n)) })
				require.Contains(t, page.plain(), "The credential may be used only with a person's approval approval_required ("+string(rule)+")")
				require.Regexp(t, `approval ?`+strings.ReplaceAll(string(rule), "_", " "), page.plain())
				require.Len(t, shared.Provider.Log(job), n-1, "nothing is sent before")
				require.Contains(t, ana.get(inbox.Page(id)).plain(), "You may look at this question, not answer it: no rule of the inbox allows you Approve the request")
				form := cyd.form(id, wire.DecisionApproveRequest, "comment", "the month is closed")
				require.Equal(t, http.StatusSeeOther, cyd.post(inbox.Page(id), form).status)
				if n < c.asked { // else the wait may be over by now
					require.Contains(t, cyd.post(inbox.Page(id), form).plain(), "Already answered")
				}
			}
			outcome, err := shared.Outcome(t.Context(), shared.Client.GetWorkflow(t.Context(), id, ""))
			require.NoError(t, err)
			require.Equal(t, wire.StatusSucceeded, outcome.Status)
			require.Equal(t, "cyd@example.com", outcome.DecidedBy)
			require.Len(t, shared.Provider.Log(job), 2)
			require.Contains(t, cyd.get(inbox.Page(id)).plain(), "cyd@example.com answered Approve the request approve_request")
		})
	}
}
