package statetables

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jobwait/jobwait/wire"
)

// maxKeyLength bounds what a provider may be said to take as an idempotency key, leastKeyLength what can be used as one.
const (
	maxKeyLength   = 65_536
	leastKeyLength = 16
	// maxKeySeconds bounds how long a provider may be said to know a key: ten years.
	maxKeySeconds = 10 * 366 * 86_400
)

// The answers to a submission that say by themselves that nothing was made (RFC 9110 section 15.5: the request is refused as it
// stands), for tables that list none.
var refusedByHTTP = []int{400, 401, 403, 404, 405, 406, 411, 413, 414, 415, 422, 431}

// laterByHTTP is the answer that refuses a request only because there were too many (RFC 6585 section 4), for tables that list none.
var laterByHTTP = []int{429}

const methodGET = "GET"

// submitMethods are those by which providers make jobs; some begin an export by a GET.
var submitMethods = []string{"POST", "PUT", methodGET}

// buildSubmit reads how a submission can be repeated, and how it is sent.
func (b *builder) buildSubmit() {
	written := b.doc.Submit
	if written == nil {
		return
	}
	b.checkIdempotency(written)
	switch {
	case written.Request == nil && (written.Answer != nil || len(written.Examples) > 0):
		b.fail("submit", "submit: answer and examples belong to a request; write request: {method: POST, url: ...}, or remove them")
	case written.Request != nil && written.Answer == nil:
		b.fail("submit.request", "submit: a request needs an answer; write how it is read: answer: {job_id: body.id}")
	case written.Request != nil:
		b.buildSubmitCall(written)
	}
}

func (b *builder) checkIdempotency(written *SubmitDoc) {
	switch wire.Idempotency(written.Idempotency) {
	case wire.IdempotencyHeader, wire.IdempotencyBody, wire.IdempotencyQuery, wire.IdempotencyClientID:
		b.cite("submit", written.Source)
		b.between("submit.max_length", written.MaxLength, 0, maxKeyLength)
		b.seconds("submit.valid", written.Valid, maxKeySeconds)
		if written.Name == "" {
			b.fail("submit", "submit: idempotency %s has no name; write what the key is called, like name: Idempotency-Key", written.Idempotency)
		}
		return
	case wire.IdempotencyNone:
		b.cite("submit", written.Source)
	case wire.IdempotencyUnknown:
		if written.Source != "" {
			b.fail("submit", "submit: idempotency unknown has a source; write none where it was read that there is none")
		}
	default:
		b.fail("submit", "submit: idempotency %q; write one of none, header, body, query, client_id, unknown", written.Idempotency)
	}
	if written.Name != "" || written.MaxLength != 0 || written.Valid != nil {
		b.fail("submit", "submit: name, max_length and valid belong to a key; remove them, or say how the key is sent: idempotency: header")
	}
}

func (b *builder) buildSubmitCall(written *SubmitDoc) {
	request := written.Request
	b.cite("submit.request", request.Source)
	b.cite("submit.answer", written.Answer.Source)
	if !slices.Contains(submitMethods, request.Method) {
		b.fail("submit.request.method", "submit: request: method %q; write one of %s", request.Method, list(submitMethods))
	}
	made := &submitCall{
		call: call{
			method: request.Method, url: b.requestURL("submit.request.url", request.URL, false),
			query: b.templates("submit.request.query", request.Query), headers: b.headers("submit.request.headers", request.Headers),
		},
		idempotency: wire.Idempotency(written.Idempotency), keyName: written.Name, keyLength: written.MaxLength,
	}
	if written.Valid != nil {
		made.keySeconds = written.Valid.Seconds
	}
	b.buildSendAs(made, request.SendAs)
	b.checkKey(made)
	b.checkSubmitHoles(made)
	b.buildSubmitAnswer(made, written.Answer)
	b.table.submit = made
}

