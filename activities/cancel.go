package activities

import (
	"context"
	"fmt"

	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// CancelAtProvider sends the one cancel request of a decision, under its own time-out and without regard to deadlines: a
// job may be cancelled after the wait for it is over (R43). Unanswered, it is reported and never repeated.
func (a *Activities) CancelAtProvider(ctx context.Context, request wire.CancelRequest) (wire.CancelResult, error) {
	clock, err := startClock(ctx)
	if err != nil {
		return wire.CancelResult{}, err
	}
	if request.TimeoutSeconds < 1 {
		return wire.CancelResult{}, fmt.Errorf("cancel: timeout_seconds %d: at least 1 is needed", request.TimeoutSeconds)
	}
	ready, refused := a.clear(ctx, request.Target, request.Authority, (*statetables.Table).CancelRequest)
	if refused != nil {
		return a.notCancelled(ctx, request, refused), nil
	}
	got := a.sender.send(ctx, order{request: ready.request, timeout: seconds(request.TimeoutSeconds), clock: clock})
	if refused := got.refusal(); refused != nil {
		return a.notCancelled(ctx, request, refused), nil
	}
	result := readCancel(ready, got)
	count(ctx, "jobwait_cancel_requests", request.Provider, cancelKind(result))
	return result, nil
}

func (a *Activities) notCancelled(ctx context.Context, request wire.CancelRequest, refused *refusal) wire.CancelResult {
	a.held(ctx, request.Target, refused)
	return wire.CancelResult{NotSent: refused.why, Detail: refused.detail, RunID: refused.runID, CredentialVersion: refused.version}
}

func readCancel(ready cleared, got exchange) wire.CancelResult {
	result := wire.CancelResult{Detail: got.transport, SentAt: recorded(got.sentAt), CredentialVersion: ready.version}
	if got.response == nil {
		return result
	}
	got.response.forget(ready)
	reading := ready.table.ReadCancel(got.response.Response)
	result.HTTPStatus, result.ReceivedAt = got.response.Status, recorded(got.response.ReceivedAt)
	result.Accepted, result.Confirmed, result.Guidance = reading.Accepted, reading.Confirmed, reading.Guidance
	return result
}

func cancelKind(result wire.CancelResult) string {
	switch {
	case result.HTTPStatus == 0:
		return string(wire.AnswerTransportFailure)
	case result.Accepted:
		return "accepted"
	default:
		return "not_accepted"
	}
}
