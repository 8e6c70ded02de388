package operation

import (
	"fmt"

	"github.com/jobwait/jobwait/wire"
)

// maxToldComment is how much of a comment is told, in bytes; all of it stands in the audit.
const maxToldComment = 1000

// decided say who decided what, why, and what holds from then on.
func (f *facts) decided(b wire.Briefing) {
	d := b.Decided.Decision
	f.add("comment", "%s", shortened(d.Comment, maxToldComment))
	if d.EscalationID != "" {
		f.add("answered", "%s, %s", d.EscalationID, reasonText(b.Decided.Reason, b.Decided.Detail))
	}
	f.add("decided at", "%s, decision %s", timestamp(b.Decided.At), d.DecisionID)
	f.add("effect", "%s", effectText(b))
}

func shortened(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return bounded(text, limit) + "..."
}

// effectText is what holds after a decision.
func effectText(b wire.Briefing) string {
	d := b.Decided.Decision
	now := fmt.Sprintf("up to %d requests until %s", b.Limits.MaxStatusRequests, timestamp(b.Limits.DeadlineAt))
	switch {
	case b.Outcome != nil && d.Kind == wire.DecisionClose:
		return "the wait is over, " + closedText(*b.Outcome) + "; the job itself is left alone"
	case b.Outcome != nil:
		return "the wait is over, " + closedText(*b.Outcome)
	case d.Kind == wire.DecisionApproveRequest && b.Decided.Detail == string(wire.ApprovalPerOperation):
		return "this wait's requests may go out; " + now
	case d.Kind == wire.DecisionApproveRequest:
		return "one request may go out; " + now
	case d.Kind == wire.DecisionRefuse:
		return "declined; waiting goes on under the present limits, " + now
	case d.Kind == wire.DecisionTreatAsPending:
		return fmt.Sprintf("state %q means to go on, in this wait alone; %s", d.RawState, now)
	case d.Kind == wire.DecisionUseCredential:
		return fmt.Sprintf("goes on with credential %q; %s", d.CredentialRef, now)
	case d.Kind == wire.DecisionCancel:
		return "the provider is asked once to cancel the job; " + now + " to see whether it did"
	default:
		return "goes on; " + now
	}
}

func closedText(outcome wire.Outcome) string {
	if outcome.Reason == "" {
		return string(outcome.Status)
	}
	return string(outcome.Status) + ": " + reasonText(outcome.Reason, outcome.Detail)
}
