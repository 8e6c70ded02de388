package startercmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/jobwait/jobwait/internal/plain"
	"github.com/jobwait/jobwait/internal/waits"
	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// mostDaysTyped is more than anybody may grant, and keeps the seconds of it in range.
const mostDaysTyped = 10_000

func (a *app) decideCommand() *cobra.Command {
	flags := &decisionFlags{}
	command := &cobra.Command{
		Use:   "decide",
		Short: "answer a question at the terminal, step by step",
		Long: `Decide shows what a wait asks and what may be answered, asks for your answer with its numbers and its reason, says what it
costs, and sends it once you have said yes. An empty line takes what stands in [brackets]. Ctrl-C, Ctrl-D or "q" leave
without a decision, with exit code 130.

It needs a terminal. Programs answer with the command of an option's name, such as extend or close.`,
		RunE: func(command *cobra.Command, _ []string) error { return a.converse(command.Context(), flags) },
	}
	flags.id.define(command)
	a.identityFlags(command, flags)
	return command
}

// converse is the dialogue with whoever sits at the terminal.
func (a *app) converse(ctx context.Context, flags *decisionFlags) error {
	if !isTerminal(a.in) {
		return hinted(usagef("decide asks questions, and standard input is no terminal"),
			"answer with a command, for instance: %s extend ID --comment WHY --requests 4; `%s show ID` shows what may be answered", a.name, a.name)
	}
	if err := flags.useKey(); err != nil {
		return err
	}
	if flags.decision.DecidedBy == "" {
		return usagef("--by is missing and $USER is empty; say who decides")
	}
	prompt := prompter{out: a.err, lines: readLines(a.in)}
	return a.withWait(ctx, &flags.id, func(ctx context.Context, s *server, workflowID string) error {
		d := &dialogue{app: a, prompter: prompt, server: s, workflowID: workflowID, flags: flags}
		return a.left(d.run(ctx))
	})
}

// errLeft says that somebody chose to decide nothing.
var errLeft = errors.New("left without a decision")

// left tells that nothing was decided, where that is so.
func (a *app) left(err error) error {
	if errors.Is(err, errLeft) || errors.Is(err, errNoInput) || errors.Is(err, context.Canceled) {
		a.say("nothing was decided")
		return outcomeError{exitDetached}
	}
	return err
}

// dialogue is one question and its answer.
type dialogue struct {
	prompter

	app        *app
	server     *server
	workflowID string
	flags      *decisionFlags

	view  wire.OperationView
	open  wire.EscalationView
	runID string
}

// run asks until an answer is applied, or cannot be any more. A refusal that another answer may avoid asks again.
func (d *dialogue) run(ctx context.Context) error {
	if err := d.look(ctx); err != nil {
		return err
	}
	d.app.message(withoutOptions(d.open))
	watching, stop := context.WithCancel(ctx)
	defer stop()
	d.moot = d.watch(watching)
	for {
		decision, err := d.ask(ctx)
		if errors.Is(err, errMoot) {
			return d.overtaken(ctx)
		}
		if err != nil {
			return err
		}
		if err := d.stillOpen(ctx); err != nil {
			return err
		}
		again, err := d.send(ctx, decision)
		if !again {
			return err
		}
		d.printf("  %v\n\n", err)
	}
}

// withoutOptions is the message of a question whose options are numbered below it. That of a worker that does not tell its parts
// is given whole.
func withoutOptions(open wire.EscalationView) string {
	if len(open.Lines) == 0 {
		return open.Message
	}
	text := []string{open.Headline}
	for _, line := range open.Lines {
		text = append(text, line.Name+": "+line.Text)
	}
	return strings.Join(append(text, open.Ask), "\n")
}

// look asks the wait for its open question.
func (d *dialogue) look(ctx context.Context) error {
	info, err := d.server.Latest(ctx, d.workflowID)
	if err != nil {
		return err
	}
	if !waits.Open(info) {
		return d.app.ended(d.workflowID)
	}
	d.runID = info.WorkflowExecution.RunID
	if d.view, err = ask[wire.OperationView](ctx, d.server, d.workflowID, "", wire.QueryOperation); err != nil {
		return d.app.unanswered(err, d.workflowID)
	}
	open := question(d.view)
	switch named := d.flags.id.escalation(); {
	case open == nil:
		return hinted(notOpen("nothing waits for an answer in this wait"), "`%s show %s` shows how it stands", d.app.name, d.workflowID)
	case named != "" && named != open.ID:
		return hinted(notOpen(fmt.Sprintf("%q is not open any more; %q is", named, open.ID)), "`%s decide %s` answers that one", d.app.name, d.workflowID)
	case d.view.Signing != nil && d.flags.key == nil:
		return hinted(errors.New("decisions of this wait must be signed"), "sign with --sign-with FILE, by one of the keys %s", strings.Join(d.view.Signing.KeyIDs, ", "))
	}
	d.open = *open
	return nil
}

