package startercmd

import (
	"context"
	"time"

	"github.com/jobwait/jobwait/internal/waits"
)

// ask queries one run of a wait.
func ask[T any](ctx context.Context, s *server, workflowID, runID, query string) (T, error) {
	return askWithin[T](ctx, askTimeout, s, workflowID, runID, query)
}

func askWithin[T any](ctx context.Context, bound time.Duration, s *server, workflowID, runID, query string) (T, error) {
	return waits.Ask[T](ctx, bound, s.Client, workflowID, runID, query)
}
