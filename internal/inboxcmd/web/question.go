package web

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobwait/jobwait/internal/inboxcmd/access"
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
)

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
}

// messageLine is a line of the message that people get: "requests: 3 of 8".
type messageLine struct {
	Name, Text string
	// Link is set where the text is an address to look at.
	Link string
}

type optionView struct {
	Kind    wire.DecisionKind
	Title   string
	Text    string
	Chosen  bool
	Danger  bool
	Fields  []fieldView
	Grants  bool
	Limited string // what may be granted at most
}

type fieldView struct {
	Name, Label, Value, Hint string
	// Kind is "number", "time", "text" or "check".
	Kind string
	Most int
	Unit string
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
		OpenedAt: open.OpenedAt, AnswerBy: open.WindowEndsAt, Lines: messageLines(open.Message), Comment: said.draft.comment, Wrong: said.field,
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
		q.Options = append(q.Options, optionOf(option, *found.view, open.Reason, said))
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

// messageLines takes the message of a question apart. The options in it are left out: the form has them.
func messageLines(message string) []messageLine {
	var out []messageLine
	for i, line := range strings.Split(message, "\n") {
		if i == 0 || strings.HasPrefix(line, "answer ") { // the headline stands above, the options follow
			if i > 0 {
				break
			}
			continue
		}
		name, text, ok := strings.Cut(line, ": ")
		if !ok {
			name, text = "", line
		}
		out = append(out, messageLine{Name: name, Text: text, Link: safeLink(text)})
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
func optionOf(option wire.Option, view wire.OperationView, reason wire.Reason, said reply) optionView {
	d := said.draft
	o := optionView{
		Kind: option.Kind, Title: kindText(option.Kind), Text: capital(option.Text), Chosen: d.kind == option.Kind,
		Danger: strings.Contains(option.Text, "DESTROYS"),
	}
	if option.Kind == wire.DecisionUseCredential {
		o.Fields = append(o.Fields, fieldView{
			Name: fieldName(option.Kind, fieldCredential), Kind: "text", Label: "Credential", Value: d.value(option.Kind, fieldCredential, ""),
			Hint: "its name, as the worker knows it; the same name if its version has changed",
		})
	}
	o.Fields = append(o.Fields, grantFields(option, reason, d)...)
	if view.Limits.BusinessDeadlineAt != nil && option.MaxSeconds > 0 {
		value := ""
		if d.value(option.Kind, fieldBusiness, "") == "yes" || d.kind == "" && reason == wire.ReasonBusinessDeadlineExceeded {
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

// grantFields are the fields of what an option may grant, each with what most people would begin with.
func grantFields(option wire.Option, reason wire.Reason, d draft) []fieldView {
	var out []fieldView
	// Another credential needs no grant, and one would count as an extension.
	grants := option.Kind != wire.DecisionUseCredential
	if most := option.MaxSeconds; most > 0 {
		minutes := min(usualIf(grants, 15.0), float64(most)/60)
		out = append(out, fieldView{
			Name: fieldName(option.Kind, fieldSeconds), Kind: "time", Label: "New deadline, from now", Most: most,
			Value: d.value(option.Kind, fieldSeconds, strconv.FormatFloat(minutes, 'g', 4, 64)), UnitName: fieldName(option.Kind, fieldUnit),
			Unit: d.value(option.Kind, fieldUnit, unitMinutes), Hint: "at most " + span(time.Duration(most)*time.Second),
		})
	}
	for _, number := range []struct {
		field, label string
		most, usual  int
	}{
		{fieldRequests, "More status requests", option.MaxStatusRequests, usualIf(grants, 4)},
		{fieldFailures, "More failures (5xx, no answer)", option.MaxTransportFailures, usualIf(reason == wire.ReasonTransportBudgetExhausted, 3)},
		{fieldRateLimited, "More rate limits (429)", option.MaxRateLimited, usualIf(reason == wire.ReasonRateLimited, 3)},
	} {
		if number.most > 0 {
			out = append(out, fieldView{
				Name: fieldName(option.Kind, number.field), Kind: "number", Label: number.label, Most: number.most,
				Value: d.value(option.Kind, number.field, strconv.Itoa(min(number.usual, number.most))), Hint: "at most " + thousands(number.most),
			})
		}
	}
	return out
}

// usualIf is what most people would begin with, where it is needed at all.
func usualIf[N int | float64](needed bool, usual N) N {
	if needed {
		return usual
	}
	return 0
}

func thousands(n int) string { return number(int64(n)) }
