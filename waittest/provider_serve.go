package waittest

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	exportsPrefix = "/exports/"
	controlPrefix = "/_"
	cancelSuffix  = "/cancel"
)

// ServeHTTP answers by script.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind, job := p.route(r)
	if kind == KindOther && job == "" && strings.HasPrefix(r.URL.Path, controlPrefix) {
		p.control(w, r)
		return
	}
	if !p.enter() {
		panic(http.ErrAbortHandler)
	}
	defer p.running.Done()
	// net/http notices that a client has gone only once the request's body is read.
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))

	entry := describe(r, p.clock.now())
	entry.Kind, entry.Job = kind, job
	entry.Authorized = p.authorized(r)
	// Who sees a request in the log can release it: it is held before it is shown.
	met := p.meet(entry, readWanted(r.Header, body))
	p.log.open(entry)
	p.play(w, r, entry, met)
}

// enter counts a request that Close has to wait for.
func (p *Provider) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.running.Add(1)
	return true
}

// classify says what a request asks for and of which job.
func classify(r *http.Request) (RequestKind, string) {
	escaped, ok := strings.CutPrefix(r.URL.EscapedPath(), exportsPrefix)
	if !ok {
		if r.URL.Path == submitPath && r.Method == http.MethodPost {
			return KindSubmit, ""
		}
		return KindOther, ""
	}
	escaped, isCancel := strings.CutSuffix(escaped, cancelSuffix)
	id, err := url.PathUnescape(escaped)
	switch {
	case err != nil || id == "" || strings.Contains(escaped, "/"):
		return KindOther, ""
	case isCancel && r.Method == http.MethodPost:
		return KindCancel, id
	case !isCancel && r.Method == http.MethodGet:
		return KindStatus, id
	default:
		return KindOther, id
	}
}

func (p *Provider) authorized(r *http.Request) bool {
	p.mu.Lock()
	want := "Bearer " + p.key
	unchecked := p.key == ""
	p.mu.Unlock()
	return unchecked || subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte(want)) == 1
}

// meeting is what a request meets: a step, and the job that holds it where the step says so.
type meeting struct {
	step Step
	job  *job
	let  <-chan struct{}
}

func (p *Provider) meet(entry *LogEntry, want wanted) meeting {
	if entry.Kind == KindSubmit && entry.Authorized {
		return p.meetSubmission(entry, want)
	}
	asked := p.job(entry.Job)
	met := meeting{step: step(entry, asked), job: asked}
	if met.step.Hold {
		met.let = asked.enter()
	}
	return met
}

// meetSubmission makes the job before anything happens to the request.
func (p *Provider) meetSubmission(entry *LogEntry, want wanted) meeting {
	entry.IdempotencyKey, entry.Report = want.key, want.report
	answer, err := p.submission(want, entry)
	if err != nil {
		return meeting{step: refusal(http.StatusNotFound, "not_found")}
	}
	met := meeting{step: answer, job: p.job(entry.Job)}
	if met.job == nil {
		met.job = newJob(Script(Step{}))
	}
	if answer.Hold {
		met.let = met.job.enter()
	}
	return met
}

// step is a refusal, or the next step of the job's script.
func step(entry *LogEntry, asked *job) Step {
	if !entry.Authorized {
		return refusal(http.StatusUnauthorized, "unauthorized")
	}
	if entry.Kind == KindOther && entry.Job != "" {
		return refusal(http.StatusMethodNotAllowed, "method_not_allowed")
	}
	if entry.Kind == KindOther || asked == nil {
		return refusal(http.StatusNotFound, "not_found")
	}
	if entry.Kind == KindCancel {
		return asked.cancel()
	}
	return asked.next()
}

func refusal(status int, code string) Step {
	return Step{Status: status, Error: &JobError{Code: code}, Omit: []string{"job_id", "updated_at"}}
}

// play lets a step happen to a request and closes its log entry.
func (p *Provider) play(w http.ResponseWriter, r *http.Request, entry *LogEntry, met meeting) {
	ending, err := p.wait(r.Context(), met), error(nil)
	if ending == EndingOpen {
		ending, err = p.act(w, r, entry, met.step)
	}
	if err != nil {
		ending = p.interrupted(r.Context())
	}
	p.log.update(entry, func(e *LogEntry) { e.Ending = ending })
	if ending != EndingAnswered {
		panic(http.ErrAbortHandler) // break the connection without an answer, or without the rest of one
	}
}

// wait passes the time that a step takes before it answers. It returns EndingOpen when the step may go on.
func (p *Provider) wait(ctx context.Context, met meeting) Ending {
	var err error
	if met.step.Hold {
		err = met.job.hold(ctx, met.let)
	}
	if err == nil {
		err = pause(ctx, met.step.DelayMilliseconds)
	}
	if err != nil {
		return p.interrupted(ctx)
	}
	return EndingOpen
}

