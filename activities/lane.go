package activities

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/jobwait/jobwait/internal/lanes"
	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// errUnproven stops an attempt that is not the first and cannot show that the others sent nothing (R2).
var errUnproven = errors.New("an attempt before this one may have sent its request, and not sent again")

// laneVisit is how a request stands at its lane: what it brings along from attempts before, and until when it may wait.
type laneVisit struct {
	lane  lanes.Key
	clock serverClock
	held  wire.HeldBack // of the attempts before; Times 0: this is the first
	// by is when it has to have left, by the server's clock; zero: it is never held back.
	by time.Time
	// since is when this attempt came to the lane, by the clock of this process, which the lane counts in.
	since time.Time
	// went is when the lane let it go, as the probe maybe; zero: it has not, or has told the lane what came of it.
	went  time.Time
	probe bool
}

// begin belongs at the very beginning of an activity function that sends.
func begin(ctx context.Context, timeoutSeconds int) (*laneVisit, error) {
	clock, err := startClock(ctx)
	if err != nil {
		return nil, err
	}
	if timeoutSeconds < 1 {
		return nil, fmt.Errorf("timeout_seconds %d: at least 1 is needed", timeoutSeconds)
	}
	held, err := heldSoFar(ctx)
	return &laneVisit{clock: clock, held: held}, err
}

// heldSoFar reads from the heartbeat of the attempts before how this request was held back. Retry policies name the failures
// that are not to be repeated, and cannot name all of them: an interceptor, a codec or a server may make up one of its own
// after the request was sent. So whoever is held back says so before it fails, and an attempt that finds one of those before
// it unaccounted for sends nothing.
func heldSoFar(ctx context.Context) (wire.HeldBack, error) {
	attempts := int(activity.GetInfo(ctx).Attempt) - 1
	if attempts < 1 {
		return wire.HeldBack{}, nil
	}
	var held wire.HeldBack
	if !activity.HasHeartbeatDetails(ctx) || activity.GetHeartbeatDetails(ctx, &held) != nil || held.Times != attempts {
		return wire.HeldBack{}, errUnproven
	}
	return held, nil
}

// admit lets a request pass its lane. It returns a refusal where the request cannot leave in time, and the error that has
// the server repeat the attempt where it has to come back.
func (a *Activities) admit(ctx context.Context, ready cleared, credentialRef string, visit *laneVisit) (*refusal, error) {
	visit.lane = lanes.Key{Origin: ready.to.String(), Credential: credentialRef}
	visit.since = time.Now()
	request := lanes.Request{
		Ticket: visit.ticket(visit.since), Wait: activity.GetInfo(ctx).WorkflowExecution.RunID, Exempt: visit.by.IsZero(),
	}
	for {
		now := time.Now()
		request.Slept = now.Sub(visit.since)
		if !visit.by.IsZero() {
			request.By = visit.local(now, visit.by)
		}
		verdict := a.lanes.Ask(now, visit.lane, request)
		switch verdict.Do {
		case lanes.Go:
			visit.went, visit.probe = now, verdict.Probe
			return nil, nil
		case lanes.Refuse:
			return visit.refused(now, verdict), nil
		case lanes.Back:
			return nil, a.holdBack(ctx, ready, visit, now, verdict)
		case lanes.Sleep:
			request.Ticket = verdict.Ticket
			if pause(ctx, verdict.For) != nil {
				verdict.For = time.Second // the worker stops; another one takes it up
				verdict.Ticket.Times++
				return nil, a.holdBack(ctx, ready, visit, time.Now(), verdict)
			}
		}
	}
}

// ticket is the request's place in the queue, in this process's time.
func (visit *laneVisit) ticket(now time.Time) lanes.Ticket {
	if visit.held.Times == 0 || visit.held.Slot == nil {
		return lanes.Ticket{}
	}
	ticket := lanes.Ticket{Slot: visit.local(now, *visit.held.Slot), Times: visit.held.Times}
	if visit.held.NotBefore != nil {
		ticket.NotBefore, ticket.Held = visit.local(now, *visit.held.NotBefore), visit.held.Cause
	}
	return ticket
}

// local and server turn times of one clock into those of the other, at this moment.
func (visit *laneVisit) local(now, server time.Time) time.Time {
	return now.Add(server.Sub(visit.clock.now()))
}

func (visit *laneVisit) server(now, local time.Time) time.Time {
	return visit.clock.now().Add(local.Sub(now)).UTC()
}

// refused says why a request will not leave in time. Where that is the provider's word, it comes with the time asked for.
func (visit *laneVisit) refused(now time.Time, verdict lanes.Verdict) *refusal {
	until := visit.server(now, verdict.Until)
	if !verdict.Named {
		return refuse(wire.NotSentTooLate, "held back until %s by %s %s", clockTime(until), causes[verdict.Cause], visit.lane.Origin)
	}
	refused := refuse(wire.NotSentHeldBack, "%s until %s", verdict.Cause, until.Format(time.RFC3339))
	refused.until = until
	return refused
}

