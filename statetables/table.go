package statetables

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jobwait/jobwait/wire"
)

// Table is the checked state table of one provider. It is immutable and safe for concurrent use.
type Table struct {
	provider string
	title    string
	digest   string

	params        map[string]pattern
	defaults      map[string]string
	accountMustBe *template
	consoleURL    *template

	status call
	cancel *cancelCall
	submit *submitCall
	reach  reach

	codes    map[int]*codeMeaning // by code, or by its first digit alone
	notFound notFound
	// rateLimited says which answers are one like 429; nil: that code alone.
	rateLimited *expression

	jobID    *expression
	rules    []rule
	state    *expression
	states   map[string]listed
	numbers  bool // some state is a number, so that an unlisted number is a state too
	booleans bool
	fold     bool
	unlisted wire.Category
	absentAs wire.Category

	requirements []condition
	result       []reference
	errorCode    *expression
	errorMessage *expression
	progress     *expression
	requestID    *expression
	nextURL      *expression
	updatedAt    *moment
	expiresAt    *moment
	hints        []hint
	advice       Advice
	callback     *Callback
}

// pattern is what the whole of a param must match.
type pattern struct {
	written string
	whole   *regexp.Regexp
}

type condition struct {
	name string
	when *expression
}

type rule struct {
	name     string
	when     *expression
	category wire.Category
}

// listed is a state as the table writes it.
type listed struct {
	spelling string
	category wire.Category
}

// reference is read from the answer, or a URL derived from the job where read is nil.
type reference struct {
	name      string
	read      *expression
	url       template
	renewable bool // the next status answer has a fresh one
}

type moment struct {
	read   *expression
	format string
	zone   *time.Location
}

type hint struct {
	read   *expression
	unit   string
	atMost *int // seconds
}

// codeMeaning is what the table says of an HTTP code: a category, or that its body is read.
type codeMeaning struct {
	name       string
	category   wire.Category
	onlyIf     *expression // nil: always
	readBody   bool
	ignoreBody bool
	mayBeEmpty bool // an empty body is read as {}
}

// applies says whether the meaning is that of this answer.
func (m *codeMeaning) applies(in *input) (bool, error) {
	if m.onlyIf == nil {
		return true, nil
	}
	return m.onlyIf.holds(in)
}

type cancelCall struct {
	call
	expect       []int
	acceptedWhen *expression
	allowedWhen  *expression
	asynchronous bool
	facts        wire.CancelFacts
}

func (c *cancelCall) expects(status int) bool { return slices.Contains(c.expect, status) }

// notFound is what 404 and 410 mean (rule R10).
type notFound struct {
	graceSeconds     int
	graceCount       int
	retentionSeconds *int
	afterCancel      bool
}

// means is the category of a 404 or 410, empty where it says that there is no such job.
func (n notFound) means(context wire.ReadingContext, receivedAt time.Time) wire.Category {
	if context.CancelSent && n.afterCancel {
		return wire.CategoryCancelled
	}
	if context.SubmittedAt.IsZero() {
		return ""
	}
	elapsed := receivedAt.Sub(context.SubmittedAt)
	switch {
	case !context.Answered && n.inGrace(elapsed, context.NotFound):
		return wire.CategoryPending
	case n.retentionSeconds != nil && elapsed >= time.Duration(*n.retentionSeconds)*time.Second:
		return wire.CategoryExpired
	default:
		return ""
	}
}

func (n notFound) inGrace(elapsed time.Duration, before int) bool {
	return n.graceSeconds > 0 && elapsed <= time.Duration(n.graceSeconds)*time.Second &&
		(n.graceCount == 0 || before < n.graceCount)
}

// Provider returns the name by which specs refer to the table.
func (t *Table) Provider() string { return t.provider }

// Title names the provider's service for people.
func (t *Table) Title() string { return t.title }

// Digest identifies the table's text: "sha256:" and the lower-case hex of the hash of the file's bytes.
func (t *Table) Digest() string { return t.digest }

