package statetables

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

func asked(id string) wire.Target {
	return wire.Target{Provider: "demo-export", Account: "acct-42", ProviderJobID: id}
}

func readingOf(elapsed time.Duration) wire.ReadingContext {
	return wire.ReadingContext{SubmittedAt: now.Add(-elapsed)}
}

func demoAnswer(tb testing.TB, response Response) wire.Observation {
	tb.Helper()
	response.ReceivedAt = now
	return table(tb, "demo-export").Classify(asked("exp_71c"), readingOf(time.Hour), response)
}

// R12, R1: the order of reading. A code speaks before a body; the body of an error is not read.
func TestAnswersByCode(t *testing.T) {
	t.Parallel()
	done := []byte(`{"state":"succeeded","result_url":"https://x.example.com"}`)
	tests := []struct {
		name   string
		status int
		want   wire.Answer
	}{
		{name: "R12 200 is read", status: 200, want: wire.AnswerRead},
		{name: "R11 201 is another code", status: 201, want: wire.AnswerUnexpected},
		{name: "R11 202 is another code where the table gives it no meaning", status: 202, want: wire.AnswerUnexpected},
		{name: "R11 204", status: 204, want: wire.AnswerUnexpected},
		{name: "X2 R2 302 is not followed", status: 302, want: wire.AnswerUnexpected},
		{name: "R11 400", status: 400, want: wire.AnswerUnexpected},
		{name: "H12 R9 401", status: 401, want: wire.AnswerDenied},
		{name: "R9 403", status: 403, want: wire.AnswerDenied},
		{name: "S6 R10 404", status: 404, want: wire.AnswerNotFound},
		{name: "R10 410", status: 410, want: wire.AnswerNotFound},
		{name: "H11 R11 429", status: 429, want: wire.AnswerRateLimited},
		{name: "H10 R11 500", status: 500, want: wire.AnswerServerError},
		{name: "R11 503", status: 503, want: wire.AnswerServerError},
		{name: "R11 599", status: 599, want: wire.AnswerServerError},
		{name: "R11 600 is no code", status: 600, want: wire.AnswerUnexpected},
		{name: "R11 0 is no code", status: 0, want: wire.AnswerUnexpected},
		{name: "R11 -1 is no code", status: -1, want: wire.AnswerUnexpected},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := demoAnswer(t, Response{Status: test.status, Body: done})
			require.Equal(t, test.want, got.Answer)
			require.Equal(t, test.status, got.HTTPStatus)
			require.Equal(t, int64(len(done)), got.Size)
			require.Equal(t, test.want == wire.AnswerRead, got.Job != nil, "R1: a job fact comes with a readable answer only")
			require.NotEmpty(t, got.TableDigest)
		})
	}
}

// R12: a page of somebody else does not hide what the code says, however large it is.
func TestErrorCodesDoNotNeedABody(t *testing.T) {
	t.Parallel()
	for _, response := range []Response{
		{Status: 503, Body: []byte("<html>")}, {Status: 503}, {Status: 503, BodyTooLarge: true}, {Status: 503, Body: []byte("\xff")},
	} {
		require.Equal(t, wire.AnswerServerError, demoAnswer(t, response).Answer)
	}
}

