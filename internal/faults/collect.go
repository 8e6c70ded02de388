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

	"github.com/jobwait/jobwait/internal/faults/check"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// RuleReplay is the one rule that the checker leaves to the product's own tool: every history replays strictly.
const RuleReplay = "replay"

// sideBySide is how many waits are fetched and checked at once.
const sideBySide = 4

// check fetches what the witnesses have to say and holds it against the rules.
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
	report := r.newReport(runs, requests)
	var fleet check.Fleet
	var mu sync.Mutex
	r.forEach(func(w Wait) {
		seen, found, err := r.checkOne(ctx, w, runs[w.workflowID()], requests[w.Job])
		mu.Lock()
		defer mu.Unlock()
		report.Violations = append(report.Violations, found...)
		if len(found) > 0 {
			err = errors.Join(err, r.keep(w.Job, seen))
		}
		report.add(count(seen), err)
		fleet.Add(seen)
	})
	if report.Holds = fleet.Holds(); !r.options.Upgrades() { // workers of before do not hold each other's waits back
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

// listRuns lists all runs of all waits, whoever started them, by workflow id and in the order of their starts.
func (r *run) listRuns(ctx context.Context) (map[string][]listed, error) {
	runs := map[string][]listed{}
	var token []byte
	for {
		page, err := r.crew.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Query: `WorkflowType="` + wire.WorkflowAwaitJob + `"`, PageSize: 500, NextPageToken: token,
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

// requests are the provider's log by job. The provider is stopped first, so that its log is whole.
func (r *run) requests() (map[string][]check.Request, error) {
	if err := r.crew.provider.stop(); err != nil {
		return nil, err
	}
	all, err := readLog(r.crew.provider.logFile())
	byJob := map[string][]check.Request{}
	for _, request := range all {
		byJob[request.Job] = append(byJob[request.Job], request)
	}
	return byJob, err
}

// checkOne fetches what the witnesses say of a wait and checks it.
func (r *run) checkOne(ctx context.Context, w Wait, runs []listed, requests []check.Request) (check.Wait, []check.Violation, error) {
	seen := check.Wait{Spec: w.Spec, Results: []string{resultURL(w.Job)}, Requests: requests}
	var replays []check.Violation
	for _, listed := range runs {
		one, err := r.fetch(ctx, w.workflowID(), listed.id)
		if err != nil {
			return seen, nil, err
		}
		seen.Runs = append(seen.Runs, one)
		if r.options.SkipReplay {
			continue
		}
		if err := waittest.ReplayStrictly(one.History, waittest.ReplayOptions{}); err != nil {
			replays = append(replays, check.Violation{Job: w.Job, Rule: RuleReplay, Text: "run " + listed.id + ": " + err.Error()})
		}
	}
	if len(seen.Runs) > 0 {
		var err error
		if seen.Spec, err = started(seen.Runs[0]); err != nil {
			return seen, nil, err
		}
	}
	return seen, append(seen.Check(time.Now()), replays...), nil
}

// keep writes down what the witnesses say of a wait that has broken a rule: the histories as they are recorded for replay, the
// audits and the provider's log.
func (r *run) keep(job string, seen check.Wait) error {
	dir := filepath.Join(r.options.Dir, "broken", job)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	errs := []error{writeJSON(filepath.Join(dir, "requests.json"), seen.Requests)}
	for n, run := range seen.Runs {
		name := filepath.Join(dir, fmt.Sprintf("run%d", n+1))
		var history bytes.Buffer
		errs = append(errs, waittest.WriteHistory(&history, run.History),
			os.WriteFile(name+".json", history.Bytes(), 0o600), writeJSON(name+"-audit.json", run.Audit))
	}
	return errors.Join(errs...)
}

// started is the spec that a wait was started with: of several attempts, the one that came through.
func started(run check.Run) (wire.Spec, error) {
	input := run.History.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetInput().GetPayloads()
	var spec wire.Spec
	return spec, json.Unmarshal(input[0].GetData(), &spec)
}

// fetch reads a run's history and its audit. A worker that has just started may take a moment to answer the query. A wait that
// was stopped before it began has no audit and says so; the checker finds one that should have.
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
