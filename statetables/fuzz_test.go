package statetables

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

// R16: guidance is never negative, never zero, never beyond what a time can hold, and either followed or refused.
func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"60", "-5", "1.5", "9223372037", "Wed, 21 Oct 2015 07:28:00 GMT", "Thu Jan 15 12:02:00 2026", "NaN", "5, 30, Thu, 15 Jan 2026 12:02:00 GMT", ","} {
		f.Add(seed, nowDate)
	}
	f.Fuzz(func(t *testing.T, value, date string) {
		seconds, rejected := ParseRetryAfter([]string{value}, date, now)
		require.Equal(t, seconds == nil, rejected != "")
		if seconds == nil {
			return
		}
		require.Positive(t, *seconds)
		require.LessOrEqual(t, *seconds, int64(MaxGuidanceSeconds))
		require.True(t, now.Add(time.Duration(*seconds)*time.Second).After(now))
	})
}

// A table file can be anything: it is refused with file and line, or it is a table that reads answers.
func FuzzLoadTable(f *testing.F) {
	// Small ones only: the fuzzer makes what it finds smaller before it goes on, which takes long with a whole table.
	for _, pattern := range []string{"testdata/right/*.yaml", "testdata/wrong/*.yaml"} {
		paths, err := filepath.Glob(pattern)
		require.NoError(f, err)
		for _, path := range paths {
			data, err := os.ReadFile(path)
			require.NoError(f, err)
			f.Add(data)
		}
	}
	for _, seed := range sectionSeeds(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := Load(Source{FS: fstest.MapFS{"t.yaml": {Data: data}}})
		if err != nil {
			require.Regexp(t, `^t\.yaml:[0-9]+: `, err.Error())
			return
		}
		for _, provider := range set.Providers() {
			found, _ := set.Table(provider)
			usedWith(found, Response{Status: 200, Body: []byte(`{"state":{}}`)})
		}
	})
}

// usedWith reads an answer in every way in which a table can.
func usedWith(found *Table, response Response) {
	found.Classify(wire.Target{}, wire.ReadingContext{}, response)
	if _, _, ok := found.Submission(); ok {
		_, _ = found.SubmitRequest(wire.Target{}, "key", response.Body)
		found.ReadSubmission(wire.Target{}, "key", "https://a.example/", response)
	}
	if callback, ok := found.Callback(); ok {
		_, _ = callback.Read(response.Header, response.Body, "j-1")
	}
}

// sectionSeeds are small tables with the sections that say how to submit and how webhooks are signed, each taken from a built-in
// table, so that every shape which one of them has is a seed.
func sectionSeeds(tb testing.TB) [][]byte {
	tb.Helper()
	head, err := os.ReadFile("testdata/right/acme-jobs.yaml")
	require.NoError(tb, err)
	var seeds [][]byte
	for _, file := range filesOf(tb) {
		for _, section := range []string{"submit", "callback"} {
			if text := sectionText(string(file.data), section); text != "" {
				seeds = append(seeds, append(bytes.Clone(head), text...))
			}
		}
	}
	return seeds
}

// asOfAcme writes a section as the small table could have it: of its sources, its host and its states.
var asOfAcme = []struct{ was, is string }{
	{`source: [a-z_]+`, "source: docs"},
	{`https://[^ ,"\n]*\{[a-z_.|]+\}[^ ,"\n]*`, "https://api.example.com/jobs"},
	{`(    url: |url: "?)https://[a-z0-9./_-]+`, "${1}https://api.example.com/jobs"},
	{`"\{params\.[a-z_]+\}"`, "x"},
	{`read_as: status, |    read_as: status\n|, category: [a-z]+`, ""},
	{`, detail: [^}]*`, ""},
}

// sectionText is a section of a table as it is written, or nothing where it is written in one line.
func sectionText(table, section string) string {
	text := regexp.MustCompile(`(?m)^` + section + `:\n(?:[ #].*\n)+`).FindString(table)
	for _, one := range asOfAcme {
		text = regexp.MustCompile(one.was).ReplaceAllString(text, one.is)
	}
	return text
}

// Most seeds with those sections are tables, so that the fuzzer gets behind the loader with them.
func TestSectionSeeds(t *testing.T) {
	t.Parallel()
	seeds := sectionSeeds(t)
	right := 0
	for _, seed := range seeds {
		if _, err := Load(Source{FS: fstest.MapFS{"t.yaml": {Data: seed}}}); err == nil {
			right++
		}
	}
	require.Greater(t, len(seeds), 50)
	require.Greater(t, right, 45, "of %d", len(seeds))
}

