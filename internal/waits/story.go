package waits

import (
	"context"
	"slices"
	"time"

	commonpb "go.temporal.io/api/common/v1"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// AllRuns lets a story reach back to the first run that is left.
const AllRuns = 0

// Story is the audit of a wait as far as it can be shown.
type Story struct {
	WorkflowID string       `json:"workflow_id"`
	Entries    []wire.Entry `json:"entries"`
	// Head is the hash that the wait itself gives for its last entry.
	Head string `json:"head"`
	// Missing are entries that can no longer be shown.
	Missing []Gap `json:"missing"`
	// BrokenAt is the first entry that does not fit the chain; 0: it holds.
	BrokenAt int `json:"broken_at"`

	// Earlier says that there are runs before those that were asked, which a bound left out.
	Earlier bool `json:"-"`
}

// Gap is a row of entries that can no longer be shown.
type Gap struct {
	FromSeq int `json:"from_seq"`
	ToSeq   int `json:"to_seq"`
}

// Story asks the runs of a wait, from the given one back, at most as many as the bound says (AllRuns: every one that is
// left), and verifies the chain.
func (c Client) Story(ctx context.Context, bound time.Duration, workflowID, runID string, mostRuns int) (Story, error) {
	told := Story{WorkflowID: workflowID, Missing: []Gap{}, Entries: []wire.Entry{}}
	for asked := 0; runID != ""; asked++ {
		if mostRuns != AllRuns && asked == mostRuns {
			told.Earlier = true
			break
		}
		view, err := Ask[wire.AuditView](ctx, bound, c, workflowID, runID, wire.QueryAudit)
		if Gone(err) && asked > 0 {
			break
		}
		if err != nil {
			return Story{}, err
		}
		if asked == 0 {
			told.Head = view.Head
		}
		told.Entries = slices.Concat(view.Entries, told.Entries)
		if runID, err = c.before(ctx, workflowID, runID); err != nil {
			return Story{}, err
		}
	}
	told.Verify()
	return told, nil
}

// before is the run that continued as the given one; empty for the first, or where the history is gone.
func (c Client) before(ctx context.Context, workflowID, runID string) (string, error) {
	first, err := c.Started(ctx, &commonpb.WorkflowExecution{WorkflowId: workflowID, RunId: runID})
	if Gone(err) {
		return "", nil
	}
	return first.GetContinuedExecutionRunId(), err
}

// Verify holds the entries against their hashes, each other, and the wait's own head, and says what is missing before them.
func (s *Story) Verify() {
	if len(s.Entries) == 0 {
		return
	}
	first, last := s.Entries[0], s.Entries[len(s.Entries)-1]
	before := ""
	if first.Seq > 1 {
		s.Missing = append(s.Missing, Gap{FromSeq: 1, ToSeq: first.Seq - 1})
		before = first.Prev // what it leads back to is gone
	}
	s.BrokenAt = operation.VerifyChain(before, s.Entries)
	if s.BrokenAt == 0 && last.Hash != s.Head {
		s.BrokenAt = last.Seq
	}
}

// Days are the entries cut by the day (UTC) on which they fall, which the lines of a story do not name.
func Days(entries []wire.Entry) [][]wire.Entry {
	var days [][]wire.Entry
	for rest := entries; len(rest) > 0; {
		n := 1
		for n < len(rest) && Day(rest[n]) == Day(rest[0]) {
			n++
		}
		days, rest = append(days, rest[:n]), rest[n:]
	}
	return days
}

// Day is the day (UTC) of an entry.
func Day(entry wire.Entry) string { return entry.At.UTC().Format(time.DateOnly) }
