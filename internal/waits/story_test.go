package waits_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/waits"
	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// chain is an audit of n entries, as operation links them.
func chain(n int) []wire.Entry {
	var entries []wire.Entry
	prev := ""
	for seq := 1; seq <= n; seq++ {
		deadline := noon.Add(time.Hour)
		entry := wire.Entry{Seq: seq, At: noon.Add(time.Duration(seq) * time.Minute), Event: wire.EventReminded, DeadlineAt: &deadline, Prev: prev}
		entry.Hash = operation.EntryHash(entry)
		prev = entry.Hash
		entries = append(entries, entry)
	}
	return entries
}

func TestStoryIsVerified(t *testing.T) {
	t.Parallel()
	whole := chain(5)
	head := whole[4].Hash
	changed := chain(5)
	changed[2].Reason = "another"
	for name, test := range map[string]struct {
		entries []wire.Entry
		head    string
		missing []waits.Gap
		broken  int
	}{
		"whole":          {whole, head, []waits.Gap{}, 0},
		"first run gone": {whole[2:], head, []waits.Gap{{FromSeq: 1, ToSeq: 2}}, 0},
		"one changed":    {changed, head, []waits.Gap{}, 3},
		"one left out":   {append(chain(2), whole[3:]...), head, []waits.Gap{}, 4},
		"last left out":  {whole[:4], head, []waits.Gap{}, 4},
		"nothing yet":    {nil, "", []waits.Gap{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told := waits.Story{Entries: test.entries, Head: test.head, Missing: []waits.Gap{}}
			told.Verify()
			require.Equal(t, test.missing, told.Missing)
			require.Equal(t, test.broken, told.BrokenAt)
		})
	}
}

func TestDaysCutAtMidnight(t *testing.T) {
	t.Parallel()
	entries := chain(4)
	entries[2].At = noon.Add(12 * time.Hour)
	entries[3].At = entries[2].At.Add(time.Hour)
	days := waits.Days(entries)
	require.Len(t, days, 2)
	require.Equal(t, "2026-11-29", waits.Day(days[0][0]))
	require.Equal(t, "2026-11-30", waits.Day(days[1][0]))
	require.Len(t, days[0], 2)
	require.Empty(t, waits.Days(nil))
}
