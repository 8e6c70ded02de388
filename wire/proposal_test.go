package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

// TestDecodeExtensionRequestRefuses: a request is read as strictly as a decision (R42).
func TestDecodeExtensionRequestRefuses(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		`{"seconds": "900"}`: `request: field "seconds": a string where a whole number belongs`,
		`{"minutes": 15}`:    `request: field "minutes" is not known`,
		`[]`:                 `request: a JSON object is wanted, got a list`,
	} {
		_, err := wire.DecodeExtensionRequest([]byte(payload))
		require.EqualError(t, err, want)
	}
}

// TestDecodeNudgeRefuses: so is a nudge, whose source is required and bounded (R21).
func TestDecodeNudgeRefuses(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		`{}`:                             `nudge: source is missing, say who says that the job may have changed`,
		`{"source": "  "}`:               `nudge: source is missing, say who says that the job may have changed`,
		`{"source": 7}`:                  `nudge: field "source": a number where a string belongs`,
		`{"source": "a", "state": "ok"}`: `nudge: field "state" is not known`,
		`"webhook"`:                      `nudge: a JSON object is wanted, got a string`,
	} {
		_, err := wire.DecodeNudge([]byte(payload))
		require.EqualError(t, err, want)
	}
	_, err := wire.DecodeNudge(make([]byte, wire.MaxNudgeBytes+1))
	require.EqualError(t, err, "nudge: 2049 bytes, at most 2048 are read")
}
