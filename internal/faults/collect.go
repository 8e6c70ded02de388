package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/internal/faults/check"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// RuleReplay is the rule that the product's own tool checks instead of the checker: every history must replay strictly.
const RuleReplay = "replay"

// sideBySide is how many waits are fetched and checked concurrently.
const sideBySide = 4

// check fetches what the witnesses say and checks it against the rules.
func (r *run) check(ctx context.Context) (Report, error) {
	r.say("fetching histories; %s", r.openLine(ctx))
	runs, err := r.listRuns(ctx)
	if err != nil {
		return Report{}, err
	}
	requests, err := r.requests()
	if err != nil {
		return Report{}, err
	}
	report := r.newReport(requests)
	report.Violations = append(report.Violations, r.unplanned(runs, requests)...)
	var fleet check.Fleet
	var mu sync.Mutex
	r.forEach(func(w Wait) {
		seen := r.see(ctx, w, runs, requests)
		mu.Lock()
		defer mu.Unlock()
		report.add(seen)
		seen.join(&fleet)
	})
	if report.Holds = fleet.Holds(); !r.options.Upgrades() { // old workers do not hold back each other's waits
		report.Violations = append(report.Violations, fleet.Check()...)
	}
	check.Sort(report.Violations)
	if len(report.Violations) > 0 {
		err = writeJSON(filepath.Join(r.options.Dir, "violations.json"), report.Violations)
	}
	return report, errors.Join(err, report.failure)
}

func (r *run) forEach(do func(Wait)) {
	var group sync.WaitGroup
	slots := make(chan struct{}, sideBySide)
	for _, w := range r.plan.Waits {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			do(w)
		})
	}
	group.Wait()
}

// listed is a run as the server lists it.
type listed struct {
	id      string
	started time.Time
}

// listRuns returns all runs of all waits, whoever started them, by workflow id and in the order of their starts.
func (r *run) listRuns(ctx context.Context) (map[string][]listed, error) {
	runs := map[string][]listed{}
	var token []byte
	for {
		page, err := r.crew.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Query:    `WorkflowType IN ("` + wire.WorkflowAwaitJob + `", "` + wire.WorkflowSubmitAndAwait + `")`,
			PageSize: 500, NextPageToken: token,
		})
		if err != nil {
			return nil, fmt.Errorf("faults: listing the runs: %w", err)
		}
		for _, execution := range page.GetExecutions() {
			id := execution.GetExecution().GetWorkflowId()
			runs[id] = append(runs[id], listed{execution.GetExecution().GetRunId(), execution.GetStartTime().AsTime()})
		}
		if token = page.GetNextPageToken(); len(token) == 0 {
			break
		}
	}
	for _, of := range runs {
		slices.SortFunc(of, func(a, b listed) int { return a.started.Compare(b.started) })
	}
	return runs, nil
}

// received is the provider's log: status and cancel requests by job, submit requests by submission, and the jobs that each
// submission has made.
type received struct {
	byJob, submits map[string][]check.Request
	made           map[string][]string
}

// requests reads the provider's log. It first stops the provider, so that the log is complete.
func (r *run) requests() (received, error) {
	got := received{map[string][]check.Request{}, map[string][]check.Request{}, map[string][]string{}}
	if err := r.crew.provider.stop(); err != nil {
		return got, err
	}
	all, err := readLog(r.crew.provider.logFile())
	for _, request := range all {
		if request.Kind == string(waittest.KindSubmit) {
			got.submits[request.Report] = append(got.submits[request.Report], request)
		} else {
			got.byJob[request.Job] = append(got.byJob[request.Job], request)
		}
		if request.Made {
			got.made[request.Report] = append(got.made[request.Report], request.Job)
		}
	}
	return got, err
}

// unplanned returns violations for workflows and requests that belong neither to the plan nor to a job that was made.
func (r *run) unplanned(runs map[string][]listed, requests received) []check.Violation {
	workflows, jobs, reports := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, w := range r.plan.Waits {
		workflows[w.workflowID()] = true
		jobs[w.Job], reports[w.Job] = w.Submit == nil, w.Submit != nil
		for _, job := range requests.made[w.Job] {
			workflows[w.waitID(job)], jobs[job] = true, true
		}
	}
	return slices.Concat(
		nobodys(runs, workflows, check.RuleOwner, "a workflow that is nobody's"),
		nobodys(requests.byJob, jobs, check.RuleReservation, "the provider has received a request about a job that is nobody's"),
		nobodys(requests.submits, reports, check.RuleReservation, "the provider has received a request to submit what is nobody's"),
	)
}

// nobodys returns a violation for each name that was found and belongs to nobody.
func nobodys[T any](found map[string]T, known map[string]bool, rule, text string) []check.Violation {
	var unknown []check.Violation
	for name := range found {
		if !known[name] {
			unknown = append(unknown, check.Violation{Job: name, Rule: rule, Text: text})
		}
	}
	return unknown
}

// seen is what the witnesses say about a planned wait: a wait, or a submission and the waits for its jobs.
type seen struct {
	waits      []check.Wait
	submission *check.Submission
	found      []check.Violation
	err        error
}

func (s seen) join(fleet *check.Fleet) {
	for _, wait := range s.waits {
		fleet.Add(wait)
	}
	if s.submission != nil {
		fleet.AddSubmission(*s.submission)
	}
}

