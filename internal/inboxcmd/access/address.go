package access

import (
	"fmt"
	"net"
	"net/url"
	"strings"
)

// secureURL reports whether what is sent there stays secret: https, or loopback.
func secureURL(u *url.URL) bool {
	if u.Scheme == "https" {
		return true
	}
	address := net.ParseIP(u.Hostname())
	return u.Scheme == "http" && (u.Hostname() == "localhost" || address != nil && address.IsLoopback())
}

// safeURL is an address that a page may lead to: a path of its own, or one that is secure. Else nil.
func safeURL(text string) *url.URL {
	u, err := url.Parse(text)
	switch {
	case err != nil || text == "" || u.User != nil:
		return nil
	case u.Scheme == "" && u.Host == "" && u.Path != "" && u.Path[0] == '/':
		return u
	case u.Host != "" && secureURL(u):
		return u
	default:
		return nil
	}
}

// Origin reads the public URL of an inbox: scheme and host, where people reach it.
func Origin(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Path != "" && u.Path != "/":
		return nil, fmt.Errorf("%q is not scheme and host, such as https://inbox.example.com", text)
	case !secureURL(u):
		return nil, fmt.Errorf("%q is not https, without which whoever is in between signs in as you; http is for loopback alone", text)
	}
	return &url.URL{Scheme: u.Scheme, Host: asSaid(u)}, nil
}

// asSaid is a host as browsers say it: lower-case, and without the port that the scheme has anyway.
func asSaid(u *url.URL) string {
	usual := map[string]string{"https": ":443", "http": ":80"}[u.Scheme]
	return strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(u.Host), usual), ":")
}
