package activities

import (
	"bytes"
	"strings"
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

// sent are the forms in which the secret left: as it is, and as the table's header carries it (base64, for Basic).
func (c cleared) sent() []string {
	var forms []string
	for _, form := range []string{c.secret.Reveal(), strings.TrimPrefix(c.request.Header[c.request.Auth.Header], c.request.Auth.Prefix)} {
		if len(form) >= leastSecret {
			forms = append(forms, form)
		}
	}
	return forms
}
