package web

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jobwait/jobwait/internal/inboxcmd/access"
	"github.com/jobwait/jobwait/internal/inboxcmd/timeline"
	"github.com/jobwait/jobwait/internal/waits"
	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// waitPage is what the template of a wait is drawn from.
type waitPage struct {
	Frame                  frame
	Name                   string
	WorkflowID, RunID      string
	Provider, Account, Job string
	Submission             bool // whose Job is its id
	State, Tone            string
	Notice                 *notice
	Questions              []question
	Unasked                string
	Facts                  []fact
	Timeline               *timeline.Drawing
	Decisions              []decisionView
	Days                   []storyDay
	Missing                []waits.Gap
	BrokenAt               int
	Entries                int
	Earlier                string
	Refresh                string
}

type fact struct {
	Name, Text string
	At         *time.Time
	Link       string // within the inbox
}

// notice tells what became of an answer.
type notice struct {
	Tone, Title, Text, Word string
	// Winner is the answer that was applied to the same question.
	Winner *decisionView
	Field  string
}

// decisionView is a decision that was applied.
type decisionView struct {
	By, Comment string
	Kind        wire.DecisionKind
	At          time.Time
	// Effect is what holds since.
	Effect string
}

type storyDay struct {
	Date  string
	Lines []storyLine
}

type storyLine struct{ Clock, Text string }

// waitPage puts a page together.
func (s *Server) waitPage(who access.Person, found seen, said reply, now time.Time) waitPage {
	p := waitPage{
		Frame: s.frame(who, ""), Name: nameOf(found), WorkflowID: found.ref.id, RunID: found.runID(),
		Provider: found.ref.provider, Account: found.ref.account, Job: found.ref.job,
		Submission: found.submission(),
		Missing:    found.story.Missing, BrokenAt: found.story.BrokenAt, Entries: len(found.story.Entries),
	}
	p.Frame.Title = p.Name
	p.State, p.Tone = stateOf(found)
	if found.open() {
		p.Frame.Live, p.Frame.Version = "/live"+waitPath(found.ref.id), found.version()
	}
	if found.unasked != nil {
		p.Unasked = unaskedText(found)
	}
	for _, day := range waits.Days(found.story.Entries) {
		p.Days = append(p.Days, dayOf(day))
	}
	if found.story.Earlier {
		p.Earlier = waitPath(found.ref.id) + "?story=all&run=" + url.QueryEscape(found.runID())
	}
	p.Decisions = decisionsOf(found.story.Entries)
	p.Facts = facts(found)
	p.Timeline = drawing(found, now)
	p.Notice = noticeOf(found, said)
	p.Refresh = waitPath(found.ref.id)
	p.Questions = s.questions(who, found, said, now)
	return p
}

func nameOf(found seen) string {
	switch {
	case found.view != nil && found.view.Spec.OperationID != "":
		return found.view.Spec.OperationID
	case found.outcome != nil && found.outcome.OperationID != "":
		return found.outcome.OperationID
	default: // of a submission, this is its id
		return found.ref.job
	}
}

// stateOf is how the wait stands in a few words, and how they look.
func stateOf(found seen) (state, tone string) {
	switch {
	case found.outcome != nil && found.outcome.Status == wire.StatusSucceeded:
		return string(found.outcome.Status), "good"
	case found.outcome != nil:
		return string(found.outcome.Status), "bad"
	case !found.open():
		return "over without an outcome", "bad"
	case found.view == nil:
		return "open", "quiet"
	case found.view.Escalation != nil:
		return phaseText(wire.PhaseEscalated), "ask"
	default:
		return phaseText(found.view.Phase), "quiet"
	}
}

func unaskedText(found seen) string {
	text := fmt.Sprintf("No worker answers for this wait (%v). What is shown comes from the server alone.", found.unasked)
	if found.open() {
		text += fmt.Sprintf(" Answers need a worker: is one running on task queue %q?", found.info.TaskQueueName)
	}
	return text
}

func dayOf(entries []wire.Entry) storyDay {
	day := storyDay{Date: waits.Day(entries[0])}
	for _, line := range operation.StoryOf(entries) {
		clock, text, _ := strings.Cut(line, " ")
		day.Lines = append(day.Lines, storyLine{clock, text})
	}
	return day
}

