package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/jobwait/jobwait"
	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// R40: a signal that the worker's codec cannot open (sealed with another key, say) is refused as unparsable, and holds up
// neither what comes behind it nor the wait.
func TestSignalThatTheCodecCannotOpen(t *testing.T) {
	t.Parallel()
	sealed := sealing(t)
	c, err := client.DialContext(within(t), client.Options{
		HostPort: shared.Server.Address, Namespace: shared.Namespace, Logger: bed.Quiet(), DataConverter: sealed,
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	lab := shared.With(c, shared.Namespace)
	work(t, lab, bed.WorkerOptions{TaskQueue: "unopened"})
	w := plan{
		job: "unopened", queue: "unopened", bed: lab, converter: sealed,
		script: waittest.Script(waittest.State("running").Times(4), result("unopened")),
	}.prepare(t)
	w.run, err = jobwait.Start(w.ctx, c, w.spec, jobwait.StartOptions{TaskQueue: "unopened", DataConverter: sealed})
	require.NoError(t, err)
	w.requests(1)
	for range 2 {
		require.NoError(t, shared.Client.SignalWorkflow(w.ctx, w.id(), "", wire.SignalDecide, converter.NewRawValue(&commonpb.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(sealedEncoding)}, Data: []byte("another key"),
		})))
	}
	w.signal(wire.SignalDecide, decision(wire.DecisionClose, "x#1", "d-1"))
	require.Equal(t, wire.StatusSucceeded, w.outcome().Status)
	var refused []string
	for _, entry := range w.audit() {
		if entry.Event == wire.EventDecisionRefused {
			refused = append(refused, entry.Reason)
		}
	}
	require.Equal(t, []string{"unparsable", "unparsable", "not_open"}, refused)
	w.replay()
}
