package operation

import (
	"slices"
	"strconv"
	"time"

	"github.com/jobwait/jobwait/wire"
)

// Operation is one wait: its record, the audit entries of this run, and what is under way at the moment.
// It is not safe for concurrent use.
type Operation struct {
	rec     wire.Record
	journal journal
	// entryBytes is about how long the audit query's answer is.
	entryBytes int

	// inFlight is the kind of the one request that has not been answered yet.
	inFlight flight
	// lastNotice is the latest notification of this run that was delivered or given up; nil if there was none.
	lastNotice *wire.NoticeView
	// delivering counts the notifications at the head of the record's list that the shell has in hand.
	delivering int
	// startBy is the deadline of the request in flight; reservedAt is when a submit request was reserved.
	startBy, reservedAt time.Time
	// stopping reports whether the workflow was cancelled: nothing more is sent (R48).
	stopping bool
	// answered is the escalation that a decision closed at this same workflow time (R40, lost).
	answered *answered
}

type flight int

const (
	nothing flight = iota
	statusRequest
	cancelRequest
	submitRequest
)

// Command is the next thing the shell does for an operation: Wait, SendStatus, SendCancel, SendSubmit, AwaitSubmitted, Notify,
// LearnKeys or Close.
type Command interface{ command() }

// Wait lets time pass: until the given time, or, if that is zero, until something arrives.
type Wait struct {
	Until time.Time
	// Summary is one line for people who look at the timer.
	Summary string
	// Withdraw reports whether the request in flight is no longer wanted and should be cancelled if it is held back.
	Withdraw bool
}

// SendStatus sends one status request. It must start before StartBy, or not at all.
type SendStatus struct {
	Request wire.PollRequest
	StartBy time.Time
	Summary string
}

// SendCancel sends the one cancel request of a decision.
type SendCancel struct {
	Request wire.CancelRequest
}

// Notify delivers one notification. It never holds up the wait.
type Notify struct {
	Request wire.NotifyRequest
	// Closing reports whether the wait ends as soon as this is delivered or given up.
	Closing bool
	// HandOver reports whether a workflow of its own delivers it, so that the end is not held up. It is notified as soon as that
	// workflow has started.
	HandOver bool
}

// LearnKeys asks for the keys that are trusted now. The shell does nothing else until it has reported them to KeysLearned.
type LearnKeys struct{}

// Close ends the wait with its outcome.
type Close struct {
	Outcome wire.Outcome
}

func (Wait) command()       {}
func (SendStatus) command() {}
func (SendCancel) command() {}
func (Notify) command()     {}
func (LearnKeys) command()  {}
func (Close) command()      {}

// Open begins a wait. firstRunID is the run id of the first run of the workflow, startedAt its start.
func Open(prepared wire.Prepared, firstRunID string, startedAt, now time.Time) *Operation {
	op := &Operation{rec: wire.Record{
		Prepared:      prepared,
		FirstRunID:    firstRunID,
		OpenedAt:      startedAt,
		Phase:         wire.PhasePolling,
		Limits:        prepared.Limits,
		Answers:       map[string]int{},
		Notes:         slices.Clone(prepared.Notes),
		CredentialRef: prepared.Spec.CredentialRef,
		Approval:      prepared.Approval,
		DecisionKeys:  prepared.DecisionKeys,
	}}
	op.openSubmission()
	op.note(op.opening(now))
	if prepared.ResetRunID != "" {
		op.reset(now, prepared.ResetRunID)
		return op
	}
	op.planFirst(now)
	return op
}

// Resume continues from the record of the previous run.
func Resume(rec wire.Record) *Operation {
	if rec.Answers == nil {
		rec.Answers = map[string]int{}
	}
	return &Operation{rec: rec}
}

// Record returns the state to carry over to the next run. It is complete only if the operation is Quiet.
func (o *Operation) Record() wire.Record { return o.rec }

// Quiet reports whether the wait can be carried over without losing or repeating anything: no request is in flight and
// no notification is being delivered.
func (o *Operation) Quiet() bool { return o.inFlight == nothing && o.delivering == 0 }

// InFlight reports whether a request to the provider has not been answered yet.
func (o *Operation) InFlight() bool { return o.inFlight != nothing }

// Polling reports whether the request in flight is a status request.
func (o *Operation) Polling() bool { return o.inFlight == statusRequest }

// AuditOfRun returns the number of audit entries of this run, and their approximate size in bytes in the answer to a query.
func (o *Operation) AuditOfRun() (entries, bytes int) { return o.journal.n, o.entryBytes }

// Next says what to do now. Each command is given once: the shell carries it out and reports back with StatusAnswered,
// CancelAnswered, SubmitAnswered, AwaitEnded, Notified or KeysLearned; a Wait is given again as long as it holds.
func (o *Operation) Next(now time.Time) Command {
	switch {
	case o.keysWanted():
		return LearnKeys{}
	case o.delivering < len(o.rec.Notifications):
		return o.deliver()
	case o.rec.Outcome != nil && o.endUntold():
		o.tell(now, wire.NotifyEnded)
		return o.Next(now)
	case o.rec.Outcome != nil:
		return o.finish(now)
	case o.inFlight != nothing:
		return Wait{Summary: "waiting for an answer", Withdraw: o.withdraws()}
	case o.Following():
		return Wait{Summary: "waiting for the job's wait"}
	case o.stopping:
		o.decided(now, wire.StatusUnresolved, wire.ReasonWaitCancelled, "")
		return o.Next(now)
	case o.rec.Escalation != nil:
		return o.nextEscalated(now)
	case o.rec.Cancel == wire.CancelWanted:
		return o.nextCancel(now)
	case o.submits() && o.rec.Submission.Await == wire.AwaitWanted:
		return o.startAwait(now)
	default:
		return o.nextPoll(now)
	}
}

