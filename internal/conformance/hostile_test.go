package conformance_test

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// hostile is one way in which an answer over HTTP can be other than documented.
type hostile struct {
	name string
	// serve makes the answer of a good one; nil where the good one gives nothing to make it of.
	serve func(victim) http.HandlerFunc
	// want is how it is read. What is not read as an answer about the job never lets it pass for one.
	want   wire.Answer
	detail string
	// unless says that a table documents the answer, so that it is not hostile to it, and documented how many tables do.
	unless     func(statetables.Document) bool
	documented int
}

// victim is a good answer of a table, and the table.
type victim struct {
	doc     statetables.Document
	example statetables.Example
}

const page = "<!DOCTYPE html><title>Sign in</title><p>Welcome back"

var hostiles = []hostile{
	{name: "R7 cut half way", serve: body(half), want: wire.AnswerMalformed, detail: wire.MalformedTruncated},
	{name: "R7 H9 a sign-in page", serve: body(put(page)), want: wire.AnswerMalformed, detail: wire.MalformedHTML},
	{name: "R7 H8 nothing", serve: body(put("")), want: wire.AnswerMalformed, detail: wire.MalformedEmptyBody, unless: needsNoBody, documented: 2},
	{name: "R7 two answers in one", serve: body(twice), want: wire.AnswerMalformed, detail: wire.MalformedNotJSON},
	{name: "R7 a key given twice", serve: body(keyTwice), want: wire.AnswerMalformed, detail: wire.MalformedDuplicateKey},
	{name: "R7 more than 1 MiB", serve: body(padded), want: wire.AnswerMalformed, detail: wire.MalformedTooLarge},
	{name: "R7 more than 1 MiB after decompression", serve: coded("gzip", zipped(padded)), want: wire.AnswerMalformed, detail: wire.MalformedTooLarge},
	{name: "R7 a coding nobody asked for", serve: coded("br", half), want: wire.AnswerMalformed, detail: wire.MalformedContentCoding},
	{name: "R7 more than 64 KiB of headers", serve: header("X-Filler", strings.Repeat("x", 70<<10)), want: wire.AnswerMalformed, detail: wire.MalformedTooLarge},
	{name: "R7 a byte-order mark", serve: body(marked), want: wire.AnswerRead},
	{name: "gzip that nobody asked for", serve: coded("gzip", zipped(same)), want: wire.AnswerRead},
	{name: "R11 cut on the way", serve: cutOnTheWay, want: wire.AnswerTransportFailure},
	{name: "R2 a redirect", serve: status(302, page, "Location", "/elsewhere"), want: wire.AnswerUnexpected, unless: speaksOf("302")},
	{name: "R9 the job's answer with a 401", serve: code(401), want: wire.AnswerDenied},
	{name: "R11 the job's answer with a 429", serve: code(429), want: wire.AnswerRateLimited},
	{name: "R12 a 503 with a page", serve: status(503, page, "Retry-After", "120"), want: wire.AnswerServerError, unless: speaksOf("503"), documented: 1},
}

// R2, R7, R9, R11, R12: no table waits on an answer that is not the provider's, and each is asked for once.
func TestHostileAnswersOverHTTP(t *testing.T) {
	t.Parallel()
	var tried tally
	all, err := shipped()
	require.NoError(t, err)
	want := map[string]int{}
	for _, hostile := range hostiles {
		want[hostile.name] = len(all) - hostile.documented
	}
	everyTable(t, func(t *testing.T, known table) {
		t.Helper()
		good, ok := victimOf(known)
		if !ok {
			t.Skip("no example of this table is read from the body of a 200")
		}
		p := newProvider(t)
		for _, hostile := range hostiles {
			if hostile.unless != nil && hostile.unless(good.doc) {
				continue
			}
			tried.count(hostile.name, known)
			w := waitFor(t, known.table, good.example, nil)
			p.give(hostile.serve(good))
			at(t, w.now, func(t *testing.T) {
				t.Helper()
				seen := w.poll(t, p, known.set)
				require.Len(t, p.got(), 1, hostile.name)
				require.Equal(t, hostile.want, seen.Answer, hostile.name)
				if hostile.detail != "" {
					require.Equal(t, hostile.detail, seen.Detail, hostile.name)
				}
				requireReading(t, hostile, good, seen)
				requireReaction(t, w, seen, hostile.name)
			})
		}
	})
	tried.requireTables(t, want)
}

// requireReading wants the good reading where the answer is as good as it, and no job fact where it is none.
func requireReading(t *testing.T, hostile hostile, good victim, seen wire.Observation) {
	t.Helper()
	if hostile.want == wire.AnswerRead {
		require.Empty(t, good.example.Differences(seen), hostile.name)
		return
	}
	require.Nil(t, seen.Job, hostile.name)
}

