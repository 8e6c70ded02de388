package operation

import (
	"maps"
	"slices"
	"time"

	"github.com/jobwait/jobwait/wire"
)

// Phase returns what the wait is doing.
func (o *Operation) Phase() wire.Phase { return o.rec.Phase }

// Provider names the state table of the wait.
func (o *Operation) Provider() string { return o.rec.Prepared.Spec.Provider }

// AttributesRegistered reports whether search attributes may be upserted, as it was when the wait began.
func (o *Operation) AttributesRegistered() bool { return o.rec.Prepared.AttributesRegistered }

// StatusRequestsUsed returns the number of status requests reserved so far, over all runs.
func (o *Operation) StatusRequestsUsed() int { return o.rec.Counters.StatusRequestsUsed }

// Escalation returns the open escalation, or nil.
func (o *Operation) Escalation() *wire.Escalation { return o.rec.Escalation }

// Question returns the open escalation, else the open proposal, else nil.
func (o *Operation) Question() *wire.Escalation {
	switch {
	case o.rec.Escalation != nil:
		return o.rec.Escalation
	case o.rec.Proposal != nil:
		return &o.rec.Proposal.Escalation
	default:
		return nil
	}
}

// Reason returns the reason of the open escalation or proposal, or of the end of the wait; empty while it continues.
func (o *Operation) Reason() wire.Reason {
	switch {
	case o.rec.Outcome != nil:
		return o.rec.Outcome.Reason
	case o.Question() != nil:
		return o.Question().Reason
	default:
		return ""
	}
}

// View answers the operation query.
func (o *Operation) View(now time.Time) wire.OperationView {
	view := wire.OperationView{
		Spec: o.rec.Prepared.Spec, Limits: o.rec.Limits, Counters: o.rec.Counters,
		Answers: maps.Clone(o.rec.Answers), Phase: o.rec.Phase, LastObservation: o.rec.LastObservation,
		Approval: o.rec.Approval, Signing: o.signingView(), Submission: o.submissionView(), Notice: o.Notice(),
	}
	if o.rec.Escalation != nil {
		view.Escalation = o.EscalationView(now)
	} else {
		view.Proposal = o.EscalationView(now)
	}
	if o.rec.Poll != nil {
		view.NextPollAt, view.DelaySource = &o.rec.Poll.At, o.rec.Poll.Source
	}
	return view
}

// EscalationView answers the escalation query: the open escalation or proposal in words, or nil.
func (o *Operation) EscalationView(now time.Time) *wire.EscalationView {
	open := o.Question()
	if open == nil {
		return nil
	}
	briefing := o.Briefing(now)
	view := &wire.EscalationView{
		ID: open.ID, Kind: open.Kind, Reason: open.Reason, Detail: open.Detail,
		OpenedAt: open.OpenedAt, WindowEndsAt: open.WindowEndsAt,
		Message: Message(briefing), Headline: Headline(briefing), Lines: messageLines(briefing), Ask: askText(briefing, *open),
		Options: withTexts(briefing),
	}
	if briefing.Proposal != nil {
		view.Request = &briefing.Proposal.Request
	}
	return view
}

// Briefing returns what people need to know about the wait at the given time to decide (R38).
func (o *Operation) Briefing(now time.Time) wire.Briefing {
	spec := o.rec.Prepared.Spec
	briefing := wire.Briefing{
		OperationID: spec.OperationID, Provider: spec.Provider, Account: spec.Account, ProviderJobID: spec.ProviderJobID,
		Phase: o.rec.Phase, RawState: o.rec.LastRawState, Category: o.rec.LastCategory,
		OpenedAt: o.rec.OpenedAt.UTC(), At: now.UTC(), Limits: o.rec.Limits, Counters: o.rec.Counters,
		Answers: maps.Clone(o.rec.Answers), CredentialRef: o.rec.CredentialRef,
		ConsoleURL: o.rec.Prepared.Table.ConsoleURL, Cancel: o.rec.Prepared.Table.Cancel, Outcome: o.outcomeToTell(),
		Submission: o.submissionView(),
	}
	if briefing.Submission != nil && briefing.ProviderJobID == "" {
		briefing.ProviderJobID = briefing.Submission.ProviderJobID
	}
	if last := o.rec.LastObservation; last != nil {
		briefing.LastHTTPStatus, briefing.LastAnswer, briefing.LastAnswerAt = last.HTTPStatus, last.Answer, last.ReceivedAt
		if briefing.LastAnswerAt == nil {
			briefing.LastAnswerAt = last.SentAt
		}
	}
	if job := o.lastJob(); job != nil {
		briefing.ProviderError = job.Error
	}
	if open := o.rec.Escalation; open != nil {
		frozen := *open
		frozen.Options = slices.Clone(open.Options)
		briefing.Escalation, briefing.Signed = &frozen, o.signed()
	}
	if open := o.rec.Proposal; open != nil {
		frozen := *open
		frozen.Options = slices.Clone(open.Options)
		briefing.Proposal, briefing.Signed = &frozen, o.signed()
	}
	return briefing
}

// outcomeToTell is the outcome without its result references: a pre-signed link is its query, and messages hold no secret
// (R14).
func (o *Operation) outcomeToTell() *wire.Outcome {
	if o.rec.Outcome == nil {
		return nil
	}
	told := *o.rec.Outcome
	told.Result = map[string]string{}
	return &told
}
