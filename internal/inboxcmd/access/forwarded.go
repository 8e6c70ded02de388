package access

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// maxForwarded bounds how many addresses of X-Forwarded-For are looked at; a request passes fewer proxies.
const maxForwarded = 20

// Proxies are the addresses and networks of proxies that stand in front of the inbox. None is one that everybody has.
type Proxies []netip.Prefix

// readProxies reads addresses, and networks in CIDR form.
func readProxies(texts []string) (Proxies, error) {
	var out Proxies
	for _, text := range texts {
		prefix, err := parsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%q is neither an address nor a network such as 10.1.2.0/24", text)
		}
		if prefix.Bits() == 0 {
			return nil, fmt.Errorf("%q is everybody, who could then say to be anybody", text)
		}
		out = append(out, prefix)
	}
	return out, nil
}

func parsePrefix(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	return prefix.Masked(), err
}

func (p Proxies) trust(address netip.Addr) bool {
	return slices.ContainsFunc(p, func(prefix netip.Prefix) bool { return prefix.Contains(address) })
}

// Resolve makes the remote address of a request that comes by way of one of the proxies that of the client. Without proxies it
// changes nothing.
func (p Proxies) Resolve(next http.Handler) http.Handler {
	if len(p) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if peer := addressOf(r.RemoteAddr); p.trust(peer) {
			seen := *r
			seen.RemoteAddr = p.client(peer, r.Header).String()
			r = &seen
		}
		next.ServeHTTP(w, r)
	})
}

// client is the right-most address of X-Forwarded-For that is not a proxy's: each proxy writes down whom it was reached from, and
// what stands left of that is whatever the client has sent.
func (p Proxies) client(peer netip.Addr, header http.Header) netip.Addr {
	hops := strings.Split(strings.Join(header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= max(len(hops)-maxForwarded, 0) && p.trust(peer); i-- {
		address := addressOf(strings.TrimSpace(hops[i]))
		if !address.IsValid() {
			break
		}
		peer = address
	}
	return peer
}

// addressOf reads an address with a port or without; not valid: it is none.
func addressOf(text string) netip.Addr {
	address, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err != nil {
		with, _ := netip.ParseAddrPort(text) // none is not valid
		address = with.Addr()
	}
	return address.Unmap().WithZone("")
}
