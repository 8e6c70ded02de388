package web

import (
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.temporal.io/api/serviceerror"

	"github.com/jobwait/jobwait/internal/inboxcmd/access"
	"github.com/jobwait/jobwait/internal/inboxcmd/timeline"
	"github.com/jobwait/jobwait/internal/plain"
	"github.com/jobwait/jobwait/internal/waits"
	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// frame is what stands around every page.
type frame struct {
	Title string
	Who   access.Person
	// Local says that whoever reaches the machine's loopback is this person.
	Local bool
	// SignOut is where to sign out; empty where there is nothing to sign out of.
	SignOut string
	// SignOutPost says that it takes a form and no link.
	SignOutPost bool
	Tabs        []tabLink
	// Live is where the page's events come from, Version what it shows of them; empty: it is not live.
	Live, Version string
}

type tabLink struct {
	Path, Title string
	// Count is how many; negative where nobody knows.
	Count   int64
	Current bool
}

func (s *Server) frame(who access.Person, title string) frame {
	f := frame{Title: title, Who: who, Local: s.options.Gate.Mode() == access.ModeLocal}
	if who.Name != "" {
		f.SignOut, f.SignOutPost = s.options.Gate.SignOut(), s.options.Gate.SignOut() == access.PathSignOut
	}
	for _, t := range tabs {
		f.Tabs = append(f.Tabs, tabLink{Path: t.path, Title: t.title, Count: -1})
	}
	return f
}

// render draws into memory first, so that a page is whole or an error. Whoever wrote what stands in it, no character in it turns a
// line around or hides.
func (s *Server) render(w http.ResponseWriter, r *http.Request, status int, name string, page any) {
	var out strings.Builder
	if err := s.pages.ExecuteTemplate(&out, name, page); err != nil {
		s.options.Logger.ErrorContext(r.Context(), "cannot draw a page", "page", name, "error", err)
		http.Error(w, "this page cannot be drawn; the log of the inbox says why", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, plain.Text(out.String())) // whoever asked may be gone
}

// failPage says that something is not possible, and what to do.
type failPage struct {
	Frame frame
	Text  string
	Links []access.Link
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, who access.Person, status int, title, text string) {
	s.render(w, r, status, "fail", failPage{Frame: s.frame(who, title), Text: text, Links: []access.Link{{Text: "To what waits for a decision", To: "/"}}})
}

// tell draws a page for somebody who is not signed in.
func (s *Server) tell(w http.ResponseWriter, r *http.Request, status int, said access.Said) {
	page := failPage{Frame: s.frame(access.Person{}, said.Title), Text: said.Text, Links: said.Links}
	page.Frame.Tabs = nil
	s.render(w, r, status, "fail", page)
}

// failure is what went wrong on the way to Temporal.
func (s *Server) failure(w http.ResponseWriter, r *http.Request, who access.Person, title string, err error) {
	if r.Context().Err() != nil {
		return
	}
	s.options.Logger.ErrorContext(r.Context(), "cannot answer a request", "path", r.URL.Path, "person", who.Name, "error", err)
	status, text := http.StatusBadGateway, "Temporal does not answer as it should: "+err.Error()
	switch {
	case errors.As(err, new(*serviceerror.ResourceExhausted)):
		status, text = http.StatusServiceUnavailable, "Temporal is asked too much at the moment. Try again shortly."
	case waits.Transient(err):
		status, text = http.StatusGatewayTimeout, "Temporal does not answer in time. Try again shortly."
	}
	s.fail(w, r, who, status, title, text)
}

func (s *Server) tooMany(w http.ResponseWriter, r *http.Request, who access.Person, wait time.Duration) {
	s.options.Logger.WarnContext(r.Context(), "refused a request: too many at once", "person", who.Name, "path", r.URL.Path)
	w.Header().Set("Retry-After", strconv.Itoa(int(wait.Seconds())))
	s.fail(w, r, who, http.StatusTooManyRequests, "Too many requests", "You have asked for more than people do. Try again in a moment.")
}

func functions(a *assets) template.FuncMap {
	return template.FuncMap{
		"asset":  a.path,
		"stamp":  stamp,
		"iso":    func(at time.Time) string { return at.UTC().Format(time.RFC3339) },
		"until":  func(at time.Time) string { return until(time.Now(), at) },
		"reason": reasonText, "kind": kindText, "phase": phaseText,
		"number": number, "typed": typed,
		"legend": func(kind timeline.Kind) string { return kindsOfMark[kind] },
		"source": timeline.SourceText,
		"sign":   func(event wire.Event) string { return signs[event] },
	}
}

// typed is what somebody has typed into a field, to be typed on: there every character stays what it is.
func typed(text string) template.HTML {
	var out strings.Builder
	for _, r := range template.HTMLEscapeString(text) {
		if unicode.Is(unicode.Cf, r) {
			_, _ = fmt.Fprintf(&out, "&#%d;", r)
			continue
		}
		out.WriteRune(r)
	}
	return template.HTML(out.String())
}

func stamp(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05") + " UTC" }

// until is how long from now a time is, in words.
func until(now, at time.Time) string {
	if at.Before(now) {
		return operation.Span(now.Sub(at)) + " ago"
	}
	return "in " + operation.Span(at.Sub(now))
}

// number is a count with its thousands apart.
func number(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
