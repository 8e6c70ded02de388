package docscheck_test

import (
	"context"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/statetables"
)

// The receiver of the documentation serves until its context ends.
func TestShownReceiver(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("CALLBACK_SECRET", "whsec_"+strings.Repeat("A", 32))
	file := "callbacks: {openai: {provider: openai-batch, account: org-42, secrets: [{env: CALLBACK_SECRET}]}}"
	require.NoError(t, os.WriteFile("callbacks.yaml", []byte(file), 0o600))
	tables, err := statetables.Load(statetables.Source{FS: statetables.Builtin()})
	require.NoError(t, err)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, receive(ctx, nil, tables, listener))
}
