package workflows

import (
	"errors"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

const (
	// answerSlack is how much longer than its request an activity may take before it counts as lost.
	answerSlack = 5 * time.Second
	// prepareTimeout bounds one attempt of prepare, which is retried until it has a result, because it sends nothing.
	prepareTimeout = 30 * time.Second
	// keysAttempt bounds one attempt to read the trusted keys, keysTimeout all of them: less than a workflow task may take.
	keysAttempt = 2 * time.Second
	keysTimeout = 5 * time.Second
)

// once is the retry policy of all requests that a provider may have received (R2).
var once = &temporal.RetryPolicy{MaximumAttempts: 1} //nolint:gochecknoglobals // a constant in all but the language

// heldBack is the retry policy of a request that may be held back before it is sent. The server retries it only after the delay
// that the activity's own error names. It does not retry after a failure by which something may have been sent; after any other
// failure, the next attempt sends nothing (R2).
var heldBack = &temporal.RetryPolicy{ //nolint:gochecknoglobals // a constant in all but the language
	InitialInterval:        time.Second,
	NonRetryableErrorTypes: []string{"TemporalTimeout:StartToClose", "TemporalTimeout:Heartbeat", "PanicError"},
}

// executePrepare starts prepare. Call letGo when it has ended: otherwise its context, which holds the whole request, lasts as long
// as the wait.
func (a *await) executePrepare(request wire.PrepareRequest) (prepared workflow.Future, letGo workflow.CancelFunc) {
	ctx, letGo := workflow.WithCancel(a.ctx)
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: prepareTimeout,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: prepareTimeout},
		Summary:             "validate the spec and snapshot limits",
	})
	activity := wire.ActivityPrepare
	if a.kind == wire.WorkflowSubmitAndAwait {
		activity = wire.ActivityPrepareSubmission
	}
	return workflow.ExecuteActivity(ctx, activity, request), letGo
}

// sending returns the options of a request that may not start at or after a deadline (R24).
func sending(ctx workflow.Context, startBy time.Time, timeoutSeconds int, summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		ScheduleToStartTimeout: startBy.Sub(workflow.Now(ctx)),
		StartToCloseTimeout:    time.Duration(timeoutSeconds)*time.Second + answerSlack,
		RetryPolicy:            once,
		Summary:                summary,
	}
}

// send starts the activity of a request. If the request may be held back before it is sent, it can be withdrawn meanwhile.
func (a *await) send(activity string, request any, options workflow.ActivityOptions, mayHoldBack bool, took func(workflow.Future)) {
	ctx := a.ctx
	if mayHoldBack {
		options.RetryPolicy = heldBack
		options.WaitForCancellation = true
		if options.ScheduleToStartTimeout > 0 {
			options.ScheduleToCloseTimeout = options.ScheduleToStartTimeout + options.StartToCloseTimeout
		}
		ctx, a.withdraw = workflow.WithCancel(ctx)
		a.lengthBefore = workflow.GetInfo(a.ctx).GetCurrentHistoryLength()
	}
	a.request = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), activity, request)
	a.took = took
}

// pollStatus sends a status request. It may not start at or after the deadline (R24).
func (a *await) pollStatus(command operation.SendStatus) {
	request := command.Request
	request.OriginalRunID = workflow.GetInfo(a.ctx).OriginalRunID
	options := sending(a.ctx, command.StartBy, request.TimeoutSeconds, command.Summary)
	a.send(wire.ActivityPollStatus, request, options, request.MayHoldBack, answered(a, unanswered, a.op.StatusAnswered))
}

// answered returns a function that hands the result of a request to the core: that of the activity, or what its failure means.
func answered[R any](a *await, failed func(wire.Withheld) R, take func(time.Time, R)) func(workflow.Future) {
	return func(future workflow.Future) {
		a.forgetWithdraw()
		var result R
		if err := get(a.ctx, future, &result); err != nil {
			result = failed(neverLeft(err))
		}
		take(workflow.Now(a.ctx), result)
	}
}

