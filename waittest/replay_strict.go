package waittest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"
)

// recording is a history taken apart by kinds of event, with a cursor for each: the n-th timer of a replay is held
// against the n-th timer that was recorded.
type recording struct {
	converter  converter.DataConverter
	timers     []*historypb.HistoryEvent
	activities []*historypb.HistoryEvent
	upserts    []*historypb.HistoryEvent
	children   []*historypb.HistoryEvent
	updates    map[string]*historypb.HistoryEvent
	last       *historypb.HistoryEvent

	seen        struct{ activities, upserts, children int }
	asked       []askedTimer
	differences []error
}

// askedTimer is a timer that the replayed code asked for. One that is cancelled in the workflow task that asked for it
// writes no event.
type askedTimer struct {
	ctx     workflow.Context
	length  time.Duration
	task    int
	dropped bool
}

// changeVersion is the search attribute that the SDK upserts by itself beside the marker of workflow.GetVersion.
const changeVersion = "TemporalChangeVersion"

func newRecording(history *historypb.History, dc converter.DataConverter) *recording {
	rec := &recording{converter: dc, updates: map[string]*historypb.HistoryEvent{}}
	for _, event := range history.GetEvents() {
		rec.file(event)
		rec.last = event
	}
	return rec
}

func (r *recording) file(event *historypb.HistoryEvent) {
	switch event.GetEventType() { //nolint:exhaustive // the other events are not the workflow's own doing
	case enumspb.EVENT_TYPE_TIMER_STARTED:
		r.timers = append(r.timers, event)
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		r.activities = append(r.activities, event)
	case enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES:
		if _, marks := upserted(event)[changeVersion]; !marks {
			r.upserts = append(r.upserts, event)
		}
	case enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
		r.children = append(r.children, event)
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED:
		attributes := event.GetWorkflowExecutionUpdateCompletedEventAttributes()
		r.updates[attributes.GetMeta().GetUpdateId()] = event
	default:
	}
}

func (r *recording) differ(format string, args ...any) {
	r.differences = append(r.differences, fmt.Errorf(format, args...))
}

// verdict compares the timers, whose number is known only at the end, and joins all differences.
func (r *recording) verdict() error {
	var asked []askedTimer
	for _, timer := range r.asked {
		if !timer.dropped {
			asked = append(asked, timer)
		}
	}
	if len(asked) != len(r.timers) && r.closed() {
		r.differ("%d timers were recorded, the replay asked for %d", len(r.timers), len(asked))
	}
	for i := range min(len(asked), len(r.timers)) {
		event := r.timers[i]
		want := event.GetTimerStartedEventAttributes().GetStartToFireTimeout().AsDuration()
		if asked[i].length != want {
			r.differ("event %d: timer of %s was recorded, the replay asked for %s", event.GetEventId(), want, asked[i].length)
		}
	}
	return errors.Join(r.differences...)
}

// closed reports whether the run has ended in the history: only then must every recorded timer have been asked for.
func (r *recording) closed() bool {
	switch r.last.GetEventType() { //nolint:exhaustive // any other event leaves the run open
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
		return true
	default:
		return false
	}
}

// settle drops the timers that were asked for and cancelled within the present workflow task.
func (r *recording) settle(ctx workflow.Context) {
	task := workflow.GetInfo(ctx).GetCurrentHistoryLength()
	for i := range r.asked {
		timer := &r.asked[i]
		if timer.task == task && timer.ctx.Err() != nil {
			timer.dropped = true
		}
	}
}

func (r *recording) timer(ctx workflow.Context, length time.Duration) {
	r.settle(ctx)
	r.asked = append(r.asked, askedTimer{
		ctx: ctx, length: length, task: workflow.GetInfo(ctx).GetCurrentHistoryLength(),
	})
}

func (r *recording) activity(ctx workflow.Context, name string, args []any) {
	r.settle(ctx)
	if r.seen.activities >= len(r.activities) {
		return // plain replay complains about a command too many
	}
	event := r.activities[r.seen.activities]
	r.seen.activities++
	r.payloads(event, "activity "+name, event.GetActivityTaskScheduledEventAttributes().GetInput(), args)
	options := workflow.GetActivityOptions(ctx)
	r.timeouts(event, name, options)
	r.attempts(event, name, options.RetryPolicy)
}

// timeouts holds those of an activity against what was recorded. The server fills in what is left open: with the run's
// time-out, and then with that of schedule-to-close. A heartbeat it only bounds, by start-to-close.
func (r *recording) timeouts(event *historypb.HistoryEvent, name string, options workflow.ActivityOptions) {
	want := event.GetActivityTaskScheduledEventAttributes()
	start, run, all := want.GetScheduleToStartTimeout().AsDuration(), want.GetStartToCloseTimeout().AsDuration(), want.GetScheduleToCloseTimeout().AsDuration()
	for _, timeout := range []struct {
		name                string
		want, got, leftOpen time.Duration
	}{
		{"schedule-to-start", start, options.ScheduleToStartTimeout, all},
		{"start-to-close", run, options.StartToCloseTimeout, all},
		{"schedule-to-close", all, options.ScheduleToCloseTimeout, all},
		{"heartbeat", want.GetHeartbeatTimeout().AsDuration(), min(options.HeartbeatTimeout, run), 0},
	} {
		left := timeout.got == 0 && timeout.want == timeout.leftOpen
		if timeout.got != timeout.want && !left {
			r.differ("event %d: activity %s: %s time-out of %s was recorded, the replay asked for %s",
				event.GetEventId(), name, timeout.name, timeout.want, timeout.got)
		}
	}
}

