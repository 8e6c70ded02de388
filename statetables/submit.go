package statetables

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/jobwait/jobwait/wire"
)

// ErrNoSubmit reports that a table does not describe how to submit.
var ErrNoSubmit = errors.New("the table has no submit.request, so nothing can be submitted with it")

// submitCall is the request that submits, and how to read its answer.
type submitCall struct {
	call
	idempotency wire.Idempotency
	keyName     string
	keyLength   int // 0: not documented
	keySeconds  int // 0: not documented
	form        bool

	accepted, refused, later, exists []int
	// done are those of accepted after which there is nothing to wait for.
	done []int

	jobID       *expression
	statusURL   *expression
	params      map[string]*expression
	readsStatus bool
}

// Submission returns the kind of idempotency that the table documents and the greatest length of a key, 0 if that is not
// documented. ok is false if the table does not describe how to submit.
func (t *Table) Submission() (idempotency wire.Idempotency, keyLength int, ok bool) {
	if t.submit == nil {
		return "", 0, false
	}
	return t.submit.idempotency, t.submit.keyLength, true
}

// KeyPlace returns where the table puts the idempotency key: its kind and name; empty if the provider knows no keys. The provider
// does not recognise a key in another place.
func (t *Table) KeyPlace() string {
	if t.submit == nil || !t.submit.idempotency.Repeatable() {
		return ""
	}
	return string(t.submit.idempotency) + " " + t.submit.keyName
}

// KeySeconds returns how long the provider remembers an idempotency key, from the first request with it; 0 if the table documents
// no end.
func (t *Table) KeySeconds() int {
	if t.submit == nil {
		return 0
	}
	return t.submit.keySeconds
}

// ParamsOfAnswer returns the params that are read from the answer to a submission, sorted. Its spec must leave them out.
func (t *Table) ParamsOfAnswer() []string {
	if t.submit == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(t.submit.params))
}

// CheckSubmission validates a submission's spec against the table. The error joins all faults.
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

// withoutAnswered returns the table without the params that only the answer has.
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

// SubmitRequest returns the request that submits a body, with the idempotency key where the table wants it; an empty key is left
// out. The error is ErrNoSubmit if the table does not describe how to submit, and a *URLRejectedError if it does not accept the
// URL.
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
	body, kind, err := t.submit.encode(body)
	if err != nil {
		return Request{}, err
	}
	if len(body) > 0 && !hasHeader(header, contentType) {
		header[contentType] = kind
	}
	if key != "" && t.submit.idempotency == wire.IdempotencyHeader {
		header[t.submit.keyName] = key
	}
	request := Request{Method: t.submit.method, URL: address, Header: header, Body: body, Origins: origins}
	return t.reach.of(request, target), nil
}

func hasHeader[V any](header map[string]V, wanted string) bool {
	for name := range header {
		if strings.EqualFold(name, wanted) {
			return true
		}
	}
	return false
}

// submitAddress returns the URL of the submission. Its origin must be one of the table's, as for a status request.
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

// exampleValues returns the values of a target with an example job: the table's origins do not depend on what only the answer has.
func (t *Table) exampleValues(target wire.Target) values {
	named := valuesOf(target, t.defaults)
	named["job_id"] = "job"
	for _, name := range t.ParamsOfAnswer() {
		named["params."+name] = "param"
	}
	return named
}

// bodyWith puts the key into the body if it belongs there. The other values of the body stay as they were written.
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

// encode returns a JSON body in the form that the provider accepts, with its media type.
func (s *submitCall) encode(body []byte) (encoded []byte, kind string, err error) {
	empty := len(body) == 0 || string(body) == "{}"
	switch {
	case s.method == methodGET && !empty:
		return nil, "", errors.New("body: nothing is sent with a GET; leave it out")
	case s.method == methodGET:
		return nil, "", nil
	case s.form && !empty:
		body, err = formOf(body)
		return body, "application/x-www-form-urlencoded", err
	case s.form:
		return nil, "", nil
	default:
		return body, "application/json", nil
	}
}

// putKey writes the key at a path of members. With an empty key it only checks that nothing is there.
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

// Fingerprint returns what identifies the request of a submission: "sha256:" and the lower-case hex of the SHA-256 of method, URL,
// the table's headers and the body in canonical form (RFC 8785, with whole numbers digit for digit), each on a line of its own. It
// covers neither the credential nor the idempotency key.
func (t *Table) Fingerprint(target wire.Target, body []byte) (string, error) {
	request, err := t.SubmitRequest(target, "", body)
	if err != nil {
		return "", err
	}
	asked, err := t.submit.bodyWith(body, "")
	if err != nil {
		return "", err
	}
	canonical := jsontext.Value(bytes.Clone(asked))
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
