package web_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/inboxcmd/access"
	"github.com/jobwait/jobwait/internal/inboxcmd/inboxtest"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

var odd = waittest.Script(
	waittest.State("running"), waittest.State("archiving"), waittest.State("archiving"),
	waittest.Succeeded("https://files.example.com/odd.csv?signature=s3cret"),
)

// oncall may extend, cyd may do all, looker may look.
var policy = access.Policy{Rules: []access.Rule{
	{Groups: []string{"oncall"}, Providers: []string{"demo-export"}, Answers: &[]string{"extend", "treat_as_pending"}},
	{People: []string{"cyd@example.com"}, Answers: &[]string{"any"}},
	{Groups: []string{"lookers"}, Providers: []string{"demo-export"}, Accounts: []string{"acct-42"}, Answers: &[]string{}},
}}

// decisions are the entries of a wait's audit that decisions left.
func decisions(t *testing.T, workflowID string) (applied, refused []wire.Entry) {
	t.Helper()
	view, err := shared.Audit(t.Context(), workflowID, "")
	require.NoError(t, err)
	for _, entry := range view.Entries {
		switch entry.Event { //nolint:exhaustive // the two that decisions leave
		case wire.EventDecisionApplied:
			applied = append(applied, entry)
		case wire.EventDecisionRefused:
			refused = append(refused, entry)
		}
	}
	return applied, refused
}

// A person reads the question, answers it, and the wait goes on and succeeds. decided_by is who is signed in.
func TestAnswer(t *testing.T) {
	t.Parallel()
	inbox := inboxtest.Open(t, shared, inboxtest.Headers("127.0.0.1"), policy)
	id, open := inboxtest.Asked(t, shared, "answered", odd)
	ana := as(t, inbox, "ana@example.com", "oncall, others")

	page := ana.get(inbox.Page(id))
	require.Equal(t, http.StatusOK, page.status)
	for _, line := range strings.Split(open.Message, "\n")[1:] {
		if strings.HasPrefix(line, "answer ") {
			break
		}
		name, text, _ := strings.Cut(line, ": ")
		require.Contains(t, page.plain(), name)
		if name != "waited" { // goes on
			require.Contains(t, page.plain(), text)
		}
	}
	require.Contains(t, page.plain(), "Also possible, though not for you: Cancel the job at the provider cancel, Stop waiting close.")

	sent := ana.answerTo(id, "treat_as_pending", "treat_as_pending.requests", "4", "treat_as_pending.time", "0.5", "treat_as_pending.unit", "hours",
		"comment", "archiving is the last step\r\nof an export", "decided_by", "mallory@example.com")
	require.Equal(t, http.StatusSeeOther, sent.status, sent.text)
	applied, _ := decisions(t, id)
	require.Len(t, applied, 1)
	var decision wire.Decision
	require.NoError(t, json.Unmarshal(applied[0].Decision, &decision))
	require.Equal(t, wire.Decision{
		Kind: wire.DecisionTreatAsPending, DecisionID: decision.DecisionID, EscalationID: open.ID, DecidedBy: "ana@example.com",
		Comment: "archiving is the last step\nof an export", Seconds: 1800, StatusRequests: 4, RawState: "archiving",
	}, decision)

	after := ana.get(inbox.URL + sent.header.Get("Location"))
	require.Contains(t, after.plain(), "now up to 16 requests until")
	outcome, err := shared.Outcome(t.Context(), shared.Client.GetWorkflow(t.Context(), id, ""))
	require.NoError(t, err)
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	over := ana.get(inbox.Page(id))
	require.Contains(t, over.plain(), "succeeded")
	require.Contains(t, over.plain(), "https://files.example.com/odd.csv (without its query; the outcome has the whole)")
	require.NotContains(t, over.text, "s3cret", "a signed link is its query")
	require.NotContains(t, over.text, "<form method=\"post\" class=\"answer\"")
	require.Contains(t, inbox.Log.String(), `msg="applied an answer" person=ana@example.com groups="[oncall others]" workflow_id=`+id+" kind=treat_as_pending escalation_id="+open.ID)
}

