package activities

import (
	"bytes"
	"slices"
	"strings"

	"github.com/jobwait/jobwait/wire"
)

// A shorter secret is as likely to be a word of the answer as an echo of the secret.
const leastSecret = 8

// forget takes our own credential out of an answer before anybody reads it: providers repeat keys in their error texts,
// and what is read may stand in history (R50).
func (r *response) forget(ready cleared) {
	for _, secret := range ready.sent() {
		r.Body = bytes.ReplaceAll(r.Body, []byte(secret), []byte(redacted))
		for _, values := range r.Header {
			for i := range values {
				values[i] = strings.ReplaceAll(values[i], secret, redacted)
			}
		}
	}
}

// sent are the forms in which the secret left and may come back: as it is, escaped in a URL, as the table's header carries
// it (base64, for Basic), and, of "user:password", the password.
func (c cleared) sent() []string {
	secret := c.secret.Reveal()
	forms := []string{secret, wire.EscapeSegment(secret), strings.TrimPrefix(c.request.Header[c.request.Auth.Header], c.request.Auth.Prefix)}
	if c.request.Auth.Basic {
		_, password, _ := strings.Cut(secret, ":")
		forms = append(forms, password)
	}
	return slices.DeleteFunc(forms, func(form string) bool { return len(form) < leastSecret })
}
