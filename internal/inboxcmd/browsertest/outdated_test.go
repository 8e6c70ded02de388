package browsertest_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/internal/inboxcmd/inboxtest"
	"github.com/jobwait/jobwait/internal/inboxcmd/web"
	"github.com/jobwait/jobwait/internal/waits"
)

// A list that cannot be brought up to date says so while that is so, and not any longer.
func TestAnOldPageSaysSo(t *testing.T) {
	t.Parallel()
	const outdated = "what you see may be out of date"
	var refused atomic.Bool
	gone := func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, next grpc.UnaryInvoker, options ...grpc.CallOption) error {
		if refused.Load() {
			return status.Error(codes.PermissionDenied, "the inbox's own key has been withdrawn")
		}
		return next(ctx, method, request, reply, conn, options...)
	}
	own, err := client.Dial(client.Options{
		HostPort: shared.Server.Address, Namespace: shared.Namespace, Logger: bed.Quiet(),
		ConnectionOptions: client.ConnectionOptions{DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(gone)}},
	})
	require.NoError(t, err)
	t.Cleanup(own.Close)
	inbox := inboxtest.Open(t, shared, inboxtest.Headers("127.0.0.1"), rules("outdated"), func(o *web.Options) { o.Waits = waits.New(own, nil) })
	ana := person(t, "ana@example.com", "oncall")
	ana.open(inbox.URL)
	ana.until("Nothing waits for a decision.")
	ana.mark()
	refused.Store(true)
	ana.until(outdated)
	refused.Store(false)
	ana.untilTrue("document.getElementById('stale').hidden")
	require.NotContains(t, ana.text(), outdated)
	ana.unreloaded()
}
