package activities

import (
	"context"

	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// PollStatus sends at most one status request and reads its answer. A request that failed or was not sent is a result, not an
// error. An application error of type wire.ErrorHeldBack means that nothing was sent and that the server should repeat the
// activity. Any other error means that the activity was called wrongly or too late; it is not repeated.
func (a *Activities) PollStatus(ctx context.Context, request wire.PollRequest) (wire.PollResult, error) {
	var result wire.PollResult
	withheld, heldBack, err := a.sendOnce(ctx, call{
		name: "poll", metric: "jobwait_status_requests", target: request.Target, authority: request.Authority,
		build: (*statetables.Table).StatusRequest, timeoutSeconds: request.TimeoutSeconds,
		notAfter: request.NotAfter, holdBy: holdBy(request.MayHoldBack, request.NotAfter),
		read: func(ready cleared, got exchange) report {
			seen := observe(ready, request, got)
			result.Observation = &seen
			return reportOf(seen, string(seen.Answer))
		},
	})
	result.Withheld, result.HeldBack = withheld, heldBack
	return result, err
}

// observe returns what an exchange says about the job, with the facts that only the sender knows.
func observe(ready cleared, request wire.PollRequest, got exchange) wire.Observation {
	seen := wire.Observation{Answer: wire.AnswerTransportFailure, Detail: got.transport, TableDigest: ready.table.Digest()}
	if got.response != nil {
		got.response.redact(ready)
		seen = got.response.classify(ready.table, request)
		seen.ReceivedAt = recorded(got.response.ReceivedAt)
	}
	seen.SentAt = recorded(got.sentAt)
	seen.CredentialRef, seen.CredentialVersion = request.CredentialRef, ready.version
	return seen
}

// classify has the table read the answer. A body that did not arrive whole, or in a coding nobody asked for, changes
// only a reading that needed the body: a 503 is a 503 (R12), and its Retry-After holds.
func (r *response) classify(table *statetables.Table, request wire.PollRequest) wire.Observation {
	if r.Status == 0 && r.BodyTooLarge {
		return wire.Observation{Answer: wire.AnswerMalformed, Detail: wire.MalformedTooLarge, TableDigest: table.Digest()}
	}
	seen := table.Classify(request.Target, request.Reading, r.Response)
	if seen.Answer != wire.AnswerRead && seen.Answer != wire.AnswerMalformed {
		return seen
	}
	switch {
	case r.cut != "":
		return wire.Observation{Answer: wire.AnswerTransportFailure, Detail: r.cut, Guidance: seen.Guidance, TableDigest: seen.TableDigest}
	case r.encoded:
		seen.Answer, seen.Detail, seen.Job = wire.AnswerMalformed, wire.MalformedContentCoding, nil
	}
	return seen
}
