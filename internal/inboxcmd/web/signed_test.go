package web_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/internal/inboxcmd/access"
	"github.com/jobwait/jobwait/internal/inboxcmd/inboxtest"
	"github.com/jobwait/jobwait/internal/inboxcmd/web"
	"github.com/jobwait/jobwait/signing"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// keys are decision keys in memory.
type keys []wire.DecisionKey

func (k keys) DecisionKeys(context.Context) ([]wire.DecisionKey, error) { return k, nil }

// Where workers want signed answers, an inbox with a key signs for whoever is signed in; one without says so beforehand.
func TestSignedAnswers(t *testing.T) {
	t.Parallel()
	key, err := signing.New("inbox-2026", wire.AnyIdentity)
	require.NoError(t, err)
	stop, err := shared.Work(bed.WorkerOptions{TaskQueue: "signed", DecisionKeys: keys{key.Public()}})
	require.NoError(t, err)
	t.Cleanup(stop)
	id := inboxtest.StartOn(t, shared, "signed", "signed", odd)
	inboxtest.Escalated(t, shared, id)

	without := as(t, inboxtest.Open(t, shared, inboxtest.Headers("127.0.0.1"), policy), "ana@example.com", "oncall")
	require.Contains(t, without.get(without.inbox.Page(id)).plain(), "Answers to this wait have to be signed by a key that its worker trusts, and this inbox was given none")
	page := without.answerTo(id, "extend", "extend.requests", "3")
	require.Equal(t, http.StatusConflict, page.status)
	require.Contains(t, page.plain(), "The worker wants answers that are signed by a key it trusts.")

	inbox := inboxtest.Open(t, shared, inboxtest.Headers("127.0.0.1"), policy, func(o *web.Options) { o.Sign = key.Sign })
	ana := as(t, inbox, "ana@example.com", "oncall")
	require.NotContains(t, ana.get(inbox.Page(id)).plain(), "have to be signed")
	require.Contains(t, ana.get(inbox.Page(id)).plain(), "signed, by one of the keys inbox-2026")
	require.Equal(t, http.StatusSeeOther, ana.answerTo(id, "extend", "extend.requests", "3").status)
	applied, _ := decisions(t, id)
	require.Len(t, applied, 1)
	require.Contains(t, string(applied[0].Decision), `"key_id":"inbox-2026"`)
}

// What a caller asks for stands among what waits for a decision while polling goes on, and is granted or refused there.
func TestProposals(t *testing.T) {
	t.Parallel()
	own := access.Policy{Rules: []access.Rule{{People: []string{"ana"}, Providers: []string{"demo-export"}, Accounts: []string{"proposals"}, Answers: &[]string{"extend", "refuse"}}}}
	inbox := inboxtest.Open(t, shared, inboxtest.Local("ana"), own)
	ana := visit(t, inbox)
	ask := func(job string) string {
		id := inboxtest.Start(t, shared, job, waittest.Script(waittest.State("running").PollAfter(200)), inAccount("proposals"))
		inboxtest.Propose(t, shared, id, wire.ExtensionRequest{
			RequestID: "r-1", RequestedBy: "billing <b>", Seconds: 1234, StatusRequests: 7, ExpectedEffect: "the export is done by then",
		})
		return id
	}
	granted, declined := ask("proposal-1"), ask("proposal-2")
	list := ana.until(inbox.URL+"/", func(p seenPage) bool { return len(p.names()) == 2 })
	require.Contains(t, list.plain(), "More is asked for extension_requested")
	require.Len(t, ana.get(inbox.URL+"/?reason=extension_requested").names(), 2)

	page := ana.get(inbox.Page(granted))
	require.Contains(t, page.plain(), "billing <b> asks for more")
	require.Contains(t, page.plain(), "expected effectthe export is done by then")
	require.Contains(t, page.text, `name="extend.requests" value="7"`, "what was asked for is filled in")
	require.Contains(t, page.plain(), "else it lapses")
	require.Equal(t, http.StatusSeeOther, ana.answerTo(granted, "extend", "extend.time", "1234", "extend.requests", "7").status)
	sent := ana.answerTo(declined, "refuse", "comment", "too dear")
	require.Equal(t, http.StatusSeeOther, sent.status, sent.plain())
	require.Contains(t, ana.get(inbox.URL+sent.header.Get("Location")).plain(), "ana answered Refuse refuse")
	view, err := shared.View(t.Context(), granted)
	require.NoError(t, err)
	require.Equal(t, 19, view.Limits.MaxStatusRequests)
	view, err = shared.View(t.Context(), declined)
	require.NoError(t, err)
	require.Nil(t, view.Proposal)
	require.Equal(t, 12, view.Limits.MaxStatusRequests)
}
