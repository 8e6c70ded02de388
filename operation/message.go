package operation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/jobwait/jobwait/wire"
)

// Message renders a briefing as the text of a message to people: a question to decide, a decision, or the end of a wait. It
// contains no secret, because the briefing has none (R38).
func Message(b wire.Briefing) string {
	text := []string{Headline(b)}
	for _, line := range messageLines(b) {
		text = append(text, line.Name+": "+line.Text)
	}
	if open := asked(b); open != nil {
		text = append(text, askText(b, *open))
		for _, option := range withTexts(b) {
			text = append(text, oneLine(fmt.Sprintf("  %s: %s", option.Kind, option.Text)))
		}
	}
	return strings.Join(text, "\n")
}

// facts are the lines of a message. Each is one line, whoever is quoted.
type facts []wire.MessageLine

func (f *facts) add(name, format string, args ...any) {
	*f = append(*f, wire.MessageLine{Name: name, Text: oneLine(fmt.Sprintf(format, args...))})
}

// messageLines are what a message says between its headline and its options.
func messageLines(b wire.Briefing) []wire.MessageLine {
	var f facts
	if b.Decided != nil {
		f.decided(b)
	}
	f.add("operation", "%s", b.OperationID)
	if b.Submission != nil {
		f.submission(b)
	} else {
		f.add("job", "%s at %s, account %s", b.ProviderJobID, b.Provider, b.Account)
		f.add("last state", "%s", stateText(b.RawState, b.Category))
		f.add("waited", "%s since %s, %s", Span(b.At.Sub(b.OpenedAt)), timestamp(b.OpenedAt), deadlinesText(b.Limits))
		f.add("status requests", "%d of %d (answers: %s)", b.Counters.StatusRequestsUsed, b.Limits.MaxStatusRequests, cmp.Or(AnswersText(b.Answers), "none"))
	}
	f.add("last answer", "%s", lastAnswerText(b))
	if b.ProviderError.Code != "" || b.ProviderError.Message != "" {
		f.add("provider's error", "%s", strings.TrimSpace(b.ProviderError.Code+" "+b.ProviderError.Message))
	}
	if b.ConsoleURL != "" {
		f.add("look at the provider", "%s", b.ConsoleURL)
		f[len(f)-1].Link = true
	}
	if b.Proposal != nil {
		f.add("asked for", "%s", askedFor(b.Proposal.Request))
		f.add("asked by", "%s", b.Proposal.Request.RequestedBy)
		f.add("expected effect", "%s", b.Proposal.Request.ExpectedEffect)
	}
	if open := asked(b); open != nil {
		f.add("check", "%s", whatToCheck(b, *open))
	}
	if replaceable(b) {
		f.add("submit again", "%s", AgainText(wire.SubmitWorkflowID(b.Provider, b.Account, b.OperationID)))
	}
	return f
}

// asked is the question of a briefing, or nil.
func asked(b wire.Briefing) *wire.Escalation {
	switch {
	case b.Escalation != nil:
		return b.Escalation
	case b.Proposal != nil:
		return &b.Proposal.Escalation
	default:
		return nil
	}
}

// askText asks for the answer.
func askText(b wire.Briefing, open wire.Escalation) string {
	silence := "closes undecided"
	if open.Kind == wire.EscalationProposal {
		silence = "lapses, and the deadline holds"
	}
	answer := "answer"
	if b.Signed {
		answer = "answer, signed by a trusted key,"
	}
	return oneLine(fmt.Sprintf("%s %s before %s, else it %s; options:", answer, open.ID, timestamp(open.WindowEndsAt), silence))
}

// Headline returns the first line of Message: the state of the wait, or what was decided. It is always a single line.
func Headline(b wire.Briefing) string { return oneLine(headline(b)) }

func headline(b wire.Briefing) string {
	switch {
	case b.Decided != nil:
		return fmt.Sprintf("decided: %s by %s", b.Decided.Decision.Kind, b.Decided.Decision.DecidedBy)
	case b.Proposal != nil:
		return b.Proposal.Request.RequestedBy + " asks for more; waiting goes on meanwhile"
	case b.Escalation != nil && b.Submission != nil:
		return submissionHeadline(b)
	case b.Escalation != nil:
		return "stopped waiting: " + reasonText(b.Escalation.Reason, b.Escalation.Detail)
	case b.Outcome != nil && b.Outcome.Undecided:
		return fmt.Sprintf("closed %s, nobody decided: %s", b.Outcome.Status, reasonText(b.Outcome.Reason, b.Outcome.Detail))
	case b.Outcome != nil:
		return "closed " + closedText(*b.Outcome)
	default:
		return string(b.Phase)
	}
}

