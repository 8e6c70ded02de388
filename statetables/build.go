package statetables

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jobwait/jobwait/wire"
)

// builder compiles a document into a table and collects what is wrong with it.
type builder struct {
	*decoder
	doc   *Document
	table *Table
}

func (b *builder) fail(path, format string, args ...any) {
	b.faults = append(b.faults, fault{line: b.line(path), text: fmt.Sprintf(format, args...)})
}

func (b *builder) build() {
	b.buildNames()
	b.buildParams()
	b.buildRequest()
	b.buildCodes()
	b.buildNotFound()
	b.buildRateLimited()
	b.buildStates()
	b.buildRules()
	b.buildDefaults()
	b.buildSuccess()
	b.buildFields()
	b.buildCancel()
	b.buildSchedule()
	b.buildSubmit()
	b.buildCallback()
	b.checkSources()
}

var (
	providerShape = regexp.MustCompile(`^[a-z0-9]+(?:-[a-z0-9]+)*$`)
	nameShape     = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	dayShape      = regexp.MustCompile(`^20[0-9]{2}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])$`)
)

func (b *builder) buildNames() {
	b.table.provider, b.table.title = b.doc.Provider, b.doc.Title
	if !providerShape.MatchString(b.doc.Provider) || len(b.doc.Provider) > 64 {
		b.fail("provider", "provider %q: write 1 to 64 lower-case letters, digits and single hyphens, like openai-batch", b.doc.Provider)
	}
	if b.doc.Title == "" {
		b.fail("title", "title is missing; write the name people know the service by")
	}
	if len(b.doc.Sources) == 0 {
		b.fail("sources", "sources is missing; write where the facts were read: sources: {docs: {at: <page>, read: 2026-01-31, for: [request, state, states]}}")
	}
	b.buildReadOnly()
}

func (b *builder) buildReadOnly() {
	attested := b.doc.ReadOnly
	switch {
	case attested == nil || attested.Source == "" && attested.Tried == "":
		b.fail("read_only", "read_only is missing; say how it is known that the status GET only observes: read_only: {source: docs}, or {tried: 2026-01-31}")
	case attested.Source != "":
		b.cite("read_only", attested.Source)
	case !dayShape.MatchString(attested.Tried):
		b.fail("read_only.tried", "read_only: tried %q is no day; write it like 2026-01-31", attested.Tried)
	}
}

// cite wants the fact at path to have a source that the table lists.
func (b *builder) cite(path, source string) {
	if source == "" {
		b.fail(path, "%s has no source; write source: with one of %s, or leave %s out", path, b.sourceIDs(), path)
		return
	}
	if _, ok := b.doc.Sources[source]; !ok {
		b.fail(path, "%s: source %q is not under sources; write one of %s", path, source, b.sourceIDs())
	}
}

func (b *builder) sourceIDs() string { return list(slices.Sorted(maps.Keys(b.doc.Sources))) }

func (b *builder) buildParams() {
	b.table.params, b.table.defaults = map[string]pattern{}, map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(b.doc.Params)) {
		b.buildParam(name, b.doc.Params[name])
	}
}

func (b *builder) buildParam(name string, declared ParamDoc) {
	path := "params." + name
	if !nameShape.MatchString(name) {
		b.fail(path, "param %q: write a lower-case name like owner", name)
	}
	if !strings.HasPrefix(declared.Pattern, "^") || !strings.HasSuffix(declared.Pattern, "$") {
		b.fail(path, "param %q: pattern %q is not anchored; write ^...$ around it, or a value could begin or end with anything", name, declared.Pattern)
		return
	}
	whole, err := regexp.Compile(`^(?:` + declared.Pattern + `)$`)
	if err != nil {
		b.fail(path, "param %q: pattern %q is no regular expression (RE2)", name, declared.Pattern)
		return
	}
	b.table.params[name] = pattern{written: declared.Pattern, whole: whole}
	if declared.Default == nil {
		return
	}
	if !whole.MatchString(*declared.Default) {
		b.fail(path, "param %q: default %q does not match its pattern", name, *declared.Default)
	}
	b.table.defaults[name] = *declared.Default
}

// expression compiles the text at path; nil where nothing is written or it does not compile.
func (b *builder) expression(path, text string, kind expressionKind) *expression {
	if text == "" {
		return nil
	}
	compiled, err := compile(text, kind)
	if err != nil {
		b.fail(path, "%s: %q %s", path, text, err)
		return nil
	}
	return compiled
}

var categories = []wire.Category{
	wire.CategoryPending, wire.CategoryCancelling, wire.CategorySuccess, wire.CategoryPartial, wire.CategoryFailure,
	wire.CategoryCancelled, wire.CategoryExpired, wire.CategoryNeedsInput,
}

