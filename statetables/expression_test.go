package statetables

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func answerOf(tb testing.TB, body string) *input {
	tb.Helper()
	parsed, malformed := parseBody(Response{Body: []byte(body)})
	require.Empty(tb, malformed)
	return &input{
		body: parsed, status: 200, header: map[string][]string{"X-State": {"202 Accepted"}, "X-Two": {"a", "b"}},
		params: map[string]string{"region": "eu"}, jobID: "j-1", now: now,
	}
}

func evaluate(tb testing.TB, text string, in *input) (any, error) {
	tb.Helper()
	compiled, err := compile(text, wantsText)
	require.NoError(tb, err, text)
	return compiled.eval(in)
}

// A header has one name, in whatever case it comes, and expressions see all that was sent under it.
func TestHeadersOfAnExpression(t *testing.T) {
	t.Parallel()
	in := &input{header: map[string][]string{"X-Two": {"a", "b"}, "x-two": {"c"}, "X-One": {"d"}}}
	require.Equal(t, map[string]string{"x-two": "a, b, c", "x-one": "d"}, in.lowerHeader())
	walked, err := evaluate(t, `header["x-two"]`, in)
	require.NoError(t, err)
	require.Equal(t, "a, b, c", walked)
}

// R7: an answer is read in time however many headers fit into what is taken of it. What has left is waited for for some seconds
// only, and an answer must not be lost over this.
func TestManyHeadersAreReadInTime(t *testing.T) {
	t.Parallel()
	header := map[string][]string{}
	for i := range 10_000 {
		header["H"+strconv.FormatInt(int64(i), 36)] = []string{""}
	}
	in := &input{body: map[string]any{}, header: header}
	began := time.Now()
	for range 10 {
		found, err := evaluate(t, `"x-export-status" in header || header["h0"] != ""`, in)
		require.NoError(t, err)
		require.Equal(t, false, found)
	}
	require.Less(t, time.Since(began), 5*time.Second) // some milliseconds on an idle machine
}

func TestExpressions(t *testing.T) {
	t.Parallel()
	in := answerOf(t, `{"s":"x","n":null,"e":"","t":true,"i":9007199254740993,"u":18446744073709551615,
		"big":123456789012345678901234567890,"f":1.10,"o":{},"l":[],"deep":{"a":[{"b c":"found"}]},"two":2,"three":3,"ratio":0.4}`)
	tests := []struct {
		give string
		want any
		err  error
	}{
		{give: `body.s`, want: "x"},
		{give: `body.deep.a[0]["b c"]`, want: "found"},
		{give: `body.n`, want: nil},
		{give: `body.missing`, err: errAbsent},
		{give: `body.missing.more`, err: errAbsent},
		{give: `body.n.more`, err: errAbsent},
		{give: `body.l[0]`, err: errAbsent},
		{give: `body.o[0]`, err: errAbsent},
		{give: `body.s.more`, err: errType},
		{give: `last_segment("https://a.example/jobs/op%201/status/?v=2")`, want: "status"},
		{give: `last_segment("https://a.example/jobs/op%201/status/?v=2", 1)`, want: "op 1"},
		{give: `last_segment("/status", 2)`, err: errType},
		{give: `query_value("https://a.example/poll?v=2&_jobId=op%201&_jobId=3", "_jobId")`, want: "op 1"},
		{give: `either(query_value("https://a.example/poll?v=", "v"), "none")`, want: "none"},
		{give: `query_value("https://a.example/poll?%", "v")`, err: errType},
		{give: `last_segment("/status", -1)`, err: errType},
		// R8: digits survive, in plain ways, as text, and as far as 64 bits reach in calculations.
		{give: `body.i`, want: number("9007199254740993")},
		{give: `string(body.i)`, want: "9007199254740993"},
		{give: `string(body.i) + "/x"`, want: "9007199254740993/x"},
		{give: `body.i == 9007199254740993`, want: true},
		{give: `body.i == 9007199254740992`, want: false},
		{give: `body.u`, want: number("18446744073709551615")},
		{give: `string(body.u) + ""`, want: "18446744073709551615"},
		{give: `body.big`, want: number("123456789012345678901234567890")},
		{give: `string(body.big)`, want: "123456789012345678901234567890"},
		{give: `string(body.big) + ""`, err: errType},
		{give: `body.f`, want: number("1.10")},
		{give: `string(body.f)`, want: "1.10"},
		{give: `string(body.o)`, err: errType},
		// Presence, absence and null are three things.
		{give: `has(body.n)`, want: true},
		{give: `has(body.missing)`, want: false},
		{give: `has(body.missing.more)`, err: errAbsent},
		{give: `given(body.s)`, want: true},
		{give: `given(body.t)`, want: true},
		{give: `given(body.two)`, want: true},
		{give: `given(body.n)`, want: false},
		{give: `given(body.e)`, want: false},
		{give: `given(body.o)`, want: false},
		{give: `given(body.l)`, want: false},
		{give: `given(" \t")`, want: false},
		{give: `given([null, "", []])`, want: false},
		{give: `given(["", "x"])`, want: true},
		{give: `given({"a": null, "b": {"c": ""}})`, want: false},
		{give: `given({"a": null, "b": [0]})`, want: true},
		{give: `given("\u200b\ufeff")`, want: false},
		{give: `given(body.missing.more)`, want: false},
		{give: `given(body.l[3].x)`, want: false},
		{give: `given(header["x-none"])`, want: false},
		{give: `given(body.s + 1)`, err: errType},
		{give: `either(body.missing, "y")`, want: "y"},
		{give: `either(body.n, "y")`, want: "y"},
		{give: `either(body.s, "y")`, want: "x"},
		{give: `either(body.s + 1, "y")`, err: errType},
		{give: `!either(body.done, false)`, want: true},
		{give: `body.missing == "x" || body.two == 2`, want: true},
		// Numbers, lists and texts.
		{give: `body.two + body.three == 5`, want: true},
		{give: `body.two > 1.5`, want: true},
		{give: `body.ratio < 1`, want: true},
		{give: `body.two == "2"`, want: false},
		{give: `body.two > "1"`, err: errType},
		{give: `body.deep.a.exists(x, x["b c"] == "found")`, want: true},
		{give: `body.deep.a.filter(x, x["b c"] == "no")[0]`, err: errAbsent},
		{give: `body.s == "x" ? "yes/" + body.s : body.s`, want: "yes/x"},
		// What is not the body.
		{give: `status`, want: number("200")},
		{give: `status >= 200 && status < 300`, want: true},
		{give: `header["x-state"]`, want: "202 Accepted"},
		{give: `header["x-two"]`, want: "a, b"},
		{give: `header["x-none"]`, err: errAbsent},
		{give: `header["x-state"].startsWith("202")`, want: true},
		{give: `params.region`, want: "eu"},
		{give: `params.none`, err: errAbsent},
		{give: `job_id + "!"`, want: "j-1!"},
		{give: `now > timestamp("2026-01-01T00:00:00Z")`, want: true},
	}
	for _, test := range tests {
		t.Run(test.give, func(t *testing.T) {
			t.Parallel()
			got, err := evaluate(t, test.give, in)
			require.ErrorIs(t, err, test.err)
			if test.err == nil {
				require.Equal(t, test.want, got)
			}
		})
	}
}

