package docscheck_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/internal/inboxcmd/access"
	"github.com/jobwait/jobwait/notify"
	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

var update = flag.Bool("update", false, "copy the code of snippets_test.go into the pages")

// pages are the documents that are held to each other.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "workflows/*.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		for _, file := range files {
			path, err := filepath.Rel(root, file)
			require.NoError(t, err)
			found[filepath.ToSlash(path)] = readFile(t, path)
		}
	}
	require.Contains(t, found, "docs/rules.md")
	return found
}

func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	all := pages(t)
	for path, text := range all {
		for _, complaint := range brokenLinks(path, text, all) {
			t.Error(complaint)
		}
	}
}

func TestEveryPageIsReachedFromTheReadme(t *testing.T) {
	t.Parallel()
	all := pages(t)
	for path := range all {
		if strings.HasPrefix(path, "docs/") {
			require.Contains(t, all["README.md"], "("+path, "%s is not linked in README.md", path)
		}
	}
}

func TestLinkCheckerComplains(t *testing.T) {
	t.Parallel()
	all := map[string]string{"docs/a.md": "# A\n\n## Two words, `code`\n", "README.md": ""}
	for link, want := range map[string]string{
		"[x](a.md)":                      "",
		"[x](a.md#two-words-code)":       "",
		"[x](../README.md)":              "",
		"[x](https://example.com/b.md)":  "",
		"![x](rules.md)":                 "",
		"[x](b.md)":                      `docs/c.md: "b.md" does not exist`,
		"[x](a.md#one)":                  `docs/c.md: "a.md#one" has no such heading`,
		"[x](#one)":                      `docs/c.md: "#one" has no such heading`,
		"see `operation/absent.go` here": `docs/c.md: file operation/absent.go does not exist`,
		"[`x`](b.md)":                    `docs/c.md: "b.md" does not exist`,
		"matches `^[a-z](x)?$`":          "",
	} {
		got := strings.Join(brokenLinks("docs/c.md", "# C\n"+link+"\n", all), "\n")
		require.Equal(t, want, got, link)
	}
}

var (
	links    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	spans    = regexp.MustCompile("`[^`\n]+`")
	files    = regexp.MustCompile("`([a-z][a-z0-9_]*(?:/[A-Za-z0-9_.-]+)+\\.(?:go|md|yaml|yml|json))`")
	fences   = regexp.MustCompile("(?s)\n```.*?\n```")
	headings = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

// brokenLinks are the links of a page that lead nowhere, and the files it names that do not exist.
func brokenLinks(path, text string, all map[string]string) []string {
	text = fences.ReplaceAllString(text, "")
	all = mapWith(all, path, text)
	var broken []string
	for _, match := range links.FindAllStringSubmatch(spans.ReplaceAllString(text, "code"), -1) {
		target, anchor, _ := strings.Cut(match[1], "#")
		if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
			continue
		}
		to := path
		if target != "" {
			to = filepath.ToSlash(filepath.Join(filepath.Dir(path), target))
		}
		switch page, ok := all[to]; {
		case !ok && !exists(to):
			broken = append(broken, fmt.Sprintf("%s: %q does not exist", path, match[1]))
		case anchor != "" && !slices.Contains(anchors(page), anchor):
			broken = append(broken, fmt.Sprintf("%s: %q has no such heading", path, match[1]))
		}
	}
	for _, match := range files.FindAllStringSubmatch(text, -1) {
		if path == "docs/rules.md" || strings.HasSuffix(match[1], ".go") {
			if !exists(match[1]) {
				broken = append(broken, fmt.Sprintf("%s: file %s does not exist", path, match[1]))
			}
		}
	}
	return broken
}

func mapWith(all map[string]string, path, text string) map[string]string {
	with := map[string]string{path: text}
	for other, its := range all {
		if other != path {
			with[other] = fences.ReplaceAllString(its, "")
		}
	}
	return with
}

func exists(path string) bool {
	_, err := os.Stat(filepath.Join(root, path))
	return err == nil
}

// anchors are the names that GitHub gives the headings of a page.
func anchors(page string) []string {
	var names []string
	for _, match := range headings.FindAllStringSubmatch(page, -1) {
		plain := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(match[1]), "")
		names = append(names, strings.ReplaceAll(plain, " ", "-"))
	}
	return names
}

var shownCode = regexp.MustCompile("(?s)<!-- snippet: ([a-z-]+) -->\n```(go|ts)\n(.*?)```")

