package waittest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// ProviderOptions configure a Provider. The zero value is a provider without a key and without jobs, on a free port of 127.0.0.1.
type ProviderOptions struct {
	// Address is host:port to listen on; empty means 127.0.0.1 and a free port. Two providers that follow each other at one
	// address play a provider that goes away and comes back.
	Address string
	// Key is the bearer token that requests must carry; empty accepts all. Requests with another one get 401 and use up no step.
	Key string
	// TLS makes the provider serve https with this configuration; nil means plain http. Either way it speaks only HTTP/1.1.
	TLS *tls.Config
	// Route returns what a request asks for and about which job, so that the Provider can serve the URLs of any state table. It is
	// called concurrently. Requests for which it returns KindOther and no job go to the endpoints for other processes, or get 404.
	// Nil means the paths of the demo-export state table.
	Route func(*http.Request) (RequestKind, string)
	// Script holds the initial jobs.
	Script ProviderScript
	// Log receives every finished request as a JSON line (LogEntry). May be nil: see Provider.Log and GET /_log.
	Log io.Writer
}

// Validate reports the first option that cannot be used.
func (o ProviderOptions) Validate() error {
	if o.Address != "" {
		if _, _, err := net.SplitHostPort(o.Address); err != nil {
			return fmt.Errorf("waittest: address %q: %w; give host:port, with port 0 for a free one", o.Address, err)
		}
	}
	if o.TLS != nil && len(o.TLS.Certificates) == 0 && o.TLS.GetCertificate == nil && o.TLS.GetConfigForClient == nil {
		return errors.New("waittest: TLS has no certificate; set Certificates or GetCertificate")
	}
	return o.Script.Validate()
}

// Provider is a scripted provider of export jobs behind a real HTTP server, as the demo-export state table expects it: GET
// /exports/<id> answers a job's status, POST /exports/<id>/cancel cancels it, and POST /exports submits one where
// ProviderScript.Submit or TakeSubmissions says how. It answers by script and remembers what it was asked.
//
// For scripts in other processes it has GET /_health, GET /_log (JSON lines of all requests, also unfinished ones; ?job=<id> for one
// job's), GET /_submissions (a list of Submission), PUT /_jobs/<id> (a JobScript) and POST /_jobs/<id>/release. These need no key, so
// it should listen only on loopback. A Provider is safe for concurrent use.
type Provider struct {
	server  *http.Server
	address string
	route   func(*http.Request) (RequestKind, string)
	log     *requestLog
	clock   clock
	stop    context.CancelCauseFunc
	served  chan error
	running sync.WaitGroup // requests

	mu           sync.Mutex
	closed       bool
	key          string
	jobs         map[string]*job
	defaultSteps *JobScript
	submitted    *submissions // nil: none are taken
}

// NewProvider starts a provider, which runs until Close.
func NewProvider(opts ProviderOptions) (*Provider, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	listener, err := listen(ctx, opts.Address)
	if err != nil {
		cancel(err)
		return nil, err
	}
	p := &Provider{
		address: listener.Addr().String(), route: opts.Route, log: newRequestLog(opts.Log), clock: newClock(), stop: cancel, served: make(chan error, 1),
		key: opts.Key, jobs: map[string]*job{}, defaultSteps: opts.Script.Default,
	}
	if p.route == nil {
		p.route = classify
	}
	if opts.Script.Submit != nil {
		p.submitted = newSubmissions(*opts.Script.Submit)
	}
	for id, script := range opts.Script.Jobs {
		p.jobs[id] = newJob(script)
	}
	p.server = &http.Server{
		Handler: p, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx },
		TLSConfig: opts.TLS, Protocols: new(http.Protocols),
	}
	p.server.Protocols.SetHTTP1(true) // a connection of its own for each request that is cut or reset
	go func() { p.served <- p.serve(listener) }()
	return p, nil
}

func (p *Provider) serve(listener net.Listener) error {
	if p.server.TLSConfig == nil {
		return p.server.Serve(listener)
	}
	return p.server.ServeTLS(listener, "", "")
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	if address == "" {
		address = "127.0.0.1:0"
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("waittest: address %q: %w", address, err)
	}
	return listener, nil
}

var errStopped = errors.New("waittest: the provider was closed")

// Close ends the provider at once, held requests included, and reports what it could not write to its log. Nothing is written after
// it returns.
func (p *Provider) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.stop(errStopped)
	err := p.server.Close()
	p.running.Wait()
	if served := <-p.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	p.served <- http.ErrServerClosed // for a second Close
	return errors.Join(err, p.log.writeError())
}

