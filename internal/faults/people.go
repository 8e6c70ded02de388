package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/jobwait/jobwait"
	"github.com/jobwait/jobwait/wire"
)

// people answer escalations as the plan says. They find them in the list of waits, as people do.
type people struct {
	client client.Client
	crew   *crew
	waits  map[string]Wait // by workflow id
	// grant is how much time an extension gives.
	grant time.Duration

	mu sync.Mutex
	// said counts the answers to each wait. settled are the escalations that have been answered and the waits whose window is to
	// lapse. asked is when a wait was last looked at.
	said    map[string]int
	settled map[string]bool
	asked   map[string]time.Time
	// last reports whether everything has to end now: all questions are answered with close.
	last bool
	// counts are the numbers of decisions by kind, for the report.
	counts map[string]int
}

func newPeople(c *crew, plan Plan, options Options) *people {
	p := &people{client: c.client, crew: c, grant: min(45*time.Second, options.For/2), waits: map[string]Wait{}, said: map[string]int{}, settled: map[string]bool{}, asked: map[string]time.Time{}, counts: map[string]int{}}
	for _, w := range plan.Waits {
		p.waits[w.workflowID()] = w
	}
	return p
}

// People must not keep the server busy: at most atOnce waits are looked at concurrently, each at most once in notAgain, and after
// each round people rest for as long as it took.
const (
	atOnce   = 8
	notAgain = 3 * time.Second
)

// work answers until the context ends. Whatever fails is retried, because servers and workers come and go.
func (p *people) work(ctx context.Context) {
	for ctx.Err() == nil {
		began := time.Now()
		var group sync.WaitGroup
		for id := range slices.Values(p.asking(ctx)) {
			group.Go(func() { p.answer(ctx, id) })
		}
		group.Wait()
		pause(ctx, max(time.Second, time.Since(began)))
	}
}

// hurry makes people answer every question with close from now on.
func (p *people) hurry() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last, p.settled = true, map[string]bool{}
}

// asking returns some waits that show an escalation and have not been answered.
func (p *people) asking(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	query := wire.AttributePhase + `="` + string(wire.PhaseEscalated) + `" AND ExecutionStatus="Running"`
	listed, err := p.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: query, PageSize: 1000})
	if err != nil {
		return nil
	}
	var open []string
	for _, execution := range listed.GetExecutions() {
		if id := execution.GetExecution().GetWorkflowId(); len(open) < atOnce && p.looksAt(id) {
			open = append(open, id)
		}
	}
	return open
}

// looksAt reports whether it is time to look at a wait, and records that somebody does.
func (p *people) looksAt(workflowID string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.settled[workflowID] || time.Since(p.asked[workflowID]) < notAgain {
		return false
	}
	p.asked[workflowID] = time.Now()
	return true
}

// lets reports whether an escalation has been answered already.
func (p *people) lets(workflowID string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.settled[workflowID]
}

func (p *people) answer(ctx context.Context, workflowID string) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	view, err := p.view(ctx, workflowID)
	if err != nil || view.Escalation == nil || p.lets(view.Escalation.ID) {
		return
	}
	open := *view.Escalation
	answer, n := p.choose(workflowID, open)
	if answer.Kind == "" {
		p.settle(workflowID, "lapse")
		return
	}
	decision := p.decide(answer.Kind, open, n)
	if answer.Same && decision.CredentialRef != "" {
		decision.CredentialRef = p.waits[workflowID].Spec.CredentialRef
	}
	if decision.Kind == wire.DecisionAttach {
		if decision, err = p.find(ctx, workflowID, decision); err != nil {
			return
		}
	}
	if p.send(ctx, workflowID, view.Signing, decision, answer) == nil {
		p.settle(open.ID, string(decision.Kind))
		p.mu.Lock()
		p.said[workflowID] = n + 1
		p.mu.Unlock()
	}
}

func (p *people) view(ctx context.Context, workflowID string) (wire.OperationView, error) {
	var view wire.OperationView
	value, err := p.client.QueryWorkflow(ctx, workflowID, "", wire.QueryOperation)
	if err != nil {
		return view, err
	}
	return view, value.Get(&view)
}

func (p *people) settle(what, kind string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settled[what] = true
	p.counts[kind]++
}

func (p *people) count(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[what]++
}