// What the pages show is what snippets_test.go compiles and the example in TypeScript runs. -update copies it.
func TestShownCodeIsThisCode(t *testing.T) {
	source := readFile(t, "internal/docscheck/snippets_test.go") + readFile(t, "examples/typescript/src/example.ts")
	for path, text := range pages(t) {
		want := shownCode.ReplaceAllStringFunc(text, func(block string) string {
			shown := shownCode.FindStringSubmatch(block)
			code, err := snippet(source, shown[1])
			require.NoError(t, err, path)
			return "<!-- snippet: " + shown[1] + " -->\n```" + shown[2] + "\n" + code + "```"
		})
		if *update && want != text {
			require.NoError(t, os.WriteFile(filepath.Join(root, path), []byte(want), 0o644))
			continue
		}
		require.Equal(t, want, text, "%s shows other code; go test ./internal/docscheck -update", path)
		plain := strings.Count(text, "```go\n") + strings.Count(text, "```ts\n") - len(shownCode.FindAllString(text, -1))
		require.Zero(t, plain, "%s shows code that nothing compiles; put it into snippets_test.go", path)
	}
}

func snippet(source, name string) (string, error) {
	_, after, ok := strings.Cut(source, "\n// docs: "+name+"\n")
	code, _, ends := strings.Cut(after, "\n// docs: end\n")
	if !ok || !ends {
		return "", fmt.Errorf("snippets_test.go has no snippet %q", name)
	}
	return strings.TrimRight(code, "\n") + "\n", nil
}

func TestSnippetsAreFound(t *testing.T) {
	t.Parallel()
	_, err := snippet("x\n// docs: a\ncode\n", "a")
	require.Error(t, err, "it does not end")
	code, err := snippet("x\n// docs: a\ncode\n\n// docs: end\n", "a")
	require.NoError(t, err)
	require.Equal(t, "code\n", code)
}

var shownJSON = regexp.MustCompile("(?s)```json\n(.*?)```")

// A spec that a page shows is one that is read, and any other JSON is JSON.
func TestShownJSONIsRead(t *testing.T) {
	t.Parallel()
	specs := 0
	for path, text := range pages(t) {
		for _, block := range shownJSON.FindAllStringSubmatch(text, -1) {
			require.True(t, json.Valid([]byte(block[1])), "%s: %s", path, block[1])
			switch {
			case strings.Contains(block[1], `"destination"`):
				spec, err := wire.DecodeFetchSpec([]byte(block[1]))
				require.NoError(t, err, path)
				require.NoError(t, operation.CheckFetch(spec, spec.DeadlineAt.Add(-time.Hour)), path)
			case strings.Contains(block[1], `"operation_id"`):
				_, err := wire.DecodeSpec([]byte(block[1]))
				require.NoError(t, err, path)
				specs++
			}
		}
	}
	require.NotZero(t, specs)
}

var shownDecision = regexp.MustCompile(`(?s)--name (\w+) --input '(\{.*?\})'`)

// A decision or a request that a page has people type is one that is read.
func TestShownDecisionsAreRead(t *testing.T) {
	t.Parallel()
	found := shownDecision.FindAllStringSubmatch(readFile(t, "docs/answering.md"), -1)
	require.GreaterOrEqual(t, len(found), 3)
	for _, match := range found {
		if match[1] == wire.UpdateRequestExtension {
			_, err := wire.DecodeExtensionRequest([]byte(match[2]))
			require.NoError(t, err, match[2])
			continue
		}
		decision, err := wire.DecodeDecision([]byte(match[2]))
		require.NoError(t, err, match[2])
		require.Equal(t, match[1] == "decide", decision.Kind != "", match[2])
	}
}

var shownYAML = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// The files that docs/operate.md shows are files that a worker, or the inbox, takes.
func TestShownFilesAreTaken(t *testing.T) {
	t.Parallel()
	blocks := shownYAML.FindAllStringSubmatch(readFile(t, "docs/operate.md"), -1)
	require.Len(t, blocks, 7)
	accessFile := func(path string) error { _, err := access.ReadFile(path); return err }
	for i, check := range []func(path string) error{
		func(path string) error { return activities.CredentialsFile(path).Validate() },
		func(path string) error { _, err := activities.LoadPolicy(path); return err },
		func(path string) error { return activities.DecisionKeysFile(path).Validate() },
		func(path string) error { _, err := activities.LoadOrigins(path); return err },
		func(path string) error { _, err := notify.Load(path); return err },
		accessFile, // with OpenID Connect
		accessFile, // with a proxy
	} {
		path := filepath.Join(t.TempDir(), "shown.yaml")
		require.NoError(t, os.WriteFile(path, []byte(blocks[i][1]), 0o600))
		require.NoError(t, check(path))
	}
}

