package wire

// Names under which the product is reachable on a Temporal server.
const (
	// WorkflowAwaitJob is the workflow type: one execution waits for one external job.
	WorkflowAwaitJob = "AwaitJob"
	// WorkflowTellPeople is the workflow type of a message about the end of a wait, which must not hold the end up: its input
	// is a NotifyRequest, its result a NotifyResult. Waits start it; nobody else needs to.
	WorkflowTellPeople = "TellPeople"
	// DefaultTaskQueue is the task queue of the stock worker and of the jobwait command unless told otherwise.
	DefaultTaskQueue = "jobwait"

	// MemoOperationID is the memo field in which a start repeats the operation id, so that waits can be found by it in a
	// list, which shows memos and no inputs. A wait without it works as well.
	MemoOperationID = "operation_id"

	// SignalDecide and UpdateDecide carry a Decision.
	SignalDecide = "decide"
	UpdateDecide = "decide"
	// UpdateRequestExtension carries an ExtensionRequest and replies an ExtensionReply.
	UpdateRequestExtension = "request_extension"
	// SignalExtend and SignalCancel carry a Decision without its kind, for people at the plain Temporal command line.
	SignalExtend = "extend"
	SignalCancel = "cancel"
	// SignalNudge carries a Nudge: something outside says that the job may have changed.
	SignalNudge = "nudge"

	// QueryOperation answers an OperationView.
	QueryOperation = "operation"
	// QueryEscalation answers an EscalationView, of a stop or else of a proposal, or null when nothing is open.
	QueryEscalation = "escalation"
	// QueryAudit answers an AuditView of this run.
	QueryAudit = "audit"

	// ErrorInvalidSpec is the type of the non-retryable application error of a spec that cannot be run.
	ErrorInvalidSpec = "InvalidSpec"
	// ErrorDecisionRefused is the type of the application error of a refused update; its detail is a Refusal.
	ErrorDecisionRefused = "DecisionRefused"
	// ErrorHeldBack is the type of the application error of a request that waits at its provider's lane: nothing was sent, and
	// the server repeats the activity after the delay that the error names. No other failure of a request is repeated.
	ErrorHeldBack = "HeldBack"
	// ErrorRequestRefused is the type of the application error of an extension request that opened no proposal; its detail is
	// a Refusal.
	ErrorRequestRefused = "RequestRefused"
	// ErrorNotDelivered is the type of the application error of a notification that some channel has not taken; its detail is
	// a NotifyResult.
	ErrorNotDelivered = "NotDelivered"
)

// Activity types.
const (
	ActivityPrepare          = "jobwait.Prepare"
	ActivityPollStatus       = "jobwait.PollStatus"
	ActivityCancelAtProvider = "jobwait.CancelAtProvider"
	ActivityNotify           = "jobwait.Notify"
	ActivityTrustedKeys      = "jobwait.TrustedKeys" // local: it is executed where the workflow is
)

// Search attributes, upserted only on a change of phase or of the open question, and only where prepare found them
// registered.
const (
	AttributeProvider = "JobWaitProvider" // keyword
	AttributePhase    = "JobWaitPhase"    // keyword: a Phase
	AttributeReason   = "JobWaitReason"   // keyword: a Reason, that of a proposal included
	AttributeDecideBy = "JobWaitDecideBy" // datetime: when the open escalation or proposal lapses
)
