package operation

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/jobwait/jobwait/wire"
)

// bareDecision is a decision as audits and messages may show it: the query of a URL is often what a signed link is made of, and no
// job is told apart by it (R14).
func bareDecision(d wire.Decision) wire.Decision {
	if d.StatusURL != "" {
		d.StatusURL = wire.BareURL(d.StatusURL)
	}
	d.Params = bareParams(d.Params)
	return d
}

// bareParams are params with those that are URLs as they may be shown: where a result is may be told by one.
func bareParams(params map[string]string) map[string]string {
	bare := maps.Clone(params)
	for _, name := range slices.Sorted(maps.Keys(params)) { //workflowcheck:ignore
		bare[name] = wire.BareParam(params[name])
	}
	return bare
}

// bareCanonical is the canonical form of a decision with its URLs as they may be shown. No text in that form has the name of a
// field in it: the quotes of a text are escaped there.
func bareCanonical(canonical []byte, d wire.Decision) []byte {
	bare, text := bareDecision(d), string(canonical)
	hide := func(name, whole, shown string) {
		field := wire.AppendText(nil, name)
		field = append(field, ':')
		text = strings.ReplaceAll(text, string(wire.AppendText(field, whole)), string(wire.AppendText(field, shown)))
	}
	if bare.StatusURL != d.StatusURL {
		hide("status_url", d.StatusURL, bare.StatusURL)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Params)) { //workflowcheck:ignore
		if bare.Params[name] != d.Params[name] {
			hide(name, d.Params[name], bare.Params[name])
		}
	}
	return []byte(text)
}

var (
	urlName = regexp.MustCompile(`(?i)status[-_ ]?url|params`)
	// anyURL is a URL up to the end of the JSON text that it stands in, with its scheme apart.
	anyURL = regexp.MustCompile(`(?is)([a-z][a-z0-9+.-]*:(?:\\?/){2})(?:[^"\\]|\\.)*`)
)

// bareText takes the URLs out of a text that was meant to be a decision with a status URL or params and cannot be read as one.
func bareText(text string) string {
	if !urlName.MatchString(text) {
		return text
	}
	return anyURL.ReplaceAllString(text, "$1...")
}
