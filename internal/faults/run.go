// Package faults runs many waits on a real server while worker processes, the server and the provider are killed, stopped, frozen
// and replaced. What is left afterwards is checked by a package that is written from the rules and not from the code.
package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/jobwait/jobwait"
	"github.com/jobwait/jobwait/internal/faults/check"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// workflowID is the id of the submission if there is one, else that of the wait.
func (w Wait) workflowID() string {
	if w.Submit != nil {
		return wire.SubmitWorkflowID(w.Spec.Provider, w.Spec.Account, w.Job)
	}
	return w.waitID(w.Job)
}

func (w Wait) waitID(job string) string { return wire.WorkflowID(w.Spec.Provider, w.Spec.Account, job) }

func (w Wait) start() jobwait.StartOptions {
	if w.Signed {
		return jobwait.StartOptions{TaskQueue: signedQueue}
	}
	return jobwait.StartOptions{}
}

// submission returns the spec of the submission that leads to the wait.
func (w Wait) submission(spec wire.Spec, port string) wire.SubmitSpec {
	return wire.SubmitSpec{
		SubmissionID: w.Job, Provider: spec.Provider, Account: spec.Account, CredentialRef: spec.CredentialRef,
		Params: map[string]string{"port": port}, Body: []byte(`{"report": "` + w.Job + `"}`),
		MaxSubmitRequests: w.Submit.MaxRequests, OfferResubmit: w.Submit.OfferResubmit,
		Wait: wire.SubmitWait{
			DeadlineAt: spec.DeadlineAt, MaxStatusRequests: spec.MaxStatusRequests, MaxTransportFailures: spec.MaxTransportFailures,
			MaxRateLimited: spec.MaxRateLimited, Schedule: spec.Schedule, Escalation: spec.Escalation,
		},
	}
}

// scripts returns the scripts of the jobs that exist from the beginning; reports returns those of the submissions.
func (p Plan) scripts() map[string]waittest.JobScript {
	scripts := map[string]waittest.JobScript{}
	for _, w := range p.Waits {
		if w.Submit == nil {
			scripts[w.Job] = w.Script
		}
	}
	return scripts
}

func (p Plan) reports() map[string]waittest.SubmitScript {
	reports := map[string]waittest.SubmitScript{}
	for _, w := range p.Waits {
		if w.Submit != nil {
			reports[w.Job] = waittest.SubmitScript{Job: w.Script, Steps: w.Submit.Steps}
		}
	}
	return reports
}

// credentials returns the credentials that waits and people use, with their approval rules.
func (p Plan) credentials() map[string]wire.ApprovalRule {
	all := map[string]wire.ApprovalRule{}
	for _, w := range p.Waits {
		all[w.Spec.CredentialRef] = cmp.Or(w.Approval, wire.ApprovalNone)
	}
	for _, shared := range []string{sharedCredential, otherCredential} {
		all[shared] = wire.ApprovalNone
	}
	return all
}

// Run carries out a plan and checks what is left. What the product did wrong is in the report. The error is about the run itself;
// it is a *WorkerError if its workers keep ending.
func Run(ctx context.Context, options Options, binaries Binaries, progress io.Writer) (Report, error) {
	return with(ctx, options, binaries, progress, (*run).all)
}

// Recheck checks again what a run with the same options has left in its directory, to look into a violation or to try a change of
// the checker. Workers run to answer queries, so waits that are still open continue.
func Recheck(ctx context.Context, options Options, binaries Binaries, progress io.Writer) (Report, error) {
	return with(ctx, options, binaries, progress, (*run).check)
}

// with starts the processes, calls do, and ends them.
func with(ctx context.Context, options Options, binaries Binaries, progress io.Writer, do func(*run, context.Context) (Report, error)) (Report, error) {
	if err := options.Validate(); err != nil {
		return Report{}, err
	}
	options.Settle = cmp.Or(options.Settle, 3*time.Minute)
	plan := NewPlan(options)
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	crew, err := newCrew(ctx, options, plan, binaries, fail)
	if err != nil {
		return Report{}, err
	}
	r := &run{
		options: options, plan: plan, crew: crew, people: newPeople(crew, plan, options), progress: progress,
		began: time.Now(), done: map[Action]int{}, calls: make(chan struct{}, atOnce),
	}
	report, err := do(r, ctx)
	if ctx.Err() != nil {
		err = context.Cause(ctx) // other errors are consequences
	}
	return report, errors.Join(err, crew.close())
}

// run is a plan in progress.
type run struct {
	options  Options
	plan     Plan
	crew     *crew
	people   *people
	progress io.Writer
	began    time.Time
	calls    chan struct{} // limits the concurrent calls to the server

	started atomic.Int64

	mu     sync.Mutex
	rivals []check.Violation // second callers that became owners
	done   map[Action]int
	refuse int // second callers that were turned away
}

func (r *run) all(ctx context.Context) (Report, error) {
	away, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	group.Go(func() { r.people.work(away) })
	for _, w := range r.plan.Waits {
		group.Go(func() { r.live(away, w) })
	}
	err := r.breakThings(ctx)
	r.say("no more faults; %s", r.openLine(ctx))
	r.people.hurry()
	r.settle(ctx)
	stop()
	group.Wait()
	if err != nil {
		return Report{}, err
	}
	return r.check(ctx)
}

func (r *run) say(format string, args ...any) {
	_, _ = fmt.Fprintf(r.progress, "%6s  "+format+"\n", append([]any{time.Since(r.began).Round(time.Second)}, args...)...)
}

