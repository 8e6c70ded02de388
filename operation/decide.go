package operation

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jobwait/jobwait/wire"
)

const (
	maxRawState = 256 // characters
	// maxRefused is the longest refused decision that stands whole in the audit, so that a flood of them leaves it readable.
	maxRefused = 1024
	// maxRemembered bounds the decision ids that are carried along.
	maxRemembered = 100
)

// answered is the escalation that a decision has just closed, kept for one workflow task: another decision that arrives in the same
// task has lost against it.
type answered struct {
	at         time.Time
	escalation wire.Escalation
	winner     string
}

// Decide applies a decision, or says why not. payload is what a person sent; kind is empty, or the kind that the plain
// signals extend and cancel stand for. Applied or refused, it is an audit entry (R40).
func (o *Operation) Decide(now time.Time, payload []byte, kind wire.DecisionKind) (wire.DecisionReply, *wire.Refusal) {
	decision, recorded, refusal := readDecision(payload, kind)
	if refusal == nil {
		refusal = o.refuse(now, decision)
	}
	if refusal != nil {
		if len(recorded) > maxRefused {
			recorded = unparsed(shownOf(decision, payload, recorded))
		}
		o.noteRefused(wire.Entry{
			At: now, Event: wire.EventDecisionRefused, Decision: recorded, Reason: string(refusal.Reason), Detail: refusal.Detail,
		}, *refusal)
		return wire.DecisionReply{}, refusal
	}
	o.apply(now, decision, recorded)
	return wire.DecisionReply{
		Accepted: true, DecisionID: decision.DecisionID,
		DeadlineAt: o.rec.Limits.DeadlineAt.UTC(), MaxStatusRequests: o.rec.Limits.MaxStatusRequests,
	}, nil
}

// readDecision decodes a payload, and gives the form in which it stands in the audit: as it was sent, with the kind that a
// plain signal stands for, and without the query of its status URL.
func readDecision(payload []byte, kind wire.DecisionKind) (wire.Decision, []byte, *wire.Refusal) {
	decision, refusal := parseDecision(payload, kind)
	if refusal != nil {
		return wire.Decision{}, unparsed(payload), refusal
	}
	if kind != "" {
		return decision, canonicalDecision(bareDecision(decision)), nil
	}
	canonical, err := wire.Canonical(payload)
	if err != nil { // cannot be: what decodes strictly has a canonical form
		return wire.Decision{}, unparsed(payload), &wire.Refusal{Reason: wire.RefusalUnparsable, Detail: err.Error()}
	}
	return decision, bareCanonical(canonical, decision), nil
}

// shownOf is the text of a refused decision that is too long to stand whole: what was sent, or the form without the queries of
// its URLs.
func shownOf(d wire.Decision, payload, recorded []byte) []byte {
	if d.StatusURL != "" || len(d.Params) > 0 {
		return recorded
	}
	return payload
}

func parseDecision(payload []byte, kind wire.DecisionKind) (wire.Decision, *wire.Refusal) {
	decision, err := wire.DecodeDecision(payload)
	if err != nil {
		return wire.Decision{}, &wire.Refusal{Reason: wire.RefusalUnparsable, Detail: err.Error()}
	}
	if kind == "" {
		return decision, nil
	}
	if decision.Kind != "" && decision.Kind != kind {
		detail := fmt.Sprintf("kind %q in the signal %q", bounded(string(decision.Kind), wire.MaxIDChars), kind)
		return wire.Decision{}, &wire.Refusal{Reason: wire.RefusalUnparsable, Detail: detail}
	}
	decision.Kind = kind
	return decision, nil
}

// limitsAfter are the limits as a grant leaves them: a deadline never moves back, maxima rise (R41).
func (o *Operation) limitsAfter(now time.Time, d wire.Decision) wire.Limits {
	limits := o.rec.Limits
	if d.Seconds > 0 {
		limits.DeadlineAt = later(limits.DeadlineAt, ceilMillisecond(now.Add(seconds(int64(d.Seconds)))))
	}
	limits.MaxStatusRequests += d.StatusRequests
	limits.MaxTransportFailures += d.TransportFailures
	limits.MaxRateLimited += d.RateLimited
	if d.PastBusinessDeadline {
		limits.BusinessDeadlineAt = nil
	}
	return limits
}

