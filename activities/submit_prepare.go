package activities

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// PrepareSubmission is the first step of a submission: like Prepare for a wait, it refuses what cannot be run before anything is
// sent, including what can be known of the wait that follows. The snapshot has a Submission.
func (a *Activities) PrepareSubmission(ctx context.Context, request wire.PrepareRequest) (wire.Prepared, error) {
	spec, prepared, err := a.readSubmitSpec(request.Spec, request.StartedAt)
	if err != nil {
		return wire.Prepared{}, err
	}
	if err := checkStart(request, "submission", wire.SubmitWorkflowID(spec.Provider, spec.Account, spec.SubmissionID)); err != nil {
		return wire.Prepared{}, invalidSpec(err)
	}
	if prepared, err = a.complete(ctx, request, prepared, submittedBefore); err != nil {
		return wire.Prepared{}, err
	}
	if spec.Predecessor != nil && prepared.ResetRunID == "" { // a reset asks people anyway
		prepared.Submission.Predecessor, err = replaced(ctx, activity.GetClient(ctx), spec)
	}
	return prepared, err
}

// CheckSubmitSpec is CheckSpec for a submission: it validates a spec as PrepareSubmission would at the given time.
func (a *Activities) CheckSubmitSpec(ctx context.Context, data []byte, startedAt time.Time) (wire.SubmitSpec, error) {
	spec, prepared, err := a.readSubmitSpec(data, startedAt)
	if err != nil {
		return wire.SubmitSpec{}, err
	}
	_, err = a.checkCredential(ctx, prepared.Spec)
	return spec, err
}

// readSubmitSpec is readSpec for a submission.
func (a *Activities) readSubmitSpec(data []byte, startedAt time.Time) (wire.SubmitSpec, wire.Prepared, error) {
	spec, err := wire.DecodeSubmitSpec(data)
	if err != nil {
		return wire.SubmitSpec{}, wire.Prepared{}, invalidSpec(err)
	}
	prepared, err := a.submission(spec, startedAt)
	if err != nil {
		return wire.SubmitSpec{}, wire.Prepared{}, invalidSpec(err)
	}
	return spec, prepared, nil
}

// submission returns the snapshot as far as the spec, the table and the policy determine it.
func (a *Activities) submission(spec wire.SubmitSpec, startedAt time.Time) (wire.Prepared, error) {
	table, err := a.table(spec.Provider)
	if err != nil {
		return wire.Prepared{}, err
	}
	if err := operation.CheckSubmission(spec, startedAt); err != nil {
		return wire.Prepared{}, err
	}
	if err := table.CheckSubmission(spec); err != nil {
		return wire.Prepared{}, err
	}
	facts, err := submissionFacts(table, spec)
	if err != nil {
		return wire.Prepared{}, err
	}
	known := a.knowledge(table, spec.Account, wire.TableFacts{Digest: table.Digest()})
	return operation.PrepareSubmission(spec, startedAt, known, facts)
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

// submittedBefore is the error of a submission_id that was submitted before.
func submittedBefore(latest string) error {
	return fmt.Errorf("submission_id: it was submitted before, by run %q, whose outcome is the answer; another submission takes another submission_id", latest)
}
