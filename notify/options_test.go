package notify_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/notify"
)

// A file that is right gives what it says.
func TestLoad(t *testing.T) {
	t.Setenv("JOBWAIT_TEST_SLACK", "https://hooks.example.com/"+marker)
	t.Setenv("JOBWAIT_TEST_KEY", signing('a'))
	path := filepath.Join(t.TempDir(), "notify.yaml")
	require.NoError(t, os.WriteFile(path, []byte(`
base_url: https://inbox.example.com/jobs
channels:
  b-mail:
    mail: {server: "smtp.example.com:465", tls: implicit, from: "jobwait <jobwait@example.com>", to: [a@example.com, b@example.com], username: u, password: {env: JOBWAIT_TEST_KEY}, helo: worker.example.com}
    providers: [demo-export]
  a-slack: {slack: {url: {env: JOBWAIT_TEST_SLACK}}, kinds: [escalated, reminded], accounts: [acct-42]}
  c-hook: {webhook: {url: {env: JOBWAIT_TEST_SLACK}, secrets: [{env: JOBWAIT_TEST_KEY}], allow_http: true}}
`), 0o600))
	options, err := notify.Load(path)
	require.NoError(t, err)
	require.Equal(t, "https://inbox.example.com/jobs", options.BaseURL)
	require.Equal(t, []string{"a-slack", "b-mail", "c-hook"}, []string{options.Channels[0].Name, options.Channels[1].Name, options.Channels[2].Name})
	require.Equal(t, notify.TLSImplicit, options.Channels[1].Mail.TLS)
	require.True(t, options.Channels[2].Webhook.AllowHTTP)
	n, err := notify.New(t.Context(), options)
	require.NoError(t, err)
	require.Equal(t, []string{"demo-export"}, n.Providers())
}

