//go:build unix

package child_test

import (
	"bytes"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/child"
)

func TestStopEndsAProcessThatListens(t *testing.T) {
	t.Parallel()
	var out output
	p, err := child.Start(child.Command{
		Path: "/bin/sh", Args: []string{"-c", `trap 'echo bye; exit' TERM; echo "$WORD"; while :; do sleep 0.05; done`},
		Env: []string{"WORD=hello"}, Log: &out,
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return out.String() == "hello\n" }, 10*time.Second, 10*time.Millisecond)
	require.True(t, p.Runs())
	require.NoError(t, p.Stop(syscall.SIGTERM, time.Minute))
	require.False(t, p.Runs())
	require.Equal(t, "hello\nbye\n", out.String())
	require.NoError(t, p.Stop(syscall.SIGTERM, time.Minute), "one that has gone is no error")
	require.NoError(t, p.Kill())
	require.Zero(t, p.Code())
}

func TestStopKillsAProcessThatDoesNotListen(t *testing.T) {
	t.Parallel()
	var out output
	p, err := child.Start(child.Command{Path: "/bin/sh", Args: []string{"-c", `trap '' TERM; echo up; while :; do sleep 0.05; done`}, Log: &out})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return out.String() == "up\n" }, 10*time.Second, 10*time.Millisecond)
	require.ErrorContains(t, p.Stop(syscall.SIGTERM, 50*time.Millisecond), "did not stop within 50ms")
	require.False(t, p.Runs())
	require.Equal(t, -1, p.Code())
}

func TestStartAsAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root may start a process as somebody else")
	}
	var out output
	p, err := child.Start(child.Command{Path: "/usr/bin/id", Args: []string{"-u"}, Dir: "/", User: &child.User{UID: 65534, GID: 65534}, Log: &out})
	require.NoError(t, err)
	<-p.Ended()
	require.Equal(t, "65534\n", out.String())
}

func TestStartNamesWhatCannotBeStarted(t *testing.T) {
	t.Parallel()
	_, err := child.Start(child.Command{Path: "/nowhere/program"})
	require.ErrorContains(t, err, "child: /nowhere/program")
}

// output is a buffer that two goroutines may use.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
