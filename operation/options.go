package operation

import (
	"slices"
	"time"

	"github.com/jobwait/jobwait/wire"
)

// offer says which decisions a reason offers in addition to close, which is always offered.
type offer struct {
	extend, treatAsPending, useCredential, cancel, acceptResult, approve, attach, resubmit bool
}

// offered is the table of options per reason of a wait.
func offered(reason wire.Reason, detail string) offer {
	switch reason {
	case wire.ReasonDeadlineExceeded, wire.ReasonBusinessDeadlineExceeded, wire.ReasonRetryAfterExceedsDeadline,
		wire.ReasonRequestBudgetExhausted, wire.ReasonTransportBudgetExhausted, wire.ReasonRateLimited,
		wire.ReasonNeedsInput, wire.ReasonMalformedResponse, wire.ReasonJobNotFound, wire.ReasonIntegrationFailure,
		wire.ReasonHistoryReset, wire.ReasonCancelUnconfirmed:
		return offer{extend: true, cancel: true}
	case wire.ReasonUnknownState:
		return offer{extend: true, treatAsPending: true, cancel: true}
	case wire.ReasonContradictoryResponse:
		unbelieved := detail == wire.DetailSuccessWithoutResult || detail == wire.DetailUnexpectedSuccessState
		return offer{extend: true, cancel: !unbelieved, acceptResult: unbelieved}
	case wire.ReasonAuthorizationDenied:
		return offer{useCredential: true}
	case wire.ReasonPartialResult:
		return offer{acceptResult: true}
	case wire.ReasonApprovalRequired:
		return offer{approve: true}
	case wire.ReasonPollURLRejected, wire.ReasonProviderFailure, wire.ReasonProviderCancelled,
		wire.ReasonProviderExpired, wire.ReasonWaitCancelled, wire.ReasonSubmissionAmbiguous, wire.ReasonSubmissionRefused,
		wire.ReasonExtensionRequested: // a proposal has options of its own
		return offer{}
	default:
		return offer{}
	}
}

// submissionOffer is the table of options per reason of a submission.
func (o *Operation) submissionOffer(now time.Time, reason wire.Reason) offer {
	s := o.rec.Submission
	repeats := o.rec.Prepared.Submission.Idempotency.Repeatable() && !o.keySpent(now)
	again := s.Generation < maxGenerations
	switch reason { //nolint:exhaustive // the others leave nothing but the end
	case wire.ReasonSubmissionAmbiguous:
		return offer{extend: repeats && s.Job == nil, attach: true, resubmit: again}
	case wire.ReasonHistoryReset:
		return offer{extend: repeats, attach: true, resubmit: again}
	case wire.ReasonIntegrationFailure:
		return offer{extend: s.Job == nil, attach: s.Job != nil}
	case wire.ReasonPollURLRejected:
		return offer{attach: s.Job != nil}
	case wire.ReasonSubmissionRefused:
		return offer{resubmit: again}
	case wire.ReasonProviderFailure, wire.ReasonProviderExpired:
		return offer{resubmit: again}
	case wire.ReasonAuthorizationDenied:
		return offer{useCredential: true, attach: s.MaybeSent}
	case wire.ReasonApprovalRequired:
		return offer{approve: true, attach: s.MaybeSent}
	case wire.ReasonDeadlineExceeded, wire.ReasonBusinessDeadlineExceeded, wire.ReasonRetryAfterExceedsDeadline,
		wire.ReasonRequestBudgetExhausted, wire.ReasonTransportBudgetExhausted, wire.ReasonRateLimited:
		return offer{extend: s.Job == nil, attach: s.Job != nil}
	default:
		return offer{}
	}
}

// options freezes what a person may answer now: the table, less what the budget of extensions and the provider's
// documentation do not allow (R34, R39).
func (o *Operation) options(now time.Time, reason wire.Reason, detail string) []wire.Option {
	can := offered(reason, detail)
	if o.submits() {
		can = o.submissionOffer(now, reason)
	}
	grantable := o.rec.Counters.ExtensionsUsed < o.rec.Limits.MaxExtensions
	var out []wire.Option
	if can.approve {
		out = append(out, wire.Option{Kind: wire.DecisionApproveRequest})
	}
	if can.extend && grantable {
		out = append(out, o.grant(wire.DecisionExtend))
	}
	if can.treatAsPending && grantable && o.rec.LastRawState != "" { // what has no name cannot be named
		out = append(out, o.grant(wire.DecisionTreatAsPending))
	}
	if left := o.rec.Counters.StatusRequestsUsed < o.rec.Limits.MaxStatusRequests; can.useCredential && (grantable || left) {
		out = append(out, o.credentialOption(grantable))
	}
	if can.attach {
		out = append(out, wire.Option{Kind: wire.DecisionAttach})
	}
	if can.resubmit {
		out = append(out, wire.Option{Kind: wire.DecisionResubmit})
	}
	if can.cancel && o.cancellable() {
		out = append(out, wire.Option{Kind: wire.DecisionCancel})
	}
	if can.acceptResult {
		out = append(out, wire.Option{Kind: wire.DecisionAcceptResult})
	}
	return append(out, wire.Option{Kind: wire.DecisionClose})
}

func (o *Operation) grant(kind wire.DecisionKind) wire.Option {
	most := o.rec.Prepared.Grants
	return wire.Option{
		Kind: kind, MaxSeconds: most.Seconds, MaxStatusRequests: most.StatusRequests,
		MaxTransportFailures: most.TransportFailures, MaxRateLimited: most.RateLimited,
	}
}

// credentialOption stays open when the extensions are used up, but then grants nothing besides.
func (o *Operation) credentialOption(grantable bool) wire.Option {
	if grantable {
		return o.grant(wire.DecisionUseCredential)
	}
	return wire.Option{Kind: wire.DecisionUseCredential}
}

// cancellable reports whether the provider documents a cancel call for the last known state, and does not say in its last
// answer that it would refuse one (R43).
func (o *Operation) cancellable() bool {
	facts := o.rec.Prepared.Table.Cancel
	if facts == nil {
		return false
	}
	if job := o.lastJob(); job != nil && job.Cancellable != nil && !*job.Cancellable {
		return false
	}
	return len(facts.States) == 0 || slices.Contains(facts.States, o.rec.LastRawState)
}

// asksPerson decides whether a stop goes to a person (R34).
func (o *Operation) asksPerson(reason wire.Reason, options []wire.Option) bool {
	if named := o.rec.Prepared.Spec.Escalation.EscalateOn; named != nil {
		return slices.Contains(named, reason)
	}
	if reason == wire.ReasonSubmissionRefused {
		return false // it is the caller's to answer: the body is theirs
	}
	return len(options) > 1
}
