package operation_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// testKey is the private key of a name, always the same.
func testKey(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(name))
	return ed25519.NewKeyFromSeed(seed[:])
}

// keysOf are the keys of a script's line: "ana=ana@example.com inbox=*".
func keysOf(l line) []wire.DecisionKey { return trusting(l.values) }

func trusting(identities map[string]string) []wire.DecisionKey {
	var keys []wire.DecisionKey
	for _, name := range slices.Sorted(maps.Keys(identities)) {
		public := testKey(name).Public().(ed25519.PublicKey)
		keys = append(keys, wire.DecisionKey{
			KeyID: name, PublicKey: base64.RawURLEncoding.EncodeToString(public), DecidedBy: identities[name],
		})
	}
	return keys
}

// sign puts a signature on the fields of a decision, as its sender would.
func sign(t require.TestingT, fields map[string]any, plain wire.DecisionKind, name string) {
	fields["key_id"] = name
	data, err := json.Marshal(fields)
	require.NoError(t, err)
	d, err := wire.DecodeDecision(data)
	require.NoError(t, err)
	if plain != "" {
		d.Kind = plain
	}
	text, err := wire.SignedText(d)
	require.NoError(t, err)
	fields["signature"] = base64.RawURLEncoding.EncodeToString(ed25519.Sign(testKey(name), text))
}

// askedForSignature is a wait of signed decisions that stopped in an unknown state, its keys recorded.
func askedForSignature(t require.TestingT, changes ...func(*wire.Spec)) (*operation.Operation, time.Time) {
	snapshot := prepared(t, specWith(changes...), operation.Knowledge{Table: cancelTable()})
	snapshot.DecisionKeys = trusting(map[string]string{"ana": "ana@example.com", "inbox": "*"})
	op := operation.Open(snapshot, firstRun, start, start)
	now := polled(t, op, result(read("archiving")))
	require.IsType(t, operation.LearnKeys{}, op.Next(now), "the keys are recorded before anything else happens")
	op.KeysLearned(snapshot.DecisionKeys)
	return op, now
}

// signedAnswer is a signed decision on the open question; changed are fields that are changed afterwards.
func signedAnswer(t require.TestingT, op *operation.Operation, name string, kind wire.DecisionKind, fields, changed map[string]any) []byte {
	var complete map[string]any
	require.NoError(t, json.Unmarshal(answer(op, kind, fields), &complete))
	sign(t, complete, "", name)
	maps.Copy(complete, changed)
	data, err := json.Marshal(complete)
	require.NoError(t, err)
	return data
}

