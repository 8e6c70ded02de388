package operation

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/jobwait/jobwait/wire"
)

const (
	// maxProposals is how many proposals one wait opens (R42).
	maxProposals = 3
	// maxRefusedRequests is how many refused requests of one wait stand in the audit: a program that asks in a loop shall not
	// fill it.
	maxRefusedRequests = 20
)

// RequestExtension opens a proposal for a caller who wants more time or requests, or says why not. It grants nothing:
// polling goes on under the old limits until a person answers. The same request again gives the same proposal, open or not
// (R42).
func (o *Operation) RequestExtension(now time.Time, payload []byte) (wire.ExtensionReply, *wire.Refusal) {
	request, recorded, refusal := readRequest(payload)
	if refusal == nil {
		if known := o.known(request); known != nil && known.Digest == requestDigest(request) {
			return wire.ExtensionReply{ProposalID: known.ProposalID}, nil
		}
		refusal = o.refuseRequest(now, request)
	}
	if refusal != nil {
		if len(recorded) > maxRefused {
			recorded = unparsed(payload)
		}
		o.noteRefusedRequest(wire.Entry{
			At: now, Event: wire.EventExtensionRequested, Decision: recorded, Reason: string(refusal.Reason), Detail: refusal.Detail,
		})
		return wire.ExtensionReply{}, refusal
	}
	o.propose(now, request, recorded)
	return wire.ExtensionReply{ProposalID: o.rec.Proposal.ID}, nil
}

func (o *Operation) noteRefusedRequest(entry wire.Entry) {
	if o.rec.RequestsRefused >= maxRefusedRequests {
		return
	}
	if o.rec.RequestsRefused++; o.rec.RequestsRefused == maxRefusedRequests {
		entry.Detail += "; further refusals are not recorded"
	}
	o.note(entry)
}

// readRequest decodes a payload, and gives the form in which it stands in the audit.
func readRequest(payload []byte) (wire.ExtensionRequest, []byte, *wire.Refusal) {
	request, err := wire.DecodeExtensionRequest(payload)
	if err != nil {
		return wire.ExtensionRequest{}, unparsed(payload), &wire.Refusal{Reason: wire.RefusalUnparsable, Detail: err.Error()}
	}
	canonical, err := wire.Canonical(payload)
	if err != nil { // cannot be: what decodes strictly has a canonical form
		return wire.ExtensionRequest{}, unparsed(payload), &wire.Refusal{Reason: wire.RefusalUnparsable, Detail: err.Error()}
	}
	return request, canonical, nil
}

// known is the request that has opened a proposal under the same id, or nil.
func (o *Operation) known(request wire.ExtensionRequest) *wire.KnownRequest {
	for i, known := range o.rec.ExtensionRequests {
		if known.ID == request.RequestID {
			return &o.rec.ExtensionRequests[i]
		}
	}
	return nil
}

// refuseRequest looks for the first refusal in the order of R40.
func (o *Operation) refuseRequest(now time.Time, request wire.ExtensionRequest) *wire.Refusal {
	if missing := missingOfRequest(request); missing != "" {
		return &wire.Refusal{Reason: wire.RefusalIncomplete, Detail: missing + " is missing"}
	}
	if known := o.known(request); known != nil {
		detail := "request_id was used with other content, for proposal " + known.ProposalID
		return &wire.Refusal{Reason: wire.RefusalConflict, Winner: known.ID, Detail: detail}
	}
	if o.rec.Phase != wire.PhasePolling || o.stopping {
		return &wire.Refusal{Reason: wire.RefusalNotOpen, Detail: o.notPolling()}
	}
	if why := o.noProposal(); why != "" {
		return &wire.Refusal{Reason: wire.RefusalNotOffered, Detail: why}
	}
	if why := o.requestOutOfBounds(now, request); why != "" {
		return &wire.Refusal{Reason: wire.RefusalOutOfBounds, Detail: why}
	}
	return nil
}

func missingOfRequest(request wire.ExtensionRequest) string {
	switch {
	case blank(request.RequestID):
		return "request_id"
	case blank(request.RequestedBy):
		return "requested_by"
	case blank(request.ExpectedEffect):
		return "expected_effect"
	case request.Seconds == 0 && request.StatusRequests == 0:
		return "seconds or status_requests"
	default:
		return ""
	}
}

func (o *Operation) notPolling() string {
	if o.rec.Escalation != nil {
		return fmt.Sprintf("the wait has stopped and asks already: %q", o.rec.Escalation.ID)
	}
	return "the wait is not polling"
}

