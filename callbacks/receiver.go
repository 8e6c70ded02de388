package callbacks

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"golang.org/x/net/netutil"
	"golang.org/x/time/rate"

	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// The counters on Options.Metrics. A Prometheus exporter appends _total.
const (
	// MetricReceived counts requests by endpoint and result: nudged, coalesced, duplicate, ignored, other_account, unreadable,
	// forged, late, too_large, cut, busy, too_often. The endpoint is empty if the request matched none.
	MetricReceived = "jobwait_callbacks"
	// MetricNudges counts nudges by provider and result: sent, no_wait, failed, dropped.
	MetricNudges = "jobwait_callback_nudges"
)

const (
	maxHeaderBytes    = 16 << 10
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 10 * time.Second
	writeTimeout      = 15 * time.Second
	idleTimeout       = time.Minute
	// spare is how many connections may be open for each request that is looked at.
	spare = 4
)

// Receiver is the HTTP handler of the endpoints. It sends nudges only while Run or Serve runs. It is safe for concurrent use.
type Receiver struct {
	endpoints map[string]*endpoint
	limits    Limits
	slots     chan struct{}
	sources   *sources
	seen      *seen
	nudger    *nudger
	mux       *http.ServeMux
	metrics   client.MetricsHandler
	logger    *slog.Logger
	now       func() time.Time

	mu    sync.Mutex
	quiet map[string]*rate.Sometimes // by endpoint and kind: what is logged is not as much as what arrives
}

// endpoint is one of the options', ready to look at webhooks.
type endpoint struct {
	Endpoint
	verifier verifier
	secrets  *secrets
	tables   []providerCallback
}

type providerCallback struct {
	provider string
	*statetables.Callback
}

// New returns a Receiver. It validates the options and reads every secret once, so that a missing one is an error at the start.
// Errors contain no secret.
func New(ctx context.Context, options Options) (*Receiver, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	limits := options.Limits.withDefaults()
	r := &Receiver{
		endpoints: map[string]*endpoint{}, limits: limits, slots: make(chan struct{}, limits.Concurrent), sources: newSources(limits),
		seen: newSeen(), nudger: newNudger(), metrics: options.Metrics, logger: options.Logger, now: time.Now,
		quiet: map[string]*rate.Sometimes{},
	}
	if r.metrics == nil {
		r.metrics = client.MetricsNopHandler
	}
	if r.logger == nil {
		r.logger = slog.Default()
	}
	r.nudger.counted, r.nudger.failed = r.countNudge, r.nudgeFailed
	for _, one := range options.Endpoints {
		if err := r.add(ctx, options.Tables, one); err != nil {
			return nil, fmt.Errorf("callbacks: endpoint %q: %w", one.Name, err)
		}
	}
	r.mux = http.NewServeMux()
	r.mux.HandleFunc("POST /callbacks/{endpoint}", r.receive)
	r.mux.HandleFunc("POST /callbacks/{endpoint}/{job...}", r.receive)
	return r, nil
}

func (r *Receiver) add(ctx context.Context, tables *statetables.Set, one Endpoint) error {
	made := &endpoint{Endpoint: one}
	for _, provider := range one.Providers {
		callback, err := one.callback(tables, provider)
		if err != nil {
			return err
		}
		made.tables = append(made.tables, providerCallback{provider, callback})
	}
	signature := made.tables[0].Signature()
	if one.Header != "" {
		signature.Header = one.Header
	}
	made.verifier = verifier{signature}
	made.secrets = &secrets{from: one.Secrets, usable: made.verifier.usable}
	var err error
	if made.secrets.values, err = made.secrets.read(ctx); err != nil {
		return err
	}
	r.endpoints[one.Name] = made
	return nil
}

// Run sends nudges until the context ends. Nudges that are not sent by then are dropped; the waits poll on without them.
func (r *Receiver) Run(ctx context.Context, client Signaler) { r.nudger.run(ctx, client) }

// Serve serves the endpoints on the listener, with timeouts and a limit on connections, and runs Run, until the context ends. It then
// returns nil, otherwise why serving failed. It speaks plain HTTP and belongs behind a proxy that speaks TLS.
func (r *Receiver) Serve(ctx context.Context, listener net.Listener, client Signaler) error {
	server := &http.Server{
		Handler: r, MaxHeaderBytes: maxHeaderBytes, ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var sending sync.WaitGroup
	sending.Go(func() { r.Run(ctx, client) })
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	err := server.Serve(netutil.LimitListener(listener, spare*r.limits.Concurrent))
	stopped := ctx.Err() != nil
	cancel()
	sending.Wait()
	if stopped && errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// ServeHTTP handles one webhook, within Limits.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if !r.sources.allow(request, r.now()) {
		r.refuse(w, http.StatusTooManyRequests, "", "too_often")
		return
	}
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
		r.mux.ServeHTTP(w, request)
	default:
		r.refuse(w, http.StatusServiceUnavailable, "", "busy")
	}
}

// refuse answers without a word of why.
func (r *Receiver) refuse(w http.ResponseWriter, status int, name, kind string) {
	r.count(name, kind)
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	w.WriteHeader(status)
}

