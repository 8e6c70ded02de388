package statetables

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// URLRejectedError reports that the table does not accept a status URL of a spec or an answer. Its text contains nothing of the URL.
type URLRejectedError struct {
	// Rule is the rule that the URL breaks.
	Rule string
	// Elsewhere reports whether the URL is well formed but not at an origin of the table.
	Elsewhere bool
}

func (e *URLRejectedError) Error() string { return "status_url: " + e.Rule }

// maxURLBytes bounds a URL that was handed out.
const maxURLBytes = 4096

// acceptURL checks a URL that a spec or an answer handed out. It must be absolute, without userinfo and fragment, and
// of an accepted origin. The accepted origins are given back with a port in place of "*".
func acceptURL(text string, origins []string) ([]string, error) {
	parsed, err := parseAbsolute(text)
	if err != nil {
		return nil, err
	}
	own := originOf(parsed)
	accepted := make([]string, 0, len(origins))
	for _, origin := range origins {
		accepted = append(accepted, concrete(origin, own))
	}
	if !slices.Contains(accepted, own) {
		return nil, &URLRejectedError{Rule: "its origin is not one the table accepts", Elsewhere: true}
	}
	return accepted, nil
}

func parseAbsolute(text string) (*url.URL, error) {
	if len(text) > maxURLBytes {
		return nil, &URLRejectedError{Rule: fmt.Sprintf("longer than %d bytes", maxURLBytes)}
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' }) {
		return nil, &URLRejectedError{Rule: "not a URL: it holds a space, a backslash or something that is not ASCII"}
	}
	parsed, err := url.Parse(text)
	if err != nil {
		return nil, &URLRejectedError{Rule: "not a URL"}
	}
	switch {
	case parsed.Host == "" || parsed.Opaque != "" || parsed.Scheme != "https" && parsed.Scheme != "http":
		return nil, &URLRejectedError{Rule: "not absolute; write https://host/path as the submission was answered"}
	case parsed.User != nil:
		return nil, &URLRejectedError{Rule: "has a user or a password in it; name a credential instead"}
	case strings.Contains(text, "#"):
		return nil, &URLRejectedError{Rule: "has a fragment"}
	case !hostShape.MatchString(strings.ToLower(parsed.Host)):
		return nil, &URLRejectedError{Rule: "its host is not a plain name or address"}
	case hasDotSegment(parsed.Path):
		return nil, &URLRejectedError{Rule: "has a . or .. in its path"}
	}
	return parsed, nil
}

func hasDotSegment(path string) bool {
	segments := strings.Split(path, "/")
	return slices.Contains(segments, ".") || slices.Contains(segments, "..")
}

// originOf writes scheme://host:port in lower case, with the scheme's own port where none is given.
func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" && u.Scheme == "https" {
		port = "443"
	}
	if port == "" {
		port = "80"
	}
	host := strings.ToLower(u.Hostname())
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return u.Scheme + "://" + host + ":" + port
}

// concrete gives an origin whose port is "*" the port of own where they agree otherwise.
func concrete(origin, own string) string {
	host, any := strings.CutSuffix(origin, ":*")
	if any && strings.HasPrefix(own, host+":") {
		return own
	}
	return origin
}

// parseOrigin reads an origin as a table writes it: https://host, with a port where it is not the scheme's own. http
// and the port "*" are for loopback only.
func parseOrigin(text string) (string, error) {
	bare, anyPort := strings.CutSuffix(text, ":*")
	parsed, err := url.Parse(bare)
	if err != nil || parsed.Host == "" || parsed.Scheme != "https" && parsed.Scheme != "http" {
		return "", fmt.Errorf("%q is no origin; write https://host", text)
	}
	if bare != parsed.Scheme+"://"+parsed.Host || !hostShape.MatchString(parsed.Host) {
		return "", fmt.Errorf("%q is no origin; nothing follows its host and port", text)
	}
	if (anyPort || parsed.Scheme == "http") && !isLoopback(parsed.Hostname()) {
		return "", fmt.Errorf("%q: http and the port * are for loopback only; write https://host", text)
	}
	if anyPort {
		origin := originOf(parsed)
		return origin[:strings.LastIndex(origin, ":")] + ":*", nil
	}
	return originOf(parsed), nil
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// isPrivate says that a host that is written out is loopback, private or link-local.
func isPrivate(host string) bool {
	address, err := netip.ParseAddr(host)
	return isLoopback(host) || err == nil && (address.IsPrivate() || address.IsLinkLocalUnicast())
}

// hostOf is the host of a URL or an origin; empty where it has none that can be read.
func hostOf(text string) string {
	parsed, err := url.Parse(strings.TrimSuffix(text, ":*"))
	if err != nil {
		return ""
	}
	return parsed.Hostname()
}

// parseQuery reads a query strictly: one that cannot be taken apart hides its names.
func parseQuery(raw string) (url.Values, error) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, &URLRejectedError{Rule: "its query cannot be read"}
	}
	return query, nil
}
