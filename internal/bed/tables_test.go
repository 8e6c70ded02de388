package bed_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// The tables made of the demonstration's are ones that a worker takes.
func TestTables(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, bed.WriteTables(dir))
	tables, err := statetables.Load(statetables.Source{FS: os.DirFS(dir)})
	require.NoError(t, err)
	for provider, want := range map[string]wire.Idempotency{
		bed.ProviderPlain: wire.IdempotencyNone, bed.ProviderNamed: wire.IdempotencyClientID,
		bed.ProviderForgetful: wire.IdempotencyHeader, bed.ProviderTelling: wire.IdempotencyHeader,
	} {
		table, ok := tables.Table(provider)
		require.True(t, ok, provider)
		idempotency, _, submits := table.Submission()
		require.True(t, submits, provider)
		require.Equal(t, want, idempotency)
	}
	_, err = bed.DemoAs("x", "a text that is not there", "")
	require.ErrorContains(t, err, "has no")
}
