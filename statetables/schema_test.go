package statetables

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/textproto"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/jobwait/jobwait/wire"
)

// The schema is made of three things: the types of a document, the rules below that a schema can hold, and the texts of
// docs/state-tables.md. tools/schema holds it against the shipped tables and the wrong ones.
func TestSchemaIsCurrent(t *testing.T) {
	t.Parallel()
	maker := &schemaMaker{rules: schemaRules(), texts: referenceTexts(documentation(t))}
	want := maker.document()
	require.Empty(t, maker.rules, "rules for places that the format does not have")
	require.Empty(t, maker.texts, "docs/state-tables.md explains keys that the format does not have")
	if *update {
		require.NoError(t, os.WriteFile("schema.json", want, 0o600))
		return // what is embedded is the one before
	}
	if string(want) != Schema() { // a difference of both would be thousands of lines
		require.Fail(t, "schema.json is not current; run go generate ./statetables")
	}
}

// members are those of a JSON object, in their order.
type members []member

type member struct {
	name  string
	value any
}

func (m members) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	out.WriteByte('{')
	for i, member := range m {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := encoder.Encode(member.name); err != nil {
			return nil, err
		}
		out.WriteByte(':')
		if err := encoder.Encode(member.value); err != nil {
			return nil, err
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// schemaMaker makes the schema of a document. Places are written like request.auth[].scheme and params.*.pattern. Rules and
// texts are taken out as they are used, so that none can be left behind unnoticed.
type schemaMaker struct {
	rules map[string]members
	texts map[string]string
}

func (m *schemaMaker) document() []byte {
	whole := append(members{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"$id", "https://github.com/jobwait/jobwait/statetables/schema.json"},
		{"title", "jobwait state table"},
	}, m.of("", reflect.TypeFor[Document]())...)
	whole = append(whole, member{"$defs", members{{"word", members{
		{"description", "a text; 404 and true are read as the words they are"}, {"type", []string{"string", "number", "boolean"}},
	}}}})
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(whole); err != nil {
		panic(err) // what it holds is made here
	}
	return out.Bytes()
}

// of is the schema of one place: its text, its type, and the rules that hold there.
func (m *schemaMaker) of(place string, kind reflect.Type) members {
	var made members
	if text, ok := m.texts[place]; ok {
		made = append(made, member{"description", text})
		delete(m.texts, place)
	}
	rules := m.rules[place]
	delete(m.rules, place)
	if kind == reflect.TypeFor[*yaml.Node]() {
		return append(made, rules...) // anything
	}
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	return append(append(made, m.kindOf(place, kind, rules)...), rules...)
}

// word is any single value.
var word = members{{"$ref", "#/$defs/word"}}

func (m *schemaMaker) kindOf(place string, kind reflect.Type, rules members) members {
	switch {
	case kind == reflect.TypeFor[AuthDocs](): // a list, or the mapping of its only element
		one := m.of(place+"[]", kind.Elem())
		return members{{"oneOf", []any{one, members{{"type", "array"}, {"minItems", 1}, {"items", one}}}}}
	case kind == reflect.TypeFor[RefDoc](): // an expression, or a mapping
		return members{{"oneOf", []any{word, m.object(place, kind)}}}
	case kind.Kind() == reflect.Struct:
		return m.object(place, kind)
	case kind.Kind() == reflect.Slice:
		return members{{"type", "array"}, {"items", m.of(place+"[]", kind.Elem())}}
	case kind.Kind() == reflect.Map && place == "states": // its keys are known
		return m.byCategory(place, kind)
	case kind.Kind() == reflect.Map:
		return members{{"type", "object"}, {"additionalProperties", m.of(place+".*", kind.Elem())}}
	case kind.Kind() == reflect.Int:
		return members{{"type", "integer"}}
	case kind.Kind() == reflect.Bool:
		return members{{"type", "boolean"}}
	case slices.ContainsFunc(rules, func(rule member) bool { return slices.Contains([]string{"pattern", "enum"}, rule.name) }):
		return members{{"type", "string"}}
	default:
		return word
	}
}

func (m *schemaMaker) object(place string, kind reflect.Type) members {
	var properties members
	for i := range kind.NumField() {
		key := kind.Field(i).Tag.Get("yaml")
		properties = append(properties, member{key, m.of(join(place, key), kind.Field(i).Type)})
	}
	return members{{"type", "object"}, {"additionalProperties", false}, {"properties", properties}}
}

func (m *schemaMaker) byCategory(place string, kind reflect.Type) members {
	var properties members
	list := m.of(place+".*", kind.Elem())
	for _, category := range categories {
		properties = append(properties, member{string(category), list})
	}
	return members{{"type", "object"}, {"additionalProperties", false}, {"properties", properties}}
}

func required(keys ...string) member        { return member{"required", keys} }
func oneWordOf[T any](words ...T) members   { return members{{"enum", words}} }
func written(shape fmt.Stringer) members    { return members{{"pattern", shape.String()}} }
func keysWritten(shape fmt.Stringer) member { return member{"propertyNames", written(shape)} }
func within(least, most int) members        { return members{{"minimum", least}, {"maximum", most}} }

var filledIn = members{{"minLength", 1}}

// schemaRules are the checks of the builder that a schema can hold, by place.
func schemaRules() map[string]members {
	const year = 366 * 86_400
	keyed := []string{"header", "body", "query", "client_id"}
	return map[string]members{
		"": {
			required("provider", "title", "sources", "read_only", "request", "success_requires", "example_job", "examples"),
			{"if", members{required("state")}},
			{"else", members{{"anyOf", []members{{required("rules")}, {required("http_codes")}}}, ruleNames}},
		},
		"provider":         {{"pattern", providerShape.String()}, {"maxLength", 64}},
		"title":            filledIn,
		"sources":          {{"minProperties", 1}},
		"sources.*":        {required("at", "read")},
		"sources.*.at":     filledIn,
		"sources.*.read":   written(dayShape),
		"sources.*.for":    {{"minItems", 1}, {"uniqueItems", true}},
		"sources.*.for[]":  placeOfFacts(),
		"read_only":        {{"anyOf", []members{{required("source")}, {required("tried")}}}},
		"read_only.tried":  written(dayShape),
		"params":           {keysWritten(nameShape)},
		"params.*":         {required("pattern")},
		"params.*.pattern": {{"pattern", `^\^.*\$$`}},
		"request": {
			required("url", "auth"),
			{"if", members{{"properties", members{{"url", members{{"pattern", `^\{status_url`}}}}}}},
			{"then", members{required("origins")}},
		},
		"request.origins[]":     {{"pattern", `^(?:https://|http://(?:localhost|127\.|\[::1\])|.*\{params\.)`}},
		"request.method":        oneWordOf("GET"),
		"request.url":           requestedURL,
		"request.headers":       {{"propertyNames", headerNames()}},
		"request.auth[]":        {required("scheme")},
		"request.auth[].scheme": oneWordOf(append([]string{schemeNone}, AuthSchemes()...)...),
		"http_codes":            {{"propertyNames", aboutTheJob}},
		"http_codes.*": {
			required("read_as", "source"),
			{"if", members{{"properties", members{{"read_as", members{{"const", "body"}}}}}}},
			{"then", members{{"properties", members{{"name", false}, {"body", members{{"const", "optional"}}}}}}},
			{"else", members{{"properties", members{{"body", members{{"const", "ignored"}}}}}}},
		},
		"http_codes.*.read_as":              oneWordOf(append(categoryWords(), "body")...),
		"http_codes.*.body":                 oneWordOf("ignored", "optional"),
		"not_found.grace":                   {required("seconds", "source")},
		"not_found.grace.seconds":           within(1, 3600),
		"not_found.grace.count":             within(0, 1000),
		"not_found.retention":               {required("after_seconds", "source")},
		"not_found.retention.after_seconds": within(1, 10*year),
		"not_found.after_cancel":            {required("source")},
		"rate_limited":                      {required("when", "source")},
		"rate_limited.when":                 filledIn,
		"case_insensitive":                  {required("source")},
		"rules[]":                           {required("when", "read_as")},
		"rules[].when":                      filledIn,
		"rules[].read_as":                   oneWordOf(categoryWords()...),
		"unknown_states":                    {required("read_as", "source")},
		"unknown_states.read_as":            oneWordOf("pending", "terminal"),
		"absent_state":                      {required("read_as", "source")},
		"absent_state.read_as":              oneWordOf(categoryWords()...),
		"success_requires": {
			{"minProperties", 1},
			keysWritten(nameShape),
			{"if", members{required(none)}},
			{"then", members{{"maxProperties", 1}}},
		},
		"success_requires.*": filledIn,
		"result":             {keysWritten(nameShape)},
		"result.*": {
			{"if", members{{"type", "object"}}},
			{"then", members{{"oneOf", []members{{required("read"), {"not", members{required("url")}}}, {required("url"), {"maxProperties", 1}}}}}},
		},
		"result.*.renewable":               {required("source")},
		"updated_at":                       {required("read", "format")},
		"updated_at.format":                oneWordOf(formats...),
		"expires_at":                       {required("read", "format")},
		"expires_at.format":                oneWordOf(formats...),
		"hints[]":                          {required("read", "unit")},
		"hints[].unit":                     oneWordOf(units...),
		"hints[].at_most":                  {{"minimum", 1}},
		"cancel":                           {required("method", "url", "expect", "asynchronous", "confirm", "source")},
		"cancel.method":                    oneWordOf(cancelMethods...),
		"cancel.url":                       requestedURL,
		"cancel.headers":                   {{"propertyNames", headerNames()}},
		"cancel.expect":                    {{"minItems", 1}},
		"cancel.expect[]":                  within(200, 399),
		"cancel.confirm":                   {required("requests", "seconds")},
		"cancel.confirm.requests":          within(1, 1000),
		"cancel.confirm.seconds":           within(1, 86_400),
		"schedule.initial_delay_seconds":   within(0, 604_800),
		"schedule.base_delay_seconds":      within(1, 86_400),
		"schedule.max_delay_seconds":       within(1, 86_400),
		"schedule.min_delay_seconds":       within(1, 86_400),
		"schedule.request_timeout_seconds": within(1, 300),
		"schedule.expected":                {required("p50_seconds", "p90_seconds", "source")},
		"schedule.expected.p50_seconds":    within(1, 604_800),
		"schedule.expected.p90_seconds":    within(1, 604_800),
		"schedule.floor":                   {required("seconds", "source")},
		"schedule.floor.seconds":           within(1, 86_400),
		"schedule.cap":                     {required("seconds", "source")},
		"schedule.cap.seconds":             within(1, 86_400),
		"submit": {required("idempotency"), {"allOf", []members{
			{{"if", whereIdempotency(keyed)}, {"then", members{required("name", "source")}}, {"else", noKey}},
			{{"if", whereIdempotency([]string{"none"})}, {"then", members{required("source")}}},
			{{"if", whereIdempotency([]string{"unknown"})}, {"then", members{{"properties", members{{"source", false}}}}}},
			{{"if", whereIdempotency([]string{"client_id"})}, {"else", members{{"properties", members{
				{"answer", members{required("job_id")}},
				{"request", members{{"properties", members{{"url", never(`\{key\}`)}}}}},
			}}}}},
			{{"if", members{required("request")}}, {"then", members{
				required("answer", "examples"), {"properties", members{{"max_length", members{{"not", within(1, leastKeyLength-1)}}}}},
			}}},
			{{"if", members{required("answer")}}, {"then", members{required("request")}}},
		}}},
		"submit.examples":                      {{"minItems", 1}},
		"callback":                             {required("job_id", "signature", "source", "examples")},
		"callback.job_id":                      filledIn,
		"callback.signature":                   signatureRules(),
		"callback.signature.scheme":            oneWordOf(signatureSchemes...),
		"callback.signature.header":            written(headerShape),
		"callback.signature.algorithm":         oneWordOf(signatureAlgorithms...),
		"callback.signature.encoding":          oneWordOf(signatureEncodings...),
		"callback.signature.signed":            oneWordOf(signedParts...),
		"callback.signature.timestamp_header":  written(headerShape),
		"callback.signature.tolerance_seconds": within(1, mostTolerance),
		"callback.examples":                    {{"minItems", 1}},
		"callback.examples[]":                  {required("name", "body")},
		"callback.examples[].name":             filledIn,
		"retention":                            {required("seconds", "counts_from", "source")},
		"retention.seconds":                    within(1, 10*year),
		"retention.counts_from":                oneWordOf("end", "submission", "unknown"),
		"rate_limits[]":                        {required("says", "source")},
		"example_job":                          {required("id")},
		"examples":                             {{"minItems", 1}},
		"examples[]":                           {required("name")},
		"examples[].name":                      filledIn,
		"examples[].given.status":              within(100, 599),
		"submit.idempotency":                   oneWordOf(append(keyed, "none", "unknown")...),
		"submit.name":                          filledIn,
		"submit.max_length":                    within(0, maxKeyLength),
		"submit.valid":                         {required("seconds", "source")},
		"submit.valid.seconds":                 within(1, 10*year),
		"submit.request":                       {required("method", "url", "source")},
		"submit.request.method":                oneWordOf(submitMethods...),
		"submit.request.url":                   submittedURL,
		"submit.request.headers":               {{"propertyNames", headerNames()}},
		"submit.request.send_as":               oneWordOf(sendAsForm),
		"submit.answer":                        {required("source")},
		"submit.answer.accepted":               {{"minItems", 1}},
		"submit.answer.accepted[]":             within(200, 499),
		"submit.answer.done[]":                 within(200, 499),
		"submit.answer.refused[]":              within(400, 599),
		"submit.answer.later[]":                within(400, 599),
		"submit.answer.exists[]":               within(200, 499),
		"submit.answer.read_as":                oneWordOf("status"),
		"submit.examples[]":                    {required("name")},
		"submit.examples[].name":               filledIn,
		"submit.examples[].given.status":       within(100, 599),
		"submit.examples[].want.verdict":       oneWordOf(wire.SubmitAccepted, wire.SubmitRefused, wire.SubmitLater, wire.SubmitAmbiguous),
		"submit.examples[].want.category":      oneWordOf(categoryWords()...),
		"examples[].want.answer": oneWordOf(wire.AnswerRead, wire.AnswerDenied, wire.AnswerNotFound, wire.AnswerRateLimited,
			wire.AnswerServerError, wire.AnswerUnexpected, wire.AnswerMalformed),
		"examples[].want.category": oneWordOf(append(categoryWords(), string(wire.CategoryUnknown))...),
	}
}

// placeOfFacts is what a source may be for: a section, which an editor completes, or a part of one.
func placeOfFacts() members {
	sections := append(slices.Clone(factSections), citedSections...)
	part := `^(?:` + strings.Join(sections, "|") + `)\.[^.]+$`
	return members{{"anyOf", []members{oneWordOf(sections...), {{"pattern", part}}}}}
}

// requestedURL is how the URL of a request is written: http is for loopback only, and the query has a place of its own.
var requestedURL = members{{"pattern", `^(?:https://|http://(?:localhost|127\.[0-9.]+|\[::1\])(?::[0-9]+)?/|\{status_url)[^?#]*$`}}

// submittedURL is requestedURL where no URL was handed out yet, and a param may stand for the port of a loopback address.
var submittedURL = members{{"pattern", `^(?:https://|http://(?:localhost|127\.[0-9.]+|\[::1\])(?::(?:[0-9]+|\{params\.[a-z0-9_]+\}))?/)[^?#]*$`}, {"not", members{{"pattern", `\{(?:job_id|status_url)`}}}}

// never forbids a pattern.
func never(pattern string) members { return members{{"not", members{{"pattern", pattern}}}} }

// aboutTheJob are the codes that may be given a meaning.
var aboutTheJob = members{
	{"pattern", `^(?:[2-5][0-9]{2}|[2-5]xx)$`}, {"not", members{{"enum", []string{"401", "403", "407", "429"}}}},
}

// ruleNames are those of a table that reads no state which could be shown in place of a name.
var ruleNames = member{"properties", members{{"rules", members{{"items", members{required("name")}}}}}}

// headerNames are the names of headers that a table may set, in the ways that people write those it may not.
func headerNames() members {
	var refused []string
	for _, name := range ownHeaders {
		refused = append(refused, name, textproto.CanonicalMIMEHeaderKey(name))
	}
	return members{{"pattern", headerShape.String()}, {"not", oneWordOf(refused...)}}
}

// noKey is a submission of which no key is named.
var noKey = members{{"properties", members{{"name", false}, {"max_length", false}}}}

// signatureRules are what each scheme needs.
func signatureRules() members {
	is := func(scheme string) members {
		return members{{"properties", members{{"scheme", members{{"const", scheme}}}}}}
	}
	timed := members{{"properties", members{{"signed", members{{"const", signedTimestampBody}}}}}, required("signed")}
	return members{required("scheme"), {"allOf", []members{
		{{"if", is(SchemeHMAC)}, {"then", members{required("header", "algorithm", "encoding", "signed")}}},
		{{"if", members{{"properties", members{{"signed", members{{"const", signedBody}}}}}, required("signed")}}, {"then", members{{
			"properties",
			members{{"timestamp_header", false}, {"timestamp_field", false}, {"tolerance_seconds", false}},
		}}}},
		{{"if", members{{"properties", members{{"scheme", members{{"not", members{{"const", SchemeHMAC}}}}}}}, required("scheme")}}, {"then", members{{
			"properties",
			members{{"algorithm", false}, {"encoding", false}, {"signed", false}, {"field", false}},
		}}}},
		{{"if", is(SchemeStandardWebhooks)}, {"then", members{{"properties", members{{"header", false}, {"prefix", false}}}}}},
		{{"if", timed}, {"then", members{{"anyOf", []members{{required("timestamp_header")}, {required("timestamp_field")}}}}}},
	}}}
}

func whereIdempotency(is []string) members {
	return members{{"properties", members{{"idempotency", oneWordOf(is...)}}}}
}

func categoryWords() []string {
	words := make([]string, len(categories))
	for i, category := range categories {
		words[i] = string(category)
	}
	return words
}

var (
	parentOfTable = regexp.MustCompile("^`([a-z_.]+):`")
	cellOfKeys    = regexp.MustCompile("^(?:`([a-z_]+)`(?:, )?)+$")
	keyInCell     = regexp.MustCompile("`([a-z_]+)`")
	link          = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)
)

