package startercmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

func (a *app) auditCommand() *cobra.Command {
	var id target
	var runID string
	var asJSON bool
	command := &cobra.Command{
		Use:   "audit",
		Short: "tell the story of a wait, and verify that it is whole",
		Long: `Audit tells every decision of a wait with its cause, over all runs of its workflow, and verifies the hash chain that links
the entries. Runs that continued as new are kept for the namespace's retention; audit says plainly which entries went with
them. It ends with exit code 1 if the chain does not hold.`,
		RunE: func(command *cobra.Command, _ []string) error {
			return a.withWait(command.Context(), &id, func(ctx context.Context, s *server, workflowID string) error {
				return a.audit(ctx, s, workflowID, runID, asJSON)
			})
		},
	}
	id.define(command)
	command.Flags().StringVar(&runID, "run-id", "", "the wait that ended with this run, instead of the latest (see reopens)")
	command.Flags().BoolVar(&asJSON, "json", false, "the entries as JSON, with the verdict")
	return command
}

// story is the audit of a wait as far as it can be shown.
type story struct {
	WorkflowID string       `json:"workflow_id"`
	Entries    []wire.Entry `json:"entries"`
	// Head is the hash that the wait itself gives for its last entry.
	Head string `json:"head"`
	// Missing are entries that can no longer be shown.
	Missing []gap `json:"missing"`
	// BrokenAt is the first entry that does not fit the chain; 0: it holds.
	BrokenAt int `json:"broken_at"`
}

type gap struct {
	FromSeq int `json:"from_seq"`
	ToSeq   int `json:"to_seq"`
}

func (a *app) audit(ctx context.Context, s *server, workflowID, runID string, asJSON bool) error {
	info, err := s.latest(ctx, workflowID)
	if err != nil {
		return err
	}
	told, err := s.story(ctx, info, runID)
	if errors.As(err, new(*serviceerror.QueryFailed)) && !open(info) { // it never began: its end says why
		_, err = s.outcome(ctx, workflowID, info.WorkflowExecution.RunID)
	}
	if err != nil {
		return explainAsking(err, info.TaskQueueName)
	}
	if asJSON {
		err = a.printJSON(told)
	} else {
		a.tell(told)
	}
	if err == nil && told.BrokenAt != 0 {
		return hinted(fmt.Errorf("the audit's hash chain breaks at entry %d", told.BrokenAt),
			"an entry was changed or left out after it was written; compare with the workflow's history")
	}
	return err
}

// story asks every run that is left, from the last one back.
func (s *server) story(ctx context.Context, info *client.WorkflowExecutionDescription, runID string) (story, error) {
	told := story{WorkflowID: info.WorkflowExecution.ID, Missing: []gap{}, Entries: []wire.Entry{}}
	if runID == "" {
		runID = info.WorkflowExecution.RunID
	}
	for last := true; runID != ""; last = false {
		view, err := ask[wire.AuditView](ctx, s, told.WorkflowID, runID, wire.QueryAudit)
		if gone(err) && !last {
			break
		}
		if err != nil {
			return story{}, err
		}
		if last {
			told.Head = view.Head
		}
		told.Entries = slices.Concat(view.Entries, told.Entries)
		if runID, err = s.before(ctx, told.WorkflowID, runID); err != nil {
			return story{}, err
		}
	}
	told.verify()
	return told, nil
}

// before is the run that continued as the given one; empty for the first, or where the history is gone.
func (s *server) before(ctx context.Context, workflowID, runID string) (string, error) {
	first, err := s.started(ctx, &commonpb.WorkflowExecution{WorkflowId: workflowID, RunId: runID})
	if gone(err) {
		return "", nil
	}
	return first.GetContinuedExecutionRunId(), err
}

func gone(err error) bool { return errors.As(err, new(*serviceerror.NotFound)) }

// verify holds the entries against their hashes, each other, and the wait's own head.
func (t *story) verify() {
	if len(t.Entries) == 0 {
		return
	}
	first, last := t.Entries[0], t.Entries[len(t.Entries)-1]
	before := ""
	if first.Seq > 1 {
		t.Missing = append(t.Missing, gap{FromSeq: 1, ToSeq: first.Seq - 1})
		before = first.Prev // what it leads back to is gone
	}
	t.BrokenAt = operation.VerifyChain(before, t.Entries)
	if t.BrokenAt == 0 && last.Hash != t.Head {
		t.BrokenAt = last.Seq
	}
}

func (a *app) tell(told story) {
	for _, gap := range told.Missing {
		_, _ = fmt.Fprintf(a.out, "entries %d to %d can no longer be shown: their runs are past the namespace's retention\n", gap.FromSeq, gap.ToSeq)
	}
	for rest := told.Entries; len(rest) > 0; {
		day := firstDay(rest)
		rest = rest[len(day):]
		_, _ = fmt.Fprintf(a.out, "%s (UTC)\n", dateOf(day[0]))
		for _, line := range operation.StoryOf(day) {
			_, _ = fmt.Fprintln(a.out, line)
		}
	}
	if told.BrokenAt == 0 {
		a.say("%d entries, hash chain verified, head %s", len(told.Entries), told.Head)
	}
}

// firstDay is the first entries that fall on one day, which the lines of a story do not name.
func firstDay(entries []wire.Entry) []wire.Entry {
	for i, entry := range entries {
		if dateOf(entry) != dateOf(entries[0]) {
			return entries[:i]
		}
	}
	return entries
}

func dateOf(entry wire.Entry) string { return entry.At.UTC().Format(time.DateOnly) }
