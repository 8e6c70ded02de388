package activities

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.temporal.io/sdk/temporal"

	"github.com/jobwait/jobwait/internal/yamlfile"
	"github.com/jobwait/jobwait/wire"
)

// DecisionKeySource returns the public keys that are trusted to sign decisions. It is asked when a wait begins and whenever a
// question to people is opened, so that rotating a key needs no restart. Its errors are kept in history and in logs.
type DecisionKeySource interface {
	// DecisionKeys returns the keys that are trusted now: 1 to wire.MaxDecisionKeys, with distinct ids.
	DecisionKeys(ctx context.Context) ([]wire.DecisionKey, error)
}

// DecisionKeysFile is a DecisionKeySource that reads a YAML file whenever it is asked:
//
//	keys:
//	  ana-2026:
//	    public_key: 11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo   # Ed25519, base64url without padding
//	    decided_by: ana@example.com                               # the identity that the key signs for
//	  inbox-2026:
//	    public_key: PUAXw-hDiVqStwqnTRt-vJyYLM8uxJaMwM1V8Sr0Zgw
//	    decided_by: "*"                                           # any: a service that knows who its people are
//
// Unknown fields are errors, and so is a file without keys, with which nobody could decide.
type DecisionKeysFile string

type decisionKeysDocument struct {
	Keys map[string]struct {
		PublicKey string `yaml:"public_key"`
		DecidedBy string `yaml:"decided_by"`
	} `yaml:"keys"`
}

// DecisionKeys reads the file.
func (f DecisionKeysFile) DecisionKeys(context.Context) ([]wire.DecisionKey, error) {
	var document decisionKeysDocument
	if err := yamlfile.Read("decision keys", string(f), &document); err != nil {
		return nil, err
	}
	var keys []wire.DecisionKey
	for _, id := range slices.Sorted(maps.Keys(document.Keys)) {
		entry := document.Keys[id]
		keys = append(keys, wire.DecisionKey{KeyID: id, PublicKey: entry.PublicKey, DecidedBy: entry.DecidedBy})
	}
	return keys, checkDecisionKeys(keys)
}

// Validate reads the file and reports the first entry that breaks a rule.
func (f DecisionKeysFile) Validate() error {
	_, err := f.DecisionKeys(context.Background())
	return err
}

// checkDecisionKeys holds any source to the rules of the file.
func checkDecisionKeys(keys []wire.DecisionKey) error {
	if len(keys) == 0 {
		return errors.New("decision keys: there is none, so that nobody could decide; leave the keys out where decisions need no signature")
	}
	if len(keys) > wire.MaxDecisionKeys {
		return fmt.Errorf("decision keys: there are %d, at most %d are allowed", len(keys), wire.MaxDecisionKeys)
	}
	known := map[string]bool{}
	for _, key := range keys {
		if err := key.Validate(); err != nil {
			return fmt.Errorf("decision keys: %q: %w", key.KeyID, err)
		}
		if known[key.KeyID] {
			return fmt.Errorf("decision keys: %q is listed twice", key.KeyID)
		}
		known[key.KeyID] = true
	}
	return nil
}

// trusted are the keys of this worker, nil where decisions need no signature.
func (a *Activities) trusted(ctx context.Context) ([]wire.DecisionKey, error) {
	if a.decisionKeys == nil {
		return nil, nil
	}
	keys, err := a.decisionKeys.DecisionKeys(ctx)
	if err == nil {
		err = checkDecisionKeys(keys)
	}
	if err != nil {
		return nil, withoutURL(err)
	}
	return keys, nil
}

// TrustedKeys returns the keys that are trusted now. It runs as a local activity when a question is opened.
func (a *Activities) TrustedKeys(ctx context.Context) (wire.TrustedKeys, error) {
	keys, err := a.trusted(ctx)
	if err == nil && len(keys) == 0 {
		err = temporal.NewNonRetryableApplicationError("decision keys: this worker was started without any", "NoDecisionKeys", nil)
	}
	return wire.TrustedKeys{Keys: keys}, err
}
