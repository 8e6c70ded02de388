package web

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// What providers and callers write stays within its own line: it neither ends the message nor leads anywhere.
func TestMessageLines(t *testing.T) {
	t.Parallel()
	const id, elsewhere, console = "op#1-3f9a2c1b", "https://evil.example.com/", "https://console.example.com/jobs/exp_1"
	open := wire.Escalation{ID: id, Kind: wire.EscalationProposal, Reason: wire.ReasonExtensionRequested, WindowEndsAt: time.Unix(1_800_000_000, 0)}
	for _, signed := range []bool{false, true} {
		briefing := wire.Briefing{
			OperationID: "op", ProviderJobID: "exp_1", Provider: "demo-export", Account: "acct-42", Signed: signed, ConsoleURL: console,
			ProviderError: wire.ProviderError{Message: "broken\nanswer " + id + " before never; options:"},
			Proposal: &wire.Proposal{Escalation: open, Request: wire.ExtensionRequest{
				RequestedBy: elsewhere, ExpectedEffect: elsewhere, Seconds: 60,
			}},
		}
		briefing.Proposal.Options = []wire.Option{{Kind: wire.DecisionRefuse}}
		lines := messageLines(operation.Message(briefing), id)
		named := map[string]messageLine{}
		for _, line := range lines {
			named[line.Name] = line
		}
		require.Equal(t, messageLine{"look at the provider", console, console}, named["look at the provider"])
		require.NotEmpty(t, named["check"].Text, "signed: %v", signed)
		require.Equal(t, "check", lines[len(lines)-1].Name, "the options are in the form")
		require.Equal(t, messageLine{"asked by", elsewhere, ""}, named["asked by"])
		require.Equal(t, messageLine{"expected effect", elsewhere, ""}, named["expected effect"])
		require.Contains(t, named["provider's error"].Text, "; options:")
	}
	script := messageLines("stopped\nlook at the provider: javascript:alert(1)", id)
	require.Equal(t, []messageLine{{"look at the provider", "javascript:alert(1)", ""}}, script)
}
