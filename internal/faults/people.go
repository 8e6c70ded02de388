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

	"github.com/jobwait/jobwait/wire"
)

// people answer escalations as the plan says. They look who asks in the list of waits, as people do.
type people struct {
	client client.Client
	waits  map[string]Wait // by workflow id
	// grant is how much time an extension gives.
	grant time.Duration

	mu sync.Mutex
	// said counts the answers to each wait; settled are the escalations that need no more; asked is when a wait was last looked at.
	said    map[string]int
	settled map[string]bool
	asked   map[string]time.Time
	// last says that everything has to end now: whatever is asked is closed.
	last bool
	// counts are the decisions by kind, for the report.
	counts map[string]int
}

func newPeople(c client.Client, plan Plan, options Options) *people {
	p := &people{client: c, grant: min(45*time.Second, options.For/2), waits: map[string]Wait{}, said: map[string]int{}, settled: map[string]bool{}, asked: map[string]time.Time{}, counts: map[string]int{}}
	for _, w := range plan.Waits {
		p.waits[w.workflowID()] = w
	}
	return p
}

// The server has more to do than to be asked: so many waits are looked at side by side, each no more often than that, and after a
// round that took long there is as long a rest.
const (
	atOnce   = 8
	notAgain = 3 * time.Second
)

// work answers until the context ends. Whatever fails is tried again: servers and workers come and go.
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

// hurry makes people close whatever is asked from now on.
func (p *people) hurry() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last, p.settled = true, map[string]bool{}
}

// asking are waits that show an escalation and have not been answered, a few at once.
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

// looksAt reports whether it is time to look at a wait, and notes that somebody does.
func (p *people) looksAt(workflowID string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.settled[workflowID] || time.Since(p.asked[workflowID]) < notAgain {
		return false
	}
	p.asked[workflowID] = time.Now()
	return true
}

// lets reports a wait whose open question is to lapse: it is looked at no more until everything has to end.
func (p *people) lets(workflowID string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.settled[workflowID]
}

func (p *people) answer(ctx context.Context, workflowID string) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	value, err := p.client.QueryWorkflow(ctx, workflowID, "", wire.QueryEscalation)
	if err != nil {
		return
	}
	var open *wire.EscalationView
	if err := value.Get(&open); err != nil || open == nil || p.lets(open.ID) {
		return
	}
	answer, n := p.choose(workflowID, *open)
	if answer.Kind == "" {
		p.settle(workflowID, "lapse")
		return
	}
	decision := p.decide(answer.Kind, *open, n)
	if p.send(ctx, workflowID, decision, answer) == nil {
		p.settle(open.ID, string(answer.Kind))
		p.mu.Lock()
		p.said[workflowID] = n + 1
		p.mu.Unlock()
	}
}

func (p *people) settle(what, kind string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settled[what] = true
	p.counts[kind]++
}

// choose is what is said to the nth question of a wait: what the plan has, or close where that is not offered.
func (p *people) choose(workflowID string, open wire.EscalationView) (Answer, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.said[workflowID]
	answers := p.waits[workflowID].Answers
	answer := answers[min(n, len(answers)-1)]
	offered := slices.ContainsFunc(open.Options, func(o wire.Option) bool { return o.Kind == answer.Kind })
	if p.last || answer.Kind != "" && !offered {
		answer.Kind = wire.DecisionClose
	}
	return answer, n
}

// decide writes an answer out. An extension gives some of everything, as far as it is offered.
func (p *people) decide(kind wire.DecisionKind, open wire.EscalationView, n int) wire.Decision {
	d := wire.Decision{
		Kind: kind, DecisionID: fmt.Sprintf("%s/%s/%d", open.ID, kind, n), EscalationID: open.ID,
		DecidedBy: "ana@example.com", Comment: "said in a run with faults",
	}
	i := slices.IndexFunc(open.Options, func(o wire.Option) bool { return o.Kind == kind })
	if i < 0 {
		return d
	}
	most := open.Options[i]
	d.Seconds, d.StatusRequests = min(int(p.grant/time.Second), most.MaxSeconds), min(6, most.MaxStatusRequests)
	d.TransportFailures, d.RateLimited = min(4, most.MaxTransportFailures), min(3, most.MaxRateLimited)
	switch kind { //nolint:exhaustive // the others need nothing more
	case wire.DecisionUseCredential:
		d.CredentialRef = "other"
	case wire.DecisionTreatAsPending:
		d.RawState = unknownState
	}
	return d
}

// send delivers a decision. A refusal is an answer too: the question is settled, by this decision or another.
func (p *people) send(ctx context.Context, workflowID string, decision wire.Decision, how Answer) error {
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

func (p *people) sendOnce(ctx context.Context, workflowID string, decision wire.Decision, bySignal bool) error {
	if bySignal {
		return p.client.SignalWorkflow(ctx, workflowID, "", wire.SignalDecide, decision)
	}
	handle, err := p.client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: workflowID, UpdateName: wire.UpdateDecide, Args: []any{decision}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = handle.Get(ctx, nil)
	}
	if refused(err) {
		return nil
	}
	return err
}

func refused(err error) bool {
	var application *temporal.ApplicationError
	return errors.As(err, &application) && application.Type() == wire.ErrorDecisionRefused
}

// cancelJob is a person who has the job cancelled while it is polled.
func (p *people) cancelJob(ctx context.Context, w Wait) error {
	decision := wire.Decision{
		Kind: wire.DecisionCancel, DecisionID: "cancel-" + w.Job, DecidedBy: "ben@example.com", Comment: "no longer wanted",
	}
	return p.sendOnce(ctx, w.workflowID(), decision, strings.HasSuffix(w.Job, "1"))
}
