package operation

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jobwait/jobwait/wire"
)

const (
	maxID       = 256 // characters
	maxComment  = 4096
	maxRawState = 256
	// maxRefused is the longest refused decision that stands whole in the audit, so that a flood of them leaves it readable.
	maxRefused = 1024
	// maxRemembered bounds the decision ids that are carried along.
	maxRemembered = 100
)

// answered remembers, for the length of one workflow task, the escalation that a decision has just closed: another
// decision that would have been applied in the same moment lost against it.
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

// shownOf is the text of a refused decision that is too long to stand whole: what was sent, or the form without the query of
// its status URL.
func shownOf(d wire.Decision, payload, recorded []byte) []byte {
	if d.StatusURL != "" {
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
		detail := fmt.Sprintf("kind %q in the signal %q", bounded(string(decision.Kind), maxID), kind)
		return wire.Decision{}, &wire.Refusal{Reason: wire.RefusalUnparsable, Detail: detail}
	}
	decision.Kind = kind
	return decision, nil
}

// refuse looks for the first refusal in the order of R40; nil means that the decision applies.
func (o *Operation) refuse(now time.Time, d wire.Decision) *wire.Refusal {
	if missing := missingField(d, o.rec.Escalation == nil && !o.signed()); missing != "" {
		return o.incomplete(d, missing)
	}
	if refusal := o.refuseUnsigned(d); refusal != nil {
		return refusal
	}
	if refusal := o.refuseRepeated(d); refusal != nil {
		return refusal
	}
	if o.cancelsPolling(d) {
		return o.refuseCancelWhilePolling(d)
	}
	escalation, refusal := o.addressed(now, d)
	if refusal != nil {
		return refusal
	}
	if refusal := o.refuseOption(now, d, *escalation); refusal != nil {
		return refusal
	}
	if o.Question() == nil {
		return &wire.Refusal{Reason: wire.RefusalLost, Winner: o.answered.winner, Detail: "another decision was applied first"}
	}
	return nil
}

func (o *Operation) incomplete(d wire.Decision, missing string) *wire.Refusal {
	detail := missing + " is missing"
	if o.signed() && d.Kind == wire.DecisionCancel && o.rec.Escalation == nil {
		detail += fmt.Sprintf("; a signed cancel while polling names the wait, %q", o.waitID())
	}
	return &wire.Refusal{Reason: wire.RefusalIncomplete, Detail: detail}
}

