package devserver

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

const envOrphan = "DEVSERVER_TEST_ORPHAN"

// A test that panics or is killed runs no Stop.
func TestServerDiesWithAProcessThatIsKilled(t *testing.T) {
	t.Parallel()
	fifo := filepath.Join(t.TempDir(), "alive")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	parent := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHelperParent$")
	parent.Env = append(parent.Environ(), envOrphan+"="+script(t, "exec 3>"+fifo+"; echo up >&3; exec sleep 300"))
	parent.Stdout, parent.Stderr = os.Stdout, os.Stderr
	_, err := parent.StdinPipe() // kept open: the helper lives until it is killed
	require.NoError(t, err)
	require.NoError(t, parent.Start())

	alive, err := os.Open(fifo)
	require.NoError(t, err)
	defer alive.Close()
	up := make([]byte, len("up\n"))
	_, err = io.ReadFull(alive, up)
	require.NoError(t, err)
	require.NoError(t, parent.Process.Kill())
	rest, err := io.ReadAll(alive) // returns when the server's end of it is gone
	require.NoError(t, err)
	require.Empty(t, rest)
	require.Error(t, parent.Wait())
}

// TestHelperParent is the process that is killed, not a test.
func TestHelperParent(t *testing.T) {
	t.Parallel()
	path := os.Getenv(envOrphan)
	if path == "" {
		t.Skip("only as the helper of TestServerDiesWithAProcessThatIsKilled")
	}
	server, err := newServer(t.Context(), Options{Executable: Executable{Path: path}, InMemory: true})
	require.NoError(t, err)
	require.NoError(t, server.launch())
	_, err = io.ReadAll(os.Stdin)
	require.NoError(t, err)
}
