package operation

import (
	"time"

	"github.com/jobwait/jobwait/wire"
)

// needsApproval reports whether the next status request may leave only once a person has approved it (R54). A word of
// another version is taken for the strictest rule.
func (o *Operation) needsApproval() bool {
	if o.rec.Counters.StatusRequestsUsed < o.rec.ApprovedThrough {
		return false
	}
	switch o.rec.Approval {
	case "", wire.ApprovalNone, wire.ApprovalUnknown:
		return false
	case wire.ApprovalPerOperation:
		return !o.rec.Approved
	case wire.ApprovalPerRequest:
		return true
	default:
		return true
	}
}

// approve records the approval of the request that is due, or of all requests of the wait. It is no extension: it raises no limit.
// The request is sent as soon as it may be; if the deadline has passed meanwhile, Next stops and nothing is sent.
func (o *Operation) approve(now time.Time) {
	if o.rec.Approval == wire.ApprovalPerOperation {
		o.rec.Approved = true
	} else {
		o.rec.ApprovedThrough = o.rec.Counters.StatusRequestsUsed + 1
	}
	o.goOn()
	o.schedule(now, o.afterMinimum(now, candidate{now, wire.DelayApproval}))
}

// approveConfirmation approves the status requests that confirm a cancel together with it: its option names them, and the cancel
// request itself is approved by the decision.
func (o *Operation) approveConfirmation(requests int) {
	if o.rec.Approval != "" && o.rec.Approval != wire.ApprovalNone {
		o.rec.ApprovedThrough = o.rec.Counters.StatusRequestsUsed + requests
	}
}

// endConfirming withdraws the approvals of approveConfirmation that were not used: the answer to the next question does not cover
// them.
func (o *Operation) endConfirming() {
	if o.rec.Prepared.ConfirmingEndsAtStop && o.rec.Cancel != "" {
		o.rec.ApprovedThrough = min(o.rec.ApprovedThrough, o.rec.Counters.StatusRequestsUsed)
	}
}

// useCredential goes on with the credential of that name. What was approved for another does not hold for it; its rule is
// known to the worker alone, which says so before it is used.
func (o *Operation) useCredential(ref string) {
	if ref != o.rec.CredentialRef && o.rec.Approval != "" {
		o.rec.Approval, o.rec.Approved, o.rec.ApprovedThrough = wire.ApprovalUnknown, false, 0
	}
	o.rec.CredentialRef = ref
}

// approvalUnasked reports whether the request that has just been reserved relies on the worker to know whether its credential
// wants approval.
func (o *Operation) approvalUnasked() bool {
	return o.rec.Approval == wire.ApprovalUnknown && o.rec.Counters.StatusRequestsUsed > o.rec.ApprovedThrough
}

// learnApproval concludes from a request that was sent with a credential of unknown rule that the credential has no rule.
func (o *Operation) learnApproval(seen wire.Observation) {
	if o.approvalUnasked() && seen.CredentialRef == o.rec.CredentialRef {
		o.rec.Approval = wire.ApprovalNone
	}
}

// mustApprove asks for the approval of a credential that the worker did not use because of its rule.
func (o *Operation) mustApprove(now time.Time, rule string) {
	o.rec.Approval = wire.ApprovalPerRequest
	if rule == string(wire.ApprovalPerOperation) {
		o.rec.Approval = wire.ApprovalPerOperation
	}
	if o.rec.Counters.StatusRequestsUsed < o.rec.Limits.MaxStatusRequests { // else that is the first question
		o.stop(now, wire.ReasonApprovalRequired, string(o.rec.Approval))
	}
}
