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
	// noticeAttempt bounds one attempt to notify people, noticeTimeout all of them. closingNoticeTimeout is used instead if the
	// outcome of a wait is held for the message.
	noticeAttempt        = time.Minute
	noticeTimeout        = time.Hour
	closingNoticeTimeout = 2 * time.Minute
)

// TellPeople delivers a message about the end of a wait, which does not wait for the delivery. It fails if a channel has not accepted the
// message within an hour, or never will; the error's detail is a wire.NotifyResult.
func TellPeople(ctx workflow.Context, request wire.NotifyRequest) (wire.NotifyResult, error) {
	var result wire.NotifyResult
	err := get(ctx, executeNotify(ctx, request, noticeTimeout), &result)
	var application *temporal.ApplicationError
	if errors.As(err, &application) && application.Type() == wire.ErrorNotDelivered {
		return result, application // without the activity around it
	}
	return result, err
}

func executeNotify(ctx workflow.Context, request wire.NotifyRequest, timeout time.Duration) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout:    noticeAttempt,
		ScheduleToCloseTimeout: timeout,
		Summary:                noticeSummary(request),
	})
	return workflow.ExecuteActivity(ctx, wire.ActivityNotify, request)
}

func noticeSummary(request wire.NotifyRequest) string {
	return "tell people: " + string(request.Notification.Kind)
}

// notice is a message to people that is being delivered, or handed over to a workflow that delivers it.
type notice struct {
	id     string
	future workflow.Future
	// cameOf returns the audit detail once the future is ready.
	cameOf func(workflow.Future) string
}

func (a *await) notify(command operation.Notify) {
	if command.HandOver {
		a.handOver(command.Request)
		return
	}
	timeout := noticeTimeout
	if command.Closing {
		timeout = closingNoticeTimeout
	}
	a.notices = append(a.notices, notice{
		id: command.Request.Notification.ID, future: executeNotify(a.ctx, command.Request, timeout), cameOf: a.delivered,
	})
}

// handOver gives a message to a workflow that outlives the wait.
func (a *await) handOver(request wire.NotifyRequest) {
	ctx := workflow.WithChildOptions(a.ctx, workflow.ChildWorkflowOptions{
		ParentClosePolicy: enumspb.PARENT_CLOSE_POLICY_ABANDON,
		StaticSummary:     noticeSummary(request),
		Memo:              map[string]any{wire.MemoOperationID: request.Notification.Briefing.OperationID},
	})
	started := workflow.ExecuteChildWorkflow(ctx, wire.WorkflowTellPeople, request).GetChildWorkflowExecution()
	a.notices = append(a.notices, notice{id: request.Notification.ID, future: started, cameOf: a.handedOver})
}

func (a *await) handedOver(started workflow.Future) string {
	var execution workflow.Execution
	if err := started.Get(a.ctx, &execution); err != nil {
		return operation.NoticeDetail(wire.NotifyResult{}, true)
	}
	return operation.NoticeHandedOver(execution.ID)
}

func (a *await) delivered(future workflow.Future) string {
	var result wire.NotifyResult
	err := get(a.ctx, future, &result)
	if err != nil {
		result = lastResult(err)
	}
	return operation.NoticeDetail(result, err != nil)
}

// lastResult returns the state of each channel after the last attempt of a delivery that was given up.
func lastResult(err error) wire.NotifyResult {
	var result wire.NotifyResult
	var application *temporal.ApplicationError
	var timeout *temporal.TimeoutError
	var unread error
	switch {
	case errors.As(err, &application) && application.Type() == wire.ErrorNotDelivered:
		unread = application.Details(&result)
	case errors.As(err, &timeout) && timeout.HasLastHeartbeatDetails():
		unread = timeout.LastHeartbeatDetails(&result)
	}
	if unread != nil {
		return wire.NotifyResult{}
	}
	return result
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
		a.op.Notified(workflow.Now(a.ctx), notice.id, notice.cameOf(notice.future))
	}
	a.notices = pending
}
