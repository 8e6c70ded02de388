package statetables

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/jobwait/jobwait/wire"
)

// MaxBodyBytes is the largest decoded body that is read; a longer one is malformed.
const MaxBodyBytes = 1 << 20

// Response is one HTTP answer.
type Response struct {
	Status int
	// Header by name, as net/http gives it; the case of the names does not matter.
	Header map[string][]string
	// Body after content decoding, at most MaxBodyBytes.
	Body []byte
	// BodyTooLarge says that the body or the headers passed their limit; Body is then ignored.
	BodyTooLarge bool
	// ReceivedAt is the local time of the answer. It decides how old a job is and what a date in the answer means.
	ReceivedAt time.Time
}

// Classify reads one answer to a status request about the job that was asked for. It always gives an observation: what
// it does not understand it says so. The caller adds SentAt, ReceivedAt and the credential.
func (t *Table) Classify(asked wire.Target, reading wire.ReadingContext, response Response) wire.Observation {
	r := newReader(t, asked, reading, response)
	observation := wire.Observation{HTTPStatus: response.Status, Size: int64(len(response.Body)), TableDigest: t.digest}
	r.answer(&observation)
	if observation.Job == nil {
		r.in.body = map[string]any{} // what is not read as the table expects gives no hint either
	}
	r.handedOut(&observation)
	observation.Guidance = r.guidance()
	observation.ProviderRequestID = display(r.text(t.requestID), maxRequestIDBytes)
	return observation
}

// CancelReading is what the answer to a cancel request says.
type CancelReading struct {
	// Accepted says that the answer is one that the table expects of a cancel that was taken.
	Accepted bool
	// Confirmed says that the table documents an accepted cancel as done at once.
	Confirmed bool
	Guidance  wire.Guidance
}

// ReadCancel reads the answer to a cancel request. Whatever it says, the next status answers decide.
func (t *Table) ReadCancel(response Response) CancelReading {
	if t.cancel == nil {
		return CancelReading{}
	}
	r := newReader(t, wire.Target{}, wire.ReadingContext{}, response)
	r.parse()
	accepted := t.cancel.expects(response.Status)
	if accepted && t.cancel.acceptedWhen != nil {
		holds, err := t.cancel.acceptedWhen.holds(r.in)
		accepted = holds && err == nil
	}
	return CancelReading{Accepted: accepted, Confirmed: accepted && !t.cancel.asynchronous, Guidance: r.guidance()}
}

// reader reads one answer.
type reader struct {
	table    *Table
	asked    wire.Target
	context  wire.ReadingContext
	response Response
	in       *input
}

func newReader(t *Table, asked wire.Target, context wire.ReadingContext, response Response) *reader {
	params := t.defaults
	if len(asked.Params) > 0 {
		params = t.withDefaults(asked.Params)
	}
	return &reader{table: t, asked: asked, context: context, response: response, in: &input{
		body: map[string]any{}, status: response.Status, header: response.Header, params: params,
		jobID: asked.ProviderJobID, now: response.ReceivedAt,
	}}
}

// parse reads the body for the expressions; the word says what is wrong with it.
func (r *reader) parse() string {
	body, malformed := parseBody(r.response)
	if malformed == "" {
		r.in.body = body
	}
	return malformed
}

// answer reads the HTTP fact in the order of rule R12, and with a readable answer the job fact.
func (r *reader) answer(into *wire.Observation) {
	if meaning, ok := r.table.meaning(r.response.Status); ok && r.readMeaning(meaning, into) {
		return
	}
	switch status := r.response.Status; {
	case status == 401 || status == 403:
		into.Answer = wire.AnswerDenied
	case status == 404 || status == 410:
		r.readNotFound(into)
	case status == 429:
		into.Answer = wire.AnswerRateLimited
	case status >= 500 && status <= 599:
		into.Answer = wire.AnswerServerError
	case status == 200:
		r.readBody(into)
	default:
		into.Answer = wire.AnswerUnexpected
	}
}

// readMeaning reads a code that the table gives a meaning. It reports false where another party than the provider seems
// to have answered: an error code with a body that is not the provider's keeps its ordinary meaning.
func (r *reader) readMeaning(meaning *codeMeaning, into *wire.Observation) bool {
	malformed := ""
	if !meaning.ignoreBody {
		malformed = r.parse()
	}
	if malformed == wire.MalformedEmptyBody && !meaning.readBody {
		malformed = ""
	}
	isError := r.response.Status >= 400
	switch {
	case malformed != "" && isError:
		return false
	case malformed != "":
		into.Answer, into.Detail = wire.AnswerMalformed, malformed
	case meaning.readBody:
		r.fill(into, r.state)
	default:
		r.fill(into, func() (string, wire.Category, error) { return meaning.name, meaning.category, nil })
	}
	return true
}

