package terminal

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/signing"
	"github.com/jobwait/jobwait/waittest"
)

// pipe is the starter with its output read line by line.
type pipe struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string
}

func piped(t *testing.T, arguments ...string) *pipe {
	t.Helper()
	p := &pipe{t: t, cmd: command(t, arguments...), lines: make(chan string, 1000)}
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	go func() {
		defer close(p.lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			p.lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

// sees waits for a line with all these parts.
func (p *pipe) sees(parts ...string) {
	p.t.Helper()
	end := time.After(patience)
	for {
		select {
		case line, ok := <-p.lines:
			require.True(p.t, ok, "the starter ended")
			if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
				return
			}
		case <-end:
			require.FailNow(p.t, "never seen", "%q", parts)
		}
	}
}

func (p *pipe) interrupt() int {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(os.Interrupt))
	for range p.lines {
	}
	_ = p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

// keys makes a key of ana's, and what begins waits whose worker trusts it alone.
func keys(t *testing.T) (file string, trusting func(t *testing.T, job string) question) {
	t.Helper()
	key, err := signing.New("ana-2026", "ana@example.com")
	require.NoError(t, err)
	dir := t.TempDir()
	file = filepath.Join(dir, "ana.key")
	require.NoError(t, key.WriteFile(file))
	public := key.Public()
	list := filepath.Join(dir, "keys.yaml")
	require.NoError(t, os.WriteFile(list, []byte("keys:\n  "+public.KeyID+": {public_key: "+public.PublicKey+", decided_by: "+public.DecidedBy+"}\n"), 0o600))
	queue := afresh("signed")
	stop, err := shared.Work(bed.WorkerOptions{TaskQueue: queue, DecisionKeys: activities.DecisionKeysFile(list)})
	require.NoError(t, err)
	t.Cleanup(stop)
	return file, func(t *testing.T, job string) question {
		t.Helper()
		return askOn(t, queue, job, waittest.Script(waittest.State("paused")), nil)
	}
}
