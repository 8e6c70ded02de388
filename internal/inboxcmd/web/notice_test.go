package web_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/internal/inboxcmd/access"
	"github.com/jobwait/jobwait/internal/inboxcmd/inboxtest"
)

// Whether people could be told stands on the page of a wait, which hears of every attempt; the question is open meanwhile.
func TestNotices(t *testing.T) {
	t.Parallel()
	pager := &inboxtest.Pager{}
	stop, err := shared.Work(bed.WorkerOptions{TaskQueue: "noticed", Notifier: pager})
	require.NoError(t, err)
	t.Cleanup(stop)
	id := inboxtest.StartOn(t, shared, "noticed", "noticed", odd)
	inboxtest.Escalated(t, shared, id)
	inbox := inboxtest.Open(t, shared, inboxtest.Local("ana"), access.Everything("ana"))
	ana := visit(t, inbox)

	page := ana.until(inbox.Page(id), func(p seenPage) bool { return strings.Contains(p.plain(), "the pager is down; attempt ") })
	require.Regexp(t, `messages ?telling people \(escalated\): the pager is down; attempt \d+ (at 20\d\d-|is )`, page.plain())
	require.Contains(t, page.text, "<textarea")
	versions := ana.versions(inbox.URL + "/live/waits/" + url.PathEscape(id))
	seen := <-versions
	require.NotEqual(t, seen, <-versions, "the next attempt")
	pager.Up.Store(true)
	ana.until(inbox.Page(id), func(p seenPage) bool { return strings.Contains(p.plain(), "told people (escalated)") })
}
