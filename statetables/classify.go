package statetables

import (
	"strconv"
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
	// BodyTooLarge reports whether the body or the headers exceeded their limit; Body is then ignored.
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
	// Accepted reports whether the answer is one that the table expects for an accepted cancel.
	Accepted bool
	// Confirmed reports whether, by the table, an accepted cancel takes effect at once.
	Confirmed bool
	Guidance  wire.Guidance
}

// ReadCancel reads the answer to a cancel request. Whatever it says, the next status answers decide.
func (t *Table) ReadCancel(response Response) CancelReading {
	if t.cancel == nil {
		return CancelReading{}
	}
	r := newReader(t, wire.Target{}, wire.ReadingContext{}, response)
	malformed := r.parse()
	readable := malformed == "" || malformed == wire.MalformedEmptyBody
	accepted := t.cancel.expects(response.Status)
	if accepted && t.cancel.acceptedWhen != nil {
		holds, err := t.cancel.acceptedWhen.holds(r.in)
		accepted = readable && holds && err == nil
	}
	confirmed := accepted && readable && !t.cancel.asynchronous
	return CancelReading{Accepted: accepted, Confirmed: confirmed, Guidance: r.guidance()}
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
	if meaning, ok := r.table.meaning(r.response.Status); ok {
		if r.readMeaning(meaning, into) {
			return
		}
		r.in.body = map[string]any{} // it may have been looked at, and is not the provider's word on the job
	}
	switch status := r.response.Status; {
	case r.rateLimited():
		into.Answer = wire.AnswerRateLimited
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

// rateLimited says whether the provider says by this answer that it was asked too often, though its code is another than
// 429. Without the body that the condition looks at it does not hold.
func (r *reader) rateLimited() bool {
	if r.table.rateLimited == nil || r.response.Status < 400 {
		return false
	}
	r.parse()
	holds, err := r.table.rateLimited.holds(r.in)
	r.in.body = map[string]any{} // it says nothing of the job
	return err == nil && holds
}

// readMeaning reads a code that the table gives a meaning. It reports false where the code keeps its ordinary meaning:
// where the table's condition does not hold, and where an error code comes with a body that is not the provider's.
func (r *reader) readMeaning(meaning *codeMeaning, into *wire.Observation) bool {
	malformed := r.parseFor(meaning)
	if malformed == "" {
		applies, err := meaning.applies(r.in)
		if err == nil && !applies {
			return false
		}
		if err != nil {
			malformed = fieldError(err).Error()
		}
	}
	switch {
	case malformed != "" && r.response.Status >= 400:
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

// parseFor reads the body as far as a code's meaning wants one.
func (r *reader) parseFor(meaning *codeMeaning) string {
	if meaning.ignoreBody {
		return ""
	}
	malformed := r.parse()
	if malformed == wire.MalformedEmptyBody && (meaning.mayBeEmpty || !meaning.readBody) {
		return ""
	}
	return malformed
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
