package activities

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// Prepare is the first activity of a wait: it validates the spec and takes the snapshot that the wait runs by (R28). It sends
// nothing to the provider, so it may be repeated. For a spec that cannot be run it returns a non-retryable application error of
// type wire.ErrorInvalidSpec, whose one line names the value, the rule and what to do. Any other error is a problem of the worker
// or the server and may be temporary.
func (a *Activities) Prepare(ctx context.Context, request wire.PrepareRequest) (wire.Prepared, error) {
	spec, prepared, err := a.readSpec(request.Spec, request.StartedAt)
	if err != nil {
		return wire.Prepared{}, err
	}
	if err := checkStart(request, "job", wire.WorkflowID(spec.Provider, spec.Account, spec.ProviderJobID)); err != nil {
		return wire.Prepared{}, invalidSpec(err)
	}
	prepared, err = a.complete(ctx, request, prepared, func(latest string) error { return reopened(spec.Reopens, latest) })
	if err != nil {
		return wire.Prepared{}, err
	}
	if !prepared.AttributesRegistered {
		prepared.Notes = append(prepared.Notes, wire.NoteAttributesUnregistered)
	}
	return prepared, nil
}

// CheckSpec validates a spec as Prepare would for a wait that starts at the given time, as far as that is possible before the wait
// exists. It returns the decoded spec; its errors are those of Prepare.
func (a *Activities) CheckSpec(ctx context.Context, data []byte, startedAt time.Time) (wire.Spec, error) {
	spec, _, err := a.readSpec(data, startedAt)
	if err != nil {
		return wire.Spec{}, err
	}
	_, err = a.checkCredential(ctx, spec)
	return spec, err
}

// readSpec decodes a spec and checks it against what this worker's tables and policy say.
func (a *Activities) readSpec(data []byte, startedAt time.Time) (wire.Spec, wire.Prepared, error) {
	spec, err := wire.DecodeSpec(data)
	if err != nil {
		return wire.Spec{}, wire.Prepared{}, invalidSpec(err)
	}
	known, err := a.know(spec)
	if err != nil {
		return wire.Spec{}, wire.Prepared{}, invalidSpec(err)
	}
	prepared, err := operation.Prepare(spec, startedAt, known)
	if err != nil {
		return wire.Spec{}, wire.Prepared{}, invalidSpec(err)
	}
	return spec, prepared, nil
}

// invalidSpec is the error of a spec that cannot be run, in one line.
func invalidSpec(cause error) error {
	text := strings.ReplaceAll(cause.Error(), "\n", "; ")
	if !strings.HasPrefix(text, "spec: ") {
		text = "spec: " + text
	}
	return temporal.NewNonRetryableApplicationError(text, wire.ErrorInvalidSpec, nil)
}

// know is what this worker's tables and policy say of a spec.
func (a *Activities) know(spec wire.Spec) (operation.Knowledge, error) {
	table, err := a.table(spec.Provider)
	if err != nil {
		return operation.Knowledge{}, err
	}
	if err := table.CheckSpec(spec); err != nil {
		return operation.Knowledge{}, err
	}
	facts, err := table.Facts(spec)
	return a.knowledge(table, spec.Account, facts), err
}

// table is the state table of a provider that a spec names.
func (a *Activities) table(provider string) (*statetables.Table, error) {
	table, ok := a.tables.Table(provider)
	if !ok {
		return nil, fmt.Errorf("provider %.256q has no state table on this worker; known are %q", provider, a.tables.Providers())
	}
	return table, nil
}

func (a *Activities) knowledge(table *statetables.Table, account string, facts wire.TableFacts) operation.Knowledge {
	advice := table.Advice()
	return operation.Knowledge{
		Table: facts, Advice: advice.Schedule, FloorSeconds: advice.FloorSeconds, CapSeconds: advice.CapSeconds,
		RetentionSeconds: int64(advice.RetentionSeconds), TellDecisions: true, Policy: a.policy.of(table.Provider(), account),
	}
}

// testTimeoutSeconds is what the SDK's test environment, which knows no original run, reports where no time-out is set.
const testTimeoutSeconds = 10 * 365 * 24 * 3600

// checkStart refuses starts under another workflow id than that of the job, or the submission, which would break its single
// owner, and those that would end it without an outcome (R46).
func checkStart(request wire.PrepareRequest, of, want string) error {
	start := request.Start
	unset := start.TimeoutSeconds == 0 || start.TimeoutSeconds == testTimeoutSeconds && request.OriginalRunID == ""
	switch {
	case start.WorkflowID != want:
		return fmt.Errorf("workflow id %q is not that of this %s; start it as %q", start.WorkflowID, of, want)
	case start.CronSchedule != "":
		return fmt.Errorf("cron schedule %q: a wait runs once; start it without one", start.CronSchedule)
	case start.HasRetryPolicy:
		return errors.New("the workflow has a retry policy: a wait is not repeated; start it without one")
	case !unset:
		return fmt.Errorf("the workflow has an execution or run timeout of %d s: only deadline_at ends a wait; start it without one", start.TimeoutSeconds)
	default:
		return nil
	}
}

