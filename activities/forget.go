package activities

import (
	"bytes"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/jobwait/jobwait/wire"
)

// A shorter secret is as likely to be a word of the answer as an echo of the secret.
const leastSecret = 8

// forget takes our own credential out of an answer before anybody reads it: providers repeat keys in their error texts,
// and what is read may stand in history (R50).
func (r *response) forget(ready cleared) {
	escapes := bytes.IndexByte(r.Body, '\\') >= 0
	for _, secret := range ready.sent() {
		r.Body = bytes.ReplaceAll(r.Body, []byte(secret), []byte(redacted))
		if escapes {
			r.Body = inJSON(secret).ReplaceAll(r.Body, []byte(redacted))
		}
		for _, values := range r.Header {
			for i := range values {
				values[i] = strings.ReplaceAll(values[i], secret, redacted)
			}
		}
	}
}

// inJSON finds a text however a JSON encoder may have written its characters: PHP's writes / as \/, Go's & as \u0026.
func inJSON(text string) *regexp.Regexp {
	var pattern strings.Builder
	for _, r := range text {
		fmt.Fprintf(&pattern, `(?:\\?%s|`, regexp.QuoteMeta(string(r)))
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&pattern, `\\u(?i:%04x)`, unit)
		}
		pattern.WriteByte(')')
	}
	return regexp.MustCompile(pattern.String())
}

// sent are the forms in which the secret left and may come back: as it is, escaped in a URL, as the table's header carries
// it (base64, for Basic), and, of "user:password", the password. Where the password is no secret, the user is.
func (c cleared) sent() []string {
	secret := c.secret.Reveal()
	escaped := wire.EscapeSegment(secret)
	forms := []string{
		secret, escaped, lowerEscapes(escaped), url.QueryEscape(secret),
		strings.TrimPrefix(c.request.Header[c.request.Auth.Header], c.request.Auth.Prefix),
	}
	if c.request.Auth.Basic {
		user, password, _ := strings.Cut(secret, ":")
		forms = append(forms, password)
		if len(password) < leastSecret { // "key:" and "key:x", where the key is the user
			forms = append(forms, user)
		}
	}
	return slices.DeleteFunc(forms, func(form string) bool { return len(form) < leastSecret })
}

var urlEscape = regexp.MustCompile(`%[0-9A-F]{2}`)

func lowerEscapes(text string) string { return urlEscape.ReplaceAllStringFunc(text, strings.ToLower) }