func (r *reader) readBody(into *wire.Observation) {
	if malformed := r.parse(); malformed != "" {
		into.Answer, into.Detail = wire.AnswerMalformed, malformed
		return
	}
	r.fill(into, r.state)
}

// readNotFound reads a 404 or 410 by rule R10.
func (r *reader) readNotFound(into *wire.Observation) {
	into.Answer = wire.AnswerNotFound
	if category := r.table.notFound.means(r.context, r.response.ReceivedAt); category != "" {
		into.Answer = wire.AnswerRead
		into.Job = &wire.JobFact{RawState: codeName(r.response.Status), Category: category}
	}
}

func codeName(status int) string { return "http_" + strconv.Itoa(status) }

// malformedError is a readable body that does not say what the table expects; its text is the observation's detail.
type malformedError string

func (e malformedError) Error() string { return string(e) }

// fill reads the job fact, whose state is given.
func (r *reader) fill(into *wire.Observation, state func() (string, wire.Category, error)) {
	job, err := r.job(state)
	if err != nil {
		into.Answer, into.Detail = wire.AnswerMalformed, err.Error()
		return
	}
	into.Answer, into.Job = wire.AnswerRead, job
}

func (r *reader) job(state func() (string, wire.Category, error)) (*wire.JobFact, error) {
	raw, category, err := state()
	if err != nil {
		return nil, err
	}
	job := &wire.JobFact{RawState: raw, Category: category, Progress: scrub(r.text(r.table.progress), maxProgressBytes)}
	if job.OtherJob, err = r.otherJob(); err != nil {
		return nil, err
	}
	if err := r.ending(job); err != nil {
		return nil, err
	}
	if job.UpdatedAt, err = r.moment(r.table.updatedAt); err != nil {
		return nil, err
	}
	job.ExpiresAt, err = r.moment(r.table.expiresAt)
	return job, err
}

// ending reads what only a finished job has: results, their proof and an error.
func (r *reader) ending(job *wire.JobFact) (err error) {
	job.Error = wire.ProviderError{
		Code:    scrub(r.text(r.table.errorCode), maxCodeBytes),
		Message: scrub(r.text(r.table.errorMessage), maxMessageBytes),
	}
	if !job.Category.Terminal() {
		return nil
	}
	if job.Result, err = r.result(job.Category); err != nil || job.Category != wire.CategorySuccess {
		return err
	}
	job.Unproven, err = r.unproven()
	return err
}

// state reads the rules in their order, then the state itself.
func (r *reader) state() (string, wire.Category, error) {
	for _, rule := range r.table.rules {
		holds, err := rule.when.holds(r.in)
		if err != nil {
			return "", "", fieldError(err)
		}
		if holds {
			return r.ruleName(rule), rule.category, nil
		}
	}
	if r.table.state == nil {
		return "", wire.CategoryUnknown, nil
	}
	return r.listedState()
}

// ruleName is the rule's own name, else the provider's word.
func (r *reader) ruleName(rule rule) string {
	if rule.name != "" {
		return rule.name
	}
	return display(r.text(r.table.state), maxRawStateBytes)
}

func (r *reader) listedState() (string, wire.Category, error) {
	value, err := r.table.state.eval(r.in)
	switch {
	case errors.Is(err, errAbsent) && r.table.absentAs != "":
		return "", r.table.absentAs, nil
	case errors.Is(err, errAbsent):
		return "", "", malformedError(wire.MalformedStateAbsent)
	case errors.Is(err, errCost):
		return "", "", malformedError(wire.MalformedTooCostly)
	case err == nil && value == nil:
		return "", "", malformedError(wire.MalformedStateNull)
	}
	text, ok := textOf(value)
	if err != nil || !ok {
		return "", "", malformedError(wire.MalformedStateType)
	}
	raw, category := r.table.lookUp(text)
	return raw, category, nil
}

func fieldError(err error) error {
	if errors.Is(err, errCost) {
		return malformedError(wire.MalformedTooCostly)
	}
	return malformedError(wire.MalformedFieldType)
}

// otherJob says whether the answer names another job than the one asked for. Where it names none, it does not.
func (r *reader) otherJob() (bool, error) {
	if r.table.jobID == nil {
		return false, nil
	}
	value, err := r.table.jobID.eval(r.in)
	if errors.Is(err, errAbsent) || err == nil && value == nil {
		return false, nil
	}
	text, ok := textOf(value)
	if _, isBool := value.(bool); err != nil || !ok || isBool {
		return false, malformedError(wire.MalformedJobIDType)
	}
	return text != r.asked.ProviderJobID, nil
}

