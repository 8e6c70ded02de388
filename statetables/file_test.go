package statetables_test

import (
	"encoding/json"
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

func TestFilesHaveTheirTables(t *testing.T) {
	t.Parallel()
	set, err := statetables.Load(statetables.Source{FS: statetables.Builtin()})
	require.NoError(t, err)
	files, err := statetables.Files(statetables.Source{Name: "built-in", FS: statetables.Builtin()})
	require.NoError(t, err)
	providers := make([]string, len(files))
	for i, file := range files {
		providers[i] = file.Table.Provider
		table, ok := set.Table(file.Table.Provider)
		require.True(t, ok)
		require.Equal(t, table.Digest(), file.Digest)
		alone, err := file.Load()
		require.NoError(t, err)
		require.Equal(t, table.Provider(), alone.Provider())
		require.Equal(t, "built-in/"+file.Table.Provider+".yaml", file.Name)
	}
	require.Equal(t, set.Providers(), providers)
}

// An example of a file, asked of its table, reads as the example wants, and is told where it does not.
func TestExamplesOfAFile(t *testing.T) {
	t.Parallel()
	set, err := statetables.Load(statetables.Source{FS: os.DirFS("testdata/right")})
	require.NoError(t, err)
	files, err := statetables.Files(statetables.Source{FS: os.DirFS("testdata/right")})
	require.NoError(t, err)
	require.Len(t, files, 1)
	table, _ := set.Table(files[0].Table.Provider)
	examples, err := files[0].Examples()
	require.NoError(t, err)
	require.NotEmpty(t, examples)
	for _, example := range examples {
		require.NoError(t, table.CheckSpec(example.Job))
		got := table.Classify(targetOf(example.Job), example.Reading, example.Response)
		require.Empty(t, example.Differences(got), example.Name)
		got.Answer = wire.AnswerDenied
		require.Len(t, example.Differences(got), 1, example.Name)
	}
}

func targetOf(spec wire.Spec) wire.Target {
	return wire.Target{
		Provider: spec.Provider, Account: spec.Account, ProviderJobID: spec.ProviderJobID,
		Params: spec.Params, StatusURL: spec.StatusURL, CredentialRef: spec.CredentialRef,
	}
}

func TestFileAsJSON(t *testing.T) {
	t.Parallel()
	const written = "title: T\nprovider: p\nsources: {docs: {at: page, read: 2026-01-31}}\nschedule: {base_delay_seconds: 5}\n" +
		"examples:\n  - given: {body: {id: 9007199254740993, ratio: 1.50, done: true, none: null}}\n"
	files, err := statetables.Files(statetables.Source{FS: fstest.MapFS{"p.yaml": {Data: []byte(written)}}})
	require.NoError(t, err)
	text, err := files[0].MarshalJSON()
	require.NoError(t, err)
	//nolint:testifylint // the order and the digits are what is tested
	require.Equal(t, `{"title":"T","provider":"p","sources":{"docs":{"at":"page","read":"2026-01-31"}},"schedule":{"base_delay_seconds":5},`+
		`"examples":[{"given":{"body":{"id":9007199254740993,"ratio":1.50,"done":true,"none":null}}}]}`, string(text))
}

func TestEveryBuiltinFileIsJSON(t *testing.T) {
	t.Parallel()
	files, err := statetables.Files(statetables.Source{FS: statetables.Builtin()})
	require.NoError(t, err)
	for _, file := range files {
		text, err := json.Marshal(file)
		require.NoError(t, err, file.Name)
		var back struct {
			Provider string `json:"provider"`
			Examples []any  `json:"examples"`
		}
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, file.Table.Provider, back.Provider)
		require.Len(t, back.Examples, len(file.Table.Examples))
	}
}

func TestFilesNameWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ content, want string }{
		"no YAML":        {content: "a: [", want: "own/x.yaml:1: not YAML: "},
		"no such key":    {content: "provider: p\nnonsense: 1\n", want: `own/x.yaml:2: unknown key "nonsense"`},
		"too large":      {content: string(make([]byte, 256<<10+1)), want: "own/x.yaml:1: longer than 262144 bytes"},
		"nothing at all": {content: "", want: "own/x.yaml:1: the file is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := statetables.Files(statetables.Source{Name: "own", FS: fstest.MapFS{"x.yaml": {Data: []byte(test.content)}}})
			require.ErrorContains(t, err, test.want)
		})
	}
	_, err := statetables.Files(statetables.Source{Name: "gone", FS: os.DirFS("testdata/gone")})
	require.ErrorContains(t, err, "gone: ")
}

// A file that is written right may still say something wrong.
func TestFileLoadsAlone(t *testing.T) {
	t.Parallel()
	files, err := statetables.Files(statetables.Source{Name: "own", FS: fstest.MapFS{"p.yaml": {Data: []byte("provider: p\n\nhints: [{read: body.x}]\n")}}})
	require.NoError(t, err)
	_, err = files[0].Load()
	require.ErrorContains(t, err, "own/p.yaml:1: title is missing")
	require.ErrorContains(t, err, "own/p.yaml:3: hints[0]")
}

func TestAnExampleThatCannotBeServed(t *testing.T) {
	t.Parallel()
	const written = "provider: p\nexamples: [{name: odd, given: {received_at: noon}}]\n"
	files, err := statetables.Files(statetables.Source{FS: fstest.MapFS{"p.yaml": {Data: []byte(written)}}})
	require.NoError(t, err)
	_, err = files[0].Examples()
	require.ErrorContains(t, err, `p.yaml: example "odd": received_at "noon" is no time`)
}
