package callbacks_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/callbacks"
	"github.com/jobwait/jobwait/statetables"
)

// The file of the documentation is one that a worker takes.
func TestDocumentedFile(t *testing.T) {
	t.Setenv("OPENAI_WEBHOOK_SECRET", secret)
	page, err := os.ReadFile("../docs/callbacks.md")
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(page)
	require.NotNil(t, block)
	dir := t.TempDir()
	for _, name := range []string{"replicate-secret", "github-new", "github-old", "transcripts-token"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(secret), 0o600))
	}
	path := filepath.Join(dir, "callbacks.yaml")
	require.NoError(t, os.WriteFile(path, block[1], 0o600))
	options, err := callbacks.Load(path)
	require.NoError(t, err)
	require.Equal(t, callbacks.Limits{PerSecond: 50, Burst: 200, Concurrent: 64, MaxBodyBytes: 1 << 20}, options.Limits)
	options.Tables, err = statetables.Load(statetables.Source{FS: statetables.Builtin()})
	require.NoError(t, err)
	_, err = callbacks.New(t.Context(), options)
	require.NoError(t, err)
}

func TestLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "acme-secret"), []byte(secret+"\n"), 0o600))
	load := func(text string) (callbacks.Options, error) {
		path := filepath.Join(dir, "callbacks.yaml")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return callbacks.Load(path)
	}
	options, err := load("callbacks: {here: {provider: acme, account: acct, secrets: [{file: acme-secret}]}}\nlimits: {burst: 7}")
	require.NoError(t, err)
	require.Equal(t, callbacks.Limits{Burst: 7}, options.Limits)
	options.Tables = own(t, plain)
	_, err = callbacks.New(t.Context(), options)
	require.NoError(t, err)

	require.NoError(t, os.Remove(filepath.Join(dir, "acme-secret")))
	_, err = callbacks.New(t.Context(), options)
	require.EqualError(t, err, `callbacks: endpoint "here": secret 1: file acme-secret cannot be read`)
	_, err = load("callbacks: {here: {provider: acme, secrets: [whsec_inline]}}")
	require.ErrorContains(t, err, "a field that is not known, given twice, or of the wrong type")
	require.NotContains(t, err.Error(), "whsec")
	_, err = load("callbacks: {here: {provider: acme, secrets: [{}]}}")
	require.ErrorContains(t, err, `callbacks: endpoint "here": secret 1: exactly one of env and file says where the value is`)
	_, err = load("limits: {per_second: -1}")
	require.ErrorContains(t, err, "callbacks: limits: per_second is -1, allowed is 1 to 10000")
}
