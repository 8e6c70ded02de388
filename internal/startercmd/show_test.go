package startercmd

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/mocks"

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

// Whoever is shown a question is told how to answer it.
func TestShowTellsHowToAnswer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		give wire.OperationView
		want string
	}{
		{
			wire.OperationView{Escalation: &wire.EscalationView{ID: "x1#1-01a2282b", Options: []wire.Option{{Kind: wire.DecisionClose}}}},
			"answer for instance with: starter close 'x1#1-01a2282b' --comment WHY\n",
		},
		{wire.OperationView{}, ""},
	} {
		c := mocks.NewClient(t)
		described(c, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING)
		viewed(t, c, test.give)
		var out, errs bytes.Buffer
		require.NoError(t, (&app{out: &out, err: &errs, name: "starter"}).show(t.Context(), testServer(c), askedWait, "", false))
		require.Equal(t, test.want, errs.String())
		require.NotContains(t, out.String(), "for instance")
	}
}
