package operation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jobwait/jobwait/wire"
)

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
		detail := fmt.Sprintf("escalation_id %q, open is %q", bounded(d.EscalationID, wire.MaxIDChars+32), open.ID)
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
		detail := fmt.Sprintf("kind %q is not among the options of this escalation", bounded(string(d.Kind), wire.MaxIDChars))
		return &wire.Refusal{Reason: wire.RefusalNotOffered, Detail: detail}
	}
	why := cmp.Or(outOfBounds(d, escalation.Options[i]), o.badAttachment(d), o.grantsNothing(now, d))
	if why == "" && escalation.Kind == wire.EscalationProposal {
		why = o.raisesNothing(now, d)
	}
	if why != "" {
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
	why := cmp.Or(
		tooLong(
			givenText{"decision_id", d.DecisionID, wire.MaxIDChars},
			givenText{"decided_by", d.DecidedBy, wire.MaxIDChars},
			givenText{"comment", d.Comment, wire.MaxCommentChars},
			givenText{"credential_ref", d.CredentialRef, wire.MaxIDChars},
			givenText{"raw_state", d.RawState, maxRawState},
			givenText{"key_id", d.KeyID, wire.MaxIDChars},
			givenText{"signature", d.Signature, wire.MaxIDChars},
		),
		outOfRange(
			givenNumber{"seconds", d.Seconds, option.MaxSeconds},
			givenNumber{"status_requests", d.StatusRequests, option.MaxStatusRequests},
			givenNumber{"transport_failures", d.TransportFailures, option.MaxTransportFailures},
			givenNumber{"rate_limited", d.RateLimited, option.MaxRateLimited},
		),
		unusedField(d),
	)
	if why == "" && d.PastBusinessDeadline && option.MaxSeconds == 0 {
		why = "past_business_deadline must be false: the extensions are used up"
	}
	return why
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

// unusedField names a field that is set although the kind does not use it, so that the sender must have meant something else.
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

// grants reports whether a kind continues polling, under limits that it may raise.
func grants(kind wire.DecisionKind) bool {
	return kind == wire.DecisionExtend || kind == wire.DecisionTreatAsPending || kind == wire.DecisionUseCredential
}

// grantsNothing refuses a grant after which the wait would stop again at once, and names the number that would be enough (R41).
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
