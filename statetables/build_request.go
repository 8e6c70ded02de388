package statetables

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/jobwait/jobwait/wire"
)

// statusMethod is the one method that a status is asked for with.
const statusMethod = "GET"

func (b *builder) buildRequest() {
	written := b.doc.Request
	if written.Method != "" && written.Method != statusMethod {
		b.fail("request.method", "request: method %q; a status is asked for by GET only, since anything else may change the job", written.Method)
	}
	b.table.status = call{
		method:  statusMethod,
		url:     b.urlTemplate("request.url", written.URL, true),
		query:   b.templates("request.query", written.Query),
		headers: b.headers("request.headers", written.Headers),
	}
	_, polls := b.table.status.url.afterStatusURL()
	b.table.reach = reach{
		auth: b.auth(), statusQuery: written.StatusURLQuery, polls: polls, allowPrivate: written.AllowPrivateNetwork,
	}
	b.buildOrigins(polls)
	if !polls && len(written.StatusURLQuery) > 0 {
		b.fail("request.status_url_query", `request: status_url_query is for tables that poll the submission's URL; write url: "{status_url}", or remove it`)
	}
	b.accountAndConsole()
}

func (b *builder) accountAndConsole() {
	if b.doc.AccountMustBe != "" {
		account := b.template("account_must_be", b.doc.AccountMustBe)
		if account.asksFor("account") {
			b.fail("account_must_be", "account_must_be names {account} itself; write what it must be, like {params.owner}/{params.repo}")
		}
		b.table.accountMustBe = &account
	}
	if b.doc.ConsoleURL != "" {
		console := b.urlTemplate("console_url", b.doc.ConsoleURL, false)
		b.table.consoleURL = &console
	}
}

func (b *builder) buildOrigins(polls bool) {
	written := b.doc.Request.Origins
	if polls && len(written) == 0 {
		b.fail("request", "request: origins is missing; the submission hands the URL out, so write which hosts it may name: origins: [https://api.example.com]")
	}
	for i, text := range written {
		path := fmt.Sprintf("request.origins[%d]", i)
		origin := b.template(path, text)
		b.paramsOnly(path, origin)
		if len(origin.names()) == 0 {
			if _, err := parseOrigin(text); err != nil {
				b.fail(path, "%s: %s", path, err)
			}
		}
		b.table.reach.origins = append(b.table.reach.origins, origin)
	}
}

// template parses the text at path, whose names must be declared.
func (b *builder) template(path, text string) template {
	parsed, err := parseTemplate(text)
	if err != nil {
		b.fail(path, "%s: %s", path, err)
		return template{}
	}
	for _, name := range parsed.names() {
		param, isParam := strings.CutPrefix(name, "params.")
		_, declared := b.doc.Params[param]
		if isParam && declared || name == "job_id" || name == "account" {
			continue
		}
		if name != "status_url" {
			b.fail(path, "%s: {%s} names no value; values are {job_id}, {account}, {status_url} and {params.x} of declared params", path, name)
		}
	}
	return parsed
}

func (b *builder) templates(path string, written map[string]string) map[string]template {
	parsed := make(map[string]template, len(written))
	for name, text := range written {
		parsed[name] = b.template(path+"."+name, text)
		if parsed[name].asksFor("status_url") {
			b.fail(path+"."+name, "%s: {status_url} stands at the beginning of a url only", path)
		}
	}
	return parsed
}

// urlTemplate parses a URL. Where it is requested, its query has a place of its own and it may begin with {status_url}.
func (b *builder) urlTemplate(path, text string, requested bool) template {
	parsed := b.template(path, text)
	after, handedOut := parsed.afterStatusURL()
	switch {
	case text == "":
		b.fail(path, "%s is missing; write it like https://api.example.com/jobs/{job_id}", path)
		return parsed
	case handedOut && requested:
		if after.asksFor("status_url") {
			b.fail(path, "%s: {status_url} stands at the beginning only", path)
		}
	case parsed.asksFor("status_url"):
		b.fail(path, "%s: {status_url} stands at the beginning of a request's url only", path)
	case !strings.HasPrefix(text, "https://") && !strings.HasPrefix(text, "http://"):
		b.fail(path, "%s: %q is not absolute; write https://host/path", path, text)
	}
	if requested && strings.ContainsAny(text, "?#") {
		b.fail(path, "%s: write what follows the ? under query", path)
	}
	b.hostParams(path, parsed)
	return parsed
}

// hostParams wants only params in a host, since they alone have a pattern.
func (b *builder) hostParams(path string, parsed template) {
	before := ""
	for _, part := range parsed.parts {
		if part.name != "" && inHost(before) && !strings.HasPrefix(part.name, "params.") {
			b.fail(path, "%s: {%s} stands in the host; only params may, since they have a pattern", path, part.name)
		}
		before += part.literal
	}
}

func (b *builder) paramsOnly(path string, parsed template) {
	for _, name := range parsed.names() {
		if !strings.HasPrefix(name, "params.") {
			b.fail(path, "%s: {%s} in an origin; only params may stand there, since they have a pattern", path, name)
		}
	}
}

