// Package faults runs many waits on a real server with worker processes and a provider that are killed, stopped, frozen and
// replaced meanwhile, and has everything that is left afterwards checked by a package that knows the rules and not the code.
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

// workflowID is that of the submission where there is one.
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

// submission is the spec that leads to the wait.
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

// scripts are those of the jobs that are there, reports those of the jobs that are submitted.
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

// credentials are those that the waits and the people use, with when a person must approve them.
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

// Run carries out a plan and checks what is left. An error says that the run itself could not be made, a *WorkerError that its workers
// do not stay; what the product did wrong is in the report.
func Run(ctx context.Context, options Options, binaries Binaries, progress io.Writer) (Report, error) {
	return with(ctx, options, binaries, progress, (*run).all)
}

// Recheck checks again what a run with the same options has left in its directory, to look into a violation or to try a
// change of the checker. Workers run for the queries; waits that are still open go on.
func Recheck(ctx context.Context, options Options, binaries Binaries, progress io.Writer) (Report, error) {
	return with(ctx, options, binaries, progress, (*run).check)
}

// with starts the processes for something and ends them.
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
		err = context.Cause(ctx) // what else went wrong comes of it
	}
	return report, errors.Join(err, crew.close())
}

// run is a plan being carried out.
type run struct {
	options  Options
	plan     Plan
	crew     *crew
	people   *people
	progress io.Writer
	began    time.Time
	calls    chan struct{} // a place for each call to the server that is under way

	started atomic.Int64

	mu     sync.Mutex
	rivals []check.Violation // second owners that were let in
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

// breakThings carries out the faults in turn, and mends everything at the end.
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

// live is one wait: it is started, and what the plan has for it happens to it.
func (r *run) live(ctx context.Context, w Wait) {
	pause(ctx, time.Until(r.began.Add(w.Start)))
	var now time.Time
	spec := w.Spec
	spec.StatusURL = r.crew.provider.statusURL(w.Job)
	r.insist(ctx, func(ctx context.Context) error {
		now = time.Now() // anew: the server may have been down for longer than the job has
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

// act is what happens to a wait so long after its start.
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

// insist tries again until the server says something: it may be down for a while. A server that comes back finds a few calls waiting
// and not all of them.
func (r *run) insist(ctx context.Context, act func(context.Context) error) {
	for rest := time.Second; ctx.Err() == nil; rest = min(2*rest, 5*time.Second) {
		if err := r.once(ctx, act); err == nil || errors.As(err, new(*serviceerror.NotFound)) {
			return
		}
		pause(ctx, rest)
	}
}

// once makes one call to the server, of the few that are made at once.
func (r *run) once(ctx context.Context, act func(context.Context) error) error {
	r.calls <- struct{}{}
	defer func() { <-r.calls }()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return act(ctx)
}

// start starts a wait, or its submission. An answer may be lost with the server: then the second call finds that it has started.
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

// rival is a second caller for the same job, or the same submission. It must not become an owner, whether the first goes on or
// has ended.
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
		if told := owned.OperationID; told != "" && told != w.Spec.OperationID { // empty: the server did not say
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

// open counts the waits that have not ended; -1 when the server does not say.
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

// settle waits for the last waits, as long as is allowed. Those that are left are the checker's to find.
func (r *run) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.options.Settle)
	defer cancel()
	for ctx.Err() == nil && (r.open(ctx) != 0 || int(r.started.Load()) < len(r.plan.Waits)) {
		pause(ctx, time.Second)
	}
}
