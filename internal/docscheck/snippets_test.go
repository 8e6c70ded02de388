package docscheck_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/jobwait/jobwait"
	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/callbacks"
	"github.com/jobwait/jobwait/notify"
	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
	"github.com/jobwait/jobwait/workflows"
)

// The code of the documentation. What stands between "docs: NAME" and "docs: end" is what a page shows below its comment
// "snippet: NAME"; TestShownCodeIsThisCode compares the two.

// docs: ten-lines
func newWorker(c client.Client) (worker.Worker, error) {
	tables, err := statetables.Load(statetables.Source{FS: statetables.Builtin()})
	if err != nil {
		return nil, err
	}
	plugin, err := jobwait.NewPlugin(jobwait.Options{
		Tables:      tables,
		Credentials: activities.CredentialsFile("credentials.yaml"),
	})
	if err != nil {
		return nil, err
	}
	return worker.New(c, "reports", worker.Options{Plugins: []worker.Plugin{plugin}}), nil
}

// docs: end

// docs: nexus
func reportFromAnotherNamespace(ctx workflow.Context, jobID string) (string, error) {
	call := workflow.NewNexusClient("jobwait", "jobwait").ExecuteOperation(ctx, "await", map[string]any{
		"operation_id": "monthly-report-" + jobID, "provider": "openai-batch", "account": "org-42", "provider_job_id": jobID,
		"credential_ref": "openai", "deadline_at": workflow.Now(ctx).Add(26 * time.Hour),
		"max_status_requests": 200, "max_transport_failures": 10,
	}, workflow.NexusOperationOptions{})
	var outcome struct {
		Status, Reason string
		Result         map[string]string
	}
	if err := call.Get(ctx, &outcome); err != nil {
		return "", err // refused: InvalidSpec or AlreadyOwned
	}
	if outcome.Status != "succeeded" {
		return "", errors.New("no report: the batch is " + outcome.Status + " " + outcome.Reason)
	}
	return outcome.Result["output_file"], nil
}

// docs: end

// docs: options
func newPlugin(logger *slog.Logger, pager activities.Notifier) (worker.Plugin, error) {
	tables, err := statetables.Load(
		statetables.Source{FS: statetables.Builtin()},
		statetables.Source{Name: "tables", FS: os.DirFS("tables")}, // your own, beside the built-in ones
	)
	if err != nil {
		return nil, err
	}
	policy, err := activities.LoadPolicy("policy.yaml")
	if err != nil {
		return nil, err
	}
	return jobwait.NewPlugin(jobwait.Options{
		Tables:      tables,
		Credentials: activities.CredentialsFile("credentials.yaml"),
		Policy:      policy,
		Notifier:    pager,
		Logger:      logger,
	})
}

// docs: end

// docs: credential-source
type vault struct {
	read func(ctx context.Context, path string) (value, version string, err error)
}

func (v vault) Credential(ctx context.Context, name string) (activities.Credential, error) {
	if name != "openai" {
		return activities.Credential{}, activities.ErrUnknownCredential
	}
	value, version, err := v.read(ctx, "kv/openai")
	if err != nil {
		return activities.Credential{}, errors.New("vault: kv/openai cannot be read") // history keeps this text
	}
	return activities.Credential{
		Version:   version,
		Origins:   []string{"https://api.openai.com"},
		Providers: []string{"openai-batch"},
		Read:      func(context.Context) (activities.Secret, error) { return activities.NewSecret(value) },
	}, nil
}

// docs: end

// docs: channels
func newNotifier(ctx context.Context, slackURL func(context.Context) (activities.Secret, error)) (activities.Notifier, error) {
	return notify.New(ctx, notify.Options{
		BaseURL: "https://inbox.example.com",
		Channels: []notify.Channel{
			{Name: "oncall", Slack: &notify.Slack{URL: slackURL}},
			{
				Name:  "approvers",
				Kinds: []wire.NotificationKind{wire.NotifyEscalated, wire.NotifyReminded},
				Mail: &notify.Mail{
					Server: "smtp.example.com:587", From: "jobwait@example.com", To: []string{"approvers@example.com"},
				},
			},
		},
	})
}

// docs: end

// docs: notifier
type pager struct {
	post func(ctx context.Context, id, text string) error
}