// What stands in the form is taken as it stands, whatever the provider asked for.
func TestFormBeginsWithWhatWouldDo(t *testing.T) {
	t.Parallel()
	inbox := inboxtest.Open(t, shared, inboxtest.Headers("127.0.0.1"), policy)
	id, open := inboxtest.Asked(t, shared, "later", waittest.Script(waittest.Status(http.StatusServiceUnavailable).RetryAfter("7230")))
	require.Equal(t, wire.ReasonRetryAfterExceedsDeadline, open.Reason)
	ana := as(t, inbox, "ana@example.com", "oncall")
	page := ana.get(inbox.Page(id))
	minutes, requests := page.field("extend.time"), page.field("extend.requests")
	require.Equal(t, "4", requests)
	require.Equal(t, http.StatusSeeOther, ana.answerTo(id, "extend", "extend.time", minutes, "extend.unit", "minutes", "extend.requests", requests).status)
}

// What the wait refuses is told with its word and the number that would do; what was typed is kept.
func TestRefusedAnswer(t *testing.T) {
	t.Parallel()
	inbox := inboxtest.Open(t, shared, inboxtest.Headers("127.0.0.1"), policy)
	id, _ := inboxtest.Asked(t, shared, "refused", odd)
	ana := as(t, inbox, "ana@example.com", "oncall")

	page := ana.answerTo(id, "extend", "extend.requests", "20000", "comment", "needs <b>more</b>")
	require.Equal(t, http.StatusConflict, page.status)
	require.Contains(t, page.plain(), "Your answer was refused A number is out of its bounds. status_requests is 20000, allowed is 0 to 10000 The word for it: out_of_bounds")
	require.Contains(t, page.text, `name="extend.requests" value="20000"`)
	require.Contains(t, page.plain(), "needs <b>more</b>")

	for fields, want := range map[string]string{
		"comment=\t":                           "Say why: the comment stands in the audit.",
		"comment=" + strings.Repeat("é", 4097): "The comment has 4097 characters; at most 4096 are allowed.",
		"kind=":                                "Choose an answer.",
		"extend.requests=many":                 `"many" is not a number from 0 to 1000000.`,
		"extend.requests=-1":                   `"-1" is not a number from 0 to 1000000.`,
		"extend.requests=1.5":                  `"1.5" is not a whole number.`,
		"extend.requests=NaN":                  `"NaN" is not a number from 0 to 1000000.`,
		"extend.unit=years":                    "Choose minutes, hours or days.",
	} {
		name, value, _ := strings.Cut(fields, "=")
		page := ana.answerTo(id, "extend", "extend.time", "1", name, value)
		require.Equal(t, http.StatusUnprocessableEntity, page.status, fields)
		require.Contains(t, page.plain(), want)
	}
	applied, refused := decisions(t, id)
	require.Empty(t, applied)
	require.Len(t, refused, 1, "what cannot be meant is not sent")
}

// Two people have the question before them: the second sees who decided what.
func TestTwoPeople(t *testing.T) {
	t.Parallel()
	inbox := inboxtest.Open(t, shared, inboxtest.Headers("127.0.0.1"), policy)
	id, _ := inboxtest.Asked(t, shared, "two", waittest.Script(waittest.State("archiving"), waittest.State("running")))
	ana, ben := as(t, inbox, "ana@example.com", "oncall"), as(t, inbox, "ben@example.com", "oncall")
	first, second := ana.form(id, "treat_as_pending", "treat_as_pending.requests", "3", "comment", "it is the last step"), ben.form(id, "extend", "extend.requests", "3")

	require.Equal(t, http.StatusSeeOther, ana.post(inbox.Page(id), first).status)
	page := ben.post(inbox.Page(id), second)
	require.Equal(t, http.StatusConflict, page.status)
	require.Contains(t, page.plain(), "Your answer was refused The question is not open any more.")
	require.Contains(t, page.plain(), "ana@example.com answered Go on waiting in this state treat_as_pending")
	require.Contains(t, page.plain(), "it is the last step")
	applied, _ := decisions(t, id)
	require.Len(t, applied, 1)
}

// A form that is sent again decides nothing again, and says so.
func TestReplayedForm(t *testing.T) {
	t.Parallel()
	inbox := inboxtest.Open(t, shared, inboxtest.Headers("127.0.0.1"), policy)
	id, _ := inboxtest.Asked(t, shared, "replayed", waittest.Script(waittest.State("archiving"), waittest.State("running")))
	ana := as(t, inbox, "ana@example.com", "oncall")
	form := ana.form(id, "treat_as_pending", "treat_as_pending.requests", "3")
	require.Equal(t, http.StatusSeeOther, ana.post(inbox.Page(id), form).status)
	again := ana.post(inbox.Page(id), form)
	require.Equal(t, http.StatusConflict, again.status)
	require.Contains(t, again.plain(), "Already answered This answer was applied before; sending it again changed nothing.")
	form.Set("treat_as_pending.requests", "30")
	other := ana.post(inbox.Page(id), form)
	require.Contains(t, other.plain(), "The word for it: conflict")
	applied, _ := decisions(t, id)
	require.Len(t, applied, 1)
}

