package browsertest_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/inboxcmd/access"
	"github.com/jobwait/jobwait/internal/inboxcmd/inboxtest"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// everyone on call may answer all that an account asks; lookers may look.
func rules(account string) access.Policy {
	return access.Policy{Rules: []access.Rule{
		{Groups: []string{"oncall"}, Providers: []string{"demo-export"}, Accounts: []string{account}, Answers: &[]string{"any"}},
		{Groups: []string{"lookers"}, Providers: []string{"demo-export"}, Accounts: []string{account}, Answers: &[]string{}},
	}}
}

func inAccount(account string) func(*wire.Spec) {
	return func(spec *wire.Spec) { spec.Account = account }
}

func behindProxy(t *testing.T, account string) *inboxtest.Inbox {
	t.Helper()
	return inboxtest.Open(t, shared, inboxtest.Headers("127.0.0.1"), rules(account))
}

// A question appears in an open list by itself, is answered with an extension, and the wait goes on and succeeds, all of
// which an open page shows.
func TestQuestionAppearsAndIsExtended(t *testing.T) {
	t.Parallel()
	inbox := behindProxy(t, "appears")
	ana := person(t, "ana@example.com", "oncall")
	ana.open(inbox.URL)
	ana.until("Nothing waits for a decision.")
	ana.mark()

	inboxtest.Start(t, shared, "appears", waittest.Script(
		waittest.State("queued"), waittest.State("running"), waittest.State("running"), waittest.Succeeded("https://files.example.com/a.csv"),
	), inAccount("appears"), func(spec *wire.Spec) { spec.MaxStatusRequests = 2 })
	ana.until("op-appears All status requests are used up request_budget_exhausted")
	ana.unreloaded()
	require.Contains(t, ana.text(), "Waiting for a decision 1")

	ana.click("a.name")
	ana.until("Your answer")
	require.Contains(t, ana.text(), "Extend waiting by up to 7 days with up to 10000 more checks")
	ana.choose("extend")
	ana.write(field("extend.requests"), "4")
	ana.write(comment, "slow today")
	ana.click(send)
	ana.until("The answer was applied ana@example.com answered Extend the wait extend")
	require.Contains(t, ana.text(), "now up to 6 requests")
	ana.mark()
	ana.until("op-appears succeeded")
	ana.unreloaded()
	ana.until("closed succeeded")
}

// What the wait refuses is told at once, with its reason, and what was typed is still there.
func TestRefusedAnswerShowsItsReason(t *testing.T) {
	t.Parallel()
	inbox := behindProxy(t, "refused")
	id, _ := inboxtest.Asked(t, shared, "refused", waittest.Script(waittest.State("archiving")), inAccount("refused"))
	ana := person(t, "ana@example.com", "oncall")
	ana.open(inbox.Page(id))
	ana.choose("extend")
	ana.write(field("extend.requests"), "20000")
	ana.write(comment, "as much as it takes")
	ana.click(send)
	ana.until("Your answer was refused A number is out of its bounds. status_requests is 20000, allowed is 0 to 10000")
	ana.untilTrue("document.activeElement.id === 'notice'")
	require.Equal(t, "as much as it takes", evaluate[string](ana, "document.querySelector('"+comment+"').value"))
	require.True(t, evaluate[bool](ana, `document.querySelector('input[value=extend]').checked`))
	require.Equal(t, "20000", evaluate[string](ana, `document.querySelector('[name="extend.requests"]').value`))
}

// Two people send their answers at the same moment: one is applied, and the other sees whose.
func TestTwoBrowsersRace(t *testing.T) {
	t.Parallel()
	inbox := behindProxy(t, "race")
	id, _ := inboxtest.Asked(t, shared, "race", waittest.Script(waittest.State("archiving"), waittest.State("running")), inAccount("race"))
	people := []*tab{person(t, "ana@example.com", "oncall"), person(t, "ben@example.com", "oncall")}
	for i, p := range people {
		p.withoutScripts() // else the page of the slower might take its form away in time
		p.open(inbox.Page(id))
		p.choose("extend")
		p.write(field("extend.requests"), fmt.Sprint(3+i))
		p.write(comment, fmt.Sprintf("reason %d", i))
	}
	var together sync.WaitGroup
	for _, p := range people {
		together.Go(func() { _ = chromedp.Do(p.ctx, chromedp.Click(chromedp.CSS(send))) })
	}
	together.Wait()
	for _, p := range people {
		p.untilTrue("!!document.getElementById('notice')")
	}
	winner, loser := 0, 1
	if evaluate[bool](people[1], "document.getElementById('notice').classList.contains('good')") {
		winner, loser = 1, 0
	}
	names := []string{"ana@example.com", "ben@example.com"}
	require.Contains(t, people[winner].text(), "The answer was applied")
	require.Contains(t, people[loser].text(), "Your answer was refused")
	require.Contains(t, people[loser].text(), names[winner]+" answered Extend the wait extend")
	require.Contains(t, people[loser].text(), fmt.Sprintf("reason %d", winner))
}

