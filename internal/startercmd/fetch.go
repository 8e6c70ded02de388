package startercmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/jobwait/jobwait"
	"github.com/jobwait/jobwait/internal/waits"
	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// fetchProgressEvery is how often a fetch is asked how far it is.
const fetchProgressEvery = 2 * time.Second

type fetchFlags struct {
	id        target
	result    string
	to        string
	maxBytes  int64
	bytes     int64
	sha256    string
	deadline  time.Duration
	attempts  int
	taskQueue string
	json      bool
}

func (a *app) fetchCommand() *cobra.Command {
	var flags fetchFlags
	command := &cobra.Command{
		Use:   "fetch",
		Short: "carry the result of a wait or submission that succeeded to a destination of the worker",
		Long: `Fetch starts the workflow FetchResult for one result of a wait or submission that has ended, and follows it. The worker streams the
result to a destination that its --destinations file names; the object appears whole or not at all.

` + "Exit codes: 0 fetched, 1 error, 2 wrong usage, 3 not fetched, 130 detached by Ctrl-C while the fetch goes on.",
		Example: `  jobwait fetch report-17 --to reports/2026/report-17.csv --max-bytes 1073741824`,
		RunE: func(command *cobra.Command, _ []string) error {
			return a.withWait(command.Context(), &flags.id, func(ctx context.Context, s *server, workflowID string) error {
				return a.fetch(ctx, s, workflowID, &flags)
			})
		},
	}
	flags.define(command)
	return command
}

func (f *fetchFlags) define(command *cobra.Command) {
	f.id.define(command)
	flags := command.Flags()
	flags.StringVar(&f.to, "to", "", "`destination/key` where the result goes")
	flags.Int64Var(&f.maxBytes, "max-bytes", 0, "the largest result that is taken")
	flags.StringVar(&f.result, "result", "", "`name` of the result; needed where the outcome has several")
	flags.Int64Var(&f.bytes, "expect-bytes", -1, "the length that the result must have (default any)")
	flags.StringVar(&f.sha256, "expect-sha256", "", "the SHA-256 that the result must have, in `hex`")
	flags.DurationVar(&f.deadline, "deadline", time.Hour, "how long to try")
	flags.IntVar(&f.attempts, "attempts", operation.DefaultFetchAttempts, "how often to begin anew")
	flags.StringVar(&f.taskQueue, "task-queue", wire.DefaultTaskQueue, "`name` of the workers' task queue")
	flags.BoolVar(&f.json, "json", false, "the outcome of the fetch as JSON")
}

func (a *app) fetch(ctx context.Context, s *server, workflowID string, flags *fetchFlags) error {
	spec, err := a.fetchSpec(ctx, s, workflowID, flags)
	if err != nil {
		return err
	}
	run, err := jobwait.StartFetch(ctx, s, spec, jobwait.StartOptions{TaskQueue: flags.taskQueue})
	if err != nil {
		return err
	}
	a.say("carrying %s of %s to %s/%s (workflow %s)", spec.ResultName, spec.ProviderJobID, spec.Destination, spec.Key, run.GetID())
	outcome, err := a.followFetch(ctx, s, run)
	switch {
	case err != nil && ctx.Err() != nil:
		a.say("detached; the fetch goes on")
		return outcomeError{exitDetached}
	case err != nil:
		return explainFetch(err)
	case flags.json:
		err = a.printJSON(outcome)
	default:
		err = writeFetched(a, outcome)
	}
	if err == nil && outcome.Status != wire.FetchDone {
		return outcomeError{exitFailed}
	}
	return err
}

// explainFetch takes the workflow's own words out of what the SDK puts around them.
func explainFetch(err error) error {
	var application *temporal.ApplicationError
	if errors.As(err, &application) {
		return errors.New(application.Message())
	}
	return err
}

// fetchSpec is made of the wait's spec, its outcome and the flags, and checked before anything is started.
func (a *app) fetchSpec(ctx context.Context, s *server, workflowID string, flags *fetchFlags) (wire.FetchSpec, error) {
	destination, key, ok := strings.Cut(flags.to, "/")
	if !ok {
		return wire.FetchSpec{}, usagef("--to %q is not destination/key, such as reports/2026/report-17.csv", flags.to)
	}
	info, err := s.Latest(ctx, workflowID)
	if err != nil {
		return wire.FetchSpec{}, err
	}
	if waits.Open(info) {
		return wire.FetchSpec{}, hinted(errors.New("the wait goes on: there is no result yet"), "`%s follow %s` follows it", a.name, workflowID)
	}
	ended, err := s.results(ctx, workflowID, info.WorkflowExecution.RunID)
	if err != nil {
		return wire.FetchSpec{}, err
	}
	name, err := flags.resultName(ended)
	if err != nil {
		return wire.FetchSpec{}, err
	}
	spec, err := ended.fetch(name)
	if err != nil {
		return wire.FetchSpec{}, err
	}
	now := time.Now()
	spec.Destination, spec.Key, spec.MaxBytes, spec.ExpectedSHA256 = destination, key, flags.maxBytes, flags.sha256
	spec.DeadlineAt, spec.MaxAttempts = now.Add(flags.deadline).UTC().Truncate(time.Second), flags.attempts
	if flags.bytes >= 0 {
		spec.ExpectedBytes = &flags.bytes
	}
	return spec, operation.CheckFetch(spec, now)
}

