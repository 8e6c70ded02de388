package callbacks

import (
	"crypto/sha256"
	"net/http"
	"net/netip"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

const (
	// maxSources bounds for how many addresses it is remembered how much came from them.
	maxSources = 10_000
	// maxSeen and seenFor bound what is remembered of deliveries that were passed on, so that one that is repeated is not.
	maxSeen = 20_000
	seenFor = 10 * time.Minute
)

// sources lets each address send only so much.
type sources struct {
	limits Limits

	mu    sync.Mutex
	known *lru.Cache[netip.Prefix, *rate.Limiter]
}

func newSources(limits Limits) *sources {
	return &sources{limits: limits, known: newCache[netip.Prefix, *rate.Limiter](maxSources)}
}

func newCache[K comparable, V any](size int) *lru.Cache[K, V] {
	cache, err := lru.New[K, V](size)
	if err != nil {
		panic("callbacks: " + err.Error()) // sizes are constants
	}
	return cache
}

func (s *sources) allow(r *http.Request, now time.Time) bool {
	from := sourceOf(r.RemoteAddr)
	s.mu.Lock()
	limiter, ok := s.known.Get(from)
	if !ok {
		limiter = rate.NewLimiter(rate.Limit(s.limits.PerSecond), s.limits.Burst)
		s.known.Add(from, limiter)
	}
	s.mu.Unlock()
	return limiter.AllowN(now, 1)
}

// sourceOf is the address, or the network that one customer has in IPv6. Headers that claim another one are not believed.
func sourceOf(remote string) netip.Prefix {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	address := at.Addr().Unmap().WithZone("")
	bits := address.BitLen()
	if address.Is6() {
		bits = 64
	}
	network, err := address.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return network
}

// seen remembers deliveries that were passed on.
type seen struct {
	mu   sync.Mutex
	when *lru.Cache[[sha256.Size]byte, time.Time]
}

func newSeen() *seen { return &seen{when: newCache[[sha256.Size]byte, time.Time](maxSeen)} }

// first says whether a delivery is new, and remembers it.
func (s *seen) first(key [sha256.Size]byte, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.when.Peek(key); ok && now.Sub(at) < seenFor {
		return false
	}
	s.when.Add(key, now)
	return true
}

func (s *seen) forget(key [sha256.Size]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.when.Remove(key)
}
