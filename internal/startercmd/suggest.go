package startercmd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobwait/jobwait/internal/waits"
	"github.com/jobwait/jobwait/wire"
)

// suggestion is one answer as it would be typed, and as it would be accepted now; empty when nothing is offered.
func suggestion(name string, view wire.OperationView, now time.Time) string {
	open := *question(view)
	option, ok := sensible(open)
	if !ok {
		return ""
	}
	command := strings.ReplaceAll(string(option.Kind), "_", "-")
	text := fmt.Sprintf("answer for instance with: %s %s '%s' --comment WHY", name, command, open.ID)
	if view.Signing != nil {
		text += " --sign-with FILE"
	}
	switch option.Kind { //nolint:exhaustive // the kinds that need more than a comment
	case wire.DecisionUseCredential:
		text += " --credential NAME"
	case wire.DecisionAttach:
		return text + " --provider-job ID"
	case wire.DecisionExtend, wire.DecisionTreatAsPending:
	default:
		return text
	}
	return text + grantText(waits.SuggestGrant(view, open, option, now))
}

// sensible is the offered option that changes least. A cancel may destroy what the job has done, so it is never the example.
func sensible(open wire.EscalationView) (wire.Option, bool) {
	kinds := []wire.DecisionKind{
		wire.DecisionApproveRequest, wire.DecisionUseCredential, wire.DecisionExtend, wire.DecisionTreatAsPending, wire.DecisionAcceptResult, wire.DecisionAttach, wire.DecisionClose,
	}
	if open.Reason == wire.ReasonUnknownState { // looking again helps only once the table is corrected
		kinds = slices.Insert(kinds, 0, wire.DecisionTreatAsPending)
	}
	for _, kind := range kinds {
		if i := slices.IndexFunc(open.Options, func(o wire.Option) bool { return o.Kind == kind }); i >= 0 {
			return open.Options[i], true
		}
	}
	return wire.Option{}, false
}

// grantText is a grant as flags.
func grantText(grant wire.Decision) string {
	text := ""
	if grant.Seconds > 0 {
		text += " --for " + spanFlag(grant.Seconds)
	}
	for _, budget := range []struct {
		flag string
		n    int
	}{{"requests", grant.StatusRequests}, {"transport-failures", grant.TransportFailures}, {"rate-limited", grant.RateLimited}} {
		if budget.n > 0 {
			text += fmt.Sprintf(" --%s %d", budget.flag, budget.n)
		}
	}
	if grant.PastBusinessDeadline {
		text += " --past-business-deadline"
	}
	return text
}

func spanFlag(seconds int) string {
	if seconds%60 == 0 {
		return fmt.Sprintf("%dm", seconds/60)
	}
	return fmt.Sprintf("%ds", seconds)
}
