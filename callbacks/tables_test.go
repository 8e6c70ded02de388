package callbacks_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // Vercel's
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"hash"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/callbacks"
	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// key is 32 bytes, and secret how Standard Webhooks writes them; others take that text as it stands.
var (
	key    = bytes.Repeat([]byte("k3"), 16)
	secret = "whsec_" + base64.StdEncoding.EncodeToString(key)
)

func base64Of(text []byte) string { return base64.StdEncoding.EncodeToString(text) }

func sha256Of(key []byte, text string) []byte { return hashOf(sha256.New, string(key), text) }

func hashOf(algorithm func() hash.Hash, key, text string) []byte {
	mac := hmac.New(algorithm, []byte(key))
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// signer signs as one provider does, written from its page and not from its table.
type signer func(header http.Header, secret, body string, at time.Time)

func standardWebhooks(header http.Header, secret, body string, at time.Time) {
	unix := strconv.FormatInt(at.Unix(), 10)
	header.Set("Webhook-Id", "msg_"+body[:min(len(body), 40)])
	header.Set("Webhook-Timestamp", unix)
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	header.Set("Webhook-Signature", "v1,bm90IHRoaXMgb25l v1,"+base64Of(sha256Of(key, header.Get("Webhook-Id")+"."+unix+"."+body)))
}

func list(name, timeField, signatureField string) signer {
	return func(header http.Header, secret, body string, at time.Time) {
		unix := strconv.FormatInt(at.Unix(), 10)
		header.Set(name, timeField+"="+unix+","+signatureField+"="+hex.EncodeToString(sha256Of([]byte(secret), unix+"."+body)))
	}
}

func overBody(algorithm func() hash.Hash, name, prefix string) signer {
	return func(header http.Header, secret, body string, _ time.Time) {
		header.Set(name, prefix+hex.EncodeToString(hashOf(algorithm, secret, body)))
	}
}

func token(name string) signer {
	return func(header http.Header, secret, _ string, _ time.Time) { header.Set(name, secret) }
}

var signers = map[string]struct {
	sign signer
	// timed says that a time is signed, plain that nothing is: the secret itself is sent.
	timed, plain bool
	// header is chosen by who sets the webhook up.
	header string
}{
	"assemblyai-transcript":   {sign: token("X-Ours"), plain: true, header: "X-Ours"},
	"circleci-run":            {sign: overBody(sha256.New, "circleci-signature", "v1=")},
	"cloudconvert-job":        {sign: overBody(sha256.New, "CloudConvert-Signature", "")},
	"cloudflare-stream-video": {sign: list("Webhook-Signature", "time", "sig1"), timed: true},
	"dbt-cloud-run":           {sign: overBody(sha256.New, "Authorization", "")},
	"github-actions-run":      {sign: overBody(sha256.New, "X-Hub-Signature-256", "sha256=")},
	"gitlab-pipeline":         {sign: token("X-Gitlab-Token"), plain: true},
	"hcp-terraform-run":       {sign: overBody(sha512.New, "X-TFE-Notification-Signature", "")},
	"mux-asset":               {sign: list("Mux-Signature", "t", "v1"), timed: true},
	"openai-batch":            {sign: standardWebhooks, timed: true},
	"openai-fine-tuning":      {sign: standardWebhooks, timed: true},
	"openai-response":         {sign: standardWebhooks, timed: true},
	"replicate-prediction":    {sign: standardWebhooks, timed: true},
	"stripe-report-run":       {sign: list("Stripe-Signature", "t", "v1"), timed: true},
	"vercel-deployment":       {sign: overBody(sha1.New, "x-vercel-signature", "")},
}

// Every table that says how webhooks are signed is held against code that signs by the provider's page.
func TestTablesAgainstTheirProviders(t *testing.T) {
	t.Parallel()
	tables, err := statetables.Load(statetables.Source{FS: statetables.Builtin()})
	require.NoError(t, err)
	files, err := statetables.Files(statetables.Source{FS: statetables.Builtin()})
	require.NoError(t, err)
	called := 0
	for _, file := range files {
		if file.Table.Callback == nil {
			continue
		}
		called++
		t.Run(file.Table.Provider, func(t *testing.T) {
			t.Parallel()
			by, ok := signers[file.Table.Provider]
			require.True(t, ok, "write how the provider signs, from its page")
			for _, example := range file.Table.Callback.Examples {
				var written any
				require.NoError(t, example.Body.Decode(&written))
				body, err := json.Marshal(written)
				require.NoError(t, err)
				sut := receiving(t, tables, callbacks.Endpoint{
					Name: "here", Providers: []string{file.Table.Provider}, Account: cmp.Or(example.Want.Account, "acct"), Header: by.header,
				})
				sent := delivery{example: example, sign: by.sign, body: string(body)}
				sut.forged(sent, by.timed, by.plain)
				sut.genuine(sent)
			}
		})
	}
	require.Len(t, signers, called)
}

// delivery is an example as a provider would send it.
type delivery struct {
	example statetables.CallbackExampleDoc
	sign    signer
	body    string
}

// made is a webhook with a body, that another one was signed in the place of.
func (w delivery) made(secret, body string, at time.Time) *http.Request {
	request := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/callbacks/here", strings.NewReader(body))
	for name, value := range w.example.Headers {
		request.Header.Set(name, value)
	}
	w.sign(request.Header, secret, w.body, at)
	return request
}

func (s *sut) forged(w delivery, timed, plain bool) {
	s.Helper()
	unsigned := w.made(secret, w.body, now)
	clear(unsigned.Header)
	forgeries := map[string]*http.Request{
		"unsigned": unsigned, "signed with another secret": w.made("whsec_"+base64Of(bytes.Repeat([]byte("k4"), 16)), w.body, now),
	}
	if !plain {
		forgeries["another body than was signed"] = w.made(secret, strings.Replace(w.body, "{", `{"x":1,`, 1), now)
	}
	if timed {
		forgeries["late"], forgeries["early"] = w.made(secret, w.body, now.Add(-6*time.Minute)), w.made(secret, w.body, now.Add(6*time.Minute))
	}
	for name, forgery := range forgeries {
		require.Equal(s, http.StatusUnauthorized, s.send(forgery), name)
	}
	require.Empty(s, s.nudged())
}

// genuine sends a webhook twice, which nudges once.
func (s *sut) genuine(w delivery) {
	s.Helper()
	want := []string{wire.WorkflowID(s.endpoint.Providers[0], s.endpoint.Account, w.example.Want.JobID)}
	if w.example.Want.Ignored {
		want = nil
	}
	for range 2 {
		require.Equal(s, http.StatusNoContent, s.send(w.made(secret, w.body, now)))
		require.Equal(s, want, s.nudged())
	}
}
