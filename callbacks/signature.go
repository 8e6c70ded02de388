package callbacks

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // some providers sign with HMAC-SHA1, which is not known to be broken
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/jobwait/jobwait/internal/webhookkey"
	"github.com/jobwait/jobwait/statetables"
)

// verdict is what a check of a signature found.
type verdict string

const (
	genuine verdict = "genuine"
	forged  verdict = "forged"
	late    verdict = "late" // signed, but the signed time is not now
)

// leastSecret keeps a secret that could be guessed from standing for a signature.
const leastSecret = 16

// verifier checks signatures of one kind.
type verifier struct{ statetables.Signature }

// usable reports why a secret cannot be one for this kind; the reason does not repeat it.
func (v verifier) usable(secret string) error {
	if v.Scheme == statetables.SchemeStandardWebhooks {
		_, err := webhookkey.Parse(secret)
		return err
	}
	if len(secret) < leastSecret {
		return shortSecretError{}
	}
	return nil
}

type shortSecretError struct{}

func (shortSecretError) Error() string {
	return "it has fewer than " + strconv.Itoa(leastSecret) + " characters, and could be guessed"
}

// verify tries each secret, in a time that does not tell how near a forgery was.
func (v verifier) verify(header http.Header, body []byte, secrets []string, now time.Time) verdict {
	signed := false
	for _, secret := range secrets {
		signed = v.signedBy(secret, header, body) || signed
	}
	switch {
	case !signed:
		return forged
	case !v.timely(header, now):
		return late
	default:
		return genuine
	}
}

func (v verifier) signedBy(secret string, header http.Header, body []byte) bool {
	switch v.Scheme {
	case statetables.SchemeStandardWebhooks:
		key, err := webhookkey.Parse(secret)
		return err == nil && key.VerifyIgnoringTimestamp(body, header) == nil
	case statetables.SchemeToken:
		token, ok := strings.CutPrefix(only(header, v.Header), v.Prefix)
		return ok && sameText(token, secret)
	default:
		return v.hashedBy(secret, header, body)
	}
}

// sameText compares in a time that tells neither what is different nor how long the other one is.
func sameText(a, b string) bool {
	left, right := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(left[:], right[:]) == 1
}

func (v verifier) hashedBy(secret string, header http.Header, body []byte) bool {
	mac := hmac.New(v.algorithm(), []byte(secret))
	if v.timed() {
		mac.Write([]byte(v.timestamp(header) + "."))
	}
	mac.Write(body)
	want := mac.Sum(nil)
	found := false
	for _, text := range v.signatures(header) {
		got, err := v.decode(text)
		found = err == nil && hmac.Equal(got, want) || found
	}
	return found
}

func (v verifier) algorithm() func() hash.Hash {
	switch v.Algorithm {
	case "sha1":
		return sha1.New
	case "sha512":
		return sha512.New
	default:
		return sha256.New
	}
}

func (v verifier) decode(text string) ([]byte, error) {
	if v.Base64 {
		return base64.StdEncoding.DecodeString(text)
	}
	return hex.DecodeString(text)
}

// signatures are those that a request brings: one, or several in a list while the provider changes its secret.
func (v verifier) signatures(header http.Header) []string {
	value := only(header, v.Header)
	if v.Field != "" {
		return fields(value, v.Field)
	}
	if text, ok := strings.CutPrefix(value, v.Prefix); ok {
		return []string{text}
	}
	return nil
}

// maxFields bounds how many elements of a list are looked at.
const maxFields = 20

// fields are the values of a name in a list like "t=1700000000,v1=ab12".
func fields(list, name string) []string {
	var found []string
	for _, element := range strings.SplitN(list, ",", maxFields) {
		key, value, _ := strings.Cut(strings.TrimSpace(element), "=")
		if key == name {
			found = append(found, value)
		}
	}
	return found
}

// only is the value of a header that stands once; empty otherwise.
func only(header http.Header, name string) string {
	values := header.Values(name)
	if len(values) != 1 {
		return ""
	}
	return values[0]
}

func (v verifier) timed() bool { return v.TimestampHeader != "" || v.TimestampField != "" }

// timestamp is the signed time as it stands.
func (v verifier) timestamp(header http.Header) string {
	if v.TimestampHeader != "" {
		return only(header, v.TimestampHeader)
	}
	if found := fields(only(header, v.Header), v.TimestampField); len(found) == 1 {
		return found[0]
	}
	return ""
}

// timely says whether the signed time is now, as far as the tolerance goes in either direction.
func (v verifier) timely(header http.Header, now time.Time) bool {
	text := v.timestamp(header)
	if v.Scheme == statetables.SchemeStandardWebhooks {
		text = header.Get(standardwebhooks.HeaderWebhookTimestamp)
	} else if !v.timed() {
		return true
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	tolerance := int64(v.ToleranceSeconds)
	return err == nil && seconds >= now.Unix()-tolerance && seconds <= now.Unix()+tolerance
}

// delivery is the signed id of a delivery, which is the same when it is repeated; empty where none is signed.
func (v verifier) delivery(header http.Header) string {
	if v.Scheme == statetables.SchemeStandardWebhooks {
		return header.Get(standardwebhooks.HeaderWebhookID)
	}
	return ""
}