// ask goes through the questions up to a yes.
func (d *dialogue) ask(ctx context.Context) (wire.Decision, error) {
	option, err := d.chooseOption(ctx)
	if err != nil {
		return wire.Decision{}, err
	}
	decision := wire.Decision{
		Kind: option.Kind, DecisionID: newID(), EscalationID: d.open.ID, DecidedBy: d.flags.decision.DecidedBy,
	}
	for _, step := range []func(context.Context, wire.Option, *wire.Decision) error{d.askWhich, d.askGrant, d.askComment} {
		if err := step(ctx, option, &decision); err != nil {
			return wire.Decision{}, err
		}
	}
	return decision, d.confirm(ctx, option, decision)
}

func (d *dialogue) chooseOption(ctx context.Context) (wire.Option, error) {
	for i, option := range d.open.Options {
		text := fmt.Sprintf("  %d  %s: %s", i+1, option.Kind, option.Text)
		d.printf("%s\n", wrap(text, width(d.app.err)))
	}
	var taken wire.Option
	left := false
	err := d.until(ctx, "which, by number or word (q leaves)?", func(line string) string {
		if left = line == "q"; left {
			return ""
		}
		option, ok := chosen(d.open.Options, line)
		if !ok {
			return notAmong(line, d.open.Options)
		}
		taken = option
		return ""
	})
	if left {
		err = errLeft
	}
	return taken, err
}

// askWhich asks for the name that some kinds need.
func (d *dialogue) askWhich(ctx context.Context, option wire.Option, decision *wire.Decision) error {
	switch option.Kind { //nolint:exhaustive // the kinds that need a name
	case wire.DecisionTreatAsPending:
		if seen := d.view.LastObservation; seen != nil && seen.Job != nil {
			decision.RawState = seen.Job.RawState
		}
		d.printf("  the state is %q\n", decision.RawState)
	case wire.DecisionUseCredential:
		return d.text(ctx, "name of the credential (as the worker knows it)", wire.MaxIDChars, &decision.CredentialRef)
	case wire.DecisionAttach:
		if err := d.text(ctx, "id of the job that you found at the provider", wire.MaxIDChars, &decision.ProviderJobID); err != nil {
			return err
		}
		if err := d.askStatusURL(ctx, decision); err != nil {
			return err
		}
		return d.askParams(ctx, decision)
	}
	return nil
}

// askParams asks for what else the state table reads from the answer to a submission; an empty line is nothing.
func (d *dialogue) askParams(ctx context.Context, decision *wire.Decision) error {
	return d.until(ctx, "params that the table reads from the answer, as name=value with spaces between, empty where it reads none?", func(line string) string {
		decision.Params = nil
		if err := addParams(&decision.Params, strings.Fields(line)); err != nil {
			return err.Error()
		}
		return ""
	})
}

// askStatusURL asks for the URL that some providers hand out; an empty line is none.
func (d *dialogue) askStatusURL(ctx context.Context, decision *wire.Decision) error {
	return d.until(ctx, "URL of its status, empty where the provider hands none out?", func(line string) string {
		decision.StatusURL = line
		return ""
	})
}

// text asks for something that must not be empty and has no more characters than that.
func (d *dialogue) text(ctx context.Context, what string, most int, into *string) error {
	return d.until(ctx, what+"?", func(line string) string {
		switch n := utf8.RuneCountInString(line); {
		case line == "":
			return "it is needed"
		case n > most:
			return fmt.Sprintf("it has %d characters, at most %d are allowed", n, most)
		}
		*into = line
		return ""
	})
}

func (d *dialogue) askComment(ctx context.Context, _ wire.Option, decision *wire.Decision) error {
	return d.text(ctx, "why (it stands in the audit)", wire.MaxCommentChars, &decision.Comment)
}

// askGrant asks for the numbers of an option that has some. What stands in brackets would be accepted now.
func (d *dialogue) askGrant(ctx context.Context, option wire.Option, decision *wire.Decision) error {
	if option.MaxSeconds == 0 && option.MaxStatusRequests == 0 {
		return nil
	}
	standard := waits.SuggestGrant(d.view, d.open, option, time.Now())
	if err := d.span(ctx, standard.Seconds, option.MaxSeconds, &decision.Seconds); err != nil {
		return err
	}
	used, limits := d.view.Counters, d.view.Limits
	for _, budget := range []struct {
		what           string
		standard, most int
		shown          bool
		into           *int
	}{
		{"checks", standard.StatusRequests, option.MaxStatusRequests, true, &decision.StatusRequests},
		{
			"failures (5xx, no answer)", standard.TransportFailures, option.MaxTransportFailures,
			used.TransportFailuresUsed >= limits.MaxTransportFailures, &decision.TransportFailures,
		},
		{"rate limits (429)", standard.RateLimited, option.MaxRateLimited, used.RateLimitedUsed >= limits.MaxRateLimited, &decision.RateLimited},
	} {
		if !budget.shown || budget.most == 0 {
			continue
		}
		n, err := d.number(ctx, fmt.Sprintf("how many more %s, 0 to %d", budget.what, budget.most), budget.standard, budget.most)
		if err != nil {
			return err
		}
		*budget.into = n
	}
	return d.askBusiness(ctx, standard, decision)
}