// A form that was made for another wait, another question, another person, or by another server, decides nothing.
func TestForgedForm(t *testing.T) {
	t.Parallel()
	inbox := inboxtest.Open(t, shared, inboxtest.Headers("127.0.0.1"), policy)
	id, _ := inboxtest.Asked(t, shared, "forged", odd)
	other, _ := inboxtest.Asked(t, shared, "forged-other", odd)
	ana := as(t, inbox, "ana@example.com", "oncall")
	good := ana.form(id, "extend", "extend.requests", "3")
	sealed := good.Get("about")
	for name, about := range map[string]string{
		"none":           "",
		"no base64":      "%%%",
		"cut":            sealed[:20],
		"another wait":   ana.form(other, "extend").Get("about"),
		"another person": as(t, inbox, "ben@example.com", "oncall").form(id, "extend").Get("about"),
		"another server": as(t, inboxtest.Open(t, shared, inboxtest.Headers("127.0.0.1"), policy), "ana@example.com", "oncall").form(id, "extend").Get("about"),
		"tampered":       tampered(t, sealed, "forged#1", "forged#2"),
	} {
		form := ana.form(id, "extend", "extend.requests", "3")
		form.Set("about", about)
		page := ana.post(inbox.Page(id), form)
		require.Equal(t, http.StatusConflict, page.status, name)
		require.Contains(t, page.plain(), "Your answer was not sent The form is too old, or was not made for you by this server.", name)
	}
	applied, refused := decisions(t, id)
	require.Empty(t, applied)
	require.Empty(t, refused, "none of them reached the wait")
	require.Contains(t, inbox.Log.String(), `msg="refused an answer" person=ana@example.com`)
}

// What nobody may do is refused, recorded, and never sent.
func TestWithoutRights(t *testing.T) {
	t.Parallel()
	inbox := inboxtest.Open(t, shared, inboxtest.Headers("127.0.0.1"), policy)
	id, _ := inboxtest.Asked(t, shared, "rights", odd)
	foreign, _ := inboxtest.Asked(t, shared, "rights-foreign", odd, func(spec *wire.Spec) { spec.Account = "acct-7" })
	ana := as(t, inbox, "ana@example.com", "oncall")
	page := ana.answerTo(id, "close")
	require.Equal(t, http.StatusForbidden, page.status)
	require.Contains(t, page.plain(), `You may not answer so No rule of the inbox allows ana@example.com this answer for account "acct-42" at "demo-export". The refusal was recorded.`)
	require.Contains(t, inbox.Log.String(), `kind=close`)
	require.Contains(t, inbox.Log.String(), `because="no rule allows it"`)

	dan := as(t, inbox, "dan@example.com", "lookers")
	look := dan.get(inbox.Page(id))
	require.Equal(t, http.StatusOK, look.status)
	require.Contains(t, look.plain(), "You may look at this question, not answer it")
	require.NotContains(t, look.text, "<textarea")
	require.Equal(t, http.StatusConflict, dan.post(inbox.Page(id), ana.form(id, "extend")).status, "a form of somebody else")

	for _, address := range []string{inbox.Page(foreign), inbox.URL + "/live/waits/" + url.PathEscape(foreign), inbox.Page("jobwait/demo-export/acct-7/there-is-none")} {
		page := dan.get(address)
		require.Equal(t, http.StatusForbidden, page.status, address)
		require.NotContains(t, page.text, "op-rights-foreign")
	}
	require.Contains(t, inbox.Log.String(), `msg="refused to show a wait" person=dan@example.com`)
	applied, refused := decisions(t, id)
	require.Empty(t, applied)
	require.Empty(t, refused)
}

// tampered changes a text within a sealed slip.
func tampered(t *testing.T, sealed, from, to string) string {
	t.Helper()
	data, err := base64.RawURLEncoding.DecodeString(sealed)
	require.NoError(t, err)
	require.Contains(t, string(data), from)
	return base64.RawURLEncoding.EncodeToString(bytes.Replace(data, []byte(from), []byte(to), 1))
}
