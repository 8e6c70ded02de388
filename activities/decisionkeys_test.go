package activities

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

const (
	anasKey = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
	bensKey = "PUAXw-hDiVqStwqnTRt-vJyYLM8uxJaMwM1V8Sr0Zgw"
)

func keysFile(t *testing.T) string {
	t.Helper()
	return write(t, "keys.yaml", "keys: {inbox: {public_key: "+bensKey+`, decided_by: "*"}, ana: {public_key: `+anasKey+", decided_by: ana@example.com}}")
}

// R53, R28: prepare records which keys are trusted, in an order that does not depend on the file's; without any, nothing.
func TestPrepareRecordsTheDecisionKeys(t *testing.T) {
	t.Parallel()
	p := newPreparation(t)
	prepared, err := p.prepare()
	require.NoError(t, err)
	require.Nil(t, prepared.DecisionKeys)

	path := keysFile(t)
	p.options.DecisionKeys = DecisionKeysFile(path)
	prepared, err = p.prepare()
	require.NoError(t, err)
	want := []wire.DecisionKey{
		{KeyID: "ana", PublicKey: anasKey, DecidedBy: "ana@example.com"}, {KeyID: "inbox", PublicKey: bensKey, DecidedBy: "*"},
	}
	require.Equal(t, want, prepared.DecisionKeys)
	var trusted wire.TrustedKeys
	require.NoError(t, p.trusted(&trusted))
	require.Equal(t, want, trusted.Keys)

	// A rotation needs no restart.
	write(t, path, "keys: {ben: {public_key: "+bensKey+", decided_by: ben@example.com}}")
	require.NoError(t, p.trusted(&trusted))
	require.Equal(t, "ben", trusted.Keys[0].KeyID)
}

// trusted asks the activity that runs when a question is opened.
func (w *world) trusted(into *wire.TrustedKeys) error {
	w.t.Helper()
	*into = wire.TrustedKeys{}
	return w.run(wire.ActivityTrustedKeys, nil, into)
}

// R53: no wait begins without the keys that it was to have, and a worker that lost them says so. Neither is the spec's fault.
func TestKeysThatCannotBeRead(t *testing.T) {
	t.Parallel()
	p := newPreparation(t)
	p.spec["deadline_at"] = time.Now().Add(time.Hour)
	p.options.DecisionKeys = brokenKeys{}
	_, err := p.prepare()
	require.ErrorContains(t, err, "vault: kv/keys cannot be read")
	require.NotContains(t, err.Error(), wire.ErrorInvalidSpec)

	w := newWorld(t, nil)
	require.ErrorContains(t, w.trusted(&wire.TrustedKeys{}), "decision keys: this worker was started without any")
}

type brokenKeys struct{}

func (brokenKeys) DecisionKeys(context.Context) ([]wire.DecisionKey, error) {
	return nil, errors.New("vault: kv/keys cannot be read")
}

// R53: a fault in the file is named by entry and rule, and stops the worker and no wait.
func TestDecisionKeysFileRefuses(t *testing.T) {
	t.Parallel()
	entry := "{public_key: " + anasKey + ", decided_by: ana}"
	many := "keys: {"
	for i := range wire.MaxDecisionKeys + 1 {
		many += fmt.Sprintf("k%d: %s, ", i, entry)
	}
	for text, want := range map[string]string{
		"":                       "the file is empty",
		"{}":                     "there is none, so that nobody could decide",
		"keys: {}":               "there is none, so that nobody could decide",
		"key: {}":                "line 1: a field that is not known",
		"keys: {a: {public: x}}": "line 1: a field that is not known",
		"keys: {a: " + entry + ", a: " + entry + "}":                                "line 1",
		"keys: {a b: " + entry + "}":                                                `"a b": key id "a b" is not 1 to 64 characters`,
		"keys: {a: {decided_by: ana}}":                                              `"a": public_key is not 32 bytes`,
		"keys: {a: {public_key: " + anasKey + "}}":                                  `"a": decided_by is missing: the identity that the key signs for, or "*"`,
		"keys: {a: {public_key: " + strings.Repeat("A", 43) + ", decided_by: ana}}": `"a": public_key is a point for which anybody can make signatures`,
		many + "}": "there are 101, at most 100 are allowed",
	} {
		err := Options{Tables: newWorld(t, nil).options.Tables, DecisionKeys: DecisionKeysFile(write(t, "keys.yaml", text))}.Validate()
		require.ErrorContains(t, err, want, text)
	}
	_, err := New(Options{Tables: newWorld(t, nil).options.Tables, DecisionKeys: DecisionKeysFile("nowhere.yaml")})
	require.EqualError(t, err, "decision keys: open nowhere.yaml: no such file or directory")
	require.ErrorContains(t, checkDecisionKeys([]wire.DecisionKey{
		{KeyID: "a", PublicKey: anasKey, DecidedBy: "*"}, {KeyID: "a", PublicKey: bensKey, DecidedBy: "*"},
	}), `"a" is listed twice`)
}
