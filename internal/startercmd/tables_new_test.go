package startercmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/statetables"
)

// newOf is the skeleton of a table as lines.
func newOf(t *testing.T, url string) []string {
	t.Helper()
	var out bytes.Buffer
	a := &app{out: &out, name: "jobwait"}
	require.NoError(t, a.newTable("acme-jobs", url, time.Date(2026, 1, 31, 23, 0, 0, 0, time.UTC)))
	return strings.Split(out.String(), "\n")
}

// fills are what stands in the blanks of the skeletons, by how their lines begin; a line like another one takes the next.
var fills = [][2]string{
	{"title:", "title: Acme jobs"},
	{"    at:", "    at: the page"},
	{"  url:", "  url: 'https://api.acme.example/jobs/{job_id}'"},
	{"  origins:", "  origins: ['https://api.acme.example']"},
	{"state:", "state: body.status"},
	{"  pending:", "  pending: [queued, running]"},
	{"  success:", "  success: [done]"},
	{"  failure:", "  failure: [broken]"},
	{"  output: ''", "  output: given(body.output_url)"},
	{"  output: ''", "  output: body.output_url"},
	{"example_job:", "example_job: {id: job_1, status_url: 'https://api.acme.example/jobs/job_1'}"},
	{"    given:", "    given: {body: {id: job_1, status: running}}"},
	{"    want:", "    want: {category: pending, raw_state: running}"},
	{"    given:", "    given: {body: {id: job_1, status: done, output_url: 'https://acme.example/1'}}"},
	{"    want:", "    want: {category: success, raw_state: done, result: {output: 'https://acme.example/1'}}"},
	{"    given:", "    given: {body: {id: job_1, status: done}}"},
	{"    want:", "    want: {category: success, raw_state: done, unproven: [output]}"},
	{"    given:", "    given: {body: {id: job_1, status: broken}}"},
	{"    want:", "    want: {category: failure, raw_state: broken}"},
	{"    given:", "    given: {body: {id: job_1, status: no_such_word}}"},
}

func isMarked(line string) bool { return strings.Contains(line, " # <- ") }

// filled fills in the blanks but that in the line without; -1 fills in all.
func filled(t *testing.T, lines []string, without int) string {
	t.Helper()
	var whole []string
	next := 0
	for i, line := range lines {
		if !isMarked(line) {
			whole = append(whole, line)
			continue
		}
		for !strings.HasPrefix(line, fills[next][0]) {
			next++
			require.Less(t, next, len(fills), "no fill for %q", line)
		}
		if i != without {
			line = fills[next][1]
		}
		whole, next = append(whole, line), next+1
	}
	return strings.Join(whole, "\n")
}

func load(text string) error {
	_, err := statetables.Load(statetables.Source{FS: fstest.MapFS{"acme-jobs.yaml": {Data: []byte(text)}}})
	return err
}

var skeletonURLs = []string{"", "https://api.acme.example/jobs/{job_id}", "{status_url}"}

// Whoever fills in what is marked has a table, and each mark is needed.
func TestFilledSkeletonLoads(t *testing.T) {
	t.Parallel()
	for _, url := range skeletonURLs {
		lines := newOf(t, url)
		require.NoError(t, load(filled(t, lines, -1)), url)
		for i, line := range lines {
			// The last example is filled in with what stands there already.
			if isMarked(line) && !strings.Contains(line, "no_such_word") {
				require.Error(t, load(filled(t, lines, i)), "%q may as well stay as it is: %q", url, line)
			}
		}
	}
}

// What check complains of before anything is filled in are the marked lines, so that it can be worked through by it.
func TestSkeletonFailsWhereItIsMarked(t *testing.T) {
	t.Parallel()
	for _, url := range skeletonURLs {
		lines := newOf(t, url)
		err := load(strings.Join(lines, "\n"))
		require.Error(t, err)
		for complaint := range strings.Lines(err.Error()) {
			at, convErr := strconv.Atoi(strings.Split(complaint, ":")[1])
			require.NoError(t, convErr)
			line := lines[at-1]
			require.True(t, isMarked(line) || marksBelow(lines[at-1:]), "%s is about a line without a mark: %q", complaint, line)
		}
	}
}

// marksBelow says that a line is the head of marked ones.
func marksBelow(lines []string) bool {
	return strings.HasSuffix(lines[0], ":") && len(lines) > 1 && (isMarked(lines[1]) || strings.HasPrefix(strings.TrimSpace(lines[1]), "#"))
}

var commentedOut = regexp.MustCompile(`(?m)^#( *)([a-z_"-])`)

// uncommented takes the # from every line that is commented out. One space behind it makes a sentence.
func uncommented(text string) string {
	return commentedOut.ReplaceAllStringFunc(text, func(begin string) string {
		if strings.HasPrefix(begin, "# ") && !strings.HasPrefix(begin, "#  ") {
			return begin
		}
		return begin[1:]
	})
}

// What is commented out is right as well, all of it together.
func TestUncommentedSkeletonLoads(t *testing.T) {
	t.Parallel()
	for _, url := range skeletonURLs {
		text := uncommented(filled(t, newOf(t, url), -1))
		text = strings.Replace(text, "example_job: {id: job_1", "example_job: {id: job_1, account: eu", 1)
		require.NoError(t, load(text), url)
	}
}

// The skeleton shows every key that a table may begin a line with.
func TestSkeletonShowsTheWholeFormat(t *testing.T) {
	t.Parallel()
	var format struct {
		Properties map[string]struct {
			Properties map[string]any `json:"properties"`
		} `json:"properties"`
	}
	require.NoError(t, json.Unmarshal([]byte(statetables.Schema()), &format))
	whole := strings.Join(newOf(t, ""), "\n") + strings.Join(newOf(t, "{status_url}"), "\n")
	for _, key := range append(keysOf(format.Properties), keysOf(format.Properties["request"].Properties)...) {
		if key != "method" { // there is one only
			require.Regexp(t, fmt.Sprintf(`(?m)^#? *%s:`, key), whole, "the skeleton does not show %s", key)
		}
	}
}

func keysOf[V any](of map[string]V) []string {
	keys := make([]string, 0, len(of))
	for key := range of {
		keys = append(keys, key)
	}
	return keys
}