// complete adds to a snapshot what the credentials, the trusted keys and the server say. again says what is wrong with beginning
// once more after the latest run that has a decided end.
func (a *Activities) complete(
	ctx context.Context, request wire.PrepareRequest, prepared wire.Prepared, again func(latest string) error,
) (wire.Prepared, error) {
	whole, err := a.gather(ctx, request, prepared, again)
	return whole, untilLapsed(ctx, prepared, err)
}

// untilLapsed lets trouble pass for as long as a question at the deadline would stay open. What nobody could prepare until then
// is not tried for ever: whoever waits for the outcome would.
func untilLapsed(ctx context.Context, prepared wire.Prepared, err error) error {
	window := time.Duration(prepared.DecisionWindowSeconds) * time.Second
	lapsed := activity.GetInfo(ctx).StartedTime.After(prepared.Limits.DeadlineAt.Add(window))
	if err == nil || !lapsed || errors.As(err, new(*temporal.ApplicationError)) {
		return err
	}
	return invalidSpec(fmt.Errorf("not prepared until deadline_at %s and %s after it; the last trouble was: %s",
		prepared.Limits.DeadlineAt.UTC().Format(time.RFC3339), operation.Span(window), detail("%s", err)))
}

// gather is one attempt of complete.
func (a *Activities) gather(
	ctx context.Context, request wire.PrepareRequest, prepared wire.Prepared, again func(latest string) error,
) (wire.Prepared, error) {
	var err error
	if prepared.Approval, err = a.checkCredential(ctx, prepared.Spec); err != nil {
		return wire.Prepared{}, err
	}
	if prepared.DecisionKeys, err = a.trusted(ctx); err != nil {
		return wire.Prepared{}, err
	}
	return a.look(ctx, request, prepared, again)
}

// checkCredential refuses a name that this worker does not know, and one that is bound to other providers or accounts. The
// value is not read: one that is not there yet may be there when it is needed. Origins are looked at before each request
// (R51). It gives the rule by which people approve its use.
func (a *Activities) checkCredential(ctx context.Context, spec wire.Spec) (wire.ApprovalRule, error) {
	if spec.CredentialRef == "" {
		return wire.ApprovalNone, nil // statetables.CheckSpec refuses it where the provider is never asked without one
	}
	credential, err := a.credentials.Credential(ctx, spec.CredentialRef)
	switch {
	case errors.Is(err, ErrUnknownCredential):
		return "", invalidSpec(fmt.Errorf("credential_ref: %w", err))
	case err != nil:
		return "", withoutURL(err)
	}
	if err := credential.allows(spec.CredentialRef, spec.Provider, spec.Account); err != nil {
		return "", invalidSpec(err)
	}
	if table, ok := a.tables.Table(spec.Provider); ok {
		if err := table.CheckScheme(credential.Scheme); err != nil {
			return "", invalidSpec(fmt.Errorf("credential %q: %w", spec.CredentialRef, err))
		}
	}
	return credential.approval(), nil
}

// look adds what the server knows: whether this run is a reset, which excuses it from what follows, whether there was another
// before it, and whether search attributes may be upserted.
func (a *Activities) look(
	ctx context.Context, request wire.PrepareRequest, prepared wire.Prepared, again func(latest string) error,
) (wire.Prepared, error) {
	visibility, id := a.visible(ctx), request.Start.WorkflowID
	if runID, reset := resetRun(ctx, request.OriginalRunID); reset {
		prepared.ResetRunID = runID
	} else if err := checkEarlier(ctx, visibility, id, again); err != nil {
		return wire.Prepared{}, err
	}
	registered, err := attributesRegistered(ctx, visibility, id)
	if err != nil {
		return wire.Prepared{}, err
	}
	// What is held back is to be brought back in time. The SDK's test environment, which knows no original run, skips the time
	// that lanes count, and gives up after some attempts.
	prepared.AttributesRegistered, prepared.HoldBack = registered, request.OriginalRunID != ""
	return prepared, nil
}

func checkEarlier(ctx context.Context, visibility Visibility, workflowID string, again func(latest string) error) error {
	latest, err := latestDecided(ctx, visibility, workflowID)
	if err != nil || latest == "" {
		return err
	}
	if err := again(latest); err != nil {
		return invalidSpec(err)
	}
	return nil
}

// reopened demands a person's word for waiting again after a decided end (R46).
func reopened(reopens *wire.Reopens, latest string) error {
	switch {
	case reopens == nil:
		return fmt.Errorf("this job was waited for before, run %q; to wait again set reopens with that run_id, decided_by and comment", latest)
	case reopens.RunID != latest:
		return fmt.Errorf("reopens.run_id %q is not the latest wait of this job; that is %q", reopens.RunID, latest)
	default:
		return nil
	}
}
