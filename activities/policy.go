package activities

import (
	"cmp"
	"fmt"

	"github.com/jobwait/jobwait/internal/yamlfile"
	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// Caps bound what a spec may ask for (R29). A nil field inherits the cap of the level above: from the account to the provider, from
// there to the worker, and from there to no cap.
type Caps struct {
	// MaxDeadlineSeconds caps the time from the start of a wait to its deadline. At least 1.
	MaxDeadlineSeconds *int `yaml:"max_deadline_seconds"`
	// MaxStatusRequests, MaxTransportFailures and MaxRateLimited cap the budgets of a spec. At least 1.
	MaxStatusRequests    *int `yaml:"max_status_requests"`
	MaxTransportFailures *int `yaml:"max_transport_failures"`
	MaxRateLimited       *int `yaml:"max_rate_limited"`
	// MaxExtensions caps how many grants a wait may have. 0 allows none.
	MaxExtensions *int `yaml:"max_extensions"`
	// MinBaseDelaySeconds is the smallest base delay that a spec may set. At least 1.
	MinBaseDelaySeconds *int `yaml:"min_base_delay_seconds"`
	// Grants cap what one decision may grant.
	Grants GrantCaps `yaml:"grants"`
}

// GrantCaps bound what one decision may grant, below the built-in bounds of 7 days, 10,000 requests and 1,000 failures of each kind.
// At least 1 each.
type GrantCaps struct {
	Seconds           *int `yaml:"seconds"`
	StatusRequests    *int `yaml:"status_requests"`
	TransportFailures *int `yaml:"transport_failures"`
	RateLimited       *int `yaml:"rate_limited"`
}

// Policy is what a worker allows: caps for all waits, and other caps for some providers and accounts. As a file:
//
//	max_deadline_seconds: 604800
//	max_status_requests: 1000
//	grants: {seconds: 86400, status_requests: 200}
//	providers:
//	  openai-batch:
//	    min_base_delay_seconds: 30
//	    accounts:
//	      org-42: {max_status_requests: 5000}
//
// A wait keeps the caps that it started under. The zero value caps nothing.
type Policy struct {
	Caps      `yaml:",inline"`
	Providers map[string]ProviderPolicy `yaml:"providers"`
}

// ProviderPolicy is what a worker allows for one provider.
type ProviderPolicy struct {
	Caps     `yaml:",inline"`
	Accounts map[string]Caps `yaml:"accounts"`
}

// LoadPolicy reads a policy file. Unknown fields and values out of range are errors.
func LoadPolicy(path string) (Policy, error) {
	var policy Policy
	if err := yamlfile.Read("policy", path, &policy); err != nil {
		return Policy{}, err
	}
	return policy, policy.Validate()
}

// Validate reports the first cap that is out of range.
func (p Policy) Validate() error {
	if err := p.validate("policy"); err != nil {
		return err
	}
	for provider, below := range p.Providers {
		if err := below.validate(fmt.Sprintf("policy: provider %q", provider)); err != nil {
			return err
		}
		for account, caps := range below.Accounts {
			if err := caps.validate(fmt.Sprintf("policy: provider %q, account %q", provider, account)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c Caps) validate(place string) error {
	for _, field := range []struct {
		name  string
		value *int
		least int
	}{
		{"max_deadline_seconds", c.MaxDeadlineSeconds, 1},
		{"max_status_requests", c.MaxStatusRequests, 1},
		{"max_transport_failures", c.MaxTransportFailures, 1},
		{"max_rate_limited", c.MaxRateLimited, 1},
		{"max_extensions", c.MaxExtensions, 0},
		{"min_base_delay_seconds", c.MinBaseDelaySeconds, 1},
		{"grants.seconds", c.Grants.Seconds, 1},
		{"grants.status_requests", c.Grants.StatusRequests, 1},
		{"grants.transport_failures", c.Grants.TransportFailures, 1},
		{"grants.rate_limited", c.Grants.RateLimited, 1},
	} {
		if field.value != nil && *field.value < field.least {
			return fmt.Errorf("%s: %s is %d, at least %d is allowed; leave it out to cap nothing", place, field.name, *field.value, field.least)
		}
	}
	return nil
}

// about refuses a policy for a provider that has no table: a misspelt name would cap nothing.
func (p Policy) about(tables *statetables.Set) error {
	for provider := range p.Providers {
		if _, ok := tables.Table(provider); !ok {
			return fmt.Errorf("policy: provider %q has no state table; known are %q", provider, tables.Providers())
		}
	}
	return nil
}

// of is what the core is told of the policy for one provider and account.
func (p Policy) of(provider, account string) operation.Policy {
	below := p.Providers[provider]
	caps := below.Accounts[account].over(below.Caps).over(p.Caps)
	return operation.Policy{
		MaxDeadlineSeconds:   int64(value(caps.MaxDeadlineSeconds)),
		MaxStatusRequests:    value(caps.MaxStatusRequests),
		MaxTransportFailures: value(caps.MaxTransportFailures),
		MaxRateLimited:       value(caps.MaxRateLimited),
		MaxExtensions:        caps.MaxExtensions,
		MinBaseDelaySeconds:  value(caps.MinBaseDelaySeconds),
		Grants: wire.GrantBounds{
			Seconds:           value(caps.Grants.Seconds),
			StatusRequests:    value(caps.Grants.StatusRequests),
			TransportFailures: value(caps.Grants.TransportFailures),
			RateLimited:       value(caps.Grants.RateLimited),
		},
	}
}

// over fills what c leaves open with what stands above it.
func (c Caps) over(above Caps) Caps {
	return Caps{
		MaxDeadlineSeconds:   cmp.Or(c.MaxDeadlineSeconds, above.MaxDeadlineSeconds),
		MaxStatusRequests:    cmp.Or(c.MaxStatusRequests, above.MaxStatusRequests),
		MaxTransportFailures: cmp.Or(c.MaxTransportFailures, above.MaxTransportFailures),
		MaxRateLimited:       cmp.Or(c.MaxRateLimited, above.MaxRateLimited),
		MaxExtensions:        cmp.Or(c.MaxExtensions, above.MaxExtensions),
		MinBaseDelaySeconds:  cmp.Or(c.MinBaseDelaySeconds, above.MinBaseDelaySeconds),
		Grants: GrantCaps{
			Seconds:           cmp.Or(c.Grants.Seconds, above.Grants.Seconds),
			StatusRequests:    cmp.Or(c.Grants.StatusRequests, above.Grants.StatusRequests),
			TransportFailures: cmp.Or(c.Grants.TransportFailures, above.Grants.TransportFailures),
			RateLimited:       cmp.Or(c.Grants.RateLimited, above.Grants.RateLimited),
		},
	}
}

func value(cap *int) int {
	if cap == nil {
		return 0
	}
	return *cap
}
