package activities

import (
	"context"
	"net/http"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/jobwait/jobwait/internal/lanes"
	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// passage is a request that a lane let go. Its answer, or that none came, is told once.
type passage struct {
	lanes *lanes.Set
	key   lanes.Key
	went  time.Time
	probe bool
	wait  string
	least time.Duration
	// waited says that it did not go at once.
	waited bool
	// held is told when an answer holds others back.
	held func(status int, until time.Time)
}

// passLane waits where it is until a request of a fetch may leave. Unlike a status request it does not come back: a fetch is under
// way for long, it tells that it is alive, and what it has carried so far would be lost.
func (a *Activities) passLane(ctx context.Context, table *statetables.Table, spec wire.FetchSpec, at hop) (*passage, error) {
	to, err := originOf(at.at)
	if err != nil {
		return nil, endFetch(wire.FetchReferenceRejected, "%s", err)
	}
	key := lanes.Key{Origin: to.String()}
	if at.credential {
		key.Credential = spec.CredentialRef
	}
	request := lanes.Request{Wait: activity.GetInfo(ctx).WorkflowExecution.RunID}
	for counted := false; ; counted = true {
		verdict := a.lanes.Ask(time.Now(), key, request)
		if verdict.Do == lanes.Go {
			gone := a.passed(ctx, table, key, verdict)
			gone.waited = counted
			return gone, nil
		}
		if !counted {
			count(ctx, "jobwait_held_back", spec.Provider, string(verdict.Cause))
			a.gaugeHolds(ctx, time.Now())
		}
		request.Ticket = verdict.Ticket
		if err := pause(ctx, verdict.For); err != nil {
			return nil, err
		}
	}
}

func (a *Activities) passed(ctx context.Context, table *statetables.Table, key lanes.Key, verdict lanes.Verdict) *passage {
	gone := a.passageOf(key, verdict)
	gone.wait, gone.least = activity.GetInfo(ctx).WorkflowExecution.RunID, leastDelay(table)
	gone.held = func(status int, until time.Time) {
		a.gaugeHolds(ctx, time.Now())
		a.logger.WarnContext(ctx, "requests are held back", "origin", key.Origin, "credential_ref", key.Credential,
			"status", status, "until", until.UTC().Format(time.RFC3339))
	}
	return gone
}

func (a *Activities) passageOf(key lanes.Key, verdict lanes.Verdict) *passage {
	return &passage{lanes: a.lanes, key: key, went: time.Now(), probe: verdict.Probe, held: func(int, time.Time) {}}
}

// tell tells the lane what came of the request; a nil answer is none.
func (p *passage) tell(answer *http.Response) {
	now := time.Now()
	told := lanes.Answer{Kind: lanes.Lost, Went: p.went, Probe: p.probe, Wait: p.wait, Least: p.least}
	status := 0
	if answer != nil {
		status = answer.StatusCode
		asked, _ := statetables.ParseRetryAfter(answer.Header.Values("Retry-After"), answer.Header.Get("Date"), now)
		told.RetryAfter = askedFor(asked)
		told.Kind = answeredKind(status, status == http.StatusTooManyRequests, asked != nil)
	}
	if until, held := p.lanes.Done(now, p.key, told); held {
		p.held(status, until)
	}
}