func decisionsOf(entries []wire.Entry) []decisionView {
	var out []decisionView
	for _, entry := range entries {
		if entry.Event != wire.EventDecisionApplied {
			continue
		}
		if _, view, ok := applied(entry); ok {
			out = append(out, view)
		}
	}
	return out
}

// applied reads the decision of an entry.
func applied(entry wire.Entry) (wire.Decision, decisionView, bool) {
	decision, err := wire.DecodeDecision(entry.Decision)
	if err != nil {
		return wire.Decision{}, decisionView{}, false
	}
	view := decisionView{By: decision.DecidedBy, Comment: decision.Comment, Kind: decision.Kind, At: entry.At}
	if entry.DeadlineAt != nil {
		view.Effect = fmt.Sprintf("now up to %d requests until %s", entry.MaxStatusRequests, stamp(*entry.DeadlineAt))
	}
	return decision, view, true
}

// noticeOf says what became of an answer. That one was applied is believed of the audit alone.
func noticeOf(found seen, said reply) *notice {
	own, other := answered(found.story.Entries, said)
	switch {
	case own != nil && said.title == "":
		return &notice{Tone: "good", Title: "The answer was applied", Winner: own}
	case said.title == "":
		return nil
	}
	n := &notice{Tone: said.tone, Title: said.title, Text: said.text, Word: said.word, Field: said.field, Winner: own}
	if n.Winner == nil {
		n.Winner = other
	}
	return n
}

// answered are the decision that a reply speaks of, and the last other one about the same question.
func answered(entries []wire.Entry, said reply) (own, other *decisionView) {
	for _, entry := range entries {
		if entry.Event != wire.EventDecisionApplied {
			continue
		}
		decision, view, ok := applied(entry)
		switch {
		case ok && said.applied != "" && decision.DecisionID == said.applied:
			own = &view
		case ok && said.escalation != "" && decision.EscalationID == said.escalation:
			other = &view
		}
	}
	return own, other
}

// facts are what holds for the wait now, or how it ended.
func facts(found seen) []fact {
	var f factList
	if o := found.outcome; o != nil {
		f.outcome(*o)
	}
	if found.endless != nil {
		f.add("no outcome", "%v", found.endless)
	}
	if v := found.view; v != nil {
		f.view(*v, found)
		f.people(*v, found)
	}
	if found.submission() {
		f.job(found)
		f.succession(found)
	}
	f.add("started", "%s", stamp(found.info.WorkflowStartTime))
	return f
}

type factList []fact

func (f *factList) add(name, format string, args ...any) {
	if text := fmt.Sprintf(format, args...); text != "" {
		*f = append(*f, fact{Name: name, Text: text})
	}
}

func (f *factList) at(name string, at time.Time) {
	*f = append(*f, fact{Name: name, Text: stamp(at), At: &at})
}

// job is what a submission has come to, with the way to the wait for it where a worker tells of one.
func (f *factList) job(found seen) {
	job := fact{Name: "job", Text: "none known"}
	if o := found.outcome; o != nil && o.ProviderJobID != "" {
		job.Text = o.ProviderJobID
	}
	if v := found.view; v != nil && v.Submission != nil && v.Submission.ProviderJobID != "" {
		job.Text = v.Submission.ProviderJobID
		if wait := v.Submission.WaitWorkflowID; wait != "" {
			job.Link = waitPath(wait)
		}
	}
	*f = append(*f, job)
}

// succession is what a submission was submitted in place of, and how it is submitted again where it may be.
func (f *factList) succession(found seen) {
	var submission wire.SubmissionView
	if v := found.view; v != nil && v.Submission != nil {
		submission = *v.Submission
	}
	if replaced := submission.Predecessor; replaced != nil {
		id := wire.SubmitWorkflowID(found.ref.provider, found.ref.account, replaced.SubmissionID)
		*f = append(*f, fact{Name: "in place of", Text: operation.ReplacedText(*replaced), Link: waitPath(id)})
	}
	if o := found.outcome; o != nil && operation.CheckReplaceable(wire.SubmitOutcome{Status: o.Status, Owner: submission.Owner}) == nil {
		f.add("submit again", "%s", operation.AgainText(found.ref.id))
	}
}

