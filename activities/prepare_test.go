package activities

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/jobwait/jobwait/wire"
)

var startedAt = time.Date(2025, 4, 18, 10, 20, 0, 0, time.UTC)

// visibleRuns is a visibility store: closed runs in the order they are listed, which started in the order of their names,
// and what it answers instead.
type visibleRuns struct {
	runs             []string
	listErr, counted error
	lists, counts    []string
}

func (v *visibleRuns) ListWorkflow(_ context.Context, request *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	v.lists = append(v.lists, request.GetQuery())
	found := &workflowservice.ListWorkflowExecutionsResponse{}
	for _, run := range v.runs {
		started := startedAt.Add(time.Duration(run[len(run)-1]) * time.Hour)
		found.Executions = append(found.Executions, &workflow.WorkflowExecutionInfo{
			Execution: &common.WorkflowExecution{RunId: run}, StartTime: timestamppb.New(started),
		})
	}
	return found, v.listErr
}

func (v *visibleRuns) CountWorkflow(_ context.Context, request *workflowservice.CountWorkflowExecutionsRequest) (*workflowservice.CountWorkflowExecutionsResponse, error) {
	v.counts = append(v.counts, request.GetQuery())
	return &workflowservice.CountWorkflowExecutionsResponse{}, v.counted
}

// preparation is a request to prepare the world's job; tests change its parts.
type preparation struct {
	*world
	*visibleRuns
	spec    map[string]any
	request wire.PrepareRequest
}

func newPreparation(t *testing.T) *preparation {
	t.Helper()
	p := &preparation{world: newWorld(t, nil), visibleRuns: &visibleRuns{}}
	p.options.Visibility = p.visibleRuns
	p.spec = map[string]any{
		"operation_id": "op", "provider": "demo-export", "account": "acct-42", "provider_job_id": "exp_71c",
		"status_url": p.URL + "/exports/exp_71c", "credential_ref": "demo",
		"deadline_at": startedAt.Add(time.Hour), "max_status_requests": 12, "max_transport_failures": 3,
	}
	p.request = wire.PrepareRequest{
		StartedAt: startedAt, OriginalRunID: testRun,
		Start: wire.StartOptions{WorkflowID: "jobwait/demo-export/acct-42/exp_71c"},
	}
	return p
}

func (p *preparation) prepare() (wire.Prepared, error) {
	p.t.Helper()
	var prepared wire.Prepared
	if p.request.Spec == nil {
		text, err := json.Marshal(p.spec)
		require.NoError(p.t, err)
		p.request.Spec = text
	}
	return prepared, p.run(wire.ActivityPrepare, p.request, &prepared)
}

// X1, R51: a status URL of another origin does not make the spec invalid; it is refused before it would be sent.
func TestPrepareLeavesAnotherOriginToThePoll(t *testing.T) {
	t.Parallel()
	p := newPreparation(t)
	p.spec["status_url"] = "http://169.254.169.254/latest/meta-data"
	_, err := p.prepare()
	require.NoError(t, err)
	require.Zero(t, p.connected())
}

// refused demands one line of InvalidSpec that is not tried again, and returns it.
func (p *preparation) refused() string {
	p.t.Helper()
	_, err := p.prepare()
	var application *temporal.ApplicationError
	require.ErrorAs(p.t, err, &application)
	require.Equal(p.t, wire.ErrorInvalidSpec, application.Type())
	require.True(p.t, application.NonRetryable())
	require.True(p.t, strings.HasPrefix(application.Message(), "spec: "), application.Message())
	require.NotContains(p.t, application.Message(), "\n")
	require.NotContains(p.t, application.Message(), p.URL)
	require.Zero(p.t, p.connected())
	return application.Message()
}

// Whoever starts a wait may ask beforehand what Prepare will say.
func TestCheckSpecSaysWhatPrepareSays(t *testing.T) {
	t.Parallel()
	for field, value := range map[string]any{
		"accept_partial":      true, // which can be run
		"max_status_requests": 0, "deadline_at": startedAt, "provider": "nobody", "credential_ref": "nobody", "status_url": "exports/1",
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			p := newPreparation(t)
			p.spec[field] = value
			data, err := json.Marshal(p.spec)
			require.NoError(t, err)
			acts, err := New(p.options)
			require.NoError(t, err)
			spec, early := acts.CheckSpec(t.Context(), data, startedAt)
			if field == "accept_partial" {
				require.NoError(t, early)
				require.Equal(t, "op", spec.OperationID)
				return
			}
			require.EqualError(t, early, invalidSpec(errors.New(p.refused())).Error())
		})
	}
}

