package operation

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jobwait/jobwait/wire"
)

// maxRefusedInARow is how many refused decisions stand singly in the audit between two other entries of a wait whose
// decisions are signed; the rest are counted. Whoever may not decide shall not be able to fill it either.
const maxRefusedInARow = 10

// signed reports whether decisions must be signed.
func (o *Operation) signed() bool { return len(o.rec.DecisionKeys) > 0 }

// keysWanted reports whether a question is open for which the trusted keys were not recorded yet.
func (o *Operation) keysWanted() bool {
	open := o.Question()
	return o.signed() && open != nil && o.rec.KeysFor != open.ID
}

// keysUnrecorded refuses an answer that comes in the moment in which its question opens: ids can be told beforehand, and the
// keys that were recorded before may have been removed since.
const keysUnrecorded = "the question opens in this moment, and the keys that are trusted for it are not recorded yet"

// KeysLearned records the keys that are trusted from now on. No keys means that they could not be read: those recorded before
// stay, for a wait that asks for signatures never ceases to.
func (o *Operation) KeysLearned(keys []wire.DecisionKey) {
	if open := o.Question(); open != nil {
		o.rec.KeysFor = open.ID
	}
	if len(keys) > 0 {
		o.rec.DecisionKeys = keys
	}
}

// refuseUnsigned looks for a signature that counts: made by a trusted key, over this very decision, by whom the key signs
// for. The cheap questions come first.
func (o *Operation) refuseUnsigned(d wire.Decision) *wire.Refusal {
	if !o.signed() {
		return nil
	}
	if d.Signature == "" {
		return notSigned("signature is missing, this wait takes signed decisions only; keys are %s", o.keysText())
	}
	i := slices.IndexFunc(o.rec.DecisionKeys, func(key wire.DecisionKey) bool { return key.KeyID == d.KeyID })
	if i < 0 {
		return notSigned("key_id %q is not trusted; keys are %s", bounded(d.KeyID, wire.MaxIDChars), o.keysText())
	}
	key := o.rec.DecisionKeys[i]
	if key.DecidedBy != wire.AnyIdentity && key.DecidedBy != d.DecidedBy {
		return notSigned("key %q signs for %q, decided_by is %q", key.KeyID, key.DecidedBy, bounded(d.DecidedBy, wire.MaxIDChars))
	}
	if !d.SignedBy(key) {
		return notSigned("the signature is not that of key %q on this decision", key.KeyID)
	}
	return nil
}

func notSigned(format string, values ...any) *wire.Refusal {
	return &wire.Refusal{Reason: wire.RefusalNotSigned, Detail: fmt.Sprintf(format, values...)}
}

// maxShownKeys is how many keys a refusal names.
const maxShownKeys = 8

func (o *Operation) keyIDs() []string {
	ids := make([]string, 0, len(o.rec.DecisionKeys))
	for _, key := range o.rec.DecisionKeys {
		ids = append(ids, key.KeyID)
	}
	return ids
}

// keysText names the trusted keys, as many as a refusal holds.
func (o *Operation) keysText() string {
	ids := o.keyIDs()
	text := fmt.Sprintf("%q", ids[:min(len(ids), maxShownKeys)])
	if more := len(ids) - maxShownKeys; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// waitID stands for the wait itself, between its questions. A signed cancel while polling names it: without a name the
// signature would be as good for any other wait.
func (o *Operation) waitID() string {
	return o.openingID("", 0)
}

// cancelsPolling reports whether a decision is a cancel that answers no question.
func (o *Operation) cancelsPolling(d wire.Decision) bool {
	if o.signed() {
		return d.Kind == wire.DecisionCancel && d.EscalationID == o.waitID()
	}
	return d.Kind == wire.DecisionCancel && d.EscalationID == ""
}

// noteRefused writes a refusal down, or counts it where many stand in a row.
func (o *Operation) noteRefused(entry wire.Entry, refusal wire.Refusal) {
	if !o.signed() {
		o.note(entry)
		return
	}
	if o.rec.RefusedInARow < maxRefusedInARow {
		o.note(entry)
	}
	o.rec.RefusedInARow++
	o.rec.LastRefusal = refusal.Reason
}

// noteRow ends a row of refusals before an entry of another kind, with one that says how many were only counted.
func (o *Operation) noteRow(at time.Time) {
	more := o.rec.RefusedInARow - maxRefusedInARow
	o.rec.RefusedInARow = 0
	if more > 0 {
		o.note(wire.Entry{
			At: at, Event: wire.EventDecisionRefused, Reason: string(o.rec.LastRefusal), Detail: "the last of " + strconv.Itoa(more) + " more in a row",
		})
	}
	o.rec.LastRefusal = ""
}

// signingView is what is needed to sign a decision.
func (o *Operation) signingView() *wire.SigningView {
	if !o.signed() {
		return nil
	}
	return &wire.SigningView{KeyIDs: o.keyIDs(), WaitID: o.waitID()}
}
