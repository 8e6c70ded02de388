package operation

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/jobwait/jobwait/wire"
)

// bareURL is an address as audits and messages may show it: a query is often what a signed link is made of, and no job is
// told apart by it (R14). What cannot be read is not shown.
func bareURL(address string) string {
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

// bareDecision is a decision as people are told of it.
func bareDecision(d wire.Decision) wire.Decision {
	if d.StatusURL != "" {
		d.StatusURL = bareURL(d.StatusURL)
	}
	return d
}

// bareCanonical is the canonical form of a decision with its status URL as it may be shown. No text in that form has the name
// of a field in it: the quotes of a text are escaped there.
func bareCanonical(canonical []byte, d wire.Decision) []byte {
	bare := bareDecision(d)
	if bare.StatusURL == d.StatusURL {
		return canonical
	}
	field := func(address string) string { return string(wire.AppendText([]byte(`"status_url":`), address)) }
	return []byte(strings.Replace(string(canonical), field(d.StatusURL), field(bare.StatusURL), 1))
}

var (
	statusURLName = regexp.MustCompile(`(?i)status[-_ ]?url`)
	// anyURL is a URL up to the end of the JSON text that it stands in, with its scheme apart.
	anyURL = regexp.MustCompile(`(?is)([a-z][a-z0-9+.-]*:(?:\\?/){2})(?:[^"\\]|\\.)*`)
)

// bareText takes the URLs out of a text that was meant to be a decision with a status URL and cannot be read as one.
func bareText(text string) string {
	if !statusURLName.MatchString(text) {
		return text
	}
	return anyURL.ReplaceAllString(text, "$1...")
}
