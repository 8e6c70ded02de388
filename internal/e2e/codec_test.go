package e2e_test

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"

	"github.com/jobwait/jobwait"
	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// R50: a team encrypts its payloads with a codec of its own. Waits start, are decided by update and by signal, continue as
// new and end; an owner is still told from another submission; and nothing of it can be read on the server.
func TestEncryptingCodec(t *testing.T) {
	t.Parallel()
	sealed := sealing(t)
	c, err := client.DialContext(within(t), client.Options{
		HostPort: restless.Server.Address, Namespace: restless.Namespace, Logger: bed.Quiet(), DataConverter: sealed,
		FailureConverter: temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
			DataConverter: sealed, EncodeCommonAttributes: true,
		}),
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	lab := restless.With(c, restless.Namespace)
	work(t, lab, bed.WorkerOptions{TaskQueue: "sealed"})
	w := plan{
		job: "sealed", queue: "sealed", bed: lab, converter: sealed,
		script: waittest.Script(waittest.State("readable-state").Times(2), waittest.Succeeded("https://files.example.com/readable-result")),
		spec: func(spec *wire.Spec) {
			spec.OperationID, spec.RequestFingerprint = "readable-operation", "sha256:readable"
			spec.Escalation.MaxExtensions = new(2)
		},
	}.prepare(t)
	w.run, err = jobwait.Start(w.ctx, c, w.spec, jobwait.StartOptions{TaskQueue: "sealed", DataConverter: sealed})
	require.NoError(t, err)
	t.Cleanup(w.replay)
	_, err = jobwait.Start(w.ctx, c, w.spec, jobwait.StartOptions{TaskQueue: "sealed", DataConverter: sealed})
	owned := ownedBy(t, err)
	require.Equal(t, "readable-operation", owned.OperationID)
	require.Equal(t, jobwait.FingerprintSame, owned.Fingerprint)

	first := untilOver(w, escalatedOtherThan("")).Escalation.ID
	require.Equal(t, wire.RefusalWrongEscalation, w.refused(extend("readable-escalation", "d-0")).Reason)
	w.decide(extend(first, "readable-decision"))
	second := untilOver(w, escalatedOtherThan(first)).Escalation.ID
	w.signal(wire.SignalExtend, plain(extend(second, "d-2")))
	outcome := w.outcome()
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, "https://files.example.com/readable-result", outcome.Result["file"])
	require.Equal(t, 2, outcome.ExtensionsUsed)

	places := map[string]string{"history": w.historyText()}
	described, err := c.DescribeWorkflow(w.ctx, w.id(), "")
	require.NoError(t, err)
	raw, err := proto.Marshal(described.RawResponse)
	require.NoError(t, err)
	places["description"] = string(raw)
	requireNoLeak(t, "readable", places)
	require.Equal(t, []string{"history"}, leaks("jobwait.Prepare", map[string]string{"history": places["history"]}), "the search sees what is in the clear")
}

func escalatedOtherThan(id string) func(wire.OperationView) bool {
	return func(view wire.OperationView) bool { return view.Escalation != nil && view.Escalation.ID != id }
}

// sealing is a data converter that encrypts.
func sealing(t *testing.T) converter.DataConverter {
	t.Helper()
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	block, err := aes.NewCipher(key)
	require.NoError(t, err)
	aead, err := cipher.NewGCMWithRandomNonce(block)
	require.NoError(t, err)
	return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), sealer{aead})
}

// sealer encrypts whole payloads, their metadata included.
type sealer struct{ aead cipher.AEAD }

const sealedEncoding = "binary/sealed"

func (s sealer) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(payloads))
	for i, payload := range payloads {
		plain, err := proto.Marshal(payload)
		if err != nil {
			return nil, err
		}
		out[i] = &commonpb.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(sealedEncoding)},
			Data:     s.aead.Seal(nil, nil, plain, nil),
		}
	}
	return out, nil
}

func (s sealer) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(payloads))
	for i, payload := range payloads {
		out[i] = payload
		if string(payload.GetMetadata()[converter.MetadataEncoding]) != sealedEncoding {
			continue
		}
		plain, err := s.aead.Open(nil, nil, payload.GetData(), nil)
		if err != nil {
			return nil, err
		}
		out[i] = new(commonpb.Payload)
		if err := proto.Unmarshal(plain, out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}
