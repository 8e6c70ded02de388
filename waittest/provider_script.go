package waittest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"
)

// Do says what a Step does with a request.
type Do string

// What a Step can do.
const (
	// DoAnswer sends the whole answer; it is the default.
	DoAnswer Do = "answer"
	// DoCut announces the whole answer, sends half of its body and breaks the connection.
	DoCut Do = "cut"
	// DoClose closes the connection without an answer (the client reads EOF).
	DoClose Do = "close"
	// DoReset resets the connection without an answer (the client reads "connection reset by peer").
	DoReset Do = "reset"
)

// Step is one scripted reaction to a request. The zero Step answers 200 with a body that contains only job_id and updated_at.
//
// As JSON:
//
//	{"state": "running", "repeat": 2, "poll_after_seconds": 5}
//	{"status": 503, "headers": {"Retry-After": ["2"]}, "raw": "<html>busy</html>"}
//	{"do": "cut", "state": "running"}
//	{"hold": true, "state": "succeeded", "result_url": "https://files.example.com/exp_71c.csv"}
type Step struct {
	// Do is what happens; empty means DoAnswer.
	Do Do `json:"do,omitempty"`
	// Repeat is how many requests get this step; 0 means 1. The last step of a script repeats for ever.
	Repeat int `json:"repeat,omitempty"`
	// Hold keeps the request open until Provider.Release or until the client is gone, before the step does anything else.
	Hold bool `json:"hold,omitempty"`
	// DelayMilliseconds delays the answer, BodyDelayMilliseconds the second half of its body.
	DelayMilliseconds     int `json:"delay_milliseconds,omitempty"`
	BodyDelayMilliseconds int `json:"body_delay_milliseconds,omitempty"`

	// Status is the HTTP status, 200 to 599; 0 means 200.
	Status int `json:"status,omitempty"`
	// Headers are sent besides Content-Type and Date, or instead of them. Several values are sent as several lines; none leaves
	// the header out ({"Date": []}). Content-Length cannot be set.
	Headers http.Header `json:"headers,omitempty"`

	// The body's fields. An empty State is left out, like every other empty field; an empty JobID is the job that was asked for
	// and an empty UpdatedAt is the time of the answer.
	JobID            string    `json:"job_id,omitempty"`
	State            string    `json:"state,omitempty"`
	UpdatedAt        string    `json:"updated_at,omitempty"`
	ExpiresAt        string    `json:"expires_at,omitempty"`
	ResultURL        string    `json:"result_url,omitempty"`
	PollAfterSeconds *float64  `json:"poll_after_seconds,omitempty"`
	Error            *JobError `json:"error,omitempty"`
	// Fields sets further fields of the body, or the above to other types: {"result_url": null}.
	Fields map[string]json.RawMessage `json:"fields,omitempty"`
	// Omit leaves fields out that would be sent: ["job_id", "updated_at"].
	Omit []string `json:"omit,omitempty"`
	// Raw is sent as the body in place of all fields; a pointer to "" sends none.
	Raw *string `json:"raw,omitempty"`
}

// JobError is the provider's error of a job that failed.
type JobError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// State answers 200 with the job in that state.
func State(state string) Step { return Step{State: state} }

// Succeeded answers 200 with the state succeeded and its result.
func Succeeded(resultURL string) Step { return Step{State: "succeeded", ResultURL: resultURL} }

// Failed answers 200 with the state failed and the provider's reason.
func Failed(code, message string) Step {
	return Step{State: "failed", Error: &JobError{Code: code, Message: message}}
}

// Status answers that HTTP status without a body.
func Status(code int) Step { return Step{Status: code, Raw: new(string)} }

// Raw answers 200 with these bytes as the body, under that content type.
func Raw(contentType, body string) Step {
	return Step{Raw: &body}.Header("Content-Type", contentType)
}

// Redirect answers 302 to that location.
func Redirect(location string) Step { return Status(http.StatusFound).Header("Location", location) }

// CutOff announces a whole answer and breaks the connection half way through it.
func CutOff(state string) Step { return Step{Do: DoCut, State: state} }

// Hangup ends the connection without an answer.
func Hangup() Step { return Step{Do: DoClose} }

// ResetConnection breaks the connection without an answer.
func ResetConnection() Step { return Step{Do: DoReset} }

// Times repeats the step for n requests.
func (s Step) Times(n int) Step { s.Repeat = n; return s }