// category reads a category's name.
func (b *builder) category(path, name string) wire.Category {
	if slices.Contains(categories, wire.Category(name)) {
		return wire.Category(name)
	}
	words := make([]string, len(categories))
	for i, category := range categories {
		words[i] = string(category)
	}
	b.fail(path, "%s: %q is no category; write one of %s", path, name, list(words))
	return ""
}

func (b *builder) buildStates() {
	b.table.states, b.table.fold = map[string]listed{}, b.doc.CaseInsensitive != nil
	if b.table.fold {
		b.cite("case_insensitive", b.doc.CaseInsensitive.Source)
	}
	b.table.state = b.expression("state", b.doc.State, wantsText)
	if b.doc.State == "" && len(b.doc.States) > 0 {
		b.fail("states", "states are listed, but nothing says where the state stands; write state: body.status")
	}
	if b.doc.State == "" && len(b.doc.Rules) == 0 && len(b.doc.HTTPCodes) == 0 {
		b.fail("state", "state is missing; write where it stands, like state: body.status, or rules")
	}
	for _, name := range slices.Sorted(maps.Keys(b.doc.States)) {
		category := b.category("states."+name, name)
		for i, state := range b.doc.States[name] {
			b.addState(fmt.Sprintf("states.%s[%d]", name, i), state, category)
		}
	}
}

func (b *builder) addState(path, state string, category wire.Category) {
	if len(state) > maxRawStateBytes || display(state, maxRawStateBytes) != state {
		b.fail(path, "state %q: write at most %d bytes without control characters", cut(state, maxRawStateBytes), maxRawStateBytes)
	}
	b.table.numbers = b.table.numbers || amount.MatchString(state)
	b.table.booleans = b.table.booleans || state == "true" || state == "false"
	other, ok := b.table.states[b.table.key(state)]
	switch {
	case ok && other.category == category:
		b.fail(path, "state %q is listed twice in %s; keep one", state, category)
	case ok:
		b.fail(path, "state %q is in %s and in %s; keep one, and write a rule where it depends on more", state, other.category, category)
	default:
		b.table.states[b.table.key(state)] = listed{spelling: state, category: category}
	}
}

func (b *builder) buildRules() {
	for i, written := range b.doc.Rules {
		path := fmt.Sprintf("rules[%d]", i)
		if written.When == "" {
			b.fail(path, "%s has no when; write the condition, like when: body.failed > 0", path)
		}
		if written.Name == "" && b.doc.State == "" {
			b.fail(path, "%s has no name, and there is no state to show for it; write name: with a word for it", path)
		}
		if written.Name != "" && display(written.Name, maxRawStateBytes) != written.Name {
			b.fail(path, "%s: name %q is longer than %d bytes or has control characters", path, written.Name, maxRawStateBytes)
		}
		b.table.rules = append(b.table.rules, rule{
			name: written.Name, when: b.expression(path+".when", written.When, wantsBool),
			category: b.category(path+".read_as", written.ReadAs),
		})
	}
}

// buildDefaults reads what an unlisted and an absent state mean; each needs the provider's word for it.
func (b *builder) buildDefaults() {
	b.table.unlisted = wire.CategoryUnknown
	if stance := b.doc.UnknownStates; stance != nil {
		b.cite("unknown_states", stance.Source)
		switch stance.ReadAs {
		case "pending":
			b.table.unlisted = wire.CategoryPending
		case "terminal": // over, but nobody knows how: a person looks
		default:
			b.fail("unknown_states", "unknown_states: read_as %q; write pending, or terminal, or leave unknown_states out to stop at them", stance.ReadAs)
		}
	}
	if stance := b.doc.AbsentState; stance != nil {
		b.cite("absent_state", stance.Source)
		b.table.absentAs = b.category("absent_state.read_as", stance.ReadAs)
	}
}

// none is the key under which a table says why its success asks for nothing more.
const none = "none"

func (b *builder) buildSuccess() {
	if !b.succeeds() {
		b.fail("states", "no state is read as success, so no wait could succeed; list one under states, rules or http_codes")
		return
	}
	if len(b.doc.SuccessRequires) == 0 {
		b.fail("success_requires", `success_requires is missing; write what proves a success, like success_requires: {output: given(body.output)}, or {none: "why nothing can"}`)
	}
	reason, isNone := b.doc.SuccessRequires[none]
	if isNone && (len(b.doc.SuccessRequires) > 1 || strings.TrimSpace(reason) == "") {
		b.fail("success_requires.none", "success_requires: none stands alone and gives the reason; remove it or the others")
	}
	if isNone {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(b.doc.SuccessRequires)) {
		path := "success_requires." + name
		if !nameShape.MatchString(name) {
			b.fail(path, "success_requires: %q: write a lower-case name like output_file", name)
		}
		when := b.expression(path, b.doc.SuccessRequires[name], wantsBool)
		if b.doc.SuccessRequires[name] == "" {
			b.fail(path, "%s is empty; write a condition, like given(body.output)", path)
		}
		b.table.requirements = append(b.table.requirements, condition{name: name, when: when})
	}
}