// TestSignedDecisions: a decision counts only with the signature of a trusted key over this very decision, in the name of
// whom the key signs for; every other is not_signed, whatever else is wrong with it (R53).
func TestSignedDecisions(t *testing.T) {
	t.Parallel()
	extension := map[string]any{"seconds": 900, "status_requests": 4}
	for name, c := range map[string]struct {
		key             string
		fields, changed map[string]any
		want            string // empty: applied
	}{
		"by its own key":       {key: "ana", fields: extension},
		"by a service's key":   {key: "inbox", fields: extension},
		"unused fields spelt":  {key: "ana", fields: extension, changed: map[string]any{"rate_limited": 0, "raw_state": "", "past_business_deadline": false}},
		"no signature":         {key: "ana", changed: map[string]any{"signature": ""}, want: `signature is missing, this wait takes signed decisions only; keys are ["ana" "inbox"]`},
		"no key":               {key: "ana", changed: map[string]any{"key_id": ""}, want: `key_id "" is not trusted; keys are ["ana" "inbox"]`},
		"a key nobody trusts":  {key: "mallory", want: `key_id "mallory" is not trusted; keys are ["ana" "inbox"]`},
		"another key's id":     {key: "mallory", changed: map[string]any{"key_id": "ana"}, want: `the signature is not that of key "ana" on this decision`},
		"a trusted key's id":   {key: "ana", changed: map[string]any{"key_id": "inbox"}, want: `the signature is not that of key "inbox" on this decision`},
		"in another name":      {key: "ana", fields: map[string]any{"decided_by": "ben@example.com"}, want: `key "ana" signs for "ana@example.com", decided_by is "ben@example.com"`},
		"a name changed":       {key: "inbox", changed: map[string]any{"decided_by": "ben@example.com"}, want: `the signature is not that of key "inbox" on this decision`},
		"a number changed":     {key: "ana", fields: extension, changed: map[string]any{"seconds": 901}, want: `the signature is not that of key "ana" on this decision`},
		"the kind changed":     {key: "ana", changed: map[string]any{"kind": "cancel"}, want: `the signature is not that of key "ana" on this decision`},
		"the comment changed":  {key: "ana", changed: map[string]any{"comment": "looked at the console."}, want: `the signature is not that of key "ana" on this decision`},
		"the id changed":       {key: "ana", changed: map[string]any{"decision_id": "d-2"}, want: `the signature is not that of key "ana" on this decision`},
		"padded":               {key: "ana", changed: map[string]any{"signature": strings.Repeat("A", 86) + "=="}, want: `the signature is not that of key "ana" on this decision`},
		"of another length":    {key: "ana", changed: map[string]any{"signature": "AAAA"}, want: `the signature is not that of key "ana" on this decision`},
		"before other reasons": {key: "mallory", fields: map[string]any{"seconds": -1, "escalation_id": "x#1"}, want: `key_id "mallory" is not trusted; keys are ["ana" "inbox"]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op, now := askedForSignature(t)
			_, refusal := op.Decide(now, signedAnswer(t, op, c.key, wire.DecisionExtend, c.fields, c.changed), "")
			if c.want == "" {
				require.Nil(t, refusal)
				require.Nil(t, op.Escalation())
				return
			}
			require.Equal(t, &wire.Refusal{Reason: wire.RefusalNotSigned, Detail: c.want}, refusal)
			require.NotNil(t, op.Escalation())
		})
	}
}

// TestSignatureIsOfOneQuestion: a decision that was signed for one question is worth nothing for the next one, not even
// with its id changed, and the same signed again is a duplicate (R40, R53).
func TestSignatureIsOfOneQuestion(t *testing.T) {
	t.Parallel()
	op, now := askedForSignature(t, func(s *wire.Spec) { s.Escalation.MaxExtensions = new(3) })
	first := signedAnswer(t, op, "ana", wire.DecisionExtend, map[string]any{"status_requests": 1}, nil)
	_, refusal := op.Decide(now, first, "")
	require.Nil(t, refusal)
	next(op, now)
	now = polled(t, op, result(read("archiving")))
	op.KeysLearned(nil)

	_, refusal = op.Decide(now, first, "")
	require.Equal(t, wire.RefusalDuplicate, refusal.Reason)
	again := decoded(t, first)
	again.EscalationID, again.DecisionID = op.Escalation().ID, "d-2"
	_, refusal = op.Decide(now, encoded(t, again), "")
	require.Equal(t, wire.RefusalNotSigned, refusal.Reason)

	// Of the same content by another key, and not signed at all.
	other := decoded(t, first)
	other.Signature = ""
	fields := map[string]any{}
	require.NoError(t, json.Unmarshal(encoded(t, other), &fields))
	sign(t, fields, "", "inbox")
	payload, err := json.Marshal(fields)
	require.NoError(t, err)
	_, refusal = op.Decide(now, payload, "")
	require.Equal(t, wire.RefusalDuplicate, refusal.Reason, "who signs is no content")
}

func decoded(t *testing.T, payload []byte) wire.Decision {
	t.Helper()
	d, err := wire.DecodeDecision(payload)
	require.NoError(t, err)
	return d
}

func encoded(t *testing.T, d wire.Decision) []byte {
	t.Helper()
	payload, err := json.Marshal(d)
	require.NoError(t, err)
	return payload
}

// TestPlainSignalsAreSignedWithTheirKind: what extend and cancel leave out is signed all the same, so that the one is no
// signature for the other (R40, R53).
func TestPlainSignalsAreSignedWithTheirKind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		signed, sent wire.DecisionKind
		want         wire.RefusalReason
	}{
		{wire.DecisionCancel, wire.DecisionCancel, ""},
		{wire.DecisionExtend, wire.DecisionCancel, wire.RefusalNotSigned},
		{"", wire.DecisionCancel, wire.RefusalNotSigned},
	} {
		op, now := askedForSignature(t)
		fields := map[string]any{
			"decision_id": "d-1", "decided_by": "ana@example.com", "comment": "c", "escalation_id": op.Escalation().ID,
		}
		sign(t, fields, c.signed, "ana")
		payload, err := json.Marshal(fields)
		require.NoError(t, err)
		_, refusal := op.Decide(now, payload, c.sent)
		if c.want == "" {
			require.Nil(t, refusal)
			require.Equal(t, wire.PhaseCancelling, op.Phase())
			continue
		}
		require.Equal(t, c.want, refusal.Reason)
	}
}

// TestSignedCancelWhilePolling names the wait: signed without a name it would be as good for any other (R43, R53).
func TestSignedCancelWhilePolling(t *testing.T) {
	t.Parallel()
	begun := func(operationID string) (*operation.Operation, time.Time) {
		snapshot := prepared(t, specWith(func(s *wire.Spec) { s.OperationID = operationID }), operation.Knowledge{Table: cancelTable()})
		snapshot.DecisionKeys = trusting(map[string]string{"ana": "ana@example.com"})
		op := operation.Open(snapshot, firstRun, start, start)
		return op, polled(t, op, result(read("running")))
	}
	op, now := begun("export-1")
	signing := op.View(now).Signing
	require.Equal(t, &wire.SigningView{KeyIDs: []string{"ana"}, WaitID: "export-1#0-00000001"}, signing)

	_, refusal := op.Decide(now, signedAnswer(t, op, "ana", wire.DecisionCancel, map[string]any{"escalation_id": ""}, nil), "")
	require.Equal(t, &wire.Refusal{
		Reason: wire.RefusalIncomplete, Detail: `escalation_id is missing; a signed cancel while polling names the wait, "export-1#0-00000001"`,
	}, refusal)

	cancel := signedAnswer(t, op, "ana", wire.DecisionCancel, map[string]any{"escalation_id": signing.WaitID}, nil)
	other, _ := begun("export-2")
	_, refusal = other.Decide(now, cancel, "")
	require.Equal(t, wire.RefusalNotOpen, refusal.Reason, "signed for another wait")
	require.Equal(t, wire.PhasePolling, other.Phase())

	_, refusal = op.Decide(now, cancel, "")
	require.Nil(t, refusal)
	require.Equal(t, wire.PhaseCancelling, op.Phase())
}

// TestNoKeysLearned: a wait of signed decisions stays one, whatever the worker is told later (R28, R53).
func TestNoKeysLearned(t *testing.T) {
	t.Parallel()
	op, now := askedForSignature(t)
	op.KeysLearned(nil)
	_, refusal := op.Decide(now, answer(op, wire.DecisionClose, nil), "")
	require.Equal(t, wire.RefusalNotSigned, refusal.Reason)
	require.Equal(t, []string{"ana", "inbox"}, op.View(now).Signing.KeyIDs)
}

// TestWithoutKeysASignatureIsNotLookedAt: a page that signs all it sends may ask a worker that wants no signatures (R53).
func TestWithoutKeysASignatureIsNotLookedAt(t *testing.T) {
	t.Parallel()
	op, now := unknown(t)
	require.Nil(t, op.View(now).Signing)
	_, refusal := op.Decide(now, answer(op, wire.DecisionClose, map[string]any{"key_id": "x", "signature": strings.Repeat("x", 257)}), "")
	require.Equal(t, &wire.Refusal{
		Reason: wire.RefusalOutOfBounds, Detail: "signature has 257 characters, at most 256 are allowed",
	}, refusal)
	_, refusal = op.Decide(now, answer(op, wire.DecisionClose, map[string]any{"key_id": "x", "signature": "x"}), "")
	require.Nil(t, refusal)
}

// TestFloodOfRefusalsIsBounded: whoever may not decide cannot fill the audit either; the count of what is not written down
// stands in the next entry, and the chain holds over a new run (R40, R49, R53).
func TestFloodOfRefusalsIsBounded(t *testing.T) {
	t.Parallel()
	for name, payload := range map[string]func(*operation.Operation) []byte{
		"unsigned":   func(op *operation.Operation) []byte { return answer(op, wire.DecisionClose, nil) },
		"unparsable": func(*operation.Operation) []byte { return []byte("close, please") },
		"replayed": func(op *operation.Operation) []byte {
			return signedAnswer(t, op, "ana", wire.DecisionClose, map[string]any{"escalation_id": "another#1-00000001"}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op, now := askedForSignature(t)
			before, sent := op.Record().AuditSeq, payload(op)
			for range 1000 {
				_, refusal := op.Decide(now, sent, "")
				require.NotNil(t, refusal)
			}
			require.Equal(t, before+10, op.Record().AuditSeq)
			head, carried := op.Record().AuditHead, operation.Resume(overJSON(t, op.Record()))
			_, refusal := carried.Decide(now, signedAnswer(t, op, "ana", wire.DecisionClose, map[string]any{"decision_id": "d-9"}, nil), "")
			require.Nil(t, refusal)
			entries := carried.Audit().Entries
			require.Zero(t, operation.VerifyChain(head, entries))
			require.Equal(t, wire.EventDecisionRefused, entries[0].Event)
			require.Equal(t, "the last of 990 more in a row", entries[0].Detail)
			require.Equal(t, wire.EventDecisionApplied, entries[1].Event)
			require.Zero(t, carried.Record().RefusedInARow)
		})
	}
}

// TestMessageSaysThatAnAnswerIsSigned (R38, R53).
func TestMessageSaysThatAnAnswerIsSigned(t *testing.T) {
	t.Parallel()
	op, now := askedForSignature(t)
	require.Contains(t, op.EscalationView(now).Message, fmt.Sprintf("answer, signed by a trusted key, %s before", op.Escalation().ID))
	told := op.Next(now).(operation.Notify).Request.Notification
	require.True(t, told.Briefing.Signed)
}

// TestAQuestionIsAnsweredUnderItsOwnKeys: the id of a proposal can be told beforehand, so an answer to it may come in the
// very moment in which it opens. The keys recorded before say nothing about it: one of them may have been removed (R42, R53).
func TestAQuestionIsAnsweredUnderItsOwnKeys(t *testing.T) {
	t.Parallel()
	snapshot := prepared(t, specWith(), operation.Knowledge{Table: cancelTable()})
	snapshot.DecisionKeys = trusting(map[string]string{"ana": "ana@example.com"})
	op := operation.Open(snapshot, firstRun, start, start)
	now := polled(t, op, result(read("running")))
	_, refused := op.RequestExtension(now, wanted(t))
	require.Nil(t, refused)
	grant := signedAnswer(t, op, "ana", wire.DecisionExtend, map[string]any{"seconds": 3600, "escalation_id": op.Question().ID}, nil)

	_, refusal := op.Decide(now, grant, "")
	require.Equal(t, &wire.Refusal{
		Reason: wire.RefusalNotOpen, Detail: "the question opens in this moment, and the keys that are trusted for it are not recorded yet",
	}, refusal)
	require.IsType(t, operation.LearnKeys{}, op.Next(now))
	op.KeysLearned(trusting(map[string]string{"ben": "ben@example.com"}))
	_, refusal = op.Decide(now, grant, "")
	require.Equal(t, wire.RefusalNotSigned, refusal.Reason)
}
