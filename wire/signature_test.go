package wire_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

var unpadded = base64.RawURLEncoding

// vector is the private key of the first test vector of RFC 8032.
func vector(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	seed, err := hex.DecodeString("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
	require.NoError(t, err)
	return ed25519.NewKeyFromSeed(seed)
}

func publicKey(key ed25519.PrivateKey) string {
	return unpadded.EncodeToString(key.Public().(ed25519.PublicKey))
}

// TestSignedText: what other languages have to sign, byte for byte (R53).
func TestSignedText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ decision, want string }{
		"what is set, sorted": {
			`{"kind": "extend", "decision_id": "d-1", "escalation_id": "export-1#1-3f9a2c1b", "decided_by": "ana@example.com",
			  "comment": "tax export", "seconds": 900, "status_requests": 4, "key_id": "ana-2026"}`,
			`{"comment":"tax export","decided_by":"ana@example.com","decision_id":"d-1","escalation_id":"export-1#1-3f9a2c1b",` +
				`"key_id":"ana-2026","kind":"extend","seconds":900,"status_requests":4}`,
		},
		"unused fields and the signature do not count": {
			`{"kind": "close", "seconds": 0, "raw_state": "", "past_business_deadline": false, "signature": "x"}`, `{"kind":"close"}`,
		},
		"texts as RFC 8785 has them": {
			`{"comment": "\u00e9<&>\u2028\u0007\n\"\\/", "past_business_deadline": true}`,
			"{\"comment\":\"é<&>\u2028\\u0007\\n\\\"\\\\/\",\"past_business_deadline\":true}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := wire.DecodeDecision([]byte(c.decision))
			require.NoError(t, err)
			text, err := wire.SignedText(d)
			require.NoError(t, err)
			require.Equal(t, "jobwait decision v1\n"+c.want, string(text))
		})
	}
	_, err := wire.SignedText(wire.Decision{Comment: "\xff"})
	require.EqualError(t, err, "decision: its texts are not all valid UTF-8")
}

// TestSignatureVector is the one that the documentation shows (R53).
func TestSignatureVector(t *testing.T) {
	t.Parallel()
	d := wire.Decision{
		Kind: wire.DecisionExtend, DecisionID: "d-1", EscalationID: "report-export-17#1-01a227fc", DecidedBy: "ana@example.com",
		Comment: "slow today", StatusRequests: 4, KeyID: "ana-2026",
	}
	text, err := wire.SignedText(d)
	require.NoError(t, err)
	d.Signature = unpadded.EncodeToString(ed25519.Sign(vector(t), text))
	key := wire.DecisionKey{KeyID: "ana-2026", PublicKey: publicKey(vector(t)), DecidedBy: "ana@example.com"}
	require.Equal(t, "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", key.PublicKey)
	require.True(t, d.SignedBy(key))
	require.Equal(t, "8OTB27bkkcptF9SvCNdyYD-D34wprNDPZYJQ6H1dH7bc-QQpMyg8dt4Jszd6O7oAhGxOIsNuAcQmbyJEUVX9AQ", d.Signature)

	d.StatusRequests++
	require.False(t, d.SignedBy(key))
}

// TestDecisionsWithoutSignatureStayAsTheyWere: recorded histories hold them (R53).
func TestDecisionsWithoutSignatureStayAsTheyWere(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(wire.Decision{})
	require.NoError(t, err)
	require.NotContains(t, string(text), "key_id")
	require.NotContains(t, string(text), "signature")
}

// TestDecisionKeyRefuses names the rule (R53). A key of small order is one that everybody can sign for.
func TestDecisionKeyRefuses(t *testing.T) {
	t.Parallel()
	good := wire.DecisionKey{KeyID: "ana-2026", PublicKey: publicKey(vector(t)), DecidedBy: "ana@example.com"}
	require.NoError(t, good.Validate())
	zero, one := make([]byte, 32), make([]byte, 32)
	one[0] = 1
	negativeOne := append([]byte(nil), one...)
	negativeOne[31] = 0x80
	const nobodys = "public_key is a point for which anybody can make signatures; `keys new` makes a key"
	const form = "public_key is not 32 bytes in base64url without padding (43 characters)"
	for name, c := range map[string]struct {
		change func(*wire.DecisionKey)
		want   string
	}{
		"no id":         {func(k *wire.DecisionKey) { k.KeyID = "" }, `key id "" is not 1 to 64 characters out of A-Z a-z 0-9 . _ -`},
		"id of a line":  {func(k *wire.DecisionKey) { k.KeyID = "a\nb" }, `key id "a\nb" is not 1 to 64 characters out of A-Z a-z 0-9 . _ -`},
		"id too long":   {func(k *wire.DecisionKey) { k.KeyID = strings.Repeat("a", 65) }, `key id "` + strings.Repeat("a", 65) + `" is not 1 to 64 characters out of A-Z a-z 0-9 . _ -`},
		"nobody":        {func(k *wire.DecisionKey) { k.DecidedBy = " " }, `decided_by is missing: the identity that the key signs for, or "*" for a service that knows its people`},
		"name too long": {func(k *wire.DecisionKey) { k.DecidedBy = strings.Repeat("é", 257) }, "decided_by has 257 characters, at most 256 are allowed"},
		"no key":        {func(k *wire.DecisionKey) { k.PublicKey = "" }, form},
		"padded":        {func(k *wire.DecisionKey) { k.PublicKey += "=" }, form},
		"other letters": {func(k *wire.DecisionKey) { k.PublicKey = strings.ReplaceAll(k.PublicKey, "_", "/") }, form},
		"too short":     {func(k *wire.DecisionKey) { k.PublicKey = k.PublicKey[:42] }, form},
		"bits to spare": {func(k *wire.DecisionKey) { k.PublicKey = k.PublicKey[:42] + "p" }, form},
		"zeros":         {func(k *wire.DecisionKey) { k.PublicKey = unpadded.EncodeToString(zero) }, nobodys},
		"the identity":  {func(k *wire.DecisionKey) { k.PublicKey = unpadded.EncodeToString(one) }, nobodys},
		"its other x":   {func(k *wire.DecisionKey) { k.PublicKey = unpadded.EncodeToString(negativeOne) }, nobodys},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := good
			c.change(&key)
			require.EqualError(t, key.Validate(), c.want)
		})
	}
	require.False(t, wire.Decision{Signature: strings.Repeat("A", 86)}.SignedBy(wire.DecisionKey{PublicKey: unpadded.EncodeToString(one)}),
		"the signature that everybody can make for the identity")
}
