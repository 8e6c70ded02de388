package simulate

import (
	"fmt"
	"time"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// Core is our own schedule, decided by package operation.
func Core(name string, schedule wire.Schedule) Schedule {
	return Schedule{Name: name, Open: func(w Wait) Pacer {
		prepared, err := operation.Prepare(specOf(w, schedule), w.Start, operation.Knowledge{})
		if err != nil {
			panic(fmt.Sprintf("simulate: %s: %v", name, err)) // a mistake of the caller, as an index out of range is
		}
		return &core{op: operation.Open(prepared, w.ID(), w.Start, w.Start)}
	}}
}

// Backoff is a schedule of the core's with the given delays in seconds.
func Backoff(base, most int) wire.Schedule {
	return wire.Schedule{BaseDelaySeconds: &base, MaxDelaySeconds: &most}
}

func specOf(w Wait, schedule wire.Schedule) wire.Spec {
	return wire.Spec{
		OperationID: w.ID(), Provider: "simulated", Account: "simulated", ProviderJobID: w.ID(),
		DeadlineAt: w.Deadline, MaxStatusRequests: w.Budget, MaxTransportFailures: max(w.Failures, 1), Schedule: schedule,
		// Nobody is asked: a wait that reaches a limit ends there, as those of the other schedules do.
		Escalation: wire.EscalationSettings{EscalateOn: []wire.Reason{}},
	}
}

// core drives an operation as the workflow does.
type core struct{ op *operation.Operation }

func (c *core) Next(now time.Time) Step {
	for {
		switch command := c.op.Next(now).(type) {
		case operation.SendStatus:
			return Step{Do: Send}
		case operation.Wait:
			// A workflow's timer is at least a second long (R21).
			return Step{Do: Sleep, Until: later(command.Until, now.Add(time.Second))}
		case operation.Notify:
			c.op.Notified(now, command.Request.Notification.ID, "")
		case operation.Close:
			return Step{Do: End}
		default:
			panic(fmt.Sprintf("simulate: the core gave a %T, which no simulated wait asks for", command))
		}
	}
}

func (c *core) Answered(now time.Time, answer Answer) {
	seen := wire.Observation{
		Answer: wire.AnswerRead, HTTPStatus: 200, SentAt: &now, ReceivedAt: &now,
		Job: &wire.JobFact{RawState: "running", Category: wire.CategoryPending},
	}
	switch {
	case answer.Limited:
		seen.Answer, seen.HTTPStatus, seen.Job = wire.AnswerRateLimited, 429, nil
	case answer.Done:
		seen.Job = &wire.JobFact{RawState: "succeeded", Category: wire.CategorySuccess}
	}
	if answer.RetryAfter > 0 {
		whole := int64((answer.RetryAfter + time.Second - 1) / time.Second)
		seen.Guidance.RetryAfterSeconds = &whole
	}
	c.op.StatusAnswered(now, wire.PollResult{Observation: &seen})
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
