package startercmd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobwait/jobwait/internal/plain"
	"github.com/jobwait/jobwait/internal/waits"
	"github.com/jobwait/jobwait/signing"
	"github.com/jobwait/jobwait/wire"
)

// decisionFlags are one decision on the command line.
type decisionFlags struct {
	id       target
	decision wire.Decision
	span     time.Duration
	// params are those of the job that is attached, as they were typed.
	params []string
	json   bool
	// toAnswer says that a question is meant that was asked already, and nothing else is to be done where it is open no more.
	toAnswer bool
	// detach is that of a submission that is started.
	detach bool
	// keyFile is what --sign-with names, key what is in it; byGiven reports whether --by was typed.
	keyFile string
	key     *signing.PrivateKey
	byGiven func() bool
}

func (a *app) decisionCommands() []*cobra.Command {
	return []*cobra.Command{
		a.decisionCommand(wire.DecisionExtend, "let a wait go on with more time, requests or failures", `Extend answers an escalation with new limits: the deadline moves to --for from now (never back), and the budgets grow by
the numbers given. It is offered as often as the spec's max_extensions allows. It grants what a proposal asks for, too, or
what you give instead.`, grantFlags),
		a.decisionCommand(wire.DecisionTreatAsPending, "say that an unknown state means: go on waiting", `Treat-as-pending answers an unknown state: this wait, and no other, goes on waiting in it. Should the state table list the
state by then, the table is right. --for and --requests grant time and requests besides.`, grantFlags, stateFlag),
		a.decisionCommand(wire.DecisionUseCredential, "go on with another credential, or a new version of the same", `Use-credential answers a refused credential. Name another that the worker knows, or the same name once its version has
changed. --for and --requests grant time and requests besides, where the escalation offers them.`, grantFlags, credentialFlag),
		a.decisionCommand(wire.DecisionApproveRequest, "approve that a credential is used", `Approve-request answers a wait whose credential asks for approval: for the one status request that is due, or for all of the
wait, as the worker's entry of the credential says. What is approved is shown first. It is no extension: it raises no limit.`),
		a.decisionCommand(wire.DecisionCancel, "ask the provider once to cancel the job", `Cancel asks the provider to cancel the job, where its table documents how, and looks whether it did. It is possible while
the wait is polling, too. To stop waiting and leave the job alone, use close, or cancel the workflow:
  temporal workflow cancel --workflow-id ID`),
		a.decisionCommand(wire.DecisionAcceptResult, "take the result that there is, proven or not", `Accept-result ends the wait as succeeded with whatever result there is. The outcome notes what was not proven.`),
		a.decisionCommand(wire.DecisionRefuse, "decline a proposal; the wait goes on under its present limits", `Refuse answers a proposal, by which a caller asks for more while polling goes on. Nothing changes.`),
		a.decisionCommand(wire.DecisionAttach, "name the job of a submission of which nobody knew whether it made one", `Attach answers a submission that may have made a job: it goes on with the job that you found at the provider. Nothing is
submitted.`, jobFlags),
		a.resubmitCommand(),
		a.decisionCommand(wire.DecisionClose, "stop waiting, and leave the job alone", `Close answers an escalation by ending the wait. The job itself is left alone; the outcome says unresolved, unless the
provider had said how the job ended.`),
	}
}

func (a *app) decisionCommand(kind wire.DecisionKind, short, long string, more ...func(*cobra.Command, *decisionFlags)) *cobra.Command {
	flags := &decisionFlags{decision: wire.Decision{Kind: kind}}
	command := &cobra.Command{
		Use:   strings.ReplaceAll(string(kind), "_", "-"),
		Short: short,
		Long: long + `

The decision answers the escalation or proposal that ID or --escalation names, and no other: should it not be open any more,
the decision is refused. Otherwise it answers the open one. What ID leads to is shown first. A decision that is refused changes nothing:
the reason is shown (with --json as JSON, too), and the exit code is 1.`,
		RunE: func(command *cobra.Command, _ []string) error { return a.decide(command.Context(), flags) },
	}
	flags.id.define(command)
	for _, define := range more {
		define(command, flags)
	}
	d := &flags.decision
	a.identityFlags(command, flags)
	command.Flags().StringVar(&d.Comment, "comment", "", "`why`; it stands in the audit (required)")
	command.Flags().StringVar(&d.EscalationID, "escalation", "", "`id` of the escalation or proposal that is answered (default: ID where it is one, else the open one)")
	command.Flags().StringVar(&d.DecisionID, "decision-id", "", "`id` under which the decision is applied at most once (default: a new one)")
	command.Flags().BoolVar(&flags.json, "json", false, "the reply as JSON, a refusal included")
	return command
}