// missingField names the first field that the kind needs and the decision lacks. A cancel needs no escalation_id where it
// may go unnamed.
func missingField(d wire.Decision, unnamed bool) string {
	switch {
	case d.Kind == "":
		return "kind"
	case blank(d.DecisionID):
		return "decision_id"
	case blank(d.DecidedBy):
		return "decided_by"
	case blank(d.Comment):
		return "comment"
	case d.EscalationID == "" && (!unnamed || d.Kind != wire.DecisionCancel):
		return "escalation_id"
	case d.Kind == wire.DecisionUseCredential && d.CredentialRef == "":
		return "credential_ref"
	case d.Kind == wire.DecisionTreatAsPending && d.RawState == "":
		return "raw_state"
	case d.Kind == wire.DecisionAttach && d.ProviderJobID == "":
		return "provider_job_id"
	default:
		return ""
	}
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// refuseRepeated lets a decision_id be applied at most once.
func (o *Operation) refuseRepeated(d wire.Decision) *wire.Refusal {
	for _, applied := range o.rec.Decisions {
		if applied.ID != d.DecisionID {
			continue
		}
		reason := wire.RefusalDuplicate
		if applied.Digest != decisionDigest(d) {
			reason = wire.RefusalConflict
		}
		return &wire.Refusal{Reason: reason, Winner: applied.ID, Detail: "decision_id was applied before"}
	}
	return nil
}

// addressed is the question that a decision is about: the open one, or the one that was closed at this very moment.
func (o *Operation) addressed(now time.Time, d wire.Decision) (*wire.Escalation, *wire.Refusal) {
	open := o.Question()
	if open == nil {
		last := o.answered
		if last != nil && last.at.Equal(now) && last.escalation.ID == d.EscalationID {
			return &last.escalation, nil
		}
		return nil, &wire.Refusal{
			Reason: wire.RefusalNotOpen, Winner: o.winnerOf(d.EscalationID), Detail: "nothing is waiting for a decision",
		}
	}
	if open.ID != d.EscalationID {
		detail := fmt.Sprintf("escalation_id %q, open is %q", bounded(d.EscalationID, maxID+32), open.ID)
		return nil, &wire.Refusal{Reason: wire.RefusalWrongEscalation, Winner: o.winnerOf(d.EscalationID), Detail: detail}
	}
	if o.keysWanted() {
		return nil, &wire.Refusal{Reason: wire.RefusalNotOpen, Detail: keysUnrecorded}
	}
	return open, nil
}

// winnerOf is the decision that answered an earlier escalation, if it is still remembered.
func (o *Operation) winnerOf(escalationID string) string {
	for _, applied := range o.rec.Decisions {
		if escalationID != "" && applied.EscalationID == escalationID {
			return applied.ID
		}
	}
	return ""
}

// refuseOption holds a decision against the frozen options, then against their maxima and its own effect.
func (o *Operation) refuseOption(now time.Time, d wire.Decision, escalation wire.Escalation) *wire.Refusal {
	i := slices.IndexFunc(escalation.Options, func(option wire.Option) bool { return option.Kind == d.Kind })
	if i < 0 {
		detail := fmt.Sprintf("kind %q is not among the options of this escalation", bounded(string(d.Kind), maxID))
		return &wire.Refusal{Reason: wire.RefusalNotOffered, Detail: detail}
	}
	if why := outOfBounds(d, escalation.Options[i]); why != "" {
		return &wire.Refusal{Reason: wire.RefusalOutOfBounds, Detail: why}
	}
	if why := o.badAttachment(d); why != "" {
		return &wire.Refusal{Reason: wire.RefusalOutOfBounds, Detail: why}
	}
	if why := o.grantsNothing(now, d); why != "" {
		return &wire.Refusal{Reason: wire.RefusalOutOfBounds, Detail: why}
	}
	if why := o.raisesNothing(now, d); escalation.Kind == wire.EscalationProposal && why != "" {
		return &wire.Refusal{Reason: wire.RefusalOutOfBounds, Detail: why}
	}
	return nil
}

func (o *Operation) refuseCancelWhilePolling(d wire.Decision) *wire.Refusal {
	if o.rec.Phase != wire.PhasePolling || o.stopping {
		return &wire.Refusal{Reason: wire.RefusalNotOpen, Detail: "the wait is not polling"}
	}
	if !o.cancellable() {
		return &wire.Refusal{Reason: wire.RefusalNotOffered, Detail: "the provider documents no cancel call for this state"}
	}
	if why := outOfBounds(d, wire.Option{Kind: wire.DecisionCancel}); why != "" {
		return &wire.Refusal{Reason: wire.RefusalOutOfBounds, Detail: why}
	}
	return nil
}

// outOfBounds names the first value outside what the option allows.
func outOfBounds(d wire.Decision, option wire.Option) string {
	if why := tooLong(
		givenText{"decision_id", d.DecisionID, maxID},
		givenText{"decided_by", d.DecidedBy, maxID},
		givenText{"comment", d.Comment, maxComment},
		givenText{"credential_ref", d.CredentialRef, maxID},
		givenText{"raw_state", d.RawState, maxRawState},
		givenText{"key_id", d.KeyID, maxID},
		givenText{"signature", d.Signature, maxID},
	); why != "" {
		return why
	}
	if why := outOfRange(
		givenNumber{"seconds", d.Seconds, option.MaxSeconds},
		givenNumber{"status_requests", d.StatusRequests, option.MaxStatusRequests},
		givenNumber{"transport_failures", d.TransportFailures, option.MaxTransportFailures},
		givenNumber{"rate_limited", d.RateLimited, option.MaxRateLimited},
	); why != "" {
		return why
	}
	if unused := unusedField(d); unused != "" {
		return unused
	}
	if d.PastBusinessDeadline && option.MaxSeconds == 0 {
		return "past_business_deadline must be false: the extensions are used up"
	}
	return ""
}

// givenText and givenNumber are values from outside with the most that they may be.
type (
	givenText struct {
		name, value string
		most        int // characters
	}
	givenNumber struct {
		name        string
		value, most int
	}
)

// tooLong names the first text with too many characters.
func tooLong(texts ...givenText) string {
	for _, text := range texts {
		if n := utf8.RuneCountInString(text.value); n > text.most {
			return fmt.Sprintf("%s has %d characters, at most %d are allowed", text.name, n, text.most)
		}
	}
	return ""
}

// outOfRange names the first number that is negative or above its maximum.
func outOfRange(numbers ...givenNumber) string {
	for _, number := range numbers {
		if number.value < 0 || number.value > number.most {
			return fmt.Sprintf("%s is %d, allowed is 0 to %d", number.name, number.value, number.most)
		}
	}
	return ""
}

// unusedField names a field that is set although the kind does not use it: the sender meant something else.
func unusedField(d wire.Decision) string {
	switch {
	case d.CredentialRef != "" && d.Kind != wire.DecisionUseCredential:
		return fmt.Sprintf("credential_ref is not used by %s, leave it empty", d.Kind)
	case d.RawState != "" && d.Kind != wire.DecisionTreatAsPending:
		return fmt.Sprintf("raw_state is not used by %s, leave it empty", d.Kind)
	case (d.ProviderJobID != "" || d.StatusURL != "" || len(d.Params) > 0) && d.Kind != wire.DecisionAttach:
		return fmt.Sprintf("provider_job_id, status_url and params are not used by %s, leave them empty", d.Kind)
	case d.PastBusinessDeadline && !grants(d.Kind):
		return fmt.Sprintf("past_business_deadline is not used by %s, leave it false", d.Kind)
	default:
		return ""
	}
}

// grants reports whether a kind lets polling go on under limits that it may raise.
func grants(kind wire.DecisionKind) bool {
	return kind == wire.DecisionExtend || kind == wire.DecisionTreatAsPending || kind == wire.DecisionUseCredential
}

// grantsNothing refuses a grant that would stop again at once, with the number that would do (R41).
func (o *Operation) grantsNothing(now time.Time, d wire.Decision) string {
	if !grants(d.Kind) {
		return ""
	}
	if d.Kind == wire.DecisionTreatAsPending && d.RawState != o.rec.LastRawState {
		return fmt.Sprintf("raw_state is %q, the state that stopped the wait is %q", d.RawState, o.rec.LastRawState)
	}
	after := o.limitsAfter(now, d)
	used := o.rec.Counters
	for _, budget := range []struct {
		name               string
		given, used, after int
	}{
		{"status_requests", d.StatusRequests, used.StatusRequestsUsed, after.MaxStatusRequests},
		{"transport_failures", d.TransportFailures, used.TransportFailuresUsed, after.MaxTransportFailures},
		{"rate_limited", d.RateLimited, used.RateLimitedUsed, after.MaxRateLimited},
	} {
		if budget.used >= budget.after {
			return fmt.Sprintf("%s is %d, at least %d is needed: %d of %d are used",
				budget.name, budget.given, budget.given+budget.used-budget.after+1, budget.used, budget.after-budget.given)
		}
	}
	return o.grantsNoTime(now, d, after)
}

func (o *Operation) grantsNoTime(now time.Time, d wire.Decision, after wire.Limits) string {
	if why := o.repeatsTooLate(now, d); why != "" {
		return why
	}
	soonest := o.soonestGrant(now)
	if business := after.BusinessDeadlineAt; business != nil && !business.After(soonest) {
		return fmt.Sprintf("business_deadline_at is %s, past_business_deadline must be true", timestamp(*business))
	}
	if after.DeadlineAt.After(soonest) {
		return ""
	}
	needed := int64(soonest.Sub(now)/time.Second) + 1
	return fmt.Sprintf("seconds is %d, at least %d are needed before the next request may go out", d.Seconds, needed)
}

// soonestGrant is when the first request after a grant may go out.
func (o *Operation) soonestGrant(now time.Time) time.Time {
	return ceilMillisecond(later(now.Add(o.minDelay()), o.rec.ProviderMinimum))
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

// apply carries out a decision that nothing speaks against.
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

// grantConfirmation grants what the table says it takes to see a cancellation confirmed (R43).
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

// goOn closes the open escalation and acknowledges a reset that it spoke of.
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

// decisionDigest is of the content alone: who signs it again, with another key perhaps, decides the same.
func decisionDigest(d wire.Decision) string {
	d.KeyID, d.Signature = "", ""
	sum := sha256.Sum256(canonicalDecision(d))
	return hex.EncodeToString(sum[:16])
}
