package web

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/jobwait/jobwait/internal/inboxcmd/access"
	"github.com/jobwait/jobwait/internal/waits"
)

const (
	eventStream = "text/event-stream"
	// heartbeat keeps proxies from closing a quiet stream, and finds out whether its reader is still signed in where nothing
	// else tells.
	heartbeat = 15 * time.Second
	// streamLife is after how long a page has to ask for its stream again: a proxy then looks who asks.
	streamLife = 10 * time.Minute
	// eventTimeout bounds the writing of one event to a reader who does not read.
	eventTimeout = 10 * time.Second
)

// followWait tells a page when its wait has changed.
func (s *Server) followWait(w http.ResponseWriter, r *http.Request, who access.Person) {
	ref, ok := s.visible(w, r, who)
	if !ok {
		return
	}
	s.stream(w, r, who, subject{key: "wait " + ref.id, pause: waitPause, turns: s.hub.waits, probe: ref.probe(s.options.Waits)})
}

// followList tells a page when its list has changed.
func (s *Server) followList(w http.ResponseWriter, r *http.Request, who access.Person) {
	ask, err := s.ask(r, tab(r.PathValue("tab")), who)
	if err != nil {
		s.fail(w, r, who, http.StatusBadRequest, "There is no such list", err.Error())
		return
	}
	s.stream(w, r, who, subject{key: ask.key(), pause: listPause, turns: s.hub.lists, probe: s.probeList(ask)})
}

// stream writes an event for all news, until the reader goes, or is not signed in any more.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, who access.Person, about subject) {
	end := s.limits.stream(who.Name)
	if end == nil {
		s.tooMany(w, r, who, heartbeat)
		return
	}
	defer end()
	heard, leave := s.hub.follow(who.Name, about)
	defer leave()
	if heard == nil {
		s.tooMany(w, r, who, heartbeat)
		return
	}
	w.Header().Set("Content-Type", eventStream)
	w.Header().Set("X-Accel-Buffering", "no") // a proxy that collects an answer delays what is live
	events := eventWriter{w, http.NewResponseController(w), eventTimeout}
	ends := streamEnds{over: s.options.Gate.Over(r), life: time.NewTimer(streamLife)}
	defer ends.life.Stop()
	for err := events.write(": hello\n\n"); err == nil; {
		err = s.nextEvent(r, who, heard, ends, events)
	}
}

// streamEnds are the ways in which a stream ends by itself.
type streamEnds struct {
	over <-chan struct{}
	life *time.Timer
}

func (s *Server) nextEvent(r *http.Request, who access.Person, heard <-chan news, ends streamEnds, events eventWriter) error {
	beat := time.NewTimer(heartbeat)
	defer beat.Stop()
	select {
	case <-ends.over:
		return events.end()
	case <-ends.life.C:
		return http.ErrAbortHandler // the page asks again by itself
	case latest := <-heard:
		return events.write(latest.event())
	case <-beat.C:
		if now, err := s.options.Gate.Identify(r); err != nil || now.Name != who.Name {
			return events.end()
		}
		return events.write(": still here\n\n")
	case <-r.Context().Done():
		return r.Context().Err()
	case <-s.hub.ctx.Done():
		return s.hub.ctx.Err()
	}
}

// event is the news as a page is told. A version takes back that the page may be old.
func (n news) event() string {
	if n.stale {
		return "event: stale\ndata: .\n\n"
	}
	return fmt.Sprintf("event: version\ndata: %s\n\n", n.version)
}

type eventWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

func (e eventWriter) write(text string) error {
	if err := e.control.SetWriteDeadline(time.Now().Add(e.timeout)); err != nil {
		return err
	}
	if _, err := e.w.Write([]byte(text)); err != nil {
		return err
	}
	if err := e.control.Flush(); err != nil {
		return err
	}
	return e.control.SetWriteDeadline(time.Time{}) // HTTP/2 ends a stream at its deadline, whether something is written or not
}

// end tells the page that it is not signed in any more, so that it does not ask again and again.
func (e eventWriter) end() error {
	_ = e.write("event: signed-out\ndata: .\n\n") // it ends either way
	return http.ErrAbortHandler
}

// probe tells versions of a wait.
func (ref waitRef) probe(c waits.Client) probe {
	return func(ctx context.Context) (string, error) {
		info, err := c.Latest(ctx, ref.id)
		if err != nil {
			return "", err
		}
		return versionOf(info), nil
	}
}
