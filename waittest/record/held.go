package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/internal/devserver"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// heldApart are credentials, and so lanes, of which each wait that is held back has one of its own.
var heldApart = []string{"sent", "deadline", "withdrawn", "cancel"} //nolint:gochecknoglobals // a constant in all but the language

// held are waits whose first request is held back, because another wait was told to stay away.
func held() group {
	return group{
		server: devserver.Options{SearchAttributes: true, FastTimers: true}, origins: &activities.Origins{},
		waits: []wait{
			heldBack("sent", 5, waittest.Script(waittest.State("running"), done), nil),
			heldBack("deadline", 500, waittest.Script(done), decide(kind(wire.DecisionClose))),
			heldBack("withdrawn", 60, waittest.Script(done), func(ctx context.Context, b *bed.Bed, run client.WorkflowRun) error {
				if err := pending(ctx, b, run); err != nil {
					return err
				}
				return b.Client.CancelWorkflow(ctx, run.GetID(), "")
			}),
			heldBack("cancel", 8, waittest.Script(waittest.State("running")), func(ctx context.Context, b *bed.Bed, run client.WorkflowRun) error {
				if err := pending(ctx, b, run); err != nil {
					return err
				}
				return b.Client.SignalWorkflow(ctx, run.GetID(), "", wire.SignalCancel, decision("", func(*wire.Decision) {}))
			}),
		},
	}
}

// heldBack is a wait in the lane of that name, where nobody may ask for so many seconds.
func heldBack(lane string, seconds int, script waittest.JobScript, people func(context.Context, *bed.Bed, client.WorkflowRun) error) wait {
	return wait{
		name: "held_back_" + lane, script: script, people: people,
		spec: func(spec *wire.Spec) {
			spec.CredentialRef, spec.DeadlineAt = lane, time.Now().Add(2*time.Minute)
		},
		before: func(ctx context.Context, b *bed.Bed) error { return trip(ctx, b, lane, seconds) },
	}
}

// trip has a wait of another job be told to stay away.
func trip(ctx context.Context, b *bed.Bed, lane string, seconds int) error {
	job := "trips_" + lane
	if err := b.Provider.Set(job, waittest.Script(waittest.Status(429).RetryAfter(strconv.Itoa(seconds)), done)); err != nil {
		return err
	}
	spec := b.Spec(job)
	spec.CredentialRef, spec.Schedule.InitialDelaySeconds = lane, new(0)
	run, err := b.Start(ctx, spec)
	if err != nil {
		return err
	}
	_, err = b.Until(ctx, run, func(view wire.OperationView) bool { return view.LastObservation != nil })
	return err
}

// pending waits until a wait's request is held back, which history does not show.
func pending(ctx context.Context, b *bed.Bed, run client.WorkflowRun) error {
	for {
		described, err := b.Client.DescribeWorkflow(ctx, run.GetID(), run.GetRunID())
		if err != nil {
			return err
		}
		if slices.ContainsFunc(described.RawResponse.GetPendingActivities(), isHeld) {
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("not held back: %w", ctx.Err())
		}
	}
}

func isHeld(activity *workflow.PendingActivityInfo) bool {
	return activity.GetLastFailure().GetApplicationFailureInfo().GetType() == wire.ErrorHeldBack
}
