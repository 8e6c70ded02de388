package statetables

import "go.yaml.in/yaml/v3"

// document is one table file as it is written. Its field tags are the keys of the format; docs/state-tables.md explains
// them. A text that is an expression is CEL; a text that is a template names values in braces.
type document struct {
	Provider        string              `yaml:"provider"`
	Title           string              `yaml:"title"`
	Sources         map[string]source   `yaml:"sources"`
	ReadOnly        *attestation        `yaml:"read_only"`
	Params          map[string]param    `yaml:"params"`
	AccountMustBe   string              `yaml:"account_must_be"`
	Request         requestDoc          `yaml:"request"`
	ConsoleURL      string              `yaml:"console_url"`
	HTTPCodes       map[string]codeDoc  `yaml:"http_codes"`
	NotFound        *notFoundDoc        `yaml:"not_found"`
	JobID           string              `yaml:"job_id"`
	State           string              `yaml:"state"`
	CaseInsensitive *citation           `yaml:"case_insensitive"`
	Rules           []ruleDoc           `yaml:"rules"`
	States          map[string][]string `yaml:"states"`
	UnknownStates   *stance             `yaml:"unknown_states"`
	AbsentState     *stance             `yaml:"absent_state"`
	SuccessRequires map[string]string   `yaml:"success_requires"`
	Result          map[string]refDoc   `yaml:"result"`
	Error           errorDoc            `yaml:"error"`
	Progress        string              `yaml:"progress"`
	UpdatedAt       *timeDoc            `yaml:"updated_at"`
	ExpiresAt       *timeDoc            `yaml:"expires_at"`
	NextURL         string              `yaml:"next_url"`
	RequestID       string              `yaml:"request_id"`
	Hints           []hintDoc           `yaml:"hints"`
	Cancel          *cancelDoc          `yaml:"cancel"`
	Schedule        scheduleDoc         `yaml:"schedule"`
	Submission      *submissionDoc      `yaml:"submission"`
	Retention       *keepDoc            `yaml:"retention"`
	RateLimits      []saying            `yaml:"rate_limits"`
	ExampleJob      exampleJob          `yaml:"example_job"`
	Examples        []exampleDoc        `yaml:"examples"`
}

// source is where facts were read: At names the page or file, Read the day.
type source struct {
	At   string `yaml:"at"`
	Read string `yaml:"read"`
}

// attestation says why the status GET is known to observe only.
type attestation struct {
	Source string `yaml:"source"`
	Tried  string `yaml:"tried"`
}

type citation struct {
	Source string `yaml:"source"`
}

type stance struct {
	ReadAs string `yaml:"read_as"`
	Source string `yaml:"source"`
}

type saying struct {
	Says   string `yaml:"says"`
	Source string `yaml:"source"`
}

type param struct {
	Pattern string  `yaml:"pattern"`
	About   string  `yaml:"about"`
	Default *string `yaml:"default"`
}

type requestDoc struct {
	Method              string            `yaml:"method"`
	URL                 string            `yaml:"url"`
	StatusURLQuery      []string          `yaml:"status_url_query"`
	Query               map[string]string `yaml:"query"`
	Headers             map[string]string `yaml:"headers"`
	Origins             []string          `yaml:"origins"`
	Auth                authDocs          `yaml:"auth"`
	AllowPrivateNetwork bool              `yaml:"allow_private_network"`
}

// authDocs is a list, or the mapping of its only element.
type authDocs []authDoc

type authDoc struct {
	Scheme string `yaml:"scheme"`
	Name   string `yaml:"name"`
	Prefix string `yaml:"prefix"`
}

type codeDoc struct {
	ReadAs string `yaml:"read_as"`
	Name   string `yaml:"name"`
	Body   string `yaml:"body"`
	OnlyIf string `yaml:"only_if"`
	Source string `yaml:"source"`
}

type notFoundDoc struct {
	Grace       *graceDoc     `yaml:"grace"`
	Retention   *retentionDoc `yaml:"retention"`
	AfterCancel *citation     `yaml:"after_cancel"`
}

