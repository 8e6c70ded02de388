package cluster_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/jobwait/jobwait/internal/cluster"
	"github.com/jobwait/jobwait/wire"
)

// envCluster runs what needs PostgreSQL and compiles Temporal's server the first time.
const envCluster = "JOBWAIT_CLUSTER"

const (
	patience = time.Minute
	tick     = 200 * time.Millisecond
)

// What a client was told stays, whichever part is killed.
func TestAClusterKeepsWhatItAcknowledged(t *testing.T) {
	if os.Getenv(envCluster) == "" {
		t.Skip("set " + envCluster + "=1 to run a Temporal server on PostgreSQL; compiling it takes minutes the first time")
	}
	t.Parallel()
	programs, err := cluster.Find(t.Context(), t.Output())
	require.NoError(t, err)
	c, err := cluster.Open(t.Context(), cluster.Options{Programs: programs, Dir: enterable(t)})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	asking := dial(t, c)
	start(t, asking, "before")

	for what, harm := range map[string]func() error{"crashed": c.CrashDatabase, "killed": c.KillDatabase} {
		require.NoError(t, harm(), what)
		require.NoError(t, c.StartDatabase(t.Context()), what)
	}
	require.NoError(t, c.KillServer())
	require.NoError(t, c.StartServer(t.Context()))
	start(t, asking, "after")
	require.NoError(t, c.StopServer())
	require.NoError(t, c.StartServer(t.Context()))
	for _, id := range []string{"before", "after"} {
		_, err := asking.DescribeWorkflow(t.Context(), id, "")
		require.NoError(t, err, id)
	}
}

// enterable is a directory that another user can get at.
func enterable(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "jobwait-cluster-") //nolint:usetesting // nobody but the owner can enter a t.TempDir
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o711))
	return filepath.Join(dir, "cluster")
}

func dial(t *testing.T, c *cluster.Cluster) client.Client {
	t.Helper()
	dialled, err := client.DialContext(t.Context(), client.Options{
		HostPort: c.Address, Namespace: c.Namespace, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	require.NoError(t, err)
	t.Cleanup(dialled.Close)
	return dialled
}

// start starts a workflow that nobody works on. The server may still be about to reconnect.
func start(t *testing.T, c client.Client, id string) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: "nobody"}, wire.WorkflowAwaitJob)
		return err == nil
	}, patience, tick)
	_, err := c.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: wire.AttributePhase + `="polling"`})
	require.NoError(t, err)
}
