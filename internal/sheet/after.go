package sheet

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/jobwait/jobwait/statetables"
)

func (d describer) cancel() Subject {
	s := Subject{Name: "cancel"}
	call := d.Cancel
	if call == nil {
		s.say("not documented, so never offered")
		return s
	}
	s.say("%s", cited(call.Method+" "+code(call.URL), call.Source))
	s.addAll("query ", call.Query)
	s.addAll("header ", call.Headers)
	s.add("body", "%s", code(inline(call.Body)))
	s.add("taken", "%s", takenText(*call))
	s.add("only in", "%s", words(call.States))
	s.add("only when", "%s", code(call.AllowedWhen))
	s.add("to confirm", "%s in %s", count(call.Confirm.Requests, "more request", "more requests"), span(call.Confirm.Seconds))
	s.add("destructive", "%s", destructiveText(call.Destructive))
	return s
}

// inline is a piece of a table in one line.
func inline(node *yaml.Node) string {
	if node == nil {
		return ""
	}
	flow := *node
	flow.Style = yaml.FlowStyle
	text, err := yaml.Marshal(&flow)
	if err != nil {
		return "" // cannot be: it was read
	}
	return strings.Join(strings.Fields(string(text)), " ")
}

func takenText(call statetables.CancelDoc) string {
	text := "with"
	for i, expected := range call.Expect {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf(" %d", expected)
	}
	if call.AcceptedWhen != "" {
		text += ", when " + code(call.AcceptedWhen)
	}
	if call.Asynchronous == nil || *call.Asynchronous {
		return text + "; the job may still end otherwise, so the status decides"
	}
	return text + "; it is done at once, and the wait ends cancelled"
}

func destructiveText(destructive bool) string {
	if destructive {
		return "YES: on a job that is over the same call destroys its result or its verdict"
	}
	return "no"
}

func (d describer) retention() Subject {
	s := Subject{Name: "retention"}
	kept := d.Retention
	if kept == nil {
		s.say("not documented")
		return s
	}
	s.say("%s", cited(retentionText(*kept)+note(kept.Note), kept.Source))
	return s
}

func retentionText(kept statetables.KeepDoc) string {
	switch kept.CountsFrom {
	case "submission":
		return span(kept.Seconds) + " from the submission"
	case "unknown":
		return span(kept.Seconds) + ", from when is not said"
	default:
		return span(kept.Seconds) + " from the end of the job"
	}
}

func note(text string) string {
	if text == "" {
		return ""
	}
	return "; " + text
}

func (d describer) submission() Subject {
	s := Subject{Name: "submission"}
	sent := d.Submit
	if sent == nil {
		return s
	}
	s.say("%s", cited(submissionText(*sent)+note(sent.Note), sent.Source))
	if sent.Valid != nil {
		s.add("its key is known for", "%s", cited(span(sent.Valid.Seconds), sent.Valid.Source))
	}
	if sent.Request != nil && sent.Answer != nil {
		submitRows(&s, *sent.Request, *sent.Answer)
	}
	return s
}

// submitRows are how jobwait submits, and what it makes of the answer.
func submitRows(s *Subject, request statetables.SubmitRequestDoc, answer statetables.SubmitAnswerDoc) {
	s.add("submitted by", "%s", cited(request.Method+" "+code(request.URL), request.Source))
	s.addAll("query ", request.Query)
	s.addAll("header ", request.Headers)
	s.add("body sent as", "%s", request.SendAs)
	s.add("job made", "%s", cited("with "+unless(answer.Accepted, "any 2xx"), answer.Source))
	s.add("done at once", "%s", codesText(answer.Done))
	s.add("refused", "%s", unless(answer.Refused, "with the codes by which HTTP says so"))
	s.add("later again", "%s", unless(answer.Later, "with 429"))
	s.add("made before", "%s", codesText(answer.Exists))
	s.add("its id", "%s", code(answer.JobID))
	s.add("its status URL", "%s", code(answer.StatusURL))
	s.addAll("param ", answer.Params)
}

// unless are the codes that a table writes, or what holds where it writes none.
func unless(codes []int, usual string) string {
	if codes == nil {
		return usual
	}
	return codesText(codes)
}

func codesText(codes []int) string {
	texts := make([]string, 0, len(codes))
	for _, one := range codes {
		texts = append(texts, strconv.Itoa(one))
	}
	return strings.Join(texts, ", ")
}

func submissionText(sent statetables.SubmitDoc) string {
	text := "nobody documents whether it can be repeated"
	switch sent.Idempotency {
	case "none":
		text = "not repeatable: nothing keeps a second one from making a second job"
	case "header":
		text = "repeatable with the header " + code(sent.Name)
	case "body":
		text = "repeatable with " + code(sent.Name) + " in the body"
	case "query":
		text = "repeatable with " + code(sent.Name) + " in the query"
	case "client_id":
		text = "repeatable: the submitter chooses the job's id"
		if sent.Name != "" {
			text += ", " + code(sent.Name)
		}
	}
	if sent.MaxLength > 0 {
		text += fmt.Sprintf(", at most %d characters", sent.MaxLength)
	}
	return text
}
