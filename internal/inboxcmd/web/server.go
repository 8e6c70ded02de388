// Package web is the inbox itself: pages for people who answer the questions of waits. Pages are drawn by the server and
// work without scripts; with them they are renewed by server-sent events.
package web

import (
	"crypto/rand"
	"embed"
	"errors"
	"html/template"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait/internal/inboxcmd/access"
	"github.com/jobwait/jobwait/internal/listing"
	"github.com/jobwait/jobwait/internal/waits"
	"github.com/jobwait/jobwait/wire"
)

const (
	// pageSize is how many waits one page of a list shows.
	pageSize = 50
	// maxBody bounds what a form may hold: a comment of 4,096 characters, each of at most four bytes and escaped, a status URL of
	// as many that are ASCII, and more.
	maxBody = 96 << 10
	// pageTimeout bounds the drawing of a page. Waits are asked within askTimeout of it.
	pageTimeout = 15 * time.Second
	askTimeout  = 5 * time.Second
)

// Options are what an inbox needs.
type Options struct {
	// Waits is the connection to Temporal.
	Waits waits.Client
	// Gate tells who people are, Policy what they may see and answer.
	Gate   access.Gate
	Policy access.Policy
	// Origin is scheme and host under which people reach the inbox. Requests for another host are refused. Nil: the names
	// of loopback, on any port.
	Origin *url.URL
	// Proxies say whom a request comes from that they pass on. Nil: a request comes from its peer.
	Proxies access.Proxies
	// Sign signs a decision before it is sent, where workers want that. Nil: decisions are not signed.
	Sign func(wire.Decision) (wire.Decision, error)
	// Metrics counts answers by kind and by what became of them. Nil: nobody counts.
	Metrics client.MetricsHandler
	// Logger receives who answered what, and what was refused to whom.
	Logger *slog.Logger
}

// Server serves the inbox.
type Server struct {
	options Options
	lister  listing.Lister
	pages   *template.Template
	hub     *hub
	forms   forms
	limits  *limits
	lists   *cache[found]
	handler http.Handler
}

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed static
var staticFiles embed.FS

// New makes an inbox. Close ends its live updates.
func New(options Options) (*Server, error) {
	if err := options.Policy.Validate(); err != nil {
		return nil, err
	}
	if options.Metrics == nil {
		options.Metrics = client.MetricsNopHandler
	}
	assets, err := newAssets(staticFiles)
	if err != nil {
		return nil, err
	}
	s := &Server{options: options, lister: listing.New(options.Waits), hub: newHub(), limits: newLimits(), forms: newForms(rand.Reader), lists: newCache[found]()}
	s.pages, err = template.New("").Funcs(functions(assets)).ParseFS(templateFiles, "templates/*.html")
	if err != nil {
		return nil, err
	}
	s.handler = s.routes(assets)
	return s, nil
}

// Close ends the live updates, which otherwise last as long as their readers.
func (s *Server) Close() { s.hub.close() }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

func (s *Server) routes(assets *assets) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.forPeople(s.showList(tabDecide)))
	mux.HandleFunc("GET /waiting", s.forPeople(s.showList(tabWaiting)))
	mux.HandleFunc("GET /closed", s.forPeople(s.showList(tabClosed)))
	mux.HandleFunc("GET /waits/{id...}", s.forPeople(s.showWait))
	mux.HandleFunc("POST /waits/{id...}", s.forPeople(s.answer))
	mux.HandleFunc("GET /live/waits/{id...}", s.forPeople(s.followWait))
	mux.HandleFunc("GET /live/list/{tab}", s.forPeople(s.followList))
	mux.Handle("GET /static/{version}/{name}", assets)
	mux.HandleFunc("GET /", s.forPeople(func(w http.ResponseWriter, r *http.Request, who access.Person) {
		s.fail(w, r, who, http.StatusNotFound, "There is no such page", "The address leads nowhere in the inbox.")
	}))
	s.options.Gate.Mount(mux, s.tell)

	outer := http.NewServeMux()
	outer.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	outer.Handle("/", s.rightHost(s.sameOrigin(bounded(mux))))
	return s.options.Proxies.Resolve(s.withHeaders(outer))
}

// withHeaders sets on every answer what browsers are not to do with it.
func (s *Server) withHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "+
			"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin") // ids stand in addresses
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		h.Set("Cache-Control", "no-store")
		if s.options.Origin != nil && s.options.Origin.Scheme == "https" {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		next.ServeHTTP(w, r)
	})
}

// rightHost refuses requests for another host: a name of somebody else's that leads here makes their pages same-origin.
func (s *Server) rightHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.serves(r.Host) {
			s.options.Logger.WarnContext(r.Context(), "refused a request for another host", "host", r.Host, "remote", r.RemoteAddr)
			http.Error(w, "this server does not serve that host", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) serves(host string) bool {
	if s.options.Origin != nil {
		return host == s.options.Origin.Host
	}
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	address := net.ParseIP(name)
	return name == "localhost" || name == "[::1]" || address != nil && address.IsLoopback()
}

// sameOrigin refuses what another site has a person's browser send.
func (s *Server) sameOrigin(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	if origin := s.options.Origin; origin != nil {
		_ = protection.AddTrustedOrigin(origin.Scheme + "://" + origin.Host) // New's caller has parsed it
	}
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.options.Logger.WarnContext(r.Context(), "refused a request from another site", "origin", r.Header.Get("Origin"), "path", r.URL.Path, "remote", r.RemoteAddr)
		http.Error(w, "this request comes from another site", http.StatusForbidden)
	}))
	return protection.Handler(next)
}

// bounded bounds what is read of any request.
func bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}

// page is a handler for a person who is known.
type page func(w http.ResponseWriter, r *http.Request, who access.Person)

// forPeople lets in who is known, and not more often than people click.
func (s *Server) forPeople(next page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, err := s.options.Gate.Identify(r)
		if err != nil {
			s.turnAway(w, r, err)
			return
		}
		if wait := s.limits.page(who.Name); wait > 0 {
			s.tooMany(w, r, who, wait)
			return
		}
		next(w, r, who)
	}
}

// turnAway sends who is not known to where they can sign in.
func (s *Server) turnAway(w http.ResponseWriter, r *http.Request, err error) {
	var nobody *access.NobodyError
	if !errors.As(err, &nobody) {
		s.options.Logger.ErrorContext(r.Context(), "cannot tell who sends a request", "error", err)
		s.fail(w, r, access.Person{}, http.StatusInternalServerError, "Nobody can be signed in at the moment", "The log of the inbox says why.")
		return
	}
	if nobody.SignIn != "" && r.Method == http.MethodGet && r.Header.Get("Accept") != eventStream {
		http.Redirect(w, r, nobody.SignIn+"?to="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
		return
	}
	s.options.Logger.WarnContext(r.Context(), "refused a request of nobody known", "because", nobody.Because, "path", r.URL.Path, "remote", r.RemoteAddr)
	s.fail(w, r, access.Person{}, http.StatusForbidden, "You are not signed in", nobody.Because)
}