// child holds a child workflow's input, and what becomes of it when its parent ends, against the recorded ones.
func (r *recording) child(ctx workflow.Context, name string, args []any) {
	r.settle(ctx)
	if r.seen.children >= len(r.children) {
		return // plain replay complains about a command too many
	}
	event := r.children[r.seen.children]
	r.seen.children++
	want := event.GetStartChildWorkflowExecutionInitiatedEventAttributes()
	r.payloads(event, "child workflow "+name, want.GetInput(), args)
	if policy := workflow.GetChildWorkflowOptions(ctx).ParentClosePolicy; policy != want.GetParentClosePolicy() {
		r.differ("event %d: child workflow %s: parent close policy %s was recorded, the replay asked for %s",
			event.GetEventId(), name, want.GetParentClosePolicy(), policy)
	}
}

// attempts holds the number of attempts, and after which errors there is none, against what was recorded: a request that is
// sent once must not become one that is repeated.
func (r *recording) attempts(event *historypb.HistoryEvent, name string, policy *temporal.RetryPolicy) {
	recorded := event.GetActivityTaskScheduledEventAttributes().GetRetryPolicy()
	if policy == nil {
		policy = &temporal.RetryPolicy{}
	}
	if want, got := recorded.GetMaximumAttempts(), policy.MaximumAttempts; got != want {
		r.differ("event %d: activity %s: at most %d attempts were recorded, the replay asked for %d (0: no limit)",
			event.GetEventId(), name, want, got)
	}
	if want, got := recorded.GetNonRetryableErrorTypes(), policy.NonRetryableErrorTypes; !slices.Equal(want, got) {
		r.differ("event %d: activity %s: no attempt after the errors %q was recorded, the replay asked for none after %q",
			event.GetEventId(), name, want, got)
	}
}

// payloads holds values against recorded ones in their encoded form, below any codec: encrypting the same value twice
// gives other bytes.
func (r *recording) payloads(event *historypb.HistoryEvent, what string, want *commonpb.Payloads, values []any) {
	got, err := r.converter.ToPayloads(values...)
	if err != nil {
		r.differ("event %d: %s: %w", event.GetEventId(), what, err)
		return
	}
	if len(got.GetPayloads()) != len(want.GetPayloads()) {
		r.differ("event %d: %s: %d values were recorded, the replay has %d",
			event.GetEventId(), what, len(want.GetPayloads()), len(got.GetPayloads()))
		return
	}
	for i, payload := range want.GetPayloads() {
		recorded, replayed := r.plain(payload), r.plain(got.GetPayloads()[i])
		if !bytes.Equal(recorded, replayed) {
			r.differ("event %d: %s: recorded %s, the replay has %s", event.GetEventId(), what, recorded, replayed)
		}
	}
}

// plain is what a payload holds once the converter's codec is undone; one that cannot be undone stands as it is.
func (r *recording) plain(payload *commonpb.Payload) []byte {
	var raw converter.RawValue
	if err := r.converter.FromPayload(payload, &raw); err != nil {
		return payload.GetData()
	}
	return raw.Payload().GetData()
}

// message is that of a recorded failure, whose converter may have encoded it.
func (r *recording) message(recorded *failurepb.Failure) string {
	failure, _ := proto.Clone(recorded).(*failurepb.Failure)
	converter.DecodeCommonFailureAttributes(r.converter, failure)
	return failure.GetMessage()
}

func (r *recording) update(id string, result any) {
	event, ok := r.updates[id]
	if !ok {
		return
	}
	outcome := event.GetWorkflowExecutionUpdateCompletedEventAttributes().GetOutcome()
	if outcome.GetSuccess() != nil {
		r.payloads(event, "update "+id, outcome.GetSuccess(), []any{result})
	} else {
		r.differ("event %d: update %s: a refusal was recorded, the replay accepts", event.GetEventId(), id)
	}
}

func (r *recording) updateFailed(id string, err error) {
	event, ok := r.updates[id]
	if !ok {
		return
	}
	recorded := event.GetWorkflowExecutionUpdateCompletedEventAttributes().GetOutcome().GetFailure()
	var application *temporal.ApplicationError
	if recorded == nil || !errors.As(err, &application) || application.Message() != r.message(recorded) {
		r.differ("event %d: update %s: recorded %q, the replay answers %q", event.GetEventId(), id, r.message(recorded), err)
	}
}

