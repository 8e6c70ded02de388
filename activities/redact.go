package activities

import (
	"bytes"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/jobwait/jobwait/wire"
)

// A shorter secret is as likely to be a word of the answer as an echo of the secret.
const leastSecret = 8

// redact takes our own credential out of an answer before anybody reads it: providers repeat keys in their error texts,
// and what is read may stand in history (R50).
func (r *response) redact(ready cleared) {
	forms := ready.secretForms()
	for _, secret := range forms {
		r.Body = bytes.ReplaceAll(r.Body, []byte(secret), []byte(redacted))
		for _, values := range r.Header {
			for i := range values {
				values[i] = strings.ReplaceAll(values[i], secret, redacted)
			}
		}
	}
	if bytes.IndexByte(r.Body, '\\') >= 0 {
		r.Body = withoutEscaped(r.Body, forms)
	}
}

// withoutEscaped takes texts out of a body however a JSON encoder may have written their characters: PHP's writes / as \/,
// Go's & as \u0026. Its time does not depend on how often and how nearly they stand there, for both are up to the provider.
func withoutEscaped(body []byte, texts []string) []byte {
	plain, at := unescape(body)
	type stretch struct{ from, to int }
	var found []stretch
	for _, text := range texts {
		for from := 0; ; from += len(text) {
			i := bytes.Index(plain[from:], []byte(text))
			if i < 0 {
				break
			}
			from += i
			found = append(found, stretch{at[from], at[from+len(text)]})
		}
	}
	slices.SortFunc(found, func(a, b stretch) int { return a.from - b.from })
	var without []byte
	end := 0
	for _, one := range found {
		if one.from >= end {
			without = append(append(without, body[end:one.from]...), redacted...)
		}
		end = max(end, one.to)
	}
	return append(without, body[end:]...)
}

// unescape undoes the escapes of JSON, wherever they stand. at has the place in the body of each byte, and its end.
func unescape(body []byte) (plain []byte, at []int) {
	plain, at = make([]byte, 0, len(body)), make([]int, 0, len(body)+1)
	for i := 0; i < len(body); {
		size := 0
		plain, size = appendUnescaped(plain, body[i:])
		for len(at) < len(plain) {
			at = append(at, i)
		}
		i += size
	}
	return plain, append(at, len(body))
}

// appendUnescaped appends the first character of the rest, and says how many bytes it has there.
func appendUnescaped(dst, rest []byte) ([]byte, int) {
	if rest[0] != '\\' || len(rest) == 1 {
		return append(dst, rest[0]), 1
	}
	first, ok := utf16Unit(rest)
	if !ok {
		return append(dst, rest[1]), 2
	}
	if second, ok := utf16Unit(rest[6:]); ok && utf16.IsSurrogate(first) {
		return utf8.AppendRune(dst, utf16.DecodeRune(first, second)), 12
	}
	return utf8.AppendRune(dst, first), 6
}

// utf16Unit reads \u and four hexadecimal digits.
func utf16Unit(rest []byte) (rune, bool) {
	if len(rest) < 6 || rest[0] != '\\' || rest[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(rest[2:6]), 16, 16)
	return rune(unit), err == nil
}

// secretForms are the forms in which the secret left and may come back: as it is, escaped in a URL, as the table's header carries
// it (base64, for Basic), and, of "user:password", the password. Where the password is no secret, the user is.
func (c cleared) secretForms() []string {
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
	slices.Sort(forms)
	return slices.DeleteFunc(slices.Compact(forms), func(form string) bool { return len(form) < leastSecret })
}

var urlEscape = regexp.MustCompile(`%[0-9A-F]{2}`)

func lowerEscapes(text string) string { return urlEscape.ReplaceAllStringFunc(text, strings.ToLower) }