func pause(ctx context.Context, milliseconds int) error {
	if milliseconds == 0 {
		return nil
	}
	timer := time.NewTimer(time.Duration(milliseconds) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// interrupted tells apart a client that went and a provider that was closed.
func (p *Provider) interrupted(ctx context.Context) Ending {
	if errors.Is(context.Cause(ctx), errStopped) {
		return EndingStopped
	}
	return EndingClientGone
}

// act answers, or does not. An error is an answer that could not be written.
func (p *Provider) act(w http.ResponseWriter, r *http.Request, entry *LogEntry, step Step) (Ending, error) {
	switch step.Do {
	case DoClose:
		return EndingClosed, nil
	case DoReset:
		return EndingReset, breakConnection(w)
	case DoCut:
		body := p.begin(w, entry, step)
		return EndingCut, writePart(w, body[:len(body)/2])
	case DoAnswer, "":
		return EndingAnswered, writeBody(r.Context(), w, p.begin(w, entry, step), step.BodyDelayMilliseconds)
	default:
		panic(fmt.Sprintf("waittest: do %q was not validated", step.Do))
	}
}

// breakConnection sends a TCP reset: a connection that is closed without lingering does.
func breakConnection(w http.ResponseWriter) error {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return err
	}
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		err = tcp.SetLinger(0)
	}
	return errors.Join(err, conn.Close())
}

// begin notes and writes status line and headers, and returns the body that they announce.
func (p *Provider) begin(w http.ResponseWriter, entry *LogEntry, step Step) []byte {
	now := p.clock.now()
	status := step.Status
	if status == 0 {
		status = http.StatusOK
	}
	body := step.body(entry.Job, now)
	header := step.header(now)
	p.log.update(entry, func(e *LogEntry) {
		e.Status, e.State, e.AnsweredAt = status, step.State, now
		e.RetryAfter = header.Values("Retry-After")
		e.NotBefore = notBefore(e.RetryAfter, now, dateOf(header, now))
	})
	for name, values := range header {
		w.Header()[name] = values
	}
	if !step.bodyless() {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	return body
}

func dateOf(header http.Header, now time.Time) time.Time {
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		return date
	}
	return now
}

// writeBody leaves the end of the body to net/http, which sends it after the handler: a client that has read a whole answer then
// finds it finished in the log.
func writeBody(ctx context.Context, w http.ResponseWriter, body []byte, pauseMilliseconds int) error {
	if pauseMilliseconds > 0 {
		if err := writePart(w, body[:len(body)/2]); err != nil {
			return err
		}
		body = body[len(body)/2:]
	}
	if err := pause(ctx, pauseMilliseconds); err != nil {
		return err
	}
	_, err := w.Write(body)
	return err
}

func writePart(w http.ResponseWriter, part []byte) error {
	if _, err := w.Write(part); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}

// control serves what a test in another process needs.
func (p *Provider) control(w http.ResponseWriter, r *http.Request) {
	id, isJob := strings.CutPrefix(r.URL.EscapedPath(), "/_jobs/")
	id, isRelease := strings.CutSuffix(id, "/release")
	id, err := url.PathUnescape(id)
	switch {
	case r.URL.Path == "/_health" && r.Method == http.MethodGet:
		_, _ = io.WriteString(w, "ok\n")
	case r.URL.Path == "/_log" && r.Method == http.MethodGet:
		p.writeLog(w, r.URL.Query().Get("job"))
	case r.URL.Path == "/_submissions" && r.Method == http.MethodGet:
		p.writeSubmissions(w)
	case isJob && err == nil && isRelease && r.Method == http.MethodPost:
		_, _ = fmt.Fprintf(w, "{\"released\": %d}\n", p.Release(id))
	case isJob && err == nil && !isRelease && r.Method == http.MethodPut:
		p.putJob(w, r, id)
	default:
		http.Error(w, "waittest: there are GET /_health, GET /_log, GET /_submissions, PUT /_jobs/<id> and POST /_jobs/<id>/release", http.StatusNotFound)
	}
}

func (p *Provider) writeLog(w http.ResponseWriter, job string) {
	w.Header().Set("Content-Type", "application/jsonl")
	lines := json.NewEncoder(w)
	for _, entry := range p.Log(job) {
		if lines.Encode(entry) != nil {
			return // the reader has gone
		}
	}
}

func (p *Provider) writeSubmissions(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	made := p.Submissions()
	if made == nil {
		made = []Submission{}
	}
	_ = json.NewEncoder(w).Encode(made) // the reader may have gone
}

func (p *Provider) putJob(w http.ResponseWriter, r *http.Request, id string) {
	var script JobScript
	err := decodeStrictly(http.MaxBytesReader(w, r.Body, 8<<20), &script)
	if err == nil {
		err = p.Set(id, script)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
