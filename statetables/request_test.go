package statetables

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

func TestStatusRequest(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		give    wire.Target
		want    string
		origins []string
	}{
		{
			name: "R45 an id is one segment", give: wire.Target{Provider: "openai-batch", ProviderJobID: "a/b?c#d e%é"},
			want: "https://api.openai.com/v1/batches/a%2Fb%3Fc%23d%20e%25%C3%A9", origins: []string{"https://api.openai.com:443"},
		},
		{
			name: "params", give: wire.Target{Provider: "github-actions-run", ProviderJobID: "7", Params: map[string]string{"owner": "octo", "repo": "a.b"}},
			want: "https://api.github.com/repos/octo/a.b/actions/runs/7", origins: []string{"https://api.github.com:443"},
		},
		{
			name: "R51 the submission's URL, verbatim",
			give: wire.Target{Provider: "azure-operation", StatusURL: "https://Management.Azure.com/a%2Fb?api-version=1&t=2"},
			want: "https://Management.Azure.com/a%2Fb?api-version=1&t=2", origins: []string{"https://management.azure.com:443"},
		},
		{
			name: "R51 loopback, any port", give: wire.Target{Provider: "demo-export", StatusURL: "http://127.0.0.1:41234/x"},
			want: "http://127.0.0.1:41234/x", origins: []string{"http://127.0.0.1:41234", "http://localhost:*", "http://[::1]:*"},
		},
		{
			name: "a path of an id, a host param", give: wire.Target{Provider: "numeric", ProviderJobID: "7", Params: map[string]string{"operation": "a&b=c d"}},
			want:    "https://cloud.example.com/api/v2/runs/7?fields=id%2Cstatus&operation=a%26b%3Dc%20d",
			origins: []string{"https://cloud.example.com:443"},
		},
		{
			name: "slashes that stay", give: wire.Target{Provider: "boolean-done", ProviderJobID: "operations/a b"},
			want: "https://api.example.com/v1/operations/a%20b", origins: []string{"https://api.example.com:443"},
		},
		{
			name: "R51 a next URL", give: wire.Target{Provider: "moving-url", ProviderJobID: "q1", Params: map[string]string{"host": "t.example.com"}, StatusURL: "https://t.example.com/v1/2?slug=x"},
			want: "https://t.example.com/v1/2?slug=x", origins: []string{"https://t.example.com:443"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := anyTable(t, test.give.Provider).StatusRequest(test.give)
			require.NoError(t, err)
			require.Equal(t, "GET", got.Method)
			require.Equal(t, test.want, got.URL)
			require.Equal(t, test.origins, got.Origins)
			require.Empty(t, got.Body)
		})
	}
}

func anyTable(tb testing.TB, provider string) *Table {
	tb.Helper()
	if found, ok := shapes(tb).Table(provider); ok {
		return found
	}
	return table(tb, provider)
}

// A server on this machine is reached without listing an origin that the table's own URL names.
func TestOwnURLOnLoopback(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/wrong/http_to_somewhere.yaml")
	require.NoError(t, err)
	local := strings.Replace(string(text), "http://api.example.com", "http://127.0.0.1:18765", 1)
	local = strings.Replace(local, "auth: {scheme: bearer}", "auth: {scheme: bearer}\n  allow_private_network: true", 1)
	set, err := Load(Source{FS: fstest.MapFS{"local.yaml": {Data: []byte(local)}}})
	require.NoError(t, err)
	found, _ := set.Table("acme-jobs")
	request, err := found.StatusRequest(wire.Target{Provider: "acme-jobs", ProviderJobID: "j-1"})
	require.NoError(t, err)
	require.Equal(t, []string{"http://127.0.0.1:18765"}, request.Origins)
}

