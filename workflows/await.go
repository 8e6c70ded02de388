package workflows

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// How long a run may become before it continues as new. The time of a replay grows with the run, and the audit query of a run has
// to fit into one payload (R49).
const (
	pollsPerRun   = 150
	entriesPerRun = 800
	bytesPerRun   = 1 << 20
	// At entriesAtMost or bytesAtMost a run continues even if a message to people is still being delivered.
	entriesAtMost = 1000
	bytesAtMost   = 3 << 19
)

// AwaitJob waits for one external job. Its first input is a wire.Spec. The second is the wire.Record of the previous run; only a run
// that continues another has one. However the wait ends, the workflow completes with an outcome; it fails only with the
// application error InvalidSpec.
//
// Both inputs are raw so that they can be decoded strictly, and so that an input of the wrong shape is reported as an invalid spec.
func AwaitJob(ctx workflow.Context, spec, carried converter.RawValue) (*wire.Outcome, error) {
	wait := newAwait(ctx, spec)
	if outcome, err := begin(wait, carried, wait.neverBegan); outcome != nil || err != nil {
		return outcome, err
	}
	return wait.run()
}

// begin opens the wait or resumes it. If it returns an outcome or an error, the wait has ended already; never returns the outcome
// of one that was cancelled before it was prepared.
func begin[O any](a *await, carried converter.RawValue, never func() (*O, error)) (*O, error) {
	switch err := a.setup(carried); {
	case temporal.IsCanceledError(err):
		return never()
	case err != nil:
		return nil, a.fail(err)
	default:
		return nil, nil //nolint:nilnil // neither means to continue
	}
}

// await is one run of the wait for a job.
type await struct {
	// root is cancelled when the workflow is cancelled. ctx is not, so that what is in progress can finish (R48).
	root, ctx workflow.Context
	spec      converter.RawValue
	op        *operation.Operation
	// kind is the workflow type: a submission is a wait that begins earlier.
	kind string

	inbox   inbox
	alarm   alarm
	request workflow.Future
	took    func(workflow.Future)
	// withdraw cancels the request if it is being held back; nil if that is not possible. lengthBefore is the length of the history,
	// in events, when the request was scheduled.
	withdraw     workflow.CancelFunc
	lengthBefore int
	notices      []notice
	// followed is the wait for a submitted job; nil if there is none at the moment.
	followed *followed
	shown    published
	// requestsBefore is how many requests the previous runs have used.
	requestsBefore int
}

func newAwait(root workflow.Context, spec converter.RawValue) *await {
	ctx, _ := workflow.NewDisconnectedContext(root)
	return &await{root: root, ctx: ctx, spec: spec, kind: wire.WorkflowAwaitJob, inbox: inbox{ctx: ctx}}
}

// setup opens the wait, or resumes it from the record of the previous run.
func (a *await) setup(carried converter.RawValue) error {
	if err := a.handleQueries(); err != nil {
		return err
	}
	if err := a.handleUpdates(); err != nil {
		return err
	}
	info := workflow.GetInfo(a.ctx)
	if record := carried.Payload().GetData(); len(record) > 0 {
		return a.resume(info, record)
	}
	prepared, err := a.prepare(info)
	if err != nil {
		return err
	}
	a.op = operation.Open(prepared, firstRunID(info), info.WorkflowStartTime, workflow.Now(a.ctx))
	return nil
}

// resume resumes the wait from the record of the previous run. A run that continues none must not have one.
func (a *await) resume(info *workflow.Info, record []byte) error {
	if info.ContinuedExecutionRunID == "" {
		return invalidSpec("spec: there is a second input, which only a run that continues another has; start with the spec alone")
	}
	var carried wire.Record
	readOwn(record, &carried)
	a.op = operation.Resume(carried)
	a.requestsBefore = carried.Counters.StatusRequestsUsed
	a.followAgain()
	return nil
}

// firstRunID identifies the wait across continue-as-new and resets; the run's own id would change with a reset.
func firstRunID(info *workflow.Info) string {
	if info.FirstRunID != "" {
		return info.FirstRunID
	}
	return info.OriginalRunID
}

// run is the main loop: do what there is to do, then sleep. A worker keeps one stack per sleeping wait. Go shrinks a stack only
// while at most a quarter of it is used, and ours is just below that (docs/performance.md), so keep large values out of run and its
// callers.
func (a *await) run() (*wire.Outcome, error) {
	for {
		outcome, err := a.untilPause()
		if outcome != nil || err != nil {
			return outcome, err
		}
		if err := workflow.Await(a.ctx, a.arrived); err != nil {
			return nil, err
		}
	}
}

