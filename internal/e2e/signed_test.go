package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"

	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/signing"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// trust writes a file of decision keys over the one before.
func trust(t *testing.T, path string, keys ...signing.PrivateKey) {
	t.Helper()
	text := "keys:\n"
	for _, key := range keys {
		public := key.Public()
		text += fmt.Sprintf("  %s: {public_key: %q, decided_by: %q}\n", public.KeyID, public.PublicKey, public.DecidedBy)
	}
	fresh := path + ".new"
	require.NoError(t, os.WriteFile(fresh, []byte(text), 0o600))
	require.NoError(t, os.Rename(fresh, path))
}

func newKey(t *testing.T, id, by string) signing.PrivateKey {
	t.Helper()
	key, err := signing.New(id, by)
	require.NoError(t, err)
	return key
}

func (w *wait) sign(key signing.PrivateKey, d wire.Decision) wire.Decision {
	w.Helper()
	signed, err := key.Sign(d)
	require.NoError(w, err)
	return signed
}

// workSigned runs a worker with a file of decision keys on a queue of its own.
func workSigned(t *testing.T, on *bed.Bed, queue, keys string) {
	t.Helper()
	stop, err := on.Work(bed.WorkerOptions{
		TaskQueue: queue, DecisionKeys: activities.DecisionKeysFile(keys), Worker: worker.Options{},
	})
	require.NoError(t, err)
	t.Cleanup(stop)
}

// R53: a worker with decision keys refuses what is not signed by one of them, by every way in; a signed decision for one
// wait is none for another; and a key is replaced, added and taken away between two questions without a restart.
func TestSignedDecisions(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys.yaml")
	ana, bens, forged := newKey(t, "ana-1", "ana@example.com"), newKey(t, "ben-1", "ben@example.com"), newKey(t, "ana-1", "ana@example.com")
	trust(t, path, ana)
	workSigned(t, shared, "signed", path)
	w := plan{
		job: "signed", queue: "signed", script: waittest.Script(waittest.State("paused").Times(2), result("signed")),
		spec: func(spec *wire.Spec) { spec.Escalation.MaxExtensions = new(3) },
	}.begin(t)
	first := w.escalated()
	require.Contains(t, first.Message, "answer, signed by a trusted key, "+first.ID)
	require.Equal(t, []string{"ana-1"}, w.view().Signing.KeyIDs)

	plain := extend(first.ID, "d-1")
	changed := w.sign(ana, plain)
	changed.StatusRequests++
	for name, bad := range map[string]wire.Decision{
		"unsigned": plain, "wrong key": w.sign(forged, plain), "changed field": changed,
		"replayed from another wait": w.sign(ana, extend("op-other#1-01a227fc", "d-1")),
	} {
		want := wire.RefusalNotSigned
		if name == "replayed from another wait" {
			want = wire.RefusalWrongEscalation
			moved := bad
			moved.EscalationID = first.ID
			require.Equal(t, wire.RefusalNotSigned, w.refused(moved).Reason, name)
		}
		require.Equal(t, want, w.refused(bad).Reason, name)
	}
	withoutKind := plain
	withoutKind.Kind = ""
	w.signal(wire.SignalDecide, plain)
	w.signal(wire.SignalExtend, withoutKind)
	w.signal(wire.SignalCancel, decision("", first.ID, "d-2"))
	w.until(func(wire.OperationView) bool { return count(w.audit(), wire.EventDecisionRefused) == 8 })

	trust(t, path, bens)
	w.decide(w.sign(ana, plain)) // recorded when the question was opened
	second := w.escalatedAfter(first.ID)
	require.Equal(t, wire.RefusalNotSigned, w.refused(w.sign(ana, extend(second.ID, "d-3"))).Reason)
	more := extend(second.ID, "d-4")
	more.DecidedBy = "ben@example.com"
	w.decide(w.sign(bens, more))
	outcome := w.outcome()
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, "ben@example.com", outcome.DecidedBy)
}

// R53, R43: a cancel while polling is signed for its wait.
func TestSignedCancelWhilePolling(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys.yaml")
	ana := newKey(t, "ana-1", "ana@example.com")
	trust(t, path, ana)
	workSigned(t, shared, "signed-cancel", path)
	begin := func(job string) *wait {
		return plan{job: job, queue: "signed-cancel", script: waittest.Script(waittest.State("running"))}.begin(t)
	}
	w, other := begin("signed-cancel"), begin("signed-cancel-other")
	w.requests(1)
	other.requests(1)
	nameless := decision(wire.DecisionCancel, "", "d-1")
	require.Equal(t, wire.RefusalIncomplete, w.refused(w.sign(ana, nameless)).Reason)
	cancel := w.sign(ana, decision(wire.DecisionCancel, w.view().Signing.WaitID, "d-1"))
	require.Equal(t, wire.RefusalNotOpen, other.refused(cancel).Reason)
	w.signal(wire.SignalDecide, cancel)
	require.Equal(t, wire.StatusCancelled, w.outcome().Status)
	require.NoError(t, shared.Client.CancelWorkflow(other.ctx, other.id(), ""))
	require.Equal(t, wire.ReasonWaitCancelled, other.outcome().Reason)
}

// R53, R49: a flood of unsigned signals neither decides nor fills the audit, and the wait goes on over many runs.
func TestFloodOfUnsignedSignals(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys.yaml")
	ana := newKey(t, "ana-1", "ana@example.com")
	trust(t, path, ana)
	workSigned(t, restless, "signed-flood", path)
	w := plan{bed: restless, job: "signed-flood", queue: "signed-flood", script: waittest.Script(waittest.State("paused"), result("signed-flood"))}.begin(t)
	open := w.escalated()
	for i := range 200 {
		w.signal(wire.SignalDecide, decision(wire.DecisionClose, open.ID, fmt.Sprintf("d-%d", i)))
	}
	w.decide(w.sign(ana, extend(open.ID, "d-last")))
	require.Equal(t, wire.StatusSucceeded, w.outcome().Status)
	refused, counted := 0, 0
	for _, entry := range w.wholeAudit() {
		if entry.Event != wire.EventDecisionRefused {
			continue
		}
		require.Equal(t, string(wire.RefusalNotSigned), entry.Reason)
		if n, ok := strings.CutPrefix(entry.Detail, "the last of "); ok {
			var more int
			_, err := fmt.Sscanf(n, "%d more in a row", &more)
			require.NoError(t, err)
			counted += more
			continue
		}
		refused++
	}
	require.Equal(t, 200, refused+counted)
	require.LessOrEqual(t, refused, 30)
}
