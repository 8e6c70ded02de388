package callbacks_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
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

func sha256Of(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// Each provider's own way to sign, written from its page and not from its table.
func standardWebhooks(header http.Header, body string, at time.Time) {
	unix := strconv.FormatInt(at.Unix(), 10)
	header.Set("Webhook-Id", "msg_"+body[:min(len(body), 40)])
	header.Set("Webhook-Timestamp", unix)
	signature := base64.StdEncoding.EncodeToString(sha256Of(key, header.Get("Webhook-Id")+"."+unix+"."+body))
	header.Set("Webhook-Signature", "v1,bm90IHRoaXMgb25l v1,"+signature)
}

func list(name, timeField, signatureField string) signer {
	return func(header http.Header, body string, at time.Time) {
		unix := strconv.FormatInt(at.Unix(), 10)
		header.Set(name, timeField+"="+unix+","+signatureField+"="+hex.EncodeToString(sha256Of([]byte(secret), unix+"."+body)))
	}
}

func overBody(name, prefix string) signer {
	return func(header http.Header, body string, _ time.Time) {
		header.Set(name, prefix+hex.EncodeToString(sha256Of([]byte(secret), body)))
	}
}

type signer func(header http.Header, body string, at time.Time)

var signers = map[string]struct {
	sign  signer
	timed bool
	// header is chosen by who sets the webhook up.
	header string
}{
	"assemblyai-transcript":   {sign: func(header http.Header, _ string, _ time.Time) { header.Set("X-Ours", secret) }, header: "X-Ours"},
	"cloudconvert-job":        {sign: overBody("CloudConvert-Signature", "")},
	"cloudflare-stream-video": {sign: list("Webhook-Signature", "time", "sig1"), timed: true},
	"github-actions-run":      {sign: overBody("X-Hub-Signature-256", "sha256=")},
	"mux-asset":               {sign: list("Mux-Signature", "t", "v1"), timed: true},
	"openai-batch":            {sign: standardWebhooks, timed: true},
	"openai-fine-tuning":      {sign: standardWebhooks, timed: true},
	"openai-response":         {sign: standardWebhooks, timed: true},
	"replicate-prediction":    {sign: standardWebhooks, timed: true},
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
				sut.genuineAndForged(by.sign, by.timed, example, string(body))
			}
		})
	}
	require.Len(t, signers, called)
}

func (s *sut) genuineAndForged(sign signer, timed bool, example statetables.CallbackExampleDoc, body string) {
	s.Helper()
	post := func(body string, at time.Time, spoil func(http.Header)) int {
		request := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/callbacks/here", bytes.NewReader([]byte(body)))
		for name, value := range example.Headers {
			request.Header.Set(name, value)
		}
		sign(request.Header, body, at)
		spoil(request.Header)
		return s.send(request)
	}
	whole := func(http.Header) {}
	require.Equal(s, http.StatusUnauthorized, post(body, now, func(header http.Header) { clear(header) }), "unsigned")
	if timed {
		require.Equal(s, http.StatusUnauthorized, post(body, now.Add(-6*time.Minute), whole), "late")
		require.Equal(s, http.StatusUnauthorized, post(body, now.Add(6*time.Minute), whole), "early")
	}
	require.Empty(s, s.nudged())
	require.Equal(s, http.StatusNoContent, post(body, now, whole))
	if example.Want.Ignored {
		require.Empty(s, s.nudged())
		return
	}
	require.Equal(s, []string{wire.WorkflowID(s.endpoint.Providers[0], s.endpoint.Account, example.Want.JobID)}, s.nudged())
}