// withdraws reports whether the request in flight should be withdrawn if it is held back, so that a decision does not wait for a
// provider that wants to be left alone. After StopWaiting this includes a cancel request (R48).
func (o *Operation) withdraws() bool {
	return o.rec.Prepared.HoldBack && (o.stopping || o.inFlight == statusRequest && o.rec.Cancel == wire.CancelWanted)
}

// nextPoll checks the deadlines, the request budget, the time of the poll, and last the approval of a request that is due (R30, R54).
func (o *Operation) nextPoll(now time.Time) Command {
	deadline, reason := o.deadline()
	switch {
	case !now.Before(deadline):
		o.stop(now, reason, "")
		return o.Next(now)
	case o.rec.Counters.StatusRequestsUsed >= o.rec.Limits.MaxStatusRequests:
		o.stop(now, wire.ReasonRequestBudgetExhausted, "")
		return o.Next(now)
	case o.rec.Poll == nil:
		return Wait{Until: deadline, Summary: "no further look before the deadline"}
	case now.Before(o.rec.Poll.At):
		return o.untilPoll(deadline)
	case o.needsApproval():
		o.stop(now, wire.ReasonApprovalRequired, string(o.rec.Approval))
		return o.Next(now)
	case o.late(now):
		o.planCatchUp(now)
		return o.Next(now)
	case o.submits():
		return o.sendSubmit(now, deadline)
	default:
		return o.sendStatus(now, deadline)
	}
}

func (o *Operation) untilPoll(deadline time.Time) Command {
	poll := o.rec.Poll
	return Wait{Until: earlier(poll.At, deadline), Summary: o.pollSummary(poll.Source)}
}

// sendStatus reserves the request before it can leave: a crash costs a reservation, never an uncounted request (R30).
func (o *Operation) sendStatus(now, deadline time.Time) Command {
	summary := o.pollSummary(o.rec.Poll.Source)
	if o.rec.Poll.Source == wire.DelayFinalLook {
		o.rec.FinalLookFor = deadline
	}
	o.rec.Counters.StatusRequestsUsed++
	o.rec.Poll = nil
	o.rec.Nudges = wire.Nudges{}
	o.inFlight, o.startBy = statusRequest, deadline
	o.note(wire.Entry{At: now, Event: wire.EventRequestReserved})
	return SendStatus{Request: o.pollRequest(deadline), StartBy: deadline, Summary: summary}
}

// pollSummary is what the Temporal UI shows beside a timer and its activity: "poll 4 of 12, local_backoff".
func (o *Operation) pollSummary(source wire.DelaySource) string {
	next := strconv.Itoa(o.rec.Counters.StatusRequestsUsed + 1)
	what := "poll "
	if o.submits() {
		what = "submit "
	}
	return what + next + " of " + strconv.Itoa(o.rec.Limits.MaxStatusRequests) + ", " + string(source)
}

func (o *Operation) pollRequest(deadline time.Time) wire.PollRequest {
	authority := o.authority()
	authority.ApprovalUnasked = o.approvalUnasked()
	return wire.PollRequest{
		Target:         o.target(),
		Authority:      authority,
		NotAfter:       deadline,
		TimeoutSeconds: o.rec.Prepared.Pace.RequestTimeoutSeconds,
		Reading: wire.ReadingContext{
			// A submission after the start is a clock or a zone that is off, and no reason for a longer grace (R10).
			SubmittedAt: earlier(o.submittedAt(), o.rec.OpenedAt),
			Answered:    o.rec.Answered,
			NotFound:    o.rec.NotFound,
			CancelSent:  o.rec.Cancel == wire.CancelSent,
		},
		MayHoldBack: o.rec.Prepared.HoldBack,
	}
}

func (o *Operation) target() wire.Target {
	spec := o.rec.Prepared.Spec
	url := spec.StatusURL
	if o.rec.NextStatusURL != "" {
		url = o.rec.NextStatusURL
	}
	return wire.Target{
		Provider: spec.Provider, Account: spec.Account, ProviderJobID: spec.ProviderJobID,
		Params: spec.Params, StatusURL: url, CredentialRef: o.rec.CredentialRef,
	}
}

func (o *Operation) authority() wire.Authority {
	var denied []string
	for _, version := range o.rec.Denied {
		if version.Ref == o.rec.CredentialRef {
			denied = append(denied, version.Version)
		}
	}
	return wire.Authority{AcknowledgedRuns: o.rec.AcknowledgedRuns, DeniedVersions: denied}
}

// deadline is the earlier of the two deadlines, with the reason of a stop there (R26), or the end of the idempotency key with which a
// submission would be sent again (R56).
func (o *Operation) deadline() (time.Time, wire.Reason) {
	limits := o.rec.Limits
	at, reason := limits.DeadlineAt, wire.ReasonDeadlineExceeded
	if business := limits.BusinessDeadlineAt; business != nil && business.Before(at) {
		at, reason = *business, wire.ReasonBusinessDeadlineExceeded
	}
	if end, ends := o.keyEnd(); ends && end.Before(at) {
		return end, wire.ReasonSubmissionAmbiguous
	}
	return at, reason
}

// StopWaiting reports that the workflow was cancelled. A request in flight is awaited, and a terminal answer to it decides;
// otherwise the wait closes. Nothing is cancelled at the provider (R48).
func (o *Operation) StopWaiting() { o.stopping = true }

// Stopping reports whether the wait was told to stop.
func (o *Operation) Stopping() bool { return o.stopping }

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
