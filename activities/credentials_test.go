package activities

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// write puts a file into a folder of its own, or beside another file of the test.
func write(t *testing.T, path, text string) string {
	t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(t.TempDir(), path)
	}
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestCredentialsFile(t *testing.T) {
	t.Setenv("JOBWAIT_TEST_KEY", marker)
	path := write(t, "credentials.yaml", `
credentials:
  demo:
    version: "7"
    env: JOBWAIT_TEST_KEY
    origins: ["http://127.0.0.1:8090"]
    providers: []
    accounts: [acct-42]
  other: {version: 2, file: key, scheme: basic, origins: ["https://api.example.com"]}
`)
	file := CredentialsFile(path)
	require.NoError(t, file.Validate())

	demo, err := file.Credential(t.Context(), "demo")
	require.NoError(t, err)
	require.Equal(t, "7", demo.Version)
	require.Equal(t, []string{"acct-42"}, demo.Accounts)
	secret, err := demo.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, marker, secret.Reveal())

	other, err := file.Credential(t.Context(), "other")
	require.NoError(t, err)
	require.Equal(t, "2", other.Version)
	require.Equal(t, "basic", other.Scheme)
	require.Empty(t, demo.Scheme)
	_, err = other.Read(t.Context())
	require.EqualError(t, err, `credentials: "other": file key cannot be read`)
	write(t, filepath.Join(filepath.Dir(path), "key"), marker+"\n")
	secret, err = other.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, marker, secret.Reveal())

	_, err = file.Credential(t.Context(), "nobody")
	require.ErrorIs(t, err, ErrUnknownCredential)
	require.ErrorContains(t, err, `"nobody"`)
}

// R50: a fault is named by entry and rule, and no value is repeated: what stands in the wrong place may be the secret.
func TestCredentialsFileRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                      "the file is empty",
		"{}\n---\n{}":                           "one YAML document",
		"- " + marker:                           "line 1",
		"credentials: {demo: [" + marker + "]}": "line 1",
		"credentials: {demo: " + marker + "}":   "line 1",
		"credentials: {demo: {value: " + marker + "}}":                                           "line 1: a field that is not known",
		"credentials: {demo: {" + marker + ": 1}}":                                               "line 1",
		"credentials: {demo: {env: A, env: B}}":                                                  "line 1: a field that is not known, given twice",
		"credentials: {demo: {version: 1, origins: [http://a]}}":                                 `"demo": exactly one of env and file`,
		"credentials: {demo: {env: A, file: b}}":                                                 `"demo": exactly one of env and file`,
		"credentials: {demo: {env: A, origins: [http://a]}}":                                     `"demo": version is missing`,
		"credentials: {demo: {env: A, version: 1}}":                                              `"demo": origins is missing`,
		"credentials: {demo: {env: A, version: 1, origins: [a.b]}}":                              `"demo": origin "a.b": the scheme is not`,
		"credentials: {demo: {env: A, version: 1, origins: [http://a], scheme: " + marker + "}}": `"demo": scheme is not one of bearer, basic, header, query`,
		"credentials: {demo: {env: A, version: 1, origins: [http://]}}":                          `has no host`,
		"credentials: {demo: {env: A, version: 1, origins: [http://a/b]}}":                       "goes on after host and port",
		"credentials: {demo: {env: A, version: 1, origins: ['http://u:" + marker + "@a']}}":      "userinfo",
		"credentials: {demo: {env: A, version: 1, origins: ['http://u:" + marker + "@a b']}}":    "not a URL",
		strings.Repeat("#", 1<<20+1):                                                             "more than 1048576 bytes",
	} {
		err := CredentialsFile(write(t, "credentials.yaml", text)).Validate()
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, "credentials: ")
		require.NotContains(t, err.Error(), marker)
	}
	require.ErrorIs(t, CredentialsFile("nowhere.yaml").Validate(), os.ErrNotExist)
}

// One entry that cannot be used does not take the others with it once the worker runs.
func TestFaultyEntryConcernsOnlyItself(t *testing.T) {
	t.Parallel()
	file := CredentialsFile(write(t, "credentials.yaml", `
credentials:
  good: {version: 1, file: key, origins: ["https://api.example.com"]}
  bad: {version: 1}
`))
	_, err := file.Credential(t.Context(), "good")
	require.NoError(t, err)
	_, err = file.Credential(t.Context(), "bad")
	require.ErrorContains(t, err, `"bad"`)
}

