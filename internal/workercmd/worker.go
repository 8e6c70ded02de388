// Package workercmd is the stock worker as a command.
package workercmd

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/jobwait/jobwait"
	"github.com/jobwait/jobwait/internal/connect"
	"github.com/jobwait/jobwait/internal/daemon"
	"github.com/jobwait/jobwait/internal/monitor"
)

// Main runs the command and ends the process with its exit code.
func Main() { daemon.Main("worker", run) }

// run works until the context ends. Whatever can be wrong with flags and files is found before it connects.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	config, err := parse(args, stdout)
	if err != nil {
		return err
	}
	logger := config.log.Logger(stderr)
	options, err := config.options(ctx, logger)
	if err != nil {
		return err
	}
	plugin, err := jobwait.NewPlugin(options)
	if err != nil {
		return err
	}
	monitored, err := monitor.New(ctx, config.healthAddr, config.metricsAddr)
	if err != nil {
		return err
	}
	defer func() { _ = monitored.Close() }()
	calls, err := listenForCallbacks(ctx, config, options.Tables, monitored.Handler, logger)
	if err != nil {
		return err
	}
	defer calls.close()
	return work(ctx, config, plugin, monitored, calls, logger)
}

func work(ctx context.Context, config config, plugin worker.Plugin, monitored *monitor.Monitor, calls *callbackServer, logger *slog.Logger) error {
	settings, err := Connection(logger, config.compress)
	if err != nil {
		return err
	}
	settings.MetricsHandler = monitored.Handler
	c, err := connect.Dial(ctx, settings)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := registerAttributes(ctx, c, settings.Namespace, logger); err != nil {
		return err
	}
	worker.SetStickyWorkflowCacheSize(config.cachedWaits)
	fatal := make(chan error, 2) // of the worker, of the receiver
	w := worker.New(c, config.taskQueue, workerOptions(config, plugin, fatal))
	if err := w.Start(); err != nil {
		return err
	}
	calls.serve(ctx, c, fatal)
	monitored.Working.Store(true)
	logger.InfoContext(ctx, "waiting for work", "address", settings.HostPort, "namespace", settings.Namespace,
		"task_queue", config.taskQueue, "identity", settings.Identity)
	err = untilStopped(ctx, fatal)
	monitored.Working.Store(false)
	logger.InfoContext(ctx, "stopping; requests in flight may finish", "at_most", config.stopTimeout)
	w.Stop()
	return err
}

// Connection are the options of the stock worker's connection. The SDK compresses each message unless it is told not to, and the
// messages of a poll are too small for that to be worth a tenth of the worker's CPU.
func Connection(logger *slog.Logger, compress bool) (client.Options, error) {
	options, err := connect.Options(logger, false)
	if !compress {
		options.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	}
	return options, err
}

// Settings are the stock worker's settings of the SDK. They scale the pollers with the load: with the SDK's two, a burst of
// new waits starves behind those that are polling already.
func Settings() worker.Options {
	autoscaling := worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{})
	return worker.Options{
		WorkflowTaskPollerBehavior:  autoscaling,
		ActivityTaskPollerBehavior:  autoscaling,
		NexusTaskPollerBehavior:     autoscaling,
		DisableRegistrationAliasing: true,
	}
}

func workerOptions(config config, plugin worker.Plugin, fatal chan<- error) worker.Options {
	options := Settings()
	options.Plugins = []worker.Plugin{plugin}
	options.WorkerStopTimeout = config.stopTimeout
	options.OnFatalError = func(err error) { fatal <- err }
	return options
}

func untilStopped(ctx context.Context, fatal <-chan error) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-fatal:
		return fmt.Errorf("the worker cannot go on: %w", err)
	}
}

// registerTimeout bounds how long the start of a worker waits for search attributes to become known.
const registerTimeout = 20 * time.Second

func registerAttributes(ctx context.Context, c client.Client, namespace string, logger *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, registerTimeout)
	defer cancel()
	return (&registrar{client: c, namespace: namespace, logger: logger}).register(ctx)
}
