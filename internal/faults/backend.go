package faults

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/jobwait/jobwait/internal/cluster"
	"github.com/jobwait/jobwait/internal/devserver"
)

// ClusterPostgres is the value of Options.Cluster for a server on PostgreSQL.
const ClusterPostgres = "postgres"

// backend is the Temporal of a run. Faults can hit its server, and its database if it has one.
type backend interface {
	address() (hostPort, namespace string)
	do(ctx context.Context, action Action) error
	close() error
}

// usualEventsPerRun makes most of the longer waits continue as new several times.
const usualEventsPerRun = 120

func suggestion(options Options) string {
	return fmt.Sprintf("limit.historyCount.suggestContinueAsNew=%d", cmp.Or(options.EventsPerRun, usualEventsPerRun))
}

func startBackend(ctx context.Context, options Options, log io.Writer) (backend, error) {
	if options.Cluster == ClusterPostgres {
		return startProduction(ctx, options)
	}
	return startDevelopment(ctx, options, log)
}

// development is the development server with its state in a SQLite file.
type development struct {
	options devserver.Options
	server  *devserver.Server
}

func startDevelopment(ctx context.Context, options Options, log io.Writer) (*development, error) {
	d := &development{options: devserver.Options{
		Executable: options.Temporal, DBFilename: filepath.Join(options.Dir, "temporal.db"),
		SearchAttributes: true, FastTimers: true, DynamicConfig: []string{suggestion(options)}, LogWriter: log,
	}}
	var err error
	if d.options.Executable.Path == "" {
		if d.options.Executable, err = devserver.Find(ctx, os.Stderr); err != nil {
			return nil, err
		}
	}
	if d.server, err = devserver.Start(ctx, d.options); err != nil {
		return nil, err
	}
	d.options.Port = d.server.Port
	return d, nil
}

func (d *development) address() (hostPort, namespace string) {
	return d.server.Address, d.server.Namespace
}

func (d *development) do(ctx context.Context, action Action) error {
	switch action { //nolint:exhaustive // the others are not the server's
	case KillServer:
		return d.server.Kill()
	case StopServer:
		return d.server.Stop()
	case StartServer:
		return d.restart(ctx)
	default:
		return fmt.Errorf("faults: a development server cannot %q", action)
	}
}

// restart starts the server on its port, which may stay taken for a moment after a process was killed.
func (d *development) restart(ctx context.Context) error {
	var err error
	for range 10 {
		var server *devserver.Server
		if server, err = devserver.Start(ctx, d.options); err == nil {
			d.server = server
			return nil
		}
		pause(ctx, time.Second)
	}
	return err
}

func (d *development) close() error { return d.server.Stop() }

// production is a server on PostgreSQL.
type production struct{ *cluster.Cluster }

func startProduction(ctx context.Context, options Options) (production, error) {
	programs, err := cluster.Find(ctx, os.Stderr)
	if err != nil {
		return production{}, err
	}
	opened, err := cluster.Open(ctx, cluster.Options{
		Programs: programs, Dir: filepath.Join(options.Dir, "cluster"), DynamicConfig: []string{suggestion(options)},
	})
	return production{opened}, err
}

func (p production) address() (hostPort, namespace string) { return p.Address, p.Namespace }

func (p production) do(ctx context.Context, action Action) error {
	switch action { //nolint:exhaustive // the others are not the cluster's
	case KillServer:
		return p.KillServer()
	case StopServer:
		return p.StopServer()
	case StartServer:
		return p.StartServer(ctx)
	case CrashDatabase:
		return p.CrashDatabase()
	case KillDatabase:
		return p.KillDatabase()
	case StartDatabase:
		return p.StartDatabase(ctx)
	default:
		return fmt.Errorf("faults: a cluster cannot %q", action)
	}
}

func (p production) close() error { return p.Close() }
