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

func TestAuditSaysWhatItCannotShow(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	deadline := noon.Add(time.Hour)
	last := wire.Entry{Seq: 3, At: noon, Event: wire.EventReminded, DeadlineAt: &deadline}
	told := waits.Story{Entries: []wire.Entry{last}, Head: "sha256:3a", Missing: []waits.Gap{{FromSeq: 1, ToSeq: 2}}}
	(&app{out: &out, err: &errs}).tell(told)
	require.Equal(t, `entries 1 to 2 can no longer be shown: their runs are past the namespace's retention
2026-11-29 (UTC)
`+operation.Story(last)+"\n", out.String())
	require.Equal(t, "1 entries, hash chain verified, head sha256:3a\n", errs.String())
}