// untilPause hands over what has arrived, in a fixed order, and does what the core says. If it returns neither an outcome nor an
// error, there is nothing to do until the alarm fires or something arrives.
func (a *await) untilPause() (*wire.Outcome, error) {
	for {
		a.takeIn()
		command := a.op.Next(workflow.Now(a.ctx))
		if err := a.publish(); err != nil {
			return nil, err
		}
		switch command := command.(type) {
		case operation.SendStatus:
			a.pollStatus(command)
		case operation.SendCancel:
			a.cancelAtProvider(command)
		case operation.SendSubmit:
			a.submit(command)
		case operation.AwaitSubmitted:
			a.awaitSubmitted(command)
		case operation.Notify:
			a.notify(command)
		case operation.LearnKeys:
			a.learnKeys()
		case operation.Wait:
			if a.runIsLong() {
				return nil, a.continueAsNew()
			}
			a.pause(command)
			return nil, nil //nolint:nilnil // neither means to sleep
		case operation.Close:
			return a.close(command)
		}
	}
}

// takeIn hands everything that has arrived to the core. Decisions come before answers and timers, whatever the order of their
// events, so that a decision that arrives together with the end of its window counts (R40).
func (a *await) takeIn() {
	a.inbox.drain(handlers{decide: a.decide, extension: a.requestExtension, nudge: a.nudged})
	if a.root.Err() != nil {
		a.op.StopWaiting()
	}
	if a.request != nil && a.request.IsReady() {
		request, took := a.request, a.took
		a.request, a.took = nil, nil
		took(request)
	}
	a.takeStart()
	a.takeFollowed()
	a.takeNotices()
	a.alarm.takeFired()
}

func (a *await) decide(payload []byte, kind wire.DecisionKind) (wire.DecisionReply, *wire.Refusal) {
	return a.op.Decide(workflow.Now(a.ctx), payload, kind)
}

func (a *await) requestExtension(payload []byte) (wire.ExtensionReply, *wire.Refusal) {
	return a.op.RequestExtension(workflow.Now(a.ctx), payload)
}

func (a *await) nudged(payload []byte) { a.op.Nudge(workflow.Now(a.ctx), payload) }

// pause prepares to sleep until the given time or until something arrives, whichever is first.
func (a *await) pause(command operation.Wait) {
	a.describe()
	a.stopFollowing()
	if a.withdraw != nil && (command.Withdraw || a.outgrown()) {
		a.withdraw()
	}
	a.alarm.set(a.ctx, command.Until, command.Summary)
}

func (a *await) arrived() bool {
	switch {
	case a.inbox.waiting(), a.alarm.fired():
		return true
	case a.request != nil && a.request.IsReady(), a.followedReady(), a.startReady():
		return true
	case a.root.Err() != nil && !a.op.Stopping():
		return true
	default:
		return a.noticeReady()
	}
}

// runIsLong reports whether the wait should continue as a new run now, at a moment when nothing gets lost or repeated.
func (a *await) runIsLong() bool {
	if a.op.InFlight() || a.op.Stopping() || a.starting() {
		return false
	}
	polls := a.op.StatusRequestsUsed() - a.requestsBefore
	entries, bytes := a.op.AuditOfRun()
	long := polls >= pollsPerRun || entries >= entriesPerRun || bytes >= bytesPerRun ||
		workflow.GetInfo(a.ctx).GetContinueAsNewSuggested()
	return long && a.op.Quiet() || a.auditIsFull()
}

func (a *await) auditIsFull() bool {
	entries, bytes := a.op.AuditOfRun()
	return entries >= entriesAtMost || bytes >= bytesAtMost
}

// eventsMeanwhile is by how many events a history may grow while a status request is in flight, in a run that should continue as
// new.
const eventsMeanwhile = 100

// outgrown reports whether a status request in flight should be withdrawn because it keeps a run from continuing as new. It may be
// held back for hours while signals fill the history; withdrawing it costs its reservation. That the server suggests to continue as
// new is not enough: mostly a request is due at that moment, and its answer comes soon. A cancel request is not withdrawn, because
// a person would have to decide it again.
func (a *await) outgrown() bool {
	if !a.op.Polling() || a.op.Stopping() {
		return false
	}
	info := workflow.GetInfo(a.ctx)
	grown := info.GetCurrentHistoryLength()-a.lengthBefore >= eventsMeanwhile
	return a.auditIsFull() || grown && info.GetContinueAsNewSuggested()
}

