package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jobwait/jobwait/internal/child"
	"github.com/jobwait/jobwait/internal/faults/check"
	"github.com/jobwait/jobwait/waittest"
)

// providerKey is the bearer token that the provider requires.
const providerKey = "faults-key"

// provider is the fake provider as a separate process. All its processes append to one log file.
type provider struct {
	binary, address, dir string
	jobs                 map[string]waittest.JobScript
	reports              map[string]waittest.SubmitScript // by submission id, which the bodies contain
	log                  io.Writer
	running              *child.Process
}

func (p *provider) logFile() string { return filepath.Join(p.dir, "provider.jsonl") }

func (p *provider) statusURL(job string) string { return p.url("/exports/" + job) }

func (p *provider) url(path string) string { return "http://" + p.address + path }

func (p *provider) port() string { return p.address[strings.LastIndexByte(p.address, ':')+1:] }

// start starts the provider with every job in the state that follows from the log. The scripts are in a file, because a provider
// that comes back must know its jobs at its first request.
func (p *provider) start() error {
	requests, err := readLog(p.logFile())
	if err != nil {
		return err
	}
	file := filepath.Join(p.dir, "jobs.json")
	if err := writeJSON(file, p.script(requests)); err != nil {
		return err
	}
	args := []string{"--addr", p.address, "--key-env", "FAULTS_KEY", "--script", file, "--log", p.logFile()}
	p.running, err = child.Start(child.Command{Path: p.binary, Args: args, Env: []string{"FAULTS_KEY=" + providerKey}, Log: p.log})
	if err != nil {
		return err
	}
	return p.awaitReady()
}

// script returns what is left to answer after these requests.
func (p *provider) script(requests []check.Request) waittest.ProviderScript {
	script := waittest.ProviderScript{Jobs: remaining(withMade(p.jobs, p.reports, requests), requests)}
	if len(p.reports) > 0 {
		script.Submit = &waittest.SubmitScript{Reports: untaken(p.reports, requests), Made: made(requests)}
	}
	return script
}

// made returns the jobs that these requests have made.
func made(requests []check.Request) []waittest.Submission {
	var jobs []waittest.Submission
	for _, request := range requests {
		if i := slices.IndexFunc(jobs, func(s waittest.Submission) bool { return s.JobID == request.Job }); request.Made {
			jobs = append(jobs, waittest.Submission{JobID: request.Job, Key: request.IdempotencyKey, Report: request.Report, Requests: 1})
		} else if i >= 0 && request.Kind == string(waittest.KindSubmit) {
			jobs[i].Requests++
		}
	}
	return jobs
}

// withMade returns the jobs of a provider including those that these requests have made.
func withMade(jobs map[string]waittest.JobScript, reports map[string]waittest.SubmitScript, requests []check.Request) map[string]waittest.JobScript {
	all := map[string]waittest.JobScript{}
	maps.Copy(all, jobs)
	for _, job := range made(requests) {
		all[job.JobID] = reports[job.Report].Job
	}
	return all
}

// untaken returns the submit steps that are left after these requests; the last one stays forever.
func untaken(reports map[string]waittest.SubmitScript, requests []check.Request) map[string]waittest.SubmitScript {
	left := maps.Clone(reports)
	for _, request := range requests {
		if script := left[request.Report]; request.Kind == string(waittest.KindSubmit) && len(script.Steps) > 1 {
			script.Steps = script.Steps[1:]
			left[request.Report] = script
		}
	}
	return left
}

// list asks the provider which jobs there are for a submission, as a person would.
func (p *provider) list(ctx context.Context, report string) ([]waittest.Submission, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url("/_submissions"), http.NoBody)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var all []waittest.Submission
	err = json.NewDecoder(answer.Body).Decode(&all)
	return slices.DeleteFunc(all, func(s waittest.Submission) bool { return s.Report != report }), err
}

func (p *provider) awaitReady() error {
	for range 200 {
		answer, err := http.Get(p.url("/_health")) //nolint:noctx // a local process that answers or is not there
		if err == nil {
			return answer.Body.Close()
		}
		select {
		case <-p.running.Ended():
			return errors.New("faults: the provider ended; see its log")
		case <-time.After(50 * time.Millisecond):
		}
	}
	return errors.New("faults: the provider does not answer")
}

// stop ends the provider gracefully: if it were killed, requests in progress would be missing in its log.
func (p *provider) stop() error {
	if p.running == nil {
		return nil
	}
	return p.running.Stop(syscall.SIGTERM, 10*time.Second)
}

// remaining returns what is left of the scripts after these requests.
func remaining(jobs map[string]waittest.JobScript, requests []check.Request) map[string]waittest.JobScript {
	left := map[string]waittest.JobScript{}
	for id, script := range jobs {
		if len(script.Cancel) == 0 { // the provider's default, written out so that it can be shortened
			script = script.OnCancel(waittest.Step{Status: http.StatusAccepted, State: "cancelling"}, waittest.State("cancelling"), waittest.State("cancelled"))
		}
		left[id] = script
	}
	for _, request := range requests {
		script, ok := left[request.Job]
		if !ok {
			continue
		}
		switch waittest.RequestKind(request.Kind) {
		case waittest.KindStatus:
			script.Steps = afterOne(script.Steps)
		case waittest.KindCancel:
			script = afterCancel(script)
		case waittest.KindSubmit, waittest.KindOther:
		}
		left[request.Job] = script
	}
	return left
}

// afterOne returns the steps that are left after one request; the last step stays forever.
func afterOne(steps []waittest.Step) []waittest.Step {
	if len(steps) == 1 {
		return steps
	}
	if steps[0].Repeat <= 1 {
		return steps[1:]
	}
	steps = slices.Clone(steps)
	steps[0].Repeat--
	return steps
}

func afterCancel(script waittest.JobScript) waittest.JobScript {
	if then := script.Cancel[0].Then; len(then) > 0 {
		script.Steps = then
	}
	if len(script.Cancel) > 1 {
		script.Cancel = script.Cancel[1:]
	}
	return script
}

// readLog returns the provider's log in the order of arrival; a missing file is an empty log.
func readLog(path string) ([]check.Request, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var requests []check.Request
	for lines := json.NewDecoder(file); ; {
		var request check.Request
		switch err := lines.Decode(&request); {
		case errors.Is(err, io.EOF):
			slices.SortStableFunc(requests, func(a, b check.Request) int { return a.ReceivedAt.Compare(b.ReceivedAt) })
			return requests, nil
		case err != nil:
			return nil, fmt.Errorf("faults: %s: %w", path, err)
		}
		requests = append(requests, request)
	}
}

func writeJSON(path string, value any) error {
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o600)
}

// freeAddress returns an address on this machine on which nobody listens now.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed in the next line
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
