package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/internal/devserver"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// wait is one history to record: what the provider does, what the spec says, and what people do.
type wait struct {
	name string
	// script is what the provider does; without steps, before says it.
	script waittest.JobScript
	spec   func(*wire.Spec)
	people func(ctx context.Context, b *bed.Bed, run client.WorkflowRun) error
	// messages says that the workflows that tell people of its end are recorded, too.
	messages bool
	// before is what happens before the wait begins; nil: nothing.
	before func(ctx context.Context, b *bed.Bed) error
	// begin starts what is recorded; nil: the wait for the spec.
	begin func(ctx context.Context, b *bed.Bed, spec wire.Spec) (client.WorkflowRun, error)
}

// group is a set of waits that share a server.
type group struct {
	server devserver.Options
	// keys are those that decisions must be signed by; nil: none.
	keys activities.DecisionKeySource
	// origins bound what is sent; nil: answers hold nobody back.
	origins *activities.Origins
	// ready readies the worker, and what its waits need besides; stop ends that. Nil: a stock worker will do.
	ready func(ctx context.Context, b *bed.Bed, options *bed.WorkerOptions) (stop func(), err error)
	waits []wait
}

func groups() []group {
	return []group{
		{server: devserver.Options{SearchAttributes: true, FastTimers: true}, waits: together(polling(), stops(), proposals(), cancels(), resets(), approvals())},
		{
			// The server suggests continue-as-new early, so that a short wait has several runs.
			server: devserver.Options{
				SearchAttributes: true, FastTimers: true,
				DynamicConfig: []string{"limit.historyCount.suggestContinueAsNew=60"},
			},
			waits: continued(),
		},
		signed(),
		{server: devserver.Options{SearchAttributes: true, FastTimers: true}, waits: told(), ready: channels},
		held(),
		submittedOnce(), submittedAgain(), keyForgotten(), toldItsResult(), attached(), resubmitted(), inPlaceOf(),
		elsewhere(), owned(), resetAfterAcceptance(), cancelledOverRuns(), called(), fetched(),
	}
}

func together(parts ...[]wait) []wait {
	var all []wait
	for _, part := range parts {
		all = append(all, part...)
	}
	return all
}

func (g group) record(ctx context.Context, waits []wait, dir string, progress io.Writer) error {
	b, err := bed.Open(ctx, bed.Options{Server: g.server, Progress: progress})
	if err != nil {
		return err
	}
	options := bed.WorkerOptions{
		Credentials:  credentials(b),
		DecisionKeys: g.keys,
		Origins:      g.origins,
		Worker:       worker.Options{Identity: "recorder"},
	}
	if g.ready != nil {
		end, err := g.ready(ctx, b, &options)
		if err != nil {
			return errors.Join(err, b.Close())
		}
		defer end()
	}
	stop, err := b.Work(options)
	if err != nil {
		return errors.Join(err, b.Close())
	}
	results := make([]error, len(waits))
	var all sync.WaitGroup
	for i, w := range waits {
		all.Go(func() { results[i] = w.record(ctx, b, dir, progress) })
	}
	all.Wait()
	stop()
	return errors.Join(errors.Join(results...), b.Close())
}

func credentials(b *bed.Bed) bed.Credentials {
	known := bed.Credentials{
		"wrong": b.Credential("1", "wrong-key"),
		"each":  ruled(b, wire.ApprovalPerRequest), "once": ruled(b, wire.ApprovalPerOperation),
	}
	for _, name := range append([]string{"demo", "other"}, heldApart...) {
		known[name] = b.Credential("1", bed.Key)
	}
	return known
}