var headerShape = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// ownHeaders belong to HTTP or to the credential.
var ownHeaders = []string{
	"host", "connection", "content-length", "transfer-encoding", "accept-encoding", "authorization", "proxy-authorization",
	"cookie", "te", "trailer", "upgrade", "expect",
}

func (b *builder) headers(path string, written map[string]string) map[string]template {
	for name := range written {
		if !headerShape.MatchString(name) || slices.Contains(ownHeaders, strings.ToLower(name)) {
			b.fail(path+"."+name, "%s: %q is not a header that a table sets; a credential goes under auth", path, name)
		}
	}
	return b.templates(path, written)
}

func (b *builder) auth() Auth {
	written := b.doc.Request.Auth
	if written == nil {
		b.fail("request", "request: auth is missing; write auth: {scheme: bearer}, or {scheme: none} where the provider asks for nothing")
		return Auth{}
	}
	if written.Name != "" && !headerShape.MatchString(written.Name) && written.Scheme == "header" {
		b.fail("request.auth.name", "request: auth: %q is no header name", written.Name)
	}
	prefix := written.Prefix
	if prefix != "" {
		prefix += " "
	}
	switch {
	case written.Scheme == "none":
		return Auth{}
	case written.Scheme == "bearer":
		return Auth{Header: "Authorization", Prefix: "Bearer "}
	case written.Scheme == "basic":
		return Auth{Header: "Authorization", Prefix: "Basic ", Basic: true}
	case written.Scheme == "header" && written.Name != "":
		return Auth{Header: written.Name, Prefix: prefix}
	case written.Scheme == "query" && written.Name != "":
		return Auth{Query: written.Name}
	}
	b.fail("request.auth", "request: auth: scheme %q; write none, bearer, basic, {scheme: header, name: X-Api-Key}, {scheme: header, name: Authorization, prefix: Key} or {scheme: query, name: key}", written.Scheme)
	return Auth{}
}

var cancelMethods = []string{"POST", "PUT", "PATCH", "DELETE"}

func (b *builder) buildCancel() {
	written := b.doc.Cancel
	if written == nil {
		return
	}
	b.cite("cancel", written.Source)
	if !slices.Contains(cancelMethods, written.Method) {
		b.fail("cancel.method", "cancel: method %q; write one of %s", written.Method, list(cancelMethods))
	}
	if written.Asynchronous == nil {
		b.fail("cancel", "cancel: asynchronous is missing; write true where an accepted cancel may still end otherwise, false where it is done at once")
		return
	}
	if len(written.Expect) == 0 || slices.ContainsFunc(written.Expect, func(code int) bool { return code < 200 || code > 399 }) {
		b.fail("cancel", "cancel: expect %v; write the codes of a cancel that was taken, like [200, 202]", written.Expect)
	}
	b.between("cancel.confirm.requests", written.Confirm.Requests, 1, 1000)
	b.between("cancel.confirm.seconds", written.Confirm.Seconds, 1, 86_400)
	b.checkCancelStates(written.States)
	b.table.cancel = &cancelCall{
		call: b.cancelCall(written), expect: written.Expect, asynchronous: *written.Asynchronous,
		acceptedWhen: b.expression("cancel.accepted_when", written.AcceptedWhen, wantsBool),
		facts: wire.CancelFacts{
			States: written.States, Destructive: written.Destructive,
			ConfirmRequests: written.Confirm.Requests, ConfirmSeconds: written.Confirm.Seconds,
		},
	}
}

func (b *builder) cancelCall(written *cancelDoc) call {
	made := call{
		method: written.Method, url: b.urlTemplate("cancel.url", written.URL, true),
		query: b.templates("cancel.query", written.Query), headers: b.headers("cancel.headers", written.Headers),
	}
	if _, handedOut := made.url.afterStatusURL(); handedOut && !b.table.reach.polls && b.doc.NextURL == "" {
		b.fail("cancel.url", "cancel: url begins with {status_url}, but this table is polled at a URL of its own; write the URL out")
	}
	if written.Body == nil {
		return made
	}
	body, err := parseBodyTemplate(written.Body)
	if err != nil {
		b.fail("cancel.body", "cancel: body: %s", err)
	}
	made.body = body
	return made
}

// checkCancelStates wants states in which a cancel is allowed to be states at all.
func (b *builder) checkCancelStates(states []string) {
	names := map[string]bool{}
	for _, listed := range b.table.states {
		names[listed.spelling] = true
	}
	for _, rule := range b.table.rules {
		names[rule.name] = true
	}
	for _, code := range b.table.codes {
		names[code.name] = true
	}
	for i, state := range states {
		if state == "" || !names[state] {
			b.fail(fmt.Sprintf("cancel.states[%d]", i), "cancel: state %q is not among this table's states; write one of %s", state, list(slices.Sorted(maps.Keys(names))))
		}
	}
}
