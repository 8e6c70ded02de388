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
	// prepareTimeout bounds one attempt of prepare; it is repeated until it has an answer, for it sends nothing.
	prepareTimeout = 30 * time.Second
	// keysAttempt bounds one attempt to learn the trusted keys, keysTimeout all of them: less than a workflow task may take.
	keysAttempt = 2 * time.Second
	keysTimeout = 5 * time.Second
)

// once is the retry policy of everything that a provider may have received (R2).
var once = &temporal.RetryPolicy{MaximumAttempts: 1} //nolint:gochecknoglobals // a constant in all but the language

// heldBack is the retry policy of a request that may be held back before it is sent. The server repeats it only at the delay
// that the activity's own error names; after a failure by which something may have been sent it does not, and an attempt that
// follows any other failure sends nothing (R2).
var heldBack = &temporal.RetryPolicy{ //nolint:gochecknoglobals // a constant in all but the language
	InitialInterval:        time.Second,
	NonRetryableErrorTypes: []string{"TemporalTimeout:StartToClose", "TemporalTimeout:Heartbeat", "PanicError"},
}

// executePrepare starts prepare. letGo is called when that has ended: the context that lasts as long as the wait would keep the
// whole request.
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

// sending are the options of a request that may not start at or after a deadline (R24).
func sending(ctx workflow.Context, startBy time.Time, timeoutSeconds int, summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		ScheduleToStartTimeout: startBy.Sub(workflow.Now(ctx)),
		StartToCloseTimeout:    time.Duration(timeoutSeconds)*time.Second + answerSlack,
		RetryPolicy:            once,
		Summary:                summary,
	}
}

// send starts the one activity of a request. One that may be held back before it is sent can be taken back meanwhile.
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

// answered hands what came of a request to the core: the activity's result, or what its failure says.
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

// forgetWithdraw lets go of the context of a request that has ended, which its parent would keep.
func (a *await) forgetWithdraw() {
	if a.withdraw != nil {
		a.withdraw()
		a.withdraw = nil
	}
}

// unanswered tells a request that never left from one whose fate is unknown (R32).
func unanswered(why wire.Withheld) wire.PollResult {
	if why.NotSent != "" {
		return wire.PollResult{Withheld: why}
	}
	return wire.PollResult{Observation: &wire.Observation{
		Answer: wire.AnswerTransportFailure, Detail: wire.TransportLost,
	}}
}

// neverLeft is why a request whose activity failed has not left; NotSent is empty where it may have. The failure itself decides and
// not its cause: a time-out of an attempt has the failure of the attempt before it as its cause. One that is cancelled had not
// started: a started one is waited for.
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

// neverTaken tells a time-out that ends the waiting for a worker from that of an attempt. An attempt that runs ends with its
// own time-out before that of all attempts, since it starts before the deadline or sends nothing.
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

// cancelAtProvider sends the one cancel request of a decision. It has its own timeout and no deadline but that (R43).
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

// learnKeys records which keys are trusted at this moment. It is a local activity, so that the question and its keys become
// visible in one workflow task and no decision meets the one without the others. Where nobody can say, the keys recorded
// before hold.
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
