package startercmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobwait/jobwait"
	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

type submitFlags struct {
	file, tables, taskQueue string
	detach, json            bool
}

func (a *app) submitCommand() *cobra.Command {
	var flags submitFlags
	command := &cobra.Command{
		Use:   "submit",
		Short: "submit a job, once as far as the provider allows to know, and wait for it",
		Long: `Submit starts the workflow SubmitAndAwait for the spec in --spec, and follows it. A request that was sent and not answered is
repeated where the provider documents an idempotency key, and asks a person where it does not: show, escalations and the
decisions work for it as for a wait.

` + "Exit codes: 0 succeeded, 1 error, 2 wrong usage, 3 failed or refused, 4 cancelled, 5 expired, 6 unresolved, 130 detached by\nCtrl-C while it goes on.",
		Example: `  jobwait submit --spec report.json`,
		Args:    noArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			return a.submit(command.Context(), flags)
		},
	}
	define := command.Flags()
	define.StringVar(&flags.file, "spec", "", "`file` with the spec as JSON, - for standard input (docs/submitting.md)")
	define.StringVar(&flags.tables, "tables", "", "`directory` with tables of your own, by which the spec is checked first")
	define.StringVar(&flags.taskQueue, "task-queue", wire.DefaultTaskQueue, "`name` of the workers' task queue")
	define.BoolVar(&flags.detach, "detach", false, "start it and do not follow it")
	define.BoolVar(&flags.json, "json", false, jsonOfStarted)
	return command
}

func (a *app) submit(ctx context.Context, flags submitFlags) error {
	spec, err := a.submitSpec(flags)
	if err != nil {
		return err
	}
	s, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	return a.startSubmission(ctx, s, spec, flags)
}

// startSubmission starts it and follows it, unless it is to be left alone.
func (a *app) startSubmission(ctx context.Context, s *server, spec wire.SubmitSpec, flags submitFlags) error {
	run, err := jobwait.StartSubmit(ctx, s, spec, jobwait.StartOptions{TaskQueue: flags.taskQueue})
	var already *jobwait.AlreadySubmittedError
	switch {
	case errors.As(err, &already):
		return hinted(err, "`%s show %s` shows it", a.name, already.WorkflowID)
	case err != nil:
		return err
	}
	if flags.detach {
		return a.detached(spec.SubmissionID, run.GetID(), run.GetRunID(), flags.json)
	}
	a.say("submitting %s to %s (workflow %s)", spec.SubmissionID, spec.Provider, run.GetID())
	return a.follow(ctx, s, run.GetID(), run.GetRunID(), flags.taskQueue, flags.json)
}

// submitSpec reads the spec, and refuses before the start what the tables at hand can tell.
func (a *app) submitSpec(flags submitFlags) (wire.SubmitSpec, error) {
	if flags.file == "" {
		return wire.SubmitSpec{}, usagef("--spec is missing; name the file with the spec, or - for standard input")
	}
	data, err := specFile(a.in, flags.file, wire.MaxSubmitSpecBytes)
	if err != nil {
		return wire.SubmitSpec{}, err
	}
	spec, err := wire.DecodeSubmitSpec(data)
	if err != nil {
		return wire.SubmitSpec{}, err
	}
	tables, err := localTables(flags.tables)
	if err != nil {
		return wire.SubmitSpec{}, err
	}
	if err := operation.CheckSubmission(spec, time.Now()); err != nil {
		return wire.SubmitSpec{}, err
	}
	if table, ok := tables.Table(spec.Provider); ok {
		err = table.CheckSubmission(spec)
	}
	return spec, err
}

func writeSubmitted(to io.Writer, o wire.SubmitOutcome) error {
	plain := wire.Outcome{Status: o.Status, Reason: o.Reason, Detail: o.Detail, Undecided: o.Undecided, Result: o.Result}
	var f fields
	f.add("outcome", "%s", outcomeText(plain))
	f.add("submission", "%s, generation %d, to %s, account %s", o.SubmissionID, o.Generation, o.Provider, o.Account)
	f.add("job", "%s", o.ProviderJobID)
	f.add("wait", "%s", o.WaitWorkflowID)
	if o.Owner != nil {
		f.add("owner", "%s, run %s, operation %s", o.Owner.WorkflowID, o.Owner.RunID, o.Owner.OperationID)
	}
	f.add("result", "%s", resultText(plain))
	f.add("request", "%s", o.Fingerprint)
	f.add("idempotency", "%s", submissionKeyText(o.Idempotency, o.IdempotencyKey))
	f.add("requests", "%d sent to submit it", o.SubmitRequestsUsed)
	for _, earlier := range o.Before {
		f.add("before", "generation %d, job %s, %s, replaced by %s", earlier.Generation, earlier.ProviderJobID, earlier.Reason, earlier.DecidedBy)
	}
	if o.Predecessor != nil {
		f.add("in place of", "%s", operation.ReplacedText(*o.Predecessor))
	}
	f.add("decided by", "%s", o.DecidedBy)
	f.add("audit", "%d entries, head %s", o.AuditEntries, o.AuditHead)
	return f.write(to)
}

func submissionKeyText(kind wire.Idempotency, key string) string {
	if key == "" {
		return string(kind)
	}
	return fmt.Sprintf("%s, key %s", kind, key)
}

// submissionText is what show tells of a submission besides what it tells of a wait.
func submissionText(s *wire.SubmissionView) string {
	text := fmt.Sprintf("generation %d, %s", s.Generation, submissionKeyText(s.Idempotency, s.IdempotencyKey))
	if s.WaitWorkflowID != "" {
		text += "; waited for by " + s.WaitWorkflowID
	}
	if s.MaybeSent {
		text += "; there may be a job that is not known"
	}
	return text
}

// jobText is the job's id as far as it is known.
func jobText(view wire.OperationView) string {
	switch {
	case view.Submission == nil:
		return view.Spec.ProviderJobID
	case view.Submission.ProviderJobID == "":
		return "none known"
	default:
		return view.Submission.ProviderJobID
	}
}

// jobFlags name the job that a person found at the provider.
func jobFlags(command *cobra.Command, flags *decisionFlags) {
	command.Flags().StringVar(&flags.decision.ProviderJobID, "provider-job", "", "`id` of the job that was found at the provider (required)")
	command.Flags().StringVar(&flags.decision.StatusURL, "status-url", "", "`URL` of its status, where the table polls one")
	command.Flags().StringArrayVar(&flags.params, "param", nil, "`name=value` that the table reads from the answer to a submission; may be repeated")
}