// span asks for a time, in words such as 15m or in seconds.
func (d *dialogue) span(ctx context.Context, standard, most int, into *int) error {
	longest := time.Duration(most) * time.Second
	what := fmt.Sprintf("for how long from now, 0 to %s? [%s]", operation.Span(longest), spanFlag(standard))
	return d.until(ctx, what, func(line string) string {
		seconds, ok := spanTyped(cmp.Or(line, spanFlag(standard)))
		if !ok || seconds < 0 || seconds > most {
			return fmt.Sprintf("%q is not a time from 0 to %s, such as 15m, 1h30m or 900", line, operation.Span(longest))
		}
		*into = seconds
		return ""
	})
}

// spanTyped reads 15m, 1h30m, 7 days or 7d, and 900 for seconds.
func spanTyped(text string) (int, bool) {
	if seconds, err := strconv.Atoi(text); err == nil {
		return seconds, true
	}
	for _, unit := range []string{"days", "day", "d"} {
		if number, ok := strings.CutSuffix(text, unit); ok {
			days, err := strconv.Atoi(strings.TrimSpace(number))
			return days * 24 * 3600, err == nil && days >= 0 && days <= mostDaysTyped
		}
	}
	length, err := time.ParseDuration(text)
	if err != nil || length%time.Second != 0 {
		return 0, false
	}
	return int(length / time.Second), true
}

func (d *dialogue) askBusiness(ctx context.Context, standard wire.Decision, decision *wire.Decision) error {
	business := d.view.Limits.BusinessDeadlineAt
	if business == nil || d.open.Kind == wire.EscalationProposal {
		return nil
	}
	var err error
	decision.PastBusinessDeadline, err = d.yes(ctx, fmt.Sprintf("is the result of use after %s, too", stamp(*business)), standard.PastBusinessDeadline)
	return err
}

// yes asks for a yes or no.
func (d *dialogue) yes(ctx context.Context, what string, standard bool) (bool, error) {
	choice := "y/N"
	if standard {
		choice = "Y/n"
	}
	taken := standard
	err := d.until(ctx, what+"? ["+choice+"]", func(line string) string {
		switch strings.ToLower(line) {
		case "":
		case "y", "yes":
			taken = true
		case "n", "no":
			taken = false
		default:
			return fmt.Sprintf("%q is neither y nor n", line)
		}
		return ""
	})
	return taken, err
}

// confirm says what the answer costs, and wants a yes.
func (d *dialogue) confirm(ctx context.Context, option wire.Option, decision wire.Decision) error {
	d.printf("\n  %s by %s\n", decision.Kind, decision.DecidedBy)
	for _, line := range d.costs(option, decision) {
		d.printf("%s\n", wrap("    "+line, width(d.app.err)))
	}
	apply, err := d.yes(ctx, "apply it", false)
	if err == nil && !apply {
		err = errLeft
	}
	return err
}

