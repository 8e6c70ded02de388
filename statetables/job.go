package statetables

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/jobwait/jobwait/wire"
)

// malformedError is a readable body that does not say what the table expects; its text is the observation's detail.
type malformedError string

func (e malformedError) Error() string { return string(e) }

// fill reads the job fact, whose state is given.
func (r *reader) fill(into *wire.Observation, state func() (string, wire.Category, error)) {
	job, err := r.job(state)
	if err != nil {
		into.Answer, into.Detail = wire.AnswerMalformed, err.Error()
		return
	}
	into.Answer, into.Job = wire.AnswerRead, job
}

func (r *reader) job(state func() (string, wire.Category, error)) (*wire.JobFact, error) {
	raw, category, err := state()
	if err != nil {
		return nil, err
	}
	job := &wire.JobFact{RawState: raw, Category: category, Progress: scrub(r.text(r.table.progress), maxProgressBytes)}
	if job.OtherJob, err = r.otherJob(); err != nil {
		return nil, err
	}
	if job.Cancellable, err = r.cancellable(category); err != nil {
		return nil, err
	}
	if err := r.ending(job); err != nil {
		return nil, err
	}
	if job.UpdatedAt, err = r.moment(r.table.updatedAt); err != nil {
		return nil, err
	}
	job.ExpiresAt, err = r.moment(r.table.expiresAt)
	return job, err
}

// ending reads what only a finished job has: results, their proof and an error.
func (r *reader) ending(job *wire.JobFact) (err error) {
	job.Error = r.providerError()
	if !job.Category.Terminal() {
		return nil
	}
	if job.Result, err = r.result(job.Category); err != nil || job.Category != wire.CategorySuccess {
		return err
	}
	job.Unproven, err = r.unproven()
	return err
}

func (r *reader) providerError() wire.ProviderError {
	return wire.ProviderError{
		Code:    scrub(r.text(r.table.errorCode), maxCodeBytes),
		Message: scrub(r.text(r.table.errorMessage), maxMessageBytes),
	}
}

// state reads the rules in their order, then the state itself.
func (r *reader) state() (string, wire.Category, error) {
	for _, rule := range r.table.rules {
		holds, err := rule.when.holds(r.in)
		if err != nil {
			return "", "", fieldError(err)
		}
		if holds {
			return r.ruleName(rule), rule.category, nil
		}
	}
	if r.table.state == nil {
		return "", wire.CategoryUnknown, nil
	}
	return r.listedState()
}

// ruleName is the rule's own name, else the provider's word.
func (r *reader) ruleName(rule rule) string {
	if rule.name != "" {
		return rule.name
	}
	return display(r.text(r.table.state), maxRawStateBytes)
}

func (r *reader) listedState() (string, wire.Category, error) {
	value, err := r.table.state.eval(r.in)
	switch {
	case errors.Is(err, errAbsent) && r.table.absentAs != "":
		return "", r.table.absentAs, nil
	case errors.Is(err, errAbsent):
		return "", "", malformedError(wire.MalformedStateAbsent)
	case errors.Is(err, errCost):
		return "", "", malformedError(wire.MalformedTooCostly)
	case err == nil && value == nil:
		return "", "", malformedError(wire.MalformedStateNull)
	}
	text, ok := textOf(value)
	if err != nil || !ok || !r.table.isListed(text) && !r.table.speaks(value) {
		return "", "", malformedError(wire.MalformedStateType)
	}
	raw, category := r.table.lookUp(text)
	return raw, category, nil
}

func fieldError(err error) error {
	if errors.Is(err, errCost) {
		return malformedError(wire.MalformedTooCostly)
	}
	return malformedError(wire.MalformedFieldType)
}

// otherJob says whether the answer names another job than the one asked for. Where it names none, it does not.
func (r *reader) otherJob() (bool, error) {
	if r.table.jobID == nil {
		return false, nil
	}
	value, err := r.table.jobID.eval(r.in)
	if errors.Is(err, errAbsent) || err == nil && value == nil {
		return false, nil
	}
	text, ok := textOf(value)
	if _, isBool := value.(bool); err != nil || !ok || isBool {
		return false, malformedError(wire.MalformedJobIDType)
	}
	return text != r.asked.ProviderJobID, nil
}

