package web_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"golang.org/x/sync/errgroup"

	"github.com/jobwait/jobwait/internal/inboxcmd/access"
	"github.com/jobwait/jobwait/internal/inboxcmd/inboxtest"
	"github.com/jobwait/jobwait/wire"
)

// many is how many open waits the lists are read with.
var many = flag.Int("waits", 500, "open waits for the benchmark of the lists")

// BenchmarkLists reads each list until its first byte, one page after the other is a moment old: the median is that of a list which
// is shown while it is read anew, the worst as a rule that of the first, before which nothing was read. The waits are started with
// their search attributes on a task queue that nobody works on: what a list reads is the same as of waits that work.
func BenchmarkLists(b *testing.B) {
	startMany(b, *many)
	inbox := inboxtest.Open(b, shared, inboxtest.Local("ana"), access.Everything("ana"))
	for _, list := range []struct{ name, path string }{
		{"decide", "/"}, {"waiting", "/waiting"}, {"closed", "/closed"}, {"account", "/?provider=many-1&account=acct-3"}, {"reason", "/?reason=needs_input"},
	} {
		b.Run(list.name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				time.Sleep(1100 * time.Millisecond) // a page is shared for a second
				took = append(took, firstByte(b, inbox.URL+list.path))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms/median")
			b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "ms/worst")
			b.ReportMetric(0, "ns/op") // the pause is in it
		})
	}
}

// firstByte is how long a page takes to its first byte, on a connection of its own.
func firstByte(b *testing.B, address string) time.Duration {
	b.Helper()
	var first time.Time
	ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{GotFirstResponseByte: func() { first = time.Now() }})
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	require.NoError(b, err)
	began := time.Now()
	answer, err := (&http.Client{Transport: &http.Transport{}}).Do(request)
	require.NoError(b, err)
	defer answer.Body.Close()
	require.Equal(b, http.StatusOK, answer.StatusCode)
	return first.Sub(began)
}

// startMany starts waits of three providers and twenty accounts: every second asks, with answers due over eleven hours.
func startMany(b *testing.B, n int) {
	b.Helper()
	began := time.Now()
	group, ctx := errgroup.WithContext(context.Background())
	group.SetLimit(32)
	for i := range n {
		group.Go(func() error { return startOne(ctx, i, began) })
	}
	require.NoError(b, group.Wait())
	b.Logf("%d waits were started in %s", n, time.Since(began).Round(time.Second))
}

func startOne(ctx context.Context, i int, now time.Time) error {
	provider, account := fmt.Sprintf("many-%d", i%3), fmt.Sprintf("acct-%d", i%20)
	attributes := []temporal.SearchAttributeUpdate{
		temporal.NewSearchAttributeKeyKeyword(wire.AttributeProvider).ValueSet(provider),
		temporal.NewSearchAttributeKeyKeyword(wire.AttributePhase).ValueSet(string(wire.PhasePolling)),
	}
	if i%2 == 0 {
		attributes = append(attributes[:1],
			temporal.NewSearchAttributeKeyKeyword(wire.AttributePhase).ValueSet(string(wire.PhaseEscalated)),
			temporal.NewSearchAttributeKeyKeyword(wire.AttributeReason).ValueSet(string(wire.Reasons()[i%len(wire.Reasons())])),
			temporal.NewSearchAttributeKeyTime(wire.AttributeDecideBy).ValueSet(now.Add(time.Duration(i%5000)*8*time.Second)))
	}
	_, err := shared.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: wire.WorkflowID(provider, account, fmt.Sprintf("job-%d", i)), TaskQueue: "nobody",
		TypedSearchAttributes: temporal.NewSearchAttributes(attributes...), Memo: map[string]any{wire.MemoOperationID: fmt.Sprintf("many-%d", i)},
	}, wire.WorkflowAwaitJob, map[string]any{})
	return err
}
