package startercmd

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/jobwait/jobwait/internal/waits"
	"github.com/jobwait/jobwait/wire"
)

func (a *app) nudgeCommand() *cobra.Command {
	var id target
	var source string
	command := &cobra.Command{
		Use:   "nudge",
		Short: "say that the job may have changed, so that the next look comes soon",
		Long: `Nudge brings the next status request forward to the earliest moment that the provider's Retry-After, the spec's
min_delay_seconds and the budgets allow. It adds no budget and ends nothing; the request's answer decides. Between two
requests one nudge counts, and none does for the last request of the budget or while a question is open. What became of it
stands in the audit. It is meant for what hears of the job from elsewhere, such as the receiver of a webhook.`,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := checkSource(source); err != nil {
				return err
			}
			return a.withWait(command.Context(), &id, func(ctx context.Context, s *server, workflowID string) error {
				return a.nudge(ctx, s, workflowID, source)
			})
		},
	}
	id.define(command)
	command.Flags().StringVar(&source, "source", os.Getenv("USER"), "`who` says so; it stands in the audit")
	return command
}

func checkSource(source string) error {
	if source == "" {
		return usagef("--source is missing and $USER is empty; say who says that the job may have changed")
	}
	payload, err := json.Marshal(wire.Nudge{Source: source})
	if err != nil {
		return err
	}
	if _, err := wire.DecodeNudge(payload); err != nil {
		return usagef("--source: %w", err)
	}
	return nil
}

func (a *app) nudge(ctx context.Context, s *server, workflowID, source string) error {
	info, err := s.Latest(ctx, workflowID)
	if err != nil {
		return err
	}
	if waits.Open(info) {
		err = s.Nudge(ctx, workflowID, source)
	}
	if !waits.Open(info) || waits.Gone(err) {
		return hinted(fmt.Errorf("the wait has ended; there is nothing to look at any more"), "`%s show %s` shows its outcome", a.name, workflowID)
	}
	if err != nil {
		return err
	}
	a.say("nudged; `%s audit %s` shows what became of it", a.name, workflowID)
	return nil
}
