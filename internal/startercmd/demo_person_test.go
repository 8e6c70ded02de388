package startercmd

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

func atTerminal(lines string) (*personAtTerminal, *bytes.Buffer) {
	var out bytes.Buffer
	screen := newScreen(&out)
	return &personAtTerminal{
		prompter: prompter{out: screen.out, lines: readLines(strings.NewReader(lines))}, screen: screen, substitute: &simulatedPerson{screen: screen},
	}, &out
}

var demoQuestion = wire.EscalationView{ID: "op#1-01234567", Options: []wire.Option{
	{Kind: wire.DecisionExtend, MaxSeconds: 600, MaxStatusRequests: 10},
	{Kind: wire.DecisionTreatAsPending, MaxSeconds: 600, MaxStatusRequests: 10},
	{Kind: wire.DecisionClose},
}}

func TestAnOptionIsChosenByNumberOrWord(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]wire.DecisionKind{
		"1": wire.DecisionExtend, "": "", "3": wire.DecisionClose, "close": wire.DecisionClose, "Close": wire.DecisionClose,
		"treat_as_pending": wire.DecisionTreatAsPending, "treat-as-pending": wire.DecisionTreatAsPending, "2": wire.DecisionTreatAsPending,
		"0": "", "4": "", "cancel": "", "treat as pending?": "",
	} {
		option, ok := chosen(demoQuestion.Options, line)
		require.Equal(t, want, option.Kind, line)
		require.Equal(t, want != "", ok, line)
	}
}

func TestWordsAtTheTerminal(t *testing.T) {
	t.Parallel()
	p, out := atTerminal("maybe\nextend\nmany\n3\n\n")
	decision, err := p.decide(t.Context(), &tale{label: "slow"}, demoQuestion)
	require.NoError(t, err)
	require.Equal(t, []any{wire.DecisionExtend, 3, 120}, []any{decision.Kind, decision.StatusRequests, decision.Seconds})
	require.Contains(t, out.String(), `"maybe" is neither a number from 1 to 3 nor one of extend, treat_as_pending, close`)
	require.Contains(t, out.String(), `"many" is not a number from 0 to 10`)
}

func TestTheEndOfInputIsTold(t *testing.T) {
	t.Parallel()
	p, out := atTerminal("")
	for range 2 {
		decision, err := p.decide(t.Context(), &tale{label: "slow", answer: wire.Decision{Kind: wire.DecisionExtend}}, demoQuestion)
		require.NoError(t, err)
		require.Equal(t, demoApprover, decision.DecidedBy)
	}
	require.Equal(t, 1, strings.Count(out.String(), "standard input has ended: from here on demo approver answers in your place"))
}
