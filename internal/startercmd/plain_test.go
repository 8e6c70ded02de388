package startercmd

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

// evil clears a screen, sets a title, turns the direction of writing, and is no UTF-8 at its end.
const evil = "ben\x1b[2J\x1b]0;owned\x07\u202e\u009b2J\xff"

// shownAs is what a terminal is given of it.
const shownAs = `ben\x1b[2J\x1b]0;owned\x07\u202e\u009b2J\xff`

// Wherever the words of others are shown, they are plain.
func TestTheWordsOfOthersArePlain(t *testing.T) {
	t.Parallel()
	question := openQuestion("a", time.Hour)
	question.Escalation.ID, question.Escalation.Detail = evil+"#1-01234567", evil
	change := changes{at: watchedAt, open: []asked{question}, opened: []asked{question}, gone: []asked{question}, trouble: evil}
	decision := wire.Decision{Kind: wire.DecisionClose, DecidedBy: evil}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"outcome":    func(out *bytes.Buffer) error { return writeOutcome(out, wire.Outcome{DecidedBy: evil, Detail: evil}) },
		"submission": func(out *bytes.Buffer) error { return writeSubmitted(out, wire.SubmitOutcome{DecidedBy: evil}) },
		"table":      func(out *bytes.Buffer) error { return writeTable(out, [][]string{{"ID"}, question.row()[:1]}) },
		"lines":      func(out *bytes.Buffer) error { return (&lineChanges{out: out}).show(change) },
		"live":       func(out *bytes.Buffer) error { return (&liveTable{}).write(out, change, 80) },
		"say":        func(out *bytes.Buffer) error { (&app{err: out}).message(evil); return nil },
		"prompt":     func(out *bytes.Buffer) error { prompter{out: out}.printf("%s\n", evil); return nil },
		"error":      func(out *bytes.Buffer) error { report(hinted(errors.New(evil), "%s", evil), out); return nil },
		"applied": func(out *bytes.Buffer) error {
			return (&app{out: out}).decided(wire.DecisionReply{DecisionID: "d"}, &decisionFlags{decision: decision})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			require.NoError(t, write(&out))
			require.Contains(t, out.String(), shownAs)
			require.Equal(t, strings.ToValidUTF8(out.String(), "?"), out.String())
			require.NotContains(t, out.String(), "\x1b")
			require.NotContains(t, out.String(), "\u202e")
		})
	}
}

// Programs read the words as they were said.
func TestJSONStaysExact(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, (&app{out: &out}).printJSON(wire.Outcome{DecidedBy: "ben\x1b[2J\u202e"}))
	require.Contains(t, out.String(), "\"ben\\u001b[2J\u202e\"")
}
