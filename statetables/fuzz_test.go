package statetables

import (
	"os"
	"path/filepath"
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
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := Load(Source{FS: fstest.MapFS{"t.yaml": {Data: data}}})
		if err != nil {
			require.Regexp(t, `^t\.yaml:[0-9]+: `, err.Error())
			return
		}
		for _, provider := range set.Providers() {
			found, _ := set.Table(provider)
			found.Classify(wire.Target{}, wire.ReadingContext{}, Response{Status: 200, Body: []byte(`{"state":{}}`)})
		}
	})
}

// R3, R7, R14: whatever a provider answers, a wait goes on only in a category that the table gives a listed state.
func FuzzClassify(f *testing.F) {
	for _, provider := range []string{"demo-export", "openai-batch", "github-actions-run", "azure-operation"} {
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