// holdBack records that nothing was sent, and makes the error that brings the request back.
func (a *Activities) holdBack(ctx context.Context, ready cleared, visit *laneVisit, now time.Time, verdict lanes.Verdict) error {
	held, slot := visit.held, visit.server(now, verdict.Ticket.Slot)
	if held.Times == 0 {
		held.Since = visit.server(now, visit.since).Truncate(time.Millisecond)
	}
	held.Times++
	held.Cause, held.Slot, held.NotBefore = verdict.Cause, &slot, nil
	if end := verdict.Ticket.NotBefore; !end.IsZero() {
		held.NotBefore = new(visit.server(now, end))
	}
	activity.RecordHeartbeat(context.WithoutCancel(ctx), held) // a worker that stops has to tell it as well
	count(ctx, "jobwait_held_back", ready.table.Provider(), string(verdict.Cause))
	a.gaugeHolds(ctx, now)
	text := fmt.Sprintf("held back until %s by %s %s, nothing sent", clockTime(slot), causes[verdict.Cause], visit.lane.Origin)
	return temporal.NewApplicationErrorWithOptions(text, wire.ErrorHeldBack, temporal.ApplicationErrorOptions{
		NextRetryDelay: verdict.For,
		Category:       temporal.ApplicationErrorCategoryBenign, // no failure: the SDK neither counts it as one nor logs an error
	})
}

// causes are what people read, before the name of the origin.
var causes = map[wire.HoldCause]string{ //nolint:gochecknoglobals // a constant in all but the language
	wire.HoldRateLimited: "a 429 of",
	wire.HoldUnavailable: "a 503 of",
	wire.HoldProbe:       "a first request after a long hold of",
	wire.HoldQueue:       "those before it on the way to",
	wire.HoldRate:        "the rate for",
	wire.HoldConcurrency: "the requests under way to",
}

func clockTime(at time.Time) string { return at.UTC().Format("15:04:05Z") }

// learn tells the lane what an exchange was answered, so that others heed it.
func (a *Activities) learn(ctx context.Context, ready cleared, visit *laneVisit, got exchange, told report) {
	now := time.Now()
	answer := lanes.Answer{
		Kind: kindOf(got, told), Went: visit.went, Probe: visit.probe, Wait: activity.GetInfo(ctx).WorkflowExecution.RunID,
		RetryAfter: askedFor(told.guidance.RetryAfterSeconds), Least: leastDelay(ready.table),
	}
	until, held := a.lanes.Done(now, visit.lane, answer)
	visit.went = time.Time{}
	a.gaugeHolds(ctx, now)
	if held {
		a.logger.WarnContext(ctx, "requests are held back", "origin", visit.lane.Origin, "credential_ref", visit.lane.Credential,
			"status", got.response.Status, "until", visit.server(now, until).Format(time.RFC3339))
	}
}

// depart tells the lane of a request that left it and of which nothing can be told.
func (a *Activities) depart(visit *laneVisit) {
	if !visit.went.IsZero() {
		a.lanes.Done(time.Now(), visit.lane, lanes.Answer{Kind: lanes.NotSent, Went: visit.went, Probe: visit.probe})
	}
}

// leastDelay is the table's least time between two requests.
func leastDelay(table *statetables.Table) time.Duration {
	return time.Duration(table.Advice().FloorSeconds) * time.Second
}

// longestAsked is where a Retry-After saturates; no deadline is ten years away.
const longestAsked = 10 * 365 * 24 * 3600

// askedFor is how long the provider wants to be left alone; zero where it says nothing of that.
func askedFor(retryAfterSeconds *int64) time.Duration {
	if retryAfterSeconds == nil {
		return 0
	}
	return time.Duration(min(*retryAfterSeconds, longestAsked)) * time.Second
}

// kindOf is what an exchange means to the lane. A Retry-After beside any other status speaks of one job.
func kindOf(got exchange, told report) lanes.Kind {
	switch {
	case got.sentAt.IsZero():
		return lanes.NotSent
	case got.response == nil:
		return lanes.Lost
	default:
		return answeredKind(got.response.Status, told.limited, told.guidance.RetryAfterSeconds != nil)
	}
}

func answeredKind(status int, limited, guided bool) lanes.Kind {
	switch {
	case limited:
		return lanes.Limited
	case status == http.StatusServiceUnavailable && guided:
		return lanes.Down
	default:
		return lanes.Answered
	}
}

// gaugeHolds shows how many lanes are held at the moment.
func (a *Activities) gaugeHolds(ctx context.Context, now time.Time) {
	activity.GetMetricsHandler(ctx).Gauge("jobwait_open_holds").Update(float64(a.lanes.Held(now)))
}

// heldBack is what a result says of how the request waited; nil if it did not.
func (visit *laneVisit) heldBack() *wire.HeldBack {
	if visit.held.Times == 0 {
		return nil
	}
	held := visit.held
	held.Slot, held.NotBefore = nil, nil
	return &held
}

// final is an error that is never repeated: what failed may have been sent, or would fail again.
func final(err error) error {
	return temporal.NewNonRetryableApplicationError(err.Error(), "", nil)
}
