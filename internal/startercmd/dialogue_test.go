package startercmd

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

// What somebody typed stands once more above the last question.
func TestWhatWasTypedIsConfirmed(t *testing.T) {
	t.Parallel()
	d := &dialogue{}
	costs := strings.Join(d.costs(wire.Option{Text: "wait for a job that was found"}, wire.Decision{
		Kind: wire.DecisionAttach, ProviderJobID: "exp_7", StatusURL: "https://example.com/exp_7", Params: map[string]string{"region": "eu"}, Comment: "found it",
	}), "\n")
	require.Equal(t, `wait for a job that was found
job: "exp_7"
URL of its status: "https://example.com/exp_7"
param region: "eu"
comment: found it`, costs)
	for _, option := range []wire.Option{{Text: "go on"}, {Text: "go on", MaxSeconds: 60}} {
		costs := d.costs(option, wire.Decision{Kind: wire.DecisionUseCredential, CredentialRef: "second", Comment: "the first has ended"})
		require.Contains(t, costs, `credential: "second"`)
	}
}

// The options stand once, numbered, below the message of a worker that tells its parts.
func TestMessageWithoutOptions(t *testing.T) {
	t.Parallel()
	open := wire.EscalationView{Message: "stopped\ncheck: why?\nanswer; options:\n  close: end it"}
	require.Equal(t, open.Message, withoutOptions(open))
	open.Headline, open.Lines, open.Ask = "stopped", []wire.MessageLine{{Name: "check", Text: "why?"}}, "answer; options:"
	require.Equal(t, "stopped\ncheck: why?\nanswer; options:", withoutOptions(open))
}