// record plays one wait to its end and writes the history of each of its runs.
func (w wait) record(ctx context.Context, b *bed.Bed, dir string, progress io.Writer) error {
	if len(w.script.Steps) > 0 {
		if err := b.Provider.Set(w.name, w.script); err != nil {
			return err
		}
	}
	spec := b.Spec(w.name)
	if w.spec != nil {
		w.spec(&spec)
	}
	if w.before != nil {
		if err := w.before(ctx, b); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	begin := w.begin
	if begin == nil {
		begin = func(ctx context.Context, b *bed.Bed, spec wire.Spec) (client.WorkflowRun, error) {
			return b.Start(ctx, spec)
		}
	}
	run, err := begin(ctx, b, spec)
	if err != nil {
		return fmt.Errorf("%s: %w", w.name, err)
	}
	if w.people != nil {
		if err := w.people(ctx, b, run); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	if err := b.Client.GetWorkflow(ctx, run.GetID(), "").Get(ctx, nil); err != nil && !temporal.IsCanceledError(err) {
		return fmt.Errorf("%s: %w", w.name, err)
	}
	return w.save(ctx, b, run.GetID(), dir, progress)
}

func (w wait) save(ctx context.Context, b *bed.Bed, workflowID, dir string, progress io.Writer) error {
	runs, err := b.Runs(ctx, workflowID, "")
	if err != nil {
		return err
	}
	for i, runID := range runs {
		name := w.name
		if len(runs) > 1 {
			name += "_run" + strconv.Itoa(i+1)
		}
		history, err := waittest.FetchHistory(ctx, b.Client, workflowID, runID)
		if err != nil {
			return err
		}
		if err := write(dir, name, history); err != nil {
			return err
		}
		fmt.Fprintf(progress, "record: %s, %d events\n", name, len(history.GetEvents()))
		if w.messages {
			if err := w.saveMessages(ctx, b, history, dir, progress); err != nil {
				return err
			}
		}
	}
	return nil
}

// decide answers the open escalation by an update.
func decide(fill func(*wire.Decision)) func(context.Context, *bed.Bed, client.WorkflowRun) error {
	return func(ctx context.Context, b *bed.Bed, run client.WorkflowRun) error {
		open, err := b.Escalated(ctx, run)
		if err != nil {
			return err
		}
		_, err = b.Decide(ctx, run.GetID(), decision(open.ID, fill))
		return err
	}
}

// bySignal answers the open escalation by a signal of the given name.
func bySignal(name string, fill func(*wire.Decision)) func(context.Context, *bed.Bed, client.WorkflowRun) error {
	return func(ctx context.Context, b *bed.Bed, run client.WorkflowRun) error {
		open, err := b.Escalated(ctx, run)
		if err != nil {
			return err
		}
		return b.Client.SignalWorkflow(ctx, run.GetID(), "", name, decision(open.ID, fill))
	}
}

func decision(escalationID string, fill func(*wire.Decision)) wire.Decision {
	d := wire.Decision{
		DecisionID: "d-" + escalationID, EscalationID: escalationID, DecidedBy: "ana@example.com", Comment: "recorded",
	}
	fill(&d)
	return d
}

func extend(requests int) func(*wire.Decision) {
	return func(d *wire.Decision) {
		d.Kind, d.Seconds, d.StatusRequests = wire.DecisionExtend, 60, requests
	}
}

func kind(kind wire.DecisionKind) func(*wire.Decision) {
	return func(d *wire.Decision) { d.Kind = kind }
}

var done = waittest.Succeeded("https://files.example.com/done.csv") //nolint:gochecknoglobals // a constant in all but the language

func polling() []wait {
	return []wait{
		{name: "success", script: waittest.Script(
			waittest.State("queued"), waittest.Status(503).RetryAfter("2"), waittest.State("running").RetryAfter("Wed, 21 Oct 2015 07:28:00 GMT"),
			waittest.State("running").PollAfter(2), done)},
		{
			name: "nudged", script: waittest.Script(waittest.State("running").RetryAfter("2"), waittest.State("running"), done),
			spec: hourly, people: nudged,
		},
		{
			name: "expected_durations", script: waittest.Script(waittest.State("running").Times(5), done),
			spec: func(spec *wire.Spec) {
				spec.Schedule.MaxDelaySeconds = new(2)
				spec.Schedule.ExpectedP50Seconds, spec.Schedule.ExpectedP90Seconds = new(8), new(10)
			},
		},
		{name: "provider_failure", script: waittest.Script(waittest.State("running"), waittest.Failed("E42", "disk full"))},
		{name: "wait_cancelled", script: waittest.Script(waittest.State("running")), people: func(ctx context.Context, b *bed.Bed, run client.WorkflowRun) error {
			if _, err := b.Provider.AwaitRequests(ctx, "wait_cancelled", 2); err != nil {
				return err
			}
			return b.Client.CancelWorkflow(ctx, run.GetID(), "")
		}},
	}
}

// hourly asks at once and then every hour.
func hourly(spec *wire.Spec) {
	spec.Schedule = wire.Schedule{InitialDelaySeconds: new(0), BaseDelaySeconds: new(3600), MaxDelaySeconds: new(3600)}
	spec.DeadlineAt = time.Now().Add(5 * time.Hour)
}

// nudged nudges several times after each of the first two answers, and once with something that is no nudge.
func nudged(ctx context.Context, b *bed.Bed, run client.WorkflowRun) error {
	for polled := 1; polled <= 2; polled++ {
		_, err := b.Until(ctx, run, func(view wire.OperationView) bool {
			return view.NextPollAt != nil && view.Counters.StatusRequestsUsed == polled
		})
		if err != nil {
			return err
		}
		for _, payload := range []any{"now", wire.Nudge{Source: "webhook"}, wire.Nudge{Source: "webhook"}} {
			err := b.Client.SignalWorkflow(ctx, run.GetID(), "", wire.SignalNudge, payload)
			if err != nil && !errors.As(err, new(*serviceerror.NotFound)) { // the nudge before it may have led to the end
				return err
			}
		}
	}
	return nil
}

func stops() []wait {
	bad := waittest.Status(502)
	soon := func(after time.Duration) func(*wire.Spec) {
		return func(spec *wire.Spec) { spec.DeadlineAt = time.Now().Add(after) }
	}
	return []wait{
		{name: "unknown_state_extended", script: waittest.Script(waittest.State("paused"), done), people: decide(extend(4))},
		{
			name: "unknown_state_treated_as_pending", script: waittest.Script(waittest.State("paused").Times(2), done),
			people: bySignal(wire.SignalDecide, func(d *wire.Decision) {
				d.Kind, d.RawState, d.StatusRequests = wire.DecisionTreatAsPending, "paused", 4
			}),
		},
		{
			name: "request_budget_extended", script: waittest.Script(waittest.State("running").Times(3), done),
			spec: func(spec *wire.Spec) { spec.MaxStatusRequests = 2 }, people: bySignal(wire.SignalExtend, extendPlain(4)),
		},
		{name: "transport_budget_closed", script: waittest.Script(bad), people: decide(kind(wire.DecisionClose))},
		{
			name: "rate_limited_extended", script: waittest.Script(waittest.Status(429).RetryAfter("1").Times(3), done),
			people: decide(func(d *wire.Decision) { extend(3)(d); d.RateLimited = 2 }),
		},
		{name: "deadline_extended", script: waittest.Script(waittest.State("running")), spec: soon(8 * time.Second), people: deadlineExtended},
		{name: "retry_after_past_deadline", script: waittest.Script(waittest.Status(503).RetryAfter("3600")), people: decide(kind(wire.DecisionClose))},
		{
			name: "business_deadline_waived", script: waittest.Script(waittest.State("running").Times(6), done),
			spec:   func(spec *wire.Spec) { spec.BusinessDeadlineAt = new(time.Now().Add(5 * time.Second)) },
			people: decide(func(d *wire.Decision) { extend(4)(d); d.PastBusinessDeadline = true }),
		},
		{
			name: "authorization_denied_other_credential", script: waittest.Script(done),
			spec:   func(spec *wire.Spec) { spec.CredentialRef = "wrong" },
			people: decide(func(d *wire.Decision) { d.Kind, d.CredentialRef = wire.DecisionUseCredential, "other" }),
		},
		{name: "success_without_result_accepted", script: waittest.Script(waittest.State("succeeded")), people: decide(kind(wire.DecisionAcceptResult))},
		{name: "malformed_closed", script: waittest.Script(waittest.Raw("text/html", "<html>sign in</html>")), people: decide(kind(wire.DecisionClose))},
		{
			name: "partial_accepted", script: waittest.Script(waittest.Step{State: "partially_succeeded", ResultURL: "https://files.example.com/part.csv"}),
			people: decide(kind(wire.DecisionAcceptResult)),
		},
		{
			name: "needs_input_lapsed", script: waittest.Script(waittest.State("awaiting_review")),
			spec: func(spec *wire.Spec) { spec.Escalation.DecisionWindowSeconds = new(60) },
		},
		{name: "refused_then_extended", script: waittest.Script(waittest.State("paused"), done), people: refusedThenExtended},
	}
}

// deadlineExtended lets the job end only after somebody gave it more time.
func deadlineExtended(ctx context.Context, b *bed.Bed, run client.WorkflowRun) error {
	open, err := b.Escalated(ctx, run)
	if err != nil {
		return err
	}
	if err := b.Provider.Set("deadline_extended", waittest.Script(done)); err != nil {
		return err
	}
	_, err = b.Decide(ctx, run.GetID(), decision(open.ID, extend(4)))
	return err
}

func extendPlain(requests int) func(*wire.Decision) {
	return func(d *wire.Decision) { d.StatusRequests = requests }
}

// refusedThenExtended sends two decisions that do not apply, by signal and by update, before one that does.
func refusedThenExtended(ctx context.Context, b *bed.Bed, run client.WorkflowRun) error {
	open, err := b.Escalated(ctx, run)
	if err != nil {
		return err
	}
	if err := b.Client.SignalWorkflow(ctx, run.GetID(), "", wire.SignalDecide, "not a decision"); err != nil {
		return err
	}
	if _, err := b.Decide(ctx, run.GetID(), decision("op#9-00000000", extend(4))); err == nil {
		return errors.New("a decision for another escalation was accepted")
	}
	_, err = b.Decide(ctx, run.GetID(), decision(open.ID, extend(4)))
	return err
}

func proposals() []wait {
	return []wait{
		{
			name: "proposal_extended", script: waittest.Script(waittest.State("running"), done), spec: hourly,
			people: proposed("proposal_extended", func(ctx context.Context, b *bed.Bed, run client.WorkflowRun, id string) error {
				if _, err := b.Decide(ctx, run.GetID(), decision(id, kind(wire.DecisionExtend))); err == nil {
					return errors.New("a grant that moves nothing was accepted")
				}
				grant := decision(id, func(d *wire.Decision) {
					d.Kind, d.DecisionID, d.Seconds, d.StatusRequests = wire.DecisionExtend, "grant", 36_000, 4
				})
				if _, err := b.Decide(ctx, run.GetID(), grant); err != nil {
					return err
				}
				return b.Client.SignalWorkflow(ctx, run.GetID(), "", wire.SignalNudge, wire.Nudge{Source: "webhook"})
			}),
		},
		{
			name: "proposal_refused", script: waittest.Script(waittest.State("running"), done), spec: hourly,
			people: proposed("proposal_refused", func(ctx context.Context, b *bed.Bed, run client.WorkflowRun, id string) error {
				refuse := decision(id, kind(wire.DecisionRefuse))
				if err := b.Client.SignalWorkflow(ctx, run.GetID(), "", wire.SignalDecide, refuse); err != nil {
					return err
				}
				return b.Client.SignalWorkflow(ctx, run.GetID(), "", wire.SignalNudge, wire.Nudge{Source: "webhook"})
			}),
		},
		{
			name: "proposal_lapsed_at_a_stop", script: waittest.Script(waittest.State("running").Times(4), waittest.State("paused")),
			people: proposed("proposal_lapsed_at_a_stop", func(ctx context.Context, b *bed.Bed, run client.WorkflowRun, _ string) error {
				return decide(kind(wire.DecisionClose))(ctx, b, run)
			}),
		},
	}
}

// proposed asks for more after the first answer, twice with one request id, and hands the proposal to the people.
func proposed(job string, people func(ctx context.Context, b *bed.Bed, run client.WorkflowRun, id string) error) func(context.Context, *bed.Bed, client.WorkflowRun) error {
	return func(ctx context.Context, b *bed.Bed, run client.WorkflowRun) error {
		_, err := b.Until(ctx, run, func(view wire.OperationView) bool {
			return view.NextPollAt != nil && view.Counters.StatusRequestsUsed > 0
		})
		if err != nil {
			return err
		}
		var reply wire.ExtensionReply
		for range 2 {
			request := wire.ExtensionRequest{RequestID: job, RequestedBy: "agent-7", StatusRequests: 4, ExpectedEffect: "recorded"}
			handle, err := b.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
				WorkflowID: run.GetID(), UpdateName: wire.UpdateRequestExtension, Args: []any{request},
				WaitForStage: client.WorkflowUpdateStageCompleted,
			})
			if err != nil {
				return err
			}
			if err := handle.Get(ctx, &reply); err != nil {
				return err
			}
		}
		if people == nil {
			return nil
		}
		return people(ctx, b, run, reply.ProposalID)
	}
}

