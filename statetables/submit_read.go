package statetables

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jobwait/jobwait/wire"
)

// SubmissionReading is the reading of an answer to a submission.
type SubmissionReading struct {
	Verdict wire.SubmitVerdict
	Detail  string
	// Job is set if Verdict is wire.SubmitAccepted.
	Job *wire.SubmittedJob
	// Observation is the HTTP fact, with the state of the job if the answer contains it.
	Observation wire.Observation
}

// ReadSubmission reads the answer to a request that was sent with the key to the URL sentTo. Whatever is not certain is
// wire.SubmitAmbiguous.
func (t *Table) ReadSubmission(asked wire.Target, key, sentTo string, response Response) SubmissionReading {
	r := newReader(t, asked, wire.ReadingContext{SubmittedAt: response.ReceivedAt}, response)
	reading := SubmissionReading{Observation: wire.Observation{
		HTTPStatus: response.Status, Size: int64(len(response.Body)), TableDigest: t.digest, Answer: factOf(response.Status),
	}}
	tooOften := r.rateLimited()
	malformed := r.parse()
	status := response.Status
	switch {
	case slices.Contains(t.submit.accepted, status):
		reading.Observation.Answer = wire.AnswerRead
		r.readAccepted(&reading, key, sentTo, malformed)
	case slices.Contains(t.submit.exists, status):
		reading.Observation.Answer = wire.AnswerRead
		r.readExisting(&reading, key, sentTo)
	case tooOften:
		reading.Verdict, reading.Observation.Answer = wire.SubmitLater, wire.AnswerRateLimited
	case status == 401 || status == 403, slices.Contains(t.submit.refused, status):
		reading.Verdict, reading.Detail = wire.SubmitRefused, r.saidError()
	case slices.Contains(t.submit.later, status):
		reading.Verdict, reading.Observation.Answer = wire.SubmitLater, wire.AnswerRateLimited
	default:
		reading.Verdict, reading.Detail = wire.SubmitAmbiguous, r.saidError()
	}
	reading.Observation.Guidance = wire.Guidance{RetryAfterSeconds: r.guidance().RetryAfterSeconds}
	reading.Observation.ProviderRequestID = display(r.text(t.requestID), maxRequestIDBytes)
	return reading
}

// factOf returns the HTTP fact of an answer that is not read further, in the order of R12.
func factOf(status int) wire.Answer {
	switch {
	case status == 401 || status == 403:
		return wire.AnswerDenied
	case status == 429:
		return wire.AnswerRateLimited
	case status >= 500 && status <= 599:
		return wire.AnswerServerError
	default:
		return wire.AnswerUnexpected
	}
}

// saidError returns the provider's own error, if the table's expressions for a job's error find one in this answer.
func (r *reader) saidError() string {
	said := r.providerError()
	return joined(said.Code, said.Message)
}

// readAccepted reads which job was made. If that cannot be read, there may be one nevertheless.
func (r *reader) readAccepted(reading *SubmissionReading, key, sentTo, malformed string) {
	job := r.submittedJob(key, sentTo)
	if job == nil {
		reading.Verdict, reading.Detail = wire.SubmitAmbiguous, joined(wire.DetailNoJobID, malformed)
		return
	}
	reading.Verdict, reading.Job, reading.Detail = wire.SubmitAccepted, job, job.Unusable
	switch {
	case slices.Contains(r.table.submit.done, r.response.Status) && (malformed == "" || malformed == wire.MalformedEmptyBody):
		reading.Observation.Job = r.doneAtOnce(*job)
	case r.table.submit.readsStatus && malformed == "":
		reading.Observation.Job = r.stateAtOnce(*job)
	}
}

// readExisting reads an answer by which the provider already has a job under this key.
func (r *reader) readExisting(reading *SubmissionReading, key, sentTo string) {
	job := r.submittedJob(key, sentTo)
	if job == nil {
		reading.Verdict, reading.Detail = wire.SubmitAmbiguous, wire.DetailNoJobID
		return
	}
	reading.Verdict, reading.Job, reading.Detail = wire.SubmitAccepted, job, joined(wire.DetailKeyUsed, job.Unusable)
}

// joined joins two words, either of which may be empty.
func joined(one, other string) string { return strings.TrimSpace(one + " " + other) }

