package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait/internal/child"
)

const (
	host      = "127.0.0.1"
	plugin    = "postgres12_pgx"
	namespace = "default"
	// It serves in half a second and stops in some; a loaded machine gets more.
	serverPatience = time.Minute
)

// Options say what a cluster is made of. Programs and Dir are required.
type Options struct {
	// Programs is what [Find] returned.
	Programs Programs
	// Dir keeps the database, the configuration and the logs. A cluster that is opened on the directory of an earlier one goes on
	// where that one ended. Root runs PostgreSQL as the user postgres, who has to be able to enter it.
	Dir string
	// DynamicConfig are server settings, each KEY=VALUE with a JSON value.
	DynamicConfig []string
}

// Cluster is a running cluster.
type Cluster struct {
	// Address is host:port for Temporal clients, Namespace one that exists and knows jobwait's search attributes.
	Address, Namespace string

	options  Options
	postgres *postgres
	config   config
	log      *os.File
	server   *child.Process
}

// Open starts PostgreSQL and the server and returns once clients can use them. The context bounds the start, not the cluster's
// life: call Close.
func Open(ctx context.Context, options Options) (*Cluster, error) {
	c := &Cluster{Namespace: namespace, options: options}
	if err := c.open(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Cluster) open(ctx context.Context) error {
	if err := c.prepare(ctx); err != nil {
		return err
	}
	if err := c.StartDatabase(ctx); err != nil {
		return err
	}
	if err := c.schema(ctx); err != nil {
		return err
	}
	if err := c.StartServer(ctx); err != nil {
		return err
	}
	return c.furnish(ctx)
}

// prepare makes what the processes read, at ports that nobody else uses.
func (c *Cluster) prepare(ctx context.Context) error {
	var err error
	if c.options.Dir, err = filepath.Abs(c.options.Dir); err != nil {
		return err
	}
	if err := os.MkdirAll(c.options.Dir, 0o711); err != nil { // to be entered by PostgreSQL's user, and not read
		return err
	}
	chosen, err := choosePorts(ctx)
	if err != nil {
		return err
	}
	if err := c.preparePostgres(ctx, chosen.Database); err != nil {
		return err
	}
	c.config = config{
		ports: chosen, Host: host, User: dbUser, Password: c.postgres.password, Plugin: plugin,
		DynamicConfig: filepath.Join(c.options.Dir, "dynamic.yaml"),
	}
	c.Address = net.JoinHostPort(host, strconv.Itoa(chosen.Frontend))
	if c.log, err = c.logFile("server.log"); err != nil {
		return err
	}
	return c.writeConfig()
}

func (c *Cluster) preparePostgres(ctx context.Context, port int) error {
	account, err := postgresUser()
	if err != nil {
		return err
	}
	log, err := c.logFile("postgres.log")
	if err != nil {
		return err
	}
	c.postgres = &postgres{programs: c.options.Programs.Postgres, dir: c.options.Dir, port: port, user: account, log: log}
	return c.postgres.prepare(ctx)
}

func (c *Cluster) logFile(name string) (*os.File, error) {
	return os.OpenFile(filepath.Join(c.options.Dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
}

func (c *Cluster) configFile() string { return filepath.Join(c.options.Dir, "server.yaml") }

func (c *Cluster) writeConfig() error {
	text, err := dynamicConfig(append([]string{
		"frontend.enableServerVersionCheck=false", // a local server has no business on the network
		`system.namespaceCacheRefreshInterval="2s"`,
	}, c.options.DynamicConfig...))
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.config.DynamicConfig, []byte(text), 0o600); err != nil {
		return err
	}
	return c.config.write(c.configFile())
}

// StartDatabase starts PostgreSQL and returns once it takes connections; after a crash it recovers first.
func (c *Cluster) StartDatabase(ctx context.Context) error { return c.postgres.start(ctx) }

// CrashDatabase ends every process of PostgreSQL at once, with nothing written: what `pg_ctl stop -m immediate` does.
func (c *Cluster) CrashDatabase() error { return c.postgres.crash() }

// KillDatabase kills PostgreSQL's first process; the others end when they notice.
func (c *Cluster) KillDatabase() error { return c.postgres.kill() }

// StartServer starts the Temporal server at its address and returns once it serves. One that ends on the way, because the port of
// a killed one is still held or the database is away, is started again until a minute has passed.
func (c *Cluster) StartServer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, serverPatience)
	defer cancel()
	for {
		var err error
		c.server, err = child.Start(child.Command{
			Path: c.options.Programs.Server, Dir: c.options.Dir, Log: c.log,
			Args: []string{"--config-file", c.configFile(), "--allow-no-auth", "start"},
		})
		if err != nil {
			return err
		}
		if c.awaitServer(ctx) {
			return nil
		}
		if ctx.Err() != nil {
			return errors.Join(fmt.Errorf("cluster: the server does not serve: %w; its last words:\n%s", ctx.Err(), lastWords(c.log)), c.server.Kill())
		}
		pause(ctx, time.Second)
	}
}

// awaitServer reports whether the server serves; false: it has ended, or the time is over.
func (c *Cluster) awaitServer(ctx context.Context) bool {
	for ctx.Err() == nil && c.server.Runs() {
		if c.serves(ctx) {
			return true
		}
		pause(ctx, checkEvery)
	}
	return false
}

func (c *Cluster) serves(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	asking, err := client.DialContext(ctx, c.clientOptions())
	if err != nil {
		return false
	}
	defer asking.Close()
	_, err = asking.CheckHealth(ctx, &client.CheckHealthRequest{})
	return err == nil
}

// StopServer stops the server in order.
func (c *Cluster) StopServer() error { return c.server.Stop(syscall.SIGTERM, serverPatience) }

// KillServer ends the server as a crash would.
func (c *Cluster) KillServer() error { return c.server.Kill() }

// Close ends everything, the server before the database.
func (c *Cluster) Close() error {
	var errs []error
	if c.server != nil {
		errs = append(errs, c.StopServer())
	}
	if c.log != nil {
		errs = append(errs, c.log.Close())
	}
	if c.postgres != nil {
		errs = append(errs, c.postgres.stop(), c.postgres.log.Close())
	}
	return errors.Join(errs...)
}

// The server keeps ports in a signed column of 16 bits. These are also below those that systems give to outgoing connections.
const lowestPort, highestPort = 15000, 32000

// choosePorts finds free ports. They are held until all are chosen, so that none is chosen twice.
func choosePorts(ctx context.Context) (ports, error) {
	var chosen ports
	for _, port := range chosen.all() {
		listener, err := listen(ctx)
		if err != nil {
			return chosen, fmt.Errorf("cluster: a free port: %w", err)
		}
		defer listener.Close()
		*port = listener.Addr().(*net.TCPAddr).Port
	}
	return chosen, nil
}

func listen(ctx context.Context) (listener net.Listener, err error) {
	var config net.ListenConfig
	for range 100 {
		port := lowestPort + rand.IntN(highestPort-lowestPort) //nolint:gosec // any port will do
		if listener, err = config.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port))); err == nil {
			return listener, nil
		}
	}
	return nil, err
}
