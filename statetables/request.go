package statetables

import (
	"encoding/base64"
	"errors"
	"maps"

	"github.com/jobwait/jobwait/wire"
)

// Request is one request to a provider as its table wants it. It holds no secret until Authorize adds it.
type Request struct {
	Method string
	// URL is absolute, without userinfo and fragment, and its origin is among Origins.
	URL string
	// Header holds exactly the headers to send besides those of HTTP itself.
	Header map[string]string
	Body   []byte
	Auth   Auth
	// Origins are the origins that the table accepts for this target, written scheme://host:port in lower case.
	Origins []string
	// AllowPrivateNetwork lets the request go to loopback, private and link-local addresses.
	AllowPrivateNetwork bool
}

// Auth says where a credential goes. The zero value: the provider is asked without one.
type Auth struct {
	// Header carries Prefix and the secret; Basic sends base64 of the secret ("user:password") instead.
	Header string
	Prefix string
	Basic  bool
	// Query names the query parameter that carries the secret, where a provider wants it in the URL.
	Query string
}

// Needed says whether a credential must be given.
func (a Auth) Needed() bool { return a.Header != "" || a.Query != "" }

// Authorize returns the request with the secret where the table wants it. A URL that carries a secret must not be
// logged.
func (r Request) Authorize(secret string) Request {
	r.Header = maps.Clone(r.Header)
	if r.Header == nil {
		r.Header = map[string]string{}
	}
	if r.Auth.Basic {
		secret = base64.StdEncoding.EncodeToString([]byte(secret))
	}
	if r.Auth.Header != "" {
		r.Header[r.Auth.Header] = r.Auth.Prefix + secret
	}
	return r
}

// URLRejectedError refuses a status URL that a spec or an answer handed out. Its text holds nothing of the URL.
type URLRejectedError struct {
	// Rule is the rule that the URL breaks.
	Rule string
}

func (e *URLRejectedError) Error() string { return "status URL: " + e.Rule }

// StatusRequest is the one GET that asks for the job's status. The error is a *URLRejectedError where the URL is not
// one the table accepts.
func (t *Table) StatusRequest(_ wire.Target) (Request, error) {
	return Request{}, errors.New("statetables: not built yet")
}

// CancelRequest is the documented cancel call. The error is ErrNoCancel where the table has none, a *URLRejectedError
// where the URL is not one the table accepts.
func (t *Table) CancelRequest(_ wire.Target) (Request, error) {
	return Request{}, errors.New("statetables: not built yet")
}

// ErrNoCancel says that a table documents no cancel call.
var ErrNoCancel = errors.New("the table documents no cancel call")
