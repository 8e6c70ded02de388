package waittest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// KindSubmit is a POST that submits a job.
const KindSubmit RequestKind = "submit"

const submitPath = "/exports"

// SubmitScript says how a provider takes submissions: POST /exports, as the demo-export state table sends them. A provider
// without one knows no submissions.
//
// As JSON:
//
//	{"job": {"steps": [{"state": "succeeded", "result_url": "https://..."}]},
//	 "steps": [{"no_job": true, "answer": {"status": 503}}, {"answer": {"do": "reset"}}, {}]}
type SubmitScript struct {
	// Job is the script of every job that is made.
	Job JobScript `json:"job"`
	// Steps answer the submissions in order, whatever they ask for; the last repeats for ever. None: each makes a job and is
	// answered 202.
	Steps []SubmitStep `json:"steps,omitempty"`
	// NoKeys makes a job of every submission, as a provider does that does not know the header Idempotency-Key.
	NoKeys bool `json:"no_keys,omitempty"`
}

// SubmitStep is the reaction to one submission.
type SubmitStep struct {
	// NoJob says that the submission makes no job, whatever is answered.
	NoJob bool `json:"no_job,omitempty"`
	// Answer is what happens to the request once the job is made. Status 0 is 202, with the job's id and its Location. Repeat
	// counts here as well.
	Answer Step `json:"answer,omitzero"`
}

// Submission is one job that was made, or asked for again.
type Submission struct {
	JobID string
	// Key is what the header Idempotency-Key said.
	Key string
	// Requests is how many submissions were answered with this job.
	Requests int
}

// Validate reports the first step that cannot be played.
func (s SubmitScript) Validate() error {
	if err := s.Job.Validate(); err != nil {
		return fmt.Errorf("submit: job: %w", err)
	}
	for i, step := range s.Steps {
		if err := step.Answer.Validate(); err != nil {
			return fmt.Errorf("submit: step %d: %w", i+1, err)
		}
	}
	return nil
}

// submissions are what a provider was asked to make.
type submissions struct {
	script SubmitScript
	met    int // how many have met the first of the script's steps
	made   []Submission
}

// TakeSubmissions has the provider take submissions by that script from now on. What was submitted before is forgotten.
func (p *Provider) TakeSubmissions(script SubmitScript) error {
	if err := script.Validate(); err != nil {
		return fmt.Errorf("waittest: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.submitted = &submissions{script: script}
	return nil
}

// Submissions are the jobs that were made, in their order.
func (p *Provider) Submissions() []Submission {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.submitted == nil {
		return nil
	}
	return slices.Clone(p.submitted.made)
}

// SubmitRequests are the requests to submit that have arrived.
func (p *Provider) SubmitRequests() []LogEntry {
	return slices.DeleteFunc(p.Log(""), func(e LogEntry) bool { return e.Kind != KindSubmit })
}

// errNoSubmissions is the answer of a provider that knows none.
var errNoSubmissions = errors.New("no submissions")

// submission takes one: what happens to its request, and which job it is about.
func (p *Provider) submission(key string) (Step, string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := p.submitted
	if taken == nil {
		return Step{}, "", errNoSubmissions
	}
	step := taken.next()
	if step.NoJob {
		return step.Answer, "", nil
	}
	id := p.made(key)
	answer := step.Answer
	if answer.Status == 0 {
		answer.Status = http.StatusAccepted
	}
	if answer.Status < 300 {
		answer = answer.Header("Location", submitPath+"/"+id)
	}
	return answer, id, nil
}

func (s *submissions) next() SubmitStep {
	if len(s.script.Steps) == 0 {
		return SubmitStep{}
	}
	step := s.script.Steps[0]
	if s.met++; s.met >= max(step.Answer.Repeat, 1) && len(s.script.Steps) > 1 {
		s.script.Steps, s.met = s.script.Steps[1:], 0
	}
	return step
}

// made is the job of a key, made now where there is none. The provider is locked.
func (p *Provider) made(key string) string {
	taken := p.submitted
	known := slices.IndexFunc(taken.made, func(s Submission) bool { return key != "" && s.Key == key })
	if known >= 0 && !taken.script.NoKeys {
		taken.made[known].Requests++
		return taken.made[known].JobID
	}
	id := "exp_s" + strconv.Itoa(len(taken.made)+1) + "_" + strings.ReplaceAll(p.address[strings.LastIndexByte(p.address, ':')+1:], ":", "")
	taken.made = append(taken.made, Submission{JobID: id, Key: key, Requests: 1})
	p.jobs[id] = newJob(taken.script.Job)
	return id
}
