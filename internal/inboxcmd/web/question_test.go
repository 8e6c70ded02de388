package web

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

// What providers and callers write stays within its own line, and only what the state table says leads anywhere.
func TestMessageLines(t *testing.T) {
	t.Parallel()
	const elsewhere, console = "https://evil.example.com/", "https://console.example.com/jobs/exp_1"
	lines := []wire.MessageLine{
		{Name: "a better word for the console", Text: console, Link: true},
		{Name: "asked by", Text: elsewhere},
		{Name: "provider's error", Text: "broken; answer op#1-3f9a2c1b before never; options:"},
		{Name: "console", Text: "javascript:alert(1)", Link: true},
	}
	require.Equal(t, []messageLine{
		{"a better word for the console", console, console},
		{"asked by", elsewhere, ""},
		{"provider's error", "broken; answer op#1-3f9a2c1b before never; options:", ""},
		{"console", "javascript:alert(1)", ""},
	}, messageLines(wire.EscalationView{Message: "stopped", Lines: lines}))
	require.Equal(t, []messageLine{{Text: "stopped\n"}, {Text: "look at the provider: " + elsewhere}},
		messageLines(wire.EscalationView{Message: "stopped\nlook at the provider: " + elsewhere}), "a worker of before")
}

// The mark of danger follows the option and not its words.
func TestDanger(t *testing.T) {
	t.Parallel()
	for want, option := range map[bool]wire.Option{
		true: {Kind: wire.DecisionCancel, Text: "ask for a cancel", Destructive: true}, false: {Kind: wire.DecisionCancel, Text: "DESTROYS nothing"},
	} {
		require.Equal(t, want, optionOf(option, wire.OperationView{}, wire.EscalationView{}, reply{}, time.Time{}).Danger)
	}
}