// costs are what an answer gives away, line by line.
func (d *dialogue) costs(option wire.Option, decision wire.Decision) []string {
	lines := []string{option.Text}
	if option.MaxSeconds > 0 || option.MaxStatusRequests > 0 {
		lines = d.grantCosts(option, decision)
	}
	for _, typed := range [][2]string{
		{"job", decision.ProviderJobID}, {"URL of its status", decision.StatusURL}, {"credential", decision.CredentialRef},
	} {
		if typed[1] != "" {
			lines = append(lines, fmt.Sprintf("%s: %q", typed[0], typed[1]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(decision.Params)) {
		lines = append(lines, fmt.Sprintf("param %s: %q", name, decision.Params[name]))
	}
	return append(lines, "comment: "+decision.Comment)
}

func (d *dialogue) grantCosts(option wire.Option, decision wire.Decision) []string {
	limits, used := d.view.Limits, d.view.Counters
	deadline := time.Now().Add(time.Duration(decision.Seconds) * time.Second)
	when := "the deadline stays at " + stamp(limits.DeadlineAt)
	if deadline.After(limits.DeadlineAt) {
		when = fmt.Sprintf("the deadline moves from %s to about %s", stamp(limits.DeadlineAt), stamp(deadline))
	}
	lines := []string{
		when,
		fmt.Sprintf("%d more checks: %d in all, %d of them used", decision.StatusRequests, limits.MaxStatusRequests+decision.StatusRequests, used.StatusRequestsUsed),
	}
	for what, n := range map[string]int{"failures": decision.TransportFailures, "rate limits": decision.RateLimited} {
		if n > 0 {
			lines = append(lines, fmt.Sprintf("%d more %s", n, what))
		}
	}
	if decision.RawState != "" {
		lines = append(lines, fmt.Sprintf("the state %q means to go on, in this wait alone", decision.RawState))
	}
	if decision.PastBusinessDeadline {
		lines = append(lines, "the business deadline holds no more")
	}
	if counts := option.Kind != wire.DecisionUseCredential || decision.Seconds+decision.StatusRequests+decision.TransportFailures+decision.RateLimited > 0; counts {
		lines = append(lines, fmt.Sprintf("counts as extension %d of %d", used.ExtensionsUsed+1, limits.MaxExtensions))
	}
	return lines
}

// watch tells when the question is not open any more, so that nobody thinks about one that somebody else has answered. Where
// it cannot tell, stillOpen finds out.
func (d *dialogue) watch(ctx context.Context) <-chan struct{} {
	moot := make(chan struct{})
	following := &follower{server: d.server, workflowID: d.workflowID, runID: d.runID, news: func(ctx context.Context, runID string) error {
		view, err := ask[wire.OperationView](ctx, d.server, d.workflowID, runID, wire.QueryOperation)
		if err != nil {
			return nil //nolint:nilerr // the next news may be told
		}
		if open := question(view); open == nil || open.ID != d.open.ID {
			return errMoot
		}
		return nil
	}}
	go func() {
		if _, err := following.follow(ctx); err == nil || errors.Is(err, errMoot) {
			close(moot)
		}
	}()
	return moot
}

// stillOpen finds out before sending whether somebody else has answered while this person was thinking.
func (d *dialogue) stillOpen(ctx context.Context) error {
	view, err := ask[wire.OperationView](ctx, d.server, d.workflowID, "", wire.QueryOperation)
	if err != nil {
		return d.app.unanswered(err, d.workflowID)
	}
	if open := question(view); open == nil || open.ID != d.open.ID {
		return d.overtaken(ctx)
	}
	d.view = view
	return nil
}

// send sends the decision. again says that the question is still open, and that another answer may do.
func (d *dialogue) send(ctx context.Context, decision wire.Decision) (again bool, err error) {
	flags := *d.flags
	flags.decision = decision
	if err := flags.sign(); err != nil {
		return false, err
	}
	reply, err := d.server.Decide(ctx, d.workflowID, flags.decision)
	if err == nil {
		return false, d.app.decided(reply, &flags)
	}
	refusal, refused := waits.Refusal(err)
	switch {
	case waits.Gone(err):
		return false, d.overtaken(ctx)
	case !refused && ctx.Err() != nil:
		return false, unsettledBy(decision.DecisionID, "interrupted while it was sent")
	case !refused:
		return false, d.app.unsettled(err, decision.DecisionID, d.workflowID)
	}
	switch refusal.Reason { //nolint:exhaustive // any other refusal is no answer's fault that this person could mend
	case wire.RefusalOutOfBounds, wire.RefusalNotOffered, wire.RefusalIncomplete:
		return true, &refusal
	case wire.RefusalNotOpen, wire.RefusalWrongEscalation, wire.RefusalLost:
		return false, d.overtaken(ctx)
	default:
		return false, d.app.notDecided(err, &flags, d.workflowID)
	}
}

// overtaken says who answered first, as far as the wait can tell.
func (d *dialogue) overtaken(ctx context.Context) error {
	text := fmt.Sprintf("%q is not open any more", d.open.ID)
	if by := d.answer(ctx); by != "" {
		text = by
	}
	return hinted(notOpen(text), "`%s show %s` shows how it stands", d.app.name, d.workflowID)
}

// answer finds the decision that answered the question in the audit.
func (d *dialogue) answer(ctx context.Context) string {
	audit, err := ask[wire.AuditView](ctx, d.server, d.workflowID, "", wire.QueryAudit)
	if err != nil {
		return ""
	}
	for _, entry := range audit.Entries {
		if entry.Event != wire.EventDecisionApplied {
			continue
		}
		decision, err := wire.DecodeDecision(entry.Decision)
		if err == nil && decision.EscalationID == d.open.ID {
			return fmt.Sprintf("%s was faster: %s at %s, %q", plain.Cell(decision.DecidedBy), decision.Kind, clock(entry.At), decision.Comment)
		}
	}
	return ""
}
