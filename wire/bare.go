package wire

import (
	"net/url"
	"strings"
)

// BareURL is a URL without user, query and fragment, of which a signed one is made, for people to see. What is no URL is shown
// as that.
func BareURL(address string) string {
	at, err := url.Parse(address)
	if err != nil || at.Opaque != "" {
		return "not a URL"
	}
	if at.User == nil && !strings.ContainsAny(address, "?#") {
		return address
	}
	at.User, at.RawQuery, at.ForceQuery, at.Fragment, at.RawFragment = nil, "", false, "", ""
	return at.String()
}

// BareParam is a param as people may see it: one that is a URL, which may say where a result is, is shown as such.
func BareParam(value string) string {
	if !strings.Contains(value, "://") {
		return value
	}
	return BareURL(value)
}