// answersOf returns the answers to a wait's questions. The wait for a submitted job is not in the plan.
func (p *people) answersOf(workflowID string) []Answer {
	if w, planned := p.waits[workflowID]; planned {
		return w.Answers
	}
	return []Answer{{Kind: wire.DecisionExtend}, {Kind: wire.DecisionAcceptResult, BySignal: true}, {Kind: wire.DecisionClose}}
}

// choose returns the answer to the next question of a wait: that of the plan, or close if that is not offered.
func (p *people) choose(workflowID string, open wire.EscalationView) (Answer, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.said[workflowID]
	answers := p.answersOf(workflowID)
	answer := answers[min(n, len(answers)-1)]
	if p.last || answer.Kind != "" && !offers(open, answer.Kind) {
		answer.Kind = wire.DecisionClose
	}
	return answer, n
}

func offers(open wire.EscalationView, kind wire.DecisionKind) bool {
	return slices.ContainsFunc(open.Options, func(o wire.Option) bool { return o.Kind == kind })
}

// find looks for a job at the provider before it is attached, as a person does who must not have it made twice. If there is none it
// is submitted again. Somebody else may be waiting for it already.
func (p *people) find(ctx context.Context, workflowID string, decision wire.Decision) (wire.Decision, error) {
	w := p.waits[workflowID]
	jobs, err := p.crew.provider.list(ctx, w.Job)
	if err != nil {
		return decision, err
	}
	if len(jobs) == 0 {
		decision.Kind = wire.DecisionResubmit
		decision.DecisionID += "/" + string(decision.Kind)
		return decision, nil
	}
	job := jobs[len(jobs)-1].JobID
	decision.ProviderJobID, decision.StatusURL = job, p.crew.provider.statusURL(job)
	if w.Submit.Owned {
		return decision, p.own(ctx, w, job)
	}
	return decision, nil
}

// own starts a wait for a submitted job by somebody else.
func (p *people) own(ctx context.Context, w Wait, job string) error {
	spec := w.Spec
	spec.OperationID, spec.ProviderJobID, spec.StatusURL = "own-"+w.Job, job, p.crew.provider.statusURL(job)
	spec.DeadlineAt = time.Now().UTC().Truncate(time.Millisecond).Add(w.Life)
	_, err := jobwait.Start(ctx, p.client, spec, w.start())
	if errors.As(err, new(*jobwait.AlreadyOwnedError)) {
		return nil
	}
	return err
}

// decide returns the decision for an answer. An extension grants some of everything that is offered.
func (p *people) decide(kind wire.DecisionKind, open wire.EscalationView, n int) wire.Decision {
	d := wire.Decision{
		Kind: kind, DecisionID: fmt.Sprintf("%s/%s/%d", open.ID, kind, n), EscalationID: open.ID,
		DecidedBy: ana, Comment: "said in a run with faults",
	}
	i := slices.IndexFunc(open.Options, func(o wire.Option) bool { return o.Kind == kind })
	if i < 0 {
		return d
	}
	offered := open.Options[i]
	d.Seconds, d.StatusRequests = min(int(p.grant/time.Second), offered.MaxSeconds), offered.MaxStatusRequests
	d.TransportFailures, d.RateLimited = offered.MaxTransportFailures, offered.MaxRateLimited
	switch kind { //nolint:exhaustive // the others need nothing more
	case wire.DecisionUseCredential:
		d.CredentialRef = otherCredential
	case wire.DecisionTreatAsPending:
		d.RawState = unknownState
	}
	return d
}

// send delivers a decision. A refusal is an answer too: the question is settled, by this decision or another. If decisions must be
// signed, an unsigned or changed one is sent first; if not, one that grants too much.
func (p *people) send(ctx context.Context, workflowID string, signing *wire.SigningView, decision wire.Decision, how Answer) error {
	if signing != nil {
		if err := p.forge(ctx, workflowID, decision); err != nil {
			return err
		}
		var err error
		if decision, err = p.crew.keys[decision.DecidedBy].Sign(decision); err != nil {
			return err
		}
	} else if decision.StatusRequests > 0 {
		if err := p.exceed(ctx, workflowID, decision); err != nil {
			return err
		}
	}
	times := 1
	if how.Twice {
		times = 2
	}
	for range times {
		if err := p.sendOnce(ctx, workflowID, decision, how.BySignal); err != nil {
			return err
		}
	}
	return nil
}

