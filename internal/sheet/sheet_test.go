package sheet_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/sheet"
	"github.com/jobwait/jobwait/statetables"
)

// text is a sheet for a terminal, on lines as long as they like.
func text(t *testing.T, file statetables.File) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, sheet.Of(file).WriteText(&out))
	return strings.Join(strings.Fields(out.String()), " ")
}

// Whatever a table says of a job is in its sheet, for a terminal and on the page.
func TestSheetsLeaveNothingOut(t *testing.T) {
	t.Parallel()
	for _, file := range builtin(t) {
		whole, section := text(t, file), sheet.Of(file).Markdown()
		for _, fact := range factsOf(file.Table) {
			require.Contains(t, whole, strings.Join(strings.Fields(fact), " "), file.Name)
			require.Contains(t, section, fact, file.Name)
		}
		require.NotContains(t, whole, "\x1f")
		require.NotContains(t, section, "\x1f")
	}
}

// factsOf are texts of a table that stand in its sheet as they are.
func factsOf(doc statetables.Document) []string {
	facts := []string{doc.Provider, doc.State, doc.NextURL, doc.JobID, doc.ConsoleURL, doc.AccountMustBe, doc.Error.Code, doc.Progress}
	for _, states := range doc.States {
		facts = append(facts, states...)
	}
	for _, rule := range doc.Rules {
		facts = append(facts, rule.Name, rule.When)
	}
	for name, condition := range doc.SuccessRequires {
		if name != "none" {
			facts = append(facts, name, condition)
		}
	}
	for name, reference := range doc.Result {
		facts = append(facts, name, reference.Read, reference.URL)
	}
	for _, hint := range doc.Hints {
		facts = append(facts, hint.Read)
	}
	for id, source := range doc.Sources {
		facts = append(append(facts, id, source.Read), source.For...)
	}
	for code, meaning := range doc.HTTPCodes {
		facts = append(facts, code, meaning.Name, meaning.OnlyIf)
	}
	if doc.RateLimited != nil {
		facts = append(facts, doc.RateLimited.When)
	}
	if doc.Callback != nil {
		facts = append(facts, doc.Callback.JobID, doc.Callback.Account, doc.Callback.When, doc.Callback.Signature.Header)
	}
	if doc.Cancel != nil {
		facts = append(facts, doc.Cancel.URL, doc.Cancel.AcceptedWhen, doc.Cancel.AllowedWhen)
	}
	return facts
}

func TestFeatures(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, file := range builtin(t) {
		for _, feature := range sheet.Features(file.Table) {
			seen[feature] = true
		}
	}
	for feature := range seen {
		require.Contains(t, sheet.AllFeatures(), feature)
	}
	open := statetables.Document{
		Request: statetables.RequestDoc{URL: "{status_url}", Auth: statetables.AuthDocs{{Scheme: "none"}, {Scheme: "query"}, {Scheme: "query"}}},
		Rules:   []statetables.RuleDoc{{ReadAs: "partial"}},
		States:  map[string][]string{"needs_input": {}},
	}
	require.Equal(t, []string{"no-auth", "query", "partial", "status-url"}, sheet.Features(open))
}

const odd = `provider: odd
title: Odd | even
sources:
  a: {at: "https://docs.example.com/x_y, a page", read: 2026-01-31, for: [states, request.auth]}
  b: {at: github.com/a-b/c_d file.go at 0123abc, read: 2026-01-31, for: [state]}
read_only: {tried: 2026-01-30}
request: {url: "https://odd.example.com/{job_id}", query: {"x-y": "1"}, auth: [{scheme: header, name: X-Key, prefix: Key}, {scheme: query, name: k}]}
state: body.a[0]
states: {success: ["", "two words", "a,b"], pending: ["*"]}
success_requires: {none: it is <always> there}
`

// What could be taken for a mark of the page is shown as it is.
func TestMarkdownOfOddTexts(t *testing.T) {
	t.Parallel()
	files, err := statetables.Files(statetables.Source{FS: fstest.MapFS{"odd.yaml": {Data: []byte(odd)}}})
	require.NoError(t, err)
	var page bytes.Buffer
	require.NoError(t, sheet.WritePage(&page, files))
	for _, line := range []string{
		"| [`odd`](#odd) | Odd \\| even | a URL of its own | 4 | – | – | ? | – | ? |",
		"  - query `x-y`: `1`",
		"  - only observes: tried on 2026-01-30",
		"- **auth**: one of these; a credential's scheme says which, else the first",
		"  - `header`: `X-Key: Key <secret>`",
		"  - `query`: `?k=<secret>`, added when the request leaves",
		"  - success: `\"\"`, `two words`, `\"a,b\"`",
		"  - pending: `*`",
		"- **success**: requires nothing more: it is \\<always> there",
		"  - `a`: <https://docs.example.com/x_y>, a page, read 2026-01-31, for `request.auth`, `states`",
		"  - `b`: [github.com/a-b/c\\_d](https://github.com/a-b/c_d) file.go at 0123abc, read 2026-01-31, for `state`",
	} {
		require.Contains(t, strings.Split(page.String(), "\n"), line)
	}
}

// Long texts hang beside their names.
func TestTextHangs(t *testing.T) {
	t.Parallel()
	long := sheet.Sheet{Provider: "p", Title: "T", Subjects: []sheet.Subject{{
		Name: "pace", Says: []string{strings.Repeat("word ", 30)}, Rows: []sheet.Row{{Name: "floor", Text: "1 s"}, {Name: "cap", Text: "2 s"}},
	}}}
	var out bytes.Buffer
	require.NoError(t, long.WriteText(&out))
	lines := strings.Split(out.String(), "\n")
	require.Equal(t, "p: T", lines[0])
	require.True(t, strings.HasPrefix(lines[2], "pace          word word"))
	require.True(t, strings.HasPrefix(lines[3], "              word word"))
	require.Equal(t, []string{"              floor  1 s", "              cap    2 s", ""}, lines[4:])
	for _, line := range lines {
		require.LessOrEqual(t, len(line), 110)
	}
}
