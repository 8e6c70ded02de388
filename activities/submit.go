package activities

import (
	"context"
	"fmt"

	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// Submit sends at most one request to submit, with the key that stands in history, and reads its answer. Whatever happened is
// the result; its errors are those of PollStatus, and mean the same.
func (a *Activities) Submit(ctx context.Context, request wire.SubmitRequest) (wire.SubmitResult, error) {
	visit, err := begin(ctx, request.TimeoutSeconds)
	if err != nil {
		return wire.SubmitResult{}, final(fmt.Errorf("submit: %w", err))
	}
	if request.MayHoldBack {
		visit.by = request.NotAfter
	}
	ready, refused := a.clear(ctx, request.Target, request.Authority, submitting(request))
	if refused == nil {
		refused = unchanged(ready.table, request)
	}
	if refused == nil {
		refused, err = a.admit(ctx, ready, request.CredentialRef, visit)
	}
	switch {
	case err != nil:
		return wire.SubmitResult{}, err
	case refused != nil:
		return a.notSubmitted(ctx, request, visit, refused), nil
	}
	return a.submit(ctx, request, ready, visit), nil
}

// submitting builds the request of a submission, with its key.
func submitting(request wire.SubmitRequest) build {
	return func(table *statetables.Table, target wire.Target) (statetables.Request, error) {
		return table.SubmitRequest(target, request.Key, request.Body)
	}
}

// unchanged refuses a request that is another than the one which was fingerprinted: one key shall not stand for two requests,
// nor go where the provider does not see that it is the same.
func unchanged(table *statetables.Table, request wire.SubmitRequest) *refusal {
	now, err := table.Fingerprint(request.Target, request.Body)
	moved := request.KeyPlace != "" && table.KeyPlace() != request.KeyPlace || request.Key != "" && table.KeyPlace() == ""
	if err != nil || now != request.Fingerprint || moved {
		return refuse(wire.NotSentTableMissing, "%s: the worker's table builds another request by now", wire.DetailRequestChanged)
	}
	return nil
}

func (a *Activities) submit(ctx context.Context, request wire.SubmitRequest, ready cleared, visit *laneVisit) wire.SubmitResult {
	defer a.depart(visit)
	address := ready.request.URL
	got := a.sender.send(context.WithoutCancel(ctx), order{ // what has left is awaited
		request: ready.request, notAfter: request.NotAfter, timeout: seconds(request.TimeoutSeconds), clock: visit.clock,
	})
	if refused := got.refusal(); refused != nil {
		return a.notSubmitted(ctx, request, visit, refused)
	}
	result := readSubmission(ready, request, address, got)
	result.HeldBack = visit.heldBack()
	seen := result.Observation
	a.learn(ctx, ready, visit, got, seen.Answer == wire.AnswerRateLimited, seen.Guidance)
	count(ctx, "jobwait_submit_requests", request.Provider, string(result.Verdict))
	return result
}

func (a *Activities) notSubmitted(ctx context.Context, request wire.SubmitRequest, visit *laneVisit, refused *refusal) wire.SubmitResult {
	a.held(ctx, request.Target, refused)
	return wire.SubmitResult{
		NotSent: refused.why, Detail: refused.detail, RunID: refused.runID, CredentialVersion: refused.version,
		HeldUntil: recorded(refused.until), HeldBack: visit.heldBack(),
	}
}

// readSubmission is what an exchange says of the submission. An answer that did not arrive whole is none: only its code may
// say that nothing was made.
func readSubmission(ready cleared, request wire.SubmitRequest, address string, got exchange) wire.SubmitResult {
	result := wire.SubmitResult{Verdict: wire.SubmitAmbiguous, Observation: &wire.Observation{
		Answer: wire.AnswerTransportFailure, Detail: got.transport, TableDigest: ready.table.Digest(),
	}}
	switch {
	case got.response == nil && got.sentAt.IsZero():
		result.Verdict = wire.SubmitNeverLeft
	case got.response != nil:
		got.response.forget(ready)
		result = got.response.submission(ready.table, request, address)
		result.Observation.ReceivedAt = recorded(got.response.ReceivedAt)
	}
	result.Observation.SentAt = recorded(got.sentAt)
	result.Observation.CredentialRef, result.Observation.CredentialVersion = request.CredentialRef, ready.version
	return result
}

func (r *response) submission(table *statetables.Table, request wire.SubmitRequest, address string) wire.SubmitResult {
	if r.Status == 0 { // its header passed the limit
		return wire.SubmitResult{Verdict: wire.SubmitAmbiguous, Observation: &wire.Observation{
			Answer: wire.AnswerMalformed, Detail: wire.MalformedTooLarge, TableDigest: table.Digest(),
		}}
	}
	reading := table.ReadSubmission(request.Target, request.Key, address, r.Response)
	result := wire.SubmitResult{
		Verdict: reading.Verdict, Detail: reading.Detail, Job: reading.Job, Observation: &reading.Observation,
	}
	if r.cut != "" && reading.Observation.Job != nil {
		result.Observation.Job = nil // the wait looks again
	}
	return result
}
