package statetables

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

func TestCheckSpec(t *testing.T) {
	t.Parallel()
	github := wire.Spec{Provider: "github-actions-run", Account: "octo/demo", ProviderJobID: "7", Params: map[string]string{"owner": "octo", "repo": "demo"}, CredentialRef: "c"}
	openai := wire.Spec{Provider: "openai-batch", Account: "org", ProviderJobID: "batch_1", CredentialRef: "c"}
	azure := wire.Spec{Provider: "azure-operation", Account: "sub", ProviderJobID: "op", CredentialRef: "c", StatusURL: "https://management.azure.com/x?api-version=1"}
	tests := []struct {
		name   string
		give   wire.Spec
		change func(*wire.Spec)
		want   string // empty: accepted
	}{
		{name: "as it should be", give: github},
		{name: "all it may say", give: github, change: func(s *wire.Spec) { s.ExpectedStates = []string{"completed/success", "completed/skipped"} }},
		{name: "a param is missing", give: github, change: func(s *wire.Spec) { s.Params = map[string]string{"owner": "octo"} }, want: `spec: params: repo is missing; github-actions-run wants it, matching ^[A-Za-z0-9._-]{1,100}$`},
		{name: "a param is not declared", give: openai, change: func(s *wire.Spec) { s.Params = map[string]string{"region": "eu"} }, want: `spec: params: "region" is not a param of openai-batch; it has none`},
		{name: "a param of any length is named in short", give: openai, change: func(s *wire.Spec) {
			s.Params = map[string]string{strings.Repeat("x", 60_000): "eu"}
		}, want: `spec: params: "` + strings.Repeat("x", 64) + `" is not a param`},
		{name: "a param does not match", give: github, change: func(s *wire.Spec) { s.Params = map[string]string{"owner": "octo/x", "repo": "demo"} }, want: `spec: params: owner "octo/x" does not match`},
		{name: "R14 a param that is a link", give: github, change: func(s *wire.Spec) {
			s.Params = map[string]string{"owner": "https://ana:secret@a.example/x?sig=secret#secret", "repo": "demo"}
		}, want: `spec: params: owner "https://a.example/x" does not match`},
		{name: "a param with a line behind it", give: github, change: func(s *wire.Spec) { s.Params = map[string]string{"owner": "octo\n", "repo": "demo"} }, want: `spec: params: owner "octo\n" does not match`},
		{name: "R45 a param of dots", give: github, change: func(s *wire.Spec) {
			s.Params, s.Account = map[string]string{"owner": "octo", "repo": ".."}, "octo/.."
		}, want: `spec: params.repo ".." cannot stand in a path`},
		{name: "R45 another account", give: github, change: func(s *wire.Spec) { s.Account = "octo" }, want: `spec: account "octo" must be "octo/demo"`},
		{name: "R45 an id of dots", give: openai, change: func(s *wire.Spec) { s.ProviderJobID = ".." }, want: `spec: job_id ".." cannot stand in a path`},
		{name: "R45 a dot", give: openai, change: func(s *wire.Spec) { s.ProviderJobID = "." }, want: `cannot stand in a path`},
		{name: "R45 no id", give: openai, change: func(s *wire.Spec) { s.ProviderJobID = "" }, want: `cannot stand in a path`},
		{name: "R45 slashes are no path", give: openai, change: func(s *wire.Spec) { s.ProviderJobID = "a//b/c" }},
		{name: "R45 slashes that lead upwards", give: openai, change: func(s *wire.Spec) { s.ProviderJobID = "../../x" }, want: `spec: job_id "../../x" cannot stand in a path`},
		{name: "R50 no credential", give: openai, change: func(s *wire.Spec) { s.CredentialRef = "" }, want: `spec: credential_ref is empty, but openai-batch wants a credential`},
		{name: "R4 an expected state that is no success", give: openai, change: func(s *wire.Spec) { s.ExpectedStates = []string{"done"} }, want: `spec: expected_states: "done" is not a success or partial state of openai-batch; these are completed, completed_with_failures`},
		{name: "R4 an expected state that is a failure", give: openai, change: func(s *wire.Spec) { s.ExpectedStates = []string{"failed"} }, want: `is not a success or partial state`},
		{name: "a status URL that is not asked for", give: openai, change: func(s *wire.Spec) { s.StatusURL = "https://api.openai.com/x" }, want: `spec: status_url is given`},
		{name: "the submission's URL", give: azure},
		{name: "a status URL that is missing", give: azure, change: func(s *wire.Spec) { s.StatusURL = "" }, want: `spec: status_url is empty`},
		{name: "R51 a query name that is not listed", give: azure, change: func(s *wire.Spec) { s.StatusURL += "&sig=hunter2" }, want: `spec: status_url: its query has a name that the table does not list; listed: api-version, p, t, c, s, h`},
		{name: "X3 a token in the query", give: azure, change: func(s *wire.Spec) { s.StatusURL += "&token=hunter2" }, want: `does not list`},
		{name: "X3 a password", give: azure, change: func(s *wire.Spec) { s.StatusURL = "https://u:hunter2@management.azure.com/x" }, want: `a user or a password`},
		{name: "R51 a query that cannot be read", give: azure, change: func(s *wire.Spec) { s.StatusURL += ";token=hunter2" }, want: `its query cannot be read`},
		{name: "X1 another origin is refused where it would be sent", give: azure, change: func(s *wire.Spec) { s.StatusURL = "http://169.254.169.254/latest/meta-data" }},
		{name: "another host by its param", give: azure, change: func(s *wire.Spec) {
			s.Params, s.StatusURL = map[string]string{"host": "eu.api.cognitive.microsoft.com"}, "https://eu.api.cognitive.microsoft.com/op?api-version=1"
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			spec := test.give
			if test.change != nil {
				test.change(&spec)
			}
			err := table(t, spec.Provider).CheckSpec(spec)
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.want)
			require.NotContains(t, err.Error(), "hunter2", "no error tells a URL")
		})
	}
}

