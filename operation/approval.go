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

// approve takes a person's word for the request that is due, or for all of this wait. It is no extension: it raises nothing.
// The request goes out as soon as it may; if the deadline has come meanwhile, Next says so and nothing is sent.
func (o *Operation) approve(now time.Time) {
	if o.rec.Approval == wire.ApprovalPerOperation {
		o.rec.Approved = true
	} else {
		o.rec.ApprovedThrough = o.rec.Counters.StatusRequestsUsed + 1
	}
	o.goOn()
	o.schedule(now, o.afterMinimum(now, candidate{now, wire.DelayApproval}))
}

// approveConfirmation lets the requests that a cancel is confirmed by go with it: whoever decides the cancel has them in its
// option, and the cancel request itself is a person's word already.
func (o *Operation) approveConfirmation(requests int) {
	if o.rec.Approval != "" && o.rec.Approval != wire.ApprovalNone {
		o.rec.ApprovedThrough = o.rec.Counters.StatusRequestsUsed + requests
	}
}

// endConfirming takes back what approveConfirmation let out and was not needed: the answer to the next question says nothing of
// these requests.
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

// learnApproval takes a request that left with a credential of unknown rule as the proof that it has none.
func (o *Operation) learnApproval(seen wire.Observation) {
	if o.approvalUnasked() && seen.CredentialRef == o.rec.CredentialRef {
		o.rec.Approval = wire.ApprovalNone
	}
}

// mustApprove asks about a credential whose rule the worker told in place of using it.
func (o *Operation) mustApprove(now time.Time, rule string) {
	o.rec.Approval = wire.ApprovalPerRequest
	if rule == string(wire.ApprovalPerOperation) {
		o.rec.Approval = wire.ApprovalPerOperation
	}
	if o.rec.Counters.StatusRequestsUsed < o.rec.Limits.MaxStatusRequests { // else that is the first question
		o.stop(now, wire.ReasonApprovalRequired, string(o.rec.Approval))
	}
}