// Who has the question before them while somebody else answers it learns of it, and does not lose what they typed before.
func TestAnsweredBySomebodyElse(t *testing.T) {
	t.Parallel()
	inbox := behindProxy(t, "else")
	id, open := inboxtest.Asked(t, shared, "else", waittest.Script(waittest.State("archiving"), waittest.State("running")), inAccount("else"))
	ana := person(t, "ana@example.com", "oncall")
	ana.open(inbox.Page(id))
	ana.choose("extend")
	ana.write(comment, "I think that")
	ana.mark()
	_, err := shared.Decide(t.Context(), id, wire.Decision{Kind: "accept_result", DecisionID: "d-0", EscalationID: open.ID, DecidedBy: "ben@example.com", Comment: "no"})
	require.Error(t, err)
	ana.until("decision refused by ben@example.com: not_offered")
	require.Equal(t, "I think that", evaluate[string](ana, "document.querySelector('"+comment+"').value"), "the story went on around the form")

	_, err = shared.Decide(t.Context(), id, wire.Decision{
		Kind: wire.DecisionExtend, DecisionID: "d-1", EscalationID: open.ID, DecidedBy: "ben@example.com", Comment: "wait", StatusRequests: 9, Seconds: 900,
	})
	require.NoError(t, err)
	ana.until("The question you were answering is not open any more.")
	ana.until("ben@example.com answered Extend the wait extend")
	ana.unreloaded()
}

// Without scripts everything works by loading pages.
func TestWithoutScripts(t *testing.T) {
	t.Parallel()
	inbox := behindProxy(t, "noscript")
	id, _ := inboxtest.Asked(t, shared, "noscript", waittest.Script(waittest.State("archiving"), waittest.State("running")), inAccount("noscript"))
	ana := person(t, "ana@example.com", "oncall")
	ana.withoutScripts()
	require.Eventually(t, func() bool {
		ana.open(inbox.URL)
		return evaluate[bool](ana, "!!document.querySelector('a.name')")
	}, inboxtest.Longest, inboxtest.Pause)
	ana.click("a.name")
	ana.until("Your answer")
	ana.choose("treat_as_pending")
	ana.write(field("treat_as_pending.requests"), "5")
	ana.click(send)
	require.NotContains(t, ana.text(), "The answer was applied", "the browser itself wants a comment")
	ana.write(comment, "archiving is the last step")
	ana.click(send)
	ana.until("The answer was applied")
	require.Contains(t, ana.text(), "now up to 17 requests")
	view, err := shared.View(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, 17, view.Limits.MaxStatusRequests)
}

// On a narrow screen nothing lies beside it, and the form works.
func TestNarrowScreen(t *testing.T) {
	t.Parallel()
	inbox := behindProxy(t, "narrow")
	job := "a-very-long-id-of-a-job-without-any-place-to-break-0123456789-0123456789-0123456789-0123456789"
	id, _ := inboxtest.Asked(t, shared, job, waittest.Script(waittest.State("running"), waittest.State("archiving"), waittest.State("running")), inAccount("narrow"))
	ana := person(t, "ana@example.com", "oncall")
	ana.do(chromedp.EmulateViewport(400, 800, chromedp.EmulateMobile, chromedp.EmulateTouch))
	ana.open(inbox.URL)
	ana.until(job)
	for _, address := range []string{inbox.URL, inbox.URL + "/waiting", inbox.URL + "/closed", inbox.Page(id), inbox.URL + "/nothing-here?account=x"} {
		ana.open(address)
		require.LessOrEqual(t, evaluate[int](ana, "document.documentElement.scrollWidth"), 400, address)
	}
	ana.open(inbox.Page(id))
	ana.choose("close")
	ana.write(comment, "from my telephone")
	ana.click(send)
	ana.until("The answer was applied")
}

