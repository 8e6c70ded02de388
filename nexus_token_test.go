package jobwait

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/nexus-rpc/sdk-go/nexus"
	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

// Whoever may call an endpoint can write a token. It reaches nothing that the operation does not start.
func TestNexusCancelReachesItsOwnAlone(t *testing.T) {
	t.Parallel()
	token := func(workflowID string) string {
		return base64.RawURLEncoding.EncodeToString([]byte(`{"t":1,"ns":"default","wid":"` + workflowID + `"}`))
	}
	await, submit := newAwaitOperation(nil), newSubmitOperation(nil)
	for name, test := range map[string]struct {
		of    nexus.RegisterableOperation
		token string
	}{
		"another workflow":       {await, token("payroll")},
		"a fetch":                {await, token("jobwait-fetch/p/a/j/file")},
		"a submission":           {await, token(wire.SubmitWorkflowID("p", "a", "s"))},
		"a wait for submitting":  {submit, token(wire.WorkflowID("p", "a", "j"))},
		"payroll for submitting": {submit, token("payroll")},
		"no JSON":                {await, base64.RawURLEncoding.EncodeToString([]byte("payroll"))},
		"no base64":              {await, "%%%"},
		"empty":                  {submit, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var err error
			switch operation := test.of.(type) {
			case *workflowOperation[wire.Outcome]:
				err = operation.Cancel(t.Context(), test.token, nexus.CancelOperationOptions{})
			case *workflowOperation[wire.SubmitOutcome]:
				err = operation.Cancel(t.Context(), test.token, nexus.CancelOperationOptions{})
			}
			var refusal *nexus.HandlerError
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, nexus.HandlerErrorTypeBadRequest, refusal.Type)
		})
	}
	require.Equal(t, wire.WorkflowID("p", "a", "j"), workflowOf(token("jobwait/p/a/j")))
}

func TestSameSubmission(t *testing.T) {
	t.Parallel()
	spec := func(body string, params map[string]string) wire.SubmitSpec {
		return wire.SubmitSpec{Body: json.RawMessage(body), Params: params}
	}
	for name, test := range map[string]struct {
		a, b wire.SubmitSpec
		same bool
	}{
		"spelt otherwise": {spec(`{"a":1,"b":[2]}`, nil), spec(`{ "b": [2], "a": 1 }`, map[string]string{}), true},
		"no body":         {spec("", nil), spec("null", nil), true},
		"another value":   {spec(`{"a":1}`, nil), spec(`{"a":2}`, nil), false},
		"large numbers":   {spec(`{"a":9007199254740992}`, nil), spec(`{"a":9007199254740993}`, nil), false},
		"another param":   {spec("", map[string]string{"region": "eu"}), spec("", map[string]string{"region": "us"}), false},
		"body or none":    {spec(`{}`, nil), spec("", nil), false},
		"in its place":    {wire.SubmitSpec{Predecessor: &wire.Predecessor{DecidedBy: "ana"}}, wire.SubmitSpec{Predecessor: &wire.Predecessor{DecidedBy: "ben"}}, true},
		"a successor":     {wire.SubmitSpec{Predecessor: &wire.Predecessor{}}, spec("", nil), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.same, sameSubmission(test.a, test.b))
		})
	}
}
