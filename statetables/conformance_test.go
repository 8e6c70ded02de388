package statetables

import (
	"bytes"
	"flag"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

// documentOf is a table as it is written; its file has the provider's name.
func documentOf(tb testing.TB, provider string) Document {
	tb.Helper()
	data, err := fs.ReadFile(Builtin(), provider+".yaml")
	if err != nil {
		data, err = fs.ReadFile(Demo(), provider+".yaml")
	}
	require.NoError(tb, err)
	doc, _, decoder := decodeTable(data)
	require.Empty(tb, decoder.faults)
	return doc
}

func examplesOf(tb testing.TB, provider string) []ExampleDoc {
	tb.Helper()
	return documentOf(tb, provider).Examples
}

// answered is an example's answer that a table reads from its body.
type answered struct {
	name     string
	response Response
	context  wire.ReadingContext
	asked    wire.Target
	// listed says that its category comes from the list of states, not from a rule.
	listed bool
}

func answersOf(tb testing.TB, found *Table, doc Document) []answered {
	tb.Helper()
	var all []answered
	for _, example := range doc.Examples {
		response, context, err := example.Given.answer()
		require.NoError(tb, err)
		if response.Status != 200 || len(response.Body) == 0 {
			continue
		}
		asked := targetOf(example.Job.over(doc.ExampleJob).spec(doc.Provider))
		r := newReader(found, asked, context, response)
		if r.parse() != "" {
			continue
		}
		raw, _, err := r.state()
		all = append(all, answered{name: example.Name, response: response, context: context, asked: asked, listed: err == nil && found.isListed(raw)})
	}
	return all
}

// hostile is one way in which an answer can be other than documented.
type hostile struct {
	name   string
	change func([]byte) []byte
	want   string // the detail of the malformed answer
}

// first puts a member before those that an object has.
func first(member string) func([]byte) []byte {
	return func(body []byte) []byte {
		rest, separator := bytes.TrimSpace(body)[1:], ","
		if bytes.TrimSpace(rest)[0] == '}' {
			separator = ""
		}
		return append([]byte("{"+member+separator), rest...)
	}
}

func put(text string) func([]byte) []byte { return func([]byte) []byte { return []byte(text) } }

var hostiles = []hostile{
	{name: "R7 H9 cut half way", change: func(b []byte) []byte { return b[:len(b)/2] }, want: wire.MalformedTruncated},
	{name: "R7 H9 a sign-in page", change: put("<!DOCTYPE html><title>Sign in</title>"), want: wire.MalformedHTML},
	{name: "R7 H8 nothing", change: put(""), want: wire.MalformedEmptyBody},
	{name: "R7 white space", change: put(" \n"), want: wire.MalformedEmptyBody},
	{name: "R7 a list", change: func(b []byte) []byte { return []byte("[" + string(b) + "]") }, want: wire.MalformedNotObject},
	{name: "R7 null", change: put("null"), want: wire.MalformedNotObject},
	{name: "R7 something behind it", change: func(b []byte) []byte { return append(bytes.Clone(b), "{}"...) }, want: wire.MalformedNotJSON},
	{name: "R7 invalid UTF-8", change: first("\"x\":\"\xff\""), want: wire.MalformedInvalidUTF8},
	{name: "R7 a key given twice", change: first(`"x":1,"x":2`), want: wire.MalformedDuplicateKey},
	{name: "R7 above 1 MiB", change: func(b []byte) []byte { return append(bytes.Clone(b), make([]byte, MaxBodyBytes)...) }, want: wire.MalformedTooLarge},
	{name: "R7 nested without end", change: first(`"x":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000)), want: wire.MalformedTooDeep},
}

// R7, H8, H9: no example of any table is read any more once its body is not one JSON object. Only a code that says
// everything needs none.
func TestBrokenBodiesAreMalformed(t *testing.T) {
	t.Parallel()
	var tables atomic.Int64
	everyBuiltin(t, func(t *testing.T, found *Table, doc Document) {
		t.Helper()
		meaning, given := found.meaning(200)
		broken := 0
		for _, answer := range answersOf(t, found, doc) {
			for _, hostile := range hostiles {
				response := answer.response
				response.Body = hostile.change(response.Body)
				got := found.Classify(answer.asked, answer.context, response)
				if given && mayLack(meaning, hostile) {
					continue
				}
				require.Equal(t, wire.AnswerMalformed, got.Answer, "%s: %s", hostile.name, answer.name)
				require.Equal(t, hostile.want, got.Detail, "%s: %s", hostile.name, answer.name)
				require.Nil(t, got.Job)
				broken++
			}
		}
		if broken > 0 {
			tables.Add(1)
		}
	})
	requireTables(t, tables.Load(), 75, "tables that read the body of a 200")
}

// mayLack says whether a code's answer is read without the body that the hostile one spoils.
func mayLack(meaning *codeMeaning, hostile hostile) bool {
	return meaning.ignoreBody || hostile.want == wire.MalformedEmptyBody && (meaning.mayBeEmpty || !meaning.readBody)
}

// everyBuiltin runs a check for each table that is shipped, and returns when all are done.
func everyBuiltin(t *testing.T, check func(*testing.T, *Table, Document)) {
	t.Helper()
	set := loadAll(t)
	t.Run("table", func(t *testing.T) {
		for _, provider := range set.Providers() {
			t.Run(provider, func(t *testing.T) {
				t.Parallel()
				found, _ := set.Table(provider)
				check(t, found, documentOf(t, provider))
			})
		}
	})
}

// requireTables notices a table that a check applies to no more. Where -run chose among the tables nothing can be said.
func requireTables(t *testing.T, got, least int64, which string) {
	t.Helper()
	if !strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		require.GreaterOrEqual(t, got, least, which)
	}
}

// restated is an answer in which another value stands where the state is read from.
type restated struct {
	name  string
	value any // absent: the key is gone
}

var absent = struct{}{}

var restatements = []restated{
	{name: "R3 S2 a word nobody listed", value: "partiallySucceeded_"},
	{name: "R7 null", value: nil},
	{name: "R7 an object", value: map[string]any{"a": true}},
	{name: "R7 a list", value: []any{"running"}},
	{name: "R7 a number", value: number("987654321")},
	{name: "R7 true", value: true},
	{name: "R7 missing", value: absent},
}

// R3, R7: where a table reads its state from a list, it waits in nothing else, unless the provider documents that it may.
func TestUnknownStatesDoNotWait(t *testing.T) {
	t.Parallel()
	var tables atomic.Int64
	everyBuiltin(t, func(t *testing.T, found *Table, doc Document) {
		t.Helper()
		way := wayToState(doc)
		if way == nil {
			t.Skip("the state of this table is not read from the body")
		}
		tried := 0
		for _, answer := range answersOf(t, found, doc) {
			if !answer.listed {
				continue
			}
			for _, restated := range restatements {
				response, ok := restate(answer.response, way, restated.value)
				if !ok {
					continue
				}
				tried++
				got := found.Classify(answer.asked, answer.context, response)
				require.False(t, got.Job != nil && got.Job.Category.Waits() && !documented(doc, restated.value), "%s: %s", restated.name, answer.name)
			}
		}
		require.Positive(t, tried, "no example shows a listed state")
		tables.Add(1)
	})
	requireTables(t, tables.Load(), 69, "tables that read a state from the body")
}

// documented says whether the table as it is written covers waiting with this value: a word that is not listed, or none.
func documented(doc Document, value any) bool {
	switch value.(type) {
	case string:
		return unlistedIn(doc).Waits()
	case bool:
		return slices.Contains(doc.States["pending"], "true")
	default:
		return value == absent && doc.AbsentState != nil && wire.Category(doc.AbsentState.ReadAs).Waits()
	}
}

func unlistedIn(doc Document) wire.Category {
	if doc.UnknownStates != nil && doc.UnknownStates.ReadAs == "pending" {
		return wire.CategoryPending
	}
	return wire.CategoryUnknown
}

var ways = regexp.MustCompile(`body(?:\.[A-Za-z_][A-Za-z0-9_]*|\["[^"\\]+"\])+`)

// wayToState is the last way into the body that the state's expression names.
func wayToState(doc Document) []string {
	named := ways.FindAllString(doc.State, -1)
	if len(named) == 0 {
		return nil
	}
	var keys []string
	for _, step := range parseWalk(named[len(named)-1]).steps {
		keys = append(keys, step.key)
	}
	return keys
}

func restate(response Response, way []string, value any) (Response, bool) {
	body, malformed := parseBody(response)
	at := body
	for _, key := range way[:len(way)-1] {
		at, _ = at[key].(map[string]any)
	}
	if _, ok := at[way[len(way)-1]]; malformed != "" || !ok {
		return response, false
	}
	at[way[len(way)-1]] = value
	if value == absent {
		delete(at, way[len(way)-1])
	}
	response.Body = []byte(compact(body))
	return response, true
}

// R7: what each of these makes of a table whose state is a plain way.
func TestRestatedDemo(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"R3 S2 a word nobody listed": "", "R7 null": wire.MalformedStateNull, "R7 an object": wire.MalformedStateType,
		"R7 a list": wire.MalformedStateType, "R7 a number": wire.MalformedStateType, "R7 true": wire.MalformedStateType,
		"R7 missing": wire.MalformedStateAbsent,
	}
	for _, restated := range restatements {
		response, ok := restate(Response{Status: 200, Body: []byte(`{"state":"running"}`), ReceivedAt: now}, []string{"state"}, restated.value)
		require.True(t, ok)
		got := demoAnswer(t, response)
		require.Equal(t, want[restated.name], got.Detail, restated.name)
		require.Equal(t, got.Detail == "", got.Job != nil && got.Job.Category == wire.CategoryUnknown)
	}
}

// R3, S1: another case is another state, except where the provider says otherwise.
func TestCaseIsExact(t *testing.T) {
	t.Parallel()
	everyBuiltin(t, func(t *testing.T, found *Table, doc Document) {
		t.Helper()
		for _, state := range slices.Collect(maps.Values(found.states)) {
			for _, other := range []string{strings.ToUpper(state.spelling), strings.ToLower(state.spelling)} {
				raw, category := found.lookUp(other)
				switch {
				case found.fold:
					require.Equal(t, state.spelling, raw, "the table's spelling stands, so that later comparisons are exact")
					require.Equal(t, state.category, category)
				case !found.isListed(other):
					require.Equal(t, unlistedIn(doc), category, other)
					require.Equal(t, other, raw)
				}
			}
		}
	})
}

// R6, S9: an answer about another job says so, in every example that names the job.
func TestAnotherJobIsSeen(t *testing.T) {
	t.Parallel()
	var tables atomic.Int64
	everyBuiltin(t, func(t *testing.T, found *Table, doc Document) {
		t.Helper()
		if found.jobID == nil {
			t.Skip("the answers of this provider do not name the job")
		}
		seen := 0
		for _, answer := range answersOf(t, found, doc) {
			asked := answer.asked
			asked.ProviderJobID += "x"
			got := found.Classify(asked, answer.context, answer.response)
			if got.Job != nil && namesJob(found, answer.response) {
				require.True(t, got.Job.OtherJob, answer.name)
				seen++
			}
		}
		require.Positive(t, seen)
		tables.Add(1)
	})
	requireTables(t, tables.Load(), 68, "tables whose answers name the job")
}

func namesJob(found *Table, response Response) bool {
	r := newReader(found, wire.Target{}, wire.ReadingContext{}, response)
	if r.parse() != "" {
		return false
	}
	value, err := found.jobID.eval(r.in)
	return err == nil && value != nil
}

// R7: a byte-order mark changes nothing.
func TestByteOrderMarkIsTolerated(t *testing.T) {
	t.Parallel()
	everyBuiltin(t, func(t *testing.T, found *Table, doc Document) {
		t.Helper()
		for _, answer := range answersOf(t, found, doc) {
			asked := answer.asked
			want := found.Classify(asked, answer.context, answer.response)
			answer.response.Body = append([]byte("\xef\xbb\xbf"), answer.response.Body...)
			got := found.Classify(asked, answer.context, answer.response)
			want.Size += 3
			require.Equal(t, want, got, answer.name)
		}
	})
}

// Every category that a built-in table can give is shown by an example of it.
func TestEveryCategoryHasAnExample(t *testing.T) {
	t.Parallel()
	everyBuiltin(t, func(t *testing.T, found *Table, doc Document) {
		t.Helper()
		shown := map[string]bool{}
		for _, example := range doc.Examples {
			shown[example.Want.Category] = true
		}
		for _, category := range categoriesOf(found) {
			require.True(t, shown[string(category)], "no example of %s", category)
		}
	})
}

// categoriesOf are the categories that a table can give.
func categoriesOf(found *Table) []wire.Category {
	var all []wire.Category
	for _, state := range found.states {
		all = append(all, state.category)
	}
	for _, rule := range found.rules {
		all = append(all, rule.category)
	}
	for _, code := range found.codes {
		if !code.readBody {
			all = append(all, code.category)
		}
	}
	return all
}

// R27: where a finished job is soon gone, no sleep that a spec may ask for reaches beyond it.
func TestNoSleepOutlastsARetention(t *testing.T) {
	t.Parallel()
	const longestSleep = 86_400
	everyBuiltin(t, func(t *testing.T, found *Table, doc Document) {
		t.Helper()
		if keeps := doc.Retention; keeps != nil && keeps.Seconds <= longestSleep {
			require.Positive(t, found.Advice().CapSeconds, "a sleep may be as long as the retention of %d s", keeps.Seconds)
			require.LessOrEqual(t, 2*found.Advice().CapSeconds, keeps.Seconds, "a late look must still find the job")
		}
	})
}
