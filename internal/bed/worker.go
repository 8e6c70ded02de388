package bed

import (
	"context"
	"fmt"
	"log/slog"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
	"github.com/jobwait/jobwait/workflows"
)

// WorkerOptions say how a worker of this process runs. The zero value is a stock worker with the built-in and the demo
// tables and the provider's key as the credential "demo".
type WorkerOptions struct {
	// TaskQueue defaults to wire.DefaultTaskQueue.
	TaskQueue string
	// Credentials replaces the credentials.
	Credentials activities.CredentialSource
	// Tables are read beside the built-in ones.
	Tables []statetables.Source
	// Policy caps what specs may ask for.
	Policy activities.Policy
	// DecisionKeys are the keys that decisions must be signed by.
	DecisionKeys activities.DecisionKeySource
	// Origins bound what is sent. Nil: answers hold nobody back, since the waits of a bed share its one provider and credential
	// and have nothing else to do with each other.
	Origins *activities.Origins
	// Destinations are where results may be carried.
	Destinations map[string]activities.Destination
	// Notifier replaces the one that logs to nobody.
	Notifier activities.Notifier
	// Worker are the SDK's options.
	Worker worker.Options
	// Client replaces the bed's.
	Client client.Client
}

// Work starts a worker and returns what stops it.
func (b *Bed) Work(options WorkerOptions) (stop func(), err error) {
	if options.TaskQueue == "" {
		options.TaskQueue = wire.DefaultTaskQueue
	}
	if options.Client == nil {
		options.Client = b.Client
	}
	if options.Origins == nil {
		options.Origins = &activities.Origins{Default: activities.OriginLimits{MaxHoldSeconds: new(int)}}
	}
	if options.Credentials == nil {
		options.Credentials = Credentials{"demo": b.Credential("1", Key)}
	}
	acts, err := newActivities(options)
	if err != nil {
		return nil, err
	}
	running := worker.New(options.Client, options.TaskQueue, options.Worker)
	if !options.Worker.DisableWorkflowWorker {
		workflows.Register(running)
	}
	acts.Register(running)
	return running.Stop, running.Start()
}

func newActivities(options WorkerOptions) (*activities.Activities, error) {
	tables, err := statetables.Load(append([]statetables.Source{
		{FS: statetables.Builtin()}, {Name: "demo", FS: statetables.Demo()},
	}, options.Tables...)...)
	if err != nil {
		return nil, err
	}
	return activities.New(activities.Options{
		Tables: tables, Credentials: options.Credentials, Policy: options.Policy, Notifier: options.Notifier,
		DecisionKeys: options.DecisionKeys,
		Destinations: options.Destinations,
		Origins:      *options.Origins,
		Logger:       slog.New(slog.DiscardHandler),
	})
}

// Credentials are credentials in memory.
type Credentials map[string]activities.Credential

// Credential implements activities.CredentialSource.
func (c Credentials) Credential(_ context.Context, name string) (activities.Credential, error) {
	if credential, ok := c[name]; ok {
		return credential, nil
	}
	return activities.Credential{}, fmt.Errorf("%w %q", activities.ErrUnknownCredential, name)
}

// Credential is one version of a credential for the bed's provider.
func (b *Bed) Credential(version, key string) activities.Credential {
	return activities.Credential{
		Version: version, Origins: []string{b.Provider.URL()},
		Read: func(context.Context) (activities.Secret, error) { return activities.NewSecret(key) },
	}
}
