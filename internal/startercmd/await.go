package startercmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"

	"github.com/jobwait/jobwait"
	"github.com/jobwait/jobwait/internal/plain"
	"github.com/jobwait/jobwait/internal/waits"
	"github.com/jobwait/jobwait/wire"
)

type awaitFlags struct {
	spec      specFlags
	taskQueue string
	detach    bool
	json      bool
}

func (a *app) awaitCommand() *cobra.Command {
	var flags awaitFlags
	command := &cobra.Command{
		Use:   "await",
		Short: "start a wait for a job, and follow it to its end",
		Long: `Await starts the wait for one external job and follows it: one line whenever something changes, with the last answer, the
requests used, and when the next one goes out and why. The outcome comes to standard output, everything else to standard
error. Ctrl-C stops following, not the wait.

The deadline and the two budgets have no default: they say how long, how often and how patiently you want to wait.

` + exitCodes,
		Example: `  jobwait await --spec spec.json
  jobwait await --spec - --json < spec.json
  jobwait await --operation-id export-7 --provider demo-export --account acct-42 --job exp_71c \
    --status-url http://127.0.0.1:8090/exports/exp_71c --credential demo \
    --deadline 40m --max-requests 12 --max-transport-failures 3`,
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error { return a.await(command.Context(), &flags) },
	}
	flags.spec.define(command)
	command.Flags().StringVar(&flags.taskQueue, "task-queue", wire.DefaultTaskQueue, "`name` of the workers' task queue")
	command.Flags().BoolVar(&flags.detach, "detach", false, "start the wait and do not follow it")
	command.Flags().BoolVar(&flags.json, "json", false, jsonOfStarted)
	return command
}

func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("unexpected argument %q: this command takes only flags", args[0])
	}
	return nil
}

func (a *app) await(ctx context.Context, flags *awaitFlags) error {
	spec, err := a.specToStart(&flags.spec)
	if err != nil {
		return err
	}
	s, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	run, err := jobwait.Start(ctx, s, spec, jobwait.StartOptions{TaskQueue: flags.taskQueue, DataConverter: s.Converter})
	if err != nil {
		return a.explainStart(err)
	}
	if flags.detach {
		return a.detached(spec.OperationID, run.GetID(), run.GetRunID(), flags.json)
	}
	a.say("waiting for %s at %s (workflow %s); times are UTC", spec.ProviderJobID, spec.Provider, run.GetID())
	return a.follow(ctx, s, run.GetID(), run.GetRunID(), flags.taskQueue, flags.json)
}

// specToStart reads and checks a spec before anything is started.
func (a *app) specToStart(flags *specFlags) (wire.Spec, error) {
	flags.fromStdin, flags.now, flags.name = a.in, time.Now(), a.name
	spec, err := flags.read()
	if err != nil {
		return wire.Spec{}, err
	}
	tables, err := localTables(flags.tables)
	if err != nil {
		return wire.Spec{}, err
	}
	if flags.tables != "" {
		if err := checkProvider(spec.Provider, tables, flags.tables); err != nil {
			return wire.Spec{}, err
		}
	}
	return spec, withFlag(checkSpec(spec, tables, flags.now))
}

func (a *app) explainStart(err error) error {
	var owned *jobwait.AlreadyOwnedError
	switch {
	case !errors.As(err, &owned):
		return err
	case owned.Closed:
		return hinted(err, "see its outcome with `%s show %s`; to wait again, set reopens in the spec: run_id, decided_by and comment", a.name, owned.WorkflowID)
	default:
		return hinted(err, "follow it with `%s follow %s`", a.name, owned.WorkflowID)
	}
}

// jsonOfStarted is the help of --json where there is --detach.
const jsonOfStarted = "the outcome (with --detach: what was started) as JSON"

// begun is what --detach --json prints.
type begun struct {
	OperationID string `json:"operation_id"`
	WorkflowID  string `json:"workflow_id"`
	RunID       string `json:"run_id"`
}

