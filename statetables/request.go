package statetables

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jobwait/jobwait/wire"
)

// Request is one request to a provider, built by its table. It contains no secret until Authorize adds one.
type Request struct {
	Method string
	// URL is absolute, without userinfo and fragment, and its origin is among Origins.
	URL string
	// Header contains the headers to send in addition to those that HTTP requires.
	Header map[string]string
	Body   []byte
	// Auth is the default of the table, unless Choose selected another; the zero value if no credential is sent.
	Auth Auth
	// Origins are the origins that the table accepts for this target, written scheme://host:port in lower case.
	Origins []string
	// AllowPrivateNetwork lets the request go to loopback, private and link-local addresses.
	AllowPrivateNetwork bool

	ways []Auth
}

// Choose returns the request with the Auth of the given scheme, or with the table's default for an empty scheme. The error is that
// of Table.CheckScheme.
func (r Request) Choose(scheme string) (Request, error) {
	if scheme == "" || len(r.ways) == 0 {
		return r, nil
	}
	way, err := wayOf(r.ways, scheme)
	if err != nil {
		return Request{}, err
	}
	r.Auth = way
	return r, nil
}

func wayOf(ways []Auth, scheme string) (Auth, error) {
	words := make([]string, 0, len(ways))
	for _, way := range ways {
		if way.Scheme == scheme {
			return way, nil
		}
		words = append(words, way.Scheme)
	}
	return Auth{}, fmt.Errorf("scheme %q is not one of the provider's table, which takes %s", scheme, list(words))
}

// The words by which a table, and a credential that chooses among its ways, name where a credential goes.
const (
	schemeNone   = "none"
	schemeBearer = "bearer"
	schemeBasic  = "basic"
	schemeHeader = "header"
	schemeQuery  = "query"
)

// AuthSchemes returns the schemes that a table may declare and a credential may choose.
func AuthSchemes() []string { return []string{schemeBearer, schemeBasic, schemeHeader, schemeQuery} }

// Auth says where a request carries the credential. The zero value means nowhere.
type Auth struct {
	// Scheme is one of AuthSchemes.
	Scheme string
	// Header is the name of the header that carries Prefix and the secret.
	Header string
	Prefix string
	// Basic encodes the secret, "user:password", in base64.
	Basic bool
	// Query is the name of the query parameter that carries the secret, if it goes into the URL.
	Query string
}

// Needed reports whether the request needs a credential.
func (a Auth) Needed() bool { return a.Header != "" || a.Query != "" }

// Authorize returns the request with the secret added as Auth says; without Auth it returns the request unchanged. The URL of the
// result may contain the secret and must not be logged.
func (r Request) Authorize(secret string) Request {
	if r.Auth.Query != "" {
		r.URL = withQuery(r.URL, []string{r.Auth.Query + "=" + wire.EscapeSegment(secret)})
		return r
	}
	if r.Auth.Header == "" {
		return r
	}
	if r.Auth.Basic {
		secret = base64.StdEncoding.EncodeToString([]byte(secret))
	}
	r.Header = maps.Clone(r.Header)
	if r.Header == nil {
		r.Header = map[string]string{}
	}
	r.Header[r.Auth.Header] = r.Auth.Prefix + secret
	return r
}

// ErrNoCancel reports that a table documents no cancel call.
var ErrNoCancel = errors.New("the table documents no cancel call")

// call is one documented request: the status GET, the cancel or the submission.
type call struct {
	method  string
	url     template
	query   map[string]template
	headers map[string]template
	body    *bodyTemplate
}

// reach is what bounds where a table's requests go.
type reach struct {
	auth         []Auth
	open         bool // a request may also go without a credential
	origins      []template
	statusQuery  []string
	polls        bool // the status URL is the submission's
	allowPrivate bool
}