func (p pager) Notify(ctx context.Context, n wire.Notification) error {
	if n.Kind == wire.NotifyReminded && n.Briefing.Escalation.Reason == wire.ReasonNeedsInput {
		return nil // whoever has to give the input knows
	}
	return p.post(ctx, n.ID, operation.Message(n.Briefing)) // n.ID: the same message again is the same page
}

// docs: end

// docs: await
func monthlyReport(ctx workflow.Context, jobID string) (string, error) {
	outcome, err := jobwait.Await(ctx, wire.Spec{
		OperationID: "monthly-report-" + jobID, Provider: "openai-batch", Account: "org-42", ProviderJobID: jobID,
		CredentialRef: "openai", DeadlineAt: workflow.Now(ctx).Add(26 * time.Hour),
		MaxStatusRequests: 200, MaxTransportFailures: 10,
	})
	if err != nil {
		return "", err // owned by another wait, or a spec that cannot be run
	}
	if outcome.Status != wire.StatusSucceeded {
		return "", errors.New("no report: the batch is " + string(outcome.Status) + " " + string(outcome.Reason))
	}
	return outcome.Result["output_file"], nil
}

// docs: end

// docs: submit
func monthly(ctx workflow.Context, month string) (string, error) {
	outcome, err := jobwait.SubmitAndAwait(ctx, wire.SubmitSpec{
		SubmissionID: "report-" + month, Provider: "demo-export", Account: "acct-42", CredentialRef: "demo",
		Body: []byte(`{"report": "` + month + `"}`),
		Wait: wire.SubmitWait{
			DeadlineAt: workflow.Now(ctx).Add(time.Hour), MaxStatusRequests: 60, MaxTransportFailures: 5,
		},
	})
	if err != nil {
		return "", err
	}
	if outcome.Status != wire.StatusSucceeded {
		return "", errors.New("no report: " + string(outcome.Status) + " " + string(outcome.Reason))
	}
	return outcome.Result["file"], nil
}

// docs: end

// docs: fetch
func archived(ctx workflow.Context, waited wire.Spec, outcome wire.Outcome) (string, error) {
	spec, err := jobwait.NewFetchSpec(waited, outcome, "output_file")
	if err != nil {
		return "", err // the outcome has no such result
	}
	spec.Destination, spec.Key = "reports", "2026/"+waited.OperationID+".jsonl"
	spec.MaxBytes, spec.DeadlineAt = 1<<30, workflow.Now(ctx).Add(time.Hour)
	fetched, err := jobwait.Fetch(ctx, spec)
	if err != nil {
		return "", err
	}
	if fetched.Status != wire.FetchDone {
		return "", errors.New("not archived: " + string(fetched.Reason) + " " + fetched.Detail)
	}
	return fetched.SHA256, nil
}

// docs: end

// docs: start
func startOrJoin(ctx context.Context, c client.Client, spec wire.Spec) (client.WorkflowRun, error) {
	run, err := jobwait.Start(ctx, c, spec, jobwait.StartOptions{TaskQueue: "reports"})
	var owned *jobwait.AlreadyOwnedError
	if errors.As(err, &owned) && !owned.Closed && owned.Fingerprint == jobwait.FingerprintSame {
		return c.GetWorkflow(ctx, owned.WorkflowID, ""), nil // somebody waits for this very submission
	}
	return run, err
}

// docs: end

// docs: callbacks
func receive(ctx context.Context, c client.Client, tables *statetables.Set, listener net.Listener) error {
	options, err := callbacks.Load("callbacks.yaml")
	if err != nil {
		return err
	}
	options.Tables = tables
	receiver, err := callbacks.New(ctx, options)
	if err != nil {
		return err
	}
	return receiver.Serve(ctx, listener, c) // until ctx ends
}

// docs: end

// docs: nudge
func changed(ctx context.Context, c client.Client, jobID string) error {
	id := wire.WorkflowID("openai-batch", "org-42", jobID)
	err := c.SignalWorkflow(ctx, id, "", wire.SignalNudge, wire.Nudge{Source: "webhook of org-42"})
	if errors.As(err, new(*serviceerror.NotFound)) {
		return nil // nobody waits for this job, or no longer
	}
	return err
}

// docs: end

