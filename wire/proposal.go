package wire

// ExtensionRequest is the payload of UpdateRequestExtension: a caller, a program as a rule, asks for more while polling goes
// on. It grants nothing. It opens a proposal, which a person answers by extend or refuse. All fields are required but one of
// the two numbers.
type ExtensionRequest struct {
	// RequestID makes the request safe to repeat: the same content under the same id is answered with the same proposal. 1 to
	// 256 characters.
	RequestID string `json:"request_id"`
	// RequestedBy is who asks. 1 to 256 characters.
	RequestedBy string `json:"requested_by"`
	// Seconds is the time wanted, from the decision to the new deadline as in a Decision; 0: no time.
	Seconds int `json:"seconds"`
	// StatusRequests is how many more status requests are wanted; 0: none.
	StatusRequests int `json:"status_requests"`
	// ExpectedEffect is what the grant would lead to, for whoever decides. 1 to 4,096 characters.
	ExpectedEffect string `json:"expected_effect"`
}

// ExtensionReply answers an update whose request opened a proposal.
type ExtensionReply struct {
	// ProposalID is what a decision names as its escalation_id: <operation_id>#p<n>-<8 hex>.
	ProposalID string `json:"proposal_id"`
}

// Proposal is the open request of a caller, as a question to people. Its window ends with the deadline that held when it
// was opened.
type Proposal struct {
	Escalation
	Request ExtensionRequest `json:"request"`
}

// KnownRequest remembers an extension request that opened a proposal.
type KnownRequest struct {
	ID string `json:"id"`
	// Digest is the hash of its content, which tells a repetition from a conflict.
	Digest     string `json:"digest"`
	ProposalID string `json:"proposal_id"`
}

// DecodeExtensionRequest reads a request as strictly as DecodeSpec reads a spec.
func DecodeExtensionRequest(data []byte) (ExtensionRequest, error) {
	return decodeStrictly[ExtensionRequest]("request", data, MaxDecisionBytes)
}
