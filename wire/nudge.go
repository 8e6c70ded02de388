package wire

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxNudgeBytes bounds a nudge as it is received.
const MaxNudgeBytes = 2 << 10

// Nudge is the payload of SignalNudge: somebody outside, such as the receiver of a provider's webhook, says that the job
// may have changed. It says nothing of the state: the next status request is brought forward, as far as the provider's
// minimum, min_delay_seconds and the budgets allow, and its answer decides.
type Nudge struct {
	// Source is who says so; it stands in the audit. 1 to 256 characters. Required.
	Source string `json:"source"`
}

// NudgeEffect says in a word what became of a nudge. It is the reason of an EventNudged.
type NudgeEffect string

// What becomes of nudges.
const (
	NudgeFollowed    NudgeEffect = "followed"     // the next poll was brought forward
	NudgeInFlight    NudgeEffect = "in_flight"    // a request is under way; the poll after its answer comes as soon as it may
	NudgeNotSooner   NudgeEffect = "not_sooner"   // the next poll is as soon as it may be, or none fits before the deadline
	NudgeLastRequest NudgeEffect = "last_request" // one request is left, which keeps its time
	NudgeEscalated   NudgeEffect = "escalated"    // a question is open, during which nothing is sent
	NudgeUnparsable  NudgeEffect = "unparsable"   // the signal cannot be read; the detail says why
)

// DecodeNudge reads a nudge as strictly as DecodeSpec reads a spec.
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