// H1, H4, H5, H6: guidance stands beside the answer, followed or refused.
func TestGuidance(t *testing.T) {
	t.Parallel()
	running := []byte(`{"job_id":"exp_71c","state":"running"}`)
	got := demoAnswer(t, Response{Status: 200, Body: running, Header: map[string][]string{"Retry-After": {"Wed, 21 Oct 2015 07:28:00 GMT"}}})
	require.Nil(t, got.Guidance.RetryAfterSeconds, "H1")
	require.Equal(t, []wire.RejectedGuidance{{Source: wire.DelayProviderRetryAfter, Detail: wire.GuidancePast}}, got.Guidance.Rejected)

	got = demoAnswer(t, Response{Status: 429, Header: map[string][]string{"retry-after": {"-5"}}})
	require.Equal(t, wire.AnswerRateLimited, got.Answer, "H4")
	require.Equal(t, []wire.RejectedGuidance{{Source: wire.DelayProviderRetryAfter, Detail: wire.GuidanceNegative}}, got.Guidance.Rejected)

	got = demoAnswer(t, Response{Status: 200, Body: running, Header: map[string][]string{"Retry-After": {"60"}}})
	require.Equal(t, int64(60), *got.Guidance.RetryAfterSeconds, "H6")

	shape, _ := shapes(t).Table("numeric")
	got = shape.Classify(asked("1"), readingOf(0), Response{
		Status: 429, ReceivedAt: now, Header: map[string][]string{"Poll-After-Ms": {"0"}, "Retry-After": {"30"}},
	})
	require.Equal(t, int64(0), *got.Guidance.PollHintSeconds, "H5: zero is a hint, with every code")
	require.Equal(t, int64(30), *got.Guidance.RetryAfterSeconds, "H5")
}

// S5, S6, R10: what a missing job means depends on when and on what was seen before.
func TestNotFound(t *testing.T) {
	t.Parallel()
	retention := 600
	all := notFound{graceSeconds: 30, graceCount: 2, retentionSeconds: &retention, afterCancel: true}
	tests := []struct {
		name    string
		rule    notFound
		context wire.ReadingContext
		elapsed time.Duration
		want    wire.Category
	}{
		{name: "S5 R10 one second after submission", rule: all, elapsed: time.Second, want: wire.CategoryPending},
		{name: "R10 the last moment of the grace", rule: all, elapsed: 30 * time.Second, want: wire.CategoryPending},
		{name: "R10 after it", rule: all, elapsed: 30*time.Second + 1},
		{name: "R10 the grace's count is used up", rule: all, elapsed: time.Second, context: wire.ReadingContext{NotFound: 2}},
		{name: "S6 R10 after a good answer", rule: all, elapsed: time.Second, context: wire.ReadingContext{Answered: true}},
		{name: "R10 submitted by a clock that is ahead", rule: all, elapsed: -time.Minute, want: wire.CategoryPending},
		{name: "R10 after the documented retention", rule: all, elapsed: 600 * time.Second, want: wire.CategoryExpired},
		{name: "R10 after our own cancel", rule: all, elapsed: time.Minute, context: wire.ReadingContext{CancelSent: true}, want: wire.CategoryCancelled},
		{name: "R10 after our own cancel, where that is not documented", elapsed: time.Minute, context: wire.ReadingContext{CancelSent: true}},
		{name: "R10 nothing is documented", elapsed: time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.context.SubmittedAt = now.Add(-test.elapsed)
			require.Equal(t, test.want, test.rule.means(test.context, now))
		})
	}
	require.Empty(t, all.means(wire.ReadingContext{}, now), "without a time of submission nothing has a grace or a retention")
}

// R3, R14: a raw state is shown bounded, on a rune, without control characters, and never made equal to a listed one.
func TestRawStateIsBounded(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, give, want string }{
		{name: "R14 256 bytes", give: strings.Repeat("a", 300), want: strings.Repeat("a", 256)},
		{name: "R14 cut on a rune", give: "a" + strings.Repeat("é", 200), want: "a" + strings.Repeat("é", 127)},
		{name: "R14 control characters", give: `run\nning\u0000`, want: "run\ufffdning\ufffd"},
		{name: "R14 text that turns the line around", give: `\u202egninnur`, want: "\ufffdgninnur"},
		{name: "R3 a listed state with something behind it", give: `running\u0000`, want: "running\ufffd"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := demoAnswer(t, Response{Status: 200, Body: []byte(`{"state":"` + test.give + `"}`)})
			require.Equal(t, test.want, got.Job.RawState)
			require.Equal(t, wire.CategoryUnknown, got.Job.Category)
		})
	}
}

