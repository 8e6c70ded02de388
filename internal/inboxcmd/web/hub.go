package web

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// listProbesPerSecond bounds the looks at all live lists together, each of which asks visibility two to four times: a
	// stock namespace answers ten such questions a second, to everybody. Single waits are described, which is cheap.
	listProbesPerSecond, waitProbesPerSecond = 1, 50
	// listPause and waitPause are the least time between two looks at one thing.
	listPause, waitPause = 2 * time.Second, time.Second
	probeTimeout         = 10 * time.Second
	// looksUntilStale is after how many looks that failed, one after another, people are told that they may see what is old.
	looksUntilStale = 3
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
	lists, waits *turns
}

// news is what the looks at a thing have told.
type news struct {
	version string
	// stale says that the last looks have failed: the version may be an old one, or none.
	stale bool
}

// topic is one thing that is watched.
type topic struct {
	followers map[chan news]string // by name
	stop      context.CancelFunc
	last      news
}

func newHub() *hub {
	ctx, stop := context.WithCancel(context.Background())
	return &hub{
		ctx: ctx, stop: stop, topics: map[string]*topic{},
		lists: newTurns(listProbesPerSecond), waits: newTurns(waitProbesPerSecond),
	}
}

func (h *hub) close() { h.stop() }

// subject is what to watch and how often.
type subject struct {
	key   string
	pause time.Duration
	turns *turns
	probe probe
}

// follow sends a person the news of a subject, what is known already included. The channel is nil when too much is watched already.
func (h *hub) follow(who string, s subject) (heard <-chan news, end func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[s.key]
	if t == nil {
		if len(h.topics) >= maxTopics {
			return nil, func() {}
		}
		ctx, stop := context.WithCancel(h.ctx)
		t = &topic{followers: map[chan news]string{}, stop: stop}
		h.topics[s.key] = t
		go h.watch(ctx, s, t)
	}
	follower := make(chan news, 1)
	t.followers[follower] = who
	if t.last != (news{}) {
		follower <- t.last
	}
	return follower, func() { h.leave(s.key, t, follower) }
}

func (h *hub) leave(key string, t *topic, follower chan news) {
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
	last, failed := news{}, 0
	for s.turns.take(ctx, h.people(t)) == nil {
		if version, err := s.look(ctx); err == nil {
			last, failed = news{version: version}, 0
		} else {
			failed++
			last.stale = failed >= looksUntilStale
		}
		h.tell(t, last)
		select {
		case <-pause.C:
		case <-ctx.Done():
			return
		}
	}
}

// people are those who follow.
func (h *hub) people(t *topic) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Values(t.followers))
}

func (s subject) look(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return s.probe(ctx)
}

// tell gives what is new to all followers. One who has not read the last yet reads only the newest.
func (h *hub) tell(t *topic, latest news) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.last == latest {
		return
	}
	t.last = latest
	for follower := range t.followers {
		select {
		case <-follower:
		default:
		}
		follower <- latest
	}
}
