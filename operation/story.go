package operation

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/jobwait/jobwait/wire"
)

// Story renders one audit entry as a line for people. The words are never stored, so that a better wording changes no
// history.
func Story(e wire.Entry) string {
	return storyLine(e, sentence(e))
}

// StoryOf renders entries that follow each other. An answer or a nudge and the poll that was planned because of it are one line:
// "10:20:14 polled, state running, next poll 10:20:31 from local_backoff (3 of 12)".
func StoryOf(entries []wire.Entry) []string {
	lines := make([]string, 0, len(entries))
	told := make(map[int]bool)
	for i, e := range entries {
		if told[i] {
			continue
		}
		line := Story(e)
		if planned, ok := plannedBy(entries[i:]); ok {
			told[i+planned] = true
			line = storyLine(e, causeSentence(e)+", "+sentence(entries[i+planned]))
		}
		lines = append(lines, line)
	}
	return lines
}

// causeSentence is an answer or a nudge without the counts that its plan will tell.
func causeSentence(e wire.Entry) string {
	if e.Event == wire.EventNudged {
		return sentence(e)
	}
	return answerSentence(e)
}

// plannedBy finds the poll that the first entry, an answer or a nudge, led to.
func plannedBy(entries []wire.Entry) (int, bool) {
	answer := entries[0]
	switch {
	case answer.Event == wire.EventResponseReceived, answer.Event == wire.EventRequestLost:
	case answer.Event == wire.EventNudged && answer.Reason == string(wire.NudgeFollowed):
	default:
		return 0, false
	}
	for i, e := range entries[1:] {
		switch e.Event { //nolint:exhaustive // only these stand between an answer and its plan
		case wire.EventPollPlanned:
			return i + 1, e.At.Equal(answer.At)
		case wire.EventStateChanged, wire.EventGuidanceRejected:
		default:
			return 0, false
		}
	}
	return 0, false
}

func storyLine(e wire.Entry, words string) string {
	return e.At.UTC().Format("15:04:05") + " " + oneLine(words)
}

func sentence(e wire.Entry) string {
	switch e.Event { //nolint:exhaustive // the other events are peopleSentence's
	case wire.EventOpened:
		return fmt.Sprintf("opened%s, up to %d requests until %s", inPlaceOf(e), e.MaxStatusRequests, timestamp(*e.DeadlineAt))
	case wire.EventPollPlanned:
		return fmt.Sprintf("next poll %s from %s (%s)", clock(e), e.DelaySource, used(e))
	case wire.EventRequestReserved:
		if e.Detail != "" {
			return fmt.Sprintf("submitting, request %d of %d, %s", e.StatusRequestsUsed, e.MaxStatusRequests, e.Detail)
		}
		return fmt.Sprintf("sending request %d of %d", e.StatusRequestsUsed, e.MaxStatusRequests)
	case wire.EventResponseReceived, wire.EventRequestLost:
		return answerSentence(e) + " (" + used(e) + ")"
	case wire.EventRequestNotSent:
		detail, held := cutHeldBack(e.Detail)
		return "not sent: " + reasonText(wire.Reason(e.Reason), detail) + held
	case wire.EventStateChanged:
		return fmt.Sprintf("state %s -> %s (%s)", cmp.Or(e.Detail, "none"), e.RawState, e.Category)
	case wire.EventGuidanceRejected:
		return fmt.Sprintf("guidance from %s not followed: %s", e.Reason, e.Detail)
	default:
		return peopleSentence(e)
	}
}

// cutHeldBack takes what a detail says of a request that was held back out of it, and puts it in words.
func cutHeldBack(detail string) (rest, words string) {
	at := strings.LastIndex(detail, heldBackWord)
	if at < 0 {
		return detail, ""
	}
	var waited, times int
	var cause string
	if _, err := fmt.Sscanf(detail[at:], heldBackWord+"%d %d %s", &waited, &times, &cause); err != nil {
		return detail, ""
	}
	often := "once"
	if times > 1 {
		often = strconv.Itoa(times) + " times"
	}
	return strings.TrimSuffix(detail[:at], "; "), fmt.Sprintf(", held back %d s (%s) by %s", waited, often, cause)
}

