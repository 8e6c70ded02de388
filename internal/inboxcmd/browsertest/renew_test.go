package browsertest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/inboxcmd/inboxtest"
	"github.com/jobwait/jobwait/waittest"
)

// A page that could not be read anew when it heard of a change is read again, although nothing changes any more.
func TestRenewalIsTriedAgain(t *testing.T) {
	t.Parallel()
	inbox := behindProxy(t, "renewed")
	ana, ben := person(t, "ana@example.com", "oncall"), person(t, "ben@example.com", "oncall")
	ana.open(inbox.URL)
	ana.until("Nothing waits for a decision.")
	evaluate[bool](ana, `(() => {
		const real = window.fetch;
		window.down = true;
		window.tries = 0;
		window.fetch = (...args) => {
			if (!window.down) return real(...args);
			window.tries++;
			return Promise.resolve(new Response("", {status: 503}));
		};
		return true;
	})()`)
	inboxtest.Asked(t, shared, "renewed", waittest.Script(waittest.State("archiving")), inAccount("renewed"))
	require.Eventually(t, func() bool {
		ben.open(inbox.URL)
		return strings.Contains(ben.text(), "op-renewed The job is in a state that nobody listed")
	}, inboxtest.Longest, inboxtest.Pause)
	require.Eventually(t, func() bool { return evaluate[int](ana, "window.tries") >= 3 }, inboxtest.Longest, inboxtest.Pause)
	require.NotContains(t, ana.text(), "op-renewed")
	evaluate[int](ana, "window.down = 0")
	ana.until("op-renewed The job is in a state that nobody listed")
}
