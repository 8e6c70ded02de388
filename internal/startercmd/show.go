package startercmd

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait/internal/waits"
	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

func (a *app) showCommand() *cobra.Command {
	var id target
	var asJSON bool
	command := &cobra.Command{
		Use:   "show",
		Short: "show how a wait stands, or how it ended",
		Long: `Show asks a wait for its state, limits, usage and open escalation, or shows the outcome of one that has ended.
With --json: workflow_id, run_id, open, and operation (what the query "operation" answers) with held_back, or outcome.
What is said of a wait holds for a submission.`,
		RunE: func(command *cobra.Command, _ []string) error {
			return a.withWait(command.Context(), &id, func(ctx context.Context, s *server, workflowID string) error {
				return a.show(ctx, s, workflowID, id.escalation(), asJSON)
			})
		},
	}
	id.define(command)
	command.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return command
}

// shown is what show --json prints.
type shown struct {
	WorkflowID string              `json:"workflow_id"`
	RunID      string              `json:"run_id"`
	Open       bool                `json:"open"`
	Operation  *wire.OperationView `json:"operation,omitempty"`
	Outcome    any                 `json:"outcome,omitempty"` // a wire.Outcome or a wire.SubmitOutcome
	// Telling is what the last attempt to tell people came to, and when the next one comes, where it is being tried again.
	Telling string `json:"telling,omitempty"`
	// HeldBack is until when and why the request under way is held back; empty: it is not.
	HeldBack string `json:"held_back,omitempty"`

	how howEnded
}

// show says so when the escalation that was named, if one was, is not the open one.
func (a *app) show(ctx context.Context, s *server, workflowID, escalation string, asJSON bool) error {
	info, err := s.Latest(ctx, workflowID)
	if err != nil {
		return err
	}
	seen, err := s.look(ctx, info)
	if err != nil {
		return err
	}
	if text := seen.stale(escalation); text != "" {
		a.say("%s", text)
	}
	if asJSON {
		return a.printJSON(seen)
	}
	if seen.Outcome == nil {
		return a.showOpen(seen)
	}
	if err := seen.how.write(a.out); err != nil {
		return err
	}
	a.sayAgain(ctx, s, seen.how)
	return nil
}

// showOpen says how a question is answered, where there is one.
func (a *app) showOpen(seen shown) error {
	if err := writeOperation(a.out, seen); err != nil || question(*seen.Operation) == nil {
		return err
	}
	a.say("%s", suggestion(a.name, *seen.Operation, time.Now()))
	return nil
}

// stale says what became of an escalation that was named and is not open; empty when there is nothing to say.
func (s shown) stale(named string) string {
	switch {
	case named == "":
		return ""
	case s.Operation == nil:
		return fmt.Sprintf("escalation %q is not open: the wait has ended", named)
	case question(*s.Operation) == nil:
		return fmt.Sprintf("escalation %q is not open: nothing waits for an answer in this wait", named)
	case question(*s.Operation).ID != named:
		return fmt.Sprintf("escalation %q is not the open one, which is %q", named, question(*s.Operation).ID)
	default:
		return ""
	}
}

// look asks an open wait, or reads the outcome of a closed one, which needs no worker.
func (s *server) look(ctx context.Context, info *client.WorkflowExecutionDescription) (shown, error) {
	seen := shown{WorkflowID: info.WorkflowExecution.ID, RunID: info.WorkflowExecution.RunID, Open: waits.Open(info)}
	if !seen.Open {
		how, err := s.ended(ctx, seen.WorkflowID, seen.RunID)
		seen.Outcome, seen.how = how.value(), how
		return seen, err
	}
	view, err := ask[wire.OperationView](ctx, s, seen.WorkflowID, seen.RunID, wire.QueryOperation)
	seen.Operation, seen.Telling, seen.HeldBack = &view, waits.Telling(info), waits.HeldBack(info)
	return seen, explainAsking(err, info.TaskQueueName)
}

// explainAsking says what to do about a wait that does not answer.
func explainAsking(err error, taskQueue string) error {
	if err == nil || !waits.Transient(err) {
		return err
	}
	return hinted(err, "waits are asked through their workers; is one running on task queue %q?", taskQueue)
}

func writeOperation(to io.Writer, seen shown) error {
	view := seen.Operation
	var f fields
	f.add("phase", "%s", view.Phase)
	f.add("operation", "%s", view.Spec.OperationID)
	f.add("job", "%s at %s, account %s", jobText(*view), view.Spec.Provider, view.Spec.Account)
	if view.Submission != nil {
		f.add("submission", "%s", submissionText(view.Submission))
		if replaced := view.Submission.Predecessor; replaced != nil {
			f.add("in place of", "%s", operation.ReplacedText(*replaced))
		}
	}
	f.add("workflow", "%s, run %s", seen.WorkflowID, seen.RunID)
	f.add("last answer", "%s", lastAnswer(view.LastObservation))
	f.add("requests", "%s%s%s", used(*view), waits.AnswersText(view.Answers), nudgesText(view.Counters.NudgesReceived))
	f.add("failures", "%d of %d without an answer or 5xx, %d of %d rate limited", view.Counters.TransportFailuresUsed,
		view.Limits.MaxTransportFailures, view.Counters.RateLimitedUsed, view.Limits.MaxRateLimited)
	f.add("extensions", "%d of %d", view.Counters.ExtensionsUsed, view.Limits.MaxExtensions)
	f.add("deadline", "%s", stamp(view.Limits.DeadlineAt))
	if business := view.Limits.BusinessDeadlineAt; business != nil {
		f.add("no use after", "%s", stamp(*business))
	}
	if seen.HeldBack != "" {
		f.add("next", "%s", seen.HeldBack)
	} else {
		f.add("next", "%s", next(*view))
	}
	f.add("messages", "%s", waits.NoticeText(view.Notice, seen.Telling))
	if rule := view.Approval; rule != "" && rule != wire.ApprovalNone {
		f.add("approval", "%s", rule)
	}
	if view.Signing != nil {
		f.add("decisions", "signed, by one of %s", strings.Join(view.Signing.KeyIDs, ", "))
	}
	if view.Escalation != nil {
		f.add("escalation", "%s\n%s", view.Escalation.ID, strings.TrimSpace(view.Escalation.Message))
	}
	if view.Proposal != nil {
		f.add("proposal", "%s\n%s", view.Proposal.ID, strings.TrimSpace(view.Proposal.Message))
	}
	return f.write(to)
}
