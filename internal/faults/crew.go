package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/internal/child"
	"github.com/jobwait/jobwait/signing"
	"github.com/jobwait/jobwait/wire"
)

// crew is every process of a run.
type crew struct {
	binaries Binaries
	options  Options
	temporal backend
	provider *provider
	client   client.Client
	keys     map[string]signing.PrivateKey // by whom they sign for

	workers []*child.Process // by place; nil: nobody
	builds  []Build          // by place, of the last worker there
	leaving []*child.Process // told to stop, and not waited for
	logs    []*os.File
}

// newCrew starts the server and the provider, and as many workers as are wanted.
func newCrew(ctx context.Context, options Options, plan Plan, binaries Binaries) (*crew, error) {
	c := &crew{binaries: binaries, options: options, workers: make([]*child.Process, options.places()), builds: make([]Build, options.places())}
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
	for worker := range c.workers {
		if err := c.startWorker(Fault{Worker: worker, Build: Old}); err != nil {
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

// writeCredentials names the key for those who share it, once more for a person to put in a refused one's place, and for each wait
// that has one of its own.
func (c *crew) writeCredentials(plan Plan) error {
	var text strings.Builder
	text.WriteString("credentials:\n")
	for _, name := range plan.credentials() {
		fmt.Fprintf(&text, "  %s: {version: \"1\", env: FAULTS_KEY, origins: [\"http://%s\"]}\n", name, c.provider.address)
	}
	return os.WriteFile(c.file("credentials.yaml"), []byte(text.String()), 0o600)
}

// writeFiles writes what the workers read.
func (c *crew) writeFiles(plan Plan) error {
	if err := os.MkdirAll(c.file("tables"), 0o700); err != nil {
		return err
	}
	return errors.Join(c.writeCredentials(plan), bed.WriteTables(c.file("tables")), c.writeKeys())
}

// writeKeys makes a key for each of the people, or takes those that a run has left, and has them trusted.
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

// trusted are the keys of which one must have signed a decision on a wait.
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
	if !filepath.IsAbs(name) {
		name = c.file(name)
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		c.logs = append(c.logs, file)
	}
	return file, err
}

// stopTimeout is longer than a request, so that a worker that is told to stop finishes those it has sent.
const stopTimeout = 8 * time.Second

func workerName(worker int) string { return "worker-" + strconv.Itoa(worker+1) }

// signedQueue is where the waits are whose decisions must be signed.
const signedQueue = "jobwait-signed"

// startWorker starts a worker in a place that is free.
func (c *crew) startWorker(as Fault) error {
	if c.worker(as.Worker) != nil {
		return nil
	}
	out, err := c.workerLog(as)
	if err != nil {
		return err
	}
	args := []string{
		"--demo", "--tables", c.file("tables"), "--credentials", c.file("credentials.yaml"), "--stop-timeout", stopTimeout.String(), "--log-level", "warn",
	}
	if as.Worker == c.options.signedPlace() {
		args = append(args, "--task-queue", signedQueue, "--decision-keys", c.file("keys.yaml"))
	}
	hostPort, namespace := c.temporal.address()
	started, err := child.Start(child.Command{
		Path: c.binaries.Workers[as.Build], Args: args, Log: out,
		Env: []string{"FAULTS_KEY=" + providerKey, "TEMPORAL_ADDRESS=" + hostPort, "TEMPORAL_NAMESPACE=" + namespace},
	})
	c.workers[as.Worker], c.builds[as.Worker] = started, as.Build
	return err
}

// workerLog is where a worker writes: to its file, or to a device that has no space left for it.
func (c *crew) workerLog(as Fault) (io.Writer, error) {
	if as.FullDisk {
		return c.logFile(fullDevice)
	}
	return c.logFile(workerName(as.Worker) + ".log")
}

// fullDevice refuses every byte as a full disk does.
const fullDevice = "/dev/full"

// worker is the process in that place; nil: none that runs.
func (c *crew) worker(worker int) *child.Process {
	if p := c.workers[worker]; p != nil && p.Runs() {
		return p
	}
	return nil
}

// do carries out a fault.
func (c *crew) do(ctx context.Context, fault Fault) error {
	switch fault.Do {
	case KillWorker, StopWorker, FreezeWorker, ThawWorker:
		return c.signalWorker(fault)
	case StartWorker:
		return c.replaceWorker(fault)
	case FinishUpgrade:
		return c.finishUpgrade()
	case KillServer, StopServer, StartServer, CrashDatabase, KillDatabase, StartDatabase:
		return c.temporal.do(ctx, fault.Do)
	case StopProvider:
		return c.provider.stop()
	case StartProvider:
		return c.provider.start()
	default:
		return fmt.Errorf("faults: action %q", fault.Do)
	}
}

func (c *crew) signalWorker(fault Fault) error {
	p := c.worker(fault.Worker)
	if p == nil {
		return nil
	}
	return p.Signal(map[Action]os.Signal{
		KillWorker: os.Kill, StopWorker: syscall.SIGTERM, FreezeWorker: freeze, ThawWorker: thaw,
	}[fault.Do])
}

// replaceWorker does not wait for a worker that is told to stop: the two are there side by side, as in a rolling upgrade.
func (c *crew) replaceWorker(fault Fault) error {
	if old := c.worker(fault.Worker); old != nil {
		c.leaving = append(c.leaving, old)
		c.workers[fault.Worker] = nil
	}
	return c.startWorker(fault)
}

// finishUpgrade replaces the old workers that the rollout has left.
func (c *crew) finishUpgrade() error {
	var errs []error
	for worker, build := range c.builds {
		if p := c.worker(worker); p != nil && build == Old {
			errs = append(errs, p.Signal(thaw), p.Signal(syscall.SIGTERM), c.replaceWorker(Fault{Worker: worker, Build: New}))
		}
	}
	return errors.Join(errs...)
}

// mend brings back whatever is down, at the end of the faults.
func (c *crew) mend() error {
	var errs []error
	for worker := range c.workers {
		if p := c.worker(worker); p != nil {
			errs = append(errs, p.Signal(thaw))
		}
		errs = append(errs, c.startWorker(Fault{Worker: worker, Build: New}))
	}
	return errors.Join(errs...)
}

// close ends every process and closes what they wrote to.
func (c *crew) close() error {
	var errs []error
	if c.client != nil {
		c.client.Close()
	}
	for _, p := range append(c.leaving, c.workers...) {
		if p != nil {
			errs = append(errs, p.Kill())
		}
	}
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

// pause lets time pass, unless the run ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
