package startercmd

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/waits"
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

func TestAuditSaysWhatItCannotShow(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	entries := chain(3)
	told := waits.Story{Entries: entries[2:], Head: entries[2].Hash, Missing: []waits.Gap{}}
	told.Verify()
	(&app{out: &out, err: &errs}).tell(told)
	require.Equal(t, `entries 1 to 2 can no longer be shown: their runs are past the namespace's retention
2026-11-29 (UTC)
`+operation.Story(entries[2])+"\n", out.String())
	require.Equal(t, "1 entries, hash chain verified, head "+entries[2].Hash+"\n", errs.String())
}