// Everything that a spec can say is in the README, with its default.
func TestSpecIsDocumented(t *testing.T) {
	t.Parallel()
	text := readFile(t, "README.md")
	for _, name := range fields(reflect.TypeFor[wire.Spec]()) {
		require.Contains(t, text, "| `"+name+"` |", "README.md does not explain %s", name)
	}
	for name, value := range map[string]int{
		"base_delay_seconds": operation.DefaultBaseDelaySeconds, "max_delay_seconds": operation.DefaultMaxDelaySeconds,
		"min_delay_seconds": operation.DefaultMinDelaySeconds, "request_timeout_seconds": operation.DefaultRequestTimeoutSeconds,
		"decision_window_seconds": operation.DefaultDecisionWindowSeconds, "reminder_seconds": operation.DefaultReminderSeconds,
		"max_extensions": operation.DefaultMaxExtensions,
	} {
		require.Regexp(t, fmt.Sprintf("(?m)^\\| `[a-z.]*%s` \\|[^|]*\\| %d[ |]", name, value), text, "the default of %s", name)
	}
}

// fields are the JSON names of a type, those of nested settings with their parent's name.
func fields(of reflect.Type) []string {
	var names []string
	for i := range of.NumField() {
		field := of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Type.Kind() == reflect.Struct && field.Type.Name() != "Time" {
			for _, below := range fields(field.Type) {
				names = append(names, name+"."+below)
			}
			continue
		}
		names = append(names, name)
	}
	return names
}

// Every reason, option and refusal is explained where people look for it.
func TestWordsAreDocumented(t *testing.T) {
	t.Parallel()
	text := readFile(t, "docs/answering.md")
	words := []string{string(wire.ReasonWaitCancelled)}
	for _, reason := range wire.Reasons() {
		words = append(words, string(reason))
	}
	for _, refusal := range []wire.RefusalReason{
		wire.RefusalUnparsable, wire.RefusalIncomplete, wire.RefusalDuplicate, wire.RefusalConflict, wire.RefusalNotOpen,
		wire.RefusalNotSigned, wire.RefusalWrongEscalation, wire.RefusalNotOffered, wire.RefusalOutOfBounds, wire.RefusalLost,
	} {
		words = append(words, string(refusal))
	}
	words = append(words, fields(reflect.TypeFor[wire.Decision]())...)
	words = append(words, fields(reflect.TypeFor[wire.ExtensionRequest]())...)
	words = append(words, string(wire.ReasonExtensionRequested), wire.UpdateRequestExtension, wire.ErrorRequestRefused)
	for _, word := range words {
		require.Contains(t, text, "`"+word+"`", "docs/answering.md does not explain %s", word)
	}
}

var definedFlag = regexp.MustCompile(`flags\.\w+\([^"\n]*"([a-z-]+)",`)

// Every flag of the worker is in docs/operate.md.
func TestWorkerFlagsAreDocumented(t *testing.T) {
	t.Parallel()
	text := readFile(t, "docs/operate.md")
	defined := definedFlag.FindAllStringSubmatch(readFile(t, "internal/workercmd/config.go"), -1)
	require.GreaterOrEqual(t, len(defined), 10)
	for _, match := range defined {
		require.Contains(t, text, "| `--"+match[1], "docs/operate.md does not explain --%s", match[1])
	}
}

// Every option of a worker is in docs/embedding.md.
func TestOptionsAreDocumented(t *testing.T) {
	t.Parallel()
	text := readFile(t, "docs/embedding.md")
	for _, option := range reflect.VisibleFields(reflect.TypeFor[activities.Options]()) {
		require.Contains(t, text, "| `"+option.Name+"` |", "docs/embedding.md does not explain %s", option.Name)
	}
}

// Who reads the code finds every internal package on the map.
func TestInternalPackagesAreListed(t *testing.T) {
	t.Parallel()
	text := readFile(t, "CONTRIBUTING.md")
	folders, err := os.ReadDir(filepath.Join(root, "internal"))
	require.NoError(t, err)
	require.NotEmpty(t, folders)
	for _, folder := range folders {
		require.Contains(t, text, "`"+folder.Name()+"`", "CONTRIBUTING.md does not say what internal/%s is for", folder.Name())
	}
}

func TestShownChannelsAreTaken(t *testing.T) {
	t.Parallel()
	_, err := newNotifier(t.Context(), func(context.Context) (activities.Secret, error) {
		return activities.NewSecret("https://hooks.example.com/services/T0")
	})
	require.NoError(t, err)
}

// Every kind of message, and what may come of it, is explained where channels are.
func TestMessagesAreDocumented(t *testing.T) {
	t.Parallel()
	text := readFile(t, "docs/operate.md")
	for _, kind := range notify.Kinds() {
		require.Contains(t, text, "| `"+string(kind)+"` | ")
	}
	for _, state := range []wire.DeliveryState{wire.DeliveryDelivered, wire.DeliveryPending, wire.DeliveryRefused} {
		require.Contains(t, text, "`"+string(state)+"`")
	}
}
