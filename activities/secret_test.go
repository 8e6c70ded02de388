package activities

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// marker is a secret that must not turn up anywhere but at the provider.
const marker = "marker-5e1f0c9a77"

// R50: however a secret is printed, alone or inside something, it does not show.
func TestSecretDoesNotPrintItself(t *testing.T) {
	t.Parallel()
	secret, err := NewSecret(marker)
	require.NoError(t, err)
	type holder struct {
		Public Secret
		hidden Secret
	}
	held := holder{secret, secret}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, verb+verb+verb, secret, held, &held)
	}
	for _, logger := range []*slog.Logger{slog.New(slog.NewJSONHandler(&out, nil)), slog.New(slog.NewTextHandler(&out, nil))} {
		logger.Info("secret", "alone", secret, "held", held)
	}
	for _, marshal := range []func(any) ([]byte, error){json.Marshal, yaml.Marshal} {
		text, err := marshal(map[string]any{"alone": secret, "held": held})
		require.NoError(t, err)
		out.Write(text)
	}
	require.NotContains(t, out.String(), marker)
	require.NotContains(t, out.String(), fmt.Sprintf("%x", marker))
	require.Contains(t, out.String(), redacted)
	require.Equal(t, marker, secret.Reveal(), "the control: it is in there")
}

func TestNewSecretRefuses(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"":                "the value is empty",
		marker + "\r\n":   "line break",
		marker + "\nX: 1": "line break",
		marker + "\x00":   "control character",

		strings.Repeat(marker, maxSecretBytes): "bytes, at most 65536 are allowed",
	} {
		_, err := NewSecret(value)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), marker)
	}
	require.Empty(t, Secret{}.Reveal())
}