// identityFlags say who decides, and with which key.
func (*app) identityFlags(command *cobra.Command, flags *decisionFlags) {
	command.Flags().StringVar(&flags.decision.DecidedBy, "by", os.Getenv("USER"), "`who` decides")
	command.Flags().StringVar(&flags.keyFile, "sign-with", "", "`file` with the private key that signs the decision, where the worker asks for signatures")
	flags.byGiven = func() bool { return command.Flags().Changed("by") }
}

func grantFlags(command *cobra.Command, flags *decisionFlags) {
	command.Flags().DurationVar(&flags.span, "for", 0, "`time` from now to the new deadline, such as 15m")
	command.Flags().IntVar(&flags.decision.StatusRequests, "requests", 0, "this many more status requests")
	command.Flags().IntVar(&flags.decision.TransportFailures, "transport-failures", 0, "this many more failures (5xx, no answer)")
	command.Flags().IntVar(&flags.decision.RateLimited, "rate-limited", 0, "this many more 429")
	command.Flags().BoolVar(&flags.decision.PastBusinessDeadline, "past-business-deadline", false, "the result is of use after business_deadline_at, too")
}

func stateFlag(command *cobra.Command, flags *decisionFlags) {
	command.Flags().StringVar(&flags.decision.RawState, "state", "", "the raw `state` (default: the one that stopped the wait)")
}

func credentialFlag(command *cobra.Command, flags *decisionFlags) {
	command.Flags().StringVar(&flags.decision.CredentialRef, "credential", "", "`name` of the credential (required)")
}

// complete checks what can be known before anything is asked.
func (f *decisionFlags) complete() error {
	f.toAnswer = f.id.escalation()+f.decision.EscalationID+f.decision.DecisionID+f.keyFile != ""
	if err := f.useKey(); err != nil {
		return err
	}
	d := &f.decision
	switch {
	case d.DecidedBy == "":
		return usagef("--by is missing and $USER is empty; say who decides")
	case d.Comment == "":
		return usagef("--comment is missing; say why, it stands in the audit")
	case d.Kind == wire.DecisionUseCredential && d.CredentialRef == "":
		return usagef("--credential is missing; name one that the worker knows")
	case d.Kind == wire.DecisionAttach && d.ProviderJobID == "":
		return usagef("--provider-job is missing; name the job that you found at the provider")
	case f.span%time.Second != 0:
		return usagef("--for %s: whole seconds are granted", f.span)
	}
	if err := f.nameEscalation(); err != nil {
		return err
	}
	if err := addParams(&d.Params, f.params); err != nil {
		return err
	}
	d.Seconds = int(f.span / time.Second)
	if d.DecisionID == "" {
		d.DecisionID = newID()
	}
	return nil
}

// newID is one under which a decision or a request is taken at most once.
func newID() string { return "cli-" + strings.ToLower(rand.Text()[:12]) }

// nameEscalation takes an ID that is an escalation's as it stands: it never answers another question than the one meant.
func (f *decisionFlags) nameEscalation() error {
	named := f.id.escalation()
	switch given := f.decision.EscalationID; {
	case named == "" || named == given:
	case given == "":
		f.decision.EscalationID = named
	default:
		return usagef("the ID is escalation %q, and --escalation is %q; give one of them", named, given)
	}
	return nil
}

func (a *app) decide(ctx context.Context, flags *decisionFlags) error {
	if err := flags.complete(); err != nil {
		return err
	}
	return a.alsoAsJSON(flags, a.withWait(ctx, &flags.id, func(ctx context.Context, s *server, workflowID string) error {
		return a.decideOn(ctx, s, workflowID, flags)
	}))
}

func (a *app) decideOn(ctx context.Context, s *server, workflowID string, flags *decisionFlags) error {
	info, err := s.Latest(ctx, workflowID)
	if err != nil {
		return err
	}
	switch {
	case waits.Open(info):
	case flags.decision.Kind == wire.DecisionResubmit:
		return a.submitAgain(ctx, s, info, flags)
	default:
		return a.ended(workflowID)
	}
	if err := a.address(ctx, s, workflowID, flags); err != nil {
		return err
	}
	if err := flags.sign(); err != nil {
		return err
	}
	reply, err := s.Decide(ctx, workflowID, flags.decision)
	if err != nil {
		return a.notDecided(err, flags, workflowID)
	}
	return a.decided(reply, flags)
}

