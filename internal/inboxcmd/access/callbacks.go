package access

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// callbacksPerSecond bounds how often the provider is asked on behalf of one address, behind which may be a whole office;
	// allCallbacksPerSecond on behalf of all.
	callbacksPerSecond, callbacksAtOnce       = 5, 50
	allCallbacksPerSecond, allCallbacksAtOnce = 25, 250
	// maxAddresses bounds the addresses that are remembered; past it the books begin anew.
	maxAddresses = 10_000
)

// callbackLimit bounds how often the provider is asked on behalf of whoever sends requests.
type callbackLimit struct {
	mu        sync.Mutex
	addresses map[netip.Prefix]*rate.Limiter
	all       *rate.Limiter
}

func newCallbackLimit() *callbackLimit {
	return &callbackLimit{addresses: map[netip.Prefix]*rate.Limiter{}, all: rate.NewLimiter(allCallbacksPerSecond, allCallbacksAtOnce)}
}

// allow takes a turn of an address, and one of all only where it has one.
func (l *callbackLimit) allow(remote string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of(network(remote)).AllowN(now, 1) && l.all.AllowN(now, 1)
}

func (l *callbackLimit) of(from netip.Prefix) *rate.Limiter {
	limiter := l.addresses[from]
	if limiter == nil {
		if len(l.addresses) >= maxAddresses {
			clear(l.addresses)
		}
		limiter = rate.NewLimiter(callbacksPerSecond, callbacksAtOnce)
		l.addresses[from] = limiter
	}
	return limiter
}

// network is what one sender has for itself: an address of IPv4, and 64 bits of IPv6. What is no address is one.
func network(remote string) netip.Prefix {
	address, bits := addressOf(remote), 64
	if address.Is4() {
		bits = 32
	}
	prefix, _ := address.Prefix(bits) // both kinds have as many
	return prefix
}