// cancellable is what the answer says of the cancel call; nil where the table does not know it to say anything, and once
// there is nothing left to cancel.
func (r *reader) cancellable(category wire.Category) (*bool, error) {
	if r.table.cancel == nil || r.table.cancel.allowedWhen == nil || category.Terminal() {
		return nil, nil
	}
	allowed, err := r.table.cancel.allowedWhen.holds(r.in)
	if err != nil {
		return nil, fieldError(err)
	}
	return &allowed, nil
}

// unproven names the requirements of a success that the answer does not meet.
func (r *reader) unproven() ([]string, error) {
	var unmet []string
	for _, requirement := range r.table.requirements {
		holds, err := requirement.when.holds(r.in)
		if err != nil {
			return nil, fieldError(err)
		}
		if !holds {
			unmet = append(unmet, requirement.name)
		}
	}
	return unmet, nil
}

func (r *reader) result(category wire.Category) (map[string]string, error) {
	var found map[string]string
	for _, reference := range r.table.result {
		text, err := r.reference(reference, category)
		if err != nil {
			return nil, err
		}
		if text == "" {
			continue
		}
		if found == nil {
			found = make(map[string]string, len(r.table.result))
		}
		found[reference.name] = text
	}
	return found, nil
}

// reference reads one reference verbatim; empty where there is none. A derived URL stands for a result only where the
// provider says that there is one.
func (r *reader) reference(reference reference, category wire.Category) (string, error) {
	if reference.read == nil {
		if category != wire.CategorySuccess && category != wire.CategoryPartial {
			return "", nil
		}
		text, err := reference.url.locate(r.asked.StatusURL, valuesOf(r.asked, r.table.defaults))
		if err != nil {
			return "", malformedError(wire.MalformedResultType)
		}
		return text, nil
	}
	value, err := reference.read.eval(r.in)
	if errors.Is(err, errAbsent) || err == nil && hollow(value) {
		return "", nil
	}
	text, ok := referenceText(value)
	if err != nil || !ok {
		return "", malformedError(wire.MalformedResultType)
	}
	if len(text) > maxReferenceBytes {
		return "", malformedError(wire.MalformedResultTooLong)
	}
	return text, nil
}

// hollow is what given is not, for values outside expressions: nothing in it could refer to a result.
func hollow(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case string:
		return blank(value)
	case []any:
		return !slices.ContainsFunc(value, substantial)
	case map[string]any:
		return !slices.ContainsFunc(slices.Collect(maps.Values(value)), substantial)
	default:
		return false
	}
}

func substantial(value any) bool { return !hollow(value) }

// blank says that a text shows nothing: it is empty, or white space and what has no width.
func blank(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) })
}

// referenceText writes a reference; a list or an object stands as JSON.
func referenceText(value any) (string, bool) {
	switch value := value.(type) {
	case bool:
		return "", false
	case []any, map[string]any:
		return compact(value), true
	default:
		return textOf(value)
	}
}

func (r *reader) moment(of *moment) (*time.Time, error) {
	if of == nil {
		return nil, nil
	}
	value, err := of.read.eval(r.in)
	if errors.Is(err, errAbsent) || err == nil && (value == nil || value == "") {
		return nil, nil
	}
	if err != nil {
		return nil, malformedError(wire.MalformedTimestamp)
	}
	at, err := parseMoment(value, of.format, of.zone, r.response.ReceivedAt)
	if err != nil {
		return nil, malformedError(wire.MalformedTimestamp)
	}
	return &at, nil
}

// text reads what is for people only; what cannot be read is left out. An object or a list stands as JSON.
func (r *reader) text(of *expression) string {
	if of == nil {
		return ""
	}
	value, err := of.eval(r.in)
	if err != nil || value == nil {
		return ""
	}
	if text, ok := textOf(value); ok {
		return text
	}
	return compact(value)
}
