package startercmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait/internal/plain"
	"github.com/jobwait/jobwait/internal/waits"
	"github.com/jobwait/jobwait/operation"
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

func (a *app) audit(ctx context.Context, s *server, workflowID, runID string, asJSON bool) error {
	info, err := s.Latest(ctx, workflowID)
	if err != nil {
		return err
	}
	told, err := s.story(ctx, info, runID)
	if errors.As(err, new(*serviceerror.QueryFailed)) && !waits.Open(info) { // it never began: its end says why
		_, err = s.Outcome(ctx, workflowID, info.WorkflowExecution.RunID)
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

// story asks every run that is left.
func (s *server) story(ctx context.Context, info *client.WorkflowExecutionDescription, runID string) (waits.Story, error) {
	if runID == "" {
		runID = info.WorkflowExecution.RunID
	}
	return s.Story(ctx, askTimeout, info.WorkflowExecution.ID, runID, waits.AllRuns)
}

func (a *app) tell(told waits.Story) {
	for _, gap := range told.Missing {
		_, _ = fmt.Fprintf(a.out, "entries %d to %d can no longer be shown: their runs are past the namespace's retention\n", gap.FromSeq, gap.ToSeq)
	}
	for _, day := range waits.Days(told.Entries) {
		_, _ = fmt.Fprintf(a.out, "%s (UTC)\n", waits.Day(day[0]))
		for _, line := range operation.StoryOf(day) {
			_, _ = fmt.Fprintln(a.out, plain.Cell(line))
		}
	}
	if told.BrokenAt == 0 {
		a.say("%d entries, hash chain verified, head %s", len(told.Entries), told.Head)
	}
}
