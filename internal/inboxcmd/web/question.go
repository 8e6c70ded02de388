package web

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobwait/jobwait/internal/inboxcmd/access"
	"github.com/jobwait/jobwait/internal/waits"
	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// The fields of an option in the form.
const (
	fieldSeconds     = "time"
	fieldUnit        = "unit"
	fieldRequests    = "requests"
	fieldFailures    = "failures"
	fieldRateLimited = "rate_limited"
	fieldBusiness    = "past_business_deadline"
	fieldCredential  = "credential"
	fieldJob         = "job"
	fieldStatusURL   = "status_url"
	fieldParams      = "params"
)

// longest is how many characters a field takes: as many as the wait does.
func longest(field string) int {
	if field == fieldStatusURL || field == fieldParams {
		return operation.MaxURLBytes
	}
	return wire.MaxIDChars
}

const unitMinutes = "minutes"

var units = map[string]time.Duration{unitMinutes: time.Minute, "hours": time.Hour, "days": 24 * time.Hour}

// question is an open escalation or proposal, with the form that answers it.
type question struct {
	ID string
	// Anchor is its id within the page.
	Anchor    string
	Proposal  bool
	Headline  string
	Reason    wire.Reason
	Detail    string
	OpenedAt  time.Time
	AnswerBy  time.Time
	Lines     []messageLine
	About     string // the sealed slip
	Options   []optionView
	Forbidden []wire.DecisionKind
	Comment   string
	Wrong     string // the field that was wrong
	// Unsigned says that answers have to be signed here, and that this inbox signs none.
	Unsigned bool
}

// messageLine is a line of the message that people get: "requests: 3 of 8".
type messageLine struct {
	Name, Text string
	// Link is set where the text is an address to look at.
	Link string
}

type optionView struct {
	Kind   wire.DecisionKind
	Title  string
	Text   string
	Chosen bool
	Danger bool
	Fields []fieldView
}

type fieldView struct {
	Name, Label, Value, Hint string
	// Kind is "number", "time", "text" or "check".
	Kind string
	// Longest is how many characters a text may have.
	Longest int
	Most    int
	Unit    string
	// UnitName is the name of the unit's field.
	UnitName string
	Wrong    bool
}

// questions are what is open to the person: a stop comes before a proposal.
func (s *Server) questions(who access.Person, found seen, said reply, now time.Time) []question {
	if found.view == nil || !found.open() {
		return nil
	}
	var out []question
	for _, open := range []*wire.EscalationView{found.view.Escalation, found.view.Proposal} {
		if open != nil && !slices.ContainsFunc(out, func(q question) bool { return q.ID == open.ID }) {
			q := s.question(who, found, *open, said, now)
			q.Anchor = "question-" + string(open.Kind)
			out = append(out, q)
		}
	}
	return out
}

func (s *Server) question(who access.Person, found seen, open wire.EscalationView, said reply, now time.Time) question {
	q := question{
		ID: open.ID, Proposal: open.Kind == wire.EscalationProposal, Reason: open.Reason, Detail: open.Detail, Headline: reasonText(open.Reason),
		OpenedAt: open.OpenedAt, AnswerBy: open.WindowEndsAt, Lines: messageLines(open), Comment: said.draft.comment, Wrong: said.field,
	}
	q.Unsigned = found.view.Signing != nil && s.options.Sign == nil
	if open.Request != nil {
		q.Headline = open.Request.RequestedBy + " asks for more"
	}
	raw := rawState(*found.view)
	if q.About = said.sealed; q.About == "" {
		q.About = s.newSlip(who, found.ref, open.ID, raw, now)
	}
	for _, option := range open.Options {
		if !s.options.Policy.MayAnswer(who, found.ref.provider, found.ref.account, option.Kind) {
			q.Forbidden = append(q.Forbidden, option.Kind)
			continue
		}
		q.Options = append(q.Options, optionOf(option, *found.view, open, said, now))
	}
	return q
}

// rawState is the state that stopped the wait.
func rawState(view wire.OperationView) string {
	if view.LastObservation == nil || view.LastObservation.Job == nil {
		return ""
	}
	return view.LastObservation.Job.RawState
}

// messageLines are the facts of a question. Those of a worker that does not tell them one by one are its message as it is.
func messageLines(open wire.EscalationView) []messageLine {
	var out []messageLine
	for _, line := range open.Lines {
		view := messageLine{Name: line.Name, Text: line.Text}
		if line.Link {
			view.Link = safeLink(line.Text)
		}
		out = append(out, view)
	}
	if len(open.Lines) == 0 {
		for line := range strings.Lines(open.Message) {
			out = append(out, messageLine{Text: line})
		}
	}
	return out
}