// A plain way is walked without CEL; it must mean what it means in CEL wherever CEL can say it.
func TestWalksAgreeWithCEL(t *testing.T) {
	t.Parallel()
	in := answerOf(t, `{"s":"x","n":null,"t":true,"i":9007199254740993,"u":18446744073709551615,"deep":{"a":[{"b":"c"}]},"l":[]}`)
	for _, way := range []string{
		`body.s`, `body.n`, `body.t`, `body.i`, `body.u`, `body.deep.a[0].b`, `body["deep"]["a"][0]["b"]`, `body.missing`,
		`body.n.x`, `body.l[0]`, `header["x-state"]`, `header["x-two"]`, `header["x-none"]`, `string(body.i)`, `string(body.t)`,
	} {
		require.NotNil(t, parseWalk(way), way)
		walked, walkErr := evaluate(t, way, in)
		// In brackets it is no plain way any more, but the same expression.
		require.Nil(t, parseWalk("("+way+")"))
		got, err := evaluate(t, "("+way+")", in)
		require.Equal(t, got, walked, way)
		require.Equal(t, err, walkErr, way)
	}
}

// An expression over a hostile answer is bounded work.
func TestCostIsBounded(t *testing.T) {
	t.Parallel()
	in := answerOf(t, `{"l":[`+strings.TrimSuffix(strings.Repeat(`{"a":1},`, 100_000), ",")+`]}`)
	_, err := evaluate(t, `body.l.exists(x, body.l.exists(y, x.a + y.a == 3))`, in)
	require.ErrorIs(t, err, errCost)
	found, ok := shapes(t).Table("conditions")
	require.True(t, ok)
	response := Response{Status: 200, ReceivedAt: now, Body: []byte(
		`{"status":{"conditions":[` + strings.TrimSuffix(strings.Repeat(`{"type":"x"},`, 70_000), ",") + `]}}`)}
	got := found.Classify(asked("j1"), readingOf(0), response)
	require.Equal(t, "too_costly", got.Detail)
}

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		give string
		kind expressionKind
		want string
	}{
		{name: "nothing that is known", give: `body.x + y`, want: "undeclared reference"},
		{name: "a list for a text", give: `[1, 2]`, want: "gives list(int); a text, a number or a boolean is read"},
		{name: "a time for a text", give: `now`, want: "gives google.protobuf.Timestamp"},
		{name: "a text for a condition", give: `"x"`, kind: wantsBool, want: "gives string; a condition gives true or false"},
		{name: "text against number", give: `status == "200"`, kind: wantsBool, want: "no matching overload"},
		{name: "too long", give: strings.Repeat(" ", maxExpressionBytes) + "1", want: "is 2049 bytes long, at most 2048 are read"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := compile(test.give, test.kind)
			require.ErrorContains(t, err, test.want)
		})
	}
}
