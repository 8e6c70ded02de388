package wire

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxNudgeBytes bounds the JSON of a Nudge.
const MaxNudgeBytes = 2 << 10

// Nudge is the payload of SignalNudge. It tells the wait that the job may have changed, as the receiver of a provider's webhook
// does. It carries no state: it only brings the next status request forward, as far as the provider's minimum, min_delay_seconds
// and the budgets allow, and the answer to that request decides.
type Nudge struct {
	// Source names the sender for the audit. 1 to 256 characters. Required.
	Source string `json:"source"`
}

// NudgeEffect says what a nudge did. It is the reason of an EventNudged.
type NudgeEffect string

// The effects of a nudge.
const (
	NudgeFollowed    NudgeEffect = "followed"     // the next poll was brought forward
	NudgeInFlight    NudgeEffect = "in_flight"    // a request is under way; the poll after its answer comes as soon as it may
	NudgeNotSooner   NudgeEffect = "not_sooner"   // the next poll is as soon as it may be, or none fits before the deadline
	NudgeLastRequest NudgeEffect = "last_request" // one request is left, which keeps its time
	NudgeEscalated   NudgeEffect = "escalated"    // a question is open, during which nothing is sent
	NudgeUnparsable  NudgeEffect = "unparsable"   // the signal cannot be read; the detail says why
)

// DecodeNudge decodes a nudge as strictly as DecodeSpec decodes a spec.
func DecodeNudge(data []byte) (Nudge, error) {
	nudge, err := decodeStrictly[Nudge]("nudge", data, MaxNudgeBytes)
	if err != nil {
		return Nudge{}, err
	}
	switch n := utf8.RuneCountInString(nudge.Source); {
	case strings.TrimSpace(nudge.Source) == "":
		return Nudge{}, errors.New("nudge: source is missing, say who says that the job may have changed")
	case n > MaxIDChars:
		return Nudge{}, fmt.Errorf("nudge: source has %d characters, at most %d are allowed", n, MaxIDChars)
	default:
		return nudge, nil
	}
}
