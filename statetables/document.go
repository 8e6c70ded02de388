package statetables

import "go.yaml.in/yaml/v3"

// Document is the content of one table file. Its field tags are the keys of the format; docs/state-tables.md explains them and their
// values. Expressions are CEL; templates contain names of values in braces.
type Document struct {
	Provider        string               `yaml:"provider"`
	Title           string               `yaml:"title"`
	Sources         map[string]SourceDoc `yaml:"sources"`
	ReadOnly        *AttestationDoc      `yaml:"read_only"`
	Params          map[string]ParamDoc  `yaml:"params"`
	AccountMustBe   string               `yaml:"account_must_be"`
	Request         RequestDoc           `yaml:"request"`
	ConsoleURL      string               `yaml:"console_url"`
	HTTPCodes       map[string]CodeDoc   `yaml:"http_codes"`
	NotFound        *NotFoundDoc         `yaml:"not_found"`
	RateLimited     *RateLimitedDoc      `yaml:"rate_limited"`
	JobID           string               `yaml:"job_id"`
	State           string               `yaml:"state"`
	CaseInsensitive *CitationDoc         `yaml:"case_insensitive"`
	Rules           []RuleDoc            `yaml:"rules"`
	States          map[string][]string  `yaml:"states"`
	UnknownStates   *StanceDoc           `yaml:"unknown_states"`
	AbsentState     *StanceDoc           `yaml:"absent_state"`
	SuccessRequires map[string]string    `yaml:"success_requires"`
	Result          map[string]RefDoc    `yaml:"result"`
	Error           ErrorDoc             `yaml:"error"`
	Progress        string               `yaml:"progress"`
	UpdatedAt       *TimeDoc             `yaml:"updated_at"`
	ExpiresAt       *TimeDoc             `yaml:"expires_at"`
	NextURL         string               `yaml:"next_url"`
	RequestID       string               `yaml:"request_id"`
	Hints           []HintDoc            `yaml:"hints"`
	Cancel          *CancelDoc           `yaml:"cancel"`
	Schedule        ScheduleDoc          `yaml:"schedule"`
	Submit          *SubmitDoc           `yaml:"submit"`
	Callback        *CallbackDoc         `yaml:"callback"`
	Retention       *KeepDoc             `yaml:"retention"`
	RateLimits      []SayingDoc          `yaml:"rate_limits"`
	ExampleJob      ExampleJobDoc        `yaml:"example_job"`
	Examples        []ExampleDoc         `yaml:"examples"`
}

// SourceDoc is where facts were read: At names the page or file, Read the day, and For the sections of the table, or parts
// of them, that were read there. A fact with a source of its own names it in its place.
type SourceDoc struct {
	At   string   `yaml:"at"`
	Read string   `yaml:"read"`
	For  []string `yaml:"for"`
}

// AttestationDoc says why the status GET is known to have no side effects: by a source, or because it was tried on a day.
type AttestationDoc struct {
	Source string `yaml:"source"`
	Tried  string `yaml:"tried"`
}

// CitationDoc names the source of a fact that has no other value.
type CitationDoc struct {
	Source string `yaml:"source"`
}

// StanceDoc says how a state is read that is absent or that the table does not list.
type StanceDoc struct {
	ReadAs string `yaml:"read_as"`
	Source string `yaml:"source"`
}

// SayingDoc is a statement of a source, for people.
type SayingDoc struct {
	Says   string `yaml:"says"`
	Source string `yaml:"source"`
}

// ParamDoc declares a param, which a spec must set unless it has a default.
type ParamDoc struct {
	Pattern string  `yaml:"pattern"`
	About   string  `yaml:"about"`
	Default *string `yaml:"default"`
}

// RequestDoc describes the status GET.
type RequestDoc struct {
	Method              string            `yaml:"method"`
	URL                 string            `yaml:"url"`
	StatusURLQuery      []string          `yaml:"status_url_query"`
	Query               map[string]string `yaml:"query"`
	Headers             map[string]string `yaml:"headers"`
	Origins             []string          `yaml:"origins"`
	Auth                AuthDocs          `yaml:"auth"`
	AllowPrivateNetwork bool              `yaml:"allow_private_network"`
}

