package sheet

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// categories in the order in which a job goes through them.
var categories = []wire.Category{
	wire.CategoryPending, wire.CategoryCancelling, wire.CategoryNeedsInput, wire.CategorySuccess, wire.CategoryPartial,
	wire.CategoryFailure, wire.CategoryCancelled, wire.CategoryExpired,
}

func (d describer) states() Subject {
	s := Subject{Name: "states"}
	if d.State != "" {
		s.say("from %s", code(d.State))
	}
	if d.CaseInsensitive != nil {
		s.say("%s", cited("compared without regard to case", d.CaseInsensitive.Source))
	}
	for _, category := range categories {
		s.add(string(category), "%s", words(d.States[string(category)]))
	}
	if d.State == "" {
		return s
	}
	s.add("any other word", "%s", d.unlisted())
	if d.AbsentState != nil {
		s.add("no state", "%s", cited(d.AbsentState.ReadAs, d.AbsentState.Source))
	}
	return s
}

func (d describer) unlisted() string {
	switch stance := d.UnknownStates; {
	case stance == nil:
		return "stops the wait and asks a person"
	case stance.ReadAs == "pending":
		return cited("pending", stance.Source)
	default:
		return cited("over, and nobody knows how: stops the wait and asks a person", stance.Source)
	}
}

func (d describer) rules() Subject {
	s := Subject{Name: "rules"}
	if len(d.Rules) > 0 {
		s.say("looked at before the states; the first that holds wins")
	}
	for _, rule := range d.Rules {
		name := code(rule.Name)
		if name == "" {
			name = "its own word"
		}
		s.add(name, "%s, when %s", rule.ReadAs, code(rule.When))
	}
	return s
}

func (d describer) codes() Subject {
	s := Subject{Name: "codes"}
	for _, written := range slices.Sorted(maps.Keys(d.HTTPCodes)) {
		s.add(code(written), "%s", codeText(d.HTTPCodes[written]))
	}
	return s
}

func codeText(meaning statetables.CodeDoc) string {
	text := meaning.ReadAs
	if text == "body" {
		text = "its body is read as that of a 200"
	}
	if meaning.Name != "" {
		text += ", shown as " + word(meaning.Name)
	}
	switch meaning.Body {
	case "ignored":
		text += ", whatever the body"
	case "optional":
		text += ", which may be empty"
	}
	if meaning.OnlyIf != "" {
		text += ", if " + code(meaning.OnlyIf)
	}
	return cited(text, meaning.Source)
}

func (d describer) notFound() Subject {
	s := Subject{Name: "not found"}
	if written := d.NotFound; written != nil {
		if grace := written.Grace; grace != nil {
			s.say("%s", cited(graceText(*grace), grace.Source))
		}
		if retention := written.Retention; retention != nil {
			s.say("%s", cited("later than "+span(retention.AfterSeconds)+" after submission: expired", retention.Source))
		}
		if written.AfterCancel != nil {
			s.say("%s", cited("after our own cancel: cancelled", written.AfterCancel.Source))
		}
	}
	if len(s.Says) == 0 {
		s.say("404 and 410: there is no such job; stops the wait and asks a person")
		return s
	}
	s.say("any other 404 or 410: there is no such job; stops the wait and asks a person")
	return s
}

// tooOften is which answers say, beside 429, that the provider was asked too often.
func (d describer) tooOften() Subject {
	s := Subject{Name: "asked too often"}
	if written := d.RateLimited; written != nil {
		s.say("429, and when %s", cited(code(written.When), written.Source))
	}
	return s
}

func graceText(grace statetables.GraceDoc) string {
	text := fmt.Sprintf("in the first %s after submission", span(grace.Seconds))
	if grace.Count > 0 {
		text += ", at most " + count(grace.Count, "time", "times")
	}
	return text + ", until the first good answer: pending"
}

func (d describer) success() Subject {
	s := Subject{Name: "success"}
	if reason, ok := d.SuccessRequires["none"]; ok {
		s.say("requires nothing more: %s", reason)
		return s
	}
	s.say("requires all of these; otherwise it is a contradiction, and a person is asked")
	s.addAll("", d.SuccessRequires)
	return s
}

