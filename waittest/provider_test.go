package waittest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/waittest"
)

func TestProviderAnswersAsDemoExport(t *testing.T) {
	t.Parallel()
	full := waittest.Step{
		State: "partially_succeeded", UpdatedAt: "2025-04-18T10:20:00Z", ExpiresAt: "2025-04-18T12:00:00Z",
		ResultURL: "https://files.example.com/a.csv", Error: &waittest.JobError{Code: "rows", Message: "3 rows lost"},
	}.PollAfter(2.5)
	p := provider(t, waittest.ProviderOptions{})
	set(t, p, "exp_71c", full)

	got := get(t, p, "exp_71c")
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, "application/json", got.header.Get("Content-Type"))
	require.JSONEq(t, `{"job_id": "exp_71c", "state": "partially_succeeded", "updated_at": "2025-04-18T10:20:00Z",
		"expires_at": "2025-04-18T12:00:00Z", "result_url": "https://files.example.com/a.csv", "poll_after_seconds": 2.5,
		"error": {"code": "rows", "message": "3 rows lost"}}`, got.body)
}

func TestProviderBodies(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		step waittest.Step
		want string
	}{
		"job id is the one asked for": {waittest.State("running").Omitting("updated_at"), `{"job_id": "j", "state": "running"}`},
		"another job":                 {waittest.Step{JobID: "k", State: "running", UpdatedAt: "x"}, `{"job_id": "k", "state": "running", "updated_at": "x"}`},
		"null and wrong types":        {waittest.Step{UpdatedAt: "x"}.Field("state", "null").Field("job_id", "9007199254740993"), `{"job_id": 9007199254740993, "state": null, "updated_at": "x"}`},
		"failed":                      {waittest.Failed("E1", "no").Omitting("updated_at"), `{"job_id": "j", "state": "failed", "error": {"code": "E1", "message": "no"}}`},
		"succeeded":                   {waittest.Succeeded("u").Omitting("updated_at", "job_id"), `{"state": "succeeded", "result_url": "u"}`},
		"hint of zero":                {waittest.State("running").PollAfter(0).Omitting("updated_at"), `{"job_id": "j", "state": "running", "poll_after_seconds": 0}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := provider(t, waittest.ProviderOptions{})
			set(t, p, "j", c.step)
			require.JSONEq(t, c.want, get(t, p, "j").body)
		})
	}
}

func TestProviderKeepsExactDigits(t *testing.T) {
	t.Parallel()
	p := provider(t, waittest.ProviderOptions{})
	set(t, p, "j", waittest.State("running").Field("job_id", "9007199254740993"))
	require.Contains(t, get(t, p, "j").body, `"job_id":9007199254740993`)
}

func TestProviderUpdatedAtIsTheTimeOfTheAnswer(t *testing.T) {
	t.Parallel()
	p := provider(t, waittest.ProviderOptions{})
	set(t, p, "j", waittest.State("running"))
	var body struct {
		UpdatedAt time.Time `json:"updated_at"`
	}
	require.NoError(t, json.Unmarshal([]byte(get(t, p, "j").body), &body))
	require.Equal(t, p.Log("j")[0].AnsweredAt, body.UpdatedAt)
}

func TestProviderPlaysStepsInOrderAndRepeatsTheLast(t *testing.T) {
	t.Parallel()
	p := provider(t, waittest.ProviderOptions{})
	set(t, p, "a", waittest.State("queued"), waittest.State("running").Times(3), waittest.Succeeded("u").Times(2))
	set(t, p, "b", waittest.State("failed"))
	var states []string
	for range 8 {
		states = append(states, get(t, p, "a").state(t))
	}
	require.Equal(t, []string{"queued", "running", "running", "running", "succeeded", "succeeded", "succeeded", "succeeded"}, states)
	require.Equal(t, "failed", get(t, p, "b").state(t), "each job has a script of its own")

	set(t, p, "a", waittest.State("queued"))
	require.Equal(t, "queued", get(t, p, "a").state(t), "a new script begins at its beginning")
}

func TestProviderRawAnswers(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		step   waittest.Step
		status int
		body   string
		header http.Header
	}{
		"html":       {waittest.Raw("text/html", "<html>sign in</html>"), 200, "<html>sign in</html>", http.Header{"Content-Type": {"text/html"}}},
		"bytes":      {waittest.Raw("application/json", "{\"state\": \"\xff\"}"), 200, "{\"state\": \"\xff\"}", nil},
		"empty":      {waittest.Status(200), 200, "", http.Header{"Content-Length": {"0"}}},
		"busy":       {waittest.Status(503).RetryAfter("2").RetryAfter("7"), 503, "", http.Header{"Retry-After": {"2", "7"}}},
		"redirect":   {waittest.Redirect("http://127.0.0.1:1/x"), 302, "", http.Header{"Location": {"http://127.0.0.1:1/x"}}},
		"no content": {waittest.Status(204), 204, "", nil},
		"other date": {waittest.State("running").Header("Date", "Wed, 21 Oct 2015 07:28:00 GMT").Omitting("updated_at", "job_id"), 200, "{\"state\":\"running\"}\n", http.Header{"Date": {"Wed, 21 Oct 2015 07:28:00 GMT"}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := provider(t, waittest.ProviderOptions{})
			set(t, p, "j", c.step)
			got := get(t, p, "j")
			require.Equal(t, c.status, got.status)
			require.Equal(t, c.body, got.body)
			for name, want := range c.header {
				require.Equal(t, want, got.header[name])
			}
			entry := firstEnded(t, p, "j")
			require.Equal(t, c.status, entry.Status)
			require.Equal(t, waittest.EndingAnswered, entry.Ending)
		})
	}
}

// firstEnded is the first request for a job once the provider has noted how it ended, which it does after the client knows.
func firstEnded(t *testing.T, p *waittest.Provider, job string) waittest.LogEntry {
	t.Helper()
	log, err := p.Await(t.Context(), job, func(log []waittest.LogEntry) bool {
		return len(log) > 0 && log[0].Ending != waittest.EndingOpen
	})
	require.NoError(t, err)
	return log[0]
}

func TestProviderBreaksConnections(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		step   waittest.Step
		want   error
		ending waittest.Ending
		status int
	}{
		"cut":    {waittest.CutOff("running"), io.ErrUnexpectedEOF, waittest.EndingCut, 200},
		"hangup": {waittest.Hangup(), io.EOF, waittest.EndingClosed, 0},
		"reset":  {waittest.ResetConnection(), syscall.ECONNRESET, waittest.EndingReset, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := provider(t, waittest.ProviderOptions{})
			set(t, p, "j", c.step, waittest.State("running"))
			_, err := ask(t.Context(), http.MethodGet, p.StatusURL("j"), "")
			require.ErrorIs(t, err, c.want)
			require.Equal(t, "running", get(t, p, "j").state(t), "it lives on")
			entry := firstEnded(t, p, "j")
			require.Equal(t, c.ending, entry.Ending)
			require.Equal(t, c.status, entry.Status)
		})
	}
}

func TestProviderHoldsUntilReleased(t *testing.T) {
	t.Parallel()
	p := provider(t, waittest.ProviderOptions{})
	set(t, p, "j", waittest.Succeeded("u").Held())
	for range 2 { // a step that repeats holds again
		answers := askAside(t.Context(), p.StatusURL("j"))
		log, err := p.AwaitRequests(t.Context(), "j", len(p.Log("j"))+1)
		require.NoError(t, err)
		require.Equal(t, waittest.EndingOpen, log[len(log)-1].Ending)
		require.Equal(t, 1, p.Release("j"))
		answer := <-answers
		require.NoError(t, answer.err)
		require.Equal(t, "succeeded", answer.state(t))
	}
	require.Zero(t, p.Release("j"))
	require.Zero(t, p.Release("nobody"))
}

func TestProviderNoticesAClientThatHangsUp(t *testing.T) {
	t.Parallel()
	p := provider(t, waittest.ProviderOptions{})
	set(t, p, "j", waittest.State("running").Held())
	ctx, hangUp := context.WithCancel(t.Context())
	answers := askAside(ctx, p.StatusURL("j"))
	_, err := p.AwaitRequests(t.Context(), "j", 1)
	require.NoError(t, err)
	hangUp()
	require.ErrorIs(t, (<-answers).err, context.Canceled)
	log, err := p.Await(t.Context(), "j", func(log []waittest.LogEntry) bool { return log[0].Ending != waittest.EndingOpen })
	require.NoError(t, err)
	require.Equal(t, waittest.EndingClientGone, log[0].Ending)
	require.Zero(t, p.Release("j"), "it is held no more")
}

func TestProviderIsSlowWhereToldSo(t *testing.T) {
	t.Parallel()
	const delay = 40 * time.Millisecond
	slowBody := waittest.State("running")
	slowBody.BodyDelayMilliseconds = int(delay.Milliseconds())
	for name, step := range map[string]waittest.Step{"answer": waittest.State("running").Delay(delay), "body": slowBody} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := provider(t, waittest.ProviderOptions{})
			set(t, p, "j", step)
			begun := time.Now()
			require.Equal(t, "running", get(t, p, "j").state(t))
			require.GreaterOrEqual(t, time.Since(begun), delay)
		})
	}
}

func TestProviderCancel(t *testing.T) {
	t.Parallel()
	running := waittest.Script(waittest.State("running"))
	cases := map[string]struct {
		script     waittest.JobScript
		wantCalls  []int
		wantStates []string
	}{
		"by default":     {running, []int{202}, []string{"cancelling", "cancelled", "cancelled"}},
		"refused":        {running.OnCancel(waittest.Status(409)), []int{409}, []string{"running", "running"}},
		"unknown":        {running.OnCancel(waittest.Status(404), waittest.Status(404)), []int{404}, []string{""}},
		"finished first": {running.OnCancel(waittest.Status(409), waittest.Succeeded("u")), []int{409}, []string{"succeeded"}},
		"once more":      {running.OnCancel(waittest.Status(500)).OnCancel(waittest.Status(202), waittest.State("cancelled")), []int{500, 202, 202}, []string{"cancelled"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := provider(t, waittest.ProviderOptions{})
			require.NoError(t, p.Set("j", c.script))
			require.Equal(t, "running", get(t, p, "j").state(t))
			for _, want := range c.wantCalls {
				got, err := ask(t.Context(), http.MethodPost, p.StatusURL("j")+"/cancel", "")
				require.NoError(t, err)
				require.Equal(t, want, got.status)
			}
			for _, want := range c.wantStates {
				require.Equal(t, want, get(t, p, "j").state(t))
			}
			require.Equal(t, waittest.KindCancel, p.Log("j")[1].Kind)
		})
	}
}

func TestProviderCancelTakesEffectThoughItIsNotAnswered(t *testing.T) {
	t.Parallel()
	p := provider(t, waittest.ProviderOptions{})
	require.NoError(t, p.Set("j", waittest.Script(waittest.State("running")).OnCancel(waittest.Hangup(), waittest.State("cancelled"))))
	_, err := ask(t.Context(), http.MethodPost, p.StatusURL("j")+"/cancel", "")
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, "cancelled", get(t, p, "j").state(t))
}

func TestProviderChecksItsKey(t *testing.T) {
	t.Parallel()
	const key, rotated = "key-that-must-not-be-logged", "another-one"
	var out bytes.Buffer
	p, err := waittest.NewProvider(waittest.ProviderOptions{Key: key, Log: &out})
	require.NoError(t, err)
	set(t, p, "j", waittest.State("queued"), waittest.State("running"))
	for _, wrong := range []string{"", "Bearer nonsense", "Basic " + key, "bearer" + key} {
		got, err := ask(t.Context(), http.MethodGet, p.StatusURL("j"), wrong)
		require.NoError(t, err)
		require.Equal(t, http.StatusUnauthorized, got.status)
	}
	got, err := ask(t.Context(), http.MethodGet, p.StatusURL("j"), "Bearer "+key)
	require.NoError(t, err)
	require.Equal(t, "queued", got.state(t), "a refusal uses up no step")
	p.SetKey(rotated)
	got, err = ask(t.Context(), http.MethodGet, p.StatusURL("j"), "Bearer "+key)
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, got.status)

	log := p.Log("j")
	require.False(t, log[0].AuthPresented)
	require.True(t, log[1].AuthPresented)
	require.False(t, log[1].Authorized)
	require.True(t, log[4].Authorized)
	require.False(t, log[5].Authorized)
	require.Equal(t, log[4].AuthSHA256, log[5].AuthSHA256)
	require.NotEqual(t, log[1].AuthSHA256, log[4].AuthSHA256)
	require.NoError(t, p.Close())
	require.Contains(t, out.String(), log[4].AuthSHA256)
	require.NotContains(t, out.String(), key)
}

func TestProviderLog(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p, err := waittest.NewProvider(waittest.ProviderOptions{Log: &out})
	require.NoError(t, err)
	set(t, p, "a/b ..", waittest.Status(503).RetryAfter("2"))
	set(t, p, "k", waittest.State("running"))
	_, err = ask(t.Context(), http.MethodGet, p.StatusURL("a/b ..")+"?token=secret", "Bearer x")
	require.NoError(t, err)
	get(t, p, "k")
	for _, c := range []struct {
		method, path string
		want         int
	}{{http.MethodPut, "/exports/k", 405}, {http.MethodGet, "/exports/k/cancel", 405}, {http.MethodGet, "/exports/none", 404}, {http.MethodGet, "/exports/", 404}, {http.MethodGet, "/else", 404}} {
		got, err := ask(t.Context(), c.method, p.URL()+c.path, "")
		require.NoError(t, err)
		require.Equal(t, c.want, got.status, c.path)
	}

	all := p.Log("")
	require.Len(t, all, 7)
	first := all[0]
	require.Equal(t, 1, first.Seq)
	require.Equal(t, "a/b ..", first.Job)
	require.Equal(t, "/exports/a%2Fb%20..", first.Path)
	require.Equal(t, waittest.KindStatus, first.Kind)
	require.Contains(t, first.Headers, "Authorization")
	require.Equal(t, []string{"2"}, first.RetryAfter)
	require.Equal(t, first.AnsweredAt.Add(2*time.Second), first.NotBefore)
	require.False(t, first.AnsweredAt.Before(first.ReceivedAt))
	require.Equal(t, waittest.KindOther, all[2].Kind)
	require.Len(t, p.Log("k"), 3)
	require.Equal(t, waittest.KindStatus, all[4].Kind, "an unknown job was still asked for its status")

	overHTTP, err := ask(t.Context(), http.MethodGet, p.URL()+"/_log?job=k", "")
	require.NoError(t, err)
	fromHTTP, err := waittest.ReadLog(strings.NewReader(overHTTP.body))
	require.NoError(t, err)
	require.Equal(t, p.Log("k"), fromHTTP, "times included")

	require.NoError(t, p.Close())
	fromWriter, err := waittest.ReadLog(&out)
	require.NoError(t, err)
	require.Equal(t, all, fromWriter)
}

func TestProviderNotBefore(t *testing.T) {
	t.Parallel()
	const date = "Wed, 21 Oct 2015 07:28:00 GMT"
	cases := map[string]struct {
		lines []string
		want  time.Duration // 0: nothing is asked for
	}{
		"seconds":         {[]string{"30"}, 30 * time.Second},
		"fraction":        {[]string{"1.5"}, 1500 * time.Millisecond},
		"largest of list": {[]string{"3, 20", "7"}, 20 * time.Second},
		"date":            {[]string{"Wed, 21 Oct 2015 07:28:40 GMT"}, 40 * time.Second},
		"past date":       {[]string{"Wed, 21 Oct 2015 07:27:40 GMT"}, 0},
		"zero":            {[]string{"0"}, 0},
		"negative":        {[]string{"-5"}, 0},
		"not finite":      {[]string{"Inf", "NaN"}, 0},
		"hexadecimal":     {[]string{"0x10"}, 0},
		"beside nonsense": {[]string{"soon", "4"}, 4 * time.Second},
		"huge":            {[]string{strings.Repeat("9", 40)}, 100 * 365 * 24 * time.Hour},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := provider(t, waittest.ProviderOptions{})
			step := waittest.State("running").Header("Date", date)
			for _, line := range c.lines {
				step = step.RetryAfter(line)
			}
			set(t, p, "j", step)
			get(t, p, "j")
			entry := firstEnded(t, p, "j")
			if c.want == 0 {
				require.Zero(t, entry.NotBefore)
				return
			}
			require.Equal(t, c.want, entry.NotBefore.Sub(entry.AnsweredAt))
		})
	}
}

func TestProviderControl(t *testing.T) {
	t.Parallel()
	p := provider(t, waittest.ProviderOptions{Key: "k"})
	put := func(id, body string) answer {
		return send(t, http.MethodPut, p.URL()+"/_jobs/"+id, body)
	}
	require.Equal(t, 204, put("exp%2F1", `{"steps": [{"state": "running", "hold": true}]}`).status)
	require.Equal(t, 400, put("x", `{"steps": []}`).status)
	require.Contains(t, put("x", `{"steps": [{"stat": "running"}]}`).body, `unknown field "stat"`)
	require.Contains(t, put("x", `{"steps": [{}]} {}`).body, "more after the first JSON value")
	require.Equal(t, 404, send(t, http.MethodPost, p.URL()+"/_jobs/x", "").status)
	require.Equal(t, "ok\n", send(t, http.MethodGet, p.URL()+"/_health", "").body)

	answers := make(chan answer, 1)
	go func() {
		got, err := ask(t.Context(), http.MethodGet, p.StatusURL("exp/1"), "Bearer k")
		got.err = err
		answers <- got
	}()
	_, err := p.AwaitRequests(t.Context(), "exp/1", 1)
	require.NoError(t, err)
	require.JSONEq(t, `{"released": 1}`, send(t, http.MethodPost, p.URL()+"/_jobs/exp%2F1/release", "").body)
	got := <-answers
	require.NoError(t, got.err)
	require.Equal(t, "running", got.state(t))
}

func TestProviderDefaultScript(t *testing.T) {
	t.Parallel()
	every := waittest.Script(waittest.State("queued"), waittest.State("running"))
	p := provider(t, waittest.ProviderOptions{Script: waittest.ProviderScript{Default: &every}})
	for _, job := range []string{"a", "b"} {
		require.Equal(t, "queued", get(t, p, job).state(t))
		require.Equal(t, "running", get(t, p, job).state(t))
	}
}

func TestProviderComesBackAtItsAddress(t *testing.T) {
	t.Parallel()
	first := provider(t, waittest.ProviderOptions{})
	set(t, first, "j", waittest.State("running").Held())
	answers := askAside(t.Context(), first.StatusURL("j"))
	_, err := first.AwaitRequests(t.Context(), "j", 1)
	require.NoError(t, err)
	require.NoError(t, first.Close())
	require.Error(t, (<-answers).err)
	require.Equal(t, waittest.EndingStopped, first.Log("j")[0].Ending)
	_, err = ask(t.Context(), http.MethodGet, first.StatusURL("j"), "")
	require.ErrorIs(t, err, syscall.ECONNREFUSED)

	second := provider(t, waittest.ProviderOptions{Address: first.Address()})
	set(t, second, "j", waittest.State("running"))
	require.Equal(t, "running", get(t, first, "j").state(t))
	require.NoError(t, first.Close(), "closing again")
}

func TestProviderAwaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p := provider(t, waittest.ProviderOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.AwaitRequests(ctx, "j", 1)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, `job "j" after 0 requests`)
}

func TestProviderTellsThatItsLogIsLost(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	p, err := waittest.NewProvider(waittest.ProviderOptions{Log: failingWriter{full}})
	require.NoError(t, err)
	set(t, p, "j", waittest.State("running"))
	get(t, p, "j")
	require.ErrorIs(t, p.Close(), full)
}

func TestScriptsAreValidated(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		step waittest.Step
		want string
	}{
		"do":             {waittest.Step{Do: "hang"}, `do "hang" is not one of answer, cut, close and reset`},
		"repeat":         {waittest.Step{Repeat: -1}, "repeat -1"},
		"delay":          {waittest.Step{DelayMilliseconds: -3}, "delay of -3"},
		"status":         {waittest.Step{Status: 102}, "status 102"},
		"raw and fields": {waittest.Step{Raw: new(string), State: "running"}, "raw and fields"},
		"field":          {waittest.Step{}.Field("state", "running"), `field "state": "running" is not JSON`},
		"nothing to cut": {waittest.Step{Do: waittest.DoCut, Raw: new(string)}, "no body to cut"},
		"length":         {waittest.Step{}.Header("content-length", "3"), `header "Content-Length" is set by the provider`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := provider(t, waittest.ProviderOptions{})
			good := waittest.State("queued")
			require.EqualError(t, p.Set("j", waittest.Script(good, c.step)), "waittest: job \"j\": step 2: "+c.step.Validate().Error())
			require.ErrorContains(t, c.step.Validate(), c.want)
			require.ErrorContains(t, p.Set("j", waittest.Script(good).OnCancel(c.step)), "cancel 1: ")
			require.ErrorContains(t, p.Set("j", waittest.Script(good).OnCancel(good, c.step)), "cancel 1: then step 1: ")
			script := waittest.Script(c.step)
			_, err := waittest.NewProvider(waittest.ProviderOptions{Script: waittest.ProviderScript{Default: &script}})
			require.ErrorContains(t, err, "default job")
		})
	}
	p := provider(t, waittest.ProviderOptions{})
	require.ErrorContains(t, p.Set("", waittest.Script(waittest.State("queued"))), "empty id")
	_, err := waittest.NewProvider(waittest.ProviderOptions{Address: "127.0.0.1"})
	require.ErrorContains(t, err, `address "127.0.0.1"`)
}

func TestScriptsSurviveJSON(t *testing.T) {
	t.Parallel()
	want := waittest.ProviderScript{Jobs: map[string]waittest.JobScript{
		"j": waittest.Script(
			waittest.State("running").Times(3).Held().Delay(time.Second).RetryAfter("2").PollAfter(1.5).Field("x", `{"y":null}`).Omitting("updated_at"),
			waittest.Raw("text/html", "<html>"), waittest.Status(204), waittest.CutOff("running"), waittest.Failed("c", "m"),
		).OnCancel(waittest.Hangup(), waittest.State("cancelled")),
	}}
	text, err := json.Marshal(want)
	require.NoError(t, err)
	got, err := waittest.ReadProviderScript(bytes.NewReader(text))
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestStepsAreValues(t *testing.T) {
	t.Parallel()
	plain := waittest.State("running").Header("A", "1").Field("x", "1")
	_ = plain.Header("A", "2").Field("x", "2").Omitting("y").Times(4)
	require.Equal(t, waittest.State("running").Header("A", "1").Field("x", "1"), plain)
}

func provider(t *testing.T, opts waittest.ProviderOptions) *waittest.Provider {
	t.Helper()
	p, err := waittest.NewProvider(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

func set(t *testing.T, p *waittest.Provider, job string, steps ...waittest.Step) {
	t.Helper()
	require.NoError(t, p.Set(job, waittest.Script(steps...)))
}

// answer is what a plain client read.
type answer struct {
	status int
	header http.Header
	body   string
	err    error
}

// state reads the body's state; "" where there is no body.
func (a answer) state(t *testing.T) string {
	t.Helper()
	if a.body == "" {
		return ""
	}
	var body struct {
		State string `json:"state"`
	}
	require.NoError(t, json.Unmarshal([]byte(a.body), &body), a.body)
	return body.State
}

// client neither follows a redirect nor keeps a connection: one call is one request.
var client = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

func get(t *testing.T, p *waittest.Provider, job string) answer {
	t.Helper()
	got, err := ask(t.Context(), http.MethodGet, p.StatusURL(job), "")
	require.NoError(t, err)
	return got
}

func askAside(ctx context.Context, url string) <-chan answer {
	answers := make(chan answer, 1)
	go func() {
		got, err := ask(ctx, http.MethodGet, url, "")
		got.err = err
		answers <- got
	}()
	return answers
}

func send(t *testing.T, method, url, body string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	got, err := do(request)
	require.NoError(t, err)
	return got
}

func ask(ctx context.Context, method, url, authorization string) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return answer{}, err
	}
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	return do(request)
}

func do(request *http.Request) (answer, error) {
	response, err := client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, fmt.Errorf("body: %w", err)
	}
	return answer{status: response.StatusCode, header: response.Header, body: string(body)}, nil
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }
