package bench

import (
	"context"
	"errors"
	"log/slog"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/jobwait/jobwait/internal/devserver"
)

// host is the Temporal server of one turn. Each turn has its own, because a development server gets slower the more it has stored,
// which would penalize the later turns.
type host struct {
	server *devserver.Server
	client client.Client
}

func (b *bench) newHost(ctx context.Context) (*host, error) {
	server, err := devserver.Start(ctx, b.options.server(b.executable))
	if err != nil {
		return nil, err
	}
	connected, err := client.DialContext(ctx, client.Options{
		HostPort: server.Address, Namespace: server.Namespace, Identity: "bench",
		Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		return nil, errors.Join(err, server.Stop())
	}
	return &host{server: server, client: connected}, nil
}

func (h *host) env() []string {
	return []string{"TEMPORAL_ADDRESS=" + h.server.Address, "TEMPORAL_NAMESPACE=" + h.server.Namespace, "BENCH_KEY=" + providerKey}
}

// stop stops the server, with all waits that are still open.
func (h *host) stop() error {
	h.client.Close()
	return h.server.Stop()
}