// AuthDocs is written as a list, or as its only element.
type AuthDocs []AuthDoc

// AuthDoc is one way in which the provider accepts a credential.
type AuthDoc struct {
	Scheme string `yaml:"scheme"`
	Name   string `yaml:"name"`
	Prefix string `yaml:"prefix"`
}

// CodeDoc says what an HTTP status code means for the job: always, or if the condition OnlyIf holds.
type CodeDoc struct {
	ReadAs string `yaml:"read_as"`
	Name   string `yaml:"name"`
	Body   string `yaml:"body"`
	OnlyIf string `yaml:"only_if"`
	Source string `yaml:"source"`
}

// NotFoundDoc is what 404 and 410 mean.
type NotFoundDoc struct {
	Grace       *GraceDoc     `yaml:"grace"`
	Retention   *RetentionDoc `yaml:"retention"`
	AfterCancel *CitationDoc  `yaml:"after_cancel"`
}

// RateLimitedDoc is the condition under which an answer with a status of 400 or above is read like a 429.
type RateLimitedDoc struct {
	When   string `yaml:"when"`
	Source string `yaml:"source"`
}

// GraceDoc is for how long, and how often, a submitted job may be not found yet. A Count of 0 means any number.
type GraceDoc struct {
	Seconds int    `yaml:"seconds"`
	Count   int    `yaml:"count"`
	Source  string `yaml:"source"`
}

// RetentionDoc is how long after its submission a job that is not found is read as expired.
type RetentionDoc struct {
	AfterSeconds int    `yaml:"after_seconds"`
	Source       string `yaml:"source"`
}

// RuleDoc reads a state that its word alone does not determine.
type RuleDoc struct {
	When   string `yaml:"when"`
	ReadAs string `yaml:"read_as"`
	Name   string `yaml:"name"`
}

// RefDoc is a result reference. It is written as an expression, or as a mapping with the template of a derived URL, or with an
// expression and the statement that the next status answer contains a fresh reference.
type RefDoc struct {
	Read      string       `yaml:"read"`
	URL       string       `yaml:"url"`
	Renewable *CitationDoc `yaml:"renewable"`
}

// ErrorDoc is the provider's own error.
type ErrorDoc struct {
	Code    string `yaml:"code"`
	Message string `yaml:"message"`
}

// TimeDoc is where to read a time, and its format.
type TimeDoc struct {
	Read   string `yaml:"read"`
	Format string `yaml:"format"`
	Zone   string `yaml:"zone"`
}

// HintDoc is where to read when the provider wants to be asked again, and in which unit.
type HintDoc struct {
	Read   string `yaml:"read"`
	Unit   string `yaml:"unit"`
	AtMost *int   `yaml:"at_most"`
}

// CancelDoc describes the cancel call.
type CancelDoc struct {
	Method       string            `yaml:"method"`
	URL          string            `yaml:"url"`
	Query        map[string]string `yaml:"query"`
	Headers      map[string]string `yaml:"headers"`
	Body         *yaml.Node        `yaml:"body"`
	Expect       []int             `yaml:"expect"`
	AcceptedWhen string            `yaml:"accepted_when"`
	Asynchronous *bool             `yaml:"asynchronous"`
	States       []string          `yaml:"states"`
	AllowedWhen  string            `yaml:"allowed_when"`
	Destructive  bool              `yaml:"destructive"`
	Confirm      ConfirmDoc        `yaml:"confirm"`
	Source       string            `yaml:"source"`
}

// ConfirmDoc is how many requests and seconds a cancel grants for confirming the cancellation.
type ConfirmDoc struct {
	Requests int `yaml:"requests"`
	Seconds  int `yaml:"seconds"`
}

