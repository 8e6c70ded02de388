package callbacks

import (
	"context"
	"errors"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"go.temporal.io/api/serviceerror"

	"github.com/jobwait/jobwait/wire"
)

const (
	// quiet is how long after a nudge the next one for the same wait is kept back. It doubles while they keep coming, up to
	// mostQuiet: a flood costs a wait a few events a minute, and its last word still arrives.
	quiet     = 5 * time.Second
	mostQuiet = time.Minute
	// maxWaits bounds for how many waits it is remembered when they were nudged, and how many nudges wait to be sent.
	maxWaits = 10_000
	// senders send side by side; a server that is slow holds up so many.
	senders       = 4
	signalTimeout = 10 * time.Second
)

// offered says what became of the wish to nudge a wait.
type offered string

const (
	offerTaken     offered = "nudged"
	offerCoalesced offered = "coalesced" // one that is kept back says it too
	offerRefused   offered = "busy"      // more wait to be sent than are held
)

// nudge is one signal.
type nudge struct{ provider, workflowID, source string }

// nudger sends nudges, to each wait no more often than it is quiet between them.
type nudger struct {
	counted func(provider, kind string)
	failed  func(ctx context.Context, workflowID string, err error)

	quiet, mostQuiet time.Duration

	mu      sync.Mutex
	lately  *lru.Cache[string, *pace] // by workflow id
	delayed int
	closed  bool

	queue chan nudge
}

// pace is when one wait was nudged last.
type pace struct {
	opens time.Time
	quiet time.Duration
	again bool // one is kept back until opens
}

func newNudger() *nudger {
	return &nudger{lately: newCache[string, *pace](maxWaits), queue: make(chan nudge, maxWaits), quiet: quiet, mostQuiet: mostQuiet}
}

// offer sends a nudge now, or when the wait was left alone for long enough.
func (n *nudger) offer(one nudge, now time.Time) offered {
	n.mu.Lock()
	defer n.mu.Unlock()
	last, ok := n.lately.Get(one.workflowID)
	if ok && now.Before(last.opens) {
		return n.keepBack(one, last, now)
	}
	next := &pace{quiet: n.quiet}
	if ok && now.Before(last.opens.Add(last.quiet)) {
		next.quiet = min(2*last.quiet, n.mostQuiet)
	}
	next.opens = now.Add(next.quiet)
	select {
	case n.queue <- one:
		n.lately.Add(one.workflowID, next)
		return offerTaken
	default:
		return offerRefused
	}
}

func (n *nudger) keepBack(one nudge, last *pace, now time.Time) offered {
	if last.again {
		return offerCoalesced
	}
	if n.closed || n.delayed >= maxWaits {
		return offerRefused
	}
	last.again = true
	n.delayed++
	time.AfterFunc(last.opens.Sub(now), func() { n.release(one, last) })
	return offerCoalesced
}

// release sends the nudge that was kept back.
func (n *nudger) release(one nudge, last *pace) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.delayed--
	last.again, last.quiet = false, min(2*last.quiet, n.mostQuiet)
	last.opens = time.Now().Add(last.quiet)
	if n.closed {
		return
	}
	select {
	case n.queue <- one:
	default:
		n.counted(one.provider, "dropped")
	}
}

// run sends until the context ends. What is not sent by then is dropped: the waits go on polling.
func (n *nudger) run(ctx context.Context, client Signaler) {
	var all sync.WaitGroup
	for range senders {
		all.Go(func() {
			for {
				select {
				case one := <-n.queue:
					n.send(ctx, client, one)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	all.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
}

func (n *nudger) send(ctx context.Context, client Signaler, one nudge) {
	ctx, cancel := context.WithTimeout(ctx, signalTimeout)
	defer cancel()
	err := client.SignalWorkflow(ctx, one.workflowID, "", wire.SignalNudge, wire.Nudge{Source: one.source})
	switch {
	case err == nil:
		n.counted(one.provider, "sent")
	case errors.As(err, new(*serviceerror.NotFound)):
		n.counted(one.provider, "no_wait")
	default:
		n.counted(one.provider, "failed")
		n.failed(ctx, one.workflowID, err)
	}
}
