package whole_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// lost is a submission that asks because nobody knows of its job.
type lost struct {
	*submitting
	worker *process
	// attach is the decision that names the job. Its status URL may have a query "sig".
	attach wire.Decision
}

// lostJob begins one whose worker has these flags beside the usual ones.
func lostJob(t *testing.T, flags ...string) lost {
	t.Helper()
	s := newSubmitting(t, "demo-plain", waittest.SubmitScript{Job: finished(), NoKeys: true, Steps: []waittest.SubmitStep{{Answer: waittest.Hangup()}}})
	tables := plainTable(t)
	file := filepath.Join(tables, "demo-plain.yaml")
	plain, err := os.ReadFile(file)
	require.NoError(t, err)
	signed := strings.Replace(string(plain), "  url: \"{status_url}\"\n", "  url: \"{status_url}\"\n  status_url_query: [sig]\n", 1)
	require.NoError(t, os.WriteFile(file, []byte(signed), 0o600))
	s.crew = newCrew(t, s.bed, s.queue, bed.Key, append([]string{"--tables", tables}, flags...)...)
	worker := s.crew.start()
	s.begin()
	attach := decision(wire.DecisionAttach, s.escalated().ID, "d-1")
	attach.ProviderJobID = s.provider.Submissions()[0].JobID
	attach.StatusURL = s.provider.StatusURL(attach.ProviderJobID)
	return lost{submitting: s, worker: worker, attach: attach}
}

// refused waits for so many refusals in the audit, and gives the last.
func (s lost) refused(n int) wire.Entry {
	s.Helper()
	var refusals []wire.Entry
	_, err := s.bed.Until(s.ctx, s.run, func(wire.OperationView) bool {
		refusals = nil
		for _, entry := range s.audit() {
			if entry.Event == wire.EventDecisionRefused {
				refusals = append(refusals, entry)
			}
		}
		return len(refusals) == n
	})
	require.NoError(s, err)
	return refusals[n-1]
}

// ways are those in which a decision comes. What came of it is in the audit.
func ways() map[string]func(lost, wire.Decision) {
	return map[string]func(lost, wire.Decision){
		"signal": func(s lost, d wire.Decision) {
			require.NoError(s, s.bed.Client.SignalWorkflow(s.ctx, s.run.GetID(), "", wire.SignalDecide, d))
		},
		"update": func(s lost, d wire.Decision) { _, _ = s.bed.Decide(s.ctx, s.run.GetID(), d) },
	}
}

// A provider's URL arrives whole or is refused, and the refusal says how long it may be.
func TestLongStatusURLs(t *testing.T) {
	t.Parallel()
	all := ways()
	all["starter"] = func(s lost, d wire.Decision) {
		command := exec.CommandContext(s.ctx, "starter", "attach", s.run.GetID(), "--provider-job", d.ProviderJobID, "--status-url", d.StatusURL,
			"--comment", d.Comment, "--by", d.DecidedBy, "--decision-id", d.DecisionID)
		command.Env = append(os.Environ(), "TEMPORAL_ADDRESS="+s.bed.Server.Address, "TEMPORAL_NAMESPACE="+s.bed.Namespace)
		_ = command.Run()
	}
	for name, send := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := lostJob(t)
			s.attach.StatusURL += "?sig="
			s.attach.StatusURL += strings.Repeat("s", 4097-len(s.attach.StatusURL))
			send(s, s.attach)
			refusal := s.refused(1)
			require.Equal(t, string(wire.RefusalOutOfBounds), refusal.Reason)
			require.Equal(t, "status_url has 4097 bytes, at most 4096 are allowed", refusal.Detail)
			s.attach.StatusURL = s.attach.StatusURL[:4096-len("/cancel")] // the URL of the table's cancel has the same limit
			send(s, s.attach)
			outcome := s.outcome()
			require.Equal(t, wire.StatusSucceeded, outcome.Status)
			require.Equal(t, s.attach.StatusURL, outcome.StatusURL)
		})
	}
}

// R53, R57: where decisions are signed, the job of a submission is named by who has a key, and the signature is of that very job
// at that very URL.
func TestSignedAttach(t *testing.T) {
	t.Parallel()
	for name, send := range ways() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "keys.yaml")
			ana, forged := newKey(t, "ana-1", "ana@example.com"), newKey(t, "ana-1", "ana@example.com")
			trust(t, path, ana)
			s := lostJob(t, "--decision-keys", path)
			signed, err := ana.Sign(s.attach)
			require.NoError(t, err)
			wrong, err := forged.Sign(s.attach)
			require.NoError(t, err)
			job, at := signed, signed
			job.ProviderJobID += "0"
			at.StatusURL += "?sig=x"
			for i, bad := range []wire.Decision{s.attach, wrong, job, at} {
				send(s, bad)
				require.Equal(t, string(wire.RefusalNotSigned), s.refused(i+1).Reason, fmt.Sprint(i))
			}
			send(s, signed)
			outcome := s.outcome()
			require.Equal(t, wire.StatusSucceeded, outcome.Status)
			require.Equal(t, "ana@example.com", outcome.DecidedBy)
			require.Equal(t, s.attach.ProviderJobID, outcome.ProviderJobID)
		})
	}
}