// URL returns the provider's origin, such as http://127.0.0.1:8090; https with ProviderOptions.TLS.
func (p *Provider) URL() string {
	if p.server.TLSConfig != nil {
		return "https://" + p.address
	}
	return "http://" + p.address
}

// Address returns the provider's host:port.
func (p *Provider) Address() string { return p.address }

// StatusURL returns the status URL of a job, for the demo-export state table.
func (p *Provider) StatusURL(job string) string { return p.URL() + exportsPrefix + url.PathEscape(job) }

// Set gives the job a script, which starts from its beginning.
func (p *Provider) Set(id string, script JobScript) error {
	if err := validateJob(id, script); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if old := p.jobs[id]; old != nil {
		old.release() // nobody could release those it holds any more
	}
	p.jobs[id] = newJob(script)
	return nil
}

// SetKey changes the key that requests must carry from now on; empty accepts all.
func (p *Provider) SetKey(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.key = key
}

// Release lets the job's held requests continue and returns how many there were. Later requests are held again.
func (p *Provider) Release(id string) int {
	p.mu.Lock()
	held := p.jobs[id]
	p.mu.Unlock()
	if held == nil {
		return 0
	}
	return held.release()
}

// Log returns the requests about one job in the order of their arrival, or all for an empty id.
func (p *Provider) Log(job string) []LogEntry {
	entries, _ := p.log.snapshot(job)
	return entries
}

// Await returns the log of a job as soon as it satisfies done, and the log so far with an error when the context ends before that.
func (p *Provider) Await(ctx context.Context, job string, done func([]LogEntry) bool) ([]LogEntry, error) {
	for {
		entries, changed := p.log.snapshot(job)
		if done(entries) {
			return entries, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return entries, fmt.Errorf("waittest: job %q after %d requests: %w", job, len(entries), ctx.Err())
		}
	}
}

// AwaitRequests returns the log of a job as soon as n requests about it have arrived.
func (p *Provider) AwaitRequests(ctx context.Context, job string, n int) ([]LogEntry, error) {
	return p.Await(ctx, job, func(entries []LogEntry) bool { return len(entries) >= n })
}

// job returns the job of that id, made from the default script when there is one.
func (p *Provider) job(id string) *job {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.jobs[id] == nil && p.defaultSteps != nil && id != "" {
		p.jobs[id] = newJob(*p.defaultSteps)
	}
	return p.jobs[id]
}

// job is a script and how far it has come.
type job struct {
	mu      sync.Mutex
	steps   []Step
	cancels []CancelStep
	met     int // how many requests have met steps[0]
	held    int
	let     chan struct{} // closed to release those held, then replaced
}

func newJob(script JobScript) *job {
	j := &job{steps: script.Steps, cancels: script.Cancel, let: make(chan struct{})}
	if len(j.cancels) == 0 {
		j.cancels = []CancelStep{defaultCancel()}
	}
	return j
}

// next takes the step for a status request.
func (j *job) next() Step {
	j.mu.Lock()
	defer j.mu.Unlock()
	step := j.steps[0]
	if j.met++; j.met >= max(step.Repeat, 1) && len(j.steps) > 1 {
		j.steps, j.met = j.steps[1:], 0
	}
	return step
}

// cancel takes the answer for a cancel call, and what it changes takes effect.
func (j *job) cancel() Step {
	j.mu.Lock()
	defer j.mu.Unlock()
	called := j.cancels[0]
	if len(j.cancels) > 1 {
		j.cancels = j.cancels[1:]
	}
	if len(called.Then) > 0 {
		j.steps, j.met = called.Then, 0
	}
	return called.Answer
}

// enter counts a request as held from now on. The channel is closed by release.
func (j *job) enter() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.held++
	return j.let
}

// hold returns when the request that has entered is released, or an error when the context ends before that.
func (j *job) hold(ctx context.Context, let <-chan struct{}) error {
	select {
	case <-let:
		return nil
	case <-ctx.Done():
		j.mu.Lock()
		defer j.mu.Unlock()
		if let == j.let { // release has counted it otherwise
			j.held--
		}
		return ctx.Err()
	}
}

func (j *job) release() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	released := j.held
	close(j.let)
	j.held, j.let = 0, make(chan struct{})
	return released
}

// clock is a wall clock that only a monotonic one moves.
type clock struct{ start time.Time }

func newClock() clock { return clock{time.Now()} }

func (c clock) now() time.Time { return c.start.Round(0).Add(time.Since(c.start)).UTC() }

// header merges the headers of a step over those that every answer has. One without a value is not sent.
func (s Step) header(now time.Time) http.Header {
	header := http.Header{"Content-Type": {"application/json"}, "Date": {now.UTC().Format(http.TimeFormat)}}
	maps.Copy(header, s.Headers)
	return header
}
