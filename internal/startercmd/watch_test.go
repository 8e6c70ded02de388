package startercmd

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

var watchedAt = time.Date(2025, 4, 18, 10, 20, 0, 0, time.UTC)

func openQuestion(id string, left time.Duration) asked {
	return asked{WorkflowID: "jobwait/p/a/" + id, OperationID: id, Escalation: &wire.EscalationView{
		ID: id + "#1-01234567", Reason: wire.ReasonUnknownState, WindowEndsAt: watchedAt.Add(left),
		Options: []wire.Option{{Kind: wire.DecisionExtend}, {Kind: wire.DecisionClose}},
	}}
}

// Elsewhere than on a terminal, each change is a line, and trouble is told once.
func TestWatchByLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	lines := &lineChanges{out: &out}
	first := openQuestion("a", time.Hour)
	require.NoError(t, lines.show(changes{at: watchedAt, open: []asked{first}, opened: []asked{first}}))
	require.NoError(t, lines.show(changes{at: watchedAt.Add(time.Second), open: []asked{first}, trouble: "the server is away"}))
	require.NoError(t, lines.show(changes{at: watchedAt.Add(2 * time.Second), open: []asked{first}, trouble: "the server is away"}))
	require.NoError(t, lines.show(changes{at: watchedAt.Add(3 * time.Second), gone: []asked{first}}))
	require.Equal(t, `10:20:00  open  a#1-01234567  unknown_state  answer before 2025-04-18 11:20:00Z  extend, close
10:20:01  the server is away
10:20:03  gone  a#1-01234567  unknown_state
`, out.String())
}

func TestWatchAsJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	first := openQuestion("a", time.Hour)
	viewer := (&app{out: &out}).viewer(true)
	require.NoError(t, viewer(changes{at: watchedAt, opened: []asked{first}}))
	require.NoError(t, viewer(changes{at: watchedAt, gone: []asked{first}}))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 2)
	for i, event := range []string{"open", "gone"} {
		var got jsonChange
		require.NoError(t, json.Unmarshal([]byte(lines[i]), &got))
		require.Equal(t, event, got.Event)
		require.Equal(t, "a", got.OperationID)
		require.Equal(t, "a#1-01234567", got.Escalation.ID)
	}
}

// On a terminal the list is drawn over the one before, within its width and height.
func TestWatchOnATerminal(t *testing.T) {
	t.Parallel()
	table := &liveTable{name: "jobwait"}
	unasked := asked{WorkflowID: "w", OperationID: "b", Unasked: "no worker", DecideBy: new(watchedAt.Add(-time.Second))}
	var out bytes.Buffer
	require.NoError(t, table.write(&out, changes{at: watchedAt, open: []asked{unasked, openQuestion("a", 65*time.Minute)}, trouble: "1 wait could not be asked"}, 80))
	require.Equal(t, `10:20:00  2 questions are open; Ctrl-C ends

ESCALATION    REASON         LEFT   OPTIONS
b                            none   (could not be asked)
a#1-01234567  unknown_state  1h05m  extend, close

`+"`jobwait decide ID` answers one"+`

1 wait could not be asked
`, out.String())

	first := table.screen("a\nb\n", 0, 0)
	require.Equal(t, clearScreen+cursorHome+"a"+clearLine+"\nb"+clearLine+"\n"+clearBelow, first)
	require.NotContains(t, table.screen("a\n", 0, 0), clearScreen)
	require.Contains(t, table.screen("1\n2\n3\n4\n5\n6\n", 4, 80), "2"+clearLine+"\n... 4 more lines"+clearLine)
	require.Equal(t, "nothing waits for an answer", openText(0))
	require.Equal(t, "?", leftText(time.Time{}, watchedAt))
}

// The most urgent question is first; one that nobody could be asked about stands where visibility puts it.
func TestMostUrgentFirst(t *testing.T) {
	t.Parallel()
	found := []asked{
		openQuestion("late", 2*time.Hour), openQuestion("soon", time.Minute), {OperationID: "middle", DecideBy: new(watchedAt.Add(time.Hour))},
	}
	var order []string
	for _, one := range urgentFirst(found) {
		order = append(order, one.OperationID)
	}
	require.Equal(t, []string{"soon", "middle", "late"}, order)
}

// A long id takes several rows of a terminal, and the list still keeps to its height.
func TestLongIDsKeepToTheHeight(t *testing.T) {
	t.Parallel()
	const rows, columns = 10, 80
	table := &liveTable{name: "jobwait"}
	long, wide := openQuestion(strings.Repeat("x", 200), time.Hour), openQuestion(strings.Repeat("日", 70), time.Hour)
	for _, first := range []asked{long, wide} {
		var text strings.Builder
		require.NoError(t, table.write(&text, changes{at: watchedAt, open: []asked{first, openQuestion("b", 2*time.Hour)}}, columns))
		drawn := table.screen(text.String(), rows, columns)
		require.Contains(t, drawn, "... ")
		used := 0
		for line := range strings.Lines(strings.NewReplacer(clearLine, "", clearScreen, "", cursorHome, "", clearBelow, "", "日", "##").Replace(drawn)) {
			used += max(1, (len(strings.TrimSuffix(line, "\n"))+columns-1)/columns)
		}
		require.Less(t, used, rows)
	}
	require.Equal(t, []string{"1", "2", "3"}, fitting([]string{"1", "2", "3"}, 3, columns))
}
