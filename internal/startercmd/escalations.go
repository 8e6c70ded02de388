package startercmd

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"

	"github.com/jobwait/jobwait/wire"
)

func (a *app) escalationsCommand() *cobra.Command {
	var limit int
	var asJSON bool
	command := &cobra.Command{
		Use:   "escalations",
		Short: "list what waits for a person's answer",
		Long: `Escalations lists the waits that have stopped and ask: id, reason, until when, and what may be answered. It finds them by
the search attribute JobWaitPhase; where that is not registered it asks every open wait.`,
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error { return a.escalations(command.Context(), limit, asJSON) },
	}
	command.Flags().IntVar(&limit, "limit", 100, "how many are shown at most")
	command.Flags().BoolVar(&asJSON, "json", false, "as a JSON list of workflow_id and escalation")
	return command
}

// asked is one open escalation.
type asked struct {
	WorkflowID string              `json:"workflow_id"`
	Escalation wire.EscalationView `json:"escalation"`
}

func (a *app) escalations(ctx context.Context, limit int, asJSON bool) error {
	if limit < 1 {
		return usagef("--limit %d: at least 1 is shown", limit)
	}
	s, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	found := &escalationList{app: a, server: s, limit: limit, found: []asked{}}
	if err := found.collect(ctx); err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(found.found)
	}
	return found.print()
}

// escalationList asks waits for their open escalation.
type escalationList struct {
	app    *app
	server *server
	limit  int
	found  []asked
}

func (l *escalationList) collect(ctx context.Context) error {
	open := "WorkflowType = '" + wire.WorkflowAwaitJob + "' AND ExecutionStatus = 'Running'"
	err := l.server.list(ctx, open+" AND "+wire.AttributePhase+" = '"+string(wire.PhaseEscalated)+"'", l.look)
	if errors.As(err, new(*serviceerror.InvalidArgument)) {
		l.app.say("the search attribute %s is not registered: asking every open wait", wire.AttributePhase)
		err = l.server.list(ctx, open, l.look)
	}
	if errors.Is(err, errEnough) {
		l.app.say("there are more; see --limit")
		return nil
	}
	return err
}

func (l *escalationList) look(ctx context.Context, info *workflowpb.WorkflowExecutionInfo) error {
	if len(l.found) == l.limit {
		return errEnough
	}
	id := info.GetExecution().GetWorkflowId()
	view, err := ask[*wire.EscalationView](ctx, l.server, id, "", wire.QueryEscalation)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		l.app.say("%s does not answer: %v", id, err)
	case view != nil:
		l.found = append(l.found, asked{WorkflowID: id, Escalation: *view})
	}
	return nil
}

func (l *escalationList) print() error {
	if len(l.found) == 0 {
		l.app.say("nothing waits for an answer")
		return nil
	}
	rows := [][]string{{"ESCALATION", "REASON", "ANSWER BEFORE", "OPTIONS"}}
	for _, one := range l.found {
		e := one.Escalation
		rows = append(rows, []string{e.ID, reasonText(e.Reason, e.Detail), stamp(e.WindowEndsAt), optionNames(e.Options)})
	}
	if err := writeTable(l.app.out, rows); err != nil {
		return err
	}
	l.app.say("`%s show ID` shows what a decision needs", l.app.name)
	return nil
}

func optionNames(options []wire.Option) string {
	var names []string
	for _, option := range options {
		names = append(names, string(option.Kind))
	}
	return strings.Join(names, ", ")
}