func (b *builder) succeeds() bool {
	is := func(category wire.Category) bool { return category == wire.CategorySuccess }
	for _, code := range b.table.codes {
		if is(code.category) {
			return true
		}
	}
	return is(b.table.absentAs) || len(b.doc.States["success"]) > 0 ||
		slices.ContainsFunc(b.table.rules, func(rule rule) bool { return is(rule.category) })
}

var codeShape = regexp.MustCompile(`^(?:[1-5][0-9]{2}|[1-5]xx)$`)

func (b *builder) buildCodes() {
	b.table.codes = map[int]*codeMeaning{}
	for _, written := range slices.Sorted(maps.Keys(b.doc.HTTPCodes)) {
		path := "http_codes." + written
		switch {
		case !codeShape.MatchString(written):
			b.fail(path, "http_codes: %q is no code; write one like 202, or a class like 5xx", written)
			continue
		case slices.Contains([]string{"401", "403", "407", "429"}, written), written[0] == '1':
			b.fail(path, "http_codes: %s is about the request and never about the job; remove it", written)
			continue
		}
		code, isClass := strings.CutSuffix(written, "xx")
		key, _ := strconv.Atoi(code) // its shape is checked
		meaning := b.codeMeaning(path, b.doc.HTTPCodes[written])
		if meaning.name == "" && !isClass && !meaning.readBody {
			meaning.name = codeName(key)
		}
		b.table.codes[key] = meaning
	}
}

func (b *builder) codeMeaning(path string, written CodeDoc) *codeMeaning {
	b.cite(path, written.Source)
	meaning := &codeMeaning{
		name: written.Name, onlyIf: b.expression(path+".only_if", written.OnlyIf, wantsBool),
		readBody: written.ReadAs == "body", ignoreBody: written.Body == "ignored", mayBeEmpty: written.Body == "optional",
	}
	b.checkCodeBody(path, written)
	if !meaning.readBody {
		meaning.category = b.category(path+".read_as", written.ReadAs)
	}
	return meaning
}

func (b *builder) checkCodeBody(path string, written CodeDoc) {
	read := written.ReadAs == "body"
	switch {
	case read && (written.Body == "ignored" || written.Name != ""):
		b.fail(path, "%s: a body that is read is not ignored, and its state has its own name; remove body and name", path)
	case !read && written.Body == "optional":
		b.fail(path, "%s: body optional is for read_as: body; with a category no body is needed anyway, remove it", path)
	case !slices.Contains([]string{"", "ignored", "optional"}, written.Body):
		b.fail(path, "%s: body %q; write ignored where any body may come, optional where a body that is read may be missing, or leave it out", path, written.Body)
	}
}

func (b *builder) buildNotFound() {
	written := b.doc.NotFound
	if written == nil {
		return
	}
	if grace := written.Grace; grace != nil {
		b.cite("not_found.grace", grace.Source)
		b.between("not_found.grace.seconds", grace.Seconds, 1, 3600)
		b.between("not_found.grace.count", grace.Count, 0, 1000)
		b.table.notFound.graceSeconds, b.table.notFound.graceCount = grace.Seconds, grace.Count
	}
	if retention := written.Retention; retention != nil {
		b.cite("not_found.retention", retention.Source)
		b.between("not_found.retention.after_seconds", retention.AfterSeconds, 1, 10*366*86400)
		b.table.notFound.retentionSeconds = &retention.AfterSeconds
	}
	if written.AfterCancel != nil {
		b.cite("not_found.after_cancel", written.AfterCancel.Source)
		b.table.notFound.afterCancel = true
	}
}

func (b *builder) buildRateLimited() {
	written := b.doc.RateLimited
	if written == nil {
		return
	}
	b.cite("rate_limited", written.Source)
	if written.When == "" {
		b.fail("rate_limited", `rate_limited has no when; write the condition, like when: status == 403 && header["x-ratelimit-remaining"] == "0"`)
	}
	b.table.rateLimited = b.expression("rate_limited.when", written.When, wantsBool)
}

func (b *builder) between(path string, value, least, most int) {
	if value < least || value > most {
		b.fail(path, "%s is %d, allowed is %d to %d", path, value, least, most)
	}
}
