package activities

import (
	"testing"

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
		got.forget(ready)
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
		`mark\/Er7+<😀>`, `mark/Er7+\u003c😀\u003E`, `\u006dark\/Er7\u002B<\ud83d\uDE00>`,
	} {
		got := &response{Response: statetables.Response{Body: []byte(`{"message":"` + form + ` is not authorised\n"}`)}}
		got.forget(ready)
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
		got.forget(cleared{secret: value, request: statetables.Request{Auth: auth}.Authorize(secret)})
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
		got.forget(cleared{secret: secret})
		require.JSONEq(t, running, string(got.Body))
	}
}
