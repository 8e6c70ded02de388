package wire

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

const (
	// DecisionContext is the prefix of every text that is signed for a decision, so that no signature for another purpose counts.
	DecisionContext = "jobwait decision v1\n"
	// AnyIdentity as the DecidedBy of a key lets its holder sign for anybody. It is meant for a service that authenticates people
	// itself.
	AnyIdentity = "*"
	// MaxDecisionKeys is the most decision keys that a worker may trust.
	MaxDecisionKeys = 100

	maxKeyID = 64 // characters
)

// DecisionKey is a public key that is trusted to sign decisions.
type DecisionKey struct {
	// KeyID is the name by which decisions refer to the key: 1 to 64 of A-Z a-z 0-9 . _ -
	KeyID string `json:"key_id"`
	// PublicKey is an Ed25519 public key of 32 bytes in base64url without padding (RFC 4648 section 5).
	PublicKey string `json:"public_key"`
	// DecidedBy is the identity that the key may sign for, or AnyIdentity.
	DecidedBy string `json:"decided_by"`
}

var keyIDs = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// Validate reports the first rule that the key breaks.
func (k DecisionKey) Validate() error {
	switch {
	case !keyIDs.MatchString(k.KeyID) || len(k.KeyID) > maxKeyID:
		return fmt.Errorf("key id %q is not 1 to %d characters out of A-Z a-z 0-9 . _ -", bounded(k.KeyID), maxKeyID)
	case strings.TrimSpace(k.DecidedBy) == "":
		return fmt.Errorf("decided_by is missing: the identity that the key signs for, or %q for a service that knows its people", AnyIdentity)
	case utf8.RuneCountInString(k.DecidedBy) > MaxIDChars:
		return fmt.Errorf("decided_by has %d characters, at most %d are allowed", utf8.RuneCountInString(k.DecidedBy), MaxIDChars)
	}
	_, err := k.Key()
	return err
}

// Key decodes PublicKey.
func (k DecisionKey) Key() (ed25519.PublicKey, error) {
	key, err := unpadded.DecodeString(k.PublicKey)
	switch {
	case err != nil || len(key) != ed25519.PublicKeySize:
		return nil, fmt.Errorf("public_key is not %d bytes in base64url without padding (43 characters)", ed25519.PublicKeySize)
	case slices.Contains(nobodysKeys(), withoutSign(key)):
		return nil, errors.New("public_key is a point for which anybody can make signatures; `keys new` makes a key")
	default:
		return key, nil
	}
}

// unpadded is the one form in which keys and signatures are written.
var unpadded = base64.RawURLEncoding.Strict()

// withoutSign clears the sign of x, which is all that tells two points of one y apart.
func withoutSign(key []byte) string {
	cleared := slices.Clone(key)
	cleared[len(cleared)-1] &= 0x7f
	return string(cleared)
}

// nobodysKeys are the y of the points of small order, among them 32 zero bytes, which a placeholder in a file decodes to.
func nobodysKeys() []string {
	repeated := func(first byte, middle, last string) string {
		return string([]byte{first}) + strings.Repeat(middle, 30) + last
	}
	return []string{
		repeated(0, "\x00", "\x00"), repeated(1, "\x00", "\x00"),
		repeated(0xec, "\xff", "\x7f"), repeated(0xed, "\xff", "\x7f"), repeated(0xee, "\xff", "\x7f"),
		"\x26\xe8\x95\x8f\xc2\xb2\x27\xb0\x45\xc3\xf4\x89\xf2\xef\x98\xf0\xd5\xdf\xac\x05\xd3\xc6\x33\x39\xb1\x38\x02\x88\x6d\x53\xfc\x05",
		"\xc7\x17\x6a\x70\x3d\x4d\xd8\x4f\xba\x3c\x0b\x76\x0d\x10\x67\x0f\x2a\x20\x53\xfa\x2c\x39\xcc\xc6\x4e\xc7\xfd\x77\x92\xac\x03\x7a",
	}
}

// SignedText returns the bytes that a signature on the decision covers: DecisionContext, followed by the decision's canonical JSON
// (RFC 8785) without signature and without the fields that are empty, 0 or false. Whether a sender writes unused fields therefore
// makes no difference.
func SignedText(d Decision) ([]byte, error) {
	d.Signature = ""
	plain, err := json.Marshal(d, json.OmitZeroStructFields(true))
	if err != nil {
		return nil, errors.New("decision: its texts are not all valid UTF-8")
	}
	canonical, err := Canonical(plain)
	if err != nil {
		return nil, err
	}
	return append([]byte(DecisionContext), canonical...), nil
}

// SignedBy reports whether the private half of the key made the signature on the decision. It does not check that the key may sign
// for DecidedBy.
func (d Decision) SignedBy(key DecisionKey) bool {
	public, err := key.Key()
	if err != nil {
		return false
	}
	signature, err := unpadded.DecodeString(d.Signature)
	if err != nil || len(signature) != ed25519.SignatureSize {
		return false
	}
	text, err := SignedText(d)
	return err == nil && ed25519.Verify(public, text, signature)
}

func bounded(text string) string {
	if len(text) <= maxPlaceBytes {
		return text
	}
	return strings.ToValidUTF8(text[:maxPlaceBytes], "") + "..."
}
