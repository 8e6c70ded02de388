package waittest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

const submitPath = "/exports"

// SubmitScript scripts the answers to submissions: POST /exports, as the demo-export state table sends them. Without one, a Provider
// accepts no submissions.
//
// As JSON:
//
//	{"job": {"steps": [{"state": "succeeded", "result_url": "https://..."}]},
//	 "steps": [{"no_job": true, "answer": {"status": 503}}, {"answer": {"do": "reset"}}, {}]}
type SubmitScript struct {
	// Job is the script of every job that a submission makes.
	Job JobScript `json:"job"`
	// Steps answer the submissions in order; the last repeats for ever. If empty, each submission makes a job and is answered 202.
	Steps []SubmitStep `json:"steps,omitempty"`
	// NoKeys makes a new job of every submission, like a provider that ignores the Idempotency-Key header.
	NoKeys bool `json:"no_keys,omitempty"`
	// Reports are the scripts of submissions by the field "report" in their body. They have neither Reports nor Made. The fields above
	// apply to all other submissions, which are answered 404 if Job is left out.
	Reports map[string]SubmitScript `json:"reports,omitempty"`
	// Made are existing jobs, so that a provider that is started again knows their keys. ProviderScript.Jobs has their scripts.
	Made []Submission `json:"made,omitempty"`
}

// SubmitStep is one scripted reaction to a submission.
type SubmitStep struct {
	// NoJob makes no job for the submission, whatever the answer says.
	NoJob bool `json:"no_job,omitempty"`
	// Answer is what happens to the request once the job is made. Status 0 is 202, and 409 for a job whose id the submitter chose
	// and that there was before; both with the job's id and its Location. Repeat counts here as well.
	Answer Step `json:"answer,omitzero"`
}

// Submission is a job that submissions have made or asked for again.
type Submission struct {
	JobID string `json:"job_id"`
	// Key is the Idempotency-Key header, or the job_id in the body of the submission.
	Key string `json:"key,omitempty"`
	// Report is the field "report" in the body of the submission.
	Report string `json:"report,omitempty"`
	// Requests is the number of submissions that were answered with this job.
	Requests int `json:"requests"`
}

// Validate reports the first step that cannot be played.
func (s SubmitScript) Validate() error {
	for _, report := range slices.Sorted(maps.Keys(s.Reports)) {
		own := s.Reports[report]
		if len(own.Reports)+len(own.Made) > 0 {
			return fmt.Errorf("submit: report %q: it has reports or made of its own; write them beside it", report)
		}
		if err := own.Validate(); err != nil {
			return fmt.Errorf("report %q: %w", report, err)
		}
	}
	if err := s.Job.Validate(); err != nil && !s.forReportsAlone() {
		return fmt.Errorf("submit: job: %w", err)
	}
	for i, step := range s.Steps {
		if err := step.Answer.Validate(); err != nil {
			return fmt.Errorf("submit: step %d: %w", i+1, err)
		}
	}
	return nil
}

// forReportsAlone: without a job, what is not of one of the reports is answered 404.
func (s SubmitScript) forReportsAlone() bool { return len(s.Reports) > 0 && len(s.Job.Steps) == 0 }

// reactions are a script of submissions, and how far it has come.
type reactions struct {
	script SubmitScript
	met    int // how many have met the first of the script's steps
}

// submissions are what a provider was asked to make.
type submissions struct {
	reactions // to those that have none of their own
	reports   map[string]*reactions
	made      []Submission
}

func newSubmissions(script SubmitScript) *submissions {
	s := &submissions{reactions: reactions{script: script}, reports: map[string]*reactions{}, made: slices.Clone(script.Made)}
	for report, own := range script.Reports {
		s.reports[report] = &reactions{script: own}
	}
	return s
}

func (s *submissions) of(report string) *reactions {
	if own := s.reports[report]; own != nil {
		return own
	}
	return &s.reactions
}

// TakeSubmissions answers submissions by the script from now on. Earlier submissions are forgotten.
func (p *Provider) TakeSubmissions(script SubmitScript) error {
	if err := script.Validate(); err != nil {
		return fmt.Errorf("waittest: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.submitted = newSubmissions(script)
	return nil
}

// Submissions returns the jobs that submissions have made, in order.
func (p *Provider) Submissions() []Submission {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.submitted == nil {
		return nil
	}
	return slices.Clone(p.submitted.made)
}

// SubmitRequests returns the submit requests that have arrived.
func (p *Provider) SubmitRequests() []LogEntry {
	return slices.DeleteFunc(p.Log(""), func(e LogEntry) bool { return e.Kind != KindSubmit })
}

// errNoSubmissions is the answer of a provider that knows none.
var errNoSubmissions = errors.New("no submissions")

// wanted is what a submission says of itself.
type wanted struct{ key, report, id string }

func readWanted(header http.Header, body []byte) wanted {
	var fields map[string]any
	_ = json.Unmarshal(body, &fields) // what is no object says nothing
	report, _ := fields["report"].(string)
	id, _ := fields["job_id"].(string)
	if id != "" {
		return wanted{key: id, report: report, id: id}
	}
	return wanted{key: header.Get("Idempotency-Key"), report: report}
}

// submission takes one and notes what came of it: what happens to its request.
func (p *Provider) submission(want wanted, entry *LogEntry) (Step, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.submitted == nil {
		return Step{}, errNoSubmissions
	}
	by := p.submitted.of(want.report)
	if by.script.forReportsAlone() {
		return Step{}, errNoSubmissions
	}
	step := by.next()
	if step.NoJob {
		return step.Answer, nil
	}
	entry.Job, entry.Made = p.made(want, by.script)
	answer := step.Answer
	chosen := want.id != "" && !entry.Made
	switch {
	case answer.Status == 0 && chosen:
		answer.Status = http.StatusConflict
	case answer.Status == 0:
		answer.Status = http.StatusAccepted
	}
	if answer.Status < 300 || chosen {
		answer = answer.Header("Location", submitPath+"/"+entry.Job)
	}
	return answer, nil
}

func (r *reactions) next() SubmitStep {
	if len(r.script.Steps) == 0 {
		return SubmitStep{}
	}
	step := r.script.Steps[0]
	if r.met++; r.met >= max(step.Answer.Repeat, 1) && len(r.script.Steps) > 1 {
		r.script.Steps, r.met = r.script.Steps[1:], 0
	}
	return step
}

// made is the job of a key, and whether it is made now because there was none. The provider is locked.
func (p *Provider) made(want wanted, by SubmitScript) (id string, now bool) {
	taken := p.submitted
	known := slices.IndexFunc(taken.made, func(s Submission) bool { return want.key != "" && s.Key == want.key })
	if known >= 0 && !by.NoKeys {
		taken.made[known].Requests++
		return taken.made[known].JobID, false
	}
	if id = want.id; id == "" {
		id = "exp_s" + strconv.Itoa(len(taken.made)+1) + "_" + p.address[strings.LastIndexByte(p.address, ':')+1:]
	}
	taken.made = append(taken.made, Submission{JobID: id, Key: want.key, Report: want.report, Requests: 1})
	p.jobs[id] = newJob(by.Job)
	return id, true
}