// see fetches what the witnesses say about a planned wait and checks it.
func (r *run) see(ctx context.Context, w Wait, runs map[string][]listed, requests received) seen {
	if w.Submit == nil {
		return r.seeWait(ctx, w, w.Job, runs, requests)
	}
	var s seen
	waits := map[string]check.Wait{}
	for _, job := range requests.made[w.Job] {
		waits[job] = check.Wait{}
		if len(runs[w.waitID(job)]) > 0 {
			of := r.seeWait(ctx, w, job, runs, requests)
			s.waits, s.found, s.err = append(s.waits, of.waits...), append(s.found, of.found...), errors.Join(s.err, of.err)
			waits[job] = of.waits[0]
		} else if n := len(requests.byJob[job]); n > 0 {
			s.found = append(s.found, check.Violation{Job: job, Rule: check.RuleReservation, Text: fmt.Sprintf("%d requests without a wait", n)})
		}
	}
	submission, found, err := r.seeSubmission(ctx, w, waits, runs, requests)
	s.submission, s.found, s.err = &submission, append(s.found, found...), errors.Join(s.err, err)
	return s
}

// seeWait checks the wait for one job.
func (r *run) seeWait(ctx context.Context, w Wait, job string, runs map[string][]listed, requests received) seen {
	wait := check.Wait{
		Spec: w.Spec, Results: []string{resultURL(w.Job)}, Requests: requests.byJob[job], Keys: r.crew.trusted(w), Approval: w.Approval, Most: most,
	}
	found, err := r.fetchRuns(ctx, job, w.waitID(job), runs, &wait.Runs)
	wait.Runs = check.Waited(wait.Runs)
	if err == nil && len(wait.Runs) > 0 {
		err = started(wait.Runs[0], &wait.Spec)
	}
	if err != nil {
		return seen{waits: []check.Wait{wait}, err: err}
	}
	found = append(found, wait.Check(time.Now())...)
	return seen{waits: []check.Wait{wait}, found: found, err: r.keep(job, wait.Requests, wait.Runs, found)}
}

func (r *run) seeSubmission(
	ctx context.Context, w Wait, waits map[string]check.Wait, runs map[string][]listed, requests received,
) (check.Submission, []check.Violation, error) {
	s := check.Submission{
		Keyed: w.Spec.Provider != bed.ProviderPlain, Requests: requests.submits[w.Job], Waits: waits, Keys: r.crew.trusted(w), Most: most,
		Spec: wire.SubmitSpec{SubmissionID: w.Job},
	}
	found, err := r.fetchRuns(ctx, w.Job, w.workflowID(), runs, &s.Runs)
	if err == nil && len(s.Runs) > 0 {
		err = started(s.Runs[0], &s.Spec)
	}
	if err != nil {
		return s, nil, err
	}
	found = append(found, s.Check(time.Now())...)
	return s, found, r.keep(w.Job, s.Requests, s.Runs, found)
}

// fetchRuns fetches the runs of a workflow id and replays them strictly.
func (r *run) fetchRuns(ctx context.Context, name, workflowID string, runs map[string][]listed, into *[]check.Run) ([]check.Violation, error) {
	var replays []check.Violation
	for _, listed := range runs[workflowID] {
		one, err := r.fetch(ctx, workflowID, listed.id)
		if err != nil {
			return nil, err
		}
		*into = append(*into, one)
		if r.options.SkipReplay {
			continue
		}
		if err := waittest.ReplayStrictly(one.History, waittest.ReplayOptions{}); err != nil {
			replays = append(replays, check.Violation{Job: name, Rule: RuleReplay, Text: "run " + listed.id + ": " + err.Error()})
		}
	}
	return replays, nil
}

// keep writes down what the witnesses say if a rule was broken: the histories in the form that replays, the audits and the
// provider's log.
func (r *run) keep(name string, requests []check.Request, runs []check.Run, found []check.Violation) error {
	if len(found) == 0 {
		return nil
	}
	dir := filepath.Join(r.options.Dir, "broken", name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	errs := []error{writeJSON(filepath.Join(dir, "requests.json"), requests)}
	for n, run := range runs {
		file := filepath.Join(dir, fmt.Sprintf("run%d", n+1))
		var history bytes.Buffer
		errs = append(errs, waittest.WriteHistory(&history, run.History),
			os.WriteFile(file+".json", history.Bytes(), 0o600), writeJSON(file+"-audit.json", run.Audit))
	}
	return errors.Join(errs...)
}

// started returns the spec that a workflow was started with: of several attempts, that of the successful one.
func started(run check.Run, into any) error {
	input := run.History.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetInput().GetPayloads()
	return json.Unmarshal(input[0].GetData(), into)
}

// fetch reads a run's history and its audit. A worker that has just started may take a moment to answer the query. A wait that was
// stopped before it began has no audit and says so; the checker reports it if it should have one.
func (r *run) fetch(ctx context.Context, workflowID, runID string) (check.Run, error) {
	one := check.Run{ID: runID}
	var err error
	if one.History, err = waittest.FetchHistory(ctx, r.crew.client, workflowID, runID); err != nil {
		return one, err
	}
	for range 5 {
		var answer interface{ Get(any) error }
		if answer, err = r.crew.client.QueryWorkflow(ctx, workflowID, runID, wire.QueryAudit); err == nil {
			return one, answer.Get(&one.Audit)
		}
		if none := new(serviceerror.QueryFailed); errors.As(err, &none) {
			return one, nil
		}
		pause(ctx, time.Second)
	}
	return one, fmt.Errorf("faults: the audit of %q: %w", workflowID, err)
}
