package web_test

import (
	"bufio"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/internal/inboxcmd/access"
	"github.com/jobwait/jobwait/internal/inboxcmd/inboxtest"
	"github.com/jobwait/jobwait/internal/inboxcmd/web"
	"github.com/jobwait/jobwait/internal/waits"
	"github.com/jobwait/jobwait/wire"
)

// versions are what the events of a stream hold, until the test ends.
func (v *visitor) versions(address string) <-chan string {
	v.t.Helper()
	return v.events(address, "data: ")
}

// events are the lines of a stream that begin so, without their beginning.
func (v *visitor) events(address, beginning string) <-chan string {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), inboxtest.Longest)
	v.t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	require.NoError(v.t, err)
	request.Header = v.header.Clone()
	answer, err := v.client.Do(request)
	require.NoError(v.t, err)
	v.t.Cleanup(func() { _ = answer.Body.Close() })
	require.Equal(v.t, http.StatusOK, answer.StatusCode)
	require.Equal(v.t, "text/event-stream", answer.Header.Get("Content-Type"))
	events := make(chan string, 100)
	go func() {
		defer close(events)
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			if rest, ok := strings.CutPrefix(lines.Text(), beginning); ok {
				events <- rest
			}
		}
	}()
	return events
}

// A page hears of every change of its wait, and a list of what comes and goes.
func TestLiveUpdates(t *testing.T) {
	t.Parallel()
	own := access.Policy{Rules: []access.Rule{{People: []string{"ana"}, Providers: []string{"demo-export"}, Accounts: []string{"live"}, Answers: &[]string{"any"}}}}
	inbox := inboxtest.Open(t, shared, inboxtest.Local("ana"), own)
	ana := visit(t, inbox)
	list := ana.versions(inbox.URL + "/live/list/decide")
	empty := <-list
	require.Contains(t, ana.get(inbox.URL).text, `data-version="`+empty+`"`, "the page knows which version it shows")

	id, _ := inboxtest.Asked(t, shared, "live", odd, inAccount("live"))
	require.NotEqual(t, empty, <-list)
	wait := ana.versions(inbox.URL + "/live/waits/" + url.PathEscape(id))
	var asked string
	for asked = range wait { // people are told after they are asked
		if strings.Contains(ana.get(inbox.Page(id)).text, `data-version="`+asked+`"`) {
			break
		}
	}
	require.Equal(t, http.StatusSeeOther, ana.answerTo(id, wire.DecisionClose).status)
	require.NotEqual(t, asked, <-wait)
}

// A page hears that what it shows may be old, once Temporal cannot be asked any more.
func TestStreamSaysThatAPageIsOld(t *testing.T) {
	t.Parallel()
	own, err := client.Dial(client.Options{HostPort: shared.Server.Address, Namespace: shared.Namespace, Logger: bed.Quiet()})
	require.NoError(t, err)
	inbox := inboxtest.Open(t, shared, inboxtest.Local("ana"), access.Everything("ana"), func(o *web.Options) { o.Waits = waits.New(own, nil) })
	events := visit(t, inbox).events(inbox.URL+"/live/list/closed?provider=none", "event: ")
	require.Equal(t, "version", <-events)
	own.Close()
	require.Equal(t, "stale", <-events)
}

// One person has so many streams and no more; those that end are free again.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	inbox := inboxtest.Open(t, shared, inboxtest.Local("ana"), access.Everything("ana"))
	ana := visit(t, inbox)
	for range 20 {
		<-ana.versions(inbox.URL + "/live/list/closed?provider=none")
	}
	page := ana.get(inbox.URL + "/live/list/closed?provider=none")
	require.Equal(t, http.StatusTooManyRequests, page.status)
}

// leaving is a gate whose person signs out when the channel is closed, and who is known all the same afterwards: nothing but
// the channel ends the stream.
type leaving struct {
	access.Gate
	over chan struct{}
}

func (l leaving) Over(*http.Request) <-chan struct{} { return l.over }

// Whoever signs out, or is signed out, hears no more.
func TestStreamEndsWithTheSession(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	inbox := inboxtest.Open(t, shared, func(*url.URL, *slog.Logger) (access.Gate, error) {
		ana, err := access.NewLocal("ana")
		return leaving{ana, over}, err
	}, access.Everything("ana"))
	events := visit(t, inbox).versions(inbox.URL + "/live/list/closed?provider=none")
	require.NotEmpty(t, <-events)
	close(over)
	require.Equal(t, ".", <-events, "the page is told")
	_, more := <-events
	require.False(t, more)
}
