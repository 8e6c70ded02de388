package workflows

import (
	"errors"
	"slices"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/jobwait/jobwait/wire"
)

// inbox holds what has arrived and was not handed to the core yet. Signals are received raw, because the SDK silently drops a typed
// one that has the wrong type. Their channels are opened only if there is something in them: most waits never need one, and four
// would take a kilobyte per wait.
type inbox struct {
	ctx     workflow.Context
	updates []*update
}

// update is a decision or an extension request whose sender waits for the answer.
type update struct {
	deliver func(to handlers)
	done    bool
}

// handlers take what has arrived, in its raw form.
type handlers struct {
	// decide applies one decision. kind is set for the signals whose payload has none.
	decide func(payload []byte, kind wire.DecisionKind) (wire.DecisionReply, *wire.Refusal)
	// extension opens a proposal.
	extension func(payload []byte) (wire.ExtensionReply, *wire.Refusal)
	nudge     func(payload []byte)
}

func (i *inbox) waiting() bool {
	return len(i.updates) > 0 || slices.ContainsFunc(workflow.GetUnhandledSignalNames(i.ctx), isSignal)
}

// isSignal reports whether a wait handles signals of this name; others stay unhandled.
func isSignal(name string) bool {
	switch name {
	case wire.SignalDecide, wire.SignalCancel, wire.SignalExtend, wire.SignalNudge:
		return true
	default:
		return false
	}
}

// drain hands over everything that has arrived. The order does not depend on the order of arrival between names: decide, cancel,
// extend, updates, nudge (R40).
func (i *inbox) drain(to handlers) {
	signalled := workflow.GetUnhandledSignalNames(i.ctx)
	signals := func(name string, take func(payload []byte)) {
		if slices.Contains(signalled, name) {
			drainSignal(workflow.GetSignalChannel(i.ctx, name), take)
		}
	}
	signals(wire.SignalDecide, to.decideAs(""))
	signals(wire.SignalCancel, to.decideAs(wire.DecisionCancel))
	signals(wire.SignalExtend, to.decideAs(wire.DecisionExtend))
	for _, update := range i.updates {
		update.deliver(to)
		update.done = true
	}
	i.updates = nil
	signals(wire.SignalNudge, to.nudge)
}

// decideAs returns a function that takes the decisions of one signal. Senders of signals get no answer; the audit has it.
func (h handlers) decideAs(kind wire.DecisionKind) func(payload []byte) {
	return func(payload []byte) { _, _ = h.decide(payload, kind) }
}

// drainSignal never blocks. Receive would block behind a signal that the worker's converter cannot decode, and with it every timer
// and deadline of the wait.
func drainSignal(channel workflow.ReceiveChannel, take func(payload []byte)) {
	for waiting := channel.Len(); waiting > 0; waiting = channel.Len() {
		var raw converter.RawValue
		received := channel.ReceiveAsync(&raw)
		// The SDK skips signals that the worker's converter cannot decode; they are refused like others that cannot be read.
		skipped := waiting - channel.Len()
		if received {
			skipped--
		}
		for range skipped {
			take(nil)
		}
		if received {
			take(raw.Payload().GetData())
		}
	}
}

// handleUpdates registers the updates. Each queues its payload and waits for the loop to answer, in the same workflow task. The
// validators refuse only what cannot be parsed; such an update leaves no trace in history.
func (a *await) handleUpdates() error {
	decide := updateHandler(a, decisionRefused, func(to handlers, payload []byte) (wire.DecisionReply, *wire.Refusal) {
		return to.decide(payload, "")
	})
	extension := updateHandler(a, requestRefused, func(to handlers, payload []byte) (wire.ExtensionReply, *wire.Refusal) {
		return to.extension(payload)
	})
	return errors.Join(
		workflow.SetUpdateHandlerWithOptions(a.ctx, wire.UpdateDecide, decide, workflow.UpdateHandlerOptions{
			Validator: validator(wire.DecodeDecision, decisionRefused),
		}),
		workflow.SetUpdateHandlerWithOptions(a.ctx, wire.UpdateRequestExtension, extension, workflow.UpdateHandlerOptions{
			Validator: validator(wire.DecodeExtensionRequest, requestRefused),
		}),
	)
}

// updateHandler returns a handler that queues an update for the loop, which passes it to hand.
func updateHandler[T any](
	a *await, refused func(*wire.Refusal) error, hand func(to handlers, payload []byte) (T, *wire.Refusal),
) func(workflow.Context, converter.RawValue) (T, error) {
	return func(ctx workflow.Context, raw converter.RawValue) (T, error) {
		ctx, _ = workflow.NewDisconnectedContext(ctx) // so that there is an answer even while the wait is being cancelled
		var reply, none T
		var refusal *wire.Refusal
		item := &update{deliver: func(to handlers) { reply, refusal = hand(to, raw.Payload().GetData()) }}
		a.inbox.updates = append(a.inbox.updates, item)
		if err := workflow.Await(ctx, func() bool { return item.done }); err != nil {
			return none, err
		}
		if refusal != nil {
			return none, refused(refusal)
		}
		return reply, nil
	}
}

func validator[T any](decode func([]byte) (T, error), refused func(*wire.Refusal) error) func(workflow.Context, converter.RawValue) error {
	return func(_ workflow.Context, raw converter.RawValue) error {
		if _, err := decode(raw.Payload().GetData()); err != nil {
			return refused(&wire.Refusal{Reason: wire.RefusalUnparsable, Detail: err.Error()})
		}
		return nil
	}
}

func decisionRefused(refusal *wire.Refusal) error {
	return temporal.NewNonRetryableApplicationError(refusal.Error(), wire.ErrorDecisionRefused, nil, *refusal)
}

func requestRefused(refusal *wire.Refusal) error {
	return temporal.NewNonRetryableApplicationError(refusal.Of("extension request"), wire.ErrorRequestRefused, nil, *refusal)
}