// R3, R7, R14: whatever a provider answers, a wait goes on only in a category that the table gives a listed state.
func FuzzClassify(f *testing.F) {
	for _, provider := range []string{
		"demo-export", "openai-batch", "github-actions-run", "azure-operation", // listed states, rules, codes, headers
		"azure-location", "fhir-bulk-export", "snowflake-statement", "runpod-batch", // the code as the state, no body, two verdicts, counts
	} {
		for _, example := range examplesOf(f, provider) {
			response, _, err := example.Given.answer()
			require.NoError(f, err)
			f.Add(uint16(response.Status), response.Body, "60")
		}
	}
	set := loadAll(f)
	f.Fuzz(func(t *testing.T, status uint16, body []byte, retryAfter string) {
		for _, provider := range set.Providers() {
			found, _ := set.Table(provider)
			got := found.Classify(asked("j"), readingOf(time.Minute), Response{
				Status: int(status), Body: body, Header: map[string][]string{"Retry-After": {retryAfter}}, ReceivedAt: now,
			})
			require.Equal(t, got.Answer == wire.AnswerRead, got.Job != nil)
			if got.Job == nil {
				continue
			}
			require.LessOrEqual(t, len(got.Job.RawState), maxRawStateBytes)
			require.LessOrEqual(t, len(got.Job.Error.Message), maxMessageBytes)
			require.True(t, utf8.ValidString(got.Job.RawState))
			if got.Job.Category.Waits() {
				require.True(t, mayWait(found, got.Job.RawState), "%s waits in %q", provider, got.Job.RawState)
			}
		}
	})
}

// R56: whatever a provider answers to a submission, a job is one only after a code that says so, and with an id that can stand
// in a spec and a URL that the table accepts.
func FuzzReadSubmission(f *testing.F) {
	set := loadAll(f)
	for _, file := range filesOf(f) {
		examples, err := file.Submissions()
		require.NoError(f, err)
		for _, example := range examples {
			location := ""
			for _, name := range []string{"Location", "Operation-Location", "Azure-Asyncoperation"} {
				location = cmp.Or(location, strings.Join(example.Response.Header[name], ", "))
			}
			f.Add(uint16(example.Response.Status), example.Response.Body, location)
		}
	}
	f.Fuzz(func(t *testing.T, status uint16, body []byte, location string) {
		response := Response{Status: int(status), Body: body, ReceivedAt: now, Header: map[string][]string{
			"Location": {location}, "Operation-Location": {location}, "Azure-Asyncoperation": {location},
		}}
		for _, provider := range set.Providers() {
			found, _ := set.Table(provider)
			if found.submit != nil {
				requireCertain(t, found, response, found.ReadSubmission(asked(""), "key", "https://a.example/jobs", response))
			}
		}
	})
}

func requireCertain(t *testing.T, found *Table, response Response, got SubmissionReading) {
	t.Helper()
	require.Equal(t, got.Verdict == wire.SubmitAccepted, got.Job != nil)
	if got.Job == nil {
		require.Nil(t, got.Observation.Job)
		return
	}
	require.Contains(t, slices.Concat(found.submit.accepted, found.submit.exists), response.Status, found.provider)
	require.NotEmpty(t, got.Job.ProviderJobID)
	require.LessOrEqual(t, utf8.RuneCountInString(got.Job.ProviderJobID), 256)
	require.True(t, utf8.ValidString(got.Job.ProviderJobID))
	require.True(t, got.Job.Unusable != "" || found.reach.polls == (got.Job.StatusURL != ""), "nobody would know where to ask: %s", found.provider)
	if job := got.Observation.Job; job != nil {
		require.NotEqual(t, wire.CategoryUnknown, job.Category)
		require.False(t, job.OtherJob)
	}
}

func filesOf(tb testing.TB) []File {
	tb.Helper()
	files, err := Files(Source{FS: Builtin()})
	require.NoError(tb, err)
	return files
}

// mayWait says whether a table names a state, a rule or a code in which a wait goes on under this word.
func mayWait(found *Table, raw string) bool {
	_, category := found.lookUp(raw)
	rules := slices.ContainsFunc(found.rules, func(rule rule) bool {
		return rule.category.Waits() && (rule.name == raw || rule.name == "")
	})
	code := strings.HasPrefix(raw, "http_")
	for _, meaning := range found.codes {
		code = code || meaning.name == raw
	}
	return category.Waits() || rules || code || raw == "" && found.absentAs.Waits()
}
