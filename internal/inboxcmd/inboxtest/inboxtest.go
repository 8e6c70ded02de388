// Package inboxtest runs inboxes on a bed for tests: over real HTTP, before a real Temporal server.
package inboxtest

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait"
	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/internal/inboxcmd/access"
	"github.com/jobwait/jobwait/internal/inboxcmd/web"
	"github.com/jobwait/jobwait/internal/waits"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// Longest bounds what a test waits for; none needs half of it on an idle machine.
const Longest = 90 * time.Second

// Pause is how long to wait before something is looked at again.
const Pause = 300 * time.Millisecond

// Inbox is one that runs.
type Inbox struct {
	// URL is its origin.
	URL string
	// Log is what it has logged.
	Log *Log
}

// Log is what a logger has written.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

// String is all of it.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Gate makes the gate of an inbox whose origin is known by then.
type Gate func(origin *url.URL, logger *slog.Logger) (access.Gate, error)

// Local is the gate of one person.
func Local(name string) Gate {
	return func(*url.URL, *slog.Logger) (access.Gate, error) { return access.NewLocal(name) }
}

// Headers is a gate that takes people from the headers X-Name and X-Groups of the given addresses.
func Headers(addresses ...string) Gate {
	return func(*url.URL, *slog.Logger) (access.Gate, error) {
		return access.NewProxy(access.ProxySettings{Addresses: addresses, NameHeader: "X-Name", GroupsHeader: "X-Groups"})
	}
}

// Open runs an inbox until the test ends.
func Open(tb testing.TB, on *bed.Bed, gate Gate, policy access.Policy, change ...func(*web.Options)) *Inbox {
	tb.Helper()
	server := httptest.NewUnstartedServer(nil)
	origin := &url.URL{Scheme: "http", Host: server.Listener.Addr().String()}
	inbox := &Inbox{URL: origin.String(), Log: &Log{}}
	logger := slog.New(slog.NewTextHandler(inbox.Log, nil))
	opened, err := gate(origin, logger)
	require.NoError(tb, err)
	options := web.Options{Waits: waits.New(on.Client, nil), Gate: opened, Policy: policy, Origin: origin, Logger: logger}
	for _, with := range change {
		with(&options)
	}
	pages, err := web.New(options)
	require.NoError(tb, err)
	server.Config.Handler = pages
	server.Start()
	tb.Cleanup(func() {
		pages.Close()
		server.Close()
	})
	return inbox
}

// Start begins a wait whose job answers by script.
func Start(tb testing.TB, on *bed.Bed, job string, script waittest.JobScript, change ...func(*wire.Spec)) string {
	tb.Helper()
	return StartOn(tb, on, "", job, script, change...)
}

// StartOn begins one on a task queue.
func StartOn(tb testing.TB, on *bed.Bed, queue, job string, script waittest.JobScript, change ...func(*wire.Spec)) string {
	tb.Helper()
	require.NoError(tb, on.Provider.Set(job, script))
	spec := on.Spec(job)
	for _, with := range change {
		with(&spec)
	}
	run, err := jobwait.Start(tb.Context(), on.Client, spec, jobwait.StartOptions{TaskQueue: queue})
	require.NoError(tb, err)
	return run.GetID()
}

// Asked begins a wait and returns once it asks.
func Asked(tb testing.TB, on *bed.Bed, job string, script waittest.JobScript, change ...func(*wire.Spec)) (id string, open wire.EscalationView) {
	tb.Helper()
	id = Start(tb, on, job, script, change...)
	return id, Escalated(tb, on, id)
}

// Escalated returns once a wait asks.
func Escalated(tb testing.TB, on *bed.Bed, id string) wire.EscalationView {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), Longest)
	defer cancel()
	open, err := on.Escalated(ctx, on.Client.GetWorkflow(ctx, id, ""))
	require.NoError(tb, err)
	return open
}

// Propose asks a wait for more, which opens a proposal.
func Propose(tb testing.TB, on *bed.Bed, workflowID string, request wire.ExtensionRequest) {
	tb.Helper()
	_, err := waits.New(on.Client, nil).RequestExtension(tb.Context(), workflowID, request)
	require.NoError(tb, err)
}

// Submitted begins a submission to the bed's provider with one request, and returns once it asks: the provider is to lose its
// answer.
func Submitted(tb testing.TB, on *bed.Bed, id string, change ...func(*wire.SubmitSpec)) (run client.WorkflowRun, open wire.EscalationView) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), Longest)
	defer cancel()
	_, port, _ := strings.Cut(on.Provider.Address(), ":")
	spec := wire.SubmitSpec{
		SubmissionID: id, Provider: "demo-export", Account: "acct-42", Params: map[string]string{"port": port}, CredentialRef: "demo",
		MaxSubmitRequests: 1,
		Wait: wire.SubmitWait{
			DeadlineAt: time.Now().Add(time.Hour), MaxStatusRequests: 6, MaxTransportFailures: 3,
			Schedule: wire.Schedule{BaseDelaySeconds: new(1), MaxDelaySeconds: new(1)},
		},
	}
	for _, with := range change {
		with(&spec)
	}
	run, err := jobwait.StartSubmit(ctx, on.Client, spec, jobwait.StartOptions{})
	require.NoError(tb, err)
	open, err = on.Escalated(ctx, run)
	require.NoError(tb, err)
	return run, open
}

// Ruled are credentials for the bed's provider whose use people approve, each by the rule that it is named after.
func Ruled(on *bed.Bed) bed.Credentials {
	ruled := bed.Credentials{}
	for _, rule := range []wire.ApprovalRule{wire.ApprovalPerOperation, wire.ApprovalPerRequest} {
		credential := on.Credential("1", bed.Key)
		credential.Approval = rule
		ruled[string(rule)] = credential
	}
	return ruled
}

// Pager tells people for a worker, and is down until it is up.
type Pager struct{ Up atomic.Bool }

// Notify implements activities.Notifier.
func (p *Pager) Notify(context.Context, wire.Notification) error {
	if p.Up.Load() {
		return nil
	}
	return errors.New("the pager is down")
}

// Page is the address of a wait's page.
func (i *Inbox) Page(workflowID string) string { return i.URL + "/waits/" + url.PathEscape(workflowID) }
