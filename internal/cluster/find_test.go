package cluster

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFindPostgres(t *testing.T) {
	root := t.TempDir()
	t.Setenv("PATH", filepath.Join(root, "on-path"))
	for _, folder := range []string{"9/bin", "15/bin", "on-path"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, folder), 0o700))
	}
	for _, program := range []string{"9/bin/postgres", "9/bin/initdb", "9/bin/pg_isready", "15/bin/postgres", "15/bin/initdb", "15/bin/pg_isready", "on-path/postgres"} {
		require.NoError(t, os.WriteFile(filepath.Join(root, program), nil, 0o700))
	}
	installed := func(string) ([]string, error) { return filepath.Glob(filepath.Join(root, "*", "bin")) }

	found, err := findPostgres("", installed)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(root, "15/bin"), found, "what is on PATH lacks initdb, and 15 is newer than 9")
	found, err = findPostgres(filepath.Join(root, "9/bin"), installed)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(root, "9/bin"), found)

	_, err = findPostgres(filepath.Join(root, "on-path"), installed)
	require.ErrorContains(t, err, "$JOBWAIT_POSTGRES_BIN: stat")
	require.ErrorContains(t, err, "initdb")
	_, err = findPostgres("", func(string) ([]string, error) { return nil, nil })
	require.ErrorContains(t, err, "apt-get install postgresql")
}

func TestDynamicConfig(t *testing.T) {
	t.Parallel()
	text, err := dynamicConfig([]string{"a.b=120", `c="2s"`})
	require.NoError(t, err)
	require.Equal(t, "a.b:\n  - value: 120\nc:\n  - value: \"2s\"\n", text)
	for _, bad := range []string{"a", "=1", "a="} {
		_, err := dynamicConfig([]string{bad})
		require.ErrorContains(t, err, "not KEY=VALUE", bad)
	}
}