// requireReaction wants the wait to go on only where the answer says nothing of the job, or something good.
func requireReaction(t *testing.T, w *wait, seen wire.Observation, name string) {
	t.Helper()
	w.decide(seen)
	view := w.op.View(w.now)
	switch seen.Answer {
	case wire.AnswerMalformed, wire.AnswerUnexpected, wire.AnswerDenied:
		require.NotNil(t, view.Escalation, name)
		require.Nil(t, view.NextPollAt, name)
	case wire.AnswerServerError:
		require.GreaterOrEqual(t, view.NextPollAt.Sub(w.now), 120*time.Second, name)
		require.Equal(t, 1, view.Counters.TransportFailuresUsed, name)
	case wire.AnswerTransportFailure:
		require.NotNil(t, view.NextPollAt, name)
		require.Equal(t, 1, view.Counters.TransportFailuresUsed, name)
	case wire.AnswerRateLimited:
		require.NotNil(t, view.NextPollAt, name)
		require.Equal(t, 1, view.Counters.RateLimitedUsed, name)
	case wire.AnswerRead, wire.AnswerNotFound:
	}
}

// R3, R6, R7: a word that is almost a listed one, none, and another job's answer do not let a wait go on.
func TestHostileWordsOverHTTP(t *testing.T) {
	t.Parallel()
	var tried tally
	everyTable(t, func(t *testing.T, known table) {
		t.Helper()
		good, ok := victimOf(known)
		if !ok || !wire.Category(good.example.Want.Category).Waits() {
			t.Skip("no example of this table waits by the body of a 200")
		}
		p := newProvider(t)
		for name, change := range words {
			changed, applies := change(good)
			if !applies {
				continue
			}
			tried.count(name, known)
			w := waitFor(t, known.table, good.example, nil)
			p.give(answering(changed))
			at(t, w.now, func(t *testing.T) {
				t.Helper()
				w.decide(w.poll(t, p, known.set))
				require.Nil(t, w.op.View(w.now).NextPollAt, name)
				require.Len(t, p.got(), 1, name)
			})
		}
	})
	tried.requireTables(t, wordTables)
}

// wordTables is on how many tables each of the words is tried, at least.
var wordTables = map[string]int{
	"R3 S1 another case": 35, "R3 S2 a word behind it": 36, "R3 the empty word": 36, "R7 null": 39, "R7 a list": 39,
	"R6 S9 another job": 54,
}

// words are answers that speak of the job in other words than documented; not of tables that document to wait then.
var words = map[string]func(victim) (statetables.Response, bool){
	"R3 S1 another case": func(v victim) (statetables.Response, bool) {
		return v.restated(`"`+swapped(v.example.Want.RawState)+`"`, v.doc.UnknownStates == nil && v.doc.CaseInsensitive == nil)
	},
	"R3 S2 a word behind it": func(v victim) (statetables.Response, bool) {
		return v.restated(`"`+v.example.Want.RawState+`_x"`, v.doc.UnknownStates == nil)
	},
	"R3 the empty word": func(v victim) (statetables.Response, bool) {
		return v.restated(`""`, v.doc.UnknownStates == nil && !slices.Contains(v.doc.States["pending"], ""))
	},
	"R7 null": func(v victim) (statetables.Response, bool) { return v.restated(`null`, true) },
	"R7 a list": func(v victim) (statetables.Response, bool) {
		return v.restated(`["`+v.example.Want.RawState+`"]`, true)
	},
	"R6 S9 another job": func(v victim) (statetables.Response, bool) {
		id := v.example.Job.ProviderJobID
		return v.replaced(`"`+id+`"`, `"`+id+`x"`, v.doc.JobID != "")
	},
}

// restated puts something else in the place of the state, where that is a word which stands in the answer once.
func (v victim) restated(instead string, applies bool) (statetables.Response, bool) {
	return v.replaced(`"`+v.example.Want.RawState+`"`, instead, applies && len(v.doc.Rules) == 0)
}

func (v victim) replaced(text, instead string, applies bool) (statetables.Response, bool) {
	response := v.example.Response
	if !applies || bytes.Count(response.Body, []byte(text)) != 1 {
		return response, false
	}
	response.Body = bytes.Replace(response.Body, []byte(text), []byte(instead), 1)
	return response, true
}

func swapped(word string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, word)
}