func (b *builder) buildSendAs(made *submitCall, word string) {
	made.form = word == sendAsForm
	switch {
	case word != "" && !made.form:
		b.fail("submit.request.send_as", "submit: request: send_as %q; write form for application/x-www-form-urlencoded, or leave it out for JSON", word)
	case made.form && made.method == methodGET:
		b.fail("submit.request.send_as", "submit: request: send_as says how a body is written, and a GET has none; remove it")
	}
}

// checkKey wants the key to have one place, and to be long enough there.
func (b *builder) checkKey(made *submitCall) {
	inURL := made.url.asksFor("key")
	switch {
	case inURL && made.idempotency != wire.IdempotencyClientID:
		b.fail("submit.request.url", "submit: request: {key} stands in the url of a client_id only; write idempotency: client_id, or remove it")
	case made.idempotency == wire.IdempotencyHeader && (!headerShape.MatchString(made.keyName) || slices.Contains(ownHeaders, strings.ToLower(made.keyName))):
		b.fail("submit.name", "submit: name %q is no header that a key can stand in", made.keyName)
	case made.method == methodGET && (made.idempotency == wire.IdempotencyBody || made.idempotency == wire.IdempotencyClientID && !inURL):
		b.fail("submit.request.method", "submit: request: a GET has no body that a key could stand in; write idempotency: none where the provider knows no other place for it")
	case made.keyLength > 0 && made.keyLength < leastKeyLength:
		b.fail("submit.max_length", "submit: max_length %d leaves no room for a key of at least %d characters; a request cannot use it, write idempotency: none and say so in note", made.keyLength, leastKeyLength)
	}
}

// checkSubmitHoles keeps what only an answer has out of the request that leads to it.
func (b *builder) checkSubmitHoles(made *submitCall) {
	parts := append(slices.Collect(maps.Values(made.query)), slices.Collect(maps.Values(made.headers))...)
	for _, one := range append(parts, made.url) {
		for _, name := range []string{"job_id", "status_url"} {
			if one.asksFor(name) {
				b.fail("submit.request", "submit: request: {%s} is not known before the answer; values are {account}, {params.x} and, in the url, {key}", name)
			}
		}
	}
}

func (b *builder) buildSubmitAnswer(made *submitCall, written *SubmitAnswerDoc) {
	made.accepted, made.done, made.refused, made.later, made.exists = written.Accepted, written.Done, written.Refused, written.Later, written.Exists
	if made.accepted == nil {
		made.accepted = without(successByHTTP(), made.exists)
	}
	if made.later == nil {
		made.later = without(laterByHTTP, made.accepted, made.refused, made.exists)
	}
	if made.refused == nil {
		made.refused = without(refusedByHTTP, made.later, made.exists)
	}
	b.checkSubmitCodes(made)
	made.jobID = b.expression("submit.answer.job_id", written.JobID, wantsText)
	made.statusURL = b.expression("submit.answer.status_url", written.StatusURL, wantsText)
	if written.JobID == "" && made.idempotency != wire.IdempotencyClientID {
		b.fail("submit.answer", "submit: answer: job_id is missing; write where it stands, like job_id: body.id or last_segment(header[\"location\"])")
	}
	if polls := b.table.reach.polls; polls != (written.StatusURL != "") {
		b.fail("submit.answer", "submit: answer: status_url belongs to a table that is polled at the URL of the submission, and is needed there")
	}
	made.params = map[string]*expression{}
	for _, name := range slices.Sorted(maps.Keys(written.Params)) {
		path := "submit.answer.params." + name
		if _, declared := b.doc.Params[name]; !declared {
			b.fail(path, "submit: answer: %q is not among this table's params", name)
		}
		if slices.Contains(made.url.names(), "params."+name) {
			b.fail(path, "submit: answer: param %q is needed for the request, so the spec has it", name)
		}
		made.params[name] = b.expression(path, written.Params[name], wantsText)
	}
	switch written.ReadAs {
	case "":
	case "status":
		made.readsStatus = true
	default:
		b.fail("submit.answer.read_as", "submit: answer: read_as %q; write status where the answer has the shape of a status answer, or leave it out", written.ReadAs)
	}
}

