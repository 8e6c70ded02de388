package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait"
	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/internal/devserver"
	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// submitted is a group of one submission: the provider counts submissions, whoever they are of.
func submitted(name, provider string, taken waittest.SubmitScript, people func(context.Context, *bed.Bed, client.WorkflowRun) error, change func(*wire.SubmitSpec)) group {
	return group{
		server: devserver.Options{SearchAttributes: true, FastTimers: true},
		ready:  variants,
		waits: []wait{{
			name: name, script: waittest.Script(waittest.State("running")), people: people,
			before: func(_ context.Context, b *bed.Bed) error { return b.Provider.TakeSubmissions(taken) },
			begin: func(ctx context.Context, b *bed.Bed, _ wire.Spec) (client.WorkflowRun, error) {
				spec := submission(b, name, provider)
				if change != nil {
					change(&spec)
				}
				return jobwait.StartSubmit(ctx, b.Client, spec, jobwait.StartOptions{})
			},
		}},
	}
}

func submission(b *bed.Bed, name, provider string) wire.SubmitSpec {
	_, port, _ := strings.Cut(b.Provider.Address(), ":")
	waited := b.Spec(name)
	return wire.SubmitSpec{
		SubmissionID: name, Provider: provider, Account: waited.Account, Params: map[string]string{"port": port}, CredentialRef: "demo",
		Body: []byte(`{"report":"2026-11"}`),
		Wait: wire.SubmitWait{
			DeadlineAt: waited.DeadlineAt, MaxStatusRequests: waited.MaxStatusRequests, MaxTransportFailures: waited.MaxTransportFailures,
			Schedule: waited.Schedule,
		},
	}
}

// variants gives the worker the providers that take submissions in other ways.
func variants(_ context.Context, _ *bed.Bed, options *bed.WorkerOptions) (stop func(), err error) {
	return addTables(options, bed.WriteTables)
}

// addTables gives the worker the tables that are written into a directory, until it is stopped.
func addTables(options *bed.WorkerOptions, write func(dir string) error) (stop func(), err error) {
	dir, err := os.MkdirTemp("", "jobwait-record")
	if err != nil {
		return nil, err
	}
	stop = func() { _ = os.RemoveAll(dir) }
	if err := write(dir); err != nil {
		stop()
		return nil, err
	}
	options.Tables = []statetables.Source{{Name: "variants", FS: os.DirFS(dir)}}
	return stop, nil
}

func finishes() waittest.JobScript {
	return waittest.Script(waittest.State("running"), waittest.Succeeded("https://files.example.com/report.csv"))
}

func submittedOnce() group {
	return submitted("submitted", "demo-export", waittest.SubmitScript{Job: finishes()}, nil, nil)
}

func submittedAgain() group {
	return submitted("submitted_with_its_key_again", "demo-export", waittest.SubmitScript{
		Job: finishes(), Steps: []waittest.SubmitStep{{Answer: waittest.Hangup()}, {}},
	}, nil, nil)
}

// toldItsResult is a submission whose answer alone says where the result will be.
func toldItsResult() group {
	return submitted("submission_told_its_result", bed.ProviderTelling, waittest.SubmitScript{
		Job:   waittest.Script(waittest.State("running"), waittest.State("succeeded")),
		Steps: []waittest.SubmitStep{{Answer: waittest.Step{ResultURL: "http://127.0.0.1:8090/files/report.csv"}}},
	}, nil, nil)
}

func attached() group {
	return submitted("submission_attached", "demo-plain", waittest.SubmitScript{
		Job: finishes(), NoKeys: true, Steps: []waittest.SubmitStep{{Answer: waittest.Hangup()}, {}},
	}, attach, nil)
}

// keyForgotten is a submission that may be repeated after two minutes only, when its key is long forgotten.
func keyForgotten() group {
	return submitted("submission_key_forgotten", "demo-forgetful", waittest.SubmitScript{
		Job: finishes(), Steps: []waittest.SubmitStep{{Answer: waittest.Status(503).RetryAfter("120")}},
	}, attach, nil)
}

// attach answers a question with the job that the provider has made.
func attach(ctx context.Context, b *bed.Bed, run client.WorkflowRun) error {
	open, err := b.Escalated(ctx, run)
	if err != nil {
		return err
	}
	made := b.Provider.Submissions()[0].JobID
	_, err = b.Decide(ctx, run.GetID(), decision(open.ID, func(d *wire.Decision) {
		d.Kind, d.ProviderJobID, d.StatusURL = wire.DecisionAttach, made, b.Provider.StatusURL(made)
	}))
	return err
}

// elsewhere is a submission whose answer names a status URL that is none of the table's.
func elsewhere() group {
	return submitted("submission_url_rejected", "demo-export", waittest.SubmitScript{
		Job: finishes(), Steps: []waittest.SubmitStep{{Answer: waittest.Step{}.Header("Location", "http://169.254.169.254/exports/1")}},
	}, attach, nil)
}

// heldUntilReleased is running at the first look, which waits to be released, and has succeeded at the second.
func heldUntilReleased() waittest.JobScript {
	return waittest.Script(waittest.State("running").Held().Times(1), waittest.Succeeded("https://files.example.com/report.csv"))
}

// waitedFor waits until the job that was made is asked for, and gives its id.
func waitedFor(ctx context.Context, b *bed.Bed) (string, error) {
	made := b.Provider.Submissions()[0].JobID
	_, err := b.Provider.AwaitRequests(ctx, made, 2) // the first has made it
	return made, err
}

