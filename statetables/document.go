package statetables

import "go.yaml.in/yaml/v3"

// Document is one table file as it is written. Its field tags are the keys of the format; docs/state-tables.md explains
// them, and what they may hold. A text that is an expression is CEL; a text that is a template names values in braces.
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

// AttestationDoc says why the status GET is known to observe only.
type AttestationDoc struct {
	Source string `yaml:"source"`
	Tried  string `yaml:"tried"`
}

// CitationDoc names the source of a fact that is only true or not.
type CitationDoc struct {
	Source string `yaml:"source"`
}

// StanceDoc is what something that the states do not list is read as.
type StanceDoc struct {
	ReadAs string `yaml:"read_as"`
	Source string `yaml:"source"`
}

// SayingDoc is a source's word for people.
type SayingDoc struct {
	Says   string `yaml:"says"`
	Source string `yaml:"source"`
}

// ParamDoc is a value that a spec must bring, unless it has a default.
type ParamDoc struct {
	Pattern string  `yaml:"pattern"`
	About   string  `yaml:"about"`
	Default *string `yaml:"default"`
}

// RequestDoc is the status GET.
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

// AuthDocs is a list, or the mapping of its only element.
type AuthDocs []AuthDoc

// AuthDoc is one way in which the provider takes a credential.
type AuthDoc struct {
	Scheme string `yaml:"scheme"`
	Name   string `yaml:"name"`
	Prefix string `yaml:"prefix"`
}

// CodeDoc is what an HTTP code says of the job. OnlyIf is a condition on the answer; without it the code always says so.
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

// RateLimitedDoc is the condition by which an answer of 400 and above says that the provider was asked too often.
type RateLimitedDoc struct {
	When   string `yaml:"when"`
	Source string `yaml:"source"`
}

// GraceDoc is how long, and how often, a job may not be found after its submission. A Count of 0 is any.
type GraceDoc struct {
	Seconds int    `yaml:"seconds"`
	Count   int    `yaml:"count"`
	Source  string `yaml:"source"`
}

// RetentionDoc is how long after its submission a job that is not found has expired.
type RetentionDoc struct {
	AfterSeconds int    `yaml:"after_seconds"`
	Source       string `yaml:"source"`
}

// RuleDoc reads what the word of the state alone does not tell.
type RuleDoc struct {
	When   string `yaml:"when"`
	ReadAs string `yaml:"read_as"`
	Name   string `yaml:"name"`
}

// RefDoc is an expression, or a mapping: with the template of a derived URL, or with the expression and the word that the next
// status answer has a fresh reference.
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

// TimeDoc is where a time stands and how it is written.
type TimeDoc struct {
	Read   string `yaml:"read"`
	Format string `yaml:"format"`
	Zone   string `yaml:"zone"`
}

// HintDoc is where the provider says when it wants to be asked again, and in which unit.
type HintDoc struct {
	Read   string `yaml:"read"`
	Unit   string `yaml:"unit"`
	AtMost *int   `yaml:"at_most"`
}

// CancelDoc is the documented cancel call.
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

// ConfirmDoc is what a cancel grants to see the cancellation confirmed.
type ConfirmDoc struct {
	Requests int `yaml:"requests"`
	Seconds  int `yaml:"seconds"`
}

// ScheduleDoc is advice on pacing, and two bounds that win over the spec.
type ScheduleDoc struct {
	InitialDelaySeconds   *int `yaml:"initial_delay_seconds"`
	BaseDelaySeconds      *int `yaml:"base_delay_seconds"`
	MaxDelaySeconds       *int `yaml:"max_delay_seconds"`
	MinDelaySeconds       *int `yaml:"min_delay_seconds"`
	RequestTimeoutSeconds *int `yaml:"request_timeout_seconds"`
	// Expected is how long such jobs take, where the provider or somebody who measured it says so.
	Expected *ExpectedDoc `yaml:"expected"`
	Floor    *SecondsDoc  `yaml:"floor"`
	Cap      *SecondsDoc  `yaml:"cap"`
}

// ExpectedDoc are two quantiles of the durations of a provider's jobs, from their submission.
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

// SubmitDoc says whether the same submission, sent again, makes a second job, and, with a Request, how to submit. Waits never
// submit; SubmitAndAwait does.
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

// SubmitRequestDoc is the request that submits. Its body is the spec's, as JSON or as SendAs says; {key} in the url is the
// idempotency key.
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

// SubmitExampleDoc is one answer to a submission and what it must be read as.
type SubmitExampleDoc struct {
	Name  string        `yaml:"name"`
	Key   string        `yaml:"key"`
	Given GivenDoc      `yaml:"given"`
	Want  WantSubmitDoc `yaml:"want"`
}

// WantSubmitDoc is compared whole.
type WantSubmitDoc struct {
	Verdict   string            `yaml:"verdict"`
	Detail    string            `yaml:"detail"`
	JobID     string            `yaml:"job_id"`
	StatusURL string            `yaml:"status_url"`
	Params    map[string]string `yaml:"params"`
	Category  string            `yaml:"category"`
}

// CallbackDoc is the webhook by which the provider says that something happened to a job. Of what it says only which job is
// read: the wait then asks for the status sooner.
type CallbackDoc struct {
	JobID     string               `yaml:"job_id"`
	Account   string               `yaml:"account"`
	When      string               `yaml:"when"`
	Signature SignatureDoc         `yaml:"signature"`
	Source    string               `yaml:"source"`
	Examples  []CallbackExampleDoc `yaml:"examples"`
}

// SignatureDoc is how a webhook proves where it comes from.
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

// CallbackExampleDoc is one webhook and what must be read of it. What is wanted is compared whole.
type CallbackExampleDoc struct {
	Name    string             `yaml:"name"`
	Headers map[string]string  `yaml:"headers"`
	Path    string             `yaml:"path"`
	Body    *yaml.Node         `yaml:"body"`
	Want    CallbackReadingDoc `yaml:"want"`
}

// CallbackReadingDoc is what is read of a webhook: about which job it is, or that it is about none.
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

// ExampleJobDoc is the job that the examples of a table are about. What an example writes of its own stands in its place.
type ExampleJobDoc struct {
	ID        string            `yaml:"id"`
	Account   string            `yaml:"account"`
	Params    map[string]string `yaml:"params"`
	StatusURL string            `yaml:"status_url"`
}

// ExampleDoc is one answer and what it must be read as.
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

// WantDoc is compared whole in answer, detail, category, raw_state, unproven, other_job, result, next_url and rejected;
// the others only where they are written.
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