// of is the request with how far it may reach and where its credential goes.
func (r reach) of(request Request, target wire.Target) Request {
	request.AllowPrivateNetwork = r.allowPrivate
	if len(r.auth) > 0 && (target.CredentialRef != "" || !r.open) {
		request.Auth, request.ways = r.auth[0], r.auth
	}
	return request
}

// StatusRequest returns the GET that asks for the status of the job. The error is a *URLRejectedError if the table does not accept
// the URL.
func (t *Table) StatusRequest(target wire.Target) (Request, error) {
	if t.nextURL == nil || target.StatusURL == "" || t.reach.polls {
		return t.request(t.status, target)
	}
	next := t.status
	next.url, next.query = template{parts: []part{{}, {name: "status_url"}, {}}}, nil
	return t.request(next, target)
}

// CancelRequest returns the documented cancel call. The error is ErrNoCancel if there is none, or a *URLRejectedError if the table
// does not accept the URL.
func (t *Table) CancelRequest(target wire.Target) (Request, error) {
	if t.cancel == nil {
		return Request{}, ErrNoCancel
	}
	return t.request(t.cancel.call, target)
}

func (t *Table) request(call call, target wire.Target) (Request, error) {
	named := valuesOf(target, t.defaults)
	address, origins, err := t.address(call, target, named)
	if err != nil {
		return Request{}, err
	}
	header, err := renderHeaders(call.headers, named)
	if err != nil {
		return Request{}, err
	}
	body, err := call.body.render(named)
	if err != nil {
		return Request{}, err
	}
	return t.reach.of(Request{Method: call.method, URL: address, Header: header, Body: body, Origins: origins}, target), nil
}

// address is the URL of a call and the origins it may have.
func (t *Table) address(call call, target wire.Target, named values) (string, []string, error) {
	query := renderQuery(call.query, named)
	origins, err := t.origins(named)
	if err != nil {
		return "", nil, err
	}
	text, err := call.url.locate(target.StatusURL, named)
	if err != nil {
		return "", nil, err
	}
	accepted, err := acceptURL(text, origins)
	return withQuery(text, query), accepted, err
}

// origins are those the table lists and, where it builds the status URL itself, that URL's.
func (t *Table) origins(named values) ([]string, error) {
	var all []string
	for _, listed := range t.reach.origins {
		origin, err := parseOrigin(listed.plain(named))
		if err != nil {
			return nil, err
		}
		all = append(all, origin)
	}
	if t.reach.polls {
		return all, nil
	}
	text, err := t.status.url.url(named)
	if err != nil {
		return nil, err
	}
	built, err := parseAbsolute(text)
	if err != nil {
		return nil, err
	}
	secure := built.Scheme == "https" || isLoopback(built.Hostname())
	if own := originOf(built); secure && !slices.Contains(all, own) {
		all = append(all, own)
	}
	return all, nil
}

// extend puts suffix behind the path of a URL and before its query.
func extend(whole, suffix string) string {
	address, query, found := strings.Cut(whole, "?")
	if !found {
		return address + suffix
	}
	return address + suffix + "?" + query
}

func withQuery(address string, query []string) string {
	if len(query) == 0 {
		return address
	}
	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	return address + separator + strings.Join(query, "&")
}

// renderQuery leaves out a name whose value is empty, as renderHeaders does: providers take an empty one for a wrong one.
func renderQuery(query map[string]template, named values) []string {
	rendered := make([]string, 0, len(query))
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if value := query[name].plain(named); value != "" {
			rendered = append(rendered, name+"="+wire.EscapeSegment(value))
		}
	}
	return rendered
}

func renderHeaders(headers map[string]template, named values) (map[string]string, error) {
	rendered := make(map[string]string, len(headers))
	for name, value := range headers {
		text, err := value.header(named)
		if err != nil {
			return nil, fmt.Errorf("header %q: %w", name, err)
		}
		if text != "" {
			rendered[name] = text
		}
	}
	return rendered, nil
}
