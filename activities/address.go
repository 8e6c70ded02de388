package activities

import (
	"net"
	"net/netip"
	"syscall"
)

// addressError says that an address may not be dialled (R52). It does not name the address: where a provider's name leads
// is nobody's business in a history.
type addressError struct{}

func (*addressError) Error() string {
	return "the address is loopback, private, link-local or otherwise not public, and the table does not allow private networks"
}

// publicOnly is a net.Dialer.Control: it sees each address after DNS and before the connection, so that no name can lead
// into a private network, whatever it resolved to a moment ago.
func publicOnly(_, address string, _ syscall.RawConn) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil || !publicHost(host) {
		return &addressError{}
	}
	return nil
}

// publicHost reports whether a literal address is public.
func publicHost(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && publicAddr(addr)
}

func publicAddr(addr netip.Addr) bool {
	addr = unpack(addr.WithZone(""))
	if !addr.IsGlobalUnicast() || addr.IsPrivate() {
		return false
	}
	for _, block := range notPublic {
		if block.Contains(addr) {
			return false
		}
	}
	return true
}

// nat64 is where a network without IPv4 reaches the IPv4 internet (RFC 6052).
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// unpack gives the IPv4 address that a mapped or NAT64 address leads to: 64:ff9b::a9fe:a9fe is 169.254.169.254.
func unpack(addr netip.Addr) netip.Addr {
	if nat64.Contains(addr) {
		bytes := addr.As16()
		return netip.AddrFrom4([4]byte(bytes[12:]))
	}
	return addr.Unmap()
}

// notPublic are the blocks of the IANA special-purpose registries (RFC 6890) that netip does not know, among them the
// other IPv6 forms that carry an IPv4 address inside.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // carrier-grade NAT
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("::/96"),           // IPv4-compatible
	netip.MustParsePrefix("::ffff:0:0:0/96"), // IPv4-translated
	netip.MustParsePrefix("64:ff9b:1::/48"),  // NAT64, local use
	netip.MustParsePrefix("100::/64"),        // discard
	netip.MustParsePrefix("2001::/23"),       // Teredo and other protocol assignments
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"), // 6to4
	netip.MustParsePrefix("3fff::/20"),
	netip.MustParsePrefix("5f00::/16"),
	netip.MustParsePrefix("fec0::/10"), // site-local
}
