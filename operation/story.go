package operation

import (
	"fmt"
	"strings"

	"github.com/jobwait/jobwait/wire"
)

// Story renders one audit entry as a line for people. The words are never stored, so that a better wording changes no
// history.
func Story(e wire.Entry) string {
	return e.At.UTC().Format("15:04:05") + " " + sentence(e)
}

func sentence(e wire.Entry) string {
	switch e.Event {
	case wire.EventOpened:
		return fmt.Sprintf("opened, up to %d requests until %s", e.MaxStatusRequests, timestamp(*e.DeadlineAt))
	case wire.EventPollPlanned:
		return fmt.Sprintf("next poll %s from %s (%s)", clock(e), e.DelaySource, used(e))
	case wire.EventRequestReserved:
		return fmt.Sprintf("sending request %d of %d", e.StatusRequestsUsed, e.MaxStatusRequests)
	case wire.EventResponseReceived:
		return receivedSentence(e)
	case wire.EventRequestLost:
		return fmt.Sprintf("no answer: %s (%s)", orElse(e.Detail, "lost"), used(e))
	case wire.EventRequestNotSent:
		return "not sent: " + reasonText(wire.Reason(e.Reason), e.Detail)
	case wire.EventStateChanged:
		return fmt.Sprintf("state %s -> %s (%s)", orElse(e.Detail, "none"), e.RawState, e.Category)
	case wire.EventGuidanceRejected:
		return fmt.Sprintf("guidance from %s not followed: %s", e.Reason, e.Detail)
	default:
		return peopleSentence(e)
	}
}

func receivedSentence(e wire.Entry) string {
	text := fmt.Sprintf("received %d", e.HTTPStatus)
	if e.Reason == string(wire.AnswerRead) {
		text += fmt.Sprintf(", state %s", orElse(e.RawState, "(empty)"))
	} else {
		text += ", " + e.Reason
	}
	if seconds, ok := strings.CutPrefix(e.Detail, "retry_after "); ok {
		text += ", Retry-After " + seconds
	} else if e.Detail != "" {
		text += ", " + e.Detail
	}
	return text + " (" + used(e) + ")"
}

func peopleSentence(e wire.Entry) string {
	switch e.Event { //nolint:exhaustive // the other events are sentence's
	case wire.EventEscalated:
		return "stopped and asked: " + reasonText(wire.Reason(e.Reason), e.Detail)
	case wire.EventReminded:
		return "reminded: " + e.Reason
	case wire.EventDecisionApplied:
		return fmt.Sprintf("decision %s applied%s; now %d requests until %s", e.Reason, by(e), e.MaxStatusRequests, timestamp(*e.DeadlineAt))
	case wire.EventDecisionRefused:
		return fmt.Sprintf("decision refused%s: %s", by(e), reasonText(wire.Reason(e.Reason), e.Detail))
	case wire.EventCancelSent:
		return "asked the provider to cancel: " + e.Detail
	case wire.EventNotified:
		return notifiedSentence(e)
	case wire.EventClosed:
		return "closed " + reasonText(wire.Reason(e.Reason), e.Detail)
	default:
		return strings.ReplaceAll(string(e.Event), "_", " ")
	}
}

func notifiedSentence(e wire.Entry) string {
	if e.Detail != "" {
		return fmt.Sprintf("could not tell people (%s): %s", e.Reason, e.Detail)
	}
	return fmt.Sprintf("told people (%s)", e.Reason)
}

// by names who decided, as the payload has it.
func by(e wire.Entry) string {
	decision, err := wire.DecodeDecision(e.Decision)
	if err != nil || decision.DecidedBy == "" {
		return ""
	}
	return " by " + decision.DecidedBy
}

func clock(e wire.Entry) string {
	if e.NextPollAt == nil {
		return "never"
	}
	return e.NextPollAt.UTC().Format("15:04:05")
}

func used(e wire.Entry) string {
	return fmt.Sprintf("%d of %d", e.StatusRequestsUsed, e.MaxStatusRequests)
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