// X1, R51: the spec stands, the request does not.
func TestAnotherOriginIsRefusedBeforeItIsSent(t *testing.T) {
	t.Parallel()
	for _, host := range []string{
		"169.254.169.254", "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "[fd00:ec2::254]", "2852039166", "0xa9fea9fe", "127.1",
		"metadata.google.internal", "management.azure.com.evil.example:443", "management.azure.com:8443",
	} {
		_, err := table(t, "azure-operation").StatusRequest(wire.Target{
			Provider: "azure-operation", Account: "a", ProviderJobID: "op-1", StatusURL: "http://" + host + "/latest/meta-data",
		})
		var rejected *URLRejectedError
		require.ErrorAs(t, err, &rejected, host)
		require.True(t, rejected.Elsewhere, host)
		require.NotContains(t, err.Error(), host)
	}
}

func TestCheckSpecJoinsFaults(t *testing.T) {
	t.Parallel()
	err := table(t, "openai-batch").CheckSpec(wire.Spec{ProviderJobID: "..", ExpectedStates: []string{"x"}})
	require.ErrorContains(t, err, "job_id")
	require.ErrorContains(t, err, "expected_states")
	require.ErrorContains(t, err, "credential_ref")
}

func TestFacts(t *testing.T) {
	t.Parallel()
	github := table(t, "github-actions-run")
	facts, err := github.Facts(wire.Spec{ProviderJobID: "7", Params: map[string]string{"owner": "octo", "repo": "demo"}})
	require.NoError(t, err)
	require.Equal(t, "https://github.com/octo/demo/actions/runs/7", facts.ConsoleURL)
	require.Equal(t, github.Digest(), facts.Digest)
	require.Equal(t, &wire.CancelFacts{
		States: []string{"queued", "in_progress", "requested", "pending", "waiting"}, ConfirmRequests: 10, ConfirmSeconds: 300,
	}, facts.Cancel)

	demo, err := table(t, "demo-export").Facts(wire.Spec{})
	require.NoError(t, err)
	require.Equal(t, wire.TableFacts{Digest: table(t, "demo-export").Digest(), Cancel: &wire.CancelFacts{ConfirmRequests: 4, ConfirmSeconds: 60}}, demo)
	trino, err := anyTable(t, "moving-url").Facts(wire.Spec{})
	require.NoError(t, err)
	require.True(t, trino.Cancel.Destructive)
	azure, err := table(t, "azure-operation").Facts(wire.Spec{})
	require.NoError(t, err)
	require.Nil(t, azure.Cancel, "D4: no cancel where none is documented")
}

func TestAdvice(t *testing.T) {
	t.Parallel()
	require.Equal(t, Advice{
		Schedule:     wire.Schedule{ExpectedP50Seconds: new(60), ExpectedP90Seconds: new(240)},
		FloorSeconds: 5, CapSeconds: 300, RetentionSeconds: 1800,
	}, anyTable(t, "numeric").Advice())
	azure := table(t, "azure-operation").Advice()
	require.Equal(t, 10, *azure.Schedule.InitialDelaySeconds)
	require.Equal(t, 60, *azure.Schedule.BaseDelaySeconds)
	require.Equal(t, 300, *azure.Schedule.MaxDelaySeconds)
	require.Nil(t, azure.Schedule.MinDelaySeconds)
	require.Zero(t, azure.RetentionSeconds, "it counts from the end, so no deadline lies behind it")
	require.Equal(t, Advice{}, table(t, "demo-export").Advice())
}
