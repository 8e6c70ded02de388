package web_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/inboxcmd/access"
	"github.com/jobwait/jobwait/internal/inboxcmd/inboxtest"
	"github.com/jobwait/jobwait/wire"
)

// What one person's list was read as a moment ago is never the list of somebody who may see none of it, nor the other way round.
func TestListOfNothingIsNotTheListOfAll(t *testing.T) {
	t.Parallel()
	rules := access.Policy{Rules: []access.Rule{
		{People: []string{"cyd@example.com"}, Answers: &[]string{"any"}},
		{Groups: []string{"oncall"}, Providers: []string{"demo-export"}, Accounts: []string{"scope-own"}, Answers: &[]string{"any"}},
	}}
	inboxtest.Asked(t, shared, "scope-secret", odd, inAccount("scope-other"), func(spec *wire.Spec) {
		spec.Escalation.DecisionWindowSeconds = new(600) // on the first page, however many others ask
	})
	inbox := inboxtest.Open(t, shared, inboxtest.Headers("127.0.0.1"), rules)
	cyd, dan, ana := as(t, inbox, "cyd@example.com", ""), as(t, inbox, "dan@example.com", ""), as(t, inbox, "ana@example.com", "oncall")
	cyd.until(inbox.URL+"/", func(p seenPage) bool { return strings.Contains(p.text, "op-scope-secret") })
	page := dan.get(inbox.URL + "/")
	require.NotContains(t, page.text, "op-scope-secret", "no rule shows dan anything")
	page = ana.get(inbox.URL + "/?provider=openai-batch")
	require.NotContains(t, page.text, "op-scope-secret", "nor ana what is not hers")

	second := inboxtest.Open(t, shared, inboxtest.Headers("127.0.0.1"), rules)
	as(t, second, "dan@example.com", "").get(second.URL + "/")
	page = as(t, second, "cyd@example.com", "").get(second.URL + "/")
	require.Contains(t, page.text, "op-scope-secret", "dan's empty list is not cyd's")
}

// The dev server's visibility takes letters of either case for the same; accounts are told apart all the same.
func TestListKeepsAccountsApartByCase(t *testing.T) {
	t.Parallel()
	rules := access.Policy{Rules: []access.Rule{
		{People: []string{"ana@example.com"}, Providers: []string{"demo-export"}, Accounts: []string{"scope-case"}, Answers: &[]string{"any"}},
	}}
	foreign, _ := inboxtest.Asked(t, shared, "scope-foreign", odd, inAccount("SCOPE-CASE"))
	inboxtest.Asked(t, shared, "scope-case", odd, inAccount("scope-case"))
	inbox := inboxtest.Open(t, shared, inboxtest.Headers("127.0.0.1"), rules)
	ana := as(t, inbox, "ana@example.com", "")
	ana.until(inbox.URL+"/", func(p seenPage) bool {
		require.NotContains(t, p.text, "op-scope-foreign")
		return slices.Contains(p.names(), "op-scope-case")
	})
	require.Equal(t, http.StatusForbidden, ana.get(inbox.Page(foreign)).status)
}
