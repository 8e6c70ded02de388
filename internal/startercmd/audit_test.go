package startercmd

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

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

func TestAuditIsVerified(t *testing.T) {
	t.Parallel()
	whole := chain(5)
	head := whole[4].Hash
	changed := chain(5)
	changed[2].Reason = "another"
	for name, test := range map[string]struct {
		entries []wire.Entry
		head    string
		missing []gap
		broken  int
	}{
		"whole":          {whole, head, []gap{}, 0},
		"first run gone": {whole[2:], head, []gap{{FromSeq: 1, ToSeq: 2}}, 0},
		"one changed":    {changed, head, []gap{}, 3},
		"one left out":   {append(chain(2), whole[3:]...), head, []gap{}, 4},
		"last left out":  {whole[:4], head, []gap{}, 4},
		"nothing yet":    {nil, "", []gap{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told := story{Entries: test.entries, Head: test.head, Missing: []gap{}}
			told.verify()
			require.Equal(t, test.missing, told.Missing)
			require.Equal(t, test.broken, told.BrokenAt)
		})
	}
}

func TestAuditSaysWhatItCannotShow(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	entries := chain(3)
	told := story{Entries: entries[2:], Head: entries[2].Hash, Missing: []gap{}}
	told.verify()
	(&app{out: &out, err: &errs}).tell(told)
	require.Equal(t, `entries 1 to 2 can no longer be shown: their runs are past the namespace's retention
2026-11-29 (UTC)
`+operation.Story(entries[2])+"\n", out.String())
	require.Equal(t, "1 entries, hash chain verified, head "+entries[2].Hash+"\n", errs.String())
}
