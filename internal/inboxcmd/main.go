// Package inboxcmd is the inbox as a command: a web server for the people who answer the questions of waits.
package inboxcmd

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/jobwait/jobwait/internal/connect"
	"github.com/jobwait/jobwait/internal/daemon"
	"github.com/jobwait/jobwait/internal/inboxcmd/web"
	"github.com/jobwait/jobwait/internal/monitor"
	"github.com/jobwait/jobwait/internal/waits"
)

const (
	// headerTimeout, bodyTimeout and idleTimeout bound what a connection that sends nothing costs, writeTimeout one that reads
	// nothing; an answer that is sent to Temporal takes less. Live updates, which last, have bounds of their own.
	headerTimeout, bodyTimeout, idleTimeout = 10 * time.Second, 30 * time.Second, 2 * time.Minute
	writeTimeout                            = 90 * time.Second
	maxHeaderBytes                          = 64 << 10
	// stopTimeout is how long answers that are being sent to Temporal may go on after a signal.
	stopTimeout = 35 * time.Second
)

// Main runs the command and ends the process with its exit code.
func Main() { daemon.Main("inbox", run) }

// run serves until the context ends. Whatever can be wrong with flags and files is found before it connects.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	config, err := parse(args, stdout)
	if err != nil {
		return err
	}
	logger := config.log.Logger(stderr)
	options, err := config.options(logger)
	if err != nil {
		return err
	}
	settings, err := connect.Options(logger, true)
	if err != nil {
		return err
	}
	monitored, err := monitor.New(ctx, "", config.metricsAddr)
	if err != nil {
		return err
	}
	defer func() { _ = monitored.Close() }()
	settings.MetricsHandler, options.Metrics = monitored.Handler, monitored.Handler
	c, err := connect.Dial(ctx, settings)
	if err != nil {
		return err
	}
	defer c.Close()
	options.Waits = waits.New(c, settings.DataConverter)
	pages, err := web.New(options)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", config.addr)
	if err != nil {
		return fmt.Errorf("--addr %s: %w", config.addr, err)
	}
	config.check(ctx, options, logger)
	for _, line := range config.greeting(listener.Addr(), options.Origin, settings.HostPort, settings.Namespace) {
		_, _ = fmt.Fprintln(stdout, line)
	}
	return config.serve(ctx, listener, pages)
}

// check says early what would otherwise show when the first person signs in. A sign-in service that is away comes back.
func (c *config) check(ctx context.Context, options web.Options, logger *slog.Logger) {
	gate, ok := options.Gate.(interface{ Check(context.Context) error })
	if !ok {
		return
	}
	if err := gate.Check(ctx); err != nil {
		logger.WarnContext(ctx, "the sign-in service does not answer yet; is the issuer right?", "error", err)
	}
}

// serve ends when the context does, after what people have sent is answered.
func (c *config) serve(ctx context.Context, listener net.Listener, pages *web.Server) error {
	server := newServer(pages)
	failed := make(chan error, 1)
	go func() {
		if c.tlsCert != "" {
			failed <- server.ServeTLS(listener, c.tlsCert, c.tlsKey)
			return
		}
		failed <- server.Serve(listener)
	}()
	select {
	case err := <-failed:
		return fmt.Errorf("the inbox cannot go on: %w", err)
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	return server.Shutdown(ending)
}

func newServer(pages *web.Server) *http.Server {
	server := &http.Server{
		Handler: pages, ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes,
	}
	server.RegisterOnShutdown(pages.Close)
	return server
}
