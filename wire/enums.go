package wire

// Phase is what a wait is doing.
type Phase string

// The phases of a wait.
const (
	PhasePolling    Phase = "polling"
	PhaseEscalated  Phase = "escalated"
	PhaseCancelling Phase = "cancelling"
	PhaseClosed     Phase = "closed"
	PhaseSubmitting Phase = "submitting" // of submissions only
	PhaseAwaiting   Phase = "awaiting"   // of submissions only: another workflow waits for the job
)

// Category is what a raw state of a provider means.
type Category string

// The categories of a state table.
const (
	CategoryPending    Category = "pending"
	CategoryCancelling Category = "cancelling"
	CategorySuccess    Category = "success"
	CategoryPartial    Category = "partial"
	CategoryFailure    Category = "failure"
	CategoryCancelled  Category = "cancelled"
	CategoryExpired    Category = "expired"
	CategoryNeedsInput Category = "needs_input"
	CategoryUnknown    Category = "unknown"
)

// Terminal reports whether the category means that the job is over.
func (c Category) Terminal() bool {
	switch c {
	case CategorySuccess, CategoryPartial, CategoryFailure, CategoryCancelled, CategoryExpired:
		return true
	case CategoryPending, CategoryCancelling, CategoryNeedsInput, CategoryUnknown:
		return false
	default:
		return false
	}
}

// Waits reports whether a wait continues in this category: only in pending and cancelling.
func (c Category) Waits() bool { return c == CategoryPending || c == CategoryCancelling }

// DelaySource says what determined the time of the next request.
type DelaySource string

// The delay sources.
const (
	DelayProviderRetryAfter DelaySource = "provider_retry_after"
	DelayProviderPollHint   DelaySource = "provider_poll_hint"
	DelayLocalBackoff       DelaySource = "local_backoff"
	DelayRateLimitBackoff   DelaySource = "rate_limit_backoff"
	DelayManualExtension    DelaySource = "manual_extension"
	DelayNudge              DelaySource = "nudge"
	DelayFinalLook          DelaySource = "final_look"
	DelayCatchUp            DelaySource = "catch_up"
	DelayApproval           DelaySource = "approval" // it was due, and a person has approved it now
)

// Reason says why a wait stopped, or how it ended without success.
type Reason string

// The reasons of escalations and outcomes.
const (
	ReasonDeadlineExceeded          Reason = "deadline_exceeded"
	ReasonBusinessDeadlineExceeded  Reason = "business_deadline_exceeded"
	ReasonRetryAfterExceedsDeadline Reason = "retry_after_exceeds_deadline"
	ReasonRequestBudgetExhausted    Reason = "request_budget_exhausted"
	ReasonTransportBudgetExhausted  Reason = "transport_budget_exhausted"
	ReasonRateLimited               Reason = "rate_limited"
	ReasonUnknownState              Reason = "unknown_state"
	ReasonNeedsInput                Reason = "needs_input"
	ReasonContradictoryResponse     Reason = "contradictory_response"
	ReasonMalformedResponse         Reason = "malformed_response"
	ReasonAuthorizationDenied       Reason = "authorization_denied"
	ReasonJobNotFound               Reason = "job_not_found"
	ReasonIntegrationFailure        Reason = "integration_failure"
	ReasonPollURLRejected           Reason = "poll_url_rejected"
	ReasonPartialResult             Reason = "partial_result"
	ReasonProviderFailure           Reason = "provider_failure"
	ReasonProviderCancelled         Reason = "provider_cancelled"
	ReasonProviderExpired           Reason = "provider_expired"
	ReasonCancelUnconfirmed         Reason = "cancel_unconfirmed"
	ReasonHistoryReset              Reason = "history_reset"
	ReasonApprovalRequired          Reason = "approval_required"
	ReasonSubmissionAmbiguous       Reason = "submission_ambiguous" // there may be a job, and nobody knows its id
	ReasonSubmissionRefused         Reason = "submission_refused"   // the provider took no job
	ReasonWaitCancelled             Reason = "wait_cancelled"       // outcomes only
	ReasonExtensionRequested        Reason = "extension_requested"  // proposals only
)

// Reasons returns the reasons of stops, which are those that EscalateOn may name.
func Reasons() []Reason {
	return []Reason{
		ReasonDeadlineExceeded, ReasonBusinessDeadlineExceeded, ReasonRetryAfterExceedsDeadline,
		ReasonRequestBudgetExhausted, ReasonTransportBudgetExhausted, ReasonRateLimited, ReasonUnknownState,
		ReasonNeedsInput, ReasonContradictoryResponse, ReasonMalformedResponse, ReasonAuthorizationDenied,
		ReasonJobNotFound, ReasonIntegrationFailure, ReasonPollURLRejected, ReasonPartialResult,
		ReasonProviderFailure, ReasonProviderCancelled, ReasonProviderExpired, ReasonCancelUnconfirmed,
		ReasonHistoryReset, ReasonApprovalRequired, ReasonSubmissionAmbiguous, ReasonSubmissionRefused,
	}
}

