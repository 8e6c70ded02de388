package statetables

import (
	"fmt"
	"unicode/utf8"

	"github.com/jobwait/jobwait/wire"
)

// The ways in which a webhook proves where it comes from.
const (
	// SchemeStandardWebhooks is the Standard Webhooks specification with a symmetric key.
	SchemeStandardWebhooks = "standard_webhooks"
	// SchemeHMAC is a keyed hash in a header, over the body or over a time, a dot and the body.
	SchemeHMAC = "hmac"
	// SchemeToken is the secret itself in a header.
	SchemeToken = "token"
)

const (
	algorithmSHA1   = "sha1"
	algorithmSHA256 = "sha256"
	algorithmSHA512 = "sha512"

	encodingHex    = "hex"
	encodingBase64 = "base64"

	signedBody          = "body"
	signedTimestampBody = "timestamp.body"

	// jobInPath is the job_id of webhooks whose URL says which job they are about.
	jobInPath = "path"
)

// Callback is how a provider's webhook is checked and read. It is immutable and safe for concurrent use.
type Callback struct {
	signature Signature
	byPath    bool
	jobID     *expression
	account   *expression
	when      *expression
}

// Signature says how a webhook is signed. The code that checks it holds the secrets.
type Signature struct {
	// Scheme is SchemeStandardWebhooks, SchemeHMAC or SchemeToken.
	Scheme string
	// Header is the header that contains the signature or token. Empty for Standard Webhooks, and for a token whose header is chosen
	// when the webhook is set up.
	Header string
	// Prefix precedes the signature or token, as in "sha256=".
	Prefix string
	// Field is the name of the signature in a header that is a list like "t=1700000000,v1=ab12", where it may occur several times.
	Field string
	// Algorithm is sha1, sha256 or sha512.
	Algorithm string
	// Base64 reports whether the signature is encoded in base64. If not, it is in hexadecimal digits.
	Base64 bool
	// TimestampHeader or TimestampField contains the signed time, in seconds since 1970. Both are empty if no time is signed.
	TimestampHeader, TimestampField string
	// ToleranceSeconds is how far the signed time may be from the receiver's. 0 if no time is signed.
	ToleranceSeconds int
}

// CallbackReading is what a webhook says: which job it is about, and nothing of that job's state.
type CallbackReading struct {
	// JobID is the provider's id of the job; empty if Ignored.
	JobID string
	// Account is the account that the webhook names; empty where the table reads none.
	Account string
	// Ignored reports that the webhook is about something that no wait waits for.
	Ignored bool
}

// Callback returns how the provider's webhooks are checked and read. It reports false if the table has no callback section.
func (t *Table) Callback() (*Callback, bool) { return t.callback, t.callback != nil }

// Signature returns how the webhook is signed.
func (c *Callback) Signature() Signature { return c.signature }

// ReadsAccount reports whether webhooks name the account.
func (c *Callback) ReadsAccount() bool { return c.account != nil }

// Read returns which job a webhook is about. path is the part of its URL after the name of the endpoint. The caller must have
// verified the webhook's signature. Errors contain nothing of what the webhook says.
func (c *Callback) Read(header map[string][]string, body []byte, path string) (CallbackReading, error) {
	parsed, malformed := parseBody(Response{Header: header, Body: body})
	if malformed != "" {
		return CallbackReading{}, fmt.Errorf("the body is malformed: %s", malformed)
	}
	in := &input{body: parsed, header: header}
	if c.when != nil {
		switch holds, err := c.when.holds(in); {
		case err != nil:
			return CallbackReading{}, fmt.Errorf("when: %w", err)
		case !holds:
			return CallbackReading{Ignored: true}, nil
		}
	}
	return c.read(in, path)
}

func (c *Callback) read(in *input, path string) (CallbackReading, error) {
	reading := CallbackReading{JobID: path}
	var err error
	if !c.byPath {
		if reading.JobID, err = textRead(c.jobID, in); err != nil {
			return CallbackReading{}, fmt.Errorf("job_id: %w", err)
		}
	}
	if c.account != nil {
		if reading.Account, err = textRead(c.account, in); err != nil {
			return CallbackReading{}, fmt.Errorf("account: %w", err)
		}
	}
	if reading.JobID == "" || utf8.RuneCountInString(reading.JobID) > wire.MaxIDChars {
		return CallbackReading{}, fmt.Errorf("job_id: absent, or more than %d characters", wire.MaxIDChars)
	}
	return reading, nil
}

// textRead is an id that stands in a webhook, never an empty or an endless one.
func textRead(from *expression, in *input) (string, error) {
	value, err := from.eval(in)
	if err != nil {
		return "", err
	}
	text, ok := textOf(value)
	switch {
	case !ok:
		return "", errType
	case text == "":
		return "", errAbsent
	case utf8.RuneCountInString(text) > wire.MaxIDChars:
		return "", fmt.Errorf("more than %d characters", wire.MaxIDChars)
	}
	return text, nil
}