func TestSecretOfFileIsRefused(t *testing.T) {
	t.Parallel()
	path := write(t, "credentials.yaml", `credentials: {demo: {version: 1, file: key, origins: ["https://api.example.com"]}}`)
	for value, want := range map[string]string{
		"":                           "the value is empty",
		"\n":                         "the value is empty",
		marker + "\nX-Injected: 1\n": "line break",
		marker + "\n\n":              "line break",
	} {
		write(t, filepath.Join(filepath.Dir(path), "key"), value)
		demo, err := CredentialsFile(path).Credential(t.Context(), "demo")
		require.NoError(t, err)
		_, err = demo.Read(t.Context())
		require.ErrorContains(t, err, `credentials: "demo": file key: the value `)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), marker)
	}
}

// R51: an origin is scheme, host and port, however they are written; nothing else makes two of them the same.
func TestCredentialReachesItsOrigins(t *testing.T) {
	t.Parallel()
	credential := Credential{Origins: []string{"https://API.example.com", "http://[::1]:8090"}}
	for text, want := range map[string]bool{
		"https://api.example.com":          true,
		"https://api.example.com:443/":     true,
		"https://api.example.com.":         true,
		"http://[::1]:8090":                true,
		"http://api.example.com":           false,
		"https://api.example.com:8443":     false,
		"https://api.example.com.evil.net": false,
		"https://evil-api.example.com":     false,
		"http://[::1]":                     false,
	} {
		to, err := parseOrigin(text)
		require.NoError(t, err)
		require.Equal(t, want, credential.reaches("demo", to) == nil, text)
	}
}

// R51: what the lists of an entry say; an empty list means any.
func TestCredentialAllows(t *testing.T) {
	t.Parallel()
	require.NoError(t, Credential{}.allows("demo", "p", "a"))
	bound := Credential{Providers: []string{"p"}, Accounts: []string{"a"}}
	require.NoError(t, bound.allows("demo", "p", "a"))
	require.EqualError(t, bound.allows("demo", "q", "a"), `credential "demo" is not for provider "q": its entry lists ["p"]`)
	require.EqualError(t, bound.allows("demo", "p", "b"), `credential "demo" is not for account "b": its entry lists 1 other accounts`)
}

// A scheme that the table has not would send the key in a form that the provider does not read.
func TestPrepareChecksTheSchemeOfCredentials(t *testing.T) {
	t.Parallel()
	p := newPreparation(t)
	p.entry(`{version: "1", file: key, origins: ["http://a"], scheme: basic}`)
	require.Contains(t, p.refused(), `credential "demo": scheme "basic" is not one of the provider's table, which takes bearer`)
	p.entry(`{version: "1", file: key, origins: ["http://a"], scheme: bearer}`)
	_, err := p.prepare()
	require.NoError(t, err)
}

// A file is parsed again whenever its text is another, whatever its size and time say.
func TestCredentialsFileIsReadAfresh(t *testing.T) {
	t.Parallel()
	entry := func(version string) string {
		return `credentials: {demo: {version: "` + version + `", env: KEY, origins: ["http://127.0.0.1:8090"]}}`
	}
	path := write(t, "credentials.yaml", entry("1"))
	written, err := os.Stat(path)
	require.NoError(t, err)
	file := CredentialsFile(path)

	for _, version := range []string{"1", "1", "2", "1"} {
		write(t, path, entry(version))
		require.NoError(t, os.Chtimes(path, written.ModTime(), written.ModTime()))
		credential, err := file.Credential(t.Context(), "demo")
		require.NoError(t, err)
		require.Equal(t, version, credential.Version)
		require.Equal(t, []string{"http://127.0.0.1:8090"}, credential.Origins)
		credential.Origins[0] = "http://127.0.0.1:1"
	}
	write(t, path, "credentials: {demo: {release: '1'}}")
	_, err = file.Credential(t.Context(), "demo")
	require.Error(t, err)
	require.NoError(t, os.Remove(path))
	_, err = file.Credential(t.Context(), "demo")
	require.ErrorIs(t, err, os.ErrNotExist)
}
