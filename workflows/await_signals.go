package workflows

import (
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/jobwait/jobwait/wire"
)

// inbox holds what has arrived and was not handed to the core yet: decisions, and nudges behind them. Signals are received
// raw: a typed one with a wrong type would be dropped without a word.
type inbox struct {
	decide, cancel, extend, nudge workflow.ReceiveChannel
	updates                       []*update
}

// update is a decision whose sender waits for the answer.
type update struct {
	payload []byte
	done    bool
	reply   wire.DecisionReply
	refusal *wire.Refusal
}

// handler applies one decision. kind is set for the plain signals, whose payload has none.
type handler func(payload []byte, kind wire.DecisionKind) (wire.DecisionReply, *wire.Refusal)

func openInbox(ctx workflow.Context) inbox {
	return inbox{
		decide: workflow.GetSignalChannel(ctx, wire.SignalDecide),
		cancel: workflow.GetSignalChannel(ctx, wire.SignalCancel),
		extend: workflow.GetSignalChannel(ctx, wire.SignalExtend),
		nudge:  workflow.GetSignalChannel(ctx, wire.SignalNudge),
	}
}

func (i *inbox) waiting() bool {
	return i.decide.Len() > 0 || i.cancel.Len() > 0 || i.extend.Len() > 0 || len(i.updates) > 0 || i.nudge.Len() > 0
}

// drain hands over everything that waits, in the one order that does not depend on the order of arrival between names:
// decide, cancel, extend, updates, nudge (R40).
func (i *inbox) drain(handle handler, nudge func(payload []byte)) {
	drainDecisions(i.decide, "", handle)
	drainDecisions(i.cancel, wire.DecisionCancel, handle)
	drainDecisions(i.extend, wire.DecisionExtend, handle)
	for _, update := range i.updates {
		update.reply, update.refusal = handle(update.payload, "")
		update.done = true
	}
	i.updates = nil
	drainSignal(i.nudge, nudge)
}

// drainDecisions hands over the decisions of one signal. Who sends a signal hears nothing; the audit holds the answer.
func drainDecisions(channel workflow.ReceiveChannel, kind wire.DecisionKind, handle handler) {
	drainSignal(channel, func(payload []byte) { _, _ = handle(payload, kind) })
}

// drainSignal never blocks. Receive would, behind a signal that the worker's converter cannot open, and with it every timer
// and deadline of the wait.
func drainSignal(channel workflow.ReceiveChannel, take func(payload []byte)) {
	for waiting := channel.Len(); waiting > 0; waiting = channel.Len() {
		var raw converter.RawValue
		received := channel.ReceiveAsync(&raw)
		// Those that the worker's converter cannot open are passed over by the SDK; they are refused like any other that cannot
		// be read.
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

// handleUpdates lets the update decide queue its payload and wait for the loop to answer, in the same workflow task. The
// validator refuses only what cannot be parsed; such an update leaves no trace in history.
func (a *await) handleUpdates() error {
	receive := func(ctx workflow.Context, raw converter.RawValue) (wire.DecisionReply, error) {
		ctx, _ = workflow.NewDisconnectedContext(ctx) // the answer comes even while the wait is being cancelled
		item := &update{payload: raw.Payload().GetData()}
		a.inbox.updates = append(a.inbox.updates, item)
		if err := workflow.Await(ctx, func() bool { return item.done }); err != nil {
			return wire.DecisionReply{}, err
		}
		if item.refusal != nil {
			return wire.DecisionReply{}, refused(item.refusal)
		}
		return item.reply, nil
	}
	validate := func(_ workflow.Context, raw converter.RawValue) error {
		if _, err := wire.DecodeDecision(raw.Payload().GetData()); err != nil {
			return refused(&wire.Refusal{Reason: wire.RefusalUnparsable, Detail: err.Error()})
		}
		return nil
	}
	return workflow.SetUpdateHandlerWithOptions(a.ctx, wire.UpdateDecide, receive, workflow.UpdateHandlerOptions{Validator: validate})
}

func refused(refusal *wire.Refusal) error {
	return temporal.NewNonRetryableApplicationError(refusal.Error(), wire.ErrorDecisionRefused, nil, *refusal)
}