// R28: the snapshot that a wait runs by.
func TestPrepare(t *testing.T) {
	t.Parallel()
	p := newPreparation(t)
	prepared, err := p.prepare()
	require.NoError(t, err)
	require.Equal(t, 3, *prepared.Spec.MaxRateLimited)
	require.Equal(t, 12, prepared.Limits.MaxStatusRequests)
	require.Equal(t, startedAt.Add(time.Hour), prepared.Limits.DeadlineAt)
	require.Equal(t, 10_000, prepared.Grants.StatusRequests)
	require.Equal(t, 4, prepared.Table.Cancel.ConfirmRequests)
	require.True(t, prepared.AttributesRegistered)
	require.Empty(t, prepared.Notes)
	require.Empty(t, prepared.ResetRunID)
	require.Zero(t, p.connected(), "prepare sends nothing to the provider")
	require.Equal(t, []string{
		"WorkflowId = 'jobwait/demo-export/acct-42/exp_71c' AND ExecutionStatus IN ('Completed', 'Canceled', 'Terminated', 'TimedOut')",
	}, p.lists)
	require.Equal(t, []string{
		"WorkflowId = 'jobwait/demo-export/acct-42/exp_71c' AND JobWaitProvider = 'none' AND JobWaitPhase = 'none'" +
			" AND JobWaitReason = 'none' AND JobWaitDecideBy = '2000-01-01T00:00:00Z'",
	}, p.counts)
}

