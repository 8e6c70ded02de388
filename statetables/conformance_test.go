package statetables

import (
	"bytes"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

// documentOf is a built-in table as it is written.
func documentOf(tb testing.TB, provider string) document {
	tb.Helper()
	data, err := fs.ReadFile(Builtin(), provider+".yaml")
	if err != nil {
		data, err = fs.ReadFile(Demo(), provider+".yaml")
	}
	require.NoError(tb, err)
	var doc document
	decoder := &decoder{lines: map[string]int{}}
	root, fault := parseYAML(data)
	require.Nil(tb, fault)
	decoder.decode(root, "", reflect.ValueOf(&doc).Elem())
	require.Empty(tb, decoder.faults)
	return doc
}

func examplesOf(tb testing.TB, provider string) []exampleDoc {
	tb.Helper()
	return documentOf(tb, provider).Examples
}

// hostile is one way in which a provider's answer can be other than documented.
type hostile struct {
	name   string
	change func(*Table, Response) (Response, bool)
	// want is the detail that the answer must be malformed with; empty: it must not wait.
	want []string
}

func body(change func([]byte) []byte) func(*Table, Response) (Response, bool) {
	return func(_ *Table, response Response) (Response, bool) {
		response.Body = change(response.Body)
		return response, true
	}
}

// R3, R6, R7: variants of every example of every table. None waits on what it does not know, none panics.
var hostiles = []hostile{
	{name: "R3 S2 a state nobody listed", change: restate(`"partiallySucceeded"`)},
	{name: "R7 state null", change: restate(`null`), want: []string{wire.MalformedStateNull, wire.MalformedStateType}},
	{name: "R7 state is an object", change: restate(`{"a":1}`), want: []string{wire.MalformedStateType}},
	{name: "R7 state is a number", change: restate(`5`), want: []string{wire.MalformedStateType}},
	{name: "R7 state is true", change: restate(`true`), want: []string{wire.MalformedStateType}},
	{name: "R7 state is missing", change: restate(""), want: []string{wire.MalformedStateAbsent}},
	{name: "R7 H9 cut half way", change: body(func(b []byte) []byte { return b[:len(b)/2] }), want: []string{wire.MalformedTruncated}},
	{name: "R7 H9 a sign-in page", change: body(func([]byte) []byte { return []byte("<!DOCTYPE html><title>Sign in</title>") }), want: []string{wire.MalformedHTML}},
	{name: "R7 H8 nothing", change: body(func([]byte) []byte { return nil }), want: []string{wire.MalformedEmptyBody}},
	{name: "R7 white space", change: body(func([]byte) []byte { return []byte(" \n") }), want: []string{wire.MalformedEmptyBody}},
	{name: "R7 a list", change: body(func(b []byte) []byte { return []byte("[" + string(b) + "]") }), want: []string{wire.MalformedNotObject}},
	{name: "R7 null", change: body(func([]byte) []byte { return []byte("null") }), want: []string{wire.MalformedNotObject}},
	{name: "R7 something behind it", change: body(func(b []byte) []byte { return append(bytes.Clone(b), "{}"...) }), want: []string{wire.MalformedNotJSON}},
	{name: "R7 invalid UTF-8", change: body(func(b []byte) []byte { return bytes.Replace(b, []byte("{"), []byte("{\"x\":\"\xff\","), 1) }), want: []string{wire.MalformedInvalidUTF8}},
	{name: "R7 a key given twice", change: body(func(b []byte) []byte { return bytes.Replace(b, []byte("{"), []byte(`{"x":1,"x":2,`), 1) }), want: []string{wire.MalformedDuplicateKey}},
	{name: "R7 above 1 MiB", change: body(func(b []byte) []byte { return append(bytes.Clone(b), bytes.Repeat([]byte(" "), MaxBodyBytes)...) }), want: []string{wire.MalformedTooLarge}},
	{name: "R7 too large to be handed on", change: func(_ *Table, r Response) (Response, bool) { r.BodyTooLarge, r.Body = true, nil; return r, true }, want: []string{wire.MalformedTooLarge}},
	{name: "R7 nested without end", change: body(func(b []byte) []byte {
		return bytes.Replace(b, []byte("{"), []byte(`{"x":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+","), 1)
	}), want: []string{wire.MalformedTooDeep}},
}

// restate puts another value in place of the top-level field that the state is read from.
func restate(value string) func(*Table, Response) (Response, bool) {
	return func(_ *Table, response Response) (Response, bool) {
		parsed, malformed := parseBody(response)
		if malformed != "" {
			return response, false
		}
		for _, name := range []string{"status", "state"} {
			old, ok := parsed[name].(string)
			if !ok {
				continue
			}
			field := `"` + name + `":"` + old + `"`
			if value == "" {
				return replaced(response, field, `"was":1`), true
			}
			return replaced(response, field, `"`+name+`":`+value), true
		}
		return response, false
	}
}

func replaced(response Response, old, with string) Response {
	response.Body = bytes.Replace(response.Body, []byte(old), []byte(with), 1)
	return response
}

func TestHostileVariantsNeverWait(t *testing.T) {
	t.Parallel()
	set := loadAll(t)
	for _, provider := range set.Providers() {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			doc := documentOf(t, provider)
			found, _ := set.Table(provider)
			tried := map[string]int{}
			for _, example := range doc.Examples {
				response, context, err := example.Given.answer()
				require.NoError(t, err)
				if response.Status != 200 || len(response.Body) == 0 {
					continue
				}
				for _, hostile := range hostiles {
					changed, ok := hostile.change(found, response)
					if !ok {
						continue
					}
					tried[hostile.name]++
					got := found.Classify(targetOf(doc.ExampleJob.spec(provider)), context, changed)
					checkHostile(t, found, hostile, example.Name, got)
				}
			}
			for _, hostile := range hostiles {
				require.Positive(t, tried[hostile.name], "no example of %s could be made into %q", provider, hostile.name)
			}
		})
	}
}

func checkHostile(t *testing.T, found *Table, hostile hostile, example string, got wire.Observation) {
	t.Helper()
	if hostile.want != nil {
		require.Equal(t, wire.AnswerMalformed, got.Answer, "%s: %s", hostile.name, example)
		require.Contains(t, hostile.want, got.Detail, "%s: %s", hostile.name, example)
		require.Nil(t, got.Job)
		return
	}
	require.Equal(t, wire.AnswerRead, got.Answer, "%s: %s", hostile.name, example)
	// Only a table with the provider's word for it may go on with an unlisted state.
	require.Equal(t, found.unlisted, got.Job.Category, "%s: %s", hostile.name, example)
}

// R3, S1: another case is another state, except where the provider says otherwise.
func TestCaseIsExact(t *testing.T) {
	t.Parallel()
	set := loadAll(t)
	for _, provider := range set.Providers() {
		found, _ := set.Table(provider)
		for _, listed := range slices.Collect(maps.Values(found.states)) {
			for _, other := range []string{strings.ToUpper(listed.spelling), strings.ToUpper(listed.spelling[:1]) + listed.spelling[1:]} {
				raw, category := found.lookUp(other)
				if found.fold || other == listed.spelling {
					require.Equal(t, listed.category, category)
					require.Equal(t, listed.spelling, raw, "the table's spelling stands, so that later comparisons are exact")
					continue
				}
				require.Equal(t, wire.CategoryUnknown, category, "%s: %s", provider, other)
				require.Equal(t, other, raw)
			}
		}
	}
}

// R6, S9: an answer about another job says so, with every table that names the job and in every example that is read.
func TestAnotherJobIsSeen(t *testing.T) {
	t.Parallel()
	for _, provider := range loadAll(t).Providers() {
		found, doc := table(t, provider), documentOf(t, provider)
		asked := targetOf(doc.ExampleJob.spec(provider))
		asked.ProviderJobID += "x"
		seen := 0
		for _, example := range doc.Examples {
			response, context, err := example.Given.answer()
			require.NoError(t, err)
			got := found.Classify(asked, context, response)
			if got.Job != nil && namesJob(found, response) {
				require.True(t, got.Job.OtherJob, "%s: %s", provider, example.Name)
				seen++
			}
		}
		require.Positive(t, seen)
	}
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
	for _, provider := range loadAll(t).Providers() {
		found, doc := table(t, provider), documentOf(t, provider)
		for _, example := range doc.Examples {
			response, context, err := example.Given.answer()
			require.NoError(t, err)
			if len(response.Body) == 0 {
				continue
			}
			asked := targetOf(doc.ExampleJob.spec(provider))
			want := found.Classify(asked, context, response)
			response.Body = append([]byte("\xef\xbb\xbf"), response.Body...)
			got := found.Classify(asked, context, response)
			want.Size += 3
			require.Equal(t, want, got, "%s: %s", provider, example.Name)
		}
	}
}
