package activities

import (
	"context"

	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// Submit sends at most one submit request, with the key that is recorded in history, and reads its answer. A request that failed or
// was not sent is a result, not an error. Its errors are those of PollStatus.
func (a *Activities) Submit(ctx context.Context, request wire.SubmitRequest) (wire.SubmitResult, error) {
	var result wire.SubmitResult
	withheld, heldBack, err := a.sendOnce(ctx, call{
		name: "submit", metric: "jobwait_submit_requests", target: request.Target, authority: request.Authority,
		build: submitting(request), check: unchanged(request), timeoutSeconds: request.TimeoutSeconds,
		notAfter: request.NotAfter, holdBy: holdBy(request.MayHoldBack, request.NotAfter),
		read: func(ready cleared, got exchange) report {
			result = readSubmission(ready, request, got)
			return reportOf(*result.Observation, string(result.Verdict))
		},
	})
	if withheld.NotSent != "" {
		result.Withheld = withheld
	}
	result.HeldBack = heldBack
	return result, err
}

// submitting builds the request of a submission, with its key.
func submitting(request wire.SubmitRequest) build {
	return func(table *statetables.Table, target wire.Target) (statetables.Request, error) {
		return table.SubmitRequest(target, request.Key, request.Body)
	}
}

// unchanged refuses a request that is no longer the one that was fingerprinted, or whose key is now in another place. A key must
// not stand for two requests, and in another place the provider would not recognise it.
func unchanged(request wire.SubmitRequest) func(*statetables.Table) *refusal {
	return func(table *statetables.Table) *refusal {
		now, err := table.Fingerprint(request.Target, request.Body)
		moved := request.KeyPlace != "" && table.KeyPlace() != request.KeyPlace || request.Key != "" && table.KeyPlace() == ""
		if err != nil || now != request.Fingerprint || moved {
			return refuse(wire.NotSentTableMissing, "%s: the worker's table builds another request by now", wire.DetailRequestChanged)
		}
		return nil
	}
}

// readSubmission returns what an exchange says of the submission. If the answer did not arrive completely, only its status code can
// tell that no job was made.
func readSubmission(ready cleared, request wire.SubmitRequest, got exchange) wire.SubmitResult {
	result := wire.SubmitResult{Verdict: wire.SubmitAmbiguous, Observation: &wire.Observation{
		Answer: wire.AnswerTransportFailure, Detail: got.transport, TableDigest: ready.table.Digest(),
	}}
	switch {
	case got.response == nil && got.sentAt.IsZero():
		result.Verdict = wire.SubmitNeverLeft
	case got.response != nil:
		got.response.redact(ready)
		result = got.response.submission(ready, request)
		result.Observation.ReceivedAt = recorded(got.response.ReceivedAt)
	}
	result.Observation.SentAt = recorded(got.sentAt)
	result.Observation.CredentialRef, result.Observation.CredentialVersion = request.CredentialRef, ready.version
	return result
}

func (r *response) submission(ready cleared, request wire.SubmitRequest) wire.SubmitResult {
	if r.Status == 0 { // the headers exceeded the limit
		return wire.SubmitResult{Verdict: wire.SubmitAmbiguous, Observation: &wire.Observation{
			Answer: wire.AnswerMalformed, Detail: wire.MalformedTooLarge, TableDigest: ready.table.Digest(),
		}}
	}
	reading := ready.table.ReadSubmission(request.Target, request.Key, ready.request.URL, r.Response)
	result := wire.SubmitResult{
		Withheld: wire.Withheld{Detail: reading.Detail}, Verdict: reading.Verdict, Job: reading.Job, Observation: &reading.Observation,
	}
	if !r.whole() {
		result.Observation.Job = nil // the wait asks again
	}
	return result
}
