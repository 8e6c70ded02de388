package operation

import (
	"bytes"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/jobwait/jobwait/wire"
)

// The bounds and defaults of a submission.
const (
	DefaultSubmitRequests       = 3
	MaxSubmitRequests           = 100
	DefaultSubmitTimeoutSeconds = 30
)

// CheckSubmission validates what can be checked in a submission's spec without a table. The error is a *SpecError.
func CheckSubmission(spec wire.SubmitSpec, startedAt time.Time) error {
	if err := checkPredecessor(spec); err != nil {
		return err
	}
	if why := badID(
		namedID{"submission_id", spec.SubmissionID}, namedID{"provider", spec.Provider}, namedID{"account", spec.Account},
	); why != "" {
		return &SpecError{Problem: why}
	}
	if id := wire.SubmitWorkflowID(spec.Provider, spec.Account, spec.SubmissionID); len(id) > wire.MaxWorkflowIDBytes {
		return specError("provider, account and submission_id give a workflow id of %d bytes, at most %d are allowed", len(id), wire.MaxWorkflowIDBytes)
	}
	if n := spec.MaxSubmitRequests; n < 0 || n > MaxSubmitRequests {
		return specError("max_submit_requests is %d, allowed is 1 to %d, or 0 for %d", n, MaxSubmitRequests, DefaultSubmitRequests)
	}
	if err := checkSubmitBody(spec.Body); err != nil {
		return err
	}
	return checkSubmitTimes(spec, startedAt)
}

func checkSubmitBody(body []byte) error {
	switch trimmed := bytes.TrimSpace(body); {
	case len(body) > wire.MaxSubmitBodyBytes:
		return specError("body has %d bytes, at most %d are allowed", len(body), wire.MaxSubmitBodyBytes)
	case len(trimmed) > 0 && trimmed[0] != '{' && string(trimmed) != "null":
		return specError("body is not a JSON object")
	case !utf8.Valid(body):
		return specError("body is not UTF-8")
	default:
		return nil
	}
}

func checkSubmitTimes(spec wire.SubmitSpec, startedAt time.Time) error {
	by, deadline := spec.SubmitBy, spec.Wait.DeadlineAt
	switch {
	case deadline.IsZero():
		return specError("wait.deadline_at is missing, it has no default: set the time until which the job may stay unresolved")
	case by != nil && !by.After(startedAt):
		return specError("submit_by %s is not after the start %s", timestamp(*by), timestamp(startedAt))
	case by != nil && by.After(deadline):
		return specError("submit_by %s is after wait.deadline_at %s", timestamp(*by), timestamp(deadline))
	default:
		return nil
	}
}

// exampleWait returns the spec of the wait that the submission would lead to, for an example job, so that its faults are found
// before anything is sent.
func exampleWait(spec wire.SubmitSpec) wire.Spec {
	return wire.Spec{
		OperationID: spec.SubmissionID, Provider: spec.Provider, Account: spec.Account, ProviderJobID: "job",
		Params: spec.Params, CredentialRef: spec.CredentialRef,
		DeadlineAt: spec.Wait.DeadlineAt, BusinessDeadlineAt: spec.Wait.BusinessDeadlineAt,
		ProviderExpiresAt: spec.Wait.ProviderExpiresAt, MaxStatusRequests: spec.Wait.MaxStatusRequests,
		MaxTransportFailures: spec.Wait.MaxTransportFailures, MaxRateLimited: spec.Wait.MaxRateLimited,
		ExpectedStates: spec.Wait.ExpectedStates, AcceptPartial: spec.Wait.AcceptPartial,
		Schedule: spec.Wait.Schedule, Escalation: spec.Wait.Escalation,
	}
}

// PrepareSubmission validates a submission and the wait that follows it, and takes the snapshot that the submission runs by.
// The error is a *SpecError.
func PrepareSubmission(spec wire.SubmitSpec, startedAt time.Time, known Knowledge, facts wire.SubmissionFacts) (wire.Prepared, error) {
	if err := CheckSubmission(spec, startedAt); err != nil {
		return wire.Prepared{}, err
	}
	wait, err := Prepare(exampleWait(spec), startedAt, known)
	if err != nil {
		return wire.Prepared{}, inWait(err)
	}
	facts.OfferResubmit, facts.Wait, facts.Predecessor = spec.OfferResubmit, spec.Wait, unasked(spec.Predecessor)
	return submissionSnapshot(spec, wait, facts), nil
}

// inWait says in the error of a spec that the fault is in the wait that follows the submission.
func inWait(err error) error {
	if of, ok := errors.AsType[*SpecError](err); ok {
		return specError("wait: %s", of.Problem)
	}
	return err
}

// submissionSnapshot returns the wait's snapshot with the budgets and the pace of the submission instead.
func submissionSnapshot(spec wire.SubmitSpec, wait wire.Prepared, facts wire.SubmissionFacts) wire.Prepared {
	most := spec.MaxSubmitRequests
	if most == 0 {
		most = DefaultSubmitRequests
	}
	prepared := wait
	prepared.Submission, prepared.Notes = &facts, nil
	prepared.Spec.ProviderJobID, prepared.Spec.ExpectedStates = "", spec.Wait.ExpectedStates
	prepared.Spec.MaxStatusRequests, prepared.Spec.MaxTransportFailures, prepared.Spec.MaxRateLimited = most, most, &most
	if spec.SubmitBy != nil {
		prepared.Spec.DeadlineAt = *spec.SubmitBy
	}
	prepared.Spec.RequestFingerprint = facts.Fingerprint
	prepared.Limits.DeadlineAt = prepared.Spec.DeadlineAt.UTC()
	prepared.Limits.MaxStatusRequests, prepared.Limits.MaxTransportFailures, prepared.Limits.MaxRateLimited = most, most, most
	prepared.Table.Cancel, prepared.Table.ConsoleURL = nil, ""
	prepared.Pace.InitialDelaySeconds = new(0)
	prepared.Pace.ExpectedP50Seconds, prepared.Pace.ExpectedP90Seconds, prepared.Pace.TypicalDelaySeconds = 0, 0, 0
	if spec.Wait.Schedule.RequestTimeoutSeconds == nil {
		prepared.Pace.RequestTimeoutSeconds = max(prepared.Pace.RequestTimeoutSeconds, DefaultSubmitTimeoutSeconds)
	}
	prepared.Spec.Schedule.InitialDelaySeconds = prepared.Pace.InitialDelaySeconds
	prepared.Spec.Schedule.RequestTimeoutSeconds = &prepared.Pace.RequestTimeoutSeconds
	return prepared
}
