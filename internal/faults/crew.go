package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/internal/child"
	"github.com/jobwait/jobwait/signing"
	"github.com/jobwait/jobwait/wire"
)

// crew is all processes of a run.
type crew struct {
	binaries Binaries
	options  Options
	temporal backend
	provider *provider
	client   client.Client
	keys     map[string]signing.PrivateKey // by the person that they sign for
	workers  *workers
	logs     []*os.File
}

// newCrew starts the server, the provider and the workers. fail is called if workers keep ending.
func newCrew(ctx context.Context, options Options, plan Plan, binaries Binaries, fail func(error)) (*crew, error) {
	c := &crew{binaries: binaries, options: options}
	c.workers = newWorkers(options, c.worker, fail)
	if err := c.begin(ctx, plan); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *crew) begin(ctx context.Context, plan Plan) error {
	if err := c.startProvider(plan); err != nil {
		return err
	}
	if err := c.startServer(ctx); err != nil {
		return err
	}
	if err := c.writeFiles(plan); err != nil {
		return err
	}
	var err error
	hostPort, namespace := c.temporal.address()
	c.client, err = client.DialContext(ctx, client.Options{
		HostPort: hostPort, Namespace: namespace, Identity: "faults",
		Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		return err
	}
	for worker := range c.options.places() {
		if err := c.workers.start(Fault{Worker: worker, Build: Old}); err != nil {
			return err
		}
	}
	return nil
}

func (c *crew) startProvider(plan Plan) error {
	address, err := freeAddress()
	if err != nil {
		return err
	}
	out, err := c.logFile("provider.log")
	if err != nil {
		return err
	}
	c.provider = &provider{binary: c.binaries.Provider, address: address, dir: c.options.Dir, jobs: plan.scripts(), reports: plan.reports(), log: out}
	return c.provider.start()
}

func (c *crew) startServer(ctx context.Context) error {
	log, err := c.logFile("server.log")
	if err != nil {
		return err
	}
	started, err := startBackend(ctx, c.options, log)
	if err == nil {
		c.temporal = started
	}
	return err
}

// writeCredentials writes the provider's key under several names: that of the waits that share it, the one that a person puts in
// place of a refused one, and one for each wait that has its own.
func (c *crew) writeCredentials(plan Plan) error {
	var text strings.Builder
	text.WriteString("credentials:\n")
	for name, approval := range plan.credentials() {
		fmt.Fprintf(&text, "  %s: {version: \"1\", env: FAULTS_KEY, origins: [\"http://%s\"], approval: %s}\n", name, c.provider.address, approval)
	}
	return os.WriteFile(c.file("credentials.yaml"), []byte(text.String()), 0o600)
}

// writePolicy writes the policy that caps what a decision may grant.
func (c *crew) writePolicy() error {
	text := fmt.Sprintf("grants: {seconds: %d, status_requests: %d, transport_failures: %d, rate_limited: %d}\n",
		most.Seconds, most.StatusRequests, most.TransportFailures, most.RateLimited)
	return os.WriteFile(c.file("policy.yaml"), []byte(text), 0o600)
}

// most is what one decision may grant.
var most = wire.GrantBounds{Seconds: 45, StatusRequests: 6, TransportFailures: 4, RateLimited: 3} //nolint:gochecknoglobals // a constant in all but the language

// writeFiles writes the files that the workers read.
func (c *crew) writeFiles(plan Plan) error {
	if err := os.MkdirAll(c.file("tables"), 0o700); err != nil {
		return err
	}
	return errors.Join(c.writeCredentials(plan), c.writePolicy(), bed.WriteTables(c.file("tables")), c.writeKeys())
}

// writeKeys makes a signing key for each of the people, or reads those of an earlier run, and writes the list of trusted keys.
func (c *crew) writeKeys() error {
	c.keys = map[string]signing.PrivateKey{}
	text := "keys:\n"
	for _, who := range []string{ana, ben} {
		file := c.file(who + ".key")
		key, err := signing.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			if key, err = signing.New(strings.TrimSuffix(who, "@example.com"), who); err == nil {
				err = key.WriteFile(file)
			}
		}
		if err != nil {
			return err
		}
		c.keys[who] = key
		public := key.Public()
		text += fmt.Sprintf("  %s: {public_key: %q, decided_by: %q}\n", public.KeyID, public.PublicKey, public.DecidedBy)
	}
	return os.WriteFile(c.file("keys.yaml"), []byte(text), 0o600)
}

// trusted returns the keys one of which must sign each decision on a wait; nil if decisions need no signature.
func (c *crew) trusted(w Wait) []wire.DecisionKey {
	if !w.Signed {
		return nil
	}
	var keys []wire.DecisionKey
	for _, key := range c.keys {
		keys = append(keys, key.Public())
	}
	return keys
}

func (c *crew) file(name string) string { return filepath.Join(c.options.Dir, name) }

func (c *crew) logFile(name string) (io.Writer, error) {
	file, err := appendTo(c.file(name))
	if err == nil {
		c.logs = append(c.logs, file)
	}
	return file, err
}

func appendTo(file string) (*os.File, error) {
	return os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
}

// stopTimeout is longer than a request, so that a worker that is told to stop finishes what it has sent.
const stopTimeout = 8 * time.Second

// signedQueue is the task queue of the waits whose decisions must be signed.
const signedQueue = "jobwait-signed"

// worker returns the command of a worker.
func (c *crew) worker(as Fault) child.Command {
	args := []string{
		"--demo", "--tables", c.file("tables"), "--credentials", c.file("credentials.yaml"), "--policy", c.file("policy.yaml"),
		"--stop-timeout", stopTimeout.String(), "--log-level", "warn",
	}
	if as.Worker == c.options.signedPlace() {
		args = append(args, "--task-queue", signedQueue, "--decision-keys", c.file("keys.yaml"))
	}
	hostPort, namespace := c.temporal.address()
	return child.Command{
		Path: c.binaries.Workers[as.Build], Args: args,
		Env: []string{"FAULTS_KEY=" + providerKey, "TEMPORAL_ADDRESS=" + hostPort, "TEMPORAL_NAMESPACE=" + namespace},
	}
}

// do carries out a fault.
func (c *crew) do(ctx context.Context, fault Fault) error {
	switch fault.Do {
	case KillWorker, StopWorker, FreezeWorker, ThawWorker:
		return c.workers.signal(fault)
	case StartWorker:
		return c.workers.start(fault)
	case FinishUpgrade:
		return c.workers.finishUpgrade()
	case KillServer, StopServer, CrashDatabase, KillDatabase:
		c.workers.serverLeaves()
		return c.temporal.do(ctx, fault.Do)
	case StartServer, StartDatabase:
		defer c.workers.serverIsBack()
		return c.temporal.do(ctx, fault.Do)
	case StopProvider:
		return c.provider.stop()
	case StartProvider:
		return c.provider.start()
	default:
		return fmt.Errorf("faults: action %q", fault.Do)
	}
}

// close ends all processes and closes their logs.
func (c *crew) close() error {
	var errs []error
	if c.client != nil {
		c.client.Close()
	}
	errs = append(errs, c.workers.close())
	if c.temporal != nil {
		errs = append(errs, c.temporal.close())
	}
	if c.provider != nil {
		errs = append(errs, c.provider.stop())
	}
	for _, file := range c.logs {
		errs = append(errs, file.Close())
	}
	return errors.Join(errs...)
}

// pause sleeps, unless the run ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