// Whatever is wrong is told at the start, with the channel and the rule, and never with a value that may be secret.
func TestFaultyFiles(t *testing.T) {
	t.Setenv("JOBWAIT_TEST_URL", "https://hooks.example.com/x")
	t.Setenv("JOBWAIT_TEST_KEY", signing('a'))
	t.Setenv("JOBWAIT_TEST_HTTP", "http://hooks.example.com/"+marker)
	t.Setenv("JOBWAIT_TEST_LOCAL", "http://127.0.0.1:1/x")
	t.Setenv("JOBWAIT_TEST_USER", "https://u:"+marker+"@hooks.example.com/")
	t.Setenv("JOBWAIT_TEST_WORD", marker)
	t.Setenv("JOBWAIT_TEST_FTP", "ftp://hooks.example.com/"+marker)
	const fine = "slack: {url: {env: JOBWAIT_TEST_URL}}"
	mail := func(fields string) string {
		return "channels: {it: {mail: {server: 'smtp.example.com:587', from: a@example.com, to: [b@example.com], " + fields + "}}}"
	}
	for text, want := range map[string]string{
		"":                                      "the file is empty",
		"channels: {}":                          "channels has 0 entries, allowed is 1 to 20",
		"channels: {it: {}}":                    `channel "it": exactly one of slack, webhook and mail says how`,
		"channels: {IT: {" + fine + "}}":        `channel "IT": the name is not`,
		"channels: {it: {url: " + marker + "}}": "line 1: a field that is not known",
		"channels: {it: {slack: {url: " + marker + "}}}":                                                                          "line 1",
		"channels: {it: {slack: {}}}":                                                                                             `channel "it": url: exactly one of env and file`,
		"channels: {it: {slack: {url: {env: A, file: b}}}}":                                                                       "url: exactly one of env and file",
		"channels: {it: {slack: {url: {env: JOBWAIT_TEST_NONE}}}}":                                                                `channel "it": url: env JOBWAIT_TEST_NONE: the value is empty`,
		"channels: {it: {slack: {url: {file: nowhere}}}}":                                                                         "url: file nowhere cannot be read",
		"channels: {it: {slack: {url: {env: JOBWAIT_TEST_WORD}}}}":                                                                "url: it is not an absolute URL",
		"channels: {it: {slack: {url: {env: JOBWAIT_TEST_FTP}}}}":                                                                 "url: the scheme is neither https nor http",
		"channels: {it: {slack: {url: {env: JOBWAIT_TEST_USER}}}}":                                                                "url: it has a user or a password",
		"channels: {it: {slack: {url: {env: JOBWAIT_TEST_HTTP}}}}":                                                                "say allow_http: true",
		"channels: {it: {slack: {url: {env: JOBWAIT_TEST_HTTP}, allow_http: true}}}":                                              "",
		"channels: {it: {slack: {url: {env: JOBWAIT_TEST_LOCAL}}}}":                                                               "",
		"channels: {it: {" + fine + ", kinds: [asked]}}":                                                                          `kind "asked" is not one of escalated, reminded, proposed, closed, decided, ended`,
		"channels: {it: {" + fine + ", kinds: [decided]}}":                                                                        `no channel takes the kind "escalated"`,
		"channels: {it: {webhook: {url: {env: JOBWAIT_TEST_URL}}}}":                                                               "secrets has 0 entries, allowed is 1 to 5",
		"channels: {it: {webhook: {url: {env: JOBWAIT_TEST_URL}, secrets: [{}]}}}":                                                "secret 1: exactly one of env and file",
		"channels: {it: {webhook: {url: {env: JOBWAIT_TEST_URL}, secrets: [{env: JOBWAIT_TEST_KEY}, {env: JOBWAIT_TEST_WORD}]}}}": `secret 2: it is not "whsec_" and the base64 of 24 to 64 bytes`,
		"channels: {it: {" + fine + ", webhook: {url: {env: A}, secrets: [{env: A}]}}}":                                           "exactly one of slack, webhook and mail",
		"base_url: inbox.example.com\nchannels: {it: {" + fine + "}}":                                                             `base_url "inbox.example.com" is not an absolute`,
		"base_url: https://u:p@inbox.example.com\nchannels: {it: {" + fine + "}}":                                                 "base_url has a user",
		"base_url: https://inbox.example.com?x=1\nchannels: {it: {" + fine + "}}":                                                 "base_url has a user, a query",
		mail(""):            "",
		mail("tls: ssl"):    `tls "ssl" is not one of starttls, implicit and none`,
		mail("username: u"): "username and password belong together",
		mail("password: {env: JOBWAIT_TEST_KEY}"):                                                           "username and password belong together",
		mail("tls: none, username: u, password: {env: JOBWAIT_TEST_KEY}"):                                   "a password would go in clear",
		mail("username: u, password: {env: JOBWAIT_TEST_NONE}"):                                             "password: env JOBWAIT_TEST_NONE: the value is empty",
		"channels: {it: {mail: {server: smtp.example.com, from: a@b.c, to: [d@e.f]}}}":                      `server "smtp.example.com" is not host:port`,
		"channels: {it: {mail: {server: 'smtp.example.com:0', from: a@b.c, to: [d@e]}}}":                    "is not host:port",
		"channels: {it: {mail: {server: 'smtp.example.com:25', to: [d@e.f]}}}":                              `from "" is not an address`,
		"channels: {it: {mail: {server: 'smtp.example.com:25', from: a@b.c}}}":                              "to has 0 entries, allowed is 1 to 20",
		"channels: {it: {mail: {server: 'smtp.example.com:25', from: a@b.c, to: [me]}}}":                    `to "me" is not an address`,
		`channels: {it: {mail: {server: 'smtp.example.com:25', from: a@b.c, to: ["a@b.c\r\nBcc: d@e.f"]}}}`: "is not an address",
	} {
		path := filepath.Join(t.TempDir(), "notify.yaml")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		options, err := notify.Load(path)
		if err == nil {
			_, err = notify.New(t.Context(), options)
		}
		if want == "" {
			require.NoError(t, err, text)
			continue
		}
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, "notify: ", text)
		require.NotContains(t, err.Error(), marker, text)
	}
	_, err := notify.Load("nowhere.yaml")
	require.ErrorIs(t, err, os.ErrNotExist)
}
