package activities

import (
	"context"
	"fmt"
	"net/http"

	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// CancelAtProvider sends the one cancel request of a decision, under its own time-out and without regard to deadlines: a
// job may be cancelled after the wait for it is over (R43). Unanswered, it is reported and never repeated. Its errors are
// those of PollStatus.
func (a *Activities) CancelAtProvider(ctx context.Context, request wire.CancelRequest) (wire.CancelResult, error) {
	visit, err := begin(ctx, request.TimeoutSeconds)
	if err != nil {
		return wire.CancelResult{}, final(fmt.Errorf("cancel: %w", err))
	}
	visit.by = request.HoldBackBefore
	ready, refused := a.clear(ctx, request.Target, request.Authority, (*statetables.Table).CancelRequest)
	if refused == nil {
		refused, err = a.admit(ctx, ready, request.CredentialRef, visit)
	}
	switch {
	case err != nil:
		return wire.CancelResult{}, err
	case refused != nil:
		return a.notCancelled(ctx, request, visit, refused), nil
	}
	return a.cancel(ctx, request, ready, visit), nil
}

func (a *Activities) cancel(ctx context.Context, request wire.CancelRequest, ready cleared, visit *laneVisit) wire.CancelResult {
	defer a.depart(visit)
	got := a.sender.send(context.WithoutCancel(ctx), order{ // R48: what has left is awaited
		request: ready.request, timeout: seconds(request.TimeoutSeconds), clock: visit.clock,
	})
	if refused := got.refusal(); refused != nil {
		return a.notCancelled(ctx, request, visit, refused)
	}
	result := readCancel(ready, got)
	result.HeldBack = visit.heldBack()
	a.learn(ctx, ready, visit, got, result.HTTPStatus == http.StatusTooManyRequests, result.Guidance)
	count(ctx, "jobwait_cancel_requests", request.Provider, cancelKind(result))
	return result
}

func (a *Activities) notCancelled(ctx context.Context, request wire.CancelRequest, visit *laneVisit, refused *refusal) wire.CancelResult {
	a.held(ctx, request.Target, refused)
	return wire.CancelResult{
		NotSent: refused.why, Detail: refused.detail, RunID: refused.runID, CredentialVersion: refused.version,
		HeldUntil: recorded(refused.until), HeldBack: visit.heldBack(),
	}
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
