package notify

import (
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
)

// The signature was computed apart from this code and its library, with Python's hmac over "id.timestamp.body".
func TestSignature(t *testing.T) {
	t.Parallel()
	key, err := standardwebhooks.NewWebhook("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	require.NoError(t, err)
	header, err := signed([]*standardwebhooks.Webhook{key}, "msg_0123456789abcdef", time.Unix(1745000000, 5), []byte(`{"type":"wait.escalated"}`))
	require.NoError(t, err)
	require.Equal(t, "v1,8rfmxECN/Am7TFTd8/TE0j0szVbhUjgEQT6B+23mZnk=", header.Get("webhook-signature"))
	require.Equal(t, "1745000000", header.Get("webhook-timestamp"))
	require.Equal(t, "msg_0123456789abcdef", header.Get("webhook-id"))
}

// The delay doubles up to two minutes, and half of it is chance.
func TestBackoff(t *testing.T) {
	t.Parallel()
	for attempts, full := range map[int]time.Duration{
		1: 2 * time.Second, 2: 4 * time.Second, 5: 32 * time.Second, 6: 64 * time.Second, 7: 2 * time.Minute, 1 << 30: 2 * time.Minute,
	} {
		for range 50 {
			delay := backoff(attempts)
			require.GreaterOrEqual(t, delay, full/2)
			require.Less(t, delay, full)
		}
	}
}

func TestCutOnACharacter(t *testing.T) {
	t.Parallel()
	require.Equal(t, "é...", cut("ééé", 3))
	require.Equal(t, "ééé", cut("ééé", 6))
	require.Equal(t, strings.Repeat("a", 9), cut(strings.Repeat("a", 9), 9))
}
