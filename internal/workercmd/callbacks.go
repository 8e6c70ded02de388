package workercmd

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"

	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait/callbacks"
	"github.com/jobwait/jobwait/statetables"
)

// callbackServer receives providers' webhooks. Nil: none are received.
type callbackServer struct {
	receiver *callbacks.Receiver
	listener net.Listener
	logger   *slog.Logger

	stop    context.CancelFunc
	serving sync.WaitGroup
}

// listenForCallbacks reads the file and the secrets, and takes the address, so that a fault is told before anything connects.
func listenForCallbacks(ctx context.Context, config config, tables *statetables.Set, metrics client.MetricsHandler, logger *slog.Logger) (*callbackServer, error) {
	if config.callbacks == "" {
		return nil, nil
	}
	options, err := callbacks.Load(config.callbacks)
	if err != nil {
		return nil, err
	}
	options.Tables, options.Metrics, options.Logger = tables, metrics, logger
	receiver, err := callbacks.New(ctx, options)
	if err != nil {
		return nil, err
	}
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", config.callbacksAddr)
	if err != nil {
		return nil, fmt.Errorf("--callbacks-addr %s: %w", config.callbacksAddr, err)
	}
	return &callbackServer{receiver: receiver, listener: listener, logger: logger}, nil
}

// serve takes webhooks until the context ends or it is closed.
func (s *callbackServer) serve(ctx context.Context, c client.Client, fatal chan<- error) {
	if s == nil {
		return
	}
	ctx, s.stop = context.WithCancel(ctx)
	s.serving.Go(func() {
		if err := s.receiver.Serve(ctx, s.listener, c); err != nil {
			fatal <- fmt.Errorf("callbacks: %w", err)
		}
	})
	s.logger.InfoContext(ctx, "receiving callbacks", "address", s.listener.Addr().String())
}

func (s *callbackServer) close() {
	if s == nil {
		return
	}
	if s.stop != nil {
		s.stop()
	}
	_ = s.listener.Close()
	s.serving.Wait()
}
