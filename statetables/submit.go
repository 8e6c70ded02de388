package statetables

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/jobwait/jobwait/wire"
)

// ErrNoSubmit says that a table does not say how to submit.
var ErrNoSubmit = errors.New("the table has no submit.request, so nothing can be submitted with it")

// submitCall is the request that submits, and how its answer is read.
type submitCall struct {
	call
	idempotency wire.Idempotency
	keyName     string
	keyLength   int // 0: any
	keySeconds  int // 0: no end is documented

	accepted, refused, later, exists []int
	// done are those of the accepted after which there is nothing to wait for.
	done []int

	jobID       *expression
	statusURL   *expression
	params      map[string]*expression
	readsStatus bool
}

// Submission is what the table documents of submitting; ok is false where it does not say how.
func (t *Table) Submission() (idempotency wire.Idempotency, keyLength int, ok bool) {
	if t.submit == nil {
		return "", 0, false
	}
	return t.submit.idempotency, t.submit.keyLength, true
}

// KeyPlace is where the table puts the idempotency key, its kind and name; empty where a key goes nowhere. The same key in
// another place is none to the provider.
func (t *Table) KeyPlace() string {
	if t.submit == nil || !t.submit.idempotency.Repeatable() {
		return ""
	}
	return string(t.submit.idempotency) + " " + t.submit.keyName
}

// KeySeconds is how long the provider knows an idempotency key, from the first request that had it; 0 where no end is documented.
func (t *Table) KeySeconds() int {
	if t.submit == nil {
		return 0
	}
	return t.submit.keySeconds
}

// ParamsOfAnswer are the params that the answer to a submission has, so that its spec leaves them out.
func (t *Table) ParamsOfAnswer() []string {
	if t.submit == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(t.submit.params))
}

// CheckSubmission says what the table demands of a submission's spec and the spec does not meet. All faults are joined.
func (t *Table) CheckSubmission(spec wire.SubmitSpec) error {
	if t.submit == nil {
		return fmt.Errorf("spec: provider %q: %w; submit it yourself and wait for the job, or write the section (docs/state-tables.md)", t.provider, ErrNoSubmit)
	}
	params := maps.Clone(spec.Params)
	if params == nil {
		params = map[string]string{}
	}
	var faults []error
	for _, name := range t.ParamsOfAnswer() {
		if _, given := params[name]; given {
			faults = append(faults, fmt.Errorf("params: %s is read from the answer to the submission; leave it out", name))
			delete(params, name)
		}
	}
	faults = append(faults, t.withoutAnswered().checkParams(params)...)
	target := wire.Target{Provider: spec.Provider, Account: spec.Account, Params: params, CredentialRef: spec.CredentialRef}
	if len(faults) == 0 {
		faults = append(faults, t.checkAccount(target), t.checkSubmitRequest(target, spec.Body))
	}
	return ofSpec(append(faults, t.checkExpected(spec.Wait.ExpectedStates), t.checkCredential(spec.CredentialRef)))
}

// withoutAnswered is the table as a submission sees it, which has no params of the answer yet.
func (t *Table) withoutAnswered() *Table {
	bare := &Table{provider: t.provider, params: maps.Clone(t.params), defaults: t.defaults}
	for _, name := range t.ParamsOfAnswer() {
		delete(bare.params, name)
	}
	return bare
}

func (t *Table) checkSubmitRequest(target wire.Target, body []byte) error {
	if _, err := t.SubmitRequest(target, "key", body); err != nil && !elsewhere(err) {
		return err
	}
	return nil
}

// SubmitRequest is the one request that submits a body, with the idempotency key where the table wants it; an empty key is
// left out. The error is ErrNoSubmit where the table says nothing of submitting, a *URLRejectedError where the URL is not one
// that the table accepts.
func (t *Table) SubmitRequest(target wire.Target, key string, body []byte) (Request, error) {
	if t.submit == nil {
		return Request{}, ErrNoSubmit
	}
	address, origins, err := t.submitAddress(target, key)
	if err != nil {
		return Request{}, err
	}
	named := valuesOf(target, t.defaults)
	header, err := renderHeaders(t.submit.headers, named)
	if err != nil {
		return Request{}, err
	}
	body, err = t.submit.bodyWith(body, key)
	if err != nil {
		return Request{}, err
	}
	if len(body) > 0 && !hasHeader(header, contentType) {
		header[contentType] = "application/json"
	}
	if key != "" && t.submit.idempotency == wire.IdempotencyHeader {
		header[t.submit.keyName] = key
	}
	request := Request{
		Method: t.submit.method, URL: address, Header: header, Body: body, Origins: origins,
		AllowPrivateNetwork: t.reach.allowPrivate,
	}
	if len(t.reach.auth) > 0 && (target.CredentialRef != "" || !t.reach.open) {
		request.Auth, request.ways = t.reach.auth[0], t.reach.auth
	}
	return request, nil
}

