package statetables

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the messages in testdata/wrong")

// oneFile holds one table under its own name.
func oneFile(tb testing.TB, path string) fs.FS {
	tb.Helper()
	data, err := os.ReadFile(path)
	require.NoError(tb, err)
	return fstest.MapFS{filepath.Base(path): {Data: data}}
}

var everyTable = sync.OnceValues(func() (*Set, error) { return Load(Source{FS: Builtin()}, Source{FS: Demo()}) })

func loadAll(tb testing.TB) *Set {
	tb.Helper()
	set, err := everyTable()
	require.NoError(tb, err)
	return set
}

func table(tb testing.TB, provider string) *Table {
	tb.Helper()
	found, ok := loadAll(tb).Table(provider)
	require.True(tb, ok)
	return found
}

// R3, R4, R10, H7 and section 6: a wrong table is refused with file, line, what is wrong and what to write instead.
func TestLoadRefusesWrongTables(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/wrong/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml"), func(t *testing.T) {
			t.Parallel()
			_, err := Load(Source{FS: oneFile(t, path)})
			require.Error(t, err)
			golden := strings.TrimSuffix(path, ".yaml") + ".want"
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(err.Error()+"\n"), 0o600))
			}
			want, readErr := os.ReadFile(golden)
			require.NoError(t, readErr)
			require.Equal(t, string(want), err.Error()+"\n")
			for line := range strings.Lines(err.Error()) {
				require.Regexp(t, `^[a-z_]+\.yaml:[0-9]+: `, line)
			}
		})
	}
}

func TestLoadJoinsTheFaultsOfAllFiles(t *testing.T) {
	t.Parallel()
	_, err := Load(
		Source{Name: "team", FS: oneFile(t, "testdata/wrong/hint_without_unit.yaml")},
		Source{Name: "other", FS: oneFile(t, "testdata/wrong/no_read_only.yaml")},
	)
	require.ErrorContains(t, err, "team/hint_without_unit.yaml:")
	require.ErrorContains(t, err, "other/no_read_only.yaml:")
}

func TestLoadRefusesAProviderTwice(t *testing.T) {
	t.Parallel()
	_, err := Load(
		Source{Name: "a", FS: oneFile(t, "testdata/right/acme-jobs.yaml")},
		Source{Name: "b", FS: oneFile(t, "testdata/right/acme-jobs.yaml")},
	)
	require.EqualError(t, err, `b/acme-jobs.yaml:1: provider "acme-jobs" is in a/acme-jobs.yaml too; a provider has one table, remove one of them`)
}

func TestLoadReadsYAMLFilesOnly(t *testing.T) {
	t.Parallel()
	set, err := Load(Source{FS: fstest.MapFS{"README.md": {Data: []byte("no table")}, "sub/x.yaml": {Data: []byte("no table")}}})
	require.NoError(t, err)
	require.Empty(t, set.Providers())
	_, err = Load(Source{Name: "gone", FS: os.DirFS("testdata/gone")})
	require.EqualError(t, err, "gone: no such file or directory")
	_, err = Load(Source{FS: fstest.MapFS{"big.yaml": {Data: make([]byte, maxTableBytes+1)}}})
	require.ErrorContains(t, err, "big.yaml:1: longer than 262144 bytes")
}

func TestBuiltinHoldsNoDemo(t *testing.T) {
	t.Parallel()
	set, err := Load(Source{FS: Builtin()})
	require.NoError(t, err)
	require.Subset(t, set.Providers(), []string{"azure-operation", "github-actions-run", "openai-batch"})
	require.NotContains(t, set.Providers(), "demo-export")
}

func TestDigestIsOfTheFile(t *testing.T) {
	t.Parallel()
	data, err := fs.ReadFile(Demo(), "demo-export.yaml")
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("sha256:%x", sha256.Sum256(data)), table(t, "demo-export").Digest())
	require.Regexp(t, `^sha256:[0-9a-f]{64}$`, table(t, "demo-export").Digest())
	require.NotEqual(t, table(t, "demo-export").Digest(), table(t, "openai-batch").Digest())
}
