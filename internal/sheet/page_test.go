package sheet_test

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/sheet"
	"github.com/jobwait/jobwait/statetables"
)

var update = flag.Bool("update", false, "rewrite what is made from the tables")

func builtin(tb testing.TB) []statetables.File {
	tb.Helper()
	files, err := statetables.Files(statetables.Source{FS: statetables.Builtin()})
	require.NoError(tb, err)
	return files
}

func TestProvidersPageIsCurrent(t *testing.T) {
	t.Parallel()
	const page = "../../docs/providers.md"
	var want bytes.Buffer
	require.NoError(t, sheet.WriteProvidersPage(&want, builtin(t)))
	if *update {
		require.NoError(t, os.WriteFile(page, want.Bytes(), 0o600))
	}
	got, err := os.ReadFile(page)
	require.NoError(t, err)
	if !bytes.Equal(want.Bytes(), got) { // a difference of both pages would be thousands of lines
		require.Fail(t, "docs/providers.md is not what the tables say; run go generate ./internal/sheet")
	}
}
