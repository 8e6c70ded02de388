package statetables

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

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
		url:     b.requestURL("request.url", written.URL, true),
		query:   b.templates("request.query", written.Query),
		headers: b.headers("request.headers", written.Headers),
	}
	_, polls := b.table.status.url.afterStatusURL()
	b.table.reach = reach{statusQuery: written.StatusURLQuery, polls: polls, allowPrivate: written.AllowPrivateNetwork}
	b.buildAuth()
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
		b.withinReach(path, text)
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
	b.checkHoles(path, parsed)
	return parsed
}

// checkHoles wants every value to be one that there is, and to be written in a way that it has.
func (b *builder) checkHoles(path string, parsed template) {
	for _, p := range parsed.parts {
		param, isParam := strings.CutPrefix(p.name, "params.")
		_, named := b.doc.Params[param]
		named = named && isParam || slices.Contains([]string{"", "job_id", "account", "status_url"}, p.name) ||
			p.name == "key" && strings.HasPrefix(path, "submit.request.url")
		if !named {
			b.fail(path, "%s: {%s} names no value; values are {job_id}, {account}, {status_url} and {params.x} of declared params", path, p.name)
		}
		known := p.filter == filterParent && p.name == "status_url" ||
			(p.filter == filterPath || p.filter == filterNumber) && p.name != "status_url"
		if p.filter != "" && !known {
			b.fail(path, "%s: {%s|%s} is no way to write it; ways are {status_url|parent}, {job_id|path} and, in a body, {job_id|number}", path, p.name, p.filter)
		}
	}
}

func (b *builder) templates(path string, written map[string]string) map[string]template {
	parsed := make(map[string]template, len(written))
	for name, text := range written {
		parsed[name] = b.template(path+"."+name, text)
		if text == "" {
			b.fail(path+"."+name, "%s: %s is empty, and what is empty is not sent; remove it", path, name)
		}
		if parsed[name].asksFor("status_url") {
			b.fail(path+"."+name, "%s: {status_url} stands at the beginning of a url only", path)
		}
	}
	return parsed
}

// requestURL parses the URL of a request, whose query has a place of its own.
func (b *builder) requestURL(path, text string, handedOut bool) template {
	if strings.ContainsAny(text, "?#") {
		b.fail(path, "%s: write what follows the ? under query", path)
	}
	if rest, plain := strings.CutPrefix(text, "http://"); plain {
		host, _, _ := strings.Cut(rest, "/")
		host = hole.ReplaceAllString(host, "1") // a param may stand for the port of a loopback address
		if _, err := parseOrigin("http://" + host); err != nil {
			b.fail(path, "%s: http is for loopback only; write https://host/path", path)
		}
	}
	b.withinReach(path, text)
	return b.urlTemplate(path, text, handedOut)
}

// withinReach refuses an address that the worker would send nothing to. What a name leads to is seen when a request leaves.
func (b *builder) withinReach(path, text string) {
	if host := hostOf(hole.ReplaceAllString(text, "1")); !b.doc.Request.AllowPrivateNetwork && isPrivate(host) {
		b.fail(path, "%s: nothing is sent to %q, which is no public address; write allow_private_network: true under request", path, host)
	}
}

