package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

func TestWaitEndsWithTheResult(t *testing.T) {
	t.Parallel()
	require.NoError(t, shared.Provider.Set("thread", waittest.Script(
		waittest.State("queued"), waittest.Status(503).RetryAfter("2"), waittest.State("running"),
		waittest.Succeeded("https://files.example.com/thread.csv"),
	)))
	run, err := shared.Start(t.Context(), shared.Spec("thread"))
	require.NoError(t, err)
	outcome, err := shared.Outcome(t.Context(), run)
	require.NoError(t, err)

	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, map[string]string{"file": "https://files.example.com/thread.csv"}, outcome.Result)
	require.Equal(t, 4, outcome.StatusRequestsUsed)
	require.Equal(t, 1, outcome.TransportFailuresUsed)
	waittest.RequireNeverEarly(t, shared.Provider.Log("thread"))
	waittest.RequireWithinBudget(t, shared.Provider.Log("thread"), 12)
}
