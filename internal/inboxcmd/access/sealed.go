package access

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
)

// sealer keeps what a browser carries for the server secret and unchanged, with a key of this process.
type sealer struct{ box cipher.AEAD }

func newSealer() (sealer, error) {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	block, err := aes.NewCipher(key)
	if err != nil {
		return sealer{}, err
	}
	box, err := cipher.NewGCMWithRandomNonce(block)
	return sealer{box}, err
}

// seal hides a value; what it is for has to be named again to open it.
func (s sealer) seal(value any, purpose string) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.box.Seal(nil, nil, text, []byte(purpose))), nil
}

var errNotSealed = errors.New("not sealed by this server")

func (s sealer) open(sealed, purpose string, into any) error {
	data, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return errNotSealed
	}
	text, err := s.box.Open(nil, nil, data, []byte(purpose))
	if err != nil {
		return errNotSealed
	}
	return json.Unmarshal(text, into)
}
