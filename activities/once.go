package activities

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// errand is one request to a provider, with all that decides whether it leaves.
type errand struct {
	name      string // in errors
	metric    string // counts what was answered
	target    wire.Target
	authority wire.Authority
	build     build
	// check is what else may refuse it; nil: nothing does.
	check          func(*statetables.Table) *refusal
	timeoutSeconds int
	// notAfter is when nothing may leave any more; zero: there is no such time.
	notAfter time.Time
	// holdBy is until when it may be held back; zero: it may not.
	holdBy time.Time
	// read takes in what came of it, and says what is to be learned from that.
	read func(cleared, exchange) lesson
}

// lesson is what an answer teaches those who did not ask: the lane, and who looks at the metrics.
type lesson struct {
	kind     string
	limited  bool
	guidance wire.Guidance
}

func lessonOf(seen wire.Observation, kind string) lesson {
	return lesson{kind: kind, limited: seen.Answer == wire.AnswerRateLimited, guidance: seen.Guidance}
}

// sendOnce sends an errand's request once at most, and has what came of it read. Where it did not leave, it says why. An error
// is that of the activity: of type wire.ErrorHeldBack, nothing was sent and the server is to repeat it; any other is final.
func (a *Activities) sendOnce(ctx context.Context, e errand) (wire.Withheld, *wire.HeldBack, error) {
	visit, err := begin(ctx, e.timeoutSeconds)
	if err != nil {
		return wire.Withheld{}, nil, final(fmt.Errorf("%s: %w", e.name, err))
	}
	visit.by = e.holdBy
	ready, refused := a.clear(ctx, e)
	if refused == nil {
		refused, err = a.admit(ctx, ready, e.target.CredentialRef, visit)
	}
	if err != nil {
		return wire.Withheld{}, nil, err
	}
	if refused == nil {
		refused = a.dispatch(ctx, e, ready, visit)
	}
	return a.withheld(ctx, e.target, refused), visit.heldBack(), nil
}

// holdBy is until when a request that may be held back may be: until it may not leave any more.
func holdBy(mayHoldBack bool, notAfter time.Time) time.Time {
	if !mayHoldBack {
		return time.Time{}
	}
	return notAfter
}

// dispatch sends the request that the lane let go, and tells the lane what came of it.
func (a *Activities) dispatch(ctx context.Context, e errand, ready cleared, visit *laneVisit) *refusal {
	defer a.depart(visit)
	got := a.sender.send(context.WithoutCancel(ctx), order{ // R48: what has left is awaited
		request: ready.request, notAfter: e.notAfter, timeout: time.Duration(e.timeoutSeconds) * time.Second, clock: visit.clock,
	})
	if refused := got.refusal(); refused != nil {
		return refused
	}
	taught := e.read(ready, got)
	a.learn(ctx, ready, visit, got, taught)
	count(ctx, e.metric, e.target.Provider, taught.kind)
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
