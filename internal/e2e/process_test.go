package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/bed"
)

// binaries is the stock worker, built once and when it is first wanted.
var binaries struct {
	once sync.Once
	dir  string
	path string
	err  error
}

func workerBinary(t *testing.T) string {
	t.Helper()
	binaries.once.Do(func() {
		binaries.dir, binaries.err = os.MkdirTemp("", "jobwait-whole") //nolint:usetesting // it outlives the test that wants it first
		if binaries.err != nil {
			return
		}
		binaries.path = filepath.Join(binaries.dir, "worker")
		out, err := exec.CommandContext(context.WithoutCancel(t.Context()), "go", "build", "-o", binaries.path, "github.com/jobwait/jobwait/worker").CombinedOutput()
		if err != nil {
			binaries.err = fmt.Errorf("building the worker: %w\n%s", err, out)
		}
	})
	require.NoError(t, binaries.err)
	return binaries.path
}

// crew starts stock workers on a task queue of their own, as processes.
type crew struct {
	t          *testing.T
	executable string
	flags, env []string
}

// newCrew gives workers a credentials file in which the credentials "demo" and "other" are the key.
func newCrew(t *testing.T, b *bed.Bed, queue, key string, flags ...string) *crew {
	t.Helper()
	file := filepath.Join(t.TempDir(), "credentials.yaml")
	entry := `{version: "1", env: WHOLE_KEY, origins: ["` + b.Provider.URL() + `"]}`
	require.NoError(t, os.WriteFile(file, []byte("credentials: {demo: "+entry+", other: "+entry+"}"), 0o600))
	return &crew{
		t: t, executable: workerBinary(t), // built before the clock of a wait runs
		flags: append([]string{"--demo", "--credentials", file, "--task-queue", queue}, flags...),
		env:   []string{"WHOLE_KEY=" + key, "TEMPORAL_ADDRESS=" + b.Server.Address, "TEMPORAL_NAMESPACE=" + b.Namespace},
	}
}

// process is a worker that runs.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	output *transcript
	ended  chan struct{}
}

func (c *crew) start() *process {
	c.t.Helper()
	p := &process{t: c.t, output: &transcript{changed: make(chan struct{})}, ended: make(chan struct{})}
	p.cmd = exec.CommandContext(context.WithoutCancel(c.t.Context()), c.executable, c.flags...) // kill ends it, not a context
	p.cmd.Env = append(os.Environ(), c.env...)
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	require.NoError(c.t, p.cmd.Start())
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	c.t.Cleanup(p.kill)
	return p
}

// kill ends the worker as a crash would, by its process id, and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may be gone
	<-p.ended
}

// terminate asks the worker to stop; it goes on until it has.
func (p *process) terminate() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGTERM))
}

// exitCode waits for the end of the worker.
func (p *process) exitCode(ctx context.Context) int {
	p.t.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-ctx.Done():
		require.FailNow(p.t, "the worker did not stop", p.output.String())
		return 0
	}
}

// transcript is everything that a process wrote.
type transcript struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

func (tr *transcript) Write(p []byte) (int, error) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	close(tr.changed)
	tr.changed = make(chan struct{})
	return tr.text.Write(p)
}

func (tr *transcript) snapshot() (string, <-chan struct{}) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.text.String(), tr.changed
}

func (tr *transcript) String() string {
	text, _ := tr.snapshot()
	return text
}

// await waits until the process has written that.
func (p *process) await(ctx context.Context, want string) {
	p.t.Helper()
	for {
		text, changed := p.output.snapshot()
		if strings.Contains(text, want) {
			return
		}
		select {
		case <-changed:
		case <-p.ended:
			require.Contains(p.t, p.output.String(), want, "the worker ended")
			return
		case <-ctx.Done():
			require.Contains(p.t, text, want)
		}
	}
}

// freeAddress is one that nobody listens at now.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr().String()
}

func get(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, http.StatusOK, answer.StatusCode)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return string(body)
}