// breakThings carries out the faults in order, and repairs everything at the end.
func (r *run) breakThings(ctx context.Context) error {
	said := time.Now()
	for _, fault := range r.plan.Faults {
		pause(ctx, time.Until(r.began.Add(fault.At)))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := r.crew.do(ctx, fault); err != nil {
			return fmt.Errorf("faults: %s: %w", fault.Do, err)
		}
		r.done[fault.Do]++
		if fault.FullDisk {
			r.done[FullLog]++
		}
		if time.Since(said) > time.Minute {
			said = time.Now()
			r.say("%s", r.openLine(ctx))
		}
	}
	pause(ctx, time.Until(r.began.Add(r.options.For)))
	return r.crew.workers.mend()
}

// live starts a wait and does to it what the plan says.
func (r *run) live(ctx context.Context, w Wait) {
	pause(ctx, time.Until(r.began.Add(w.Start)))
	var now time.Time
	spec := w.Spec
	spec.StatusURL = r.crew.provider.statusURL(w.Job)
	r.insist(ctx, func(ctx context.Context) error {
		now = time.Now() // for each attempt: the server may be down for longer than Life
		spec.DeadlineAt = now.UTC().Truncate(time.Millisecond).Add(w.Life)
		return r.start(ctx, w, spec)
	})
	r.started.Add(1)
	var group sync.WaitGroup
	for _, act := range r.acts(w, spec) {
		if act.at > 0 {
			group.Go(func() {
				pause(ctx, time.Until(now.Add(act.at)))
				r.insist(ctx, act.do)
			})
		}
	}
	group.Wait()
}

// act is something that happens to a wait at a time after its start.
type act struct {
	at time.Duration
	do func(context.Context) error
}

func (r *run) acts(w Wait, spec wire.Spec) []act {
	acts := []act{
		{w.Cancel, func(ctx context.Context) error { return r.people.cancelJob(ctx, w) }},
		{w.Stop, func(ctx context.Context) error { return r.crew.client.CancelWorkflow(ctx, w.workflowID(), "") }},
		{w.Rival, func(ctx context.Context) error { return r.rival(ctx, w, spec) }},
		{w.Propose, func(ctx context.Context) error { return r.people.propose(ctx, w) }},
	}
	for _, at := range w.Nudges {
		acts = append(acts, act{at, func(ctx context.Context) error { return r.people.nudge(ctx, w) }})
	}
	return acts
}

// insist retries until the server answers, because it may be down for a while. The number of concurrent calls is limited, so that a
// server that comes back is not flooded.
func (r *run) insist(ctx context.Context, act func(context.Context) error) {
	for rest := time.Second; ctx.Err() == nil; rest = min(2*rest, 5*time.Second) {
		if err := r.once(ctx, act); err == nil || errors.As(err, new(*serviceerror.NotFound)) {
			return
		}
		pause(ctx, rest)
	}
}

// once makes one call to the server, when fewer than atOnce are in progress.
func (r *run) once(ctx context.Context, act func(context.Context) error) error {
	r.calls <- struct{}{}
	defer func() { <-r.calls }()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return act(ctx)
}

// start starts a wait or its submission. If the answer of an earlier attempt was lost with the server, this one finds that it has
// started.
func (r *run) start(ctx context.Context, w Wait, spec wire.Spec) error {
	if w.Submit != nil {
		_, err := jobwait.StartSubmit(ctx, r.crew.client, w.submission(spec, r.crew.provider.port()), w.start())
		if errors.As(err, new(*jobwait.AlreadySubmittedError)) {
			return nil
		}
		return err
	}
	_, err := jobwait.Start(ctx, r.crew.client, spec, w.start())
	if owned := new(jobwait.AlreadyOwnedError); errors.As(err, &owned) && owned.OperationID == spec.OperationID {
		return nil
	}
	return err
}

// rival is a second caller for the same job or submission. It must not become an owner, whether the first still runs or has ended.
func (r *run) rival(ctx context.Context, w Wait, spec wire.Spec) error {
	var err error
	if w.Submit != nil {
		_, err = jobwait.StartSubmit(ctx, r.crew.client, w.submission(spec, r.crew.provider.port()), w.start())
	} else {
		spec.OperationID = "rival-" + w.Job
		_, err = jobwait.Start(ctx, r.crew.client, spec, w.start())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	owned := new(jobwait.AlreadyOwnedError)
	switch {
	case errors.As(err, &owned):
		if told := owned.OperationID; told != "" && told != w.Spec.OperationID { // empty if the server did not say
			r.rivals = append(r.rivals, check.Violation{Job: w.Job, Rule: check.RuleOwner, Text: "a second caller was told that " + told + " owns the job"})
		}
	case errors.As(err, new(*jobwait.AlreadySubmittedError)):
	case err == nil:
		r.rivals = append(r.rivals, check.Violation{Job: w.Job, Rule: check.RuleOwner, Text: "a second caller became an owner"})
		return nil
	default:
		return err
	}
	r.refuse++
	return nil
}

// open returns the number of waits that have not ended; -1 if the server does not say.
func (r *run) open(ctx context.Context) int {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	counted, err := r.crew.client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: `ExecutionStatus="Running"`})
	if err != nil {
		return -1
	}
	return int(counted.GetCount())
}

func (r *run) openLine(ctx context.Context) string {
	n := r.open(ctx)
	if n < 0 {
		return "the server does not say how many waits are open"
	}
	return fmt.Sprintf("%d waits are open", n)
}

// settle waits until all waits have ended, for at most Options.Settle. The checker reports those that have not.
func (r *run) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.options.Settle)
	defer cancel()
	for ctx.Err() == nil && (r.open(ctx) != 0 || int(r.started.Load()) < len(r.plan.Waits)) {
		pause(ctx, time.Second)
	}
}