// S4, S7, R4, R13: what a result is.
func TestResults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, state, result string
		want                map[string]string
		unproven            []string
		detail              string
	}{
		{name: "S4 null", state: "succeeded", result: `null`, unproven: []string{"result_url"}},
		{name: "S4 empty", state: "succeeded", result: `""`, unproven: []string{"result_url"}},
		{name: "R4 verbatim", state: "succeeded", result: `"https://x.example.com/a%20b?sig=a+b&x=%2F"`, want: map[string]string{"file": "https://x.example.com/a%20b?sig=a+b&x=%2F"}},
		{name: "R8 a number by its digits", state: "succeeded", result: `9007199254740993`, want: map[string]string{"file": "9007199254740993"}},
		{name: "a list stands as JSON", state: "succeeded", result: `[ "a", {"b": 1.0} ]`, want: map[string]string{"file": `["a",{"b":1.0}]`}},
		{name: "R4 an empty list is no reference", state: "succeeded", result: `[]`, unproven: []string{"result_url"}},
		{name: "R4 a list of nothing is no reference", state: "succeeded", result: `[null, " "]`, unproven: []string{"result_url"}},
		{name: "S4 blank", state: "succeeded", result: `" "`, unproven: []string{"result_url"}},
		{name: "R4 an empty object is no reference", state: "succeeded", result: `{}`, unproven: []string{"result_url"}},
		{name: "R4 an object of nothing is no reference", state: "succeeded", result: `{"url": null, "parts": [{"url": ""}]}`, unproven: []string{"result_url"}},
		{name: "R4 an object with something", state: "succeeded", result: `{"url": null, "size": 0}`, want: map[string]string{"file": `{"size":0,"url":null}`}},
		{name: "R4 what has no width is no reference", state: "succeeded", result: "\"\u200b\u00a0\"", unproven: []string{"result_url"}},
		{name: "R7 a list of more than 4 KiB", state: "succeeded", result: `["` + strings.Repeat("a", 4093) + `"]`, detail: wire.MalformedResultTooLong},
		{name: "R7 true is no reference", state: "succeeded", result: `true`, detail: wire.MalformedResultType},
		{name: "R7 4 KiB", state: "succeeded", result: `"` + strings.Repeat("a", 4096) + `"`, want: map[string]string{"file": strings.Repeat("a", 4096)}},
		{name: "R7 more than 4 KiB", state: "succeeded", result: `"` + strings.Repeat("a", 4097) + `"`, detail: wire.MalformedResultTooLong},
		{name: "S7 R13 with expired", state: "expired", result: `"u"`, want: map[string]string{"file": "u"}},
		{name: "R13 with failed", state: "failed", result: `"u"`, want: map[string]string{"file": "u"}},
		{name: "R13 with cancelled", state: "cancelled", result: `"u"`, want: map[string]string{"file": "u"}},
		{name: "R13 with a part", state: "partially_succeeded", result: `"u"`, want: map[string]string{"file": "u"}},
		{name: "R4 not while it runs", state: "running", result: `"u"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := demoAnswer(t, Response{Status: 200, Body: []byte(`{"state":"` + test.state + `","result_url":` + test.result + `}`)})
			if test.detail != "" {
				require.Equal(t, wire.AnswerMalformed, got.Answer)
				require.Equal(t, test.detail, got.Detail)
				return
			}
			require.Equal(t, test.want, got.Job.Result)
			require.Equal(t, test.unproven, got.Job.Unproven)
		})
	}
	got := demoAnswer(t, Response{Status: 200, Body: []byte(`{"state":"succeeded"}`)})
	require.Equal(t, []string{"result_url"}, got.Job.Unproven, "S4 absent")
}

// R6, S9, R8: job ids are compared digit for digit.
func TestJobIDs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, give, asked string
		other             bool
		detail            string
	}{
		{name: "R6 the same", give: `"exp_71c"`, asked: "exp_71c"},
		{name: "S9 another", give: `"exp_71d"`, asked: "exp_71c", other: true},
		{name: "R6 none is not another", give: `null`, asked: "exp_71c"},
		{name: "R6 an empty one is another", give: `""`, asked: "exp_71c", other: true},
		{name: "R8 beyond 2^53", give: `9007199254740993`, asked: "9007199254740993"},
		{name: "R8 beyond 2^53, the neighbour", give: `9007199254740992`, asked: "9007199254740993", other: true},
		{name: "R8 beyond 64 bits", give: `123456789012345678901234567890`, asked: "123456789012345678901234567890"},
		{name: "R7 an object", give: `{}`, asked: "exp_71c", detail: wire.MalformedJobIDType},
		{name: "R7 true", give: `true`, asked: "true", detail: wire.MalformedJobIDType},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := table(t, "demo-export").Classify(asked(test.asked), readingOf(0), Response{
				Status: 200, ReceivedAt: now, Body: []byte(`{"job_id":` + test.give + `,"state":"running"}`),
			})
			require.Equal(t, test.detail, got.Detail)
			if test.detail == "" {
				require.Equal(t, test.other, got.Job.OtherJob)
			}
		})
	}
}

// R8: a time that is not what the table says makes the answer malformed, whichever time it is.
func TestTimesInAnswers(t *testing.T) {
	t.Parallel()
	for _, field := range []string{"updated_at", "expires_at"} {
		for _, value := range []string{`"2026-01-15T12:00:00"`, `1790000000`, `"1999-01-01T00:00:00Z"`, `{}`} {
			got := demoAnswer(t, Response{Status: 200, Body: []byte(`{"state":"running","` + field + `":` + value + `}`)})
			require.Equal(t, wire.AnswerMalformed, got.Answer)
			require.Equal(t, wire.MalformedTimestamp, got.Detail)
		}
		for _, value := range []string{`null`, `""`} {
			got := demoAnswer(t, Response{Status: 200, Body: []byte(`{"state":"running","` + field + `":` + value + `}`)})
			require.Equal(t, wire.AnswerRead, got.Answer)
		}
	}
	// S8, R5: the core compares; the classifier hands the expiry on.
	got := demoAnswer(t, Response{Status: 200, Body: []byte(`{"state":"running","expires_at":"2026-01-15T11:00:00Z"}`)})
	require.Equal(t, now.Add(-time.Hour), *got.Job.ExpiresAt)
}

// R14: nothing that looks like a secret is kept of a provider's error, progress or request id.
func TestProviderTextIsScrubbed(t *testing.T) {
	t.Parallel()
	secret := "c2VjcmV0LXRva2VuLTEyMzQ1Njc4OTAxMjM0NTY3ODkw"
	tests := []struct{ name, give, want string }{
		{name: "R14 plain", give: "line 3 is no JSON", want: "line 3 is no JSON"},
		{name: "R14 a bearer token", give: "got Bearer abcdef123456 here", want: "got Bearer [removed] here"},
		{name: "R14 a key in a text", give: `bad api_key=abc123 given`, want: `bad api_key=[removed] given`},
		{name: "R14 a key in JSON", give: `{"access_token": "abc123def"}`, want: `{"access_token": "[removed]"}`},
		{name: "R14 a key of a vendor", give: "key sk-abcdefghijklmnop1234 is wrong", want: "key [removed] is wrong"},
		{name: "R14 a JSON web token", give: "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", want: "[removed]"},
		{name: "R14 base64", give: "value " + secret + " refused", want: "value [removed] refused"},
		{name: "R14 hexadecimal", give: strings.Repeat("0a", 20), want: "[removed]"},
		{name: "R14 user and query of a URL", give: "see https://u:p@x.example.com/a/b?sig=1#f now", want: "see https://x.example.com/a/b now"},
		{name: "R14 a UUID stays", give: "run 123e4567-e89b-12d3-a456-426614174000", want: "run 123e4567-e89b-12d3-a456-426614174000"},
		{name: "R14 a long word stays", give: "MaxFailedIndexesExceededBecauseOfTheLimit", want: "MaxFailedIndexesExceededBecauseOfTheLimit"},
		{name: "R14 control characters", give: "a\x1b[31mb\nc", want: "a\ufffd[31mb\ufffdc"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			quoted, err := quote(test.give)
			require.NoError(t, err)
			got := demoAnswer(t, Response{Status: 200, Body: []byte(`{"state":"failed","error":{"code":` + quoted + `,"message":` + quoted + `}}`)})
			require.Equal(t, test.want, got.Job.Error.Message)
			require.Equal(t, test.want, got.Job.Error.Code)
		})
	}
	long := scrub(strings.Repeat("word ", 10_000), maxMessageBytes)
	require.LessOrEqual(t, len(long), maxMessageBytes)
	require.NotContains(t, scrub(strings.Repeat("a ", maxScrubBytes/2-8)+secret, 1<<20), secret[:20], "a secret that the bound cuts is no secret less")
}

func TestRequestIDIsBounded(t *testing.T) {
	t.Parallel()
	got := demoAnswer(t, Response{Status: 503, Header: map[string][]string{"X-Request-Id": {strings.Repeat("r", 300) + "\x00"}}})
	require.Equal(t, strings.Repeat("r", 256), got.ProviderRequestID)
}

// H8, R7: the cases of a body that is not there.
func TestBodies(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body, contentType, detail string
	}{
		{name: "H8 nothing", detail: wire.MalformedEmptyBody},
		{name: "H9 a page", body: "\n <html>", detail: wire.MalformedHTML},
		{name: "H9 a page that its type gives away", body: "Sign in", contentType: "text/HTML; charset=utf-8", detail: wire.MalformedHTML},
		{name: "H9 cut", body: `{"state":"run`, detail: wire.MalformedTruncated},
		{name: "R7 cut behind a value", body: `{"state":"running"`, detail: wire.MalformedTruncated},
		{name: "R7 cut in a list", body: `{"a":[1,`, detail: wire.MalformedTruncated},
		{name: "R7 not JSON", body: `state: running`, detail: wire.MalformedNotJSON},
		{name: "R7 two values", body: `{"state":"running"}{"state":"succeeded"}`, detail: wire.MalformedNotJSON},
		{name: "R7 UTF-16", body: "\xff\xfe{\x00", detail: wire.MalformedInvalidUTF8},
		{name: "R7 half a surrogate", body: `{"state":"\ud800"}`, detail: wire.MalformedNotJSON},
		{name: "R7 a key twice", body: `{"state":"running","state":"succeeded"}`, detail: wire.MalformedDuplicateKey},
		{name: "R7 a key twice, written differently", body: `{"state":"running","st\u0061te":"succeeded"}`, detail: wire.MalformedDuplicateKey},
		{name: "R7 a key twice deep down", body: `{"state":"running","x":[{"a":1,"a":1}]}`, detail: wire.MalformedDuplicateKey},
		{name: "R7 a text", body: `"running"`, detail: wire.MalformedNotObject},
		{name: "R7 state is a list", body: `{"state":["running"]}`, detail: wire.MalformedStateType},
		{name: "R7 state is null", body: `{"state":null}`, detail: wire.MalformedStateNull},
		{name: "R7 state is absent", body: `{}`, detail: wire.MalformedStateAbsent},
		{name: "R7 state in another case", body: `{"State":"running"}`, detail: wire.MalformedStateAbsent},
		{name: "R7 a mark before it", body: "\xef\xbb\xbf" + `{"state":"running"}`},
		{name: "R7 another type that is JSON all the same", body: `{"state":"running"}`, contentType: "text/plain"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := demoAnswer(t, Response{
				Status: 200, Body: []byte(test.body), Header: map[string][]string{"Content-Type": {test.contentType}},
			})
			require.Equal(t, test.detail, got.Detail)
			require.Equal(t, test.detail == "", got.Answer == wire.AnswerRead)
		})
	}
}
