package activities

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"

	"go.temporal.io/sdk/activity"

	"github.com/jobwait/jobwait/internal/lanes"
	"github.com/jobwait/jobwait/internal/version"
	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// Options configure what the activities of a worker know and may reach. Only Tables is required.
type Options struct {
	// Tables are the state tables of the worker. Required.
	Tables *statetables.Set
	// Credentials resolves credential_ref: a CredentialsFile or a source of your own. Nil means that there are no credentials, so
	// that only tables without auth can be used.
	Credentials CredentialSource
	// Policy caps what specs may ask for (R29). The zero value caps nothing.
	Policy Policy
	// DecisionKeys are the public keys that are trusted to sign decisions: a DecisionKeysFile or a source of your own. Nil means
	// that decisions need no signature: whoever may send updates to the namespace may decide.
	DecisionKeys DecisionKeySource
	// Origins bound what this worker sends to each origin, and for how long the answer to one wait holds the others back. The
	// zero value sets no rate, and holds back for DefaultMaxHoldSeconds at most.
	Origins Origins
	// Notifier notifies people of escalations. Nil means a LogNotifier with Logger.
	Notifier Notifier
	// Destinations are where fetches may write results, by the names that their specs use. Nil means nowhere.
	Destinations map[string]Destination
	// Visibility finds earlier waits for a job. Nil means the client of the worker that runs the activity.
	Visibility Visibility
	// Outcomes tells how waits and submissions ended, for fetches: a credential is sent only for what one of them has found. Nil:
	// the client of the worker that runs the activity.
	Outcomes Outcomes
	// Logger receives what an operator should know, without URLs or secrets. Nil means slog.Default().
	Logger *slog.Logger
	// Proxy chooses the egress proxy of a request. Nil means HTTPS_PROXY, HTTP_PROXY and NO_PROXY of the environment.
	Proxy func(*http.Request) (*url.URL, error)
	// RootCAs verify the certificates of providers. Nil means those of the system.
	RootCAs *x509.CertPool
	// DialContext replaces the dialer, and with it the guard that keeps requests out of private networks (R52). With it a
	// test can serve any table from a server of its own. Nil means the guarded dialer.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

// Validate reports the first option that cannot be used.
func (o Options) Validate() error {
	if o.Tables == nil {
		return errors.New("activities: Tables is nil; load them with statetables.Load")
	}
	for _, source := range []any{o.Credentials, o.DecisionKeys} {
		if checked, ok := source.(interface{ Validate() error }); ok {
			if err := checked.Validate(); err != nil {
				return err
			}
		}
	}
	if err := o.Policy.Validate(); err != nil {
		return err
	}
	if err := o.Origins.Validate(); err != nil {
		return err
	}
	for name, destination := range o.Destinations {
		if err := destination.validate(); err != nil {
			return fmt.Errorf("destinations: %q: %w", name, err)
		}
	}
	return o.Policy.about(o.Tables)
}

// Activities are the activities of one worker. They are safe for concurrent use.
type Activities struct {
	tables       *statetables.Set
	credentials  CredentialSource
	policy       Policy
	decisionKeys DecisionKeySource
	notifier     Notifier
	visibility   Visibility
	outcomes     Outcomes
	logger       *slog.Logger
	sender       *sender
	destinations map[string]Destination
	lanes        *lanes.Set
}

// New returns the activities of a worker. The error is that of Options.Validate.
func New(options Options) (*Activities, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	a := &Activities{
		tables: options.Tables, credentials: options.Credentials, policy: options.Policy, decisionKeys: options.DecisionKeys,
		notifier: options.Notifier, visibility: options.Visibility, outcomes: options.Outcomes, logger: options.Logger,
		sender:       &sender{proxy: options.Proxy, dial: options.DialContext, rootCAs: options.RootCAs, userAgent: "jobwait/" + version.Module()},
		destinations: options.Destinations,
		lanes:        options.Origins.lanes(),
	}
	if a.credentials == nil {
		a.credentials = noCredentials{}
	}
	if a.logger == nil {
		a.logger = slog.Default()
	}
	if a.notifier == nil {
		a.notifier = LogNotifier{Logger: a.logger}
	}
	if a.sender.proxy == nil {
		a.sender.proxy = http.ProxyFromEnvironment
	}
	return a, nil
}

// Registry is the part of a worker, or of a test environment, that Register needs.
type Registry interface {
	RegisterActivityWithOptions(activity any, options activity.RegisterOptions)
}

// Register registers the activities under the names that workflows call them by.
func (a *Activities) Register(registry Registry) {
	for name, function := range map[string]any{
		wire.ActivityPrepare:          a.Prepare,
		wire.ActivityPollStatus:       a.PollStatus,
		wire.ActivityCancelAtProvider: a.CancelAtProvider,
		wire.ActivityNotify:           a.Notify,
		wire.ActivityTrustedKeys:      a.TrustedKeys,
		wire.ActivityFetchResult:      a.FetchResult,

		wire.ActivityPrepareSubmission: a.PrepareSubmission,
		wire.ActivitySubmit:            a.Submit,
		wire.ActivityFindOwner:         a.FindOwner,
		wire.ActivityAwaitOwner:        a.AwaitOwner,
	} {
		registry.RegisterActivityWithOptions(function, activity.RegisterOptions{Name: name})
	}
}
