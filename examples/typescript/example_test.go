package typescript

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/waittest"
)

// The example starts a wait with plain JSON, is refused one decision, has another applied, and reads the outcome.
func TestExample(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 25*time.Minute) // a first run builds Temporal
	defer cancel()
	b, err := bed.Open(ctx, bed.Options{Progress: os.Stderr})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	stop, err := b.Work(bed.WorkerOptions{})
	require.NoError(t, err)
	t.Cleanup(stop)
	require.NoError(t, b.Provider.Set("exp 9/71", waittest.Script(
		waittest.State("running"), waittest.State("running"), waittest.Succeeded("https://files.example.com/exp_71.csv"),
	)))

	npm(ctx, t, "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	npm(ctx, t, "run", "build")
	node := exec.CommandContext(ctx, "node", "build/example.js", "exp 9/71", b.Provider.StatusURL("exp 9/71"))
	node.Env = append(os.Environ(), "TEMPORAL_ADDRESS="+b.Server.Address)
	printed, err := node.CombinedOutput()

	require.NoError(t, err, string(printed))
	require.Equal(t, `started jobwait/demo-export/acct-42/exp%209%2F71
asked: request_budget_exhausted extend, cancel, close
refused: out_of_bounds
applied: now 6 requests
ended: succeeded https://files.example.com/exp_71.csv after 3 requests
`, string(printed))
	waittest.RequireWithinBudget(t, b.Provider.Log("exp 9/71"), 3)
}

func npm(ctx context.Context, t *testing.T, arguments ...string) {
	t.Helper()
	printed, err := exec.CommandContext(ctx, "npm", arguments...).CombinedOutput()
	require.NoError(t, err, string(printed))
}