// address fills in which escalation is answered, after showing it. One that was named is never replaced.
func (a *app) address(ctx context.Context, s *server, workflowID string, flags *decisionFlags) error {
	decision := &flags.decision
	needsState := decision.Kind == wire.DecisionTreatAsPending && decision.RawState == ""
	if decision.EscalationID != "" && flags.id.escalation() == "" && !needsState {
		return nil
	}
	view, err := ask[wire.OperationView](ctx, s, workflowID, "", wire.QueryOperation)
	if err != nil {
		return a.unanswered(err, workflowID)
	}
	if needsState && view.LastObservation != nil && view.LastObservation.Job != nil {
		decision.RawState = view.LastObservation.Job.RawState
	}
	open := asksFor(view, decision.Kind)
	if decision.EscalationID == "" && open != nil {
		decision.EscalationID = open.ID
	}
	if decision.EscalationID == "" && decision.Kind == wire.DecisionCancel && view.Signing != nil {
		decision.EscalationID = view.Signing.WaitID
	}
	switch {
	case open != nil && open.ID == decision.EscalationID:
		a.message(open.Message)
	case decision.EscalationID == "" && decision.Kind != wire.DecisionCancel: // a cancel needs no escalation
		return hinted(notOpen("nothing waits for an answer in this wait"), "`%s show %s` shows how it stands", a.name, workflowID)
	}
	return nil
}

// asksFor is the open question that a decision of a kind answers: the escalation, else the proposal for the two kinds that
// answer one.
func asksFor(view wire.OperationView, kind wire.DecisionKind) *wire.EscalationView {
	if kind == wire.DecisionExtend || kind == wire.DecisionRefuse {
		return question(view)
	}
	return view.Escalation
}

// question is what waits for a person's answer: the escalation, else the proposal, or nil.
func question(view wire.OperationView) *wire.EscalationView {
	if view.Escalation == nil {
		return view.Proposal
	}
	return view.Escalation
}

func (a *app) decided(reply wire.DecisionReply, flags *decisionFlags) error {
	if flags.json {
		return a.printJSON(reply)
	}
	_, err := fmt.Fprintf(a.out, "applied: %s by %s (decision %s); now up to %d requests until %s\n",
		flags.decision.Kind, plain.Cell(flags.decision.DecidedBy), plain.Cell(reply.DecisionID), reply.MaxStatusRequests, stamp(reply.DeadlineAt))
	return err
}

// refused is what --json prints of a decision that was not applied.
type refused struct {
	Accepted   bool         `json:"accepted"`
	DecisionID string       `json:"decision_id"`
	Refusal    wire.Refusal `json:"refusal"`
}

// refusedError is a decision that was not applied, and why.
type refusedError struct {
	text    string
	refusal wire.Refusal
}

func (e *refusedError) Error() string { return e.text }

// notOpen is a refusal that needs no worker.
func notOpen(text string) error {
	return &refusedError{text: text, refusal: wire.Refusal{Reason: wire.RefusalNotOpen, Detail: text}}
}

// alsoAsJSON keeps the promise of --json for a refusal.
func (a *app) alsoAsJSON(flags *decisionFlags, err error) error {
	var not *refusedError
	if !flags.json || !errors.As(err, &not) {
		return err
	}
	if err := a.printJSON(refused{DecisionID: flags.decision.DecisionID, Refusal: not.refusal}); err != nil {
		return err
	}
	return err
}

func (a *app) notDecided(err error, flags *decisionFlags, workflowID string) error {
	refusal, ok := waits.Refusal(err)
	if !ok {
		return a.unsettled(err, flags.decision.DecisionID, workflowID)
	}
	text := refusal.Error()
	if refusal.Winner != "" {
		text += fmt.Sprintf("; decision %q came first", refusal.Winner)
	}
	if refusal.Reason == wire.RefusalNotSigned && flags.key == nil {
		return hinted(&refusedError{text, refusal}, "sign it: --sign-with FILE with a private key that the worker trusts; `%s keys new` makes one", a.name)
	}
	return hinted(&refusedError{text, refusal}, "`%s show %s` shows what may be answered", a.name, workflowID)
}

// unsettled is a decision of which nobody said whether it was applied.
func (a *app) unsettled(err error, decisionID, workflowID string) error {
	switch {
	case waits.Gone(err):
		return a.ended(workflowID)
	case waits.Unsettled(err):
		return unsettledBy(decisionID, fmt.Sprintf("no worker answered within %s", waits.DecideTimeout))
	default:
		return err
	}
}

func unsettledBy(decisionID, cause string) error {
	return hinted(fmt.Errorf("%s; the decision may or may not be applied", cause),
		"ask again with --decision-id %s, under which it is applied at most once", decisionID)
}

func (a *app) ended(workflowID string) error {
	return hinted(notOpen("the wait has ended; there is nothing to decide any more"), "`%s show %s` shows its outcome", a.name, workflowID)
}

func (a *app) unanswered(err error, workflowID string) error {
	if !waits.Transient(err) {
		return err
	}
	return hinted(fmt.Errorf("%s does not answer: %w", workflowID, err), "a worker has to run for a decision; is one running on the wait's task queue?")
}
