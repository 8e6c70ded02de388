package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/internal/inboxcmd/access"
	"github.com/jobwait/jobwait/internal/inboxcmd/inboxtest"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// names are the waits of a list in its order.
func (p seenPage) names() []string {
	var out []string
	for _, node := range p.nodes() {
		if node.Data == "a" && attribute(node, "class") == "name" {
			out = append(out, node.FirstChild.Data)
		}
	}
	return out
}

// until loads a page again until it is as wanted: visibility is a moment behind.
func (v *visitor) until(address string, wanted func(seenPage) bool) seenPage {
	v.t.Helper()
	var page seenPage
	require.Eventually(v.t, func() bool {
		page = v.get(address)
		return page.status == http.StatusOK && wanted(page)
	}, inboxtest.Longest, 300*time.Millisecond, "last: %s", page.text)
	return page
}

func inAccount(account string) func(*wire.Spec) {
	return func(spec *wire.Spec) { spec.Account = account }
}

// The lists have what is theirs, the most urgent first, and what one may not see is in none of them, nor counted.
func TestLists(t *testing.T) {
	t.Parallel()
	own := access.Policy{Rules: []access.Rule{{People: []string{"ana"}, Providers: []string{"demo-export"}, Accounts: []string{"lists-1", "lists-2"}, Answers: &[]string{"any"}}}}
	inbox := inboxtest.Open(t, shared, inboxtest.Local("ana"), own)
	for i, hours := range []int{20, 1, 5} {
		inboxtest.Asked(t, shared, fmt.Sprintf("lists-%d", i), odd, inAccount("lists-1"), func(spec *wire.Spec) {
			spec.Escalation.DecisionWindowSeconds = new(hours * 3600)
		})
	}
	inboxtest.Asked(t, shared, "lists-review", waittest.Script(waittest.State("awaiting_review")), inAccount("lists-2"))
	inboxtest.Start(t, shared, "lists-polling", waittest.Script(waittest.State("running")), inAccount("lists-2"))
	inboxtest.Asked(t, shared, "lists-foreign", odd, inAccount("lists-3"))
	inboxtest.Start(t, shared, "lists-done", waittest.Script(waittest.Succeeded("https://files.example.com/x")), inAccount("lists-2"))
	ana := visit(t, inbox)

	page := ana.until(inbox.URL+"/", func(p seenPage) bool { return len(p.names()) == 4 })
	require.Equal(t, []string{"op-lists-1", "op-lists-2", "op-lists-0", "op-lists-review"}, page.names())
	require.Regexp(t, `Within the hour op-lists-1 .* Within a day op-lists-2`, page.plain())
	page = ana.until(inbox.URL+"/waiting", func(p seenPage) bool {
		return len(p.names()) == 1 && strings.Contains(p.plain(), "asking the provider")
	})
	require.Equal(t, []string{"op-lists-polling"}, page.names())
	page = ana.until(inbox.URL+"/closed", func(p seenPage) bool { return len(p.names()) == 1 })
	require.Equal(t, []string{"op-lists-done"}, page.names())
	require.Contains(t, page.plain(), "Waiting for a decision 4 Waiting for providers 1 Closed 1")

	for query, want := range map[string][]string{
		"?provider=demo-export&account=lists-2":               {"op-lists-review"},
		"?provider=demo-export&account=lists-1":               {"op-lists-1", "op-lists-2", "op-lists-0"},
		"?reason=needs_input":                                 {"op-lists-review"},
		"?provider=demo-export&account=lists-3":               nil,
		"?provider=openai-batch":                              nil,
		"?provider=demo-export&reason=authorization_denied":   nil,
		"?provider=" + url.QueryEscape("demo-export/lists-1"): nil,
	} {
		page := ana.get(inbox.URL + "/" + query)
		require.Equal(t, want, page.names(), query)
		if want == nil {
			require.Contains(t, page.plain(), "No wait passes this filter.", query)
		}
	}
}

// A long list has pages of bounded size, which together have each wait once.
func TestLongList(t *testing.T) {
	t.Parallel()
	own := access.Policy{Rules: []access.Rule{{People: []string{"ana"}, Providers: []string{"demo-export"}, Accounts: []string{"long"}, Answers: &[]string{"any"}}}}
	inbox := inboxtest.Open(t, shared, inboxtest.Local("ana"), own)
	const many = 70
	for i := range many {
		inboxtest.Start(t, shared, fmt.Sprintf("long-%03d", i), waittest.Script(waittest.State("archiving")), inAccount("long"), func(spec *wire.Spec) {
			spec.Schedule.InitialDelaySeconds = new(0)
		})
	}
	ana := visit(t, inbox)
	first := ana.until(inbox.URL+"/", func(p seenPage) bool { return strings.Contains(p.plain(), "Waiting for a decision 70") })
	var all []string
	for page := first; ; {
		require.LessOrEqual(t, len(page.names()), 50)
		all = append(all, page.names()...)
		next := regexp.MustCompile(`<a href="([^"]+)" rel="next">`).FindStringSubmatch(page.text)
		if next == nil {
			break
		}
		page = ana.get(inbox.URL + strings.ReplaceAll(next[1], "&amp;", "&"))
		require.Contains(t, page.plain(), "To the beginning")
	}
	slices.Sort(all)
	require.Len(t, slices.Compact(all), many)
}

// In a namespace without the search attributes nobody can tell who asks: the page says so, and what to do.
func TestUnregisteredAttributes(t *testing.T) {
	t.Parallel()
	bare := namespace(t, "bare")
	inbox := inboxtest.Open(t, bare, inboxtest.Local("ana"), access.Everything("ana"))
	id := inboxtest.Start(t, bare, "bare", odd)
	ana := visit(t, inbox)
	page := ana.until(inbox.URL+"/waiting", func(p seenPage) bool { return len(p.names()) == 1 })
	require.Contains(t, page.plain(), "This namespace does not have jobwait's search attributes")
	page = ana.get(inbox.URL + "/")
	require.Equal(t, http.StatusOK, page.status)
	require.Contains(t, page.plain(), "This namespace does not have jobwait's search attributes")
	require.NotContains(t, page.plain(), "Nothing waits for a decision.")

	// No worker runs there: the page of the wait says so, and offers no form.
	wait := ana.get(inbox.Page(id))
	require.Equal(t, http.StatusOK, wait.status)
	require.Contains(t, wait.plain(), `Answers need a worker: is one running on task queue "jobwait"?`)
	require.NotContains(t, wait.text, "<textarea")
}

// namespace makes one that has no search attributes, and no worker.
func namespace(t *testing.T, name string) *bed.Bed {
	t.Helper()
	namespaces, err := client.NewNamespaceClient(client.Options{HostPort: shared.Server.Address, Logger: bed.Quiet()})
	require.NoError(t, err)
	defer namespaces.Close()
	require.NoError(t, namespaces.Register(t.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: name, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	}))
	c, err := client.DialContext(t.Context(), client.Options{HostPort: shared.Server.Address, Namespace: name, Logger: bed.Quiet()})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	require.Eventually(t, func() bool {
		_, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{PageSize: 1})
		return err == nil
	}, inboxtest.Longest, 200*time.Millisecond)
	return shared.With(c, name)
}