// exceed sends a decision that grants more than is allowed.
func (p *people) exceed(ctx context.Context, workflowID string, decision wire.Decision) error {
	decision.DecisionID += "/exceeds"
	decision.StatusRequests = most.StatusRequests + 1
	p.count("exceeds")
	return p.sendOnce(ctx, workflowID, decision, len(decision.DecisionID)%2 == 0)
}

// forge sends a decision that is not signed, or that was changed after it was signed.
func (p *people) forge(ctx context.Context, workflowID string, decision wire.Decision) error {
	what := "unsigned"
	if len(decision.DecisionID)%2 == 0 {
		what = "changed"
		signed, err := p.crew.keys[decision.DecidedBy].Sign(decision)
		if err != nil {
			return err
		}
		decision = signed
	}
	decision.DecisionID += "/" + what
	p.count(what)
	return p.sendOnce(ctx, workflowID, decision, true)
}

func (p *people) sendOnce(ctx context.Context, workflowID string, decision wire.Decision, bySignal bool) error {
	if bySignal {
		return p.client.SignalWorkflow(ctx, workflowID, "", wire.SignalDecide, decision)
	}
	return p.update(ctx, workflowID, wire.UpdateDecide, decision, nil)
}

// update sends an update and reads its answer. A refusal is an answer, and leaves reply unchanged.
func (p *people) update(ctx context.Context, workflowID, name string, with, reply any) error {
	handle, err := p.client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: workflowID, UpdateName: name, Args: []any{with}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = handle.Get(ctx, reply)
	}
	if refused(err) {
		return nil
	}
	return err
}

func refused(err error) bool {
	var application *temporal.ApplicationError
	return errors.As(err, &application) &&
		(application.Type() == wire.ErrorDecisionRefused || application.Type() == wire.ErrorRequestRefused)
}

// The people. Each has a signing key.
const (
	ana = "ana@example.com"
	ben = "ben@example.com"
)

// cancelJob makes a person cancel the job while it is polled.
func (p *people) cancelJob(ctx context.Context, w Wait) error {
	decision := wire.Decision{
		Kind: wire.DecisionCancel, DecisionID: "cancel-" + w.Job, DecidedBy: ben, Comment: "no longer wanted",
	}
	signing, err := p.signing(ctx, w)
	if err != nil {
		return err
	}
	if signing != nil {
		decision.EscalationID = signing.WaitID
	}
	return p.send(ctx, w.workflowID(), signing, decision, Answer{BySignal: strings.HasSuffix(w.Job, "1")})
}

// signing returns what is needed to sign a decision on a wait; nil if it needs no signature. A wait that has not begun does not
// tell yet.
func (p *people) signing(ctx context.Context, w Wait) (*wire.SigningView, error) {
	if !w.Signed {
		return nil, nil //nolint:nilnil // nothing to sign
	}
	view, err := p.view(ctx, w.workflowID())
	if err == nil && view.Signing == nil {
		err = errors.New("faults: the wait does not say how decisions are signed")
	}
	return view.Signing, err
}

// nudge sends a nudge, as somebody who says that the job may have changed.
func (p *people) nudge(ctx context.Context, w Wait) error {
	p.count("nudge")
	return p.client.SignalWorkflow(ctx, w.workflowID(), "", wire.SignalNudge, wire.Nudge{Source: "a run with faults"})
}

// propose makes a program ask for more, and a person answer. Whether it is too late for that is for the wait to say.
func (p *people) propose(ctx context.Context, w Wait) error {
	request := wire.ExtensionRequest{
		RequestID: "more-" + w.Job, RequestedBy: "a program", Seconds: 20, StatusRequests: 3, ExpectedEffect: "it ends",
	}
	var reply wire.ExtensionReply
	if err := p.update(ctx, w.workflowID(), wire.UpdateRequestExtension, request, &reply); err != nil || reply.ProposalID == "" {
		return err
	}
	decision := wire.Decision{
		Kind: wire.DecisionRefuse, DecisionID: "answer-" + w.Job, EscalationID: reply.ProposalID, DecidedBy: ana, Comment: "no more of it",
	}
	if w.Granted {
		decision.Kind, decision.Comment = wire.DecisionExtend, "a little more"
		decision.Seconds, decision.StatusRequests = request.Seconds, request.StatusRequests
	}
	signing, err := p.signing(ctx, w)
	if err != nil {
		return err
	}
	p.count("proposal: " + string(decision.Kind))
	return p.send(ctx, w.workflowID(), signing, decision, Answer{})
}
