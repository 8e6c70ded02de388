package startercmd

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

// What the wait itself cannot know is what its server says of what is under way.
func TestShowTellsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	const held, failure = "held back until 10:22:34Z by a 429 of https://api.example.com, nothing sent", "not delivered: pager (HTTP 500); attempt 3 is due"
	view := &wire.OperationView{Phase: wire.PhasePolling, Notice: &wire.NoticeView{Kind: wire.NotifyDecided, Pending: true}}
	var out bytes.Buffer
	require.NoError(t, writeOperation(&out, shown{Operation: view, HeldBack: held, Telling: failure}))
	require.Contains(t, out.String(), "next          "+held)
	require.Contains(t, out.String(), "messages      telling people (decided): "+failure)
}
