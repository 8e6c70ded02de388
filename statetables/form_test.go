package statetables

import (
	"net/url"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

// A form says what the object said, each value where the providers of forms look for it, and digit for digit; the same object is
// written alike whatever its order. What a form cannot say is refused, with its place.
func TestForm(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ give, want, err string }{
		{give: `{"b": "x y&=", "a": 9007199254740993}`, want: "a=9007199254740993&b=x+y%26%3D"},
		{give: `{"a": 9007199254740993, "b": "x y&="}`, want: "a=9007199254740993&b=x+y%26%3D"},
		{give: `{"parameters": {"columns": ["id", "net"], "live": true}, "to": {"a": {"b": 1.50}}}`, want: "parameters[columns][0]=id&parameters[columns][1]=net&parameters[live]=true&to[a][b]=1.50"},
		{give: `{"empty": "", "é": "ü"}`, want: "empty=&é=ü"},
		{give: `{"a": {"b": null}}`, err: `body: "a[b]" is null, which a form cannot say; leave it out, or write an empty text`},
		{give: `{"a": {"b": {}}}`, err: `body: "a[b]" holds nothing, which a form cannot say; leave it out`},
		{give: `{"a": [[]]}`, err: `body: "a[0]" holds nothing, which a form cannot say; leave it out`},
		{give: `{"` + strings.Repeat("x", 1<<17) + `": [` + strings.Repeat("1,", 100) + `1]}`, err: "body: it is more than 1048576 bytes as a form"},
		{give: `{"a": 1, "a": 2}`, err: "body: not JSON: a key is given twice"},
	} {
		got, err := formOf([]byte(test.give))
		if test.err != "" {
			require.EqualError(t, err, test.err)
			continue
		}
		require.NoError(t, err, test.give)
		if strings.Contains(test.want, "[") || strings.Contains(test.want, "é") {
			plain, err := url.QueryUnescape(string(got))
			require.NoError(t, err)
			require.Equal(t, test.want, plain)
			continue
		}
		require.Equal(t, test.want, string(got))
	}
}

// submits is a table like limited, with another request to submit.
func submits(t *testing.T, request, idempotency string) *Table {
	t.Helper()
	text := limitedTable + strings.NewReplacer(
		`{method: POST, url: "https://api.example.com/jobs", source: docs}`, request, "idempotency: none\n  source", idempotency+"\n  source",
	).Replace(limitedSubmission)
	set, err := Load(Source{FS: fstest.MapFS{"limited.yaml": {Data: []byte(text)}}})
	require.NoError(t, err)
	table, _ := set.Table("limited")
	return table
}

// R55: a form is sent as one, with the key of a body among its fields; its fingerprint is that of what the spec asks for, whatever
// the order and spelling of it, without the key.
func TestSubmissionByForm(t *testing.T) {
	t.Parallel()
	table := submits(t, `{method: POST, url: "https://api.example.com/jobs", send_as: form, source: docs}`, "idempotency: body\n  name: options.key")
	target := wire.Target{Provider: "limited", Account: "a", CredentialRef: "c"}
	request, err := table.SubmitRequest(target, "k-1", []byte(`{"to": "x", "options": {"fast": true}}`))
	require.NoError(t, err)
	require.Equal(t, "application/x-www-form-urlencoded", request.Header["Content-Type"])
	fields, err := url.ParseQuery(string(request.Body))
	require.NoError(t, err)
	require.Equal(t, url.Values{"to": {"x"}, "options[fast]": {"true"}, "options[key]": {"k-1"}}, fields)
	one, err := table.Fingerprint(target, []byte(`{"to": "x", "options": {"fast": true}}`))
	require.NoError(t, err)
	same, err := table.Fingerprint(target, []byte("{\"options\": {\"fast\":true},\n \"to\": \"\\u0078\"}"))
	require.NoError(t, err)
	require.Equal(t, one, same)
	other, err := table.Fingerprint(target, []byte(`{"to": "y", "options": {"fast": true}}`))
	require.NoError(t, err)
	require.NotEqual(t, one, other)
	require.ErrorContains(t, table.CheckSubmission(wire.SubmitSpec{Provider: "limited", Account: "a", CredentialRef: "c", Body: []byte(`{"to": null}`)}), `body: "to" is null`)

	bare := submits(t, `{method: POST, url: "https://api.example.com/jobs", send_as: form, source: docs}`, "idempotency: none")
	request, err = bare.SubmitRequest(target, "", []byte(`{}`))
	require.NoError(t, err)
	require.Empty(t, request.Body)
	require.NotContains(t, request.Header, "Content-Type")
}

// A GET that begins a job has no body, so a spec that has one is refused before anything is sent.
func TestSubmissionByGET(t *testing.T) {
	t.Parallel()
	table := submits(t, `{method: GET, url: "https://api.example.com/jobs/$export", source: docs}`, "idempotency: header\n  name: Key")
	target := wire.Target{Provider: "limited", Account: "a", CredentialRef: "c"}
	for _, body := range []string{"", "{}", "null"} {
		request, err := table.SubmitRequest(target, "k-1", []byte(body))
		require.NoError(t, err, body)
		require.Equal(t, "GET https://api.example.com/jobs/$export", request.Method+" "+request.URL)
		require.Equal(t, map[string]string{"Key": "k-1"}, request.Header)
		require.Empty(t, request.Body)
	}
	require.ErrorContains(t, table.CheckSubmission(wire.SubmitSpec{Provider: "limited", Account: "a", CredentialRef: "c", Body: []byte(`{"a": 1}`)}),
		"body: nothing is sent with a GET; leave it out")
}
