package statetables

import (
	"time"

	"github.com/jobwait/jobwait/wire"
)

// MaxBodyBytes is the largest decoded body that is read; a longer one is malformed.
const MaxBodyBytes = 1 << 20

// Response is one HTTP answer.
type Response struct {
	Status int
	// Header by name, in any case.
	Header map[string][]string
	// Body after content decoding, at most MaxBodyBytes.
	Body []byte
	// BodyTooLarge says that the body or the headers passed their limit; Body is then ignored.
	BodyTooLarge bool
	// ReceivedAt is the local time of the answer. It decides how old a job is and what a date in the answer means.
	ReceivedAt time.Time
}

// Classify reads one answer to a status request about the job asked for. It always gives an observation: what it does
// not understand it says so. The caller adds SentAt, ReceivedAt and the credential.
func (t *Table) Classify(_ wire.Target, _ wire.ReadingContext, response Response) wire.Observation {
	return wire.Observation{Answer: wire.AnswerUnexpected, HTTPStatus: response.Status, TableDigest: t.digest}
}

// CancelReading is what the answer to a cancel request says.
type CancelReading struct {
	// Accepted says that the answer is one that the table expects of a cancel that was taken.
	Accepted bool
	// Confirmed says that the table documents an accepted cancel as done at once.
	Confirmed bool
	Guidance  wire.Guidance
}

// ReadCancel reads the answer to a cancel request. Whatever it says, the next status answers decide.
func (t *Table) ReadCancel(_ Response) CancelReading { return CancelReading{} }

// ParseRetryAfter reads the values of Retry-After as RFC 9110 10.2.3 has them, and digits[.digits]. Seconds is the
// largest valid minimum, rounded up and never above 2^53-1; nil: none. A date is measured against date, the answer's own Date,
// or against receivedAt where that is missing or unreadable. Rejected is a wire.Guidance* word where something stood there that gives
// no guidance.
func ParseRetryAfter(_ []string, _ string, _ time.Time) (seconds *int64, rejected string) {
	return nil, ""
}
