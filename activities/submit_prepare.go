package activities

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// PrepareSubmission is the first recorded step of a submission, and what Prepare is to a wait: what cannot be run is refused
// before anything is sent, what can be known of the wait that follows included.
func (a *Activities) PrepareSubmission(ctx context.Context, request wire.PrepareSubmissionRequest) (wire.Prepared, error) {
	spec, err := wire.DecodeSubmitSpec(request.Spec)
	if err != nil {
		return wire.Prepared{}, invalidSpec(err)
	}
	prepared, err := a.submission(spec, request)
	if err != nil {
		return wire.Prepared{}, invalidSpec(err)
	}
	if prepared.Approval, err = a.checkCredential(ctx, prepared.Spec); err != nil {
		return wire.Prepared{}, err
	}
	if prepared.DecisionKeys, err = a.trusted(ctx); err != nil {
		return wire.Prepared{}, err
	}
	return a.lookSubmission(ctx, request, prepared)
}

// CheckSubmitSpec is CheckSpec for a submission: what PrepareSubmission would say if it started at the given time.
func (a *Activities) CheckSubmitSpec(ctx context.Context, data []byte, startedAt time.Time) (wire.SubmitSpec, error) {
	spec, err := wire.DecodeSubmitSpec(data)
	if err != nil {
		return wire.SubmitSpec{}, invalidSpec(err)
	}
	id := wire.SubmitWorkflowID(spec.Provider, spec.Account, spec.SubmissionID)
	prepared, err := a.submission(spec, wire.PrepareSubmissionRequest{StartedAt: startedAt, Start: wire.StartOptions{WorkflowID: id}})
	if err != nil {
		return wire.SubmitSpec{}, invalidSpec(err)
	}
	_, err = a.checkCredential(ctx, prepared.Spec)
	return spec, err
}

// submission is the snapshot as far as the spec, the table and the policy decide it.
func (a *Activities) submission(spec wire.SubmitSpec, request wire.PrepareSubmissionRequest) (wire.Prepared, error) {
	table, ok := a.tables.Table(spec.Provider)
	if !ok {
		return wire.Prepared{}, fmt.Errorf("provider %q has no state table on this worker; known are %q", spec.Provider, a.tables.Providers())
	}
	if err := operation.CheckSubmission(spec, request.StartedAt); err != nil {
		return wire.Prepared{}, err
	}
	if err := table.CheckSubmission(spec); err != nil {
		return wire.Prepared{}, err
	}
	if err := checkSubmissionStart(request, spec); err != nil {
		return wire.Prepared{}, err
	}
	facts, err := submissionFacts(table, spec)
	if err != nil {
		return wire.Prepared{}, err
	}
	advice := table.Advice()
	return operation.PrepareSubmission(spec, request.StartedAt, operation.Knowledge{
		Table: wire.TableFacts{Digest: table.Digest()}, Advice: advice.Schedule,
		FloorSeconds: advice.FloorSeconds, CapSeconds: advice.CapSeconds, TellDecisions: true,
		Policy: a.policy.of(spec.Provider, spec.Account),
	}, facts)
}

func submissionFacts(table *statetables.Table, spec wire.SubmitSpec) (wire.SubmissionFacts, error) {
	fingerprint, err := table.Fingerprint(wire.Target{
		Provider: spec.Provider, Account: spec.Account, Params: spec.Params, CredentialRef: spec.CredentialRef,
	}, spec.Body)
	idempotency, length, _ := table.Submission()
	return wire.SubmissionFacts{
		Fingerprint: fingerprint, Idempotency: idempotency, KeyLength: length, KeyPlace: table.KeyPlace(), KeySeconds: table.KeySeconds(),
		KnowsItsWait: true,
	}, err
}

// checkSubmissionStart refuses starts that would let one thing be submitted by two executions, or end one without an outcome.
func checkSubmissionStart(request wire.PrepareSubmissionRequest, spec wire.SubmitSpec) error {
	start := request.Start
	if want := wire.SubmitWorkflowID(spec.Provider, spec.Account, spec.SubmissionID); start.WorkflowID != want {
		return fmt.Errorf("workflow id %q is not that of this submission; start it as %q", start.WorkflowID, want)
	}
	return checkStartOptions(start, request.OriginalRunID)
}

// lookSubmission adds what the server knows, as look does. A submission_id that was submitted before is not submitted again.
func (a *Activities) lookSubmission(ctx context.Context, request wire.PrepareSubmissionRequest, prepared wire.Prepared) (wire.Prepared, error) {
	visibility, id := a.visible(ctx), request.Start.WorkflowID
	if runID, reset := resetRun(ctx, request.OriginalRunID); reset {
		prepared.ResetRunID = runID
	} else if err := neverSubmitted(ctx, visibility, id); err != nil {
		return wire.Prepared{}, err
	}
	registered, err := attributesRegistered(ctx, visibility, id)
	if err != nil {
		return wire.Prepared{}, err
	}
	prepared.AttributesRegistered, prepared.HoldBack = registered, request.OriginalRunID != ""
	return prepared, nil
}

func neverSubmitted(ctx context.Context, visibility Visibility, workflowID string) error {
	latest, err := latestDecided(ctx, visibility, workflowID)
	switch {
	case err != nil:
		return err
	case latest != "":
		return invalidSpec(fmt.Errorf("submission_id: it was submitted before, by run %q, whose outcome is the answer; another submission takes another submission_id", strings.TrimSpace(latest)))
	default:
		return nil
	}
}
