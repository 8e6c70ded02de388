// Package monitor serves the health and the metrics of a running program over HTTP.
package monitor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"
)

// Monitor serves health and metrics. Both endpoints are off unless they have an address.
type Monitor struct {
	// Working says that the command does its work; /healthz answers 503 while it does not.
	Working atomic.Bool
	// Handler receives the metrics; nil when nobody can read them.
	Handler client.MetricsHandler
	servers []*http.Server
}

// New listens at once for GET /healthz and GET /metrics at the addresses of the flags --health-addr and --metrics-addr, so that an
// address that is taken is told before anything connects.
func New(ctx context.Context, healthAddr, metricsAddr string) (*Monitor, error) {
	m := &Monitor{}
	if healthAddr != "" {
		if err := m.serve(ctx, "--health-addr", healthAddr, "GET /healthz", http.HandlerFunc(m.health)); err != nil {
			return nil, err
		}
	}
	if metricsAddr == "" {
		return m, nil
	}
	registry := prometheus.NewRegistry()
	handler, err := metricsHandler(registry)
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	m.Handler = handler
	scrape := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	if err := m.serve(ctx, "--metrics-addr", metricsAddr, "GET /metrics", scrape); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// metricsHandler carries the SDK's metrics and jobwait's counters to Prometheus.
func metricsHandler(registry *prometheus.Registry) (client.MetricsHandler, error) {
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry), otelprometheus.WithoutScopeInfo())
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	provider := metric.NewMeterProvider(metric.WithReader(exporter), metric.WithView(secondsView()))
	return opentelemetry.NewMetricsHandler(opentelemetry.MetricsHandlerOptions{
		Meter: provider.Meter("jobwait"), UseMonotonicCounters: true,
	}), nil
}

// secondsView gives the SDK's timers buckets for seconds; the default ones are for milliseconds.
func secondsView() metric.View {
	return metric.NewView(
		metric.Instrument{Kind: metric.InstrumentKindHistogram, Unit: "s"},
		metric.Stream{Aggregation: metric.AggregationExplicitBucketHistogram{
			Boundaries: []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 600, 3600, 86400},
		}},
	)
}

func (m *Monitor) serve(ctx context.Context, flag, address, pattern string, handler http.Handler) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("%s %s: %w", flag, address, err)
	}
	mux := http.NewServeMux()
	mux.Handle(pattern, handler)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	m.servers = append(m.servers, server)
	go func() { _ = server.Serve(listener) }() // it ends with close
	return nil
}

func (m *Monitor) health(w http.ResponseWriter, _ *http.Request) {
	if !m.Working.Load() {
		http.Error(w, "not working", http.StatusServiceUnavailable)
		return
	}
	_, _ = fmt.Fprintln(w, "ok")
}

// Close stops serving.
func (m *Monitor) Close() error {
	var err error
	for _, server := range m.servers {
		err = errors.Join(err, server.Close())
	}
	return err
}
