package activities

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// call is one request to a provider, with everything that decides whether it is sent.
type call struct {
	name      string // for errors
	metric    string // the counter of its answers
	target    wire.Target
	authority wire.Authority
	build     build
	// check may refuse it for a further reason; nil: there is none.
	check          func(*statetables.Table) *refusal
	timeoutSeconds int
	// notAfter is the time from which on it is not sent; zero: there is none.
	notAfter time.Time
	// holdBy is until when it may be held back; zero: it may not be.
	holdBy time.Time
	// read reads the answer and reports on it.
	read func(cleared, exchange) report
}

// report is what the lane and the metrics are told of an answer.
type report struct {
	kind     string // in metrics
	limited  bool
	guidance wire.Guidance
}

func reportOf(seen wire.Observation, kind string) report {
	return report{kind: kind, limited: seen.Answer == wire.AnswerRateLimited, guidance: seen.Guidance}
}

// sendOnce sends the request of a call at most once and has the answer read. If the request was not sent, it returns why. The error is
// that of the activity: of type wire.ErrorHeldBack if nothing was sent and the server should repeat it; any other is final.
func (a *Activities) sendOnce(ctx context.Context, c call) (wire.Withheld, *wire.HeldBack, error) {
	visit, err := begin(ctx, c.timeoutSeconds)
	if err != nil {
		return wire.Withheld{}, nil, final(fmt.Errorf("%s: %w", c.name, err))
	}
	visit.by = c.holdBy
	ready, refused := a.clear(ctx, c)
	if refused == nil {
		refused, err = a.admit(ctx, ready, c.target.CredentialRef, visit)
	}
	if err != nil {
		return wire.Withheld{}, nil, err
	}
	if refused == nil {
		refused = a.dispatch(ctx, c, ready, visit)
	}
	return a.withheld(ctx, c.target, refused), visit.heldBack(), nil
}

// holdBy is until when a request may be held back: until notAfter, if at all.
func holdBy(mayHoldBack bool, notAfter time.Time) time.Time {
	if !mayHoldBack {
		return time.Time{}
	}
	return notAfter
}

// dispatch sends the request that the lane let go, and tells the lane what came of it.
func (a *Activities) dispatch(ctx context.Context, c call, ready cleared, visit *laneVisit) *refusal {
	defer a.depart(visit)
	got := a.sender.send(context.WithoutCancel(ctx), order{ // R48: what has left is awaited
		request: ready.request, notAfter: c.notAfter, timeout: time.Duration(c.timeoutSeconds) * time.Second, clock: visit.clock,
	})
	if refused := got.refusal(); refused != nil {
		return refused
	}
	told := c.read(ready, got)
	a.learn(ctx, ready, visit, got, told)
	count(ctx, c.metric, c.target.Provider, told.kind)
	return nil
}

// withheld tells the wait, and the operator, of a request that did not leave; nil: it left.
func (a *Activities) withheld(ctx context.Context, target wire.Target, refused *refusal) wire.Withheld {
	if refused == nil {
		return wire.Withheld{}
	}
	count(ctx, "jobwait_requests_not_sent", target.Provider, string(refused.why))
	a.logger.WarnContext(ctx, "request not sent", "workflow_id", activity.GetInfo(ctx).WorkflowExecution.ID,
		"provider", target.Provider, "reason", refused.why, "detail", refused.detail)
	return wire.Withheld{
		NotSent: refused.why, Detail: refused.detail, RunID: refused.runID, CredentialVersion: refused.version,
		HeldUntil: recorded(refused.until),
	}
}

// count feeds the SDK's metrics. No id is a label.
func count(ctx context.Context, name, provider, kind string) {
	activity.GetMetricsHandler(ctx).WithTags(map[string]string{"provider": provider, "kind": kind}).Counter(name).Inc(1)
}
