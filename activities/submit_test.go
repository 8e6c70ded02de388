package activities

import (
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// edited has the worker's table of demo-export with one text replaced by another, as an upgrade of its tables would.
func (w *world) edited(old, text string) {
	w.t.Helper()
	data, err := fs.ReadFile(statetables.Demo(), "demo-export.yaml")
	require.NoError(w.t, err)
	require.Contains(w.t, string(data), old)
	changed := []byte(strings.Replace(string(data), old, text, 1))
	w.options.Tables, err = statetables.Load(statetables.Source{FS: fstest.MapFS{"demo-export.yaml": {Data: changed}}})
	require.NoError(w.t, err)
}

// submitRequest is what a submission asks for that was prepared by the table as it is now.
func (w *world) submitRequest() wire.SubmitRequest {
	w.t.Helper()
	return w.submitRequestOf(`{"a": 1}`)
}

func (w *world) submitRequestOf(body string) wire.SubmitRequest {
	w.t.Helper()
	at, err := url.Parse(w.URL)
	require.NoError(w.t, err)
	target := wire.Target{Provider: "demo-export", Account: "acct-42", Params: map[string]string{"port": at.Port()}, CredentialRef: "demo"}
	table, ok := w.options.Tables.Table(target.Provider)
	require.True(w.t, ok)
	facts, err := submissionFacts(table, wire.SubmitSpec{
		Provider: target.Provider, Account: target.Account, Params: target.Params, CredentialRef: target.CredentialRef, Body: []byte(body),
	})
	require.NoError(w.t, err)
	key := ""
	if facts.KeyPlace != "" {
		key = "67fe16a5-842e-8d05-a3cd-8b22b5bbe4e9"
	}
	return wire.SubmitRequest{
		Target: target, Body: []byte(body), Key: key, Fingerprint: facts.Fingerprint,
		KeyPlace: facts.KeyPlace, Generation: 1, NotAfter: time.Now().Add(time.Hour), TimeoutSeconds: 5,
	}
}

// R56: how long the provider knows a key is noted when the submission begins.
func TestSubmissionNotesHowLongItsKeyIsKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(http.ResponseWriter, *http.Request) {})
	known := func() int {
		table, ok := w.options.Tables.Table("demo-export")
		require.True(t, ok)
		facts, err := submissionFacts(table, wire.SubmitSpec{
			Provider: "demo-export", Account: "acct-42", Params: w.submitRequest().Params, CredentialRef: "demo",
		})
		require.NoError(t, err)
		return facts.KeySeconds
	}
	require.Zero(t, known(), "the table says nothing of it")
	w.edited("  max_length: 128\n", "  max_length: 128\n  valid: {seconds: 86400, source: jobwait}\n")
	require.Equal(t, 86_400, known())
}

// A submission that is repeated goes with its key where the first one had it, or not at all: without it, or under another
// name, the provider would make a second job.
func TestSubmissionWhoseKeyHasMoved(t *testing.T) {
	t.Parallel()
	header := func(name string) string {
		return "  idempotency: header\n  name: " + name + "\n  max_length: 128\n  source: jobwait\n"
	}
	key := header("Idempotency-Key")
	for name, test := range map[string]struct {
		text    string
		unnoted bool // prepared by a worker that noted no place
		sent    bool
	}{
		"not moved":      {text: key, sent: true},
		"not noted":      {text: key, unnoted: true, sent: true},
		"another name":   {text: header("X-Request-Key")},
		"in the body":    {text: "  idempotency: body\n  name: request_id\n  source: jobwait\n"},
		"gone":           {text: "  idempotency: none\n  source: jobwait\n"},
		"gone, unnoted":  {text: "  idempotency: none\n  source: jobwait\n", unnoted: true},
		"gone, unlooked": {text: "  idempotency: unknown\n", unnoted: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keys := make(chan string, 1)
			w := newWorld(t, func(out http.ResponseWriter, request *http.Request) {
				keys <- request.Header.Get("Idempotency-Key")
				out.WriteHeader(http.StatusAccepted)
				_, _ = io.WriteString(out, `{}`)
			})
			request := w.submitRequest()
			if test.unnoted {
				request.KeyPlace = ""
			}
			w.edited(key, test.text)
			var result wire.SubmitResult
			require.NoError(t, w.run(wire.ActivitySubmit, request, &result))
			if test.sent {
				require.Empty(t, result.NotSent, result.Detail)
				require.Equal(t, request.Key, <-keys)
				return
			}
			require.Equal(t, wire.NotSentTableMissing, result.NotSent)
			require.Contains(t, result.Detail, wire.DetailRequestChanged)
			require.Empty(t, keys, "it was sent")
		})
	}
}

// An owner that the server knows no more is not looked for for ever; one that may be about to start is.
func TestOwnerThatIsGone(t *testing.T) {
	t.Parallel()
	missing := fmt.Errorf("asking: %w", serviceerror.NewNotFound("workflow not found"))
	require.False(t, gone(missing, 1))
	require.True(t, gone(missing, ownerAttempts))
	require.False(t, gone(serviceerror.NewUnavailable("down"), ownerAttempts), "the server did not say so")
	require.False(t, gone(serviceerror.NewNamespaceNotFound("default"), ownerAttempts), "that says nothing of the owner")
	require.False(t, gone(nil, ownerAttempts))
}
