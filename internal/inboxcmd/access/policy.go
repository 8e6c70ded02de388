package access

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jobwait/jobwait/wire"
)

// AnyKind in a rule's list of answers means every kind, also those of later versions.
const AnyKind = "any"

const (
	// maxRules and maxNames bound a policy, whose prefixes stand in every query of the list.
	maxRules = 200
	maxNames = 100
)

// Rule lets people see waits and answer them. Who is named in several rules has what they allow together.
type Rule struct {
	// Groups and People are who the rule is for: groups as the sign-in tells them, people by their names. At least one of
	// the two lists names somebody.
	Groups []string `yaml:"groups"`
	People []string `yaml:"people"`
	// Providers and Accounts are which waits it is about. Empty: any. Accounts belong to providers: they need some.
	Providers []string `yaml:"providers"`
	Accounts  []string `yaml:"accounts"`
	// Answers are the kinds of decision that are allowed; [] only shows the waits, [any] allows every kind. Required.
	Answers *[]string `yaml:"answers"`
}

// Policy is who may see and answer which waits. What no rule allows is refused; the zero value refuses all.
type Policy struct{ Rules []Rule }

// Everything lets one person see and answer all.
func Everything(person string) Policy {
	return Policy{Rules: []Rule{{People: []string{person}, Answers: &[]string{AnyKind}}}}
}

// Validate reports the first rule that cannot be meant as it stands.
func (p Policy) Validate() error {
	if len(p.Rules) == 0 {
		return errors.New("rules is missing: without one nobody may see anything")
	}
	if len(p.Rules) > maxRules {
		return fmt.Errorf("rules has %d entries, at most %d are allowed", len(p.Rules), maxRules)
	}
	for i, rule := range p.Rules {
		if err := rule.validate(); err != nil {
			return fmt.Errorf("rule %d: %w", i+1, err)
		}
	}
	return nil
}

func (r Rule) validate() error {
	switch {
	case len(r.Groups) == 0 && len(r.People) == 0:
		return errors.New("groups and people are missing: a rule is for somebody")
	case len(r.Accounts) > 0 && len(r.Providers) == 0:
		return errors.New("accounts needs providers: an account is one at a provider")
	case r.Answers == nil:
		return errors.New("answers is missing: list the kinds that are allowed, [any] for all, [] to show the waits only")
	}
	for _, list := range []struct {
		name  string
		names []string
	}{{"groups", r.Groups}, {"people", r.People}, {"providers", r.Providers}, {"accounts", r.Accounts}, {"answers", *r.Answers}} {
		if len(list.names) > maxNames {
			return fmt.Errorf("%s has %d entries, at most %d are allowed", list.name, len(list.names), maxNames)
		}
		if slices.ContainsFunc(list.names, func(name string) bool { return strings.TrimSpace(name) == "" }) {
			return fmt.Errorf("%s has an empty entry", list.name)
		}
	}
	return knownAnswers(*r.Answers)
}

func knownAnswers(kinds []string) error {
	known := []string{AnyKind}
	for _, kind := range wire.DecisionKinds() {
		known = append(known, string(kind))
	}
	for _, kind := range kinds {
		if !slices.Contains(known, kind) {
			return fmt.Errorf("answers: %s is not one of %s", strconv.Quote(kind), strings.Join(known, ", "))
		}
	}
	return nil
}

func (r Rule) isFor(who Person) bool {
	return slices.Contains(r.People, who.Name) || slices.ContainsFunc(r.Groups, func(group string) bool { return slices.Contains(who.Groups, group) })
}

func (r Rule) covers(provider, account string) bool {
	return (len(r.Providers) == 0 || slices.Contains(r.Providers, provider)) && (len(r.Accounts) == 0 || slices.Contains(r.Accounts, account))
}

// MaySee reports whether a person may look at the waits of an account.
func (p Policy) MaySee(who Person, provider, account string) bool {
	return slices.ContainsFunc(p.Rules, func(r Rule) bool { return r.isFor(who) && r.covers(provider, account) })
}

// MayAnswer reports whether a person may give this answer to the waits of an account.
func (p Policy) MayAnswer(who Person, provider, account string, kind wire.DecisionKind) bool {
	return slices.ContainsFunc(p.Rules, func(r Rule) bool {
		return r.isFor(who) && r.covers(provider, account) && (slices.Contains(*r.Answers, AnyKind) || slices.Contains(*r.Answers, string(kind)))
	})
}

// Scope is which waits a person may see, as a list can be asked for them.
type Scope struct {
	// All says that every wait may be seen.
	All bool
	// Prefixes begin the workflow ids of those that may be; none of them begins another.
	Prefixes []string
}

// ScopeOf is what the rules for a person show together.
func (p Policy) ScopeOf(who Person) Scope {
	var prefixes []string
	for _, rule := range p.Rules {
		if !rule.isFor(who) {
			continue
		}
		if len(rule.Providers) == 0 {
			return Scope{All: true}
		}
		prefixes = append(prefixes, rule.prefixes()...)
	}
	return Scope{Prefixes: shortest(prefixes)}
}

func (r Rule) prefixes() []string {
	var out []string
	for _, provider := range r.Providers {
		if len(r.Accounts) == 0 {
			out = append(out, ProviderPrefix(provider))
		}
		for _, account := range r.Accounts {
			out = append(out, AccountPrefix(provider, account))
		}
	}
	return out
}

// shortest leaves out what begins with another of them.
func shortest(prefixes []string) []string {
	slices.Sort(prefixes) // so that a shorter one comes before what it begins
	var out []string
	for _, prefix := range prefixes {
		if len(out) == 0 || !strings.HasPrefix(prefix, out[len(out)-1]) {
			out = append(out, prefix)
		}
	}
	return out
}

// ProviderPrefix begins the workflow ids of a provider's waits, AccountPrefix those of an account.
func ProviderPrefix(provider string) string {
	return wire.WorkflowIDPrefix + wire.EscapeSegment(provider) + "/"
}

// AccountPrefix begins the workflow ids of an account's waits.
func AccountPrefix(provider, account string) string {
	return ProviderPrefix(provider) + wire.EscapeSegment(account) + "/"
}

// ProvidersOf are the providers that the rules for a person name, sorted.
func (p Policy) ProvidersOf(who Person) []string {
	var names []string
	for _, rule := range p.Rules {
		if rule.isFor(who) {
			names = append(names, rule.Providers...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