func (r *recording) upsert(ctx workflow.Context, attributes []temporal.SearchAttributeUpdate) {
	r.settle(ctx)
	if r.seen.upserts >= len(r.upserts) {
		return
	}
	event := r.upserts[r.seen.upserts]
	r.seen.upserts++
	want, got := upserted(event), searchAttributeFields(attributes)
	names := slices.AppendSeq(slices.Collect(maps.Keys(want)), maps.Keys(got))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		recorded, replayed := want[name].GetData(), got[name]
		if !bytes.Equal(recorded, replayed) {
			r.differ("event %d: search attribute %s: recorded %s, the replay has %s",
				event.GetEventId(), name, cmp.Or(string(recorded), "no value"), cmp.Or(string(replayed), "no value"))
		}
	}
}

func upserted(event *historypb.HistoryEvent) map[string]*commonpb.Payload {
	return event.GetUpsertWorkflowSearchAttributesEventAttributes().GetSearchAttributes().GetIndexedFields()
}

// searchAttributeFields encodes a typed update as the SDK does: by its default converter, which the server can read. The SDK does
// not tell an attribute that is unset from one that is left alone: neither has a field.
func searchAttributeFields(updates []temporal.SearchAttributeUpdate) map[string][]byte {
	fields := map[string][]byte{}
	attributes := temporal.NewSearchAttributes(updates...)
	for key, value := range attributes.GetUntypedValues() {
		if payload, err := converter.GetDefaultDataConverter().ToPayload(value); err == nil {
			fields[key.GetName()] = payload.GetData()
		}
	}
	return fields
}

// ended holds the end of a run against the recorded one.
func (r *recording) ended(ctx workflow.Context, result any, err error) {
	r.settle(ctx)
	switch r.last.GetEventType() { //nolint:exhaustive // any other event leaves the run open
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
		want := r.last.GetWorkflowExecutionCompletedEventAttributes().GetResult()
		if err == nil {
			r.payloads(r.last, "result", want, []any{result})
		}
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
		want := r.message(r.last.GetWorkflowExecutionFailedEventAttributes().GetFailure())
		var application *temporal.ApplicationError
		if errors.As(err, &application) && application.Message() != want {
			r.differ("event %d: failure: recorded %q, the replay has %q", r.last.GetEventId(), want, application.Message())
		}
	default:
	}
}

func (r *recording) continued(ctx workflow.Context, args []any) {
	r.settle(ctx)
	if attributes := r.last.GetWorkflowExecutionContinuedAsNewEventAttributes(); attributes != nil {
		r.payloads(r.last, "input of the next run", attributes.GetInput(), args)
	}
}

func (r *recording) interceptor() interceptor.WorkerInterceptor {
	return &strictInterceptor{recorded: r}
}

type strictInterceptor struct {
	interceptor.WorkerInterceptorBase
	recorded *recording
}

func (i *strictInterceptor) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	inbound := &strictInbound{recorded: i.recorded}
	inbound.Next = next
	return inbound
}

type strictInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	recorded *recording
}

func (i *strictInbound) Init(next interceptor.WorkflowOutboundInterceptor) error {
	outbound := &strictOutbound{recorded: i.recorded}
	outbound.Next = next
	return i.Next.Init(outbound)
}

func (i *strictInbound) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	result, err := i.Next.ExecuteWorkflow(ctx, in)
	i.recorded.ended(ctx, result, err)
	return result, err
}

func (i *strictInbound) ExecuteUpdate(ctx workflow.Context, in *interceptor.UpdateInput) (any, error) {
	id := workflow.GetCurrentUpdateInfo(ctx).ID
	result, err := i.Next.ExecuteUpdate(ctx, in)
	if err != nil {
		i.recorded.updateFailed(id, err)
	} else {
		i.recorded.update(id, result)
	}
	return result, err
}

type strictOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	recorded *recording
}

func (o *strictOutbound) Await(ctx workflow.Context, condition func() bool) error {
	o.recorded.settle(ctx)
	return o.Next.Await(ctx, condition)
}

func (o *strictOutbound) NewTimer(ctx workflow.Context, length time.Duration) workflow.Future {
	o.recorded.timer(ctx, length)
	return o.Next.NewTimer(ctx, length)
}

func (o *strictOutbound) NewTimerWithOptions(ctx workflow.Context, length time.Duration, options workflow.TimerOptions) workflow.Future {
	o.recorded.timer(ctx, length)
	return o.Next.NewTimerWithOptions(ctx, length, options)
}

func (o *strictOutbound) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	o.recorded.activity(ctx, name, args)
	return o.Next.ExecuteActivity(ctx, name, args...)
}

func (o *strictOutbound) ExecuteChildWorkflow(ctx workflow.Context, name string, args ...any) workflow.ChildWorkflowFuture {
	o.recorded.child(ctx, name, args)
	return o.Next.ExecuteChildWorkflow(ctx, name, args...)
}

func (o *strictOutbound) UpsertTypedSearchAttributes(ctx workflow.Context, attributes ...temporal.SearchAttributeUpdate) error {
	o.recorded.upsert(ctx, attributes)
	return o.Next.UpsertTypedSearchAttributes(ctx, attributes...)
}

func (o *strictOutbound) NewContinueAsNewError(ctx workflow.Context, wfn any, args ...any) error {
	o.recorded.continued(ctx, args)
	return o.Next.NewContinueAsNewError(ctx, wfn, args...)
}
