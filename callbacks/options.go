package callbacks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"

	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/statetables"
)

const (
	// maxEndpoints bounds the endpoints of a worker; their names stand in metrics.
	maxEndpoints = 100
	// maxSecrets bounds the secrets of an endpoint, each of which is tried.
	maxSecrets = 5
	// maxProviders bounds the tables that look at one webhook.
	maxProviders = 10
)

// Options say which webhooks are received.
type Options struct {
	// Tables are the state tables of the worker. Required.
	Tables *statetables.Set
	// Endpoints are what providers post to, 1 to 100.
	Endpoints []Endpoint
	// Limits bound what arrives. The zero value sets the defaults.
	Limits Limits
	// Metrics counts what arrives and what became of it. Nil: nothing is counted.
	Metrics client.MetricsHandler
	// Logger is told of what an operator should look at, without anything that arrived. Nil: slog.Default().
	Logger *slog.Logger
}

// Signaler sends the nudges: the client.Client of the namespace in which the waits are.
type Signaler interface {
	SignalWorkflow(ctx context.Context, workflowID, runID, signalName string, arg any) error
}

// Endpoint is what a provider posts to: /callbacks/<Name>, and with job_id: path in the table /callbacks/<Name>/<job id>.
type Endpoint struct {
	// Name is 1 to 64 of a-z, 0-9 and "-", beginning with a letter or digit. Nobody needs to guess it: it is no secret.
	Name string
	// Providers are those whose jobs the webhooks are about, 1 to 10, which sign alike: one project of OpenAI reports of batches and of
	// responses to one endpoint. Their tables must have a callback.
	Providers []string
	// Account is that of the waits, as specs write it. Empty only where the tables read it from the webhook; where both say it,
	// a webhook about another account is passed over.
	Account string
	// Secrets are the provider's secrets for this webhook, 1 to 5. Any of them is accepted, so that they can be rotated. They are read
	// when the receiver is made, and again at most every ten seconds.
	Secrets []activities.SecretSource
	// Header is the header that carries the token, if the table leaves its name to whoever sets up the webhook. Empty otherwise.
	Header string
}

// Limits bound what arrives. 0 is the default of each.
type Limits struct {
	// PerSecond is how many requests a second are looked at from one address (an IPv6 network of 64 bits is one), and Burst how many
	// at once. Above it, 429. 1 to 10,000, default 50; 1 to 100,000, default 200. Behind a proxy all come from one.
	PerSecond, Burst int
	// Concurrent is how many are looked at at the same time; above it, 503. 1 to 1,000, default 64.
	Concurrent int
	// MaxBodyBytes bounds a body; above it, 413. 1 KiB to 1 MiB, default 1 MiB.
	MaxBodyBytes int
}

func (l Limits) withDefaults() Limits {
	set := func(value *int, usual int) {
		if *value == 0 {
			*value = usual
		}
	}
	set(&l.PerSecond, 50)
	set(&l.Burst, 200)
	set(&l.Concurrent, 64)
	set(&l.MaxBodyBytes, statetables.MaxBodyBytes)
	return l
}

// Validate reports the first limit that is out of its range.
func (l Limits) Validate() error {
	l = l.withDefaults()
	for _, limit := range []struct {
		name               string
		value, least, most int
	}{
		{"per_second", l.PerSecond, 1, 10_000},
		{"burst", l.Burst, 1, 100_000},
		{"concurrent", l.Concurrent, 1, 1000},
		{"max_body_bytes", l.MaxBodyBytes, 1 << 10, statetables.MaxBodyBytes},
	} {
		if limit.value < limit.least || limit.value > limit.most {
			return fmt.Errorf("callbacks: limits: %s is %d, allowed is %d to %d", limit.name, limit.value, limit.least, limit.most)
		}
	}
	return nil
}

// Validate reports the first option that cannot be used. Secrets are not read.
func (o Options) Validate() error {
	switch {
	case o.Tables == nil:
		return errors.New("callbacks: Tables is nil; load them with statetables.Load")
	case len(o.Endpoints) < 1 || len(o.Endpoints) > maxEndpoints:
		return fmt.Errorf("callbacks: endpoints has %d entries, allowed is 1 to %d", len(o.Endpoints), maxEndpoints)
	}
	names := map[string]bool{}
	for _, endpoint := range o.Endpoints {
		if err := endpoint.validate(o.Tables); err != nil {
			return fmt.Errorf("callbacks: endpoint %q: %w", endpoint.Name, err)
		}
		if names[endpoint.Name] {
			return fmt.Errorf("callbacks: endpoint %q is listed twice", endpoint.Name)
		}
		names[endpoint.Name] = true
	}
	return o.Limits.Validate()
}

var (
	endpointShape = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)
	headerShape   = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)
)

func (e Endpoint) validate(tables *statetables.Set) error {
	switch {
	case !endpointShape.MatchString(e.Name):
		return errors.New("its name is not 1 to 64 of a-z, 0-9 and -")
	case len(e.Providers) < 1 || len(e.Providers) > maxProviders:
		return fmt.Errorf("providers has %d entries, allowed is 1 to %d", len(e.Providers), maxProviders)
	case len(e.Secrets) < 1 || len(e.Secrets) > maxSecrets:
		return fmt.Errorf("secrets has %d entries, allowed is 1 to %d", len(e.Secrets), maxSecrets)
	case slices.ContainsFunc(e.Secrets, func(secret activities.SecretSource) bool { return secret == nil }):
		return errors.New("a secret is nil")
	}
	first, err := e.callback(tables, e.Providers[0])
	if err != nil {
		return err
	}
	for _, provider := range e.Providers {
		if err := e.validateProvider(tables, provider, first.Signature()); err != nil {
			return err
		}
	}
	return e.validateHeader(first.Signature())
}

func (e Endpoint) validateProvider(tables *statetables.Set, provider string, signature statetables.Signature) error {
	callback, err := e.callback(tables, provider)
	switch {
	case err != nil:
		return err
	case callback.Signature() != signature:
		return fmt.Errorf("%s signs otherwise than %s; give it an endpoint of its own", provider, e.Providers[0])
	case e.Account == "" && !callback.ReadsAccount():
		return fmt.Errorf("account is missing: webhooks of %s do not name it", provider)
	}
	return nil
}

func (Endpoint) callback(tables *statetables.Set, provider string) (*statetables.Callback, error) {
	table, ok := tables.Table(provider)
	if !ok {
		return nil, fmt.Errorf("provider %q has no state table", provider)
	}
	callback, ok := table.Callback()
	if !ok {
		return nil, fmt.Errorf("the table of %s has no callback, so its webhooks cannot be checked", provider)
	}
	return callback, nil
}

func (e Endpoint) validateHeader(signature statetables.Signature) error {
	open := signature.Scheme == statetables.SchemeToken && signature.Header == ""
	switch {
	case open && !headerShape.MatchString(e.Header):
		return errors.New("header is missing: the one that was chosen for the token when the webhook was set up")
	case !open && e.Header != "":
		return errors.New("header is given, but the table says where the signature stands; remove it")
	}
	return nil
}