func hasHeader(header map[string]string, wanted string) bool {
	for name := range header {
		if strings.EqualFold(name, wanted) {
			return true
		}
	}
	return false
}

// submitAddress is the URL of the submission. Its origin must be one of the table's, as that of a status request.
func (t *Table) submitAddress(target wire.Target, key string) (string, []string, error) {
	named := valuesOf(target, t.defaults)
	named["key"] = key
	if key == "" {
		named["key"] = "key"
	}
	query := renderQuery(t.submit.query, named)
	if key != "" && t.submit.idempotency == wire.IdempotencyQuery {
		query = append(query, wire.EscapeSegment(t.submit.keyName)+"="+wire.EscapeSegment(key))
	}
	origins, err := t.origins(t.exampleValues(target))
	if err != nil {
		return "", nil, err
	}
	text, err := t.submit.url.url(named)
	if err != nil {
		return "", nil, err
	}
	accepted, err := acceptURL(text, origins)
	return withQuery(text, query), accepted, err
}

// exampleValues name a job that there could be: the origins of a table do not depend on what only the answer has.
func (t *Table) exampleValues(target wire.Target) values {
	named := valuesOf(target, t.defaults)
	named["job_id"] = "job"
	for _, name := range t.ParamsOfAnswer() {
		named["params."+name] = "param"
	}
	return named
}

// bodyWith puts the key into the body where it belongs there. The rest of the body keeps its values as they were written.
func (s *submitCall) bodyWith(body []byte, key string) ([]byte, error) {
	body = bytes.TrimSpace(body)
	if string(body) == "null" {
		body = nil
	}
	inURL := s.url.asksFor("key")
	inBody := s.idempotency == wire.IdempotencyBody || s.idempotency == wire.IdempotencyClientID && !inURL
	if !inBody {
		return body, nil
	}
	if len(body) == 0 {
		body = []byte("{}")
	}
	return putKey(body, strings.Split(s.keyName, "."), key)
}

// putKey writes the key at a path of members; an empty key only looks that nothing stands there.
func putKey(object []byte, path []string, key string) ([]byte, error) {
	members := map[string]jsontext.Value{}
	if err := json.Unmarshal(object, &members); err != nil {
		return nil, fmt.Errorf("body: %q is not in an object, so the idempotency key cannot stand there", path[0])
	}
	below, taken := members[path[0]]
	switch {
	case len(path) > 1 && !taken:
		below = jsontext.Value("{}")
		fallthrough
	case len(path) > 1:
		written, err := putKey(below, path[1:], key)
		if err != nil {
			return nil, err
		}
		members[path[0]] = written
	case taken:
		return nil, fmt.Errorf("body: %q is where the idempotency key goes, which the worker puts there; leave it out", path[0])
	case key != "":
		quoted, err := quote(key)
		if err != nil {
			return nil, err
		}
		members[path[0]] = jsontext.Value(quoted)
	}
	return json.Marshal(members, json.Deterministic(true))
}