// Each bad spec gets one clear line, which names the value, the rule and the way out, and no URL.
func TestPrepareRefuses(t *testing.T) {
	t.Parallel()
	set := func(name string, value any) func(*preparation) {
		return func(p *preparation) { p.spec[name] = value }
	}
	for name, test := range map[string]struct {
		change func(*preparation)
		want   string
	}{
		"not JSON":                   {func(p *preparation) { p.request.Spec = json.RawMessage(`"` + marker + `"`) }, "a JSON object is wanted, got a string"},
		"unknown field":              {set("max_requests", 3), `field "max_requests" is not known`},
		"wrong type":                 {set("max_status_requests", "many"), `field "max_status_requests": a string where a whole number belongs`},
		"no deadline":                {set("deadline_at", nil), "deadline_at"},
		"no budget":                  {set("max_status_requests", 0), "max_status_requests is missing"},
		"deadline before start":      {set("deadline_at", startedAt.Add(-time.Second)), "deadline_at 2025-04-18T10:19:59Z is not after the start of the wait 2025-04-18T10:20:00Z"},
		"unknown provider":           {set("provider", "demo-import"), `provider "demo-import" has no state table on this worker; known are ["demo-export"]`},
		"provider of any length":     {set("provider", strings.Repeat("p", 60_000)), `provider "` + strings.Repeat("p", 256) + `" has no state table`},
		"credential of any length":   {set("credential_ref", strings.Repeat("c", 60_000)), "spec: credential_ref has 60000 characters, at most 256 are allowed"},
		"empty account":              {set("account", ""), "account"},
		"X3: userinfo":               {set("status_url", "http://user:"+marker+"@127.0.0.1/"), "status_url: has a user or a password in it"},
		"X3: token in the query":     {set("status_url", "http://127.0.0.1/?token="+marker), "query"},
		"R51: relative status_url":   {set("status_url", "/exports/exp_71c"), "status_url"},
		"R50: unknown credential":    {set("credential_ref", "gone"), `credential_ref: credentials: unknown credential "gone"`},
		"R50: no credential":         {set("credential_ref", ""), "credential_ref"},
		"R29: beyond the policy":     {func(p *preparation) { p.options.Policy.MaxStatusRequests = new(11) }, "max_status_requests is 12, the worker's policy allows at most 11"},
		"R46: another workflow id":   {func(p *preparation) { p.request.Start.WorkflowID = "mine" }, `workflow id "mine" is not that of this job; start it as "jobwait/demo-export/acct-42/exp_71c"`},
		"R46: cron":                  {func(p *preparation) { p.request.Start.CronSchedule = "@daily" }, `cron schedule "@daily"`},
		"R46: retry policy":          {func(p *preparation) { p.request.Start.HasRetryPolicy = true }, "the workflow has a retry policy"},
		"R46: time-out":              {func(p *preparation) { p.request.Start.TimeoutSeconds = 3600 }, "execution or run timeout of 3600 s"},
		"R46: time-out of ten years": {func(p *preparation) { p.request.Start.TimeoutSeconds = testTimeoutSeconds }, "execution or run timeout of 315360000 s"},
		"R46: decided before":        {func(p *preparation) { p.runs = []string{"run-1"} }, `this job was waited for before, run "run-1"`},
		"R46: not the latest": {func(p *preparation) {
			p.runs = []string{"run-1", "run-3", "run-2"}
			set("reopens", wire.Reopens{RunID: "run-1", DecidedBy: "ana", Comment: "again"})(p)
		}, `reopens.run_id "run-1" is not the latest wait of this job; that is "run-3"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPreparation(t)
			test.change(p)
			message := p.refused()
			require.Contains(t, message, test.want)
			require.NotContains(t, message, marker)
		})
	}
}

// R51: a credential of another provider or account is refused; where it may be sent is looked at before each request.
func TestPrepareChecksTheBindingOfCredentials(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		`{version: "1", file: key, origins: ["http://a"], providers: [openai-batch]}`: `credential "demo" is not for provider "demo-export"`,
		`{version: "1", file: key, origins: ["http://a"], accounts: [acct-1]}`:        `credential "demo" is not for account "acct-42"`,
	} {
		p := newPreparation(t)
		p.entry(entry)
		require.Contains(t, p.refused(), want)
	}
	p := newPreparation(t)
	p.entry(`{version: "1", file: not-there-yet, origins: ["http://a"]}`)
	_, err := p.prepare()
	require.NoError(t, err)
}

// R46: a person's word for the latest run lets a job be waited for again.
func TestPrepareReopens(t *testing.T) {
	t.Parallel()
	p := newPreparation(t)
	p.runs = []string{"run-2", "run-1"}
	p.spec["reopens"] = wire.Reopens{RunID: "run-2", DecidedBy: "ana", Comment: "again"}
	prepared, err := p.prepare()
	require.NoError(t, err)
	require.Equal(t, "run-2", prepared.Spec.Reopens.RunID)
}

// R31, R46: a reset is told before anything else is asked, and is not mistaken for a second wait.
func TestPrepareFindsReset(t *testing.T) {
	t.Parallel()
	p := newPreparation(t)
	p.runs = []string{"first-run"}
	p.request.OriginalRunID = "first-run"
	prepared, err := p.prepare()
	require.NoError(t, err)
	require.Equal(t, testRun, prepared.ResetRunID)
	require.Empty(t, p.lists)
}

// The SDK's test environment reports time-outs of ten years and no original run: that is how unset looks there.
func TestPrepareInTheTestEnvironment(t *testing.T) {
	t.Parallel()
	p := newPreparation(t)
	p.request.OriginalRunID, p.request.Start.TimeoutSeconds = "", testTimeoutSeconds
	prepared, err := p.prepare()
	require.NoError(t, err)
	require.Empty(t, prepared.ResetRunID)
}

// An upsert of an unregistered attribute would block the workflow, so its absence is recorded.
func TestPrepareNotesUnregisteredAttributes(t *testing.T) {
	t.Parallel()
	p := newPreparation(t)
	p.counted = serviceerror.NewInvalidArgument("invalid query: search attribute JobWaitProvider is not defined")
	prepared, err := p.prepare()
	require.NoError(t, err)
	require.False(t, prepared.AttributesRegistered)
	require.Equal(t, []string{wire.NoteAttributesUnregistered}, prepared.Notes)
}

// The server's and the worker's trouble passes: it is not held against the spec, until nobody is left who could decide at the
// deadline.
func TestPrepareMayBeTriedAgain(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*preparation){
		"looking for earlier waits":                   func(p *preparation) { p.listErr = errors.New("unavailable") },
		"asking whether search attributes are regist": func(p *preparation) { p.counted = errors.New("unavailable") },
		"credentials: open": func(p *preparation) {
			p.options.Credentials = lazily{CredentialsFile(p.credentials + ".gone")}
		},
	} {
		p := newPreparation(t)
		p.spec["deadline_at"] = time.Now().Add(-23 * time.Hour)
		change(p)
		_, err := p.prepare()
		require.ErrorContains(t, err, want)
		var application *temporal.ApplicationError
		require.ErrorAs(t, err, &application)
		require.NotEqual(t, wire.ErrorInvalidSpec, application.Type())
		require.False(t, application.NonRetryable())

		lapsed := newPreparation(t)
		lapsed.spec["deadline_at"] = time.Now().Add(-25 * time.Hour)
		change(lapsed)
		message := lapsed.refused()
		require.Contains(t, message, "spec: not prepared until deadline_at 20")
		require.Contains(t, message, "and 24h00m after it; the last trouble was: "+want)
	}
	late := newPreparation(t)
	late.spec["deadline_at"] = time.Now().Add(-25 * time.Hour)
	_, err := late.prepare()
	require.NoError(t, err, "what can be prepared is, however late")
}

// The SDK's test environment skips time, which lanes do not.
func TestPrepareHoldsBackOnARealServerOnly(t *testing.T) {
	t.Parallel()
	for original, want := range map[string]bool{testRun: true, "": false} {
		p := newPreparation(t)
		p.request.OriginalRunID = original
		prepared, err := p.prepare()
		require.NoError(t, err)
		require.Equal(t, want, prepared.HoldBack, original)
	}
}