// referenceTexts are the explanations of the reference by place. A table's keys stand at the top, unless a line before it or
// its first cell says where.
func referenceTexts(page string) map[string]string {
	_, reference, _ := strings.Cut(page, "\n## Reference\n")
	reference, _, _ = strings.Cut(reference, "\n## ")
	texts, parent, inTable := map[string]string{}, "", false
	for line := range strings.Lines(reference) {
		cells := cellsOf(line)
		switch named := parentOfTable.FindStringSubmatch(line); {
		case named != nil:
			parent = named[1] + "."
		case cells == nil && (inTable || strings.HasPrefix(line, "#")):
			parent, inTable = "", false
		case cells != nil && !inTable:
			inTable = true
			parent = placeOfTable(cells[0], parent)
		case inTable && parent != "-" && cellOfKeys.MatchString(cells[0]):
			text := link.ReplaceAllString(cells[1], "$1")
			if strings.HasPrefix(parent, "examples") {
				text = "default: " + text
			}
			for _, key := range keyInCell.FindAllStringSubmatch(cells[0], -1) {
				texts[parent+key[1]] = text
			}
		}
	}
	return texts
}

// cellsOf are the cells of a row of a Markdown table.
func cellsOf(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "| ") {
		return nil
	}
	cells := strings.Split(strings.Trim(strings.ReplaceAll(line, `\|`, "\x00"), "| "), " | ")
	for i := range cells {
		cells[i] = strings.TrimSpace(strings.ReplaceAll(cells[i], "\x00", "|"))
	}
	return cells
}

// placeOfTable is where the keys of a table with this heading stand; "-" where it explains none.
func placeOfTable(heading, parent string) string {
	switch heading {
	case "key":
		return parent
	case "`given`", "`want`":
		return "examples[]." + strings.Trim(heading, "`") + "."
	default:
		return "-"
	}
}