// askedFor is what a proposal wants.
func askedFor(request wire.ExtensionRequest) string {
	var wanted []string
	if request.Seconds > 0 {
		wanted = append(wanted, Span(time.Duration(request.Seconds)*time.Second)+" from the decision on")
	}
	if request.StatusRequests > 0 {
		wanted = append(wanted, fmt.Sprintf("%d more checks", request.StatusRequests))
	}
	return strings.Join(wanted, " and ")
}

func reasonText(reason wire.Reason, detail string) string {
	if detail == "" {
		return string(reason)
	}
	return string(reason) + " (" + detail + ")"
}

// oneLine keeps the words of providers and people within their line: no line breaks, no terminal escapes.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
}

func deadlinesText(limits wire.Limits) string {
	text := "deadline " + timestamp(limits.DeadlineAt)
	if limits.BusinessDeadlineAt != nil {
		text += ", business deadline " + timestamp(*limits.BusinessDeadlineAt)
	}
	return text
}

func stateText(raw string, category wire.Category) string {
	if category == "" {
		return "none seen yet"
	}
	return fmt.Sprintf("%q, read as %s", raw, category)
}

func lastAnswerText(b wire.Briefing) string {
	if b.LastAnswer == "" {
		return "none yet"
	}
	text := string(b.LastAnswer)
	if b.LastHTTPStatus != 0 {
		text = fmt.Sprintf("HTTP %d, %s", b.LastHTTPStatus, b.LastAnswer)
	}
	if b.LastAnswerAt != nil {
		text += " at " + timestamp(*b.LastAnswerAt)
	}
	return text
}

// AnswersText lists how often each kind of answer came, as in "200 x3, 503 x1"; empty if there was none.
func AnswersText(answers map[string]int) string {
	var parts []string
	kinds := slices.Sorted(maps.Keys(answers)) //workflowcheck:ignore
	for _, kind := range kinds {
		parts = append(parts, fmt.Sprintf("%s x%d", kind, answers[kind]))
	}
	return strings.Join(parts, ", ")
}

// Span formats a duration for people, as all texts of jobwait do: "42s", "17m05s", "3h05m", and from two days on
// "7 days" or "4 days 4h".
func Span(d time.Duration) string {
	const day = 24 * time.Hour
	switch d = d.Round(time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 2*day:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	case d%day < time.Hour:
		return fmt.Sprintf("%d days", d/day)
	default:
		return fmt.Sprintf("%d days %dh", d/day, d%day/time.Hour)
	}
}

// whatToCheck says what a person should look at before answering this reason.
func whatToCheck(b wire.Briefing, open wire.Escalation) string {
	if b.Submission != nil {
		if check := submissionCheck(b, open); check != "" {
			return check
		}
	}
	switch open.Reason {
	case wire.ReasonExtensionRequested:
		return "is the job still making progress at the provider, and is its result worth the time and the checks asked for?"
	case wire.ReasonDeadlineExceeded:
		return "is the job still making progress at the provider, and is its result still wanted?"
	case wire.ReasonBusinessDeadlineExceeded:
		return "is the result still of use after the business deadline?"
	case wire.ReasonRetryAfterExceedsDeadline:
		return "the provider asks not to be asked before " + open.Detail + "; is there an incident, may the job wait that long?"
	case wire.ReasonRequestBudgetExhausted:
		return "is the job slower than usual, or is the schedule too eager for it?"
	case wire.ReasonTransportBudgetExhausted:
		return "is the provider or the network down? See its status page and the worker's egress."
	case wire.ReasonRateLimited:
		return "who else uses this account's quota? More polling makes it worse."
	case wire.ReasonUnknownState:
		return "what does this state mean in the provider's documentation? The state table may need it."
	case wire.ReasonNeedsInput:
		return "the job waits for input at the provider; give it there first."
	case wire.ReasonContradictoryResponse:
		return "compare the provider's console with this answer; do not use a result that is not proven."
	case wire.ReasonMalformedResponse:
		return "was there a sign-in page, a proxy or a new version of the API in between?"
	case wire.ReasonAuthorizationDenied:
		return fmt.Sprintf("credential %q: access to this account, rotation, scope, expiry.", b.CredentialRef)
	case wire.ReasonJobNotFound:
		return "right account and region? Was the job deleted or past its retention?"
	case wire.ReasonIntegrationFailure:
		return "the status call itself is refused; is the state table right for this API?"
	case wire.ReasonPartialResult:
		return "which part is missing, and is the rest of use?"
	case wire.ReasonCancelUnconfirmed:
		return "is the job still running and billing at the provider?"
	case wire.ReasonHistoryReset:
		return "who reset this workflow? Its counters may be older than what the provider saw."
	case wire.ReasonApprovalRequired:
		return fmt.Sprintf("may credential %q be used for this job now? Its entry asks for a person's word.", b.CredentialRef)
	case wire.ReasonPollURLRejected, wire.ReasonProviderFailure, wire.ReasonProviderCancelled, wire.ReasonProviderExpired,
		wire.ReasonWaitCancelled, wire.ReasonSubmissionAmbiguous, wire.ReasonSubmissionRefused:
		return "see the provider's console."
	default:
		return "see the provider's console."
	}
}

