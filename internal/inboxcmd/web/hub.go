package web

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// listProbesPerSecond bounds the looks at all live lists together, each of which asks visibility two to four times: a
	// stock namespace answers ten such questions a second, to everybody. Single waits are described, which is cheap.
	listProbesPerSecond, waitProbesPerSecond = 1, 50
	// listPause and waitPause are the least time between two looks at one thing.
	listPause, waitPause = 2 * time.Second, time.Second
	probeTimeout         = 10 * time.Second
	// maxTopics bounds the things that are watched at once.
	maxTopics = 2000
)

// probe tells a version of what is watched. Another version means that it has changed.
type probe func(context.Context) (string, error)

// hub watches lists and waits for all who look at them: one thing is looked at once, however many follow it.
type hub struct {
	ctx  context.Context //nolint:containedctx // the life of the hub
	stop context.CancelFunc

	mu           sync.Mutex
	topics       map[string]*topic
	lists, waits *rate.Limiter
}

// topic is one thing that is watched.
type topic struct {
	followers map[chan string]bool
	stop      context.CancelFunc
	version   string
}

func newHub() *hub {
	ctx, stop := context.WithCancel(context.Background())
	return &hub{
		ctx: ctx, stop: stop, topics: map[string]*topic{},
		lists: rate.NewLimiter(listProbesPerSecond, listProbesPerSecond), waits: rate.NewLimiter(waitProbesPerSecond, waitProbesPerSecond),
	}
}

func (h *hub) close() { h.stop() }

// subject is what to watch and how often.
type subject struct {
	key   string
	pause time.Duration
	limit *rate.Limiter
	probe probe
}

// follow sends each version of a subject, the first one included. The channel is nil when too much is watched already.
func (h *hub) follow(s subject) (versions <-chan string, end func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[s.key]
	if t == nil {
		if len(h.topics) >= maxTopics {
			return nil, func() {}
		}
		ctx, stop := context.WithCancel(h.ctx)
		t = &topic{followers: map[chan string]bool{}, stop: stop}
		h.topics[s.key] = t
		go h.watch(ctx, s, t)
	}
	follower := make(chan string, 1)
	t.followers[follower] = true
	if t.version != "" {
		follower <- t.version
	}
	return follower, func() { h.leave(s.key, t, follower) }
}

func (h *hub) leave(key string, t *topic, follower chan string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(t.followers, follower)
	if len(t.followers) == 0 && h.topics[key] == t {
		t.stop()
		delete(h.topics, key)
	}
}

// watch looks again and again. What cannot be looked at now is looked at later.
func (h *hub) watch(ctx context.Context, s subject, t *topic) {
	pause := time.NewTicker(s.pause)
	defer pause.Stop()
	for s.limit.Wait(ctx) == nil {
		if version, err := s.look(ctx); err == nil {
			h.tell(t, version)
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s subject) look(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return s.probe(ctx)
}

// tell gives a new version to all followers. One who has not read the last yet reads only the newest.
func (h *hub) tell(t *topic, version string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.version == version {
		return
	}
	t.version = version
	for follower := range t.followers {
		select {
		case <-follower:
		default:
		}
		follower <- version
	}
}
