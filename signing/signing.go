// Package signing makes the keys and the signatures of decisions.
//
// A worker that was given public keys (the file of worker --decision-keys, or jobwait.Options.DecisionKeys) takes signed
// decisions only. Whoever sends decisions, such as a page where people answer, holds a private key in a file and signs each
// decision just before it is sent:
//
//	key, err := signing.ReadFile("/run/secrets/decisions.key")
//	decision, err = key.Sign(decision)
//
// What is signed is wire.SignedText, and other languages can do the same: see docs/answering.md.
package signing

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/jobwait/jobwait/internal/yamlfile"
	"github.com/jobwait/jobwait/wire"
)

// PrivateKey signs decisions. It prints as its id; only File reveals the key itself. The zero value signs nothing.
type PrivateKey struct {
	id, decidedBy string
	key           func() ed25519.PrivateKey // a closure, because fmt and encoders look into fields and not into functions
}

// New makes a key from the system's source of random numbers. keyID is the name under which workers know it (1 to 64
// characters out of A-Z a-z 0-9 . _ -), decidedBy the identity that it signs for, or wire.AnyIdentity for a service that
// knows who its people are.
func New(keyID, decidedBy string) (PrivateKey, error) {
	seed := make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(seed) // never fails
	return fromSeed(keyID, decidedBy, seed)
}

func fromSeed(keyID, decidedBy string, seed []byte) (PrivateKey, error) {
	private := ed25519.NewKeyFromSeed(seed)
	key := PrivateKey{id: keyID, decidedBy: decidedBy, key: func() ed25519.PrivateKey { return private }}
	if err := key.Public().Validate(); err != nil {
		return PrivateKey{}, fmt.Errorf("decision key: %w", err)
	}
	return key, nil
}

var encoding = base64.RawURLEncoding.Strict()

// Public returns the public key, for the configuration of workers.
func (k PrivateKey) Public() wire.DecisionKey {
	public := wire.DecisionKey{KeyID: k.id, DecidedBy: k.decidedBy}
	if k.key != nil {
		public.PublicKey = encoding.EncodeToString(k.key().Public().(ed25519.PublicKey))
	}
	return public
}

// DecidedBy returns the identity that the key signs for, or wire.AnyIdentity.
func (k PrivateKey) DecidedBy() string { return k.decidedBy }

// Sign puts key_id and signature on a complete decision; a field that is changed afterwards makes the signature void. A
// decision in another name than the key signs for is an error here, as it would be refused by every worker. A cancel while
// polling needs the wait's id as its escalation_id: signing.wait_id of the query "operation".
func (k PrivateKey) Sign(d wire.Decision) (wire.Decision, error) {
	switch {
	case k.key == nil:
		return wire.Decision{}, errors.New("decision key: there is none; ReadFile reads one, New makes one")
	case k.decidedBy != wire.AnyIdentity && k.decidedBy != d.DecidedBy:
		return wire.Decision{}, fmt.Errorf("decision key %q signs for %q, decided_by is %q", k.id, k.decidedBy, d.DecidedBy)
	}
	d.KeyID = k.id
	text, err := wire.SignedText(d)
	if err != nil {
		return wire.Decision{}, err
	}
	d.Signature = encoding.EncodeToString(ed25519.Sign(k.key(), text))
	return d, nil
}

type document struct {
	KeyID      string `yaml:"key_id"`
	DecidedBy  string `yaml:"decided_by"`
	PrivateKey string `yaml:"private_key"`
}

// ReadFile reads a private key as File writes it. Its errors name the file and the rule, never the key.
func ReadFile(path string) (PrivateKey, error) {
	var read document
	if err := yamlfile.Read("decision key", path, &read); err != nil {
		return PrivateKey{}, err
	}
	seed, err := encoding.DecodeString(read.PrivateKey)
	if err != nil || len(seed) != ed25519.SeedSize {
		return PrivateKey{}, fmt.Errorf("decision key: %s: private_key is not %d bytes in base64url without padding", path, ed25519.SeedSize)
	}
	return fromSeed(read.KeyID, read.DecidedBy, seed)
}

// File returns the content of a key file, which contains the private key.
func (k PrivateKey) File() ([]byte, error) {
	if k.key == nil {
		return nil, errors.New("decision key: there is none; New makes one")
	}
	text := "# The private half of a decision key. Whoever reads it can decide in this name.\n" +
		fmt.Sprintf("key_id: %q\ndecided_by: %q\nprivate_key: %q\n", k.id, k.decidedBy, encoding.EncodeToString(k.key().Seed()))
	return []byte(text), nil
}

// WriteFile writes the key into a new file that only its owner may read. A file that is there already is an error.
func (k PrivateKey) WriteFile(path string) error {
	text, err := k.File()
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("decision key: %w", err)
	}
	if _, err := file.Write(text); err != nil {
		return errors.Join(err, file.Close())
	}
	return file.Close()
}

// String returns the key's id.
func (k PrivateKey) String() string { return "decision key " + k.id }

// GoString returns the key's id.
func (k PrivateKey) GoString() string { return k.String() }

// LogValue returns the key's id.
func (k PrivateKey) LogValue() slog.Value { return slog.StringValue(k.String()) }
