package jobwait

import (
	"encoding/base64"
	"testing"

	"github.com/nexus-rpc/sdk-go/nexus"
	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

// Whoever may call an endpoint can write a token. It reaches no workflow that is not a wait.
func TestNexusCancelReachesWaitsAlone(t *testing.T) {
	t.Parallel()
	for name, token := range map[string]string{
		"another workflow": base64.RawURLEncoding.EncodeToString([]byte(`{"t":1,"ns":"default","wid":"payroll"}`)),
		"a fetch":          base64.RawURLEncoding.EncodeToString([]byte(`{"t":1,"ns":"default","wid":"jobwait-fetch/p/a/j/file"}`)),
		"no JSON":          base64.RawURLEncoding.EncodeToString([]byte("payroll")),
		"no base64":        "%%%",
		"empty":            "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := newAwaitOperation(nil).Cancel(t.Context(), token, nexus.CancelOperationOptions{})
			var refusal *nexus.HandlerError
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, nexus.HandlerErrorTypeBadRequest, refusal.Type)
		})
	}
	wait := base64.RawURLEncoding.EncodeToString([]byte(`{"t":1,"ns":"default","wid":"jobwait/p/a/j"}`))
	require.Equal(t, wire.WorkflowID("p", "a", "j"), workflowOf(wait))
}
