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
	// Header is where the signature or token stands. Empty with Standard Webhooks, and for a token whose header is chosen when the
	// webhook is set up.
	Header string
	// Prefix stands before the signature or token, as in "sha256=".
	Prefix string
	// Field is the name of the signature where the header is a list like "t=1700000000,v1=ab12"; it may stand several times.
	Field string
	// Algorithm is sha1, sha256 or sha512.
	Algorithm string
	// Base64 says that the signature is written in base64; else in hexadecimal digits.
	Base64 bool
	// TimestampHeader or TimestampField is where the signed time stands, in seconds since 1970. Both empty: no time is signed.
	TimestampHeader, TimestampField string
	// ToleranceSeconds is how far that time may be from ours. 0: no time is signed.
	ToleranceSeconds int
}

// Called is what a webhook is about.
type Called struct {
	// JobID is the provider's id of the job.
	JobID string
	// Account is what the webhook says of the account; empty where the table reads none.
	Account string
	// Ignored says that it is about nothing that a wait would wait for.
	Ignored bool
}

// Callback is how the provider's webhooks are received; false where the table says nothing of them.
func (t *Table) Callback() (*Callback, bool) { return t.callback, t.callback != nil }

// Signature says how the webhook is signed.
func (c *Callback) Signature() Signature { return c.signature }

// ReadsAccount says whether webhooks name the account.
func (c *Callback) ReadsAccount() bool { return c.account != nil }

// Read finds out which job a webhook is about. Path is what stands in its URL behind the name of the endpoint. Nothing else of
// the body is looked at. The webhook must have been verified. Errors hold nothing of it.
func (c *Callback) Read(header map[string][]string, body []byte, path string) (Called, error) {
	parsed, malformed := parseBody(Response{Header: header, Body: body})
	if malformed != "" {
		return Called{}, fmt.Errorf("the body is malformed: %s", malformed)
	}
	in := &input{body: parsed, header: header}
	if c.when != nil {
		switch holds, err := c.when.holds(in); {
		case err != nil:
			return Called{}, fmt.Errorf("when: %w", err)
		case !holds:
			return Called{Ignored: true}, nil
		}
	}
	return c.read(in, path)
}

func (c *Callback) read(in *input, path string) (Called, error) {
	called := Called{JobID: path}
	var err error
	if !c.byPath {
		if called.JobID, err = textRead(c.jobID, in); err != nil {
			return Called{}, fmt.Errorf("job_id: %w", err)
		}
	}
	if c.account != nil {
		if called.Account, err = textRead(c.account, in); err != nil {
			return Called{}, fmt.Errorf("account: %w", err)
		}
	}
	if called.JobID == "" || utf8.RuneCountInString(called.JobID) > wire.MaxIDChars {
		return Called{}, fmt.Errorf("job_id: absent, or more than %d characters", wire.MaxIDChars)
	}
	return called, nil
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
