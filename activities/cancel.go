package activities

import (
	"context"
	"net/http"

	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// CancelAtProvider sends the one cancel request of a decision. It has its own timeout and ignores deadlines: a job may be cancelled
// after its wait has reached the deadline (R43). A request that gets no answer is reported as such and never repeated. The errors
// are those of PollStatus.
func (a *Activities) CancelAtProvider(ctx context.Context, request wire.CancelRequest) (wire.CancelResult, error) {
	var result wire.CancelResult
	withheld, heldBack, err := a.sendOnce(ctx, call{
		name: "cancel", metric: "jobwait_cancel_requests", target: request.Target, authority: request.Authority,
		build: (*statetables.Table).CancelRequest, timeoutSeconds: request.TimeoutSeconds, holdBy: request.HoldBackBefore,
		read: func(ready cleared, got exchange) report {
			result = readCancel(ready, got)
			return report{
				kind: cancelKind(result), limited: result.HTTPStatus == http.StatusTooManyRequests, guidance: result.Guidance,
			}
		},
	})
	if withheld.NotSent != "" {
		result.Withheld = withheld
	}
	result.HeldBack = heldBack
	return result, err
}

func readCancel(ready cleared, got exchange) wire.CancelResult {
	result := wire.CancelResult{
		Withheld: wire.Withheld{Detail: got.transport, CredentialVersion: ready.version}, SentAt: recorded(got.sentAt),
	}
	if got.response == nil {
		return result
	}
	got.response.redact(ready)
	reading := ready.table.ReadCancel(got.response.Response)
	reading.Confirmed = reading.Confirmed && got.response.whole()
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
