// Package docscheck holds the documentation against the code: every rule and case is named by a test, every link leads
// somewhere, every piece of code that is shown compiles, every option and word is explained.
package docscheck_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the module's folder.
const root = "../.."

// ids are those of rules (R12) and of cases (H3, T1, B2, S4, D6, W1, X2).
var ids = regexp.MustCompile(`\b(?:R[1-9][0-9]?|[HTBSDWX][1-9][0-9]?)\b`)

// TestRulesAndCasesAreTested fails for an id of docs/rules.md that no test names, for an id in the code that the page does
// not know, and for an id that is said not to be built although a test names it.
func TestRulesAndCasesAreTested(t *testing.T) {
	t.Parallel()
	page := readRules(t, readFile(t, "docs/rules.md"))
	require.Len(t, page.rules(), 58, "R1 to R58, each once")
	require.NotEmpty(t, page.built)
	for _, complaint := range page.complaints(filesOf(t, isTest), filesOf(t, isCode)) {
		t.Error(complaint)
	}
}

// The checker itself, on pages that are wrong.
func TestRulesCheckerComplains(t *testing.T) {
	t.Parallel()
	const text = "- **R1** one\n- **R2** two\n| **H1** | given |\n\n## Not built yet\n\n- **D5** later\n"
	for name, test := range map[string]struct {
		tests, code string
		want        []string
	}{
		"all is well":               {tests: "R1 R2 H1", code: "R2", want: nil},
		"a rule without a test":     {tests: "R1 H1", want: []string{"R2: no test names it"}},
		"part of a word is no name": {tests: "R1 R22x xR2 H1 R20", want: []string{"R2: no test names it", "R20: docs/rules.md does not know it, but b_test.go names it"}},
		"a case without a test":     {tests: "R1 R2", want: []string{"H1: no test names it"}},
		"a test of something new":   {tests: "R1 R2 H1 H9", want: []string{"H9: docs/rules.md does not know it, but b_test.go names it"}},
		"code of something new":     {tests: "R1 R2 H1", code: "R77", want: []string{"R77: docs/rules.md does not know it, but a.go names it"}},
		"built after all":           {tests: "R1 R2 H1 D5", want: []string{`D5: it stands under "Not built yet", but b_test.go names it`}},
		"that it is not there":      {tests: "R1 R2 H1\n// D5: not built yet", want: nil},
		"code may prepare for it":   {tests: "R1 R2 H1", code: "D5", want: nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page := readRules(t, text)
			require.Equal(t, test.want, page.complaints(texts{"b_test.go": test.tests}, texts{"a.go": test.code}))
		})
	}
}

func TestRulesPageNamesAnIDOnce(t *testing.T) {
	t.Parallel()
	_, err := parseRules("- **R1** one\n- **R1** again\n")
	require.ErrorContains(t, err, "R1 stands there twice")
}

// rulesPage is docs/rules.md: the ids that have their place, and those that wait for a later version.
type rulesPage struct{ built, later map[string]bool }

// entry begins a rule or a case: a list item or a table row whose first words are an id in bold.
var entry = regexp.MustCompile(`(?m)^(?:- |\| )\*\*([A-Z][0-9]+)\*\* `)

func readRules(t *testing.T, text string) rulesPage {
	t.Helper()
	page, err := parseRules(text)
	require.NoError(t, err)
	return page
}

func parseRules(text string) (rulesPage, error) {
	page := rulesPage{built: map[string]bool{}, later: map[string]bool{}}
	before, after, _ := strings.Cut(text, "\n## Not built yet\n")
	for _, part := range []struct {
		text string
		into map[string]bool
	}{{before, page.built}, {after, page.later}} {
		for _, match := range entry.FindAllStringSubmatch(part.text, -1) {
			if page.built[match[1]] || page.later[match[1]] {
				return page, fmt.Errorf("docs/rules.md: %s stands there twice", match[1])
			}
			part.into[match[1]] = true
		}
	}
	return page, nil
}

func (p rulesPage) rules() []string {
	var rules []string
	for _, set := range []map[string]bool{p.built, p.later} {
		for id := range set {
			if strings.HasPrefix(id, "R") {
				rules = append(rules, id)
			}
		}
	}
	return rules
}

// absence is a line of a test that shows that something is not built yet.
var absence = regexp.MustCompile(`(?m)^.*\bnot (?:built|offered)\b.*$`)

// complaints holds the page against the files of tests and of code.
func (p rulesPage) complaints(tests, code texts) []string {
	var found []string
	inTests, inCode := tests.ids(), code.ids()
	for _, id := range slices.Sorted(maps.Keys(p.built)) {
		if inTests[id] == "" {
			found = append(found, id+": no test names it")
		}
	}
	shown := tests.without(absence).ids()
	for _, id := range slices.Sorted(maps.Keys(p.later)) {
		if shown[id] != "" {
			found = append(found, fmt.Sprintf("%s: it stands under \"Not built yet\", but %s names it", id, shown[id]))
		}
	}
	for _, files := range []map[string]string{inTests, inCode} {
		for _, id := range slices.Sorted(maps.Keys(files)) {
			if !p.built[id] && !p.later[id] {
				found = append(found, fmt.Sprintf("%s: docs/rules.md does not know it, but %s names it", id, files[id]))
			}
		}
	}
	return found
}

// texts are the contents of files by their path.
type texts map[string]string

// ids are the ids that the texts name, each with the first file that does.
func (n texts) ids() map[string]string {
	named := map[string]string{}
	for _, file := range slices.Sorted(maps.Keys(n)) {
		for _, id := range ids.FindAllString(n[file], -1) {
			if named[id] == "" {
				named[id] = file
			}
		}
	}
	return named
}

func (n texts) without(lines *regexp.Regexp) texts {
	less := texts{}
	for file, text := range n {
		less[file] = lines.ReplaceAllString(text, "")
	}
	return less
}

// isTest tells tests and their scripts; the scripts of scenarios and of commands are test data.
func isTest(path string) bool {
	return strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata/") && strings.HasSuffix(path, ".txt")
}

func isCode(path string) bool { return strings.HasSuffix(path, ".go") && !isTest(path) }

// filesOf are the files that are wanted, without those of this package, which names ids to test itself.
func filesOf(t *testing.T, wanted func(path string) bool) texts {
	t.Helper()
	found := texts{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path = filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		switch {
		case entry.IsDir() && (entry.Name() == ".git" || path == "internal/docscheck"):
			return fs.SkipDir
		case !entry.IsDir() && wanted(path):
			found[path] = readFile(t, path)
		}
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, found)
	return found
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	require.NoError(t, err)
	return string(text)
}