// submittedJob returns the job that the answer names; nil if there is no readable id. A job that is named is kept even if the
// answer does not tell how to ask for its status.
func (r *reader) submittedJob(key, sentTo string) *wire.SubmittedJob {
	s := r.table.submit
	job := &wire.SubmittedJob{ProviderJobID: r.exactText(s.jobID)}
	if job.ProviderJobID == "" && s.idempotency == wire.IdempotencyClientID {
		job.ProviderJobID = key
	}
	if n := utf8.RuneCountInString(job.ProviderJobID); n == 0 || n > wire.MaxIDChars || !utf8.ValidString(job.ProviderJobID) {
		return nil
	}
	r.readParams(job)
	if s.statusURL == nil {
		return job
	}
	if job.StatusURL = r.handedStatusURL(sentTo); job.StatusURL == "" && job.Unusable == "" {
		job.Unusable = wire.DetailURLRejected
	}
	return job
}

// readParams reads what the job's wait needs besides the id. Values that equal the table's defaults are left out.
func (r *reader) readParams(job *wire.SubmittedJob) {
	s := r.table.submit
	for _, name := range slices.Sorted(maps.Keys(s.params)) {
		value := r.exactText(s.params[name])
		if len(value) > maxReferenceBytes || !r.table.params[name].whole.MatchString(value) {
			job.Unusable = cmp.Or(job.Unusable, wire.DetailNoParam+name)
			continue
		}
		if usual, has := r.table.defaults[name]; has && usual == value {
			continue
		}
		if job.Params == nil {
			job.Params = map[string]string{}
		}
		job.Params[name] = value
	}
}

// exactText returns a text or a number, digit for digit; empty if there is none.
func (r *reader) exactText(of *expression) string {
	if of == nil {
		return ""
	}
	value, err := of.eval(r.in)
	if err != nil {
		return ""
	}
	if _, isBool := value.(bool); isBool {
		return ""
	}
	text, _ := textOf(value)
	return text
}

// handedStatusURL returns the status URL in the answer, if the table accepts it (R51); otherwise it is empty. A URL without a host
// is relative to the URL that was answered (RFC 9110 section 10.2.2).
func (r *reader) handedStatusURL(sentTo string) string {
	text := r.exactText(r.table.submit.statusURL)
	parsed, err := url.Parse(text)
	if text == "" || err != nil {
		return ""
	}
	if !parsed.IsAbs() && strings.HasPrefix(text, "/") {
		from, err := url.Parse(sentTo)
		if err != nil {
			return ""
		}
		text = from.ResolveReference(parsed).String()
	}
	origins, err := r.table.origins(r.table.exampleValues(r.asked))
	if err != nil {
		return ""
	}
	if _, err := acceptURL(text, origins); err != nil || r.table.checkQuery(text) != nil {
		return ""
	}
	return text
}

// stateAtOnce returns the state in the answer to the submission; nil if it contains none that the table lists.
func (r *reader) stateAtOnce(job wire.SubmittedJob) *wire.JobFact {
	response := r.response
	if _, ok := r.table.meaning(response.Status); !ok {
		response.Status = 200 // an answer of 201 or 202 is read like one of 200
	}
	seen := r.table.Classify(r.about(job), r.context, response)
	if seen.Answer != wire.AnswerRead || seen.Job == nil || seen.Job.OtherJob || seen.Job.Category == wire.CategoryUnknown {
		return nil
	}
	return seen.Job
}

// doneAtOnce returns the success that the status code means by itself; nil if the answer contradicts it.
func (r *reader) doneAtOnce(job wire.SubmittedJob) *wire.JobFact {
	again := newReader(r.table, r.about(job), r.context, r.response)
	again.in.body = r.in.body
	found, err := again.job(func() (string, wire.Category, error) {
		return codeName(r.response.Status), wire.CategorySuccess, nil
	})
	if err != nil || found.OtherJob {
		return nil
	}
	return found
}

// about returns the target of a status request about the job.
func (r *reader) about(job wire.SubmittedJob) wire.Target {
	asked := r.asked
	asked.ProviderJobID, asked.StatusURL = job.ProviderJobID, job.StatusURL
	asked.Params = maps.Clone(asked.Params)
	if asked.Params == nil {
		asked.Params = map[string]string{}
	}
	maps.Copy(asked.Params, job.Params)
	return asked
}