// continueAsNew carries over the whole record. All signals were drained in this workflow task, and all update handlers return
// before the run ends (R49).
func (a *await) continueAsNew() error {
	if err := a.handlersReturn(); err != nil {
		return err
	}
	record, err := json.Marshal(a.op.Record())
	if err != nil {
		return fmt.Errorf("record for the next run: %w", err)
	}
	return workflow.NewContinueAsNewError(a.ctx, a.kind, a.spec, rawJSON(record))
}

// rawJSON returns a value in the one form in which a wait reads its inputs, whatever data converter the worker has.
func rawJSON(data []byte) converter.RawValue {
	return converter.NewRawValue(&commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)}, Data: data,
	})
}

func (a *await) close(command operation.Close) (*wire.Outcome, error) {
	a.alarm.clear()
	if err := a.handlersReturn(); err != nil {
		return nil, err
	}
	return &command.Outcome, nil
}

// neverBegan returns the outcome of a wait that was cancelled before prepare had a result: nothing was sent (R48).
func (a *await) neverBegan() (*wire.Outcome, error) {
	spec, err := wire.DecodeSpec(a.spec.Payload().GetData())
	if err != nil {
		return nil, a.fail(invalidSpec(err.Error()))
	}
	outcome := operation.NeverBegan(spec, workflow.GetInfo(a.ctx).WorkflowStartTime, workflow.Now(a.ctx))
	return &outcome, a.fail(nil)
}

// fail ends a wait that never began, and refuses the updates that have arrived meanwhile.
func (a *await) fail(err error) error {
	notBegun := &wire.Refusal{Reason: wire.RefusalNotOpen, Detail: "the wait did not begin"}
	a.inbox.drain(handlers{
		decide: func([]byte, wire.DecisionKind) (wire.DecisionReply, *wire.Refusal) {
			return wire.DecisionReply{}, notBegun
		},
		extension: func([]byte) (wire.ExtensionReply, *wire.Refusal) { return wire.ExtensionReply{}, notBegun },
		nudge:     func([]byte) {},
	})
	if unfinished := a.handlersReturn(); unfinished != nil {
		return unfinished
	}
	return err
}

func (a *await) handlersReturn() error {
	return workflow.Await(a.ctx, func() bool { return workflow.AllHandlersFinished(a.ctx) })
}

// prepare validates the spec and takes the snapshot that the wait runs by.
func (a *await) prepare(info *workflow.Info) (wire.Prepared, error) {
	spec := a.spec.Payload().GetData()
	if !json.Valid(spec) { // it could not be the input of an activity
		return wire.Prepared{}, invalidSpec("spec: the input is missing or not valid JSON; start with one JSON object")
	}
	future, letGo := a.executePrepare(wire.PrepareRequest{
		Spec:          json.RawMessage(spec),
		StartedAt:     info.WorkflowStartTime,
		OriginalRunID: info.OriginalRunID,
		Start: wire.StartOptions{
			WorkflowID:     info.WorkflowExecution.ID,
			CronSchedule:   info.CronSchedule,
			HasRetryPolicy: info.RetryPolicy != nil,
			TimeoutSeconds: shortestTimeout(info.WorkflowExecutionTimeout, info.WorkflowRunTimeout),
		},
	})
	if err := workflow.Await(a.ctx, func() bool { return future.IsReady() || a.root.Err() != nil }); err != nil {
		return wire.Prepared{}, err
	}
	if !future.IsReady() {
		return wire.Prepared{}, a.root.Err()
	}
	letGo()
	var prepared wire.Prepared
	return prepared, plainError(get(a.ctx, future, &prepared))
}

// plainError returns the InvalidSpec error of prepare without the activity error around it; others are unchanged.
func plainError(err error) error {
	var application *temporal.ApplicationError
	if errors.As(err, &application) && application.Type() == wire.ErrorInvalidSpec {
		return invalidSpec(application.Message())
	}
	return err
}

func invalidSpec(message string) error {
	return temporal.NewNonRetryableApplicationError(message, wire.ErrorInvalidSpec, nil)
}

// shortestTimeout returns the shortest of the timeouts that are set, in whole seconds and at least 1; 0 if none is set.
func shortestTimeout(timeouts ...time.Duration) int64 {
	var shortest int64
	for _, timeout := range timeouts {
		if timeout > 0 && (shortest == 0 || int64(timeout/time.Second) < shortest) {
			shortest = max(int64(timeout/time.Second), 1)
		}
	}
	return shortest
}
