package access_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/inboxcmd/access"
)

func TestProxyBelievesItsAddressesAlone(t *testing.T) {
	t.Parallel()
	proxy, err := access.NewProxy(access.ProxySettings{
		Addresses: []string{"10.1.2.3", "192.168.7.0/24", "2001:db8::/64"}, NameHeader: "X-Forwarded-Email", GroupsHeader: "X-Forwarded-Groups",
	})
	require.NoError(t, err)
	for remote, trusted := range map[string]bool{
		"10.1.2.3:55000": true, "10.1.2.4:55000": false, "192.168.7.200:1": true, "192.168.8.1:1": false,
		"[2001:db8::17]:1": true, "[2001:db8:1::17]:1": false, "[::ffff:10.1.2.3]:1": true, "@": false, "": false,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.RemoteAddr = remote
		r.Header.Set("X-Forwarded-Email", "ana@example.com")
		r.Header.Set("X-Forwarded-Groups", "oncall, , exports")
		person, err := proxy.Identify(r)
		if !trusted {
			require.ErrorAs(t, err, new(*access.NobodyError), remote)
			continue
		}
		require.NoError(t, err, remote)
		require.Equal(t, access.Person{Name: "ana@example.com", Groups: []string{"oncall", "exports"}}, person)
		r.Header.Add("X-Forwarded-Email", "cyd@example.com")
		_, err = proxy.Identify(r)
		require.EqualError(t, err, "The proxy does not say who you are, or says it twice.")
		r.Header.Set("X-Forwarded-Email", "ana@example.com")
		r.Header.Add("X-Forwarded-Groups", "admins")
		_, err = proxy.Identify(r)
		require.EqualError(t, err, "The proxy says twice which groups you are in.", "one of them may be what the person sent")
	}
}

// What is wrong in an access file is told with file and place.
func TestFileRefuses(t *testing.T) {
	t.Parallel()
	rules := "\nrules: [{people: [ana], answers: [any]}]\n"
	proxy := "sign_in: {proxy: {addresses: [10.0.0.1], name_header: X-Name}}"
	for text, want := range map[string]string{
		proxy + rules: "",
		"sign_in: {oidc: {issuer: https://id.example.com, client_id: inbox}}" + rules: "",
		"": ": the file is empty",
		"rules: [{people: [ana], answers: [any]}]": ": sign_in is missing: give oidc or proxy",
		proxy:                                ": rules is missing: without one nobody may see anything",
		proxy + "\nrules: [{people: [ana]}]": ": rule 1: answers is missing: list the kinds that are allowed, [any] for all, [] to show the waits only",
		proxy + "\nrules: [{people: [ana], answer: [any]}]":                                                            ": line 2: a field that is not known, given twice, or of the wrong type",
		"sign_in: {proxy: {name_header: X-Name}}" + rules:                                                              ": sign_in: proxy: addresses is missing: list those that the proxy connects from",
		"sign_in: {proxy: {addresses: [10.0.0.1]}}" + rules:                                                            ": sign_in: proxy: name_header is missing: name the header that has the person, such as X-Forwarded-Email",
		"sign_in: {proxy: {addresses: [10.0.0], name_header: X-Name}}" + rules:                                         `: sign_in: proxy: addresses: "10.0.0" is neither an address nor a network such as 10.1.2.0/24`,
		"sign_in: {proxy: {addresses: [0.0.0.0/0], name_header: X-Name}}" + rules:                                      `: sign_in: proxy: addresses: "0.0.0.0/0" is everybody, who could then say to be anybody`,
		"sign_in: {proxy: {addresses: [10.0.0.1], name_header: X, sign_out_url: 'javascript:alert(1)'}}" + rules:       `: sign_in: proxy: sign_out_url "javascript:alert(1)" is neither a path nor an https address`,
		"sign_in: {oidc: {client_id: inbox}}" + rules:                                                                  ": sign_in: oidc: issuer is missing",
		"sign_in: {oidc: {issuer: http://id.example.com, client_id: inbox}}" + rules:                                   `: sign_in: oidc: issuer "http://id.example.com" is not an https address`,
		"sign_in: {oidc: {issuer: https://id.example.com}}" + rules:                                                    ": sign_in: oidc: client_id is missing",
		"sign_in: {oidc: {issuer: https://id.example.com, client_id: i, session_hours: 25}}" + rules:                   ": sign_in: oidc: session_hours is 25, allowed is 1 to 24",
		"sign_in: {oidc: {issuer: https://id.example.com, client_id: i, trusted_proxies: [10.0.0.1, '::/0']}}" + rules: `: sign_in: oidc: trusted_proxies: "::/0" is everybody, who could then say to be anybody`,
		"sign_in: {oidc: {issuer: https://id.example.com, client_id: i}, proxy: {}}" + rules:                           ": sign_in has both oidc and proxy: people are known in one way",
	} {
		path := filepath.Join(t.TempDir(), "access.yaml")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := access.ReadFile(path)
		if want == "" {
			require.NoError(t, err, text)
			continue
		}
		require.EqualError(t, err, "access: "+path+want)
	}
}

