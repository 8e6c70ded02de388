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
	// noticeAttempt bounds one attempt to tell people, noticeTimeout all of them; the last word of a wait is given less,
	// because its outcome waits for it.
	noticeAttempt        = time.Minute
	noticeTimeout        = time.Hour
	closingNoticeTimeout = 2 * time.Minute
	// keysAttempt bounds one attempt to learn the trusted keys, keysTimeout all of them: less than a workflow task may take.
	keysAttempt = 2 * time.Second
	keysTimeout = 5 * time.Second
)

// once is the retry policy of everything that a provider may have received (R2).
var once = &temporal.RetryPolicy{MaximumAttempts: 1} //nolint:gochecknoglobals // a constant in all but the language

func (a *await) executePrepare(request wire.PrepareRequest) workflow.Future {
	ctx := workflow.WithActivityOptions(a.ctx, workflow.ActivityOptions{
		StartToCloseTimeout: prepareTimeout,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: prepareTimeout},
		Summary:             "validate the spec and snapshot limits",
	})
	return workflow.ExecuteActivity(ctx, wire.ActivityPrepare, request)
}

// pollStatus starts the one activity of a status request. It may not start at or after the deadline (R24).
func (a *await) pollStatus(command operation.SendStatus) {
	request := command.Request
	request.OriginalRunID = workflow.GetInfo(a.ctx).OriginalRunID
	ctx := workflow.WithActivityOptions(a.ctx, workflow.ActivityOptions{
		ScheduleToStartTimeout: command.StartBy.Sub(workflow.Now(a.ctx)),
		StartToCloseTimeout:    time.Duration(request.TimeoutSeconds)*time.Second + answerSlack,
		RetryPolicy:            once,
		Summary:                command.Summary,
	})
	a.request = workflow.ExecuteActivity(ctx, wire.ActivityPollStatus, request)
	a.took = func(future workflow.Future) {
		var result wire.PollResult
		if err := future.Get(a.ctx, &result); err != nil {
			result = unanswered(err)
		}
		a.op.StatusAnswered(workflow.Now(a.ctx), result)
	}
}

// unanswered tells a request that never started from one whose fate is unknown (R32).
func unanswered(err error) wire.PollResult {
	var timeout *temporal.TimeoutError
	if errors.As(err, &timeout) && timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START {
		return wire.PollResult{NotSent: wire.NotSentTooLate, Detail: "still in the task queue"}
	}
	return wire.PollResult{Observation: &wire.Observation{
		Answer: wire.AnswerTransportFailure, Detail: wire.TransportLost,
	}}
}

// cancelAtProvider starts the one cancel request of a decision. It has its own timeout and no deadline but that (R43).
func (a *await) cancelAtProvider(command operation.SendCancel) {
	request := command.Request
	request.OriginalRunID = workflow.GetInfo(a.ctx).OriginalRunID
	ctx := workflow.WithActivityOptions(a.ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Duration(request.TimeoutSeconds)*time.Second + answerSlack,
		RetryPolicy:         once,
		Summary:             "ask the provider to cancel",
	})
	a.request = workflow.ExecuteActivity(ctx, wire.ActivityCancelAtProvider, request)
	a.took = func(future workflow.Future) {
		var result wire.CancelResult
		if err := future.Get(a.ctx, &result); err != nil {
			result = wire.CancelResult{Detail: wire.TransportLost}
		}
		a.op.CancelAnswered(workflow.Now(a.ctx), result)
	}
}

// notice is a message to people that is being delivered.
type notice struct {
	id     string
	future workflow.Future
}

func (a *await) notify(command operation.Notify) {
	timeout := noticeTimeout
	if command.Closing {
		timeout = closingNoticeTimeout
	}
	ctx := workflow.WithActivityOptions(a.ctx, workflow.ActivityOptions{
		StartToCloseTimeout:    noticeAttempt,
		ScheduleToCloseTimeout: timeout,
		Summary:                "tell people: " + string(command.Request.Notification.Kind),
	})
	a.notices = append(a.notices, notice{
		id:     command.Request.Notification.ID,
		future: workflow.ExecuteActivity(ctx, wire.ActivityNotify, command.Request),
	})
}

func (a *await) noticeReady() bool {
	for _, notice := range a.notices {
		if notice.future.IsReady() {
			return true
		}
	}
	return false
}

func (a *await) takeNotices() {
	var pending []notice
	for _, notice := range a.notices {
		if !notice.future.IsReady() {
			pending = append(pending, notice)
			continue
		}
		failure := ""
		if err := notice.future.Get(a.ctx, nil); err != nil {
			failure = "not delivered"
		}
		a.op.Notified(workflow.Now(a.ctx), notice.id, failure)
	}
	a.notices = pending
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
	if err := workflow.ExecuteLocalActivity(ctx, wire.ActivityTrustedKeys).Get(a.ctx, &trusted); err != nil {
		workflow.GetLogger(a.ctx).Warn("the trusted decision keys cannot be read, those recorded before hold", "error", err)
	}
	a.op.KeysLearned(trusted.Keys)
}
