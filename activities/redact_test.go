package activities

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/statetables"
)

// R14, R50: the secret is found in every form that it left in.
func TestSecretIsForgottenInEveryForm(t *testing.T) {
	t.Parallel()
	const secret = "report:pass word+7/ä"
	for form, auth := range map[string]statetables.Auth{
		secret:                              {Header: "X-Key"},
		"report%3Apass%20word%2B7%2F%C3%A4": {Query: "key"},
		"cmVwb3J0OnBhc3Mgd29yZCs3L8Ok":      {Header: "Authorization", Prefix: "Basic ", Basic: true},
		"pass word+7/ä":                     {Header: "Authorization", Prefix: "Basic ", Basic: true},
	} {
		value, err := NewSecret(secret)
		require.NoError(t, err)
		ready := cleared{request: statetables.Request{URL: "https://api.example.com", Auth: auth}.Authorize(secret), secret: value}
		got := &response{Response: statetables.Response{
			Header: map[string][]string{"Location": {"https://api.example.com/" + form}}, Body: []byte("bad key " + form),
		}}
		got.redact(ready)
		require.Equal(t, "bad key [redacted]", string(got.Body))
		require.Equal(t, "https://api.example.com/[redacted]", got.Header["Location"][0])
	}
}

// R50: JSON has many ways to write a character, and providers' encoders use them: PHP escapes every slash.
func TestSecretIsForgottenInJSONEscapes(t *testing.T) {
	t.Parallel()
	const secret = "mark/Er7+<😀>"
	value, err := NewSecret(secret)
	require.NoError(t, err)
	ready := cleared{secret: value, request: statetables.Request{Auth: statetables.Auth{Header: "X-Key"}}.Authorize(secret)}
	for _, form := range []string{
		`mark\/Er7+<😀>`, `mark/Er7+\u003c😀\u003E`, `\u006dark\/Er7\u002B<\ud83d\uDE00>`, `mark/Er7+<😀>`,
	} {
		got := &response{Response: statetables.Response{Body: []byte(`{"message":"` + form + ` is not authorised\n"}`)}}
		got.redact(ready)
		require.JSONEq(t, `{"message":"[redacted] is not authorised\n"}`, string(got.Body))
	}
}

// R50: of a key that is sent as the user of Basic, with no or any password, the user is the secret.
func TestKeyInPlaceOfTheUserIsForgotten(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"key_12345678:", "key_12345678:x"} {
		value, err := NewSecret(secret)
		require.NoError(t, err)
		auth := statetables.Auth{Header: "Authorization", Prefix: "Basic ", Basic: true}
		got := &response{Response: statetables.Response{Body: []byte("no such key: key_12345678")}}
		got.redact(cleared{secret: value, request: statetables.Request{Auth: auth}.Authorize(secret)})
		require.Equal(t, "no such key: [redacted]", string(got.Body))
	}
}

// A short secret may be a word of the answer, and no secret is no word at all.
func TestShortSecretIsLeftAlone(t *testing.T) {
	t.Parallel()
	value, err := NewSecret("running")
	require.NoError(t, err)
	for _, secret := range []Secret{value, {}} {
		got := &response{Response: statetables.Response{Body: []byte(running)}}
		got.redact(cleared{secret: secret})
		require.JSONEq(t, running, string(got.Body))
	}
}

// R50: the end of a body, and escapes that are none, are no reason to miss a secret or to give up.
func TestSecretIsForgottenBesideBrokenEscapes(t *testing.T) {
	t.Parallel()
	const secret = "marker/1"
	value, err := NewSecret(secret)
	require.NoError(t, err)
	for give, want := range map[string]string{
		`marker\/1`:                 `[redacted]`,
		`marker\/`:                  `marker\/`,
		`\\\u006darker\/1\`:         `\\[redacted]\`,
		`\ud83dmarker\/1\ud83d`:     `\ud83d[redacted]\ud83d`,
		`\u00zzmarker\/1\u`:         `\u00zz[redacted]\u`,
		`\u006`:                     `\u006`,
		`marker\/1marker\/1 mar\n`:  `[redacted][redacted] mar\n`,
		`\\u006darker\/1 marker\/1`: `\\u006darker\/1 [redacted]`,
	} {
		got := &response{Response: statetables.Response{Body: []byte(give)}}
		got.redact(cleared{secret: value, request: statetables.Request{Auth: statetables.Auth{Header: "X-Key"}}.Authorize(secret)})
		require.Equal(t, want, string(got.Body), give)
	}
}

// R50: the longest token and the largest answer that nearly repeats it take no longer than others. A request that has left is
// waited for for some seconds only, and its answer must not be lost over this.
func TestLongSecretIsForgottenInTime(t *testing.T) {
	t.Parallel()
	secret := strings.Repeat("a", maxSecretBytes-1) + "/"
	value, err := NewSecret(secret)
	require.NoError(t, err)
	ready := cleared{secret: value, request: statetables.Request{Auth: statetables.Auth{Header: "X-Key"}}.Authorize(secret)}
	escaped := secret[:maxSecretBytes-1] + `\/`
	got := &response{Response: statetables.Response{
		Body: []byte(strings.Repeat("a", statetables.MaxBodyBytes-len(escaped)-1) + " " + escaped),
	}}
	began := time.Now()
	got.redact(ready)
	require.Less(t, time.Since(began), 5*time.Second) // some milliseconds on an idle machine
	require.True(t, strings.HasSuffix(string(got.Body), "a [redacted]"))
}
