package web

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jobwait/jobwait/internal/inboxcmd/timeline"
	"github.com/jobwait/jobwait/wire"
)

// Words are for people; beside them stands the word that programs and the documentation use.

var reasonWords = map[wire.Reason]string{
	wire.ReasonDeadlineExceeded:          "The deadline has passed",
	wire.ReasonBusinessDeadlineExceeded:  "The business deadline has passed",
	wire.ReasonRetryAfterExceedsDeadline: "The provider wants to be asked only after the deadline",
	wire.ReasonRequestBudgetExhausted:    "All status requests are used up",
	wire.ReasonTransportBudgetExhausted:  "Too many requests went without an answer",
	wire.ReasonRateLimited:               "The provider limits the rate too often",
	wire.ReasonUnknownState:              "The job is in a state that nobody listed",
	wire.ReasonNeedsInput:                "The job waits for input at the provider",
	wire.ReasonContradictoryResponse:     "The provider contradicts itself",
	wire.ReasonMalformedResponse:         "The answer cannot be read",
	wire.ReasonAuthorizationDenied:       "The provider refuses the credential",
	wire.ReasonJobNotFound:               "The provider does not know the job",
	wire.ReasonIntegrationFailure:        "The status request itself is refused",
	wire.ReasonPollURLRejected:           "The status address is not allowed",
	wire.ReasonPartialResult:             "The job succeeded in part",
	wire.ReasonProviderFailure:           "The provider says that the job failed",
	wire.ReasonProviderCancelled:         "The provider says that the job was cancelled",
	wire.ReasonProviderExpired:           "The provider gave the job up",
	wire.ReasonCancelUnconfirmed:         "The cancellation is not confirmed",
	wire.ReasonHistoryReset:              "Somebody reset this wait",
	wire.ReasonApprovalRequired:          "The credential may be used only with a person's approval",
	wire.ReasonSubmissionAmbiguous:       "It was submitted, and nobody knows whether there is a job",
	wire.ReasonSubmissionRefused:         "The provider took no job",
	wire.ReasonWaitCancelled:             "The waiting was stopped",
	wire.ReasonExtensionRequested:        "More is asked for",
}

// reasonText is a reason in words; one of a later version in its own.
func reasonText(reason wire.Reason) string {
	return cmp.Or(reasonWords[reason], sentenceOf(string(reason)))
}

var kindWords = map[wire.DecisionKind]string{
	wire.DecisionExtend:         "Extend the wait",
	wire.DecisionTreatAsPending: "Go on waiting in this state",
	wire.DecisionUseCredential:  "Use another credential",
	wire.DecisionCancel:         "Cancel the job at the provider",
	wire.DecisionAcceptResult:   "Accept the result",
	wire.DecisionClose:          "Stop waiting",
	wire.DecisionRefuse:         "Refuse",
	wire.DecisionApproveRequest: "Approve the request",
	wire.DecisionAttach:         "Wait for the job that is there",
	wire.DecisionResubmit:       "Submit once more",
}

func kindText(kind wire.DecisionKind) string {
	return cmp.Or(kindWords[kind], sentenceOf(string(kind)))
}

var refusalWords = map[wire.RefusalReason]string{
	wire.RefusalUnparsable:      "The answer could not be read.",
	wire.RefusalIncomplete:      "Something is missing in the answer.",
	wire.RefusalNotSigned:       "The worker wants answers that are signed by a key it trusts.",
	wire.RefusalDuplicate:       "This answer was applied before; sending it again changed nothing.",
	wire.RefusalConflict:        "An answer with the same id but other content was applied before.",
	wire.RefusalNotOpen:         "The question is not open any more.",
	wire.RefusalWrongEscalation: "Another question is open by now.",
	wire.RefusalNotOffered:      "This answer is not among the options.",
	wire.RefusalOutOfBounds:     "A number is out of its bounds.",
	wire.RefusalLost:            "Somebody else's answer came first.",
}

func refusalText(reason wire.RefusalReason) string {
	return cmp.Or(refusalWords[reason], sentenceOf(string(reason))+".")
}

var phaseWords = map[wire.Phase]string{
	"":                   "being prepared",
	wire.PhasePolling:    "asking the provider",
	wire.PhaseEscalated:  "waiting for a decision",
	wire.PhaseCancelling: "waiting for the cancellation",
	wire.PhaseClosed:     "closed",
	wire.PhaseSubmitting: "submitting",
	wire.PhaseAwaiting:   "waiting for the submitted job",
}

func phaseText(phase wire.Phase) string {
	return cmp.Or(phaseWords[phase], strings.ReplaceAll(string(phase), "_", " "))
}

// kindsOfMark and signs are the legend of a timeline.
var kindsOfMark = map[timeline.Kind]string{
	timeline.KindPending: "not over yet",
	timeline.KindSuccess: "success",
	timeline.KindEnded:   "another end, or a state that stops",
	timeline.KindLimited: "429, rate limited",
	timeline.KindFailure: "5xx or no answer",
	timeline.KindRefused: "refused, not found or unreadable",
	timeline.KindUnsent:  "not sent",
}

var signs = map[wire.Event]string{
	wire.EventEscalated:          "asked people",
	wire.EventDecisionApplied:    "decided",
	wire.EventClosed:             "closed",
	wire.EventCancelSent:         "asked the provider to cancel",
	wire.EventExtensionRequested: "more was asked for",
	wire.EventNudged:             "nudged",
	wire.EventProposalLapsed:     "the request lapsed",
}

// sentenceOf makes a word of the wire readable: "approve_request" becomes "Approve request".
func sentenceOf(word string) string { return capital(strings.ReplaceAll(word, "_", " ")) }

// capital begins a text with a capital letter.
func capital(text string) string {
	if text == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}
