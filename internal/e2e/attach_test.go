package e2e_test

import (
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

// signal sends a decision raw, update as the inbox and the starter do. What came of it is in the audit.
func (s lost) signal(d wire.Decision) {
	s.Helper()
	require.NoError(s, s.bed.Client.SignalWorkflow(s.ctx, s.run.GetID(), "", wire.SignalDecide, d))
}

func (s lost) update(d wire.Decision) { _, _ = s.bed.Decide(s.ctx, s.run.GetID(), d) }

// starter sends it by the command line, without its signature.
func (s lost) starter(d wire.Decision) {
	command := exec.CommandContext(s.ctx, "starter", "attach", s.run.GetID(), "--provider-job", d.ProviderJobID, "--status-url", d.StatusURL,
		"--comment", d.Comment, "--by", d.DecidedBy, "--decision-id", d.DecisionID)
	command.Env = append(os.Environ(), "TEMPORAL_ADDRESS="+s.bed.Server.Address, "TEMPORAL_NAMESPACE="+s.bed.Namespace)
	_ = command.Run()
}

// lengthened is the decision with a status URL of so many bytes.
func (s lost) lengthened(bytes int) wire.Decision {
	d := s.attach
	d.StatusURL += "?sig="
	d.StatusURL += strings.Repeat("s", bytes-len(d.StatusURL))
	return d
}

// longestPolled is the longest status URL of a wait that polls by the demonstration's table: that of its cancel has the same limit.
const longestPolled = 4096 - len("/cancel")

// A provider's URL arrives whole or is refused, by every way in, and the refusal says how long it may be.
func TestLongStatusURLs(t *testing.T) {
	t.Parallel()
	s := lostJob(t)
	for i, send := range []func(wire.Decision){s.signal, s.update, s.starter} {
		send(s.lengthened(4097))
		refusal := s.refused(i + 1)
		require.Equal(t, string(wire.RefusalOutOfBounds), refusal.Reason)
		require.Equal(t, "status_url has 4097 bytes, at most 4096 are allowed", refusal.Detail)
	}
	s.starter(s.lengthened(longestPolled))
	outcome := s.outcome()
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, s.lengthened(longestPolled).StatusURL, outcome.StatusURL)
}

// R53, R57: where decisions are signed, the job of a submission is named by who has a key, and the signature is of that very job
// at that very URL, whichever way it comes.
func TestSignedAttach(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys.yaml")
	ana, forged := newKey(t, "ana-1", "ana@example.com"), newKey(t, "ana-1", "ana@example.com")
	trust(t, path, ana)
	s := lostJob(t, "--decision-keys", path)
	signed, err := ana.Sign(s.lengthened(longestPolled))
	require.NoError(t, err)
	wrong, err := forged.Sign(s.attach)
	require.NoError(t, err)
	job, at := signed, signed
	job.ProviderJobID += "0"
	at.StatusURL = s.attach.StatusURL
	refusals := 0
	for _, send := range []func(wire.Decision){s.signal, s.update} {
		for _, bad := range []wire.Decision{s.attach, wrong, job, at} {
			send(bad)
			refusals++
			require.Equal(t, string(wire.RefusalNotSigned), s.refused(refusals).Reason)
		}
	}
	s.signal(signed)
	outcome := s.outcome()
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, "ana@example.com", outcome.DecidedBy)
	require.Equal(t, signed.StatusURL, outcome.StatusURL)
}