// X1, X3, R51: a URL that was handed out is refused without being told.
func TestURLsAreRejected(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, give, want string }{
		{name: "X1 the metadata service", give: "http://169.254.169.254/latest/meta-data", want: "origin"},
		{name: "X3 a password", give: "https://user:hunter2@management.azure.com/x", want: "a user or a password"},
		{name: "R51 http", give: "http://management.azure.com/x", want: "origin"},
		{name: "R51 another port", give: "https://management.azure.com:444/x", want: "origin"},
		{name: "R51 another host", give: "https://management.azure.com.evil.example/x", want: "origin"},
		{name: "R51 a host in the user's place", give: "https://management.azure.com@evil.example/x", want: "a user or a password"},
		{name: "R51 relative", give: "/x", want: "not absolute"},
		{name: "R51 without a scheme", give: "//management.azure.com/x", want: "not absolute"},
		{name: "R51 another scheme", give: "ftp://management.azure.com/x", want: "not absolute"},
		{name: "R51 nothing", give: "", want: "not absolute"},
		{name: "R51 a fragment", give: "https://management.azure.com/x#y", want: "fragment"},
		{name: "R51 an empty fragment", give: "https://management.azure.com/x#", want: "fragment"},
		{name: "R51 a backslash", give: `https://management.azure.com\@evil.example/x`, want: "not a URL"},
		{name: "R51 a line break", give: "https://management.azure.com/x\r\nHost: y", want: "not a URL"},
		{name: "R51 a tab", give: "https://management.azure.com/\tx", want: "not a URL"},
		{name: "R51 dots", give: "https://management.azure.com/a/../b", want: ". or .."},
		{name: "R51 dots in disguise", give: "https://management.azure.com/a/%2e%2E/b", want: ". or .."},
		{name: "R51 a bad escape", give: "https://management.azure.com/%zz", want: "not a URL"},
		{name: "R51 too long", give: "https://management.azure.com/" + string(make([]byte, 5000)), want: "longer than"},
	}
	found := table(t, "azure-operation")
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := found.StatusRequest(wire.Target{StatusURL: test.give})
			rejected, ok := errors.AsType[*URLRejectedError](err)
			require.True(t, ok, "%v", err)
			require.Contains(t, rejected.Rule, test.want)
			for _, part := range []string{"azure", "evil", "hunter2", "169.254"} {
				require.NotContains(t, err.Error(), part, "no error tells a URL")
			}
		})
	}
}

// R50: a secret goes where the table says, into a copy.
func TestAuthorize(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		provider string
		target   wire.Target
		header   map[string]string
		url      string
	}{
		{
			name: "bearer", provider: "openai-batch", target: wire.Target{ProviderJobID: "b"},
			header: map[string]string{"Accept": "application/json", "Authorization": "Bearer s3cret:x"}, url: "https://api.openai.com/v1/batches/b",
		},
		{
			name: "basic", provider: "moving-url", target: wire.Target{ProviderJobID: "q", Params: map[string]string{"host": "t.example.com"}},
			header: map[string]string{"X-User": "jobwait", "Authorization": "Basic czNjcmV0Ong="}, url: "https://t.example.com/v1/statement/q",
		},
		{
			name: "another scheme", provider: "numeric", target: wire.Target{ProviderJobID: "7", Params: map[string]string{"operation": ""}},
			header: map[string]string{"Authorization": "Token s3cret:x"}, url: "https://cloud.example.com/api/v2/runs/7?fields=id%2Cstatus",
		},
		{
			name: "a header of its own", provider: "counted", target: wire.Target{ProviderJobID: "b"},
			header: map[string]string{"api-version": "2023-06-01", "x-api-key": "s3cret:x"}, url: "https://api.example.com/batches/b",
		},
		{
			name: "in the URL", provider: "key-in-url", target: wire.Target{ProviderJobID: "i"}, header: map[string]string{},
			url: "https://api.example.com/instances/i?showInput=false&code=s3cret%3Ax",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			request, err := anyTable(t, test.provider).StatusRequest(test.target)
			require.NoError(t, err)
			require.True(t, request.Auth.Needed())
			authorized := request.Authorize("s3cret:x")
			require.Equal(t, test.header, authorized.Header)
			require.Equal(t, test.url, authorized.URL)
			require.NotContains(t, request.URL, "s3cret")
			for _, value := range request.Header {
				require.NotContains(t, value, "s3cret")
			}
		})
	}
	require.Equal(t, Request{URL: "https://x.example.com"}, Request{URL: "https://x.example.com"}.Authorize("s3cret"))
}

