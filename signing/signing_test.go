package signing_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/signing"
	"github.com/jobwait/jobwait/wire"
)

func decision() wire.Decision {
	return wire.Decision{
		Kind: wire.DecisionClose, DecisionID: "d-1", EscalationID: "op#1-00000001", DecidedBy: "ana@example.com", Comment: "why",
	}
}

// R53: what a key signs, its public half believes, and nobody else's.
func TestKeySigns(t *testing.T) {
	t.Parallel()
	key, err := signing.New("ana-2026", "ana@example.com")
	require.NoError(t, err)
	other, err := signing.New("ana-2026", "ana@example.com")
	require.NoError(t, err)
	signed, err := key.Sign(decision())
	require.NoError(t, err)
	require.Equal(t, "ana-2026", signed.KeyID)
	require.NoError(t, key.Public().Validate())
	require.True(t, signed.SignedBy(key.Public()))
	require.False(t, signed.SignedBy(other.Public()))
	again, err := key.Sign(signed)
	require.NoError(t, err)
	require.Equal(t, signed, again, "signing what is signed changes nothing")
}

func TestKeySignsForNobodyElse(t *testing.T) {
	t.Parallel()
	bens, err := signing.New("ben-2026", "ben@example.com")
	require.NoError(t, err)
	_, err = bens.Sign(decision())
	require.EqualError(t, err, `decision key "ben-2026" signs for "ben@example.com", decided_by is "ana@example.com"`)
	service, err := signing.New("inbox-2026", wire.AnyIdentity)
	require.NoError(t, err)
	_, err = service.Sign(decision())
	require.NoError(t, err)
	_, err = signing.PrivateKey{}.Sign(decision())
	require.EqualError(t, err, "decision key: there is none; ReadFile reads one, New makes one")
	_, err = signing.New("ana 2026", "ana@example.com")
	require.ErrorContains(t, err, `key id "ana 2026" is not 1 to 64 characters`)
}

func TestKeyFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ana.key")
	key, err := signing.New("ana-2026", "Ana \"the\" Ünal \t")
	require.NoError(t, err)
	require.NoError(t, key.WriteFile(path))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.ErrorIs(t, key.WriteFile(path), os.ErrExist, "no key is ever overwritten")

	read, err := signing.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, key.Public(), read.Public())
}

// R50: a fault is named by file and rule; the key is in no error and in no print.
func TestKeyIsNotShown(t *testing.T) {
	t.Parallel()
	const secret = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlYw" // 31 bytes
	for text, want := range map[string]string{
		"":                              "the file is empty",
		"private_key: [" + secret + "]": "line 1: a field that is not known, given twice, or of the wrong type",
		secret + ": 1":                  "line 1: a field that is not known",
		"{key_id: a, private_key: " + secret + "}":  "private_key is not 32 bytes in base64url without padding",
		"{key_id: a, private_key: " + secret + "A}": "decided_by is missing",
	} {
		path := filepath.Join(t.TempDir(), "key")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := signing.ReadFile(path)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), secret)
	}
	key, err := signing.New("ana-2026", "ana@example.com")
	require.NoError(t, err)
	file, err := key.File()
	require.NoError(t, err)
	private := strings.Split(string(file), `"`)[5]
	require.Len(t, private, 43)
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "key", key)
	for _, text := range []string{fmt.Sprintf("%v %+v %#v %s", key, key, key, &key), log.String()} {
		require.NotContains(t, text, private)
		require.Contains(t, text, "decision key ana-2026")
	}
}
