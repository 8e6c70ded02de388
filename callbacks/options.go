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

// Options configure a Receiver.
type Options struct {
	// Tables are the state tables of the worker. Required.
	Tables *statetables.Set
	// Endpoints are the endpoints that providers post to, 1 to 100.
	Endpoints []Endpoint
	// Limits bound what is accepted. The zero value means the defaults.
	Limits Limits
	// Metrics counts requests and nudges. Nil means that nothing is counted.
	Metrics client.MetricsHandler
	// Logger logs what an operator should look at, without any content of webhooks. Nil means slog.Default().
	Logger *slog.Logger
}

// Signaler sends the nudges. The client.Client of the namespace of the waits implements it.
type Signaler interface {
	SignalWorkflow(ctx context.Context, workflowID, runID, signalName string, arg any) error
}

// Endpoint is an endpoint for webhooks: /callbacks/<Name>, or /callbacks/<Name>/<job id> if the table has job_id: path.
type Endpoint struct {
	// Name is 1 to 64 of a-z, 0-9 and "-", beginning with a letter or digit. It need not be secret.
	Name string
	// Providers are the providers whose jobs the webhooks are about, 1 to 10. They must sign alike: a project of OpenAI, for example,
	// reports batches and responses to the same endpoint. Their tables must have a callback section.
	Providers []string
	// Account is the account of the waits, as in their specs. It may be empty only if the tables read it from the webhook. If both are
	// given, webhooks about another account are ignored.
	Account string
	// Secrets are the provider's secrets for this webhook, 1 to 5. Any of them is accepted, so that they can be rotated. They are read
	// when the receiver is made, and again at most every ten seconds.
	Secrets []activities.SecretSource
	// Header is the header that carries the token, if the table leaves its name to whoever sets up the webhook. Empty otherwise.
	Header string
}

// Limits bound what a Receiver accepts. 0 means the default of each.
type Limits struct {
	// PerSecond is the rate of requests from one address (an IPv6 /64 counts as one), 1 to 10,000, default 50. Burst is how many may
	// come at once, 1 to 100,000, default 200. Requests above are answered 429. Behind a proxy all requests have the same address.
	PerSecond, Burst int
	// Concurrent is how many requests are handled at the same time, 1 to 1,000, default 64. Requests above are answered 503.
	Concurrent int
	// MaxBodyBytes is the largest body, 1 KiB to 1 MiB, default 1 MiB. Larger ones are answered 413.
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

// Validate reports the first option that cannot be used. It does not read secrets.
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
