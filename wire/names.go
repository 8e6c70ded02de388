package wire

// The names by which clients of a Temporal server use jobwait: workflow types, signals, updates, queries and error types.
const (
	// WorkflowAwaitJob is the workflow type: one execution waits for one external job.
	WorkflowAwaitJob = "AwaitJob"
	// WorkflowTellPeople is the workflow type that delivers the last message of a wait, so that the wait can end without waiting for
	// the delivery. Its input is a NotifyRequest, its result a NotifyResult. Only waits start it.
	WorkflowTellPeople = "TellPeople"
	// DefaultTaskQueue is the default task queue of the stock worker and of the jobwait command.
	DefaultTaskQueue = "jobwait"

	// MemoOperationID is the memo field for the operation id: lists of workflows show memos but not inputs. Optional.
	MemoOperationID = "operation_id"

	// SignalDecide and UpdateDecide carry a Decision.
	SignalDecide = "decide"
	UpdateDecide = "decide"
	// UpdateRequestExtension carries an ExtensionRequest and returns an ExtensionReply.
	UpdateRequestExtension = "request_extension"
	// SignalExtend and SignalCancel carry a Decision without its kind, which is convenient on the Temporal command line.
	SignalExtend = "extend"
	SignalCancel = "cancel"
	// SignalNudge carries a Nudge: the job may have changed.
	SignalNudge = "nudge"

	// QueryOperation returns an OperationView.
	QueryOperation = "operation"
	// QueryEscalation returns an EscalationView of the open escalation, else of the open proposal, else null.
	QueryEscalation = "escalation"
	// QueryAudit returns an AuditView of the queried run.
	QueryAudit = "audit"

	// ErrorInvalidSpec is the type of the non-retryable application error for a spec that cannot be run.
	ErrorInvalidSpec = "InvalidSpec"
	// ErrorDecisionRefused is the type of the application error for a refused decision; its detail is a Refusal.
	ErrorDecisionRefused = "DecisionRefused"
	// ErrorHeldBack is the type of the application error for a request that was held back without being sent. The server repeats the
	// activity after the delay that the error names. No other failure of a request is repeated.
	ErrorHeldBack = "HeldBack"
	// ErrorRequestRefused is the type of the application error for an extension request that opened no proposal; its detail is a
	// Refusal.
	ErrorRequestRefused = "RequestRefused"
	// ErrorNotDelivered is the type of the application error for a notification that some channel has not accepted; its detail is a
	// NotifyResult.
	ErrorNotDelivered = "NotDelivered"
)

// Activity types.
const (
	ActivityPrepare          = "jobwait.Prepare"
	ActivityPollStatus       = "jobwait.PollStatus"
	ActivityCancelAtProvider = "jobwait.CancelAtProvider"
	ActivityNotify           = "jobwait.Notify"
	ActivityTrustedKeys      = "jobwait.TrustedKeys" // a local activity
)

// Search attributes. A wait upserts them only when its phase or its open question changes, and only if they were registered when
// it started.
const (
	AttributeProvider = "JobWaitProvider" // keyword
	AttributePhase    = "JobWaitPhase"    // keyword: a Phase
	AttributeReason   = "JobWaitReason"   // keyword: the Reason of the open escalation or proposal
	AttributeDecideBy = "JobWaitDecideBy" // datetime: when the open escalation or proposal lapses
)