// Fingerprint identifies what a submission asks for: "sha256:" and the lower-case hex of the SHA-256 of method, URL, the table's
// headers and the body in canonical form (RFC 8785, with whole numbers digit for digit), each on a line of its own. Neither
// the credential nor the idempotency key is part of it.
func (t *Table) Fingerprint(target wire.Target, body []byte) (string, error) {
	request, err := t.SubmitRequest(target, "", body)
	if err != nil {
		return "", err
	}
	canonical := jsontext.Value(bytes.Clone(request.Body))
	if len(canonical) > 0 {
		if err := canonical.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil {
			return "", errors.New("body: not canonical JSON")
		}
	}
	var text strings.Builder
	text.WriteString(request.Method + "\n" + request.URL + "\n")
	for _, name := range slices.Sorted(maps.Keys(request.Header)) {
		text.WriteString(strings.ToLower(name) + ": " + request.Header[name] + "\n")
	}
	text.Write(canonical)
	sum := sha256.Sum256([]byte(text.String()))
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// SubmissionReading is what the answer to a submission says.
type SubmissionReading struct {
	Verdict wire.SubmitVerdict
	Detail  string
	// Job is set with wire.SubmitAccepted.
	Job *wire.SubmittedJob
	// Observation is the HTTP fact, and the state of the job where the answer tells it.
	Observation wire.Observation
}

// ReadSubmission reads the answer to a request that was sent with the key to the URL. Whatever it does not know for certain
// is wire.SubmitAmbiguous.
func (t *Table) ReadSubmission(asked wire.Target, key, sentTo string, response Response) SubmissionReading {
	r := newReader(t, asked, wire.ReadingContext{SubmittedAt: response.ReceivedAt}, response)
	reading := SubmissionReading{Observation: wire.Observation{
		HTTPStatus: response.Status, Size: int64(len(response.Body)), TableDigest: t.digest, Answer: factOf(response.Status),
	}}
	malformed := r.parse()
	status := response.Status
	switch {
	case slices.Contains(t.submit.accepted, status):
		reading.Observation.Answer = wire.AnswerRead
		r.readAccepted(&reading, key, sentTo, malformed)
	case slices.Contains(t.submit.exists, status):
		reading.Observation.Answer = wire.AnswerRead
		r.readExisting(&reading, key, sentTo)
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

// factOf is the HTTP fact of an answer that is not read further, in the order of R12.
func factOf(status int) wire.Answer {
	switch {
	case status == 401 || status == 403:
		return wire.AnswerDenied
	case status == 429:
		return wire.AnswerRateLimited
	case status >= 500:
		return wire.AnswerServerError
	default:
		return wire.AnswerUnexpected
	}
}

// saidError is the provider's own error, where the table's expressions for a job's error find one here too.
func (r *reader) saidError() string {
	code := scrub(r.text(r.table.errorCode), maxCodeBytes)
	message := scrub(r.text(r.table.errorMessage), maxMessageBytes)
	return strings.TrimSpace(code + " " + message)
}

// readAccepted reads which job there is. Where that cannot be told, there may be one all the same.
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

// readExisting reads an answer by which the provider has a job under this key already.
func (r *reader) readExisting(reading *SubmissionReading, key, sentTo string) {
	job := r.submittedJob(key, sentTo)
	if job == nil {
		reading.Verdict, reading.Detail = wire.SubmitAmbiguous, wire.DetailNoJobID
		return
	}
	reading.Verdict, reading.Job, reading.Detail = wire.SubmitAccepted, job, joined(wire.DetailKeyUsed, job.Unusable)
}

// joined are two words, of which one or both may be empty.
func joined(one, other string) string { return strings.TrimSpace(one + " " + other) }

// submittedJob is the job that the answer names; nil where it names none that can be read. A job that is named is kept, even if
// the answer does not say how its status is asked for.
func (r *reader) submittedJob(key, sentTo string) *wire.SubmittedJob {
	s := r.table.submit
	job := &wire.SubmittedJob{ProviderJobID: r.exactText(s.jobID)}
	if job.ProviderJobID == "" && s.idempotency == wire.IdempotencyClientID {
		job.ProviderJobID = key
	}
	if n := utf8.RuneCountInString(job.ProviderJobID); n == 0 || n > 256 || !utf8.ValidString(job.ProviderJobID) {
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

// readParams reads what the job's wait needs besides its id.
func (r *reader) readParams(job *wire.SubmittedJob) {
	s := r.table.submit
	for _, name := range slices.Sorted(maps.Keys(s.params)) {
		value := r.exactText(s.params[name])
		if !r.table.params[name].whole.MatchString(value) {
			job.Unusable = cmp.Or(job.Unusable, wire.DetailNoParam+name)
			continue
		}
		if job.Params == nil {
			job.Params = map[string]string{}
		}
		job.Params[name] = value
	}
}

// exactText is a text or a number, digit for digit; empty where there is none.
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

// handedStatusURL is the URL that the answer hands out, if the table accepts it (R51). One without a host is meant from where
// it was answered (RFC 9110 section 10.2.2).
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

// stateAtOnce is the state that the answer to the submission tells; nil where it tells none that is listed.
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

// doneAtOnce is the success that the answer's code tells by itself; nil where the answer contradicts it.
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

// about is what a status request about the job would ask for.
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
