package activities

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// PollStatus sends at most one status request and reads its answer. Whatever happened is the result. An error of type
// wire.ErrorHeldBack means that nothing was sent and that the server is to repeat it; any other, that the call itself was
// wrong or came too late to be one, and it is not repeated.
func (a *Activities) PollStatus(ctx context.Context, request wire.PollRequest) (wire.PollResult, error) {
	visit, err := begin(ctx, request.TimeoutSeconds)
	if err != nil {
		return wire.PollResult{}, final(fmt.Errorf("poll: %w", err))
	}
	if request.MayHoldBack {
		visit.by = request.NotAfter
	}
	ready, refused := a.clear(ctx, request.Target, request.Authority, (*statetables.Table).StatusRequest)
	if refused == nil {
		refused, err = a.admit(ctx, ready, request.CredentialRef, visit)
	}
	switch {
	case err != nil:
		return wire.PollResult{}, err
	case refused != nil:
		return a.notPolled(ctx, request, visit, refused), nil
	}
	return a.poll(ctx, request, ready, visit), nil
}

func (a *Activities) poll(ctx context.Context, request wire.PollRequest, ready cleared, visit *laneVisit) wire.PollResult {
	defer a.depart(visit)
	got := a.sender.send(context.WithoutCancel(ctx), order{ // R48: what has left is awaited
		request: ready.request, notAfter: request.NotAfter, timeout: seconds(request.TimeoutSeconds), clock: visit.clock,
	})
	if refused := got.refusal(); refused != nil {
		return a.notPolled(ctx, request, visit, refused)
	}
	seen := observe(ready, request, got)
	a.learn(ctx, ready, visit, got, seen.Answer == wire.AnswerRateLimited, seen.Guidance)
	count(ctx, "jobwait_status_requests", request.Provider, string(seen.Answer))
	return wire.PollResult{Observation: &seen, HeldBack: visit.heldBack()}
}

// refusal is why an order was not carried out; nil if it was.
func (e exchange) refusal() *refusal {
	switch {
	case e.tooLate:
		return &refusal{why: wire.NotSentTooLate}
	case e.rejected:
		return refuse(wire.NotSentURLRejected, "%s", &addressError{})
	default:
		return nil
	}
}

func (a *Activities) notPolled(ctx context.Context, request wire.PollRequest, visit *laneVisit, refused *refusal) wire.PollResult {
	a.held(ctx, request.Target, refused)
	return wire.PollResult{
		NotSent: refused.why, Detail: refused.detail, RunID: refused.runID, CredentialVersion: refused.version,
		HeldUntil: recorded(refused.until), HeldBack: visit.heldBack(),
	}
}

// held tells the operator of a request that did not leave.
func (a *Activities) held(ctx context.Context, target wire.Target, refused *refusal) {
	count(ctx, "jobwait_requests_not_sent", target.Provider, string(refused.why))
	a.logger.WarnContext(ctx, "request not sent", "workflow_id", activity.GetInfo(ctx).WorkflowExecution.ID,
		"provider", target.Provider, "reason", refused.why, "detail", refused.detail)
}

// observe is what an exchange taught of the job, with the facts that only the sender knows.
func observe(ready cleared, request wire.PollRequest, got exchange) wire.Observation {
	seen := wire.Observation{Answer: wire.AnswerTransportFailure, Detail: got.transport, TableDigest: ready.table.Digest()}
	if got.response != nil {
		got.response.forget(ready)
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

// count feeds the SDK's metrics. No id is a label.
func count(ctx context.Context, name, provider, kind string) {
	activity.GetMetricsHandler(ctx).WithTags(map[string]string{"provider": provider, "kind": kind}).Counter(name).Inc(1)
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
