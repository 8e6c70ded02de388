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

// PrepareSubmission is the first recorded step of a submission, and what Prepare is to a wait: what cannot be run is refused
// before anything is sent, what can be known of the wait that follows included. The snapshot has a Submission.
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
	if spec.Predecessor != nil && prepared.ResetRunID == "" { // a reset asks people, whatever became of the predecessor since
		prepared.Submission.Predecessor, err = replaced(ctx, activity.GetClient(ctx), spec)
	}
	return prepared, err
}

// CheckSubmitSpec is CheckSpec for a submission: what PrepareSubmission would say if it started at the given time.
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

// submission is the snapshot as far as the spec, the table and the policy decide it.
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

// submittedBefore refuses to submit a second time what a submission_id stands for.
func submittedBefore(latest string) error {
	return fmt.Errorf("submission_id: it was submitted before, by run %q, whose outcome is the answer; another submission takes another submission_id", latest)
}