// Held keeps requests open until Provider.Release or until their client is gone, before the step does anything else.
func (s Step) Held() Step { s.Hold = true; return s }

// Delay delays the answer by d, rounded down to milliseconds.
func (s Step) Delay(d time.Duration) Step { s.DelayMilliseconds = int(d.Milliseconds()); return s }

// Header adds a header line to the answer.
func (s Step) Header(name, value string) Step {
	s.Headers = maps.Clone(s.Headers)
	if s.Headers == nil {
		s.Headers = http.Header{}
	}
	name = http.CanonicalHeaderKey(name)
	s.Headers[name] = append(slices.Clone(s.Headers[name]), value)
	return s
}

// RetryAfter adds a Retry-After header.
func (s Step) RetryAfter(value string) Step { return s.Header("Retry-After", value) }

// PollAfter adds the field poll_after_seconds, a hint when to ask again.
func (s Step) PollAfter(seconds float64) Step { s.PollAfterSeconds = &seconds; return s }

// Field sets a field of the body to the given JSON.
func (s Step) Field(name, text string) Step {
	s.Fields = maps.Clone(s.Fields)
	if s.Fields == nil {
		s.Fields = map[string]json.RawMessage{}
	}
	s.Fields[name] = json.RawMessage(text)
	return s
}

// Omitting leaves the named fields out of the body.
func (s Step) Omitting(names ...string) Step {
	s.Omit = append(slices.Clone(s.Omit), names...)
	return s
}

// Validate reports the first field that cannot be used.
func (s Step) Validate() error {
	switch {
	case !slices.Contains([]Do{"", DoAnswer, DoCut, DoClose, DoReset}, s.Do):
		return fmt.Errorf("do %q is not one of answer, cut, close and reset", s.Do)
	case s.Repeat < 0:
		return fmt.Errorf("repeat %d is negative", s.Repeat)
	case s.DelayMilliseconds < 0 || s.BodyDelayMilliseconds < 0:
		return fmt.Errorf("delay of %d and body delay of %d milliseconds: one is negative", s.DelayMilliseconds, s.BodyDelayMilliseconds)
	case s.Status != 0 && (s.Status < 200 || s.Status > 599):
		return fmt.Errorf("status %d is not between 200 and 599", s.Status)
	case s.Raw != nil && s.hasFields():
		return errors.New("raw and fields of the body are both given; raw replaces them all")
	}
	return s.validateContent()
}

func (s Step) hasFields() bool {
	return s.JobID != "" || s.State != "" || s.UpdatedAt != "" || s.ExpiresAt != "" || s.ResultURL != "" ||
		s.PollAfterSeconds != nil || s.Error != nil || len(s.Fields) > 0 || len(s.Omit) > 0
}

func (s Step) validateContent() error {
	if s.Do == DoCut && (s.bodyless() || s.Raw != nil && *s.Raw == "") {
		return fmt.Errorf("do %q with status %d has no body to cut", s.Do, s.Status)
	}
	for name := range s.Headers {
		if http.CanonicalHeaderKey(name) == "Content-Length" {
			return fmt.Errorf("header %q is set by the provider; use do %q for an answer that is too short", name, DoCut)
		}
	}
	for name, text := range s.Fields {
		if !json.Valid(text) {
			return fmt.Errorf("field %q: %q is not JSON", name, text)
		}
	}
	return nil
}

// bodyless: HTTP forbids these statuses a body.
func (s Step) bodyless() bool {
	return s.Status == http.StatusNoContent || s.Status == http.StatusNotModified
}

// body renders the answer's body at that time.
func (s Step) body(job string, now time.Time) []byte {
	if s.bodyless() {
		return nil
	}
	if s.Raw != nil {
		return []byte(*s.Raw)
	}
	fields := map[string]any{"job_id": job, "updated_at": now.UTC().Format(time.RFC3339Nano)}
	for name, text := range map[string]string{
		"job_id": s.JobID, "state": s.State, "updated_at": s.UpdatedAt, "expires_at": s.ExpiresAt, "result_url": s.ResultURL,
	} {
		if text != "" {
			fields[name] = text
		}
	}
	if s.PollAfterSeconds != nil {
		fields["poll_after_seconds"] = *s.PollAfterSeconds
	}
	if s.Error != nil {
		fields["error"] = s.Error
	}
	for name, text := range s.Fields {
		fields[name] = text
	}
	for _, name := range s.Omit {
		delete(fields, name)
	}
	body, err := json.Marshal(fields)
	if err != nil {
		panic(err) // strings, numbers and JSON that Validate has seen
	}
	return append(body, '\n')
}