func (f *factList) view(v wire.OperationView, found seen) {
	open := found.open()
	if last := v.LastObservation; open && last != nil && last.Job != nil {
		f.add("last state", "%q, read as %s", last.Job.RawState, last.Job.Category)
	}
	f.add("requests", "%d of %d used%s", v.Counters.StatusRequestsUsed, v.Limits.MaxStatusRequests, waits.AnswersText(v.Answers))
	f.add("failures", "%d of %d", v.Counters.TransportFailuresUsed, v.Limits.MaxTransportFailures)
	f.add("rate limited", "%d of %d", v.Counters.RateLimitedUsed, v.Limits.MaxRateLimited)
	f.add("extensions", "%d of %d", v.Counters.ExtensionsUsed, v.Limits.MaxExtensions)
	switch {
	case found.heldBack != "":
		f.add("next request", "%s", found.heldBack)
	case v.NextPollAt != nil && open:
		f.at("next request", *v.NextPollAt)
		(*f)[len(*f)-1].Text += ", " + string(v.DelaySource)
	}
	if !open {
		f.add("deadline", "%s", stamp(v.Limits.DeadlineAt))
		return
	}
	f.at("deadline", v.Limits.DeadlineAt)
	if v.Limits.BusinessDeadlineAt != nil {
		f.at("no use after", *v.Limits.BusinessDeadlineAt)
	}
}

// people is whether they could be told, and what their answers need.
func (f *factList) people(v wire.OperationView, found seen) {
	f.add("messages", "%s", waits.NoticeText(v.Notice, found.telling))
	if v.Approval != wire.ApprovalNone {
		f.add("approval", "%s", strings.ReplaceAll(string(v.Approval), "_", " "))
	}
	if v.Signing != nil {
		f.add("answers", "signed, by one of the keys %s", strings.Join(v.Signing.KeyIDs, ", "))
	}
}

func (f *factList) outcome(o wire.Outcome) {
	if o.Reason != "" {
		f.add("reason", "%s (%s)", reasonText(o.Reason), strings.TrimSuffix(string(o.Reason)+": "+o.Detail, ": "))
	}
	if o.Undecided {
		f.add("decided by", "nobody: the question lapsed")
	}
	f.add("decided by", "%s", o.DecidedBy)
	f.add("last state", "%s", o.RawState)
	for _, name := range slices.Sorted(maps.Keys(o.Result)) {
		f.add("result: "+name, "%s", withoutQuery(o.Result[name]))
	}
	if o.Partial {
		f.add("partial", "not the whole of what was asked for")
	}
	f.add("provider says", "%s", strings.TrimSpace(o.ProviderError.Code+" "+o.ProviderError.Message))
	f.add("notes", "%s", strings.Join(o.Notes, ", "))
	f.at("closed", o.ClosedAt)
	f.add("waited", "%s", operation.Span(o.ClosedAt.Sub(o.OpenedAt)))
	f.add("audit", "%d entries, head %s", o.AuditEntries, o.AuditHead)
}

// withoutQuery shows where a result is without what a signed link is made of. The whole reference stands in the outcome.
func withoutQuery(reference string) string {
	link, err := url.Parse(reference)
	if err != nil || link.Host == "" {
		return reference
	}
	if link.RawQuery != "" || link.User != nil {
		return link.Scheme + "://" + link.Host + link.EscapedPath() + " (without its query; the outcome has the whole)"
	}
	return reference
}

func drawing(found seen, now time.Time) *timeline.Drawing {
	in := timeline.Input{Entries: found.story.Entries, Now: now, Open: found.open()}
	if v := found.view; v != nil {
		in.DeadlineAt = v.Limits.DeadlineAt
		in.BusinessDeadlineAt = orZero(v.Limits.BusinessDeadlineAt)
		in.NextPollAt = orZero(v.NextPollAt)
		if v.Escalation != nil {
			in.WindowEndsAt = v.Escalation.WindowEndsAt
		}
	}
	return timeline.Draw(in)
}

func orZero(at *time.Time) time.Time {
	if at == nil {
		return time.Time{}
	}
	return *at
}
