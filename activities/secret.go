package activities

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

const redacted = "[redacted]"

// maxSecretBytes is more than any server takes in a header.
const maxSecretBytes = 64 << 10

// Secret is the value of a credential. It prints as [redacted] wherever a value prints itself; only the code that builds
// a request reveals it.
type Secret struct {
	// A closure, because fmt and encoders look into unexported fields but cannot look into a function.
	reveal func() string
}

// SecretSource reads the present value of a secret. It is called again as time passes, so that rotating the secret needs no restart. Its
// errors may end up in logs and in history: they must not contain the value.
type SecretSource func(ctx context.Context) (Secret, error)

// NewSecret checks the value and wraps it. An empty value, one of more than 64 KiB, and one with a control character (a line
// break above all, which would end a header) are refused; the error does not repeat the value.
func NewSecret(value string) (Secret, error) {
	if value == "" {
		return Secret{}, errors.New("the value is empty")
	}
	if len(value) > maxSecretBytes {
		return Secret{}, fmt.Errorf("the value has %d bytes, at most %d are allowed", len(value), maxSecretBytes)
	}
	if strings.ContainsFunc(value, isControl) {
		return Secret{}, errors.New("the value holds a line break or another control character")
	}
	return Secret{reveal: func() string { return value }}, nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// Reveal returns the value, empty for the zero Secret. The caller must keep it out of errors and logs.
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// String hides the value from fmt.
func (Secret) String() string { return redacted }

// GoString hides the value from %#v.
func (Secret) GoString() string { return redacted }

// MarshalText hides the value from encoders.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalJSON hides the value from encoding/json.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// LogValue hides the value from log/slog.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
