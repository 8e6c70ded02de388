package devserver

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
)

const (
	healthService = "temporal.api.workflowservice.v1.WorkflowService"
	checkEvery    = 50 * time.Millisecond
)

// awaitReady returns when the server is serving, when it has died, or when the context ends.
func (s *Server) awaitReady(ctx context.Context) error {
	conn, err := grpc.NewClient(s.Address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: checkEvery, MaxDelay: checkEvery, Multiplier: 1}}))
	if err != nil {
		return fmt.Errorf("devserver: %s: %w", s.Address, err)
	}
	defer conn.Close()

	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		lastErr := s.check(ctx, conn)
		select {
		case <-s.exited:
			return &ExitError{Err: s.result, Stderr: s.stderr.String()}
		default:
		}
		if lastErr == nil {
			return nil
		}
		select {
		case <-s.exited:
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("devserver: %s is not ready: %w; last answer: %s; its last words:\n%s", s.Address, ctx.Err(), lastErr.Error(), s.stderr)
		}
	}
}

// check asks the frontend for its health and for the namespace, which is what clients need.
func (s *Server) check(ctx context.Context, conn *grpc.ClientConn) error {
	health, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: healthService})
	if err != nil {
		return err
	}
	if health.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		return fmt.Errorf("health is %s", health.GetStatus())
	}
	_, err = workflowservice.NewWorkflowServiceClient(conn).DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: s.Namespace})
	return err
}
