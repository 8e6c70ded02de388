// Package webhookkey reads the symmetric keys of the Standard Webhooks specification, for who signs and for who verifies.
package webhookkey

import (
	"encoding/base64"
	"fmt"
	"strings"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	prefix = "whsec_"
	// A key has 192 to 512 bits by the specification.
	least, most = 24, 64
)

// Parse checks what the library takes as it comes. Errors do not repeat the value.
func Parse(secret string) (*standardwebhooks.Webhook, error) {
	encoded, ok := strings.CutPrefix(secret, prefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(key) < least || len(key) > most {
		return nil, fmt.Errorf("it is not %q and the base64 of %d to %d bytes", prefix, least, most)
	}
	return standardwebhooks.NewWebhookRaw(key)
}
