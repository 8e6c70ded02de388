package check

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"

	"github.com/jobwait/jobwait/wire"
)

// signedRightly: where decisions must be signed, each that was applied has the signature of a trusted key, in the name that the
// key signs for. So what came unsigned, whichever way it came, was refused.
func (c *checker) signedRightly() {
	if len(c.Keys) == 0 {
		return
	}
	for _, a := range c.applied {
		if !slices.ContainsFunc(c.Keys, func(key wire.DecisionKey) bool { return signedBy(a.decision, key) }) {
			c.say(RuleSigned, "decision %q was applied without the signature of a trusted key", a.decision.DecisionID)
		}
	}
}

func signedBy(d wire.Decision, key wire.DecisionKey) bool {
	public, err := base64.RawURLEncoding.DecodeString(key.PublicKey)
	signature, bad := base64.RawURLEncoding.DecodeString(d.Signature)
	text, unwritten := signedText(d)
	mine := d.KeyID == key.KeyID && d.DecidedBy == key.DecidedBy
	return mine && err == nil && bad == nil && unwritten == nil &&
		len(public) == ed25519.PublicKeySize && ed25519.Verify(public, []byte(text), signature)
}

// signedText is the text that is signed of a decision, as the documentation has it: a line that says what it is, and the canonical
// form without the signature and without what is empty, 0 or false.
func signedText(d wire.Decision) (string, error) {
	d.Signature = ""
	plain, err := json.Marshal(d)
	if err != nil {
		return "", err
	}
	decoder := json.NewDecoder(bytes.NewReader(plain))
	decoder.UseNumber()
	var fields map[string]any
	if err := decoder.Decode(&fields); err != nil {
		return "", err
	}
	maps.DeleteFunc(fields, func(_ string, value any) bool { return value == "" || value == false || value == json.Number("0") })
	text, err := canonicalObject(fields)
	return "jobwait decision v1\n" + text, err
}