func (d describer) result() Subject {
	s := Subject{Name: "result"}
	for _, name := range slices.Sorted(maps.Keys(d.Result)) {
		if reference := d.Result[name]; reference.URL != "" {
			s.add(code(name), "%s, derived from the job", code(reference.URL))
		} else {
			s.add(code(name), "%s", code(reference.Read)+renewedText(reference.Renewable))
		}
	}
	return s
}

func renewedText(renewable *statetables.CitationDoc) string {
	if renewable == nil {
		return ""
	}
	return cited("; when it has run out, the status has a fresh one", renewable.Source)
}

func (d describer) alsoRead() Subject {
	s := Subject{Name: "also read"}
	s.add("job id", "%s", code(d.JobID))
	s.add("error code", "%s", code(d.Error.Code))
	s.add("error message", "%s", code(d.Error.Message))
	s.add("progress", "%s", code(d.Progress))
	s.add("updated at", "%s", momentText(d.UpdatedAt))
	s.add("expires at", "%s", momentText(d.ExpiresAt))
	s.add("request id", "%s", code(d.RequestID))
	return s
}

func momentText(at *statetables.TimeDoc) string {
	if at == nil {
		return ""
	}
	text := code(at.Read) + ", " + unitWords[at.Format]
	if at.Zone != "" {
		text += ", in " + at.Zone
	}
	return text
}

// unitWords are the formats of times and the units of hints.
var unitWords = map[string]string{
	"s": "seconds", "ms": "milliseconds", "unix_s": "Unix seconds", "unix_ms": "Unix milliseconds",
	"unix_s_string": "Unix seconds in a text", "rfc3339": "RFC 3339", "rfc2822": "RFC 2822", "http_date": "a date of HTTP",
}

func (d describer) hints() Subject {
	s := Subject{Name: "hints"}
	if len(d.Hints) == 0 {
		s.say("none but %s", code("Retry-After"))
		return s
	}
	s.say("besides %s", code("Retry-After"))
	for _, hint := range d.Hints {
		text := unitWords[hint.Unit]
		if hint.AtMost != nil {
			text += ", at most " + span(*hint.AtMost)
		}
		s.add(code(hint.Read), "%s", text)
	}
	return s
}

// Features are words for what tells tables apart.
func Features(doc statetables.Document) []string {
	var found []string
	add := func(name string, has bool) {
		if has && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	for _, way := range doc.Request.Auth {
		add(authFeature(way.Scheme), true)
	}
	add("cancel", doc.Cancel != nil)
	add("partial", slices.Contains(reached(doc), wire.CategoryPartial))
	add("needs-input", slices.Contains(reached(doc), wire.CategoryNeedsInput))
	add("hints", len(doc.Hints) > 0)
	add("status-url", strings.HasPrefix(doc.Request.URL, handedOut))
	add("submit", doc.Submit != nil && doc.Submit.Request != nil)
	add("params", len(doc.Params) > 0)
	return found
}

// AllFeatures are the words that Features may give.
func AllFeatures() []string {
	return []string{"bearer", "basic", "header", "query", "no-auth", "cancel", "partial", "needs-input", "hints", "status-url", "submit", "params"}
}

func authFeature(scheme string) string {
	if scheme == "none" {
		return "no-auth"
	}
	return scheme
}

// reached are the categories that a table reads anything as.
func reached(doc statetables.Document) []wire.Category {
	found := map[wire.Category]bool{}
	for category, states := range doc.States {
		found[wire.Category(category)] = len(states) > 0
	}
	for _, rule := range doc.Rules {
		found[wire.Category(rule.ReadAs)] = true
	}
	for _, meaning := range doc.HTTPCodes {
		found[wire.Category(meaning.ReadAs)] = true
	}
	if doc.AbsentState != nil {
		found[wire.Category(doc.AbsentState.ReadAs)] = true
	}
	return slices.DeleteFunc(slices.Clone(categories), func(category wire.Category) bool { return !found[category] })
}
