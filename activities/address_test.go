package activities

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// R52: what is not public, in every form that an address can be written in.
func TestPublicHost(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"8.8.8.8":                 true,
		"172.32.0.1":              true,
		"2606:4700::1111":         true,
		"64:ff9b::808:808":        true, // NAT64 of 8.8.8.8
		"127.0.0.1":               false,
		"127.255.255.254":         false,
		"10.1.2.3":                false,
		"172.16.0.1":              false,
		"192.168.1.1":             false,
		"169.254.169.254":         false, // X1
		"100.100.100.200":         false,
		"192.0.0.192":             false,
		"0.0.0.0":                 false,
		"224.0.0.1":               false,
		"255.255.255.255":         false,
		"::":                      false,
		"::1":                     false,
		"fe80::1":                 false,
		"fe80::1%eth0":            false,
		"fd00:ec2::254":           false,
		"fec0::1":                 false,
		"ff02::1":                 false,
		"::ffff:169.254.169.254":  false,
		"::ffff:127.0.0.1":        false,
		"::127.0.0.1":             false,
		"64:ff9b::a9fe:a9fe":      false, // NAT64 of 169.254.169.254
		"64:ff9b:1::1":            false,
		"2002:7f00:1::":           false, // 6to4 of 127.0.0.1
		"2001:0:4136:e378:8000::": false, // Teredo
		"not an address":          false,
	} {
		require.Equal(t, want, publicHost(host), host)
	}
}

// R52, X1: the guard looks at the address after DNS, and nothing is even connected to.
func TestPrivateAddressIsNotDialled(t *testing.T) {
	t.Parallel()
	p := serve(t, func(http.ResponseWriter, *http.Request) {})
	for _, target := range []string{p.URL, strings.Replace(p.URL, "127.0.0.1", "localhost", 1)} {
		order := get(target)
		answered(t, direct(), order) // the control: a table that allows private networks gets there
		connections := p.connected()

		order.request.AllowPrivateNetwork = false
		require.Equal(t, exchange{rejected: true}, direct().send(t.Context(), order))
		require.Equal(t, connections, p.connected())
	}
	require.Len(t, p.saw(), 2)
}
