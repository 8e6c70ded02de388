package access_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/inboxcmd/access"
	"github.com/jobwait/jobwait/wire"
)

// What no rule allows is refused; what several allow adds up.
func TestPolicy(t *testing.T) {
	t.Parallel()
	policy := access.Policy{Rules: []access.Rule{
		{Groups: []string{"exports"}, Providers: []string{"demo-export"}, Accounts: []string{"acct-42"}, Answers: &[]string{"extend", "close"}},
		{People: []string{"ana@example.com"}, Providers: []string{"demo-export"}, Answers: &[]string{"cancel"}},
		{Groups: []string{"auditors"}, Answers: &[]string{}},
		{Groups: []string{"admins"}, Providers: []string{"demo-export", "openai-batch"}, Answers: &[]string{"any"}},
	}}
	require.NoError(t, policy.Validate())
	ana := access.Person{Name: "ana@example.com", Groups: []string{"exports"}}
	ben := access.Person{Name: "ben@example.com", Groups: []string{"exports", "other"}}
	for _, c := range []struct {
		who               access.Person
		provider, account string
		kind              wire.DecisionKind
		sees, answers     bool
	}{
		{ana, "demo-export", "acct-42", "extend", true, true},
		{ana, "demo-export", "acct-42", "cancel", true, true},
		{ana, "demo-export", "acct-42", "accept_result", true, false},
		{ana, "demo-export", "acct-7", "cancel", true, true},
		{ana, "demo-export", "acct-7", "extend", true, false},
		{ana, "openai-batch", "acct-42", "extend", false, false},
		{ben, "demo-export", "acct-42", "extend", true, true},
		{ben, "demo-export", "acct-42", "cancel", true, false},
		{ben, "demo-export", "acct-7", "extend", false, false},
		{access.Person{Name: "cyd", Groups: []string{"auditors"}}, "openai-batch", "x", "close", true, false},
		{access.Person{Name: "dora", Groups: []string{"admins"}}, "openai-batch", "x", "word_of_tomorrow", true, true},
		{access.Person{Name: "dora", Groups: []string{"admins"}}, "github-actions-run", "x", "close", false, false},
		{access.Person{Name: "exports"}, "demo-export", "acct-42", "extend", false, false}, // a person is no group
		{access.Person{}, "demo-export", "acct-42", "extend", false, false},
	} {
		require.Equal(t, c.sees, policy.MaySee(c.who, c.provider, c.account), "%v", c)
		require.Equal(t, c.answers, policy.MayAnswer(c.who, c.provider, c.account, c.kind), "%v", c)
	}
	require.Equal(t, access.Scope{Prefixes: []string{"jobwait/demo-export/"}}, policy.ScopeOf(ana), "what is within another is left out")
	require.Equal(t, access.Scope{Prefixes: []string{"jobwait/demo-export/acct-42/"}}, policy.ScopeOf(ben))
	require.Equal(t, access.Scope{All: true}, policy.ScopeOf(access.Person{Groups: []string{"auditors", "exports"}}))
	require.Equal(t, access.Scope{}, policy.ScopeOf(access.Person{Name: "nobody"}), "which is nothing, and not all")
	require.Equal(t, []string{"demo-export"}, policy.ProvidersOf(ana))
}

func TestPolicyRefuses(t *testing.T) {
	t.Parallel()
	none, many := &[]string{}, make([]string, 101)
	for i := range many {
		many[i] = "x"
	}
	for want, rule := range map[string]access.Rule{
		"rule 1: groups and people are missing: a rule is for somebody":                                         {Answers: none},
		"rule 1: accounts needs providers: an account is one at a provider":                                     {Groups: []string{"g"}, Accounts: []string{"a"}, Answers: none},
		"rule 1: answers is missing: list the kinds that are allowed, [any] for all, [] to show the waits only": {Groups: []string{"g"}},
		`rule 1: answers: "extnd" is not one of ` + known:                                                       {Groups: []string{"g"}, Answers: &[]string{"extnd"}},
		"rule 1: groups has an empty entry":                                                                     {Groups: []string{" "}, Answers: none},
		"rule 1: people has 101 entries, at most 100 are allowed":                                               {People: many, Answers: none},
	} {
		require.EqualError(t, access.Policy{Rules: []access.Rule{rule}}.Validate(), want)
	}
	require.EqualError(t, access.Policy{}.Validate(), "rules is missing: without one nobody may see anything")
}

var known = func() string {
	text := "any"
	for _, kind := range wire.DecisionKinds() {
		text += ", " + string(kind)
	}
	return text
}()