type graceDoc struct {
	Seconds int    `yaml:"seconds"`
	Count   int    `yaml:"count"`
	Source  string `yaml:"source"`
}

type retentionDoc struct {
	AfterSeconds int    `yaml:"after_seconds"`
	Source       string `yaml:"source"`
}

type ruleDoc struct {
	When   string `yaml:"when"`
	ReadAs string `yaml:"read_as"`
	Name   string `yaml:"name"`
}

// refDoc is an expression, or a mapping with the template of a derived URL.
type refDoc struct {
	Read string `yaml:"read"`
	URL  string `yaml:"url"`
}

type errorDoc struct {
	Code    string `yaml:"code"`
	Message string `yaml:"message"`
}

type timeDoc struct {
	Read   string `yaml:"read"`
	Format string `yaml:"format"`
	Zone   string `yaml:"zone"`
}

type hintDoc struct {
	Read   string `yaml:"read"`
	Unit   string `yaml:"unit"`
	AtMost *int   `yaml:"at_most"`
}

type cancelDoc struct {
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
	Confirm      confirmDoc        `yaml:"confirm"`
	Source       string            `yaml:"source"`
}

type confirmDoc struct {
	Requests int `yaml:"requests"`
	Seconds  int `yaml:"seconds"`
}

type scheduleDoc struct {
	InitialDelaySeconds   *int        `yaml:"initial_delay_seconds"`
	BaseDelaySeconds      *int        `yaml:"base_delay_seconds"`
	MaxDelaySeconds       *int        `yaml:"max_delay_seconds"`
	MinDelaySeconds       *int        `yaml:"min_delay_seconds"`
	RequestTimeoutSeconds *int        `yaml:"request_timeout_seconds"`
	Floor                 *secondsDoc `yaml:"floor"`
	Cap                   *secondsDoc `yaml:"cap"`
}

type secondsDoc struct {
	Seconds int    `yaml:"seconds"`
	Source  string `yaml:"source"`
}

// submissionDoc says whether the same submission, sent again, makes a second job. jobwait never submits; it is for those
// who do.
type submissionDoc struct {
	Idempotency string `yaml:"idempotency"`
	Name        string `yaml:"name"`
	MaxLength   int    `yaml:"max_length"`
	Source      string `yaml:"source"`
	Note        string `yaml:"note"`
}

// keepDoc is how long a job or its result can be read.
type keepDoc struct {
	Seconds    int    `yaml:"seconds"`
	CountsFrom string `yaml:"counts_from"`
	Source     string `yaml:"source"`
	Note       string `yaml:"note"`
}

// exampleJob is the job that the examples of a table are about. What an example writes of its own stands in its place.
type exampleJob struct {
	ID        string            `yaml:"id"`
	Account   string            `yaml:"account"`
	Params    map[string]string `yaml:"params"`
	StatusURL string            `yaml:"status_url"`
}

type exampleDoc struct {
	Name  string     `yaml:"name"`
	Job   exampleJob `yaml:"job"`
	Given givenDoc   `yaml:"given"`
	Want  wantDoc    `yaml:"want"`
}

type givenDoc struct {
	Status         *int              `yaml:"status"`
	Headers        map[string]string `yaml:"headers"`
	Body           *yaml.Node        `yaml:"body"`
	ReceivedAt     string            `yaml:"received_at"`
	ElapsedSeconds int               `yaml:"elapsed_seconds"`
	Answered       bool              `yaml:"answered"`
	NotFound       int               `yaml:"not_found"`
	AfterCancel    bool              `yaml:"after_cancel"`
}

// wantDoc is compared whole in answer, detail, category, raw_state, unproven, other_job, result, next_url and rejected;
// the others only where they are written.
type wantDoc struct {
	Answer          string            `yaml:"answer"`
	Detail          string            `yaml:"detail"`
	Category        string            `yaml:"category"`
	RawState        string            `yaml:"raw_state"`
	Unproven        []string          `yaml:"unproven"`
	OtherJob        bool              `yaml:"other_job"`
	Result          map[string]string `yaml:"result"`
	Error           *errorDoc         `yaml:"error"`
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
