package workflows

import (
	"errors"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

var (
	errNotPrepared = errors.New("the wait is being prepared, or never began; ask again in a moment, or look at its result")

	// The search attributes in the SDK's typed form.
	attributeProvider = temporal.NewSearchAttributeKeyKeyword(wire.AttributeProvider)
	attributePhase    = temporal.NewSearchAttributeKeyKeyword(wire.AttributePhase)
	attributeReason   = temporal.NewSearchAttributeKeyKeyword(wire.AttributeReason)
	attributeDecideBy = temporal.NewSearchAttributeKeyTime(wire.AttributeDecideBy)
)

func (a *await) handleQueries() error {
	return errors.Join(
		query(a, wire.QueryOperation, func() wire.OperationView { return a.op.View(workflow.Now(a.ctx)) }),
		query(a, wire.QueryEscalation, func() *wire.EscalationView { return a.op.EscalationView(workflow.Now(a.ctx)) }),
		query(a, wire.QueryAudit, func() wire.AuditView { return a.op.Audit() }),
	)
}

func query[T any](a *await, name string, answer func() T) error {
	return workflow.SetQueryHandler(a.ctx, name, func() (T, error) {
		if a.op == nil {
			var none T
			return none, errNotPrepared
		}
		return answer(), nil
	})
}

// published is what dashboards were last shown.
type published struct {
	phase    wire.Phase
	question string
}

// publish shows the wait to dashboards by search attributes, whenever its phase or the question that waits for a person changes. It
// does so only if prepare found the attributes registered, because upserting an unregistered one would block the workflow.
func (a *await) publish() error {
	shown := published{phase: a.op.Phase()}
	if open := a.op.Question(); open != nil {
		shown.question = open.ID
	}
	if shown == a.shown || !a.op.AttributesRegistered() {
		return nil
	}
	a.shown = shown
	updates := []temporal.SearchAttributeUpdate{attributeProvider.ValueSet(a.op.Provider()), attributePhase.ValueSet(string(shown.phase))}
	return workflow.UpsertTypedSearchAttributes(a.ctx, append(updates, a.questionUpdates()...)...)
}

// questionUpdates show why the wait asks and until when. What was never set is not unset either: history and every worker that keeps
// the wait would hold it.
func (a *await) questionUpdates() []temporal.SearchAttributeUpdate {
	known := workflow.GetTypedSearchAttributes(a.ctx)
	var updates []temporal.SearchAttributeUpdate
	if reason := a.op.Reason(); reason != "" {
		updates = append(updates, attributeReason.ValueSet(string(reason)))
	} else if known.ContainsKey(attributeReason) {
		updates = append(updates, attributeReason.ValueUnset())
	}
	if open := a.op.Question(); open != nil {
		updates = append(updates, attributeDecideBy.ValueSet(open.WindowEndsAt))
	} else if known.ContainsKey(attributeDecideBy) {
		updates = append(updates, attributeDecideBy.ValueUnset())
	}
	return updates
}

// describe keeps a readable paragraph about the wait on the workflow, which costs no event.
func (a *await) describe() {
	workflow.SetCurrentDetails(a.ctx, operation.Message(a.op.Briefing(workflow.Now(a.ctx))))
}