// Details that narrow a Reason. The Malformed and Transport constants are details, too.
const (
	DetailSuccessWithoutResult   = "success_without_result"
	DetailPastProviderExpiry     = "past_provider_expiry"
	DetailOtherJob               = "other_job"
	DetailStateRegressed         = "state_regressed"
	DetailUnexpectedSuccessState = "unexpected_success_state"
	DetailAmbiguousDelivery      = "ambiguous_delivery"
)

// DecisionKind is what a decision does.
type DecisionKind string

// The kinds of decision.
const (
	DecisionExtend         DecisionKind = "extend"
	DecisionTreatAsPending DecisionKind = "treat_as_pending"
	DecisionUseCredential  DecisionKind = "use_credential"
	DecisionCancel         DecisionKind = "cancel"
	DecisionAcceptResult   DecisionKind = "accept_result"
	DecisionClose          DecisionKind = "close"
	DecisionRefuse         DecisionKind = "refuse"
	DecisionApproveRequest DecisionKind = "approve_request"
	DecisionAttach         DecisionKind = "attach"   // of submissions: a person names the job
	DecisionResubmit       DecisionKind = "resubmit" // of submissions: send it again, as a new generation
)

// ApprovalRule says when a person must approve that a credential is used for status requests.
type ApprovalRule string

// The approval rules.
const (
	ApprovalNone         ApprovalRule = "none"
	ApprovalPerOperation ApprovalRule = "per_operation" // once in a wait, before its first request
	ApprovalPerRequest   ApprovalRule = "per_request"   // before every request
	// ApprovalUnknown is the rule of a credential by which a person replaced the first one. The worker learns the actual rule when it
	// is about to use the credential.
	ApprovalUnknown ApprovalRule = "unknown"
)

// DecisionKinds returns every kind of decision.
func DecisionKinds() []DecisionKind {
	return []DecisionKind{
		DecisionExtend, DecisionTreatAsPending, DecisionUseCredential, DecisionCancel, DecisionAcceptResult, DecisionClose,
		DecisionRefuse, DecisionApproveRequest, DecisionAttach, DecisionResubmit,
	}
}

// RefusalReason says why a decision was not applied.
type RefusalReason string

// The reasons of refusals, in the order in which they are checked.
const (
	RefusalUnparsable      RefusalReason = "unparsable"
	RefusalIncomplete      RefusalReason = "incomplete"
	RefusalNotSigned       RefusalReason = "not_signed" // there is no valid signature, and one is required
	RefusalDuplicate       RefusalReason = "duplicate"
	RefusalConflict        RefusalReason = "conflict" // the decision_id was used with other content
	RefusalNotOpen         RefusalReason = "not_open"
	RefusalWrongEscalation RefusalReason = "wrong_escalation"
	RefusalNotOffered      RefusalReason = "not_offered"
	RefusalOutOfBounds     RefusalReason = "out_of_bounds"
	RefusalLost            RefusalReason = "lost" // another decision answered first
)

// OutcomeStatus is how a wait ended.
type OutcomeStatus string

// The statuses of an outcome. All except unresolved are reported only if the provider said so.
const (
	StatusSucceeded  OutcomeStatus = "succeeded"
	StatusFailed     OutcomeStatus = "failed"
	StatusCancelled  OutcomeStatus = "cancelled"
	StatusExpired    OutcomeStatus = "expired"
	StatusUnresolved OutcomeStatus = "unresolved"
	StatusRefused    OutcomeStatus = "refused" // of submissions only: the provider took no job
)

// The notes of an outcome.
const (
	NoteAnsweredAfterDeadline  = "answered_after_deadline"
	NoteCompletedDespiteCancel = "completed_despite_cancel"
	NoteResultNotProven        = "result_not_proven"
	NoteAttributesUnregistered = "search_attributes_unregistered"
	NoteDeadlinePastRetention  = "deadline_past_retention"
)

// Event is the kind of an audit entry.
type Event string

// The audit events.
const (
	EventOpened             Event = "opened"
	EventPollPlanned        Event = "poll_planned"
	EventRequestReserved    Event = "request_reserved"
	EventResponseReceived   Event = "response_received"
	EventRequestLost        Event = "request_lost"
	EventRequestNotSent     Event = "request_not_sent"
	EventStateChanged       Event = "state_changed"
	EventGuidanceRejected   Event = "guidance_rejected"
	EventEscalated          Event = "escalated"
	EventReminded           Event = "reminded"
	EventDecisionApplied    Event = "decision_applied"
	EventDecisionRefused    Event = "decision_refused"
	EventExtensionRequested Event = "extension_requested"
	EventProposalLapsed     Event = "proposal_lapsed"
	EventCancelSent         Event = "cancel_sent"
	EventNudged             Event = "nudged"
	EventNotified           Event = "notified"
	EventClosed             Event = "closed"
	EventSubmitted          Event = "submitted"     // of submissions: the job is known
	EventAwaitStarted       Event = "await_started" // of submissions: the job's wait goes on as a workflow of its own
	EventAwaitEnded         Event = "await_ended"
)