// ScheduleDoc is advice on pacing, and two bounds that override the spec.
type ScheduleDoc struct {
	InitialDelaySeconds   *int `yaml:"initial_delay_seconds"`
	BaseDelaySeconds      *int `yaml:"base_delay_seconds"`
	MaxDelaySeconds       *int `yaml:"max_delay_seconds"`
	MinDelaySeconds       *int `yaml:"min_delay_seconds"`
	RequestTimeoutSeconds *int `yaml:"request_timeout_seconds"`
	// Expected is how long such jobs take, according to the provider or to a measurement.
	Expected *ExpectedDoc `yaml:"expected"`
	Floor    *SecondsDoc  `yaml:"floor"`
	Cap      *SecondsDoc  `yaml:"cap"`
}

// ExpectedDoc is the median and the 90th percentile of how long jobs take from their submission.
type ExpectedDoc struct {
	P50Seconds int    `yaml:"p50_seconds"`
	P90Seconds int    `yaml:"p90_seconds"`
	Source     string `yaml:"source"`
}

// SecondsDoc is a documented bound.
type SecondsDoc struct {
	Seconds int    `yaml:"seconds"`
	Source  string `yaml:"source"`
}

// SubmitDoc says how the provider recognises a repeated submission and, with a Request, how to submit. Only SubmitAndAwait uses the
// latter.
type SubmitDoc struct {
	Idempotency string             `yaml:"idempotency"`
	Name        string             `yaml:"name"`
	MaxLength   int                `yaml:"max_length"`
	Valid       *SecondsDoc        `yaml:"valid"`
	Source      string             `yaml:"source"`
	Note        string             `yaml:"note"`
	Request     *SubmitRequestDoc  `yaml:"request"`
	Answer      *SubmitAnswerDoc   `yaml:"answer"`
	Examples    []SubmitExampleDoc `yaml:"examples"`
}

// SubmitRequestDoc describes the request that submits a job. Its body is taken from the spec, as JSON or in the form of SendAs; {key} in
// the URL is the idempotency key.
type SubmitRequestDoc struct {
	Method  string            `yaml:"method"`
	URL     string            `yaml:"url"`
	Query   map[string]string `yaml:"query"`
	Headers map[string]string `yaml:"headers"`
	SendAs  string            `yaml:"send_as"`
	Source  string            `yaml:"source"`
}

// SubmitAnswerDoc is how the answer to a submission is read.
type SubmitAnswerDoc struct {
	Accepted  []int             `yaml:"accepted"`
	Done      []int             `yaml:"done"`
	Refused   []int             `yaml:"refused"`
	Later     []int             `yaml:"later"`
	Exists    []int             `yaml:"exists"`
	JobID     string            `yaml:"job_id"`
	StatusURL string            `yaml:"status_url"`
	Params    map[string]string `yaml:"params"`
	ReadAs    string            `yaml:"read_as"`
	Source    string            `yaml:"source"`
}

// SubmitExampleDoc is an answer to a submission, and the reading that it must have.
type SubmitExampleDoc struct {
	Name  string        `yaml:"name"`
	Key   string        `yaml:"key"`
	Given GivenDoc      `yaml:"given"`
	Want  WantSubmitDoc `yaml:"want"`
}

// WantSubmitDoc is the reading that an example of submitting must have. All fields are compared.
type WantSubmitDoc struct {
	Verdict   string            `yaml:"verdict"`
	Detail    string            `yaml:"detail"`
	JobID     string            `yaml:"job_id"`
	StatusURL string            `yaml:"status_url"`
	Params    map[string]string `yaml:"params"`
	Category  string            `yaml:"category"`
}

// CallbackDoc describes the webhook by which the provider reports that something happened to a job. Only the job's id is read from it:
// the wait then asks for the status sooner.
type CallbackDoc struct {
	JobID     string               `yaml:"job_id"`
	Account   string               `yaml:"account"`
	When      string               `yaml:"when"`
	Signature SignatureDoc         `yaml:"signature"`
	Source    string               `yaml:"source"`
	Examples  []CallbackExampleDoc `yaml:"examples"`
}

