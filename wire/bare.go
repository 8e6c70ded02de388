package wire

import (
	"net/url"
	"strings"
)

// BareURL returns a URL without its userinfo, query and fragment, which may contain secrets, so that it can be shown to people.
// Text that is not a URL is replaced by a note that says so.
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

// BareParam returns the value of a param as it may be shown to people: a URL as BareURL shortens it, anything else unchanged.
func BareParam(value string) string {
	if !strings.Contains(value, "://") {
		return value
	}
	return BareURL(value)
}