func answerSentence(e wire.Entry) string {
	detail, held := cutHeldBack(e.Detail)
	e.Detail = detail
	return answerText(e) + held
}

func answerText(e wire.Entry) string {
	if e.Event == wire.EventRequestLost {
		return "no answer: " + cmp.Or(e.Detail, wire.TransportLost)
	}
	text := fmt.Sprintf("received %d, %s", e.HTTPStatus, e.Reason)
	if e.Reason == string(wire.AnswerRead) {
		text = "polled, state " + cmp.Or(e.RawState, "(empty)")
	}
	if seconds, ok := strings.CutPrefix(e.Detail, "retry_after "); ok {
		text += ", Retry-After " + seconds
	} else if e.Detail != "" {
		text += ", " + e.Detail
	}
	return text
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
		detail, held := cutHeldBack(e.Detail)
		return "asked the provider to cancel: " + detail + held
	case wire.EventNotified:
		return NoticeText(wire.NotificationKind(e.Reason), e.Detail)
	case wire.EventClosed:
		return "closed " + reasonText(wire.Reason(e.Reason), e.Detail)
	case wire.EventNudged:
		return nudgedSentence(e)
	case wire.EventExtensionRequested:
		return requestedSentence(e)
	case wire.EventSubmitted:
		if e.Detail == attachedWord {
			return "goes on with job " + e.Reason + ", which a person found"
		}
		return strings.TrimSuffix("the provider has job "+e.Reason+"; "+e.Detail, "; ")
	case wire.EventAwaitStarted:
		return "job " + e.Reason + " is waited for by a workflow of its own"
	case wire.EventAwaitEnded:
		return "the wait ended: " + strings.TrimPrefix(joinWords(e.Reason, e.Detail), "; ")
	case wire.EventProposalLapsed:
		return fmt.Sprintf("proposal %s lapsed: %s", e.Detail, e.Reason)
	default:
		return strings.ReplaceAll(string(e.Event), "_", " ")
	}
}

// requestedSentence tells of a request that opened a proposal, whose id is the detail, or of one that was refused.
func requestedSentence(e wire.Entry) string {
	request, err := wire.DecodeExtensionRequest(e.Decision)
	from := ""
	if err == nil && !blank(request.RequestedBy) {
		from = " by " + request.RequestedBy
	}
	if e.Reason != "" {
		return fmt.Sprintf("extension request%s refused: %s", from, reasonText(wire.Reason(e.Reason), e.Detail))
	}
	return fmt.Sprintf("extension requested%s: %s (proposal %s)", from, askedFor(request), e.Detail)
}

func nudgedSentence(e wire.Entry) string {
	switch wire.NudgeEffect(e.Reason) {
	case wire.NudgeFollowed:
		return "nudged by " + e.Detail
	case wire.NudgeInFlight:
		return "nudged by " + e.Detail + " while a request is under way: the next one follows as soon as it may"
	case wire.NudgeNotSooner:
		return "nudged by " + e.Detail + ": the next poll cannot be sooner"
	case wire.NudgeLastRequest:
		return "nudged by " + e.Detail + ": the last request keeps its time"
	case wire.NudgeEscalated:
		return "nudged by " + e.Detail + ": nothing is sent while a question is open"
	case wire.NudgeUnparsable:
		return "nudge not followed: " + e.Detail
	default:
		return "nudged by " + e.Detail + ": " + e.Reason
	}
}

// by names who decided, as the payload has it; without a signature that counts it is a name and no more.
func by(e wire.Entry) string {
	decision, err := wire.DecodeDecision(e.Decision)
	if err != nil || decision.DecidedBy == "" {
		return ""
	}
	if e.Reason == string(wire.RefusalNotSigned) {
		return " in the name of " + decision.DecidedBy
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