// owned is a submission whose job another waits for already.
func owned() group {
	return submitted("submission_owned", "demo-plain", waittest.SubmitScript{
		Job: heldUntilReleased(), NoKeys: true, Steps: []waittest.SubmitStep{{Answer: waittest.Hangup()}, {}},
	}, func(ctx context.Context, b *bed.Bed, run client.WorkflowRun) error {
		if _, err := b.Escalated(ctx, run); err != nil {
			return err
		}
		made := b.Provider.Submissions()[0].JobID
		if _, err := b.Start(ctx, anotherWait(b, made)); err != nil {
			return err
		}
		if _, err := waitedFor(ctx, b); err != nil {
			return err
		}
		if err := attach(ctx, b, run); err != nil {
			return err
		}
		if _, err := b.Until(ctx, run, func(view wire.OperationView) bool { return view.Submission.Owner != nil }); err != nil {
			return err
		}
		b.Provider.Release(made)
		return nil
	}, nil)
}

func anotherWait(b *bed.Bed, job string) wire.Spec {
	spec := b.Spec(job)
	spec.Provider, spec.Params = "demo-plain", submission(b, job, "demo-plain").Params
	return spec
}

// resetAfterAcceptance is a submission that is reset to before it has started its wait, which goes on.
func resetAfterAcceptance() group {
	return submitted("submission_reset", "demo-export", waittest.SubmitScript{
		Job: heldUntilReleased(),
	}, func(ctx context.Context, b *bed.Bed, run client.WorkflowRun) error {
		task, err := taskBeforeItsWait(ctx, b, run)
		if err != nil {
			return err
		}
		made, err := waitedFor(ctx, b)
		if err != nil {
			return err
		}
		reset, err := b.Reset(ctx, run, task)
		if err != nil {
			return err
		}
		if _, err := b.Until(ctx, reset, func(view wire.OperationView) bool { return view.Phase == wire.PhaseAwaiting }); err != nil {
			return err
		}
		b.Provider.Release(made)
		return nil
	}, nil)
}

// taskBeforeItsWait is the workflow task that has a submission's wait started, once it has.
func taskBeforeItsWait(ctx context.Context, b *bed.Bed, run client.WorkflowRun) (int64, error) {
	var task, before int64
	events := b.Client.GetWorkflowHistory(ctx, run.GetID(), run.GetRunID(), true, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return 0, err
		}
		switch event.GetEventType() { //nolint:exhaustive // the others are passed over
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
			task = event.GetEventId()
		case enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
			before = task
		case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED:
			return before, nil
		}
	}
	return 0, errors.New("the submission ended before its wait was started")
}

// cancelledOverRuns is a submission that is cancelled when it has continued as new and its wait, no child of that run, goes on.
func cancelledOverRuns() group {
	made := submitted("submission_cancelled_over_runs", "demo-export", waittest.SubmitScript{
		Job: waittest.Script(waittest.State("running")), Steps: []waittest.SubmitStep{{NoJob: true, Answer: waittest.Step{Status: 429}}, {}},
	}, func(ctx context.Context, b *bed.Bed, run client.WorkflowRun) error {
		for {
			described, err := b.Client.DescribeWorkflow(ctx, run.GetID(), "")
			if err != nil {
				return err
			}
			if described.WorkflowExecution.RunID != run.GetRunID() {
				return b.Client.CancelWorkflow(ctx, run.GetID(), "")
			}
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
				return fmt.Errorf("not continued: %w", ctx.Err())
			}
		}
	}, func(spec *wire.SubmitSpec) { spec.Wait.MaxStatusRequests = 100 })
	made.server.DynamicConfig = []string{"limit.historyCount.suggestContinueAsNew=20"}
	return made
}

// inPlaceOf is a submission that takes the place of one whose job failed at once.
func inPlaceOf() group {
	made := submitted("submission_in_place_of", "demo-export", waittest.SubmitScript{
		Job: finishes(), Steps: []waittest.SubmitStep{{Answer: waittest.State("failed")}, {}},
	}, nil, nil)
	made.waits[0].begin = func(ctx context.Context, b *bed.Bed, _ wire.Spec) (client.WorkflowRun, error) {
		failed := submission(b, "submission_replaced", "demo-export")
		run, err := jobwait.StartSubmit(ctx, b.Client, failed, jobwait.StartOptions{})
		if err != nil {
			return nil, err
		}
		var ended wire.SubmitOutcome
		if err := run.Get(ctx, &ended); err != nil {
			return nil, err
		}
		successor, err := jobwait.SuccessorSpec(failed, ended, "ana@example.com", "the disk has room again", time.Now())
		if err != nil {
			return nil, err
		}
		return jobwait.StartSubmit(ctx, b.Client, successor, jobwait.StartOptions{})
	}
	return made
}

func resubmitted() group {
	return submitted("submission_resubmitted", "demo-export", waittest.SubmitScript{
		Job: waittest.Script(waittest.Failed("E_ROWS", "too many rows")),
	}, decide(kind(wire.DecisionResubmit)), func(spec *wire.SubmitSpec) {
		spec.OfferResubmit = true
		spec.Wait.Escalation.DecisionWindowSeconds = new(60)
		spec.Wait.DeadlineAt = time.Now().Add(10 * time.Minute)
	})
}
