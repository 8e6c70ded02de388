package wire

// ExtensionRequest is the payload of UpdateRequestExtension, by which a caller, usually a program, asks for more time or requests
// while polling continues. It grants nothing itself: it opens a proposal, which a person answers by extend or refuse. All fields
// are required, except that one of Seconds and StatusRequests may be 0.
type ExtensionRequest struct {
	// RequestID makes the request safe to repeat: the same request under the same id gets the same proposal. 1 to 256 characters.
	RequestID string `json:"request_id"`
	// RequestedBy is who asks. 1 to 256 characters.
	RequestedBy string `json:"requested_by"`
	// Seconds is the time from the decision to the wanted deadline, as in a Decision; 0 asks for no time.
	Seconds int `json:"seconds"`
	// StatusRequests is how many more status requests are wanted; 0 asks for none.
	StatusRequests int `json:"status_requests"`
	// ExpectedEffect tells the person who decides what the grant is expected to achieve. 1 to 4,096 characters.
	ExpectedEffect string `json:"expected_effect"`
}

// ExtensionReply is the result of UpdateRequestExtension when the request opened a proposal.
type ExtensionReply struct {
	// ProposalID is the escalation_id of the decision that answers the proposal: <operation_id>#p<n>-<8 hex>.
	ProposalID string `json:"proposal_id"`
}

// Proposal is a caller's extension request as an open question to people. It lapses at the deadline that the wait had when the
// proposal was opened.
type Proposal struct {
	Escalation
	Request ExtensionRequest `json:"request"`
}

// KnownRequest records an extension request that opened a proposal.
type KnownRequest struct {
	ID string `json:"id"`
	// Digest is the hash of the request, which distinguishes a repetition from a conflict.
	Digest     string `json:"digest"`
	ProposalID string `json:"proposal_id"`
}

// DecodeExtensionRequest decodes an extension request as strictly as DecodeSpec decodes a spec.
func DecodeExtensionRequest(data []byte) (ExtensionRequest, error) {
	return decodeStrictly[ExtensionRequest]("request", data, MaxDecisionBytes)
}