// R43: the cancel call as it is documented.
func TestCancelRequest(t *testing.T) {
	t.Parallel()
	got, err := table(t, "demo-export").CancelRequest(wire.Target{StatusURL: "http://127.0.0.1:8090/exports/1"})
	require.NoError(t, err)
	require.Equal(t, "POST", got.Method)
	require.Equal(t, "http://127.0.0.1:8090/exports/1/cancel", got.URL)

	got, err = anyTable(t, "split-verdict").CancelRequest(wire.Target{ProviderJobID: "77", StatusURL: "https://queue.example.com/r/status?logs=1"})
	require.NoError(t, err)
	require.Equal(t, "PUT", got.Method)
	require.Equal(t, "https://queue.example.com/r/cancel", got.URL, "beside the status, without its query")
	require.Equal(t, "application/json", got.Header["Content-Type"])
	require.JSONEq(t, `{"state":"Aborted","run_id":77,"name":"77"}`, string(got.Body))

	_, err = anyTable(t, "split-verdict").CancelRequest(wire.Target{ProviderJobID: "77", StatusURL: "https://queue.example.com/"})
	require.ErrorContains(t, err, "has no path")
	_, err = anyTable(t, "split-verdict").CancelRequest(wire.Target{ProviderJobID: `1,"x":2`, StatusURL: "https://queue.example.com/r"})
	require.ErrorContains(t, err, "is no whole number")
	_, err = table(t, "azure-operation").CancelRequest(wire.Target{StatusURL: "https://management.azure.com/x"})
	require.ErrorIs(t, err, ErrNoCancel)
	_, err = table(t, "demo-export").CancelRequest(wire.Target{StatusURL: "http://169.254.169.254/"})
	_, ok := errors.AsType[*URLRejectedError](err)
	require.True(t, ok)
}

// R43, D3: what an answer to a cancel says, and that it decides nothing unless the table says so.
func TestReadCancel(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, provider string
		give           Response
		want           CancelReading
	}{
		{name: "taken", provider: "demo-export", give: Response{Status: 202}, want: CancelReading{Accepted: true}},
		{name: "D3 refused", provider: "demo-export", give: Response{Status: 409}},
		{name: "another code", provider: "demo-export", give: Response{Status: 200}},
		{name: "done at once", provider: "moving-url", give: Response{Status: 204}, want: CancelReading{Accepted: true, Confirmed: true}},
		{name: "done at once, in the provider's words", provider: "snowflake-statement", give: Response{Status: 200, Body: []byte(`{"code":"000604"}`)}, want: CancelReading{Accepted: true, Confirmed: true}},
		{name: "H9 R43 a page is no confirmation", provider: "snowflake-statement", give: Response{Status: 200, Body: []byte("<html>Sign in")}, want: CancelReading{Accepted: true}},
		{name: "R7 nor is what is too large", provider: "snowflake-statement", give: Response{Status: 200, BodyTooLarge: true}, want: CancelReading{Accepted: true}},
		{name: "R43 a page does not meet a condition that asks for nothing", provider: "elasticsearch-task", give: Response{Status: 200, Body: []byte("<html>Sign in")}},
		{name: "no failures, by its word", provider: "elasticsearch-task", give: Response{Status: 200, Body: []byte(`{"nodes":{}}`)}, want: CancelReading{Accepted: true}},
		{name: "taken by its word", provider: "split-verdict", give: Response{Status: 202, Body: []byte(`{"status":"CANCELLATION_REQUESTED"}`)}, want: CancelReading{Accepted: true}},
		{name: "refused by its word", provider: "split-verdict", give: Response{Status: 200, Body: []byte(`{"status":"ALREADY_COMPLETED"}`)}},
		{name: "no word", provider: "split-verdict", give: Response{Status: 200}},
		{name: "no call", provider: "azure-operation", give: Response{Status: 200}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, anyTable(t, test.provider).ReadCancel(test.give))
		})
	}
	got := table(t, "demo-export").ReadCancel(Response{Status: 429, Header: map[string][]string{"Retry-After": {"9"}}, ReceivedAt: now})
	require.Equal(t, int64(9), *got.Guidance.RetryAfterSeconds)
}

