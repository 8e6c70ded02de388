package workercmd

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/spf13/pflag"
	_ "gocloud.dev/blob/fileblob" // destinations in the file system; others are for workers of one's own

	"github.com/jobwait/jobwait"
	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/internal/connect"
	"github.com/jobwait/jobwait/internal/daemon"
	"github.com/jobwait/jobwait/notify"
	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

const usage = `worker waits for external jobs: it runs the workflows of jobwait and sends their requests to providers.

  worker --credentials credentials.yaml
  worker --credentials credentials.yaml --tables ./tables --policy policy.yaml
  worker --demo                          also knows demo-export, the provider of the demonstration

` + connect.Settings + `

SIGTERM and SIGINT stop it: it takes no new work and lets requests in flight finish, for --stop-timeout at most. A second
signal ends it at once. Give its supervisor a longer grace period than that. Logs go to stderr.

Exit codes: 0 stopped by a signal, 1 error, 2 wrong usage.

Flags:
`

// config is what the command line says.
type config struct {
	credentials, tables, policy string
	decisionKeys                string
	destinations                string
	origins                     string
	notify                      string
	callbacks, callbacksAddr    string
	taskQueue                   string
	demo                        bool
	healthAddr, metricsAddr     string
	stopTimeout                 time.Duration
	compress                    bool
	cachedWaits                 int
	log                         daemon.Log
}

// defaultCachedWaits is the SDK's own default.
const defaultCachedWaits = 10_000

func parse(args []string, stdout io.Writer) (config, error) {
	c := config{}
	if err := daemon.Parse("worker", usage, args, stdout, c.define); err != nil {
		return config{}, err
	}
	if err := c.log.Validate(); err != nil {
		return config{}, err
	}
	return c, c.validate()
}

func (c *config) define(flags *pflag.FlagSet) {
	flags.StringVar(&c.credentials, "credentials", "", "`file` that names credentials and where they may be sent; without it only providers without auth can be asked")
	flags.StringVar(&c.tables, "tables", "", "`directory` with state tables of your own, beside the built-in ones")
	flags.StringVar(&c.policy, "policy", "", "`file` that caps what specs may ask for")
	flags.StringVar(&c.decisionKeys, "decision-keys", "", "`file` with the public keys that decisions must be signed by; without it they need no signature")
	flags.StringVar(&c.destinations, "destinations", "", "`file` that names where results may be carried to")
	flags.StringVar(&c.origins, "origins", "", "`file` that bounds what this process sends to each origin, and how long a 429 answered to one wait holds the others back")
	flags.StringVar(&c.notify, "notify", "", "`file` that says by which channels people are told; without it they are told by the log")
	flags.StringVar(&c.callbacks, "callbacks", "", "`file` that names the webhooks of providers that are received, and where their secrets are")
	flags.StringVar(&c.callbacksAddr, "callbacks-addr", "", "`host:port` of POST /callbacks/ENDPOINT, for providers' webhooks; plain HTTP, for behind what speaks TLS (default off)")
	flags.StringVar(&c.taskQueue, "task-queue", wire.DefaultTaskQueue, "`name` of the task queue to work on")
	flags.BoolVar(&c.demo, "demo", false, "also load the table of demo-export, which accepts loopback addresses only")
	flags.StringVar(&c.healthAddr, "health-addr", "", "`host:port` of GET /healthz: 200 while it works, 503 before and after (default off)")
	flags.StringVar(&c.metricsAddr, "metrics-addr", "", "`host:port` of GET /metrics for Prometheus (default off)")
	flags.DurationVar(&c.stopTimeout, "stop-timeout", jobwait.DefaultStopTimeout, "how long a request in flight may go on after a signal; longer than the request_timeout_seconds of your specs")
	flags.BoolVar(&c.compress, "compress", false, "compress messages to Temporal with gzip; for a server that is far away, at about a tenth of the worker's CPU")
	flags.IntVar(&c.cachedWaits, "cached-waits", defaultCachedWaits, "`number` of waits kept in memory between their steps, about 55 KB each; one that is not kept costs a replay with each step")
	c.log.Define(flags)
}

func (c *config) validate() error {
	switch {
	case c.taskQueue == "":
		return daemon.Usagef("--task-queue is empty; leave it out for %s", wire.DefaultTaskQueue)
	case c.stopTimeout <= 0:
		return daemon.Usagef("--stop-timeout %s: a request in flight needs time to finish; give a duration above 0", c.stopTimeout)
	case c.cachedWaits < 1:
		return daemon.Usagef("--cached-waits %d: give a number above 0", c.cachedWaits)
	}
	if (c.callbacks == "") != (c.callbacksAddr == "") {
		return daemon.Usagef("--callbacks and --callbacks-addr belong together: what is received, and where")
	}
	for name, address := range map[string]string{"--health-addr": c.healthAddr, "--metrics-addr": c.metricsAddr, "--callbacks-addr": c.callbacksAddr} {
		if _, _, err := net.SplitHostPort(address); address != "" && err != nil {
			return daemon.Usagef("%s %q is not host:port, such as 127.0.0.1:9101", name, address)
		}
	}
	return nil
}

// options reads every file that the flags name, so that a fault in one is told before anything connects.
func (c *config) options(ctx context.Context, logger *slog.Logger) (jobwait.Options, error) {
	tables, err := statetables.Load(c.sources()...)
	if err != nil {
		return jobwait.Options{}, err
	}
	options := jobwait.Options{Tables: tables, Logger: logger}
	if c.credentials != "" {
		options.Credentials = activities.CredentialsFile(c.credentials)
	}
	if c.policy != "" {
		if options.Policy, err = activities.LoadPolicy(c.policy); err != nil {
			return jobwait.Options{}, err
		}
	}
	if c.decisionKeys != "" {
		options.DecisionKeys = activities.DecisionKeysFile(c.decisionKeys)
	}
	if c.origins != "" {
		if options.Origins, err = activities.LoadOrigins(c.origins); err != nil {
			return jobwait.Options{}, err
		}
	}
	if c.destinations != "" {
		if options.Destinations, err = activities.LoadDestinations(ctx, c.destinations); err != nil {
			return jobwait.Options{}, err
		}
	}
	if c.notify != "" {
		if options.Notifier, err = c.notifier(ctx, tables, logger); err != nil {
			return jobwait.Options{}, err
		}
	}
	return options, options.Validate()
}

// notifier tells people by the channels of the file, and the log besides.
func (c *config) notifier(ctx context.Context, tables *statetables.Set, logger *slog.Logger) (activities.Notifier, error) {
	options, err := notify.Load(c.notify)
	if err != nil {
		return nil, err
	}
	options.Logger = logger
	notifier, err := notify.New(ctx, options)
	if err != nil {
		return nil, err
	}
	for _, provider := range notifier.Providers() { // a misspelt name would be told of nothing
		if _, ok := tables.Table(provider); !ok {
			return nil, fmt.Errorf("notify: provider %q has no state table; known are %q", provider, tables.Providers())
		}
	}
	return notifier, nil
}

func (c *config) sources() []statetables.Source {
	sources := []statetables.Source{{FS: statetables.Builtin()}}
	if c.demo {
		sources = append(sources, statetables.Source{Name: "demo", FS: statetables.Demo()})
	}
	if c.tables != "" {
		sources = append(sources, statetables.Source{Name: c.tables, FS: os.DirFS(c.tables)})
	}
	return sources
}