// safeLink is a text that is an address of the web as a whole, and leads nowhere else.
func safeLink(text string) string {
	link, err := url.Parse(text)
	if err != nil || link.Host == "" || link.User != nil || link.Scheme != "https" && link.Scheme != "http" {
		return ""
	}
	return text
}

// optionOf is an option with a field for each thing that it may grant.
func optionOf(option wire.Option, view wire.OperationView, open wire.EscalationView, said reply, now time.Time) optionView {
	d, usual := said.draft, waits.SuggestGrant(view, open, option, now)
	o := optionView{
		Kind: option.Kind, Title: kindText(option.Kind), Text: capital(option.Text), Chosen: d.kind == option.Kind,
		Danger: option.Destructive || option.Kind == wire.DecisionResubmit,
	}
	if option.Kind == wire.DecisionUseCredential {
		o.Fields = append(o.Fields, fieldView{
			Name: fieldName(option.Kind, fieldCredential), Kind: "text", Longest: longest(fieldCredential), Label: "Credential", Value: d.value(option.Kind, fieldCredential, ""),
			Hint: "its name, as the worker knows it; the same name if its version has changed",
		})
	}
	if option.Kind == wire.DecisionAttach {
		o.Fields = append(o.Fields, jobFields(d)...)
	}
	o.Fields = append(o.Fields, grantFields(option, usual, d)...)
	if view.Limits.BusinessDeadlineAt != nil && option.MaxSeconds > 0 {
		value := ""
		if d.value(option.Kind, fieldBusiness, "") == "yes" || d.kind == "" && usual.PastBusinessDeadline {
			value = "yes"
		}
		o.Fields = append(o.Fields, fieldView{
			Name: fieldName(option.Kind, fieldBusiness), Kind: "check", Label: "The result is of use after the business deadline, too", Value: value,
		})
	}
	for i := range o.Fields {
		o.Fields[i].Wrong = said.field == o.Fields[i].Name
	}
	return o
}

// jobFields name the job that a person found at the provider.
func jobFields(d draft) []fieldView {
	kind := wire.DecisionAttach
	return []fieldView{
		{
			Name: fieldName(kind, fieldJob), Kind: "text", Longest: longest(fieldJob), Label: "Job", Value: d.value(kind, fieldJob, ""),
			Hint: "its id at the provider",
		},
		{
			Name: fieldName(kind, fieldStatusURL), Kind: "text", Longest: longest(fieldStatusURL), Label: "Status URL", Value: d.value(kind, fieldStatusURL, ""),
			Hint: "where the provider hands one out; else empty",
		},
		{
			Name: fieldName(kind, fieldParams), Kind: "text", Longest: longest(fieldParams), Label: "Params", Value: d.value(kind, fieldParams, ""),
			Hint: "what else the table reads from the answer, as name=value with spaces between; else empty",
		},
	}
}

// grantFields are the fields of what an option may grant, each with what to begin with.
func grantFields(option wire.Option, usual wire.Decision, d draft) []fieldView {
	var out []fieldView
	if most := option.MaxSeconds; most > 0 {
		minutes := float64(usual.Seconds) / 60
		out = append(out, fieldView{
			Name: fieldName(option.Kind, fieldSeconds), Kind: "time", Label: "New deadline, from now", Most: most,
			Value: d.value(option.Kind, fieldSeconds, strconv.FormatFloat(minutes, 'f', -1, 64)), UnitName: fieldName(option.Kind, fieldUnit),
			Unit: d.value(option.Kind, fieldUnit, unitMinutes), Hint: "at most " + operation.Span(time.Duration(most)*time.Second),
		})
	}
	for _, number := range []struct {
		field, label string
		most, usual  int
	}{
		{fieldRequests, "More status requests", option.MaxStatusRequests, usual.StatusRequests},
		{fieldFailures, "More failures (5xx, no answer)", option.MaxTransportFailures, usual.TransportFailures},
		{fieldRateLimited, "More rate limits (429)", option.MaxRateLimited, usual.RateLimited},
	} {
		if number.most > 0 {
			out = append(out, fieldView{
				Name: fieldName(option.Kind, number.field), Kind: "number", Label: number.label, Most: number.most,
				Value: d.value(option.Kind, number.field, strconv.Itoa(number.usual)), Hint: "at most " + thousands(number.most),
			})
		}
	}
	return out
}

func thousands(n int) string { return number(int64(n)) }