// A client's secret is named and never written down; what cannot be read is told without it.
func TestClientSecret(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "access.yaml")
	origin := &url.URL{Scheme: "https", Host: "inbox.example.com"}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret"), []byte("s3cret\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "empty"), nil, 0o600))
	t.Setenv("INBOX_TEST_SECRET", "s3cret")
	for where, want := range map[string]string{
		"{file: secret}": "", "{env: INBOX_TEST_SECRET}": "", "{env: INBOX_TEST_NONE}": "env INBOX_TEST_NONE has no value",
		"{file: empty}": "file empty has no value", "{file: none}": "open " + dir + "/none: no such file or directory",
		"{file: secret, env: INBOX_TEST_SECRET}": "exactly one of env and file says where the value is", "{}": "exactly one of env and file says where the value is",
	} {
		text := "sign_in: {oidc: {issuer: https://id.example.com, client_id: inbox, client_secret: " + where + "}}\nrules: [{people: [ana], answers: [any]}]\n"
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		file, err := access.ReadFile(path)
		require.NoError(t, err)
		_, err = file.Gate(path, origin, slog.New(slog.DiscardHandler))
		if want == "" {
			require.NoError(t, err, where)
			continue
		}
		require.EqualError(t, err, "access: "+path+": sign_in: oidc: client_secret: "+want)
	}
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{
		"https://inbox.example.com": true, "https://inbox.example.com:8443/": true, "http://127.0.0.1:8092": true, "http://localhost:8092": true,
		"http://inbox.example.com": false, "inbox.example.com": false, "https://inbox.example.com/inbox": false, "https://a@b": false, "": false, "https://x?y": false,
	} {
		_, err := access.Origin(text)
		require.Equal(t, good, err == nil, text)
	}
}

// An origin is written as browsers write it, which requests are compared with.
func TestOriginAsBrowsersSayIt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://Inbox.Example.com": "https://inbox.example.com", "HTTPS://inbox.example.com:443/": "https://inbox.example.com",
		"https://inbox.example.com:8443": "https://inbox.example.com:8443", "https://inbox.example.com:80": "https://inbox.example.com:80",
		"https://inbox.example.com:": "https://inbox.example.com", "http://localhost:80": "http://localhost", "http://localhost:443": "http://localhost:443",
		"http://[::1]:80": "http://[::1]", "https://[2001:DB8::1]:443": "https://[2001:db8::1]",
	} {
		origin, err := access.Origin(text)
		require.NoError(t, err, text)
		require.Equal(t, want, origin.String(), text)
	}
	_, err := access.Origin("https://:443")
	require.Error(t, err)
}

// The file that the containers begin with can be used as it stands, but for its names.
func TestDeployedFile(t *testing.T) {
	t.Parallel()
	file, err := access.ReadFile(filepath.Join("..", "..", "..", "deploy", "access.yaml"))
	require.NoError(t, err)
	require.True(t, file.Policy().MayAnswer(access.Person{Name: "ana", Groups: []string{"exports-oncall"}}, "demo-export", "acct-42", "extend"))
	require.False(t, file.Policy().MayAnswer(access.Person{Name: "dan", Groups: []string{"auditors"}}, "demo-export", "acct-42", "extend"))
}
