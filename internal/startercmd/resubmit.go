package startercmd

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait"
	"github.com/jobwait/jobwait/internal/waits"
	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

func (a *app) resubmitCommand() *cobra.Command {
	return a.decisionCommand(wire.DecisionResubmit, "submit once more what may have made no job, or has ended without success", `Resubmit answers a submission that may have made a job, or whose job has failed, by sending it once more as a new generation with
a new key. If the request before has made a job, there are two: look at the provider first.

Where the submission has ended, and not with success, resubmit starts a new operation in its place: report~2 for report, report~3 for
report~2. It submits the same, lasts as long as the first one did, names it as its predecessor with --by and --comment, and is followed
like one that submit starts, with submit's exit codes; --json is then the outcome (with --detach: what was started). One operation has
one successor, whoever starts it. With --escalation, --decision-id, --sign-with or the ID of an escalation only a question is answered,
and nothing is started.`, func(command *cobra.Command, flags *decisionFlags) {
		flags.id.submission = true
		command.Flags().BoolVar(&flags.detach, "detach", false, "do not follow the new operation")
		command.Example = `  jobwait resubmit report-2026-11 --comment 'the disk has room again'`
	})
}

// submitAgain starts a new operation in the place of one that has ended, after it has shown which.
func (a *app) submitAgain(ctx context.Context, s *server, info *client.WorkflowExecutionDescription, flags *decisionFlags) error {
	run := info.WorkflowExecution
	switch {
	case !strings.HasPrefix(run.ID, wire.SubmitWorkflowIDPrefix):
		return hinted(a.ended(run.ID), "resubmit wants the submission that this is the wait of, jobwait-submit/<provider>/<account>/<submission_id>")
	case flags.toAnswer:
		return hinted(a.ended(run.ID), "`%s resubmit %s` without --escalation, --decision-id and --sign-with submits it again as a new operation", a.name, run.ID)
	}
	ended, err := s.SubmitOutcome(ctx, run.ID, run.RunID)
	if err != nil {
		return err
	}
	spec, err := s.submitted(ctx, &commonpb.WorkflowExecution{WorkflowId: run.ID, RunId: run.RunID})
	if err != nil {
		return err
	}
	successor, err := jobwait.SuccessorSpec(spec, ended, flags.decision.DecidedBy, flags.decision.Comment, time.Now())
	if err != nil {
		return err
	}
	a.say("starting %s in place of %s, up to %s", successor.SubmissionID, endedText(ended), stamp(successor.Wait.DeadlineAt))
	if warning := twoJobs(ended); warning != "" {
		a.say("warning: %s", warning)
	}
	return a.startSubmission(ctx, s, successor, submitFlags{taskQueue: info.TaskQueueName, detach: flags.detach, json: flags.json})
}

// endedText is a submission that has ended, in a few words: "report-2026-11 (failed: provider_failure; job exp_71c)".
func endedText(o wire.SubmitOutcome) string {
	text := o.SubmissionID + " (" + outcomeText(wire.Outcome{Status: o.Status, Reason: o.Reason, Detail: o.Detail, Undecided: o.Undecided})
	if o.ProviderJobID != "" {
		text += "; job " + o.ProviderJobID
	}
	return text + ")"
}

// twoJobs says why there may be two jobs, once one that ended so has been submitted again; empty: the provider has said that the
// first one has ended, or that there is none.
func twoJobs(ended wire.SubmitOutcome) string {
	switch {
	case ended.Status != wire.StatusUnresolved:
		return ""
	case ended.ProviderJobID != "":
		return "nobody knows how job " + ended.ProviderJobID + " has ended, or whether it has; if it goes on, there are TWO"
	default:
		return "nobody knows for certain whether there is a job of it; if there is, there are TWO: look at the provider"
	}
}

// sayAgain says of a submission that ended without success how it is submitted again, or that it was.
func (a *app) sayAgain(ctx context.Context, s *server, how howEnded) {
	if how.submission == nil || operation.CheckReplaceable(*how.submission) != nil {
		return
	}
	o := *how.submission
	successor := wire.SubmitWorkflowID(o.Provider, o.Account, wire.SuccessorID(o.SubmissionID))
	described, err := s.DescribeWorkflow(ctx, successor, "")
	switch {
	case err == nil && described.Status != enumspb.WORKFLOW_EXECUTION_STATUS_FAILED: // that could not be run
		a.say("it was submitted again; `%s show %s` shows that", a.name, successor)
	case err == nil, waits.Gone(err):
		a.say("`%s resubmit %s --comment WHY` submits it again as a new operation", a.name, wire.SubmitWorkflowID(o.Provider, o.Account, o.SubmissionID))
	}
}
