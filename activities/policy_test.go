package activities

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// R29: the account's cap, else the provider's, else the worker's, else none.
func TestPolicyOfProviderAndAccount(t *testing.T) {
	t.Parallel()
	policy, err := LoadPolicy(write(t, "policy.yaml", `
max_deadline_seconds: 604800
max_status_requests: 1000
max_extensions: 0
grants: {seconds: 86400, status_requests: 200}
providers:
  openai-batch:
    min_base_delay_seconds: 30
    max_status_requests: 500
    accounts:
      org-42: {max_status_requests: 5000, grants: {seconds: 3600}}
`))
	require.NoError(t, err)
	none := 0
	want := operation.Policy{
		MaxDeadlineSeconds: 604800, MaxStatusRequests: 1000, MaxExtensions: &none,
		Grants: wire.GrantBounds{Seconds: 86400, StatusRequests: 200},
	}
	require.Equal(t, want, policy.of("demo-export", "org-42"))
	want.MaxStatusRequests, want.MinBaseDelaySeconds = 500, 30
	require.Equal(t, want, policy.of("openai-batch", "org-1"))
	want.MaxStatusRequests, want.Grants.Seconds = 5000, 3600
	require.Equal(t, want, policy.of("openai-batch", "org-42"))
	require.Equal(t, operation.Policy{}, Policy{}.of("openai-batch", "org-42"))
}

func TestPolicyRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                          "the file is empty",
		"max_requests: 3":           "line 1: a field that is not known",
		"max_status_requests: many": "line 1: a field that is not known, given twice, or of the wrong type",
		"max_status_requests: 0":    "policy: max_status_requests is 0, at least 1 is allowed; leave it out to cap nothing",
		"max_extensions: -1":        "max_extensions is -1",
		"grants: {seconds: -5}":     "grants.seconds is -5",
		"providers: {p: {min_base_delay_seconds: 0}}":                   `policy: provider "p": min_base_delay_seconds is 0`,
		"providers: {p: {accounts: {a: {max_transport_failures: -1}}}}": `policy: provider "p", account "a": max_transport_failures`,
	} {
		_, err := LoadPolicy(write(t, "policy.yaml", text))
		require.ErrorContains(t, err, want, text)
	}
}