// Who may only look sees the question and no form.
func TestApproverWithoutRights(t *testing.T) {
	t.Parallel()
	inbox := behindProxy(t, "rights")
	id, _ := inboxtest.Asked(t, shared, "rights", waittest.Script(waittest.State("archiving")), inAccount("rights"))
	dan, eve := person(t, "dan@example.com", "lookers"), person(t, "eve@example.com", "others")
	dan.open(inbox.Page(id))
	dan.until("You may look at this question, not answer it")
	require.False(t, evaluate[bool](dan, "!!document.querySelector('textarea, button.main, input[name=kind]')"))
	eve.open(inbox.Page(id))
	eve.until("You may not see this wait")
	eve.open(inbox.URL)
	eve.until("Nothing waits for a decision.")
}

// With the keyboard alone: past the top, to the wait, to the answer, to the comment, and off.
func TestKeyboardOnly(t *testing.T) {
	t.Parallel()
	inbox := behindProxy(t, "keyboard")
	inboxtest.Asked(t, shared, "keyboard", waittest.Script(waittest.State("archiving"), waittest.State("running")), inAccount("keyboard"))
	ana := person(t, "ana@example.com", "oncall")
	ana.open(inbox.URL)
	ana.until("op-keyboard")
	ana.press(kb.Tab)
	require.Equal(t, "Skip to the content", evaluate[string](ana, "document.activeElement.innerText"))
	require.True(t, evaluate[bool](ana, "document.activeElement.getBoundingClientRect().left >= 0"), "it is seen when it has the focus")
	ana.press(kb.Enter)
	ana.tabTo("document.activeElement.matches('a.name')")
	require.NotEqual(t, "none", evaluate[string](ana, "getComputedStyle(document.activeElement).outlineStyle"))
	ana.press(kb.Enter)
	ana.until("Your answer")
	ana.tabTo("document.activeElement.name === 'kind'")
	ana.press(kb.ArrowDown) // the second: treat_as_pending
	require.Equal(t, "treat_as_pending", evaluate[string](ana, "document.querySelector('input[name=kind]:checked').value"))
	ana.tabTo(`document.activeElement.name === "treat_as_pending.requests"`)
	ana.press("7") // tabbing into a field selects what is in it
	ana.tabTo("document.activeElement.name === 'comment'")
	ana.press("by hand")
	ana.press(kb.Tab)
	ana.press(kb.Enter)
	ana.until("The answer was applied")
	require.Contains(t, ana.text(), "now up to 19 requests")
	require.Equal(t, "notice", evaluate[string](ana, "document.activeElement.id"), "what happened is read out first")
}

// tabTo presses Tab until the focus is where it is wanted, a bounded number of times.
func (p *tab) tabTo(wanted string) {
	p.t.Helper()
	for range 40 {
		p.press(kb.Tab)
		if evaluate[bool](p, wanted) {
			return
		}
	}
	require.Fail(p.t, "the focus never came to "+wanted, evaluate[string](p, "document.activeElement.outerHTML"))
}

// What providers and callers write does not run.
func TestScriptsOfOthersDoNotRun(t *testing.T) {
	t.Parallel()
	inbox := behindProxy(t, "inert")
	bad := `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`
	id, _ := inboxtest.Asked(t, shared, bad, waittest.Script(waittest.State("running"), waittest.State(bad)), inAccount("inert"))
	failed := inboxtest.Start(t, shared, bad+"2", waittest.Script(waittest.Failed(bad, bad)), inAccount("inert"))
	ana := person(t, "ana@example.com", "oncall")
	for _, address := range []string{inbox.URL, inbox.Page(id), inbox.Page(failed), inbox.URL + "/closed", inbox.URL + "/?provider=" + "%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E"} {
		ana.open(address)
		ana.untilTrue("document.readyState === 'complete'")
		require.NotEqual(t, "owned", evaluate[string](ana, "document.title"))
		require.False(t, evaluate[bool](ana, "!!document.querySelector('main img, main script')"), address)
	}
}