// docs: codec
func dial(codec converter.PayloadCodec) (client.Client, error) {
	return client.Dial(client.Options{
		DataConverter: converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codec),
	})
}

// docs: end

// histories is where this repository keeps its own.
var histories = filepath.Join(root, "workflows", "testdata", "histories", "good")

// docs: replay
func TestOpenWaitsReplay(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(histories, "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		history, err := waittest.ReadHistory(bytes.NewReader(text))
		require.NoError(t, err)
		require.NoError(t, waittest.ReplayStrictly(history, waittest.ReplayOptions{}), file)
	}
}

// docs: end

// docs: record
func record(ctx context.Context, c client.Client, workflowID string, to *os.File) error {
	history, err := waittest.FetchHistory(ctx, c, workflowID, "")
	if err != nil {
		return err
	}
	return waittest.WriteHistory(to, history)
}

// docs: end

// docs: provider
func TestAnOverloadedProviderIsLeftAlone(t *testing.T) {
	provider, err := waittest.NewProvider(waittest.ProviderOptions{Key: "test-key"})
	require.NoError(t, err)
	defer provider.Close()
	require.NoError(t, provider.Set("exp_71c", waittest.Script(
		waittest.State("running"),
		waittest.Status(http.StatusServiceUnavailable).RetryAfter("1"),
		waittest.Succeeded("https://files.example.com/exp_71c.csv"),
	)))

	outcome := waitFor(t, provider, "exp_71c")

	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, 1, outcome.TransportFailuresUsed)
	waittest.RequireWithinBudget(t, provider.Log("exp_71c"), 12)
}

// docs: end

// docs: environment
// waitFor runs a wait in the SDK's test environment, whose timers take no time, with activities that send real requests.
func waitFor(t *testing.T, provider *waittest.Provider, job string) wire.Outcome {
	t.Helper()
	env, spec := environment(t, provider, job)
	env.ExecuteWorkflow(wire.WorkflowAwaitJob, spec)
	require.NoError(t, env.GetWorkflowError())
	var outcome wire.Outcome
	require.NoError(t, env.GetWorkflowResult(&outcome))
	return outcome
}

func environment(t *testing.T, provider *waittest.Provider, job string) (*testsuite.TestWorkflowEnvironment, wire.Spec) {
	t.Helper()
	tables, err := statetables.Load(statetables.Source{Name: "demo", FS: statetables.Demo()})
	require.NoError(t, err)
	acts, err := activities.New(activities.Options{
		Tables: tables, Credentials: key{provider}, Visibility: nothingBefore{}, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	suite := testsuite.WorkflowTestSuite{}
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute)
	workflows.Register(env)
	acts.Register(env)
	spec := wire.Spec{
		OperationID: "op-" + job, Provider: "demo-export", Account: "acct-42", ProviderJobID: job,
		StatusURL: provider.StatusURL(job), CredentialRef: "demo", DeadlineAt: env.Now().Add(time.Hour),
		MaxStatusRequests: 12, MaxTransportFailures: 3,
	}
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: wire.WorkflowID(spec.Provider, spec.Account, job)})
	return env, spec
}

// docs: end

// docs: doubles
// nothingBefore says that the job was never waited for before, and that no search attributes are registered.
type nothingBefore struct{}

func (nothingBefore) ListWorkflow(context.Context, *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	return &workflowservice.ListWorkflowExecutionsResponse{}, nil
}

func (nothingBefore) CountWorkflow(context.Context, *workflowservice.CountWorkflowExecutionsRequest) (*workflowservice.CountWorkflowExecutionsResponse, error) {
	return nil, serviceerror.NewInvalidArgument("not registered")
}

type key struct{ provider *waittest.Provider }

func (k key) Credential(context.Context, string) (activities.Credential, error) {
	return activities.Credential{
		Version: "1", Origins: []string{k.provider.URL()},
		Read: func(context.Context) (activities.Secret, error) { return activities.NewSecret("test-key") },
	}, nil
}

// docs: end

// The pages show them; nothing here calls them.
var (
	_ = newWorker
	_ = newPlugin
	_ = monthlyReport
	_ = reportFromAnotherNamespace
	_ = monthly
	_ = archived
	_ = startOrJoin
	_ = changed
	_ = dial
	_ = record

	_ activities.CredentialSource = vault{}
	_ activities.Notifier         = pager{}
)