// urlTemplate parses a URL, which may begin with {status_url} where one is handed out.
func (b *builder) urlTemplate(path, text string, handedOut bool) template {
	parsed := b.template(path, text)
	after, begins := parsed.afterStatusURL()
	switch {
	case text == "":
		b.fail(path, "%s is missing; write it like https://api.example.com/jobs/{job_id}", path)
		return parsed
	case begins && !handedOut:
		b.fail(path, "%s: it begins with {status_url}, but no such URL is handed out here; write the URL out", path)
	case begins && after.asksFor("status_url"), !begins && parsed.asksFor("status_url"):
		b.fail(path, "%s: {status_url} stands at the beginning only", path)
	case begins:
	case !strings.HasPrefix(text, "https://") && !strings.HasPrefix(text, "http://"):
		b.fail(path, "%s: %q is not absolute; write https://host/path", path, text)
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

// buildAuth reads the ways in which the provider takes a credential.
func (b *builder) buildAuth() {
	written := b.doc.Request.Auth
	if len(written) == 0 {
		b.fail("request", "request: auth is missing; write auth: {scheme: bearer}, or {scheme: none} where the provider asks for nothing")
	}
	for i, one := range written {
		path := fmt.Sprintf("request.auth[%d]", i)
		if slices.ContainsFunc(written[:i], func(other AuthDoc) bool { return other.Scheme == one.Scheme }) {
			b.fail(path, "request: auth: scheme %q stands twice; a credential chooses by this word, keep one", one.Scheme)
		}
		if one.Scheme == schemeNone {
			b.table.reach.open = true
			continue
		}
		b.table.reach.auth = append(b.table.reach.auth, b.auth(path, one))
	}
}

func (b *builder) auth(path string, written AuthDoc) Auth {
	if written.Name != "" && !headerShape.MatchString(written.Name) && written.Scheme == schemeHeader {
		b.fail(path+".name", "request: auth: %q is no header name", written.Name)
	}
	prefix := written.Prefix
	if prefix != "" {
		prefix += " "
	}
	switch {
	case written.Scheme == schemeBearer:
		return Auth{Scheme: schemeBearer, Header: "Authorization", Prefix: "Bearer "}
	case written.Scheme == schemeBasic:
		return Auth{Scheme: schemeBasic, Header: "Authorization", Prefix: "Basic ", Basic: true}
	case written.Scheme == schemeHeader && written.Name != "":
		return Auth{Scheme: schemeHeader, Header: written.Name, Prefix: prefix}
	case written.Scheme == schemeQuery && written.Name != "":
		return Auth{Scheme: schemeQuery, Query: written.Name}
	}
	b.fail(path, "request: auth: scheme %q; write none, bearer, basic, {scheme: header, name: X-Api-Key}, {scheme: header, name: Authorization, prefix: Key} or {scheme: query, name: key}", written.Scheme)
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
		allowedWhen:  b.expression("cancel.allowed_when", written.AllowedWhen, wantsBool),
		facts: wire.CancelFacts{
			States: written.States, Destructive: written.Destructive,
			ConfirmRequests: written.Confirm.Requests, ConfirmSeconds: written.Confirm.Seconds,
		},
	}
}

func (b *builder) cancelCall(written *CancelDoc) call {
	made := call{
		method: written.Method, url: b.requestURL("cancel.url", written.URL, b.table.reach.polls || b.doc.NextURL != ""),
		query: b.templates("cancel.query", written.Query), headers: b.headers("cancel.headers", written.Headers),
	}
	if written.Body == nil {
		return made
	}
	made.body = b.bodyTemplate(written.Body)
	if !hasHeader(made.headers, contentType) {
		made.headers[contentType] = template{parts: []part{{literal: "application/json"}}}
	}
	return made
}

const contentType = "Content-Type"

func (b *builder) bodyTemplate(node *yaml.Node) *bodyTemplate {
	body, err := parseBodyTemplate(node)
	if err != nil {
		b.fail("cancel.body", "cancel: body: %s", err)
	}
	for _, text := range body.texts {
		b.checkHoles("cancel.body", text)
	}
	return body
}

// checkCancelStates wants states in which a cancel is allowed to be states at all.
func (b *builder) checkCancelStates(states []string) {
	names := map[string]bool{}
	for _, listed := range b.table.states {
		names[listed.spelling] = true // the empty word may be one
	}
	add := func(name string) {
		if name != "" {
			names[name] = true
		}
	}
	for _, rule := range b.table.rules {
		add(rule.name)
	}
	for _, code := range b.table.codes {
		add(code.name)
	}
	for i, state := range states {
		if !names[state] {
			b.fail(fmt.Sprintf("cancel.states[%d]", i), "cancel: state %q is not among this table's states; write one of %s", state, list(slices.Sorted(maps.Keys(names))))
		}
	}
}