// What a table makes of a URL that was handed out.
func TestStatusURLTemplates(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, template, give, want string }{
		{name: "as it is", template: "{status_url}", give: "https://h.example.com/a?x=1", want: "https://h.example.com/a?x=1"},
		{name: "the path grows, not the query", template: "{status_url}/cancel", give: "https://h.example.com/a?x=1", want: "https://h.example.com/a/cancel?x=1"},
		{name: "a value is one segment", template: "{status_url}/{job_id}", give: "https://h.example.com/a", want: "https://h.example.com/a/b%2Fc"},
		{name: "beside it", template: "{status_url|parent}/cancel", give: "https://h.example.com/a/b/status?x=a/b", want: "https://h.example.com/a/b/cancel"},
		{name: "beside a folder", template: "{status_url|parent}/cancel", give: "https://h.example.com/a/b/", want: "https://h.example.com/a/cancel"},
		{name: "beside the only segment", template: "{status_url|parent}/cancel", give: "https://h.example.com/a", want: "https://h.example.com/cancel"},
		{name: "beside nothing", template: "{status_url|parent}/cancel", give: "https://h.example.com/"},
		{name: "beside nothing at all", template: "{status_url|parent}/cancel", give: "https://h.example.com"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			parsed, err := parseTemplate(test.template)
			require.NoError(t, err)
			got, err := parsed.locate(test.give, values{"job_id": "b/c"})
			require.Equal(t, test.want, got)
			require.Equal(t, test.want == "", err != nil)
		})
	}
}

// R51: the origin is that of the URL that is sent, whatever stands behind the one that was handed out.
func TestSuffixIsNoWayToAnotherOrigin(t *testing.T) {
	t.Parallel()
	found := *table(t, "demo-export")
	found.status.url, _ = parseTemplate("{status_url}{job_id}")
	_, err := found.StatusRequest(wire.Target{StatusURL: "http://localhost", ProviderJobID: ".example.com"})
	_, ok := errors.AsType[*URLRejectedError](err)
	require.True(t, ok)
}

// What is empty is not sent.
func TestEmptyValuesAreLeftOut(t *testing.T) {
	t.Parallel()
	found, target := anyTable(t, "header-as-state"), wire.Target{ProviderJobID: "e1", Params: map[string]string{"action": "create"}}
	got, err := found.StatusRequest(target)
	require.NoError(t, err)
	require.Equal(t, "https://api.example.com/exports/e1", got.URL)
	require.Empty(t, got.Header)

	target.Params["operation"], target.Params["tenant"] = "op1", "t1"
	got, err = found.StatusRequest(target)
	require.NoError(t, err)
	require.Equal(t, "https://api.example.com/exports/e1?operation=op1", got.URL)
	require.Equal(t, map[string]string{"X-Tenant": "t1"}, got.Header)
}

// A provider that takes credentials in several ways: the credential chooses, and the first is the default.
func TestChoose(t *testing.T) {
	t.Parallel()
	found, target := anyTable(t, "header-as-state"), wire.Target{ProviderJobID: "e1", Params: map[string]string{"action": "create"}}
	require.False(t, found.NeedsCredential())
	got, err := found.StatusRequest(target)
	require.NoError(t, err)
	require.False(t, got.Auth.Needed(), "no credential is named, and none is needed")

	target.CredentialRef = "demo"
	got, err = found.StatusRequest(target)
	require.NoError(t, err)
	require.Equal(t, "X-Api-Key", got.Auth.Header)
	chosen, err := got.Choose("")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"X-Api-Key": "s3cret"}, chosen.Authorize("s3cret").Header)
	chosen, err = got.Choose("bearer")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"Authorization": "Bearer s3cret"}, chosen.Authorize("s3cret").Header)
	_, err = got.Choose("basic")
	require.EqualError(t, err, `scheme "basic" is not one of the provider's table, which takes header, bearer`)
}