// Auth returns the ways in which the provider accepts a credential, the default first; empty if it accepts none.
func (t *Table) Auth() []Auth { return slices.Clone(t.reach.auth) }

// NeedsCredential reports whether every request to the provider needs a credential.
func (t *Table) NeedsCredential() bool { return len(t.reach.auth) > 0 && !t.reach.open }

// CheckScheme returns an error if the provider does not accept credentials by the scheme. It accepts an empty scheme, and any
// scheme if the table has no auth.
func (t *Table) CheckScheme(scheme string) error {
	if scheme == "" || len(t.reach.auth) == 0 {
		return nil
	}
	_, err := wayOf(t.reach.auth, scheme)
	return err
}

// Advice is what a table says about the pace of requests.
type Advice struct {
	// Schedule suits the typical durations of the provider's jobs. It applies to what the spec does not set; nil fields advise nothing.
	Schedule wire.Schedule
	// FloorSeconds is the minimum time between two requests that the provider accepts. It overrides the spec. 0 means none.
	FloorSeconds int
	// CapSeconds is the longest delay that the provider's retention allows. It overrides the spec. 0 means none.
	CapSeconds int
	// RetentionSeconds is how long after its submission a job can be read at the provider. 0: not documented, or counted
	// from the job's end, which nobody knows beforehand.
	RetentionSeconds int
}

// Advice returns the table's advice on pacing.
func (t *Table) Advice() Advice { return t.advice }

// SuccessStates lists, sorted, the raw states that a spec's expected_states may name: those read as success or partial.
func (t *Table) SuccessStates() []string {
	names := map[string]bool{}
	add := func(name string, category wire.Category) {
		if name != "" && (category == wire.CategorySuccess || category == wire.CategoryPartial) {
			names[name] = true
		}
	}
	for _, state := range t.states {
		add(state.spelling, state.category)
	}
	for _, rule := range t.rules {
		add(rule.name, rule.category)
	}
	for _, code := range t.codes {
		add(code.name, code.category)
	}
	return slices.Sorted(maps.Keys(names))
}

// speaks says whether an unlisted value is at least of a kind that states of this table have. Any text is.
func (t *Table) speaks(value any) bool {
	switch value.(type) {
	case number:
		return t.numbers
	case bool:
		return t.booleans
	default:
		return true
	}
}

// Renewable reports whether, as the provider documents, a new status answer contains a fresh reference for the named result when the
// earlier one has expired.
func (t *Table) Renewable(result string) bool {
	return slices.ContainsFunc(t.result, func(known reference) bool { return known.name == result && known.renewable })
}

// isListed says whether the table lists a state.
func (t *Table) isListed(raw string) bool {
	_, ok := t.states[t.key(raw)]
	return ok
}

// lookUp is the state as the table writes it, or as the provider does where it is not listed, and its category.
func (t *Table) lookUp(raw string) (string, wire.Category) {
	if state, ok := t.states[t.key(raw)]; ok {
		return state.spelling, state.category
	}
	return display(raw, maxRawStateBytes), t.unlisted
}

func (t *Table) key(state string) string {
	if t.fold {
		return strings.ToLower(state)
	}
	return state
}

// meaning is what the table says of a code: the code's own entry, else its class's.
func (t *Table) meaning(status int) (*codeMeaning, bool) {
	if status < 100 {
		return nil, false
	}
	code, ok := t.codes[status]
	if !ok && t.classSpeaksOf(status) {
		code, ok = t.codes[status/100]
	}
	if ok && code.name == "" {
		named := *code
		named.name = codeName(status)
		return &named, true
	}
	return code, ok
}

// classSpeaksOf says whether the class of a code may give it a meaning. What is about the request and its credential is
// never about the job, and where not_found speaks of 404 and 410 it knows better.
func (t *Table) classSpeaksOf(status int) bool {
	switch status {
	case 401, 403, 407, 429:
		return false
	case 404, 410:
		return t.notFound == notFound{}
	default:
		return true
	}
}

func (t *Table) withDefaults(params map[string]string) map[string]string {
	whole := maps.Clone(t.defaults)
	maps.Copy(whole, params)
	return whole
}
