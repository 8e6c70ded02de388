package workflows_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/signing"
	"github.com/jobwait/jobwait/wire"
)

func newKey(t *testing.T, id, by string) signing.PrivateKey {
	t.Helper()
	key, err := signing.New(id, by)
	require.NoError(t, err)
	return key
}

func (w *world) signed(key signing.PrivateKey, decision wire.Decision) wire.Decision {
	w.t.Helper()
	signed, err := key.Sign(decision)
	require.NoError(w.t, err)
	return signed
}

// rotate replaces the trusted keys.
func (w *world) rotate(to signing.PrivateKey) {
	w.locked.Lock()
	defer w.locked.Unlock()
	w.keys = []wire.DecisionKey{to.Public()}
}

// timesAsked is how often the trusted keys were asked for.
func (w *world) timesAsked() int {
	w.locked.Lock()
	defer w.locked.Unlock()
	return w.askedKeys
}

// refusals are the reasons of all refused decisions, in order.
func (w *world) refusals() []string {
	w.t.Helper()
	var reasons []string
	for _, entry := range w.audit().Entries {
		if entry.Event == wire.EventDecisionRefused {
			reasons = append(reasons, entry.Reason)
		}
	}
	return reasons
}

// R53: in a wait of signed decisions no way in is open to one without a signature that counts: not the update, not the raw
// signals. The keys are asked for once, when the question opens.
func TestUnsignedDecisionsByEveryWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, unknownOnce)
	ana, mallory := newKey(t, "ana", "ana@example.com"), newKey(t, "ana", "ana@example.com")
	w.keys = []wire.DecisionKey{ana.Public()}
	var got []*answer
	w.RegisterDelayedCallback(func() {
		plain := w.openDecision("d-1", extend(900, 4))
		withoutKind := plain
		withoutKind.Kind = ""
		w.SignalWorkflow(wire.SignalDecide, plain)
		w.SignalWorkflow(wire.SignalExtend, withoutKind)
		w.SignalWorkflow(wire.SignalCancel, withoutKind)
		w.SignalWorkflow(wire.SignalDecide, w.signed(mallory, plain))
		got = append(got, w.decide(plain), w.decide(w.signed(mallory, plain)))
	}, time.Minute)
	w.RegisterDelayedCallback(func() {
		got = append(got, w.decide(w.signed(ana, w.openDecision("d-1", extend(900, 4)))))
	}, 2*time.Minute)
	require.Equal(t, wire.StatusSucceeded, w.run(spec()).Status)
	for _, refused := range got[:2] {
		require.Equal(t, wire.RefusalNotSigned, refusalOf(t, refused.err).Reason)
	}
	require.NoError(t, got[2].err)
	require.Len(t, w.refusals(), 6)
	require.NotContains(t, w.refusals(), string(wire.RefusalDuplicate))
	require.Subset(t, []string{"not_signed"}, w.refusals())
	require.Equal(t, 1, w.timesAsked())
}

// R53: a key that is added counts from the next question on, one that was removed no longer does.
func TestKeysRotateBetweenQuestions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(n int, _ wire.PollRequest) (wire.PollResult, error) {
		if n <= 2 {
			return state("paused", wire.CategoryUnknown)
		}
		return succeeded()
	})
	old, fresh := newKey(t, "ana-1", "ana@example.com"), newKey(t, "ana-2", "ana@example.com")
	w.keys = []wire.DecisionKey{old.Public()}
	var first, second, third *answer
	w.RegisterDelayedCallback(func() {
		w.rotate(fresh)
		first = w.decide(w.signed(old, w.openDecision("d-1", extend(900, 4))))
	}, time.Minute)
	w.RegisterDelayedCallback(func() {
		second = w.decide(w.signed(old, w.openDecision("d-2", extend(900, 4))))
		third = w.decide(w.signed(fresh, w.openDecision("d-3", extend(900, 4))))
	}, 2*time.Minute)
	patient := spec()
	patient.Escalation.MaxExtensions = new(2)
	require.Equal(t, wire.StatusSucceeded, w.run(patient).Status)
	require.NoError(t, first.err)
	require.Equal(t, wire.RefusalNotSigned, refusalOf(t, second.err).Reason)
	require.NoError(t, third.err)
	require.Equal(t, 2, w.timesAsked())
}

// R53: where the keys cannot be read, those that were recorded before hold, and the question is asked all the same.
func TestKeysThatCannotBeReadLeaveTheLastOnes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, unknownOnce)
	ana := newKey(t, "ana", "ana@example.com")
	w.keys, w.unreadable = []wire.DecisionKey{ana.Public()}, errors.New("keys.yaml: no such file")
	var unsigned, signed *answer
	w.RegisterDelayedCallback(func() {
		unsigned = w.decide(w.openDecision("d-1", extend(900, 4)))
		signed = w.decide(w.signed(ana, w.openDecision("d-2", extend(900, 4))))
	}, time.Minute)
	require.Equal(t, wire.StatusSucceeded, w.run(spec()).Status)
	require.Equal(t, wire.RefusalNotSigned, refusalOf(t, unsigned.err).Reason)
	require.NoError(t, signed.err)
	require.Greater(t, w.timesAsked(), 1, "it is tried again")
}

// R53: without keys nothing is asked for, and nothing changes.
func TestUnsignedWaitAsksForNoKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t, unknownOnce)
	w.RegisterDelayedCallback(func() { w.decide(w.openDecision("d-1", extend(900, 4))) }, time.Minute)
	require.Equal(t, wire.StatusSucceeded, w.run(spec()).Status)
	require.Zero(t, w.timesAsked())
}