// SignatureDoc says how the provider signs its webhooks.
type SignatureDoc struct {
	Scheme           string `yaml:"scheme"`
	Header           string `yaml:"header"`
	Prefix           string `yaml:"prefix"`
	Field            string `yaml:"field"`
	Algorithm        string `yaml:"algorithm"`
	Encoding         string `yaml:"encoding"`
	Signed           string `yaml:"signed"`
	TimestampHeader  string `yaml:"timestamp_header"`
	TimestampField   string `yaml:"timestamp_field"`
	ToleranceSeconds *int   `yaml:"tolerance_seconds"`
}

// CallbackExampleDoc is a webhook, and the reading that it must have. All fields of Want are compared.
type CallbackExampleDoc struct {
	Name    string             `yaml:"name"`
	Headers map[string]string  `yaml:"headers"`
	Path    string             `yaml:"path"`
	Body    *yaml.Node         `yaml:"body"`
	Want    CallbackReadingDoc `yaml:"want"`
}

// CallbackReadingDoc is a CallbackReading in an example.
type CallbackReadingDoc struct {
	JobID   string `yaml:"job_id"`
	Account string `yaml:"account"`
	Ignored bool   `yaml:"ignored"`
}

// KeepDoc is how long a job or its result can be read.
type KeepDoc struct {
	Seconds    int    `yaml:"seconds"`
	CountsFrom string `yaml:"counts_from"`
	Source     string `yaml:"source"`
	Note       string `yaml:"note"`
}

// ExampleJobDoc is the job that the examples of a table are about. An example may override its fields.
type ExampleJobDoc struct {
	ID        string            `yaml:"id"`
	Account   string            `yaml:"account"`
	Params    map[string]string `yaml:"params"`
	StatusURL string            `yaml:"status_url"`
}

// ExampleDoc is an answer to a status request, and the reading that it must have.
type ExampleDoc struct {
	Name  string        `yaml:"name"`
	Job   ExampleJobDoc `yaml:"job"`
	Given GivenDoc      `yaml:"given"`
	Want  WantDoc       `yaml:"want"`
}

// GivenDoc is the answer of an example, and what had happened before it.
type GivenDoc struct {
	Status         *int              `yaml:"status"`
	Headers        map[string]string `yaml:"headers"`
	Body           *yaml.Node        `yaml:"body"`
	ReceivedAt     string            `yaml:"received_at"`
	ElapsedSeconds int               `yaml:"elapsed_seconds"`
	Answered       bool              `yaml:"answered"`
	NotFound       int               `yaml:"not_found"`
	AfterCancel    bool              `yaml:"after_cancel"`
}

// WantDoc is the reading that an example must have. Answer, Detail, Category, RawState, Unproven, OtherJob, Result, NextURL and Rejected
// are always compared, the other fields only if they are set.
type WantDoc struct {
	Answer          string            `yaml:"answer"`
	Detail          string            `yaml:"detail"`
	Category        string            `yaml:"category"`
	RawState        string            `yaml:"raw_state"`
	Unproven        []string          `yaml:"unproven"`
	OtherJob        bool              `yaml:"other_job"`
	Result          map[string]string `yaml:"result"`
	Error           *ErrorDoc         `yaml:"error"`
	Progress        *string           `yaml:"progress"`
	UpdatedAt       *string           `yaml:"updated_at"`
	ExpiresAt       *string           `yaml:"expires_at"`
	RequestID       *string           `yaml:"request_id"`
	Cancellable     *bool             `yaml:"cancellable"`
	RetryAfter      *int              `yaml:"retry_after_seconds"`
	Hint            *int              `yaml:"hint_seconds"`
	Rejected        []string          `yaml:"rejected"`
	NextURL         string            `yaml:"next_url"`
	NextURLRejected bool              `yaml:"next_url_rejected"`
}
