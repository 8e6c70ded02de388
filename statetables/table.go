package statetables

import (
	"errors"
	"fmt"
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
	reach  reach

	codes    map[int]*codeMeaning // by code, or by its first digit alone
	notFound notFound

	jobID    *expression
	rules    []rule
	state    *expression
	states   map[string]listed
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
	name string
	read *expression
	url  template
}

type moment struct {
	read   *expression
	format string
	zone   *time.Location
}

type hint struct {
	read *expression
	unit string
}

// codeMeaning is what the table says of an HTTP code: a category, or that its body is read.
type codeMeaning struct {
	name       string
	category   wire.Category
	readBody   bool
	ignoreBody bool
}

type cancelCall struct {
	call
	expect       []int
	acceptedWhen *expression
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

// Provider is the name under which a spec asks for this table.
func (t *Table) Provider() string { return t.provider }

// Title names the provider's service for people.
func (t *Table) Title() string { return t.title }

// Digest identifies the table's text: "sha256:" and the lower-case hex of the hash of the file's bytes.
func (t *Table) Digest() string { return t.digest }

// Auth says whether and where the provider wants a credential.
func (t *Table) Auth() Auth { return t.reach.auth }

// Advice is what a table says about pacing.
type Advice struct {
	// Schedule fits the provider's typical durations. It stands where the spec says nothing; null fields advise nothing.
	Schedule wire.Schedule
	// FloorSeconds is the least time between two requests that the provider accepts. It wins over the spec. 0: none.
	FloorSeconds int
	// CapSeconds is the longest sleep that the provider's retention allows. It wins over the spec. 0: none.
	CapSeconds int
	// RetentionSeconds is how long a finished job can still be read at the provider. 0: not documented.
	RetentionSeconds int
}

// Advice is the table's advice on pacing.
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
	code, ok := t.codes[status]
	if !ok {
		code, ok = t.codes[status/100]
	}
	if ok && code.name == "" {
		named := *code
		named.name = codeName(status)
		return &named, true
	}
	return code, ok
}

func (t *Table) withDefaults(params map[string]string) map[string]string {
	whole := maps.Clone(t.defaults)
	maps.Copy(whole, params)
	return whole
}

// CheckSpec says what the table demands of a spec and the spec does not meet: declared params that match their
// patterns, the account, a status URL where the table polls one, states it lists, a credential where it has auth. All
// faults are joined. No error holds a URL.
func (t *Table) CheckSpec(spec wire.Spec) error {
	faults := t.checkParams(spec)
	if len(faults) == 0 {
		faults = append(faults, t.checkAccount(spec), t.checkAddress(spec))
	}
	faults = append(faults, t.checkExpected(spec))
	if spec.CredentialRef == "" && t.reach.auth.Needed() {
		faults = append(faults, fmt.Errorf("spec: credential_ref is empty, but %s wants a credential; name one of the worker's", t.provider))
	}
	return errors.Join(faults...)
}

func (t *Table) checkParams(spec wire.Spec) []error {
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(spec.Params)) {
		declared, ok := t.params[name]
		switch {
		case !ok:
			faults = append(faults, fmt.Errorf("spec: params: %q is not a param of %s; it has %s", name, t.provider, t.paramNames()))
		case !declared.whole.MatchString(spec.Params[name]):
			faults = append(faults, fmt.Errorf("spec: params: %s %q does not match %s", name, cut(spec.Params[name], maxRawStateBytes), declared.written))
		}
	}
	whole := t.withDefaults(spec.Params)
	for _, name := range slices.Sorted(maps.Keys(t.params)) {
		if _, ok := whole[name]; !ok {
			faults = append(faults, fmt.Errorf("spec: params: %s is missing; %s wants it, matching %s", name, t.provider, t.params[name].written))
		}
	}
	return faults
}

func (t *Table) paramNames() string {
	if len(t.params) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(t.params)), ", ")
}

func (t *Table) checkAccount(spec wire.Spec) error {
	if t.accountMustBe == nil {
		return nil
	}
	want := t.accountMustBe.plain(valuesOf(targetOf(spec), t.defaults))
	if spec.Account != want {
		return fmt.Errorf("spec: account %q must be %q, which makes the job id unique at %s", spec.Account, want, t.provider)
	}
	return nil
}

// checkAddress tries the request that would be sent.
func (t *Table) checkAddress(spec wire.Spec) error {
	switch {
	case t.reach.polls && spec.StatusURL == "":
		return fmt.Errorf("spec: status_url is empty, but %s is polled at the URL that the submission was answered with", t.provider)
	case !t.reach.polls && spec.StatusURL != "":
		return fmt.Errorf("spec: status_url is given, but %s is polled at a URL made of the job id; leave it empty", t.provider)
	}
	if t.reach.polls {
		if err := t.checkQuery(spec.StatusURL); err != nil {
			return fmt.Errorf("spec: %w", err)
		}
	}
	if _, err := t.StatusRequest(targetOf(spec)); err != nil {
		return fmt.Errorf("spec: %w", err)
	}
	if t.cancel == nil || t.cancel.url.asksFor("status_url") && !t.reach.polls {
		return nil
	}
	if _, err := t.CancelRequest(targetOf(spec)); err != nil {
		return fmt.Errorf("spec: %w", err)
	}
	return nil
}

// checkQuery refuses query names that the table does not list. Their names are not told: an unlisted one may be a secret.
func (t *Table) checkQuery(address string) error {
	parsed, err := parseAbsolute(address)
	if err != nil {
		return err
	}
	query, err := parseQuery(parsed.RawQuery)
	if err != nil {
		return err
	}
	for name := range query {
		if !slices.Contains(t.reach.statusQuery, name) {
			return &URLRejectedError{Rule: "its query has a name that the table does not list; listed: " + list(t.reach.statusQuery)}
		}
	}
	return nil
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func (t *Table) checkExpected(spec wire.Spec) error {
	allowed := t.SuccessStates()
	for _, state := range spec.ExpectedStates {
		if !slices.Contains(allowed, state) {
			return fmt.Errorf("spec: expected_states: %q is not a success or partial state of %s; these are %s",
				cut(state, maxRawStateBytes), t.provider, list(allowed))
		}
	}
	return nil
}

func targetOf(spec wire.Spec) wire.Target {
	return wire.Target{
		Provider: spec.Provider, Account: spec.Account, ProviderJobID: spec.ProviderJobID, Params: spec.Params,
		StatusURL: spec.StatusURL, CredentialRef: spec.CredentialRef,
	}
}

// Facts are what the controller snapshots of the table for a wait. The spec must have passed CheckSpec.
func (t *Table) Facts(spec wire.Spec) (wire.TableFacts, error) {
	facts := wire.TableFacts{Digest: t.digest}
	if t.cancel != nil {
		cancel := t.cancel.facts
		cancel.States = slices.Clone(cancel.States)
		facts.Cancel = &cancel
	}
	if t.consoleURL == nil {
		return facts, nil
	}
	var err error
	facts.ConsoleURL, err = t.consoleURL.url(valuesOf(targetOf(spec), t.defaults))
	return facts, err
}