// withTexts are the frozen options of a briefing's escalation or proposal, each with its cost and effect in words and whether
// that may destroy something.
func withTexts(b wire.Briefing) []wire.Option {
	open := asked(b)
	if open == nil {
		return nil
	}
	options := slices.Clone(open.Options)
	for i := range options {
		options[i].Text = optionText(b, options[i])
		options[i].Destructive = options[i].Kind == wire.DecisionCancel && b.Cancel != nil && b.Cancel.Destructive
	}
	return options
}

func optionText(b wire.Briefing, option wire.Option) string {
	if b.Submission != nil {
		if text := submissionOption(b, option); text != "" {
			return text
		}
	}
	switch option.Kind {
	case wire.DecisionExtend:
		return "extend waiting by " + grantText(option) + "; counts as an extension"
	case wire.DecisionTreatAsPending:
		return fmt.Sprintf("go on waiting in state %q, for this operation only, by %s; counts as an extension", b.RawState, grantText(option))
	case wire.DecisionUseCredential:
		return credentialText(option)
	case wire.DecisionCancel:
		return cancelText(b.Cancel)
	case wire.DecisionAcceptResult:
		return "end as succeeded with whatever result there is; nothing more is asked"
	case wire.DecisionApproveRequest:
		return approvalText(b)
	case wire.DecisionClose:
		return fmt.Sprintf("stop waiting; ends %s, the job itself is left alone", closeStatus(b.Escalation.Reason))
	case wire.DecisionRefuse:
		return "decline; polling goes on under the present limits"
	case wire.DecisionAttach, wire.DecisionResubmit: // submissionOption's
		return string(option.Kind)
	default:
		return string(option.Kind)
	}
}

func grantText(option wire.Option) string {
	text := fmt.Sprintf("up to %s with up to %d more checks", Span(time.Duration(option.MaxSeconds)*time.Second), option.MaxStatusRequests)
	return text + fmt.Sprintf(" (and up to %d more failures, %d more rate limits)", option.MaxTransportFailures, option.MaxRateLimited)
}

func credentialText(option wire.Option) string {
	text := "go on with another credential, or with a new version of the same one"
	if option.MaxSeconds == 0 {
		return text + "; grants no time and no checks"
	}
	return text + ", if needed with " + grantText(option)
}

// approvalText names what is approved: one request by its number, or all that are left.
func approvalText(b wire.Briefing) string {
	next, most := b.Counters.StatusRequestsUsed+1, b.Limits.MaxStatusRequests
	if b.Escalation.Detail == string(wire.ApprovalPerOperation) {
		return fmt.Sprintf("send the status requests of this wait, from number %d of %d on, with credential %q, and do not ask again", next, most, b.CredentialRef)
	}
	return fmt.Sprintf("send status request %d of %d with credential %q, this one only; the next one asks again", next, most, b.CredentialRef)
}

func cancelText(facts *wire.CancelFacts) string {
	if facts == nil {
		return "ask the provider once to cancel the job"
	}
	text := fmt.Sprintf("ask the provider once to cancel the job, then look for confirmation with up to %d checks in %s",
		facts.ConfirmRequests, Span(time.Duration(facts.ConfirmSeconds)*time.Second))
	if facts.Destructive {
		return text + "; if the job is over by then, DESTROYS its result or its verdict at the provider"
	}
	return text
}