// noProposal says why no proposal can be opened now.
func (o *Operation) noProposal() string {
	switch {
	case o.rec.Proposal != nil:
		return fmt.Sprintf("proposal %q is open, one at a time is", o.rec.Proposal.ID)
	case o.rec.Proposals >= maxProposals:
		return fmt.Sprintf("%d proposals were opened, no more are", o.rec.Proposals)
	case o.rec.Counters.ExtensionsUsed >= o.rec.Limits.MaxExtensions:
		return fmt.Sprintf("max_extensions is %d and used up", o.rec.Limits.MaxExtensions)
	default:
		return ""
	}
}

// requestOutOfBounds holds a request against what a decision could grant, and against what the wait has already.
func (o *Operation) requestOutOfBounds(now time.Time, request wire.ExtensionRequest) string {
	most := o.rec.Prepared.Grants
	return cmp.Or(
		tooLong(
			givenText{"request_id", request.RequestID, wire.MaxIDChars},
			givenText{"requested_by", request.RequestedBy, wire.MaxIDChars},
			givenText{"expected_effect", request.ExpectedEffect, wire.MaxCommentChars},
		),
		outOfRange(
			givenNumber{"seconds", request.Seconds, most.Seconds},
			givenNumber{"status_requests", request.StatusRequests, most.StatusRequests},
		),
		o.raisesNothing(now, wire.Decision{Seconds: request.Seconds, StatusRequests: request.StatusRequests}),
	)
}

// raisesNothing refuses a grant to a wait that polls which leaves its limits as they are.
func (o *Operation) raisesNothing(now time.Time, d wire.Decision) string {
	before, after := o.rec.Limits, o.limitsAfter(now, d)
	if !grantsOn(d) || after != before {
		return ""
	}
	needed := int64(before.DeadlineAt.Sub(now)/time.Second) + 1
	return fmt.Sprintf("seconds is %d and status_requests 0, which changes nothing: at least %d seconds would move the deadline", d.Seconds, needed)
}

// grantsOn reports whether a decision on a proposal grants; a request, which has no kind, wants to.
func grantsOn(d wire.Decision) bool { return d.Kind == "" || grants(d.Kind) }

// propose opens the proposal and notifies people.
func (o *Operation) propose(now time.Time, request wire.ExtensionRequest, recorded []byte) {
	deadline, _ := o.deadline()
	o.rec.Proposals++
	o.rec.Proposal = &wire.Proposal{Request: request, Escalation: wire.Escalation{
		ID: o.openingID("p", o.rec.Proposals), Kind: wire.EscalationProposal, Reason: wire.ReasonExtensionRequested,
		OpenedAt: now.UTC(), WindowEndsAt: deadline.UTC(),
		Options: []wire.Option{o.grant(wire.DecisionExtend), {Kind: wire.DecisionRefuse}},
	}}
	o.rec.ExtensionRequests = append(o.rec.ExtensionRequests, wire.KnownRequest{
		ID: request.RequestID, Digest: requestDigest(request), ProposalID: o.rec.Proposal.ID,
	})
	o.note(wire.Entry{At: now, Event: wire.EventExtensionRequested, Decision: recorded, Detail: o.rec.Proposal.ID})
	o.tell(now, wire.NotifyProposed)
}

// extended goes on after a grant: an escalation is answered and the next poll comes soon; while polling the plan stands,
// unless it was made for the deadline that has moved.
func (o *Operation) extended(now time.Time) {
	if o.rec.Escalation != nil {
		o.pollAgain(now)
		return
	}
	o.rec.Proposal = nil
	if o.inFlight != nothing {
		return // its answer plans the next one
	}
	if poll := o.rec.Poll; poll == nil || poll.Source == wire.DelayFinalLook {
		o.planManual(now)
	}
}

// lapseProposal ends an open proposal without an answer, in one word why.
func (o *Operation) lapseProposal(now time.Time, why string) {
	if o.rec.Proposal == nil {
		return
	}
	lapsed := o.rec.Proposal.ID
	o.rec.Proposal = nil
	o.note(wire.Entry{At: now, Event: wire.EventProposalLapsed, Reason: why, Detail: lapsed})
}

func requestDigest(request wire.ExtensionRequest) string {
	sum := sha256.Sum256(canonicalOf(request))
	return hex.EncodeToString(sum[:16])
}