// apply carries out a decision that was not refused.
func (o *Operation) apply(now time.Time, d wire.Decision, recorded []byte) {
	o.rec.Decisions = append(o.rec.Decisions, wire.AppliedDecision{
		ID: d.DecisionID, Digest: decisionDigest(d), EscalationID: d.EscalationID,
	})
	if extra := len(o.rec.Decisions) - maxRemembered; extra > 0 {
		o.rec.Decisions = o.rec.Decisions[extra:]
	}
	o.rec.DecidedBy = d.DecidedBy
	if open := o.Question(); open != nil {
		o.answered = &answered{at: now, escalation: *open, winner: d.DecisionID}
	}
	o.grantLimits(now, d)
	o.note(wire.Entry{At: now, Event: wire.EventDecisionApplied, Decision: recorded, Reason: string(d.Kind)})
	question := o.Question()
	o.carryOut(now, d)
	o.tellDecided(now, d, question)
}

// grantLimits raises the limits before the decision is noted, so that its entry shows what holds from here on.
func (o *Operation) grantLimits(now time.Time, d wire.Decision) {
	if d.Kind == wire.DecisionCancel {
		o.grantConfirmation(now)
		return
	}
	if !grants(d.Kind) {
		return
	}
	after := o.limitsAfter(now, d)
	counts := d.Kind != wire.DecisionUseCredential || d.Seconds > 0 || d.StatusRequests > 0 ||
		d.TransportFailures > 0 || d.RateLimited > 0 || d.PastBusinessDeadline
	if counts {
		o.rec.Counters.ExtensionsUsed++
	}
	o.rec.Limits = after
	o.prolong(now, d)
}

// grantConfirmation grants the requests and the time that the table gives for confirming a cancellation (R43).
func (o *Operation) grantConfirmation(now time.Time) {
	facts := o.rec.Prepared.Table.Cancel
	o.approveConfirmation(facts.ConfirmRequests)
	o.rec.Limits.MaxStatusRequests += facts.ConfirmRequests
	o.rec.Limits.DeadlineAt = later(o.rec.Limits.DeadlineAt, ceilMillisecond(now.Add(seconds(int64(facts.ConfirmSeconds)))))
	o.rec.Limits.BusinessDeadlineAt = nil
}

func (o *Operation) carryOut(now time.Time, d wire.Decision) {
	switch d.Kind {
	case wire.DecisionAcceptResult:
		o.acceptResult(now)
	case wire.DecisionCancel:
		o.lapseProposal(now, string(d.Kind))
		o.goOn()
		o.rec.Poll = nil
		o.rec.Cancel, o.rec.Phase = wire.CancelWanted, wire.PhaseCancelling
	case wire.DecisionTreatAsPending:
		o.rec.Overrides = append(o.rec.Overrides, d.RawState)
		o.pollAgain(now)
	case wire.DecisionApproveRequest:
		o.approve(now)
	case wire.DecisionUseCredential:
		o.useCredential(d.CredentialRef)
		o.pollAgain(now)
	case wire.DecisionExtend:
		o.extended(now)
	case wire.DecisionClose:
		open := o.rec.Escalation
		o.decided(now, closeStatus(open.Reason), open.Reason, open.Detail)
	case wire.DecisionRefuse:
		o.rec.Proposal = nil
	case wire.DecisionAttach:
		o.attach(now, d)
	case wire.DecisionResubmit:
		o.resubmit(now, d)
	default:
	}
}

func (o *Operation) pollAgain(now time.Time) {
	o.goOn()
	o.planManual(now)
}

// goOn closes the open escalation and acknowledges the reset that it was about, if any.
func (o *Operation) goOn() {
	o.rec.Escalation, o.rec.RemindAt = nil, time.Time{}
	o.renewNudges()
	o.rec.Phase = o.activePhase()
	if o.rec.Cancel != "" {
		o.rec.Phase = wire.PhaseCancelling
	}
	if o.rec.ResetRunID != "" {
		o.rec.AcknowledgedRuns = append(o.rec.AcknowledgedRuns, o.rec.ResetRunID)
		o.rec.ResetRunID = ""
	}
}

// canonicalDecision is a decision as its sender would have to write it for the signal decide.
func canonicalDecision(d wire.Decision) []byte { return canonicalOf(d) }

func canonicalOf(value any) []byte {
	plain, err := json.Marshal(value)
	if err != nil { // a struct of strings, numbers and a boolean always marshals
		return nil
	}
	canonical, err := wire.Canonical(plain)
	if err != nil { // so does its canonical form
		return nil
	}
	return canonical
}

// decisionDigest covers the content without the signature: a decision that is signed again is the same decision.
func decisionDigest(d wire.Decision) string {
	d.KeyID, d.Signature = "", ""
	sum := sha256.Sum256(canonicalDecision(d))
	return hex.EncodeToString(sum[:16])
}
