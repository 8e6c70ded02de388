package docscheck_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"

	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// What docs/embedding.md promises of codecs: they lie underneath, spec and decisions included.
func TestACodecLiesUnderneath(t *testing.T) {
	t.Parallel()
	env, spec := oddJob(t)
	env.SetDataConverter(converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), reversed{}))
	env.RegisterDelayedCallback(func() {
		env.SignalWorkflow(wire.SignalDecide, wire.Decision{
			Kind: wire.DecisionTreatAsPending, DecisionID: "d-1", EscalationID: openID(t, env), DecidedBy: "ana@example.com",
			Comment: "archiving is the last step", RawState: "archiving", StatusRequests: 4,
		})
	}, 10*time.Minute)

	env.ExecuteWorkflow(wire.WorkflowAwaitJob, spec)

	require.NoError(t, env.GetWorkflowError())
	var outcome wire.Outcome
	require.NoError(t, env.GetWorkflowResult(&outcome))
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
}

// What it says of data converters: JSON may look as they like, and anything else stops a wait where it is read.
func TestWhatIsReadRawHasToBeJSON(t *testing.T) {
	t.Parallel()
	plain := converter.NewJSONPayloadConverter()
	for name, test := range map[string]struct {
		give      converter.PayloadConverter
		complaint string // empty: none
	}{
		"indented json":              {indented{plain}, ""},
		"nothing is JSON":            {shifted{plain}, "the input is missing or not valid JSON"},
		"a spec is, a result is not": {some{shifted{plain}, is[wire.Prepared]}, "left to a worker of a newer version"},
		"nor is an answer":           {some{shifted{plain}, is[wire.PollResult]}, "left to a worker of a newer version"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, spec := oddJob(t)
			spec.Escalation.EscalateOn = []wire.Reason{}
			env.SetDataConverter(converter.NewCompositeDataConverter(test.give))

			env.ExecuteWorkflow(wire.WorkflowAwaitJob, spec)

			if test.complaint == "" {
				require.NoError(t, env.GetWorkflowError())
				return
			}
			require.ErrorContains(t, env.GetWorkflowError(), test.complaint)
		})
	}
}

// oddJob is a wait that meets a state which nobody listed.
func oddJob(t *testing.T) (*testsuite.TestWorkflowEnvironment, wire.Spec) {
	t.Helper()
	provider, err := waittest.NewProvider(waittest.ProviderOptions{Key: "test-key"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, provider.Close()) })
	require.NoError(t, provider.Set("exp_odd", waittest.Script(
		waittest.State("archiving"), waittest.State("archiving"), waittest.Succeeded("https://files.example.com/odd.csv"),
	)))
	return environment(t, provider, "exp_odd")
}

func openID(t *testing.T, env *testsuite.TestWorkflowEnvironment) string {
	t.Helper()
	answer, err := env.QueryWorkflow(wire.QueryEscalation)
	require.NoError(t, err)
	var open wire.EscalationView
	require.NoError(t, answer.Get(&open))
	return open.ID
}

// reversed is a codec: it keeps the plain payload inside, unreadable.
type reversed struct{}

func (reversed) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, 0, len(payloads))
	for _, payload := range payloads {
		plain, err := payload.Marshal()
		if err != nil {
			return nil, err
		}
		slices.Reverse(plain)
		out = append(out, &commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte("binary/reversed")}, Data: plain})
	}
	return out, nil
}

func (reversed) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, 0, len(payloads))
	for _, payload := range payloads {
		plain := slices.Clone(payload.GetData())
		slices.Reverse(plain)
		inner := &commonpb.Payload{}
		if err := inner.Unmarshal(plain); err != nil {
			return nil, err
		}
		out = append(out, inner)
	}
	return out, nil
}

// indented writes JSON with white space of its own.
type indented struct {
	*converter.JSONPayloadConverter
}

func (i indented) ToPayload(value any) (*commonpb.Payload, error) {
	payload, err := i.JSONPayloadConverter.ToPayload(value)
	if err == nil {
		payload.Data = slices.Concat([]byte(" \n"), payload.Data, []byte("\n"))
	}
	return payload, err
}

// shifted stands for every encoding that is not JSON: a type's own bytes, which only its converter reads.
type shifted struct {
	*converter.JSONPayloadConverter
}

func (s shifted) ToPayload(value any) (*commonpb.Payload, error) {
	payload, err := s.JSONPayloadConverter.ToPayload(value)
	if err == nil {
		payload.Data = append([]byte{0x01}, payload.Data...)
	}
	return payload, err
}

func (s shifted) FromPayload(payload *commonpb.Payload, into any) error {
	plain := &commonpb.Payload{Metadata: payload.GetMetadata(), Data: bytes.TrimPrefix(payload.GetData(), []byte{0x01})}
	return s.JSONPayloadConverter.FromPayload(plain, into)
}

// some shifts the values that it is told to, and leaves the others as JSON.
type some struct {
	shifted
	shifts func(value any) bool
}

func (s some) ToPayload(value any) (*commonpb.Payload, error) {
	if s.shifts(value) {
		return s.shifted.ToPayload(value)
	}
	return s.JSONPayloadConverter.ToPayload(value)
}

func is[T any](value any) bool {
	_, yes := value.(T)
	return yes
}