// receive answers everything that is signed alike, whether there is such a wait or not, and everything else as if every endpoint
// were there.
func (r *Receiver) receive(w http.ResponseWriter, request *http.Request) {
	at, ok := r.endpoints[request.PathValue("endpoint")]
	name := ""
	if ok {
		name = at.Name
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, int64(r.limits.MaxBodyBytes)))
	switch {
	case err != nil:
		r.refuseUnread(w, name, err)
	case !ok:
		r.refuse(w, http.StatusUnauthorized, name, string(forged))
	default:
		r.look(w, request, at, body)
	}
}

// look checks a webhook that has arrived whole, and passes it on.
func (r *Receiver) look(w http.ResponseWriter, request *http.Request, at *endpoint, body []byte) {
	secrets, err := at.secrets.current(request.Context(), r.now())
	if err != nil {
		r.say(request.Context(), slog.LevelWarn, at.Name, "a secret of a callback cannot be read; those from before are used", "cause", err)
	}
	if found := at.verifier.verify(request.Header, body, secrets, r.now()); found != genuine {
		r.say(request.Context(), slog.LevelInfo, at.Name, "callbacks that are not signed by the provider, or not now, are refused", "kind", found)
		r.refuse(w, http.StatusUnauthorized, at.Name, string(found))
		return
	}
	if !r.pass(request, at, body) {
		r.refuse(w, http.StatusServiceUnavailable, at.Name, "busy")
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (r *Receiver) refuseUnread(w http.ResponseWriter, name string, err error) {
	if errors.As(err, new(*http.MaxBytesError)) {
		r.refuse(w, http.StatusRequestEntityTooLarge, name, "too_large")
		return
	}
	r.refuse(w, http.StatusBadRequest, name, "cut") // it ended early, or came too slowly
}

// pass nudges the waits that a genuine webhook is about. It is false where there is no room for them.
func (r *Receiver) pass(request *http.Request, at *endpoint, body []byte) bool {
	room, ignored := true, true
	for _, table := range at.tables {
		reading, err := table.Read(request.Header, body, request.PathValue("job"))
		switch {
		case err != nil:
			ignored = false
			r.say(request.Context(), slog.LevelWarn, at.Name, "a signed callback cannot be read as its table says", "provider", table.provider, "cause", err)
			r.count(at.Name, "unreadable")
		case reading.Ignored:
		case reading.Account != "" && at.Account != "" && reading.Account != at.Account:
			ignored = false
			r.count(at.Name, "other_account")
		default:
			ignored = false
			room = r.nudge(request.Header, at, table.provider, reading, body) && room
		}
	}
	if ignored {
		r.count(at.Name, "ignored")
	}
	return room
}

// nudge passes one webhook on, unless it was passed on before.
func (r *Receiver) nudge(header http.Header, at *endpoint, provider string, reading statetables.CallbackReading, body []byte) bool {
	account := at.Account
	if account == "" {
		account = reading.Account
	}
	id := wire.WorkflowID(provider, account, reading.JobID)
	if len(id) > wire.MaxWorkflowIDBytes {
		r.count(at.Name, "unreadable")
		return true
	}
	key := deliveryKey(at.Name, id, at.verifier.delivery(header), body)
	if !r.seen.first(key, r.now()) {
		r.count(at.Name, "duplicate")
		return true
	}
	taken := r.nudger.offer(nudge{provider: provider, workflowID: id, source: "callback of " + at.Name}, r.now())
	if taken == offerRefused {
		r.seen.forget(key)
		return false
	}
	r.count(at.Name, string(taken))
	return true
}

// deliveryKey is the same for a delivery that is repeated. The job is in it, since a URL may say which one it is and is not signed.
func deliveryKey(endpoint, workflowID, delivery string, body []byte) [sha256.Size]byte {
	if delivery == "" {
		sum := sha256.Sum256(body)
		delivery = string(sum[:])
	}
	return sha256.Sum256([]byte(endpoint + "\x00" + workflowID + "\x00" + delivery))
}

func (r *Receiver) count(endpoint, kind string) {
	r.metrics.WithTags(map[string]string{"endpoint": endpoint, "kind": kind}).Counter(MetricReceived).Inc(1)
}

func (r *Receiver) countNudge(provider, kind string) {
	r.metrics.WithTags(map[string]string{"provider": provider, "kind": kind}).Counter(MetricNudges).Inc(1)
}

func (r *Receiver) nudgeFailed(ctx context.Context, workflowID string, err error) {
	r.say(ctx, slog.LevelWarn, "", "a nudge could not be sent; the wait goes on polling", "workflow_id", workflowID, "cause", err)
}

// say logs a line, and the same one for the same endpoint at most once a minute.
func (r *Receiver) say(ctx context.Context, level slog.Level, endpoint, text string, values ...any) {
	r.mu.Lock()
	often, ok := r.quiet[endpoint+"\x00"+text]
	if !ok {
		often = &rate.Sometimes{First: 1, Interval: time.Minute}
		r.quiet[endpoint+"\x00"+text] = often
	}
	r.mu.Unlock()
	often.Do(func() { r.logger.Log(ctx, level, text, append([]any{"endpoint", endpoint}, values...)...) })
}
