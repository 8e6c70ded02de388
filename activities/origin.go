package activities

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// origin is scheme, host and port (RFC 6454), the port always spelled out.
type origin struct{ scheme, host, port string }

// originOf is the origin of an absolute http or https URL without userinfo. Its errors do not repeat the URL.
func originOf(target *url.URL) (origin, error) {
	switch {
	case target.Scheme != "https" && target.Scheme != "http":
		return origin{}, errors.New("the scheme is not http or https")
	case target.User != nil:
		return origin{}, errors.New("the URL has userinfo")
	case target.Hostname() == "":
		return origin{}, errors.New("the URL has no host")
	}
	port := target.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[target.Scheme]
	}
	return origin{target.Scheme, strings.ToLower(strings.TrimSuffix(target.Hostname(), ".")), port}, nil
}

// parseOrigin reads an origin as a person writes it: nothing may follow the port.
func parseOrigin(text string) (origin, error) {
	target, err := url.Parse(text)
	if err != nil {
		return origin{}, fmt.Errorf("origin %q is not a URL", withoutUserinfo(text))
	}
	at, err := originOf(target)
	if err != nil {
		return origin{}, fmt.Errorf("origin %q: %w", withoutUserinfo(text), err)
	}
	if target.Path != "" && target.Path != "/" || target.RawQuery != "" || target.Fragment != "" {
		return origin{}, fmt.Errorf("origin %q goes on after host and port", at)
	}
	return at, nil
}

// withoutUserinfo keeps a password that was written into an origin by mistake out of the complaint about it.
func withoutUserinfo(text string) string {
	if at := strings.LastIndexByte(text, '@'); at >= 0 {
		return "..." + text[at:]
	}
	return text
}

// among reports whether a list of origins, as people write them, has this one.
func (o origin) among(listed []string) bool {
	return slices.ContainsFunc(listed, func(text string) bool { one, err := parseOrigin(text); return err == nil && one == o })
}

// String returns the origin as a URL, without a port that goes without saying.
func (o origin) String() string {
	host := o.host
	if o.scheme == "https" && o.port == "443" || o.scheme == "http" && o.port == "80" {
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		return o.scheme + "://" + host
	}
	return o.scheme + "://" + net.JoinHostPort(host, o.port)
}