// results are the references that a wait or a submission ended with.
type results struct {
	status wire.OutcomeStatus
	byName map[string]string
	// fetch begins the spec that fetches one.
	fetch func(name string) (wire.FetchSpec, error)
}

// results are those of a workflow that has ended: of a submission those of its wait, which knows all params, where there was one.
func (s *server) results(ctx context.Context, workflowID, runID string) (results, error) {
	how, err := s.ended(ctx, workflowID, runID)
	run := &commonpb.WorkflowExecution{WorkflowId: workflowID, RunId: runID}
	switch {
	case err != nil:
		return results{}, err
	case how.submission == nil:
		waited, err := s.Spec(ctx, run)
		return results{how.wait.Status, how.wait.Result, func(name string) (wire.FetchSpec, error) {
			return jobwait.NewFetchSpec(waited, *how.wait, name)
		}}, err
	case how.submission.WaitWorkflowID != "":
		return s.results(ctx, how.submission.WaitWorkflowID, "")
	}
	submitted, err := s.submitted(ctx, run)
	return results{how.submission.Status, how.submission.Result, func(name string) (wire.FetchSpec, error) {
		return jobwait.NewSubmittedFetchSpec(submitted, *how.submission, name)
	}}, err
}

// submitted is the spec of a submission.
func (s *server) submitted(ctx context.Context, run *commonpb.WorkflowExecution) (wire.SubmitSpec, error) {
	input, err := s.Input(ctx, run)
	if err != nil {
		return wire.SubmitSpec{}, err
	}
	return wire.DecodeSubmitSpec(input)
}

// resultName is the one that was named, or the only one.
func (f *fetchFlags) resultName(ended results) (string, error) {
	names := slices.Sorted(maps.Keys(ended.byName))
	switch {
	case len(names) == 0:
		return "", fmt.Errorf("it ended %s, without a result", ended.status)
	case f.result != "":
		return f.result, nil
	case len(names) > 1:
		return "", usagef("the outcome has the results %s; say with --result which one", strings.Join(names, ", "))
	default:
		return names[0], nil
	}
}

// followFetch tells how far the fetch is until it ends.
func (a *app) followFetch(ctx context.Context, s *server, run client.WorkflowRun) (wire.FetchOutcome, error) {
	ended := make(chan error, 1)
	var outcome wire.FetchOutcome
	go func() { ended <- run.Get(ctx, &outcome) }()
	ticker := time.NewTicker(fetchProgressEvery)
	defer ticker.Stop()
	told := ""
	for {
		select {
		case err := <-ended:
			return outcome, err
		case <-ticker.C:
			if text := s.fetchProgress(ctx, run); text != "" && text != told {
				told = text
				a.say("%s", text)
			}
		}
	}
}

// fetchProgress is what the activity that carries the result told last, or why it was not carried yet.
func (s *server) fetchProgress(ctx context.Context, run client.WorkflowRun) string {
	described, err := s.DescribeWorkflow(ctx, run.GetID(), run.GetRunID())
	if err != nil {
		return ""
	}
	for _, pending := range described.RawResponse.GetPendingActivities() {
		var progress wire.FetchProgress
		if pending.GetHeartbeatDetails() != nil && s.Converter.FromPayloads(pending.GetHeartbeatDetails(), &progress) == nil {
			return fmt.Sprintf("%d bytes so far, attempt %d", progress.Bytes, pending.GetAttempt())
		}
		if failure := pending.GetLastFailure(); failure != nil {
			return fmt.Sprintf("attempt %d after: %s", pending.GetAttempt(), failure.GetMessage())
		}
	}
	return ""
}

func writeFetched(a *app, outcome wire.FetchOutcome) error {
	var f fields
	f.add("fetch", "%s", outcome.Status)
	if outcome.Reason != "" {
		f.add("reason", "%s: %s", outcome.Reason, outcome.Detail)
	}
	f.add("operation", "%s", outcome.OperationID)
	f.add("result", "%s of %s at %s", outcome.ResultName, outcome.ProviderJobID, outcome.Provider)
	f.add("to", "%s/%s", outcome.Destination, outcome.Key)
	if outcome.Status == wire.FetchDone {
		f.add("bytes", "%d", outcome.Bytes)
		f.add("sha256", "%s", outcome.SHA256)
		f.add("attempts", "%d, %d connections taken up again", outcome.Attempts, outcome.Resumed)
	}
	return f.write(a.out)
}