func (a *app) detached(operationID, workflowID, runID string, asJSON bool) error {
	if asJSON {
		return a.printJSON(begun{operationID, workflowID, runID})
	}
	_, err := fmt.Fprintln(a.out, workflowID)
	a.say("started; follow it with `%s follow %s`", a.name, workflowID)
	return err
}

func (a *app) followCommand() *cobra.Command {
	var id target
	var asJSON bool
	command := &cobra.Command{
		Use:   "follow",
		Short: "follow a wait that was started before, as await does",
		Long: `Follow shows a wait live until its end, like await, and ends with the same exit codes.

` + exitCodes,
		RunE: func(command *cobra.Command, _ []string) error {
			return a.withWait(command.Context(), &id, func(ctx context.Context, s *server, workflowID string) error {
				info, err := s.Latest(ctx, workflowID)
				if err != nil {
					return err
				}
				if waits.Open(info) {
					return a.follow(ctx, s, workflowID, info.WorkflowExecution.RunID, info.TaskQueueName, asJSON)
				}
				how, err := s.ended(ctx, workflowID, info.WorkflowExecution.RunID)
				if err != nil {
					return err
				}
				return a.end(ctx, s, how, asJSON)
			})
		},
	}
	id.define(command)
	command.Flags().BoolVar(&asJSON, "json", false, "the outcome as JSON")
	return command
}

// withWait connects and finds the wait that a command line names.
func (a *app) withWait(ctx context.Context, id *target, do func(ctx context.Context, s *server, workflowID string) error) error {
	s, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	workflowID, err := id.workflowID(ctx, s)
	if err != nil {
		return err
	}
	return do(ctx, s, workflowID)
}

// follow shows a wait until its end, which decides the exit code.
func (a *app) follow(ctx context.Context, s *server, workflowID, runID, taskQueue string, asJSON bool) error {
	live := &live{app: a, server: s, workflowID: workflowID}
	following := &follower{server: s, workflowID: workflowID, runID: runID, news: live.show, quiet: func() {
		a.say("no worker has taken it up yet; is one running on task queue %q?", taskQueue)
	}}
	how, err := following.follow(ctx)
	if ctx.Err() != nil {
		a.say("detached; the wait goes on. Come back with `%s follow %s`", a.name, workflowID)
		return outcomeError{exitDetached}
	}
	if err != nil {
		return err
	}
	return a.end(ctx, s, how, asJSON)
}

// say tells people something beside the result.
func (a *app) say(format string, args ...any) {
	_, _ = fmt.Fprintln(a.err, plain.Text(fmt.Sprintf(format, args...)))
}

// live prints a line whenever a wait has changed, and an escalation or a proposal when it opens.
type live struct {
	app        *app
	server     *server
	workflowID string

	last     string
	question string
	unasked  bool
}

func (l *live) show(ctx context.Context, runID string) error {
	view, err := ask[wire.OperationView](ctx, l.server, l.workflowID, runID, wire.QueryOperation)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, new(*serviceerror.QueryFailed)): // it is being prepared: there is nothing to show yet
		return nil
	case err != nil && waits.Transient(err):
		if !l.unasked {
			l.app.say("%s  the wait cannot be asked at the moment; still following", clock(time.Now()))
		}
		l.unasked = true
		return nil
	case err != nil:
		return err
	}
	l.unasked = false
	l.print(view)
	return nil
}

func (l *live) print(view wire.OperationView) {
	asking := view.Escalation == nil && view.NextPollAt == nil && view.Phase != wire.PhaseClosed
	if line := progress(view); line != l.last && !asking {
		l.app.say("%s  %s", clock(time.Now()), line)
		l.last = line
	}
	if open := question(view); open != nil && open.ID != l.question {
		l.question = open.ID
		l.app.message("\n" + open.Message)
		l.app.say("%s\n", suggestion(l.app.name, view, time.Now()))
	}
}