// without are the codes that none of the others has.
func without(codes []int, others ...[]int) []int {
	return slices.DeleteFunc(slices.Clone(codes), func(code int) bool { return slices.Contains(slices.Concat(others...), code) })
}

// successByHTTP are all codes by which HTTP says that a request was received, understood and accepted.
func successByHTTP() []int {
	codes := make([]int, 100)
	for i := range codes {
		codes[i] = 200 + i
	}
	return codes
}

// checkSubmitCodes wants each code to have one meaning.
func (b *builder) checkSubmitCodes(made *submitCall) {
	if len(made.accepted) == 0 {
		b.fail("submit.answer.accepted", "submit: answer: accepted is empty; write the codes of an answer after which there is a job, or leave it out for every 2xx")
	}
	seen := map[int]string{}
	for _, group := range []struct {
		name        string
		codes       []int
		least, most int
	}{
		{"accepted", made.accepted, 200, 499},
		{"refused", made.refused, 400, 599},
		{"later", made.later, 400, 599},
		{"exists", made.exists, 200, 499},
	} {
		for _, code := range group.codes {
			path := "submit.answer." + group.name
			if code < group.least || code > group.most {
				b.fail(path, "submit: answer: %s %d; write codes from %d to %d", group.name, code, group.least, group.most)
			}
			if other, twice := seen[code]; twice {
				b.fail(path, "submit: answer: %d is in %s and in %s; keep one", code, other, group.name)
			}
			seen[code] = group.name
		}
	}
	for _, code := range made.done {
		if !slices.Contains(made.accepted, code) {
			b.fail("submit.answer.done", "submit: answer: done %d is not in accepted; a job that is over was taken", code)
		}
	}
	if len(made.exists) > 0 && made.idempotency != wire.IdempotencyClientID && b.doc.Submit.Answer.JobID == "" {
		b.fail("submit.answer.exists", "submit: answer: exists needs a job_id, or a client_id")
	}
}

// runSubmitExamples reads the answers of the submission's examples and compares.
func (b *builder) runSubmitExamples() {
	if b.table.submit == nil {
		return
	}
	if len(b.doc.Submit.Examples) == 0 {
		b.fail("submit", "submit: examples is missing; write at least one answer and what it must be read as")
	}
	for i := range b.doc.Submit.Examples {
		b.runSubmitExample(fmt.Sprintf("submit.examples[%d]", i), i)
	}
}

func (b *builder) runSubmitExample(path string, i int) {
	example, err := b.doc.submission(i)
	if err != nil {
		b.fail(path, "submit: example %q: %s", example.Name, err)
		return
	}
	request, err := b.table.SubmitRequest(example.Target, example.Key, []byte(`{}`))
	if err != nil {
		b.fail(path, "submit: example %q: the request cannot be made: %s", example.Name, err)
		return
	}
	got := b.table.ReadSubmission(example.Target, example.Key, request.URL, example.Response)
	for _, difference := range example.Differences(got) {
		b.fail(path, "submit: example %q reads otherwise: %s", example.Name, difference)
	}
}

func (w WantSubmitDoc) differences(got SubmissionReading) []string {
	var job wire.SubmittedJob
	if got.Job != nil {
		job = *got.Job
	}
	var category wire.Category
	if got.Observation.Job != nil {
		category = got.Observation.Job.Category
	}
	d := &differ{}
	d.compare("verdict", string(got.Verdict), w.Verdict)
	d.compare("detail", got.Detail, w.Detail)
	d.compare("job_id", job.ProviderJobID, w.JobID)
	d.compare("status_url", job.StatusURL, w.StatusURL)
	d.compare("category", string(category), w.Category)
	d.compare("params", pairs(job.Params), pairs(w.Params))
	return d.found
}