func cancels() []wait {
	return []wait{
		{name: "cancel_confirmed", script: waittest.Script(waittest.State("running")), people: cancelWhilePolling("cancel_confirmed")},
		{
			name: "cancel_despite_success", script: waittest.Script(waittest.State("running")).OnCancel(waittest.Status(409), done),
			people: cancelWhilePolling("cancel_despite_success"),
		},
	}
}

func cancelWhilePolling(job string) func(context.Context, *bed.Bed, client.WorkflowRun) error {
	return func(ctx context.Context, b *bed.Bed, run client.WorkflowRun) error {
		if _, err := b.Provider.AwaitRequests(ctx, job, 2); err != nil {
			return err
		}
		return b.Client.SignalWorkflow(ctx, run.GetID(), "", wire.SignalCancel, decision("", func(*wire.Decision) {}))
	}
}

func resets() []wait {
	return []wait{{
		name: "history_reset", script: waittest.Script(waittest.State("running").Times(3), done),
		people: func(ctx context.Context, b *bed.Bed, run client.WorkflowRun) error {
			if _, err := b.Provider.AwaitRequests(ctx, "history_reset", 2); err != nil {
				return err
			}
			reset, err := b.Reset(ctx, run, 4)
			if err != nil {
				return err
			}
			return decide(extend(4))(ctx, b, reset)
		},
	}}
}

func continued() []wait {
	return []wait{
		{
			name: "continue_as_new", script: waittest.Script(waittest.State("running").Times(14), done),
			spec: func(spec *wire.Spec) { spec.MaxStatusRequests = 30 },
		},
		{
			name: "proposal_carried_over", script: waittest.Script(waittest.State("running").Times(8), done),
			spec:   func(spec *wire.Spec) { spec.MaxStatusRequests = 30 },
			people: proposed("proposal_carried_over", nil),
		},
	}
}
