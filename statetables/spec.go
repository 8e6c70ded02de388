package statetables

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jobwait/jobwait/wire"
)

// CheckSpec validates a spec against the table: params that are declared and match their patterns, the account, a status URL if the
// table polls one, expected states that the table lists, a credential if one is needed. The error joins all faults and never
// contains a URL.
func (t *Table) CheckSpec(spec wire.Spec) error {
	faults := t.checkParams(spec.Params)
	if len(faults) == 0 {
		faults = append(faults, t.checkAccount(targetOf(spec)), t.checkAddress(spec))
	}
	return ofSpec(append(faults, t.checkExpected(spec.ExpectedStates), t.checkCredential(spec.CredentialRef)))
}

// ofSpec are the faults of a spec, joined.
func ofSpec(faults []error) error {
	for i, fault := range faults {
		if fault != nil {
			faults[i] = fmt.Errorf("spec: %w", fault)
		}
	}
	return errors.Join(faults...)
}

// CheckTarget validates the params and the account of a target as CheckSpec does those of a spec. The error joins all faults.
func (t *Table) CheckTarget(target wire.Target) error {
	if faults := t.checkParams(target.Params); len(faults) > 0 {
		return errors.Join(faults...)
	}
	return t.checkAccount(target)
}

func (t *Table) checkParams(params map[string]string) []error {
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(params)) {
		declared, ok := t.params[name]
		switch {
		case !ok:
			faults = append(faults, fmt.Errorf("params: %.64q is not a param of %s; it has %s", name, t.provider, t.paramNames()))
		case !declared.whole.MatchString(params[name]):
			faults = append(faults, fmt.Errorf("params: %s %q does not match %s", name, cut(wire.BareParam(params[name]), maxRawStateBytes), declared.written))
		}
	}
	whole := t.withDefaults(params)
	for _, name := range slices.Sorted(maps.Keys(t.params)) {
		if _, ok := whole[name]; !ok {
			faults = append(faults, fmt.Errorf("params: %s is missing; %s wants it, matching %s", name, t.provider, t.params[name].written))
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

func (t *Table) checkAccount(target wire.Target) error {
	if t.accountMustBe == nil {
		return nil
	}
	want := t.accountMustBe.plain(valuesOf(target, t.defaults))
	if target.Account != want {
		return fmt.Errorf("account %q must be %q, which makes the job id unique at %s", target.Account, want, t.provider)
	}
	return nil
}

// checkAddress tries the request that would be sent. A well-formed status URL of another origin passes: it is refused
// each time before it would be sent, and the wait closes as poll_url_rejected (R51).
func (t *Table) checkAddress(spec wire.Spec) error {
	switch {
	case t.reach.polls && spec.StatusURL == "":
		return fmt.Errorf("status_url is empty, but %s is polled at the URL that the submission was answered with", t.provider)
	case !t.reach.polls && spec.StatusURL != "":
		return fmt.Errorf("status_url is given, but %s is polled at a URL made of the job id; leave it empty", t.provider)
	}
	if t.reach.polls {
		if err := t.checkQuery(spec.StatusURL); err != nil {
			return err
		}
	}
	if _, err := t.StatusRequest(targetOf(spec)); err != nil && !elsewhere(err) {
		return err
	}
	if t.cancel == nil || t.cancel.url.asksFor("status_url") && !t.reach.polls {
		return nil
	}
	if _, err := t.CancelRequest(targetOf(spec)); err != nil && !elsewhere(err) {
		return err
	}
	return nil
}

func elsewhere(err error) bool {
	rejected, ok := errors.AsType[*URLRejectedError](err)
	return ok && rejected.Elsewhere
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

func (t *Table) checkCredential(ref string) error {
	if ref == "" && t.NeedsCredential() {
		return fmt.Errorf("credential_ref is empty, but %s wants a credential; name one of the worker's", t.provider)
	}
	return nil
}

func (t *Table) checkExpected(states []string) error {
	allowed := t.SuccessStates()
	for _, state := range states {
		if !slices.Contains(allowed, state) {
			return fmt.Errorf("expected_states: %q is not a success or partial state of %s; these are %s",
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

// Facts returns the facts of the table that a wait records when it begins. The spec must have passed CheckSpec.
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