// R11, R51: whoever cannot prove to be the host of the URL is told nothing.
func TestAnotherHostsCertificate(t *testing.T) {
	t.Parallel()
	var tried tally
	everyTable(t, func(t *testing.T, known table) {
		t.Helper()
		example := known.examples[0]
		w := waitFor(t, known.table, example, nil)
		if w.address(t, known.set).Scheme != "https" {
			t.Skip("no TLS")
		}
		tried.count("TLS", known)
		p := newProvider(t)
		p.authority.impostor = "impostor.example.com"
		p.give(answering(example.Response))
		at(t, w.now, func(t *testing.T) {
			t.Helper()
			seen := w.poll(t, p, known.set)
			require.Equal(t, wire.AnswerTransportFailure, seen.Answer)
			require.Equal(t, wire.TransportTLS, seen.Detail)
			require.Nil(t, seen.SentAt)
			require.Empty(t, p.got())
		})
	})
	tried.requireTables(t, map[string]int{"TLS": 74}) // all but the demonstration's
}

// victimOf is an answer that a table reads from the body of a 200, one that waits if there is one.
func victimOf(known table) (victim, bool) {
	if meaning, ok := known.file.Table.HTTPCodes["200"]; ok && meaning.ReadAs != "body" {
		return victim{}, false
	}
	found, ok := victim{doc: known.file.Table}, false
	for _, example := range known.examples {
		want := example.Want
		if example.Response.Status != 200 || want.Category == "" || want.OtherJob || want.NextURLRejected || !isObject(example.Response.Body) {
			continue
		}
		if wire.Category(want.Category).Waits() {
			return victim{known.file.Table, example}, true
		}
		if !ok {
			found.example, ok = example, true
		}
	}
	return found, ok
}

func isObject(body []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) }

// speaksOf says whether a table gives a code, or its class, a meaning of its own.
func speaksOf(code string) func(statetables.Document) bool {
	return func(doc statetables.Document) bool {
		_, itself := doc.HTTPCodes[code]
		_, class := doc.HTTPCodes[code[:1]+"xx"]
		return itself || class
	}
}

func needsNoBody(doc statetables.Document) bool { return doc.HTTPCodes["200"].Body == "optional" }

// body answers with another body than the good one.
func body(change func([]byte) []byte) func(victim) http.HandlerFunc {
	return func(v victim) http.HandlerFunc {
		response := v.example.Response
		response.Body = change(response.Body)
		return answering(response)
	}
}

// coded answers in a content coding.
func coded(coding string, change func([]byte) []byte) func(victim) http.HandlerFunc {
	return func(v victim) http.HandlerFunc {
		response := v.example.Response
		response.Body = change(response.Body)
		response.Header = http.Header(response.Header).Clone()
		http.Header(response.Header).Set("Content-Encoding", coding)
		return answering(response)
	}
}

// header adds one to the good answer.
func header(name, value string) func(victim) http.HandlerFunc {
	return func(v victim) http.HandlerFunc {
		response := v.example.Response
		response.Header = http.Header(response.Header).Clone()
		http.Header(response.Header).Set(name, value)
		return answering(response)
	}
}

// code answers with the good body under another code.
func code(status int) func(victim) http.HandlerFunc {
	return func(v victim) http.HandlerFunc {
		response := v.example.Response
		response.Status, response.Header = status, http.Header{}
		return answering(response)
	}
}

// status answers something else altogether.
func status(code int, body, name, value string) func(victim) http.HandlerFunc {
	return func(victim) http.HandlerFunc {
		return answering(statetables.Response{Status: code, Header: http.Header{name: {value}}, Body: []byte(body)})
	}
}

// cutOnTheWay promises the whole body, gives half of it and closes the connection.
func cutOnTheWay(v victim) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		whole := v.example.Response.Body
		w.Header().Set("Content-Length", strconv.Itoa(len(whole)))
		_, _ = w.Write(half(whole))
		panic(http.ErrAbortHandler)
	}
}

func same(body []byte) []byte  { return body }
func half(body []byte) []byte  { return body[:len(body)/2] }
func twice(body []byte) []byte { return slices.Concat(body, body) }
func padded(body []byte) []byte {
	return append(slices.Clone(body), make([]byte, statetables.MaxBodyBytes)...)
}
func marked(body []byte) []byte { return slices.Concat([]byte("\xef\xbb\xbf"), body) }
func keyTwice(body []byte) []byte {
	return slices.Concat([]byte(`{"x":1,"x":2,`), bytes.TrimSpace(body)[1:])
}

func put(text string) func([]byte) []byte { return func([]byte) []byte { return []byte(text) } }

func zipped(change func([]byte) []byte) func([]byte) []byte {
	return func(body []byte) []byte {
		var out bytes.Buffer
		writer := gzip.NewWriter(&out)
		_, _ = writer.Write(change(body))
		_ = writer.Close()
		return out.Bytes()
	}
}