// unproven names the requirements of a success that the answer does not meet.
func (r *reader) unproven() ([]string, error) {
	var unmet []string
	for _, requirement := range r.table.requirements {
		holds, err := requirement.when.holds(r.in)
		if err != nil {
			return nil, fieldError(err)
		}
		if !holds {
			unmet = append(unmet, requirement.name)
		}
	}
	return unmet, nil
}

func (r *reader) result(category wire.Category) (map[string]string, error) {
	var found map[string]string
	for _, reference := range r.table.result {
		text, err := r.reference(reference, category)
		if err != nil {
			return nil, err
		}
		if text == "" {
			continue
		}
		if found == nil {
			found = make(map[string]string, len(r.table.result))
		}
		found[reference.name] = text
	}
	return found, nil
}

// reference reads one reference verbatim; empty where there is none. A derived URL stands for a result only where the
// provider says that there is one.
func (r *reader) reference(reference reference, category wire.Category) (string, error) {
	if reference.read == nil {
		if category != wire.CategorySuccess && category != wire.CategoryPartial {
			return "", nil
		}
		text, err := reference.url.url(valuesOf(r.asked, r.table.defaults))
		if err != nil {
			return "", malformedError(wire.MalformedResultType)
		}
		return text, nil
	}
	value, err := reference.read.eval(r.in)
	if errors.Is(err, errAbsent) || err == nil && value == nil {
		return "", nil
	}
	text, ok := textOf(value)
	if _, isBool := value.(bool); err != nil || !ok || isBool {
		return "", malformedError(wire.MalformedResultType)
	}
	if len(text) > maxReferenceBytes {
		return "", malformedError(wire.MalformedResultTooLong)
	}
	return text, nil
}

func (r *reader) moment(of *moment) (*time.Time, error) {
	if of == nil {
		return nil, nil
	}
	value, err := of.read.eval(r.in)
	if errors.Is(err, errAbsent) || err == nil && (value == nil || value == "") {
		return nil, nil
	}
	if err != nil {
		return nil, malformedError(wire.MalformedTimestamp)
	}
	at, err := parseMoment(value, of.format, of.zone, r.response.ReceivedAt)
	if err != nil {
		return nil, malformedError(wire.MalformedTimestamp)
	}
	return &at, nil
}

// text reads what is for people only; what cannot be read is left out. An object or a list stands as JSON.
func (r *reader) text(of *expression) string {
	if of == nil {
		return ""
	}
	value, err := of.eval(r.in)
	if err != nil || value == nil {
		return ""
	}
	if text, ok := textOf(value); ok {
		return text
	}
	return compact(value)
}

// handedOut reads the URL for the next poll, which matters only where the wait goes on.
func (r *reader) handedOut(into *wire.Observation) {
	if r.table.nextURL == nil || into.Job == nil || !into.Job.Category.Waits() {
		return
	}
	value, err := r.table.nextURL.eval(r.in)
	if errors.Is(err, errAbsent) || err == nil && (value == nil || value == "") {
		return
	}
	text, ok := value.(string)
	if !ok || !r.accepts(text) {
		into.NextURLRejected = true
		return
	}
	into.NextStatusURL = text
}

func (r *reader) accepts(address string) bool {
	origins, err := r.table.origins(valuesOf(r.asked, r.table.defaults))
	if err != nil {
		return false
	}
	_, err = acceptURL(address, origins)
	return err == nil
}

// guidance reads when the provider wants to be asked again: Retry-After, and the hints that the table names.
func (r *reader) guidance() wire.Guidance {
	var found wire.Guidance
	date := headerValue(r.response.Header, "date")
	retryAfter := headerValues(r.response.Header, "retry-after")
	seconds, rejected := ParseRetryAfter(retryAfter, date, r.response.ReceivedAt)
	found.RetryAfterSeconds = seconds
	if rejected != "" {
		found.Rejected = append(found.Rejected, wire.RejectedGuidance{Source: wire.DelayProviderRetryAfter, Detail: rejected})
	}
	found.PollHintSeconds, rejected = r.hint(date)
	if rejected != "" {
		found.Rejected = append(found.Rejected, wire.RejectedGuidance{Source: wire.DelayProviderPollHint, Detail: rejected})
	}
	return found
}

// hint is the largest of the hints that the answer gives.
func (r *reader) hint(date string) (seconds *int64, rejected string) {
	base := r.response.ReceivedAt
	if own, ok := parseHTTPDate(date, base); ok {
		base = own
	}
	for _, hint := range r.table.hints {
		value, err := hint.read.eval(r.in)
		if errors.Is(err, errAbsent) || err == nil && value == nil {
			continue
		}
		found, word := parseHint(value, hint.unit, base)
		seconds, rejected = largest(seconds, rejected, found, word)
	}
	return seconds, rejected
}

// compact writes a value of the body as JSON, for people.
func compact(value any) string {
	var out strings.Builder
	writeCompact(&out, value)
	return out.String()
}