// forgetWithdraw releases the context of a request that has ended, which its parent would keep.
func (a *await) forgetWithdraw() {
	if a.withdraw != nil {
		a.withdraw()
		a.withdraw = nil
	}
}

// unanswered distinguishes a request that was never sent from one that may have been (R32).
func unanswered(why wire.Withheld) wire.PollResult {
	if why.NotSent != "" {
		return wire.PollResult{Withheld: why}
	}
	return wire.PollResult{Observation: &wire.Observation{
		Answer: wire.AnswerTransportFailure, Detail: wire.TransportLost,
	}}
}

// neverLeft returns why a request whose activity failed was not sent; NotSent is empty if it may have been. Only the failure itself
// counts, not its cause: the timeout of an attempt has the failure of the previous attempt as its cause. A request that was
// cancelled had not started, because one that has started is waited for.
func neverLeft(err error) wire.Withheld {
	var timeout *temporal.TimeoutError
	var application *temporal.ApplicationError
	switch {
	case errors.As(err, &timeout):
		return neverTaken(timeout)
	case errors.As(err, &application) && application.Type() == wire.ErrorHeldBack:
		return wire.Withheld{NotSent: wire.NotSentHeldBack, Detail: "not repeated"}
	case errors.As(err, new(*temporal.CanceledError)):
		return wire.Withheld{NotSent: wire.NotSentHeldBack, Detail: "withdrawn"}
	default:
		return wire.Withheld{}
	}
}

// neverTaken distinguishes a timeout while waiting for a worker from that of an attempt. A running attempt ends by its own timeout
// before that of all attempts, because it starts before the deadline or sends nothing.
func neverTaken(timeout *temporal.TimeoutError) wire.Withheld {
	switch timeout.TimeoutType() {
	case enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START, enumspb.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE:
		return wire.Withheld{NotSent: wire.NotSentTooLate, Detail: "still in the task queue"}
	case enumspb.TIMEOUT_TYPE_START_TO_CLOSE, enumspb.TIMEOUT_TYPE_HEARTBEAT, enumspb.TIMEOUT_TYPE_UNSPECIFIED:
		return wire.Withheld{}
	default:
		return wire.Withheld{}
	}
}

// cancelAtProvider sends the one cancel request of a decision. It has a timeout of its own and ignores the deadlines (R43).
func (a *await) cancelAtProvider(command operation.SendCancel) {
	request := command.Request
	request.OriginalRunID = workflow.GetInfo(a.ctx).OriginalRunID
	options := workflow.ActivityOptions{
		StartToCloseTimeout: time.Duration(request.TimeoutSeconds)*time.Second + answerSlack,
		RetryPolicy:         once,
		Summary:             "ask the provider to cancel",
	}
	a.send(wire.ActivityCancelAtProvider, request, options, !request.HoldBackBefore.IsZero(), answered(a, uncancelled, a.op.CancelAnswered))
}

// uncancelled is unanswered for a cancel request.
func uncancelled(why wire.Withheld) wire.CancelResult {
	if why.NotSent == "" {
		why.Detail = wire.TransportLost
	}
	return wire.CancelResult{Withheld: why}
}

// learnKeys records which keys are trusted now. It is a local activity, so that the question and its keys become visible in the
// same workflow task and no decision sees one without the other. If the keys cannot be read, those recorded before stay in force.
func (a *await) learnKeys() {
	ctx := workflow.WithLocalActivityOptions(a.ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout:    keysAttempt,
		ScheduleToCloseTimeout: keysTimeout,
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, MaximumInterval: time.Second},
		Summary:                "record the trusted decision keys",
	})
	var trusted wire.TrustedKeys
	if err := get(a.ctx, workflow.ExecuteLocalActivity(ctx, wire.ActivityTrustedKeys), &trusted); err != nil {
		workflow.GetLogger(a.ctx).Warn("the trusted decision keys cannot be read, those recorded before hold", "error", err)
	}
	a.op.KeysLearned(trusted.Keys)
}