// JobScript scripts the answers about one job.
//
// As JSON:
//
//	{"steps": [{"state": "queued"}, {"state": "running", "repeat": 3}, {"state": "succeeded", "result_url": "https://..."}],
//	 "cancel": [{"answer": {"status": 409}}, {"answer": {"status": 202}, "then": [{"state": "cancelled"}]}]}
type JobScript struct {
	// Steps answer the status requests in order; the last repeats for ever. At least one.
	Steps []Step `json:"steps"`
	// Cancel answers the cancel calls in order; the last repeats for ever. If empty, every call is answered 202, and the job is
	// cancelling for one status request and cancelled from then on.
	Cancel []CancelStep `json:"cancel,omitempty"`
}

// CancelStep is the reaction to one cancel call.
type CancelStep struct {
	Answer Step `json:"answer"`
	// Then replaces the remaining steps of the job as soon as the call arrives, whether or not it is answered. Empty keeps them.
	Then []Step `json:"then,omitempty"`
}

// Script returns a job that answers these steps.
func Script(steps ...Step) JobScript { return JobScript{Steps: steps} }

// OnCancel adds the reaction to the next cancel call: its answer, and the steps that follow it.
func (s JobScript) OnCancel(answer Step, then ...Step) JobScript {
	s.Cancel = append(slices.Clone(s.Cancel), CancelStep{Answer: answer, Then: then})
	return s
}

func defaultCancel() CancelStep {
	return CancelStep{
		Answer: Step{Status: http.StatusAccepted, State: "cancelling"},
		Then:   []Step{State("cancelling"), State("cancelled")},
	}
}

// Validate reports the first step that cannot be played.
func (s JobScript) Validate() error {
	if len(s.Steps) == 0 {
		return errors.New("no steps; give at least one")
	}
	if err := validateSteps("step", s.Steps); err != nil {
		return err
	}
	for i, cancel := range s.Cancel {
		if err := cancel.Answer.Validate(); err != nil {
			return fmt.Errorf("cancel %d: %w", i+1, err)
		}
		if err := validateSteps(fmt.Sprintf("cancel %d: then step", i+1), cancel.Then); err != nil {
			return err
		}
	}
	return nil
}

func validateSteps(place string, steps []Step) error {
	for i, step := range steps {
		if err := step.Validate(); err != nil {
			return fmt.Errorf("%s %d: %w", place, i+1, err)
		}
	}
	return nil
}

// ProviderScript is the script file of a whole provider.
//
//	{"jobs": {"exp_71c": {"steps": [...]}}, "default": {"steps": [...]}}
type ProviderScript struct {
	// Jobs by their id.
	Jobs map[string]JobScript `json:"jobs,omitempty"`
	// Default is the script of every other job id, each of which starts from the beginning. Nil means that other ids get 404.
	Default *JobScript `json:"default,omitempty"`
	// Submit says how submissions are handled. Nil means that there are none.
	Submit *SubmitScript `json:"submit,omitempty"`
}

// ReadProviderScript reads a script file. An unknown field, a second value and a step that cannot be played are errors.
func ReadProviderScript(from io.Reader) (ProviderScript, error) {
	var script ProviderScript
	if err := decodeStrictly(from, &script); err != nil {
		return ProviderScript{}, fmt.Errorf("waittest: script: %w", err)
	}
	return script, script.Validate()
}

// Validate reports the first job, by id, that cannot be played.
func (s ProviderScript) Validate() error {
	for _, job := range slices.Sorted(maps.Keys(s.Jobs)) {
		if err := validateJob(job, s.Jobs[job]); err != nil {
			return err
		}
	}
	if s.Submit != nil {
		if err := s.Submit.Validate(); err != nil {
			return fmt.Errorf("waittest: %w", err)
		}
	}
	if s.Default == nil {
		return nil
	}
	if err := s.Default.Validate(); err != nil {
		return fmt.Errorf("waittest: default job: %w", err)
	}
	return nil
}

func validateJob(job string, script JobScript) error {
	if job == "" {
		return errors.New("waittest: a job has an empty id")
	}
	if err := script.Validate(); err != nil {
		return fmt.Errorf("waittest: job %q: %w", job, err)
	}
	return nil
}

func decodeStrictly(from io.Reader, into any) error {
	content, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more after the first JSON value")
	}
	return nil
}
