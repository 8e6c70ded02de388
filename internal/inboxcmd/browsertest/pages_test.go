package browsertest_test

import (
	_ "embed"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/internal/inboxcmd/inboxtest"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// shots is where pictures of the pages go, to be looked at.
var shots = flag.String("shots", "", "`directory` for pictures of all pages in both colour schemes")

//go:embed access_test.js
var accessible string

// gallery are the pages, each with what makes it so.
type gallery struct {
	inbox *inboxtest.Inbox
	ana   *tab
	pages []pictured
}

type pictured struct {
	name, address, until string
	before               func(*tab)
}

func (g *gallery) add(name, address, until string, before ...func(*tab)) {
	p := pictured{name: name, address: address, until: until}
	if len(before) > 0 {
		p.before = before[0]
	}
	g.pages = append(g.pages, p)
}

func busy(seconds string) waittest.Step {
	return waittest.Step{Status: http.StatusServiceUnavailable, Headers: http.Header{"Retry-After": {seconds}}, Raw: new("busy")}
}

const galleryAccount = "acct-gallery"

func named(operation string, window int) func(*wire.Spec) {
	return func(spec *wire.Spec) {
		spec.Account, spec.OperationID, spec.Escalation.DecisionWindowSeconds = galleryAccount, operation, &window
		spec.Escalation.MaxExtensions = new(2)
	}
}

func makeGallery(t *testing.T) *gallery {
	t.Helper()
	g := &gallery{inbox: behindProxy(t, galleryAccount), ana: person(t, "ana@example.com", "oncall")}
	started := func(operation, job string, script waittest.JobScript) string {
		return inboxtest.Start(t, shared, job, script, named(operation, 86400))
	}
	unknown, _ := inboxtest.Asked(t, shared, "exp_71c", waittest.Script(
		waittest.State("queued"), busy("3"), waittest.State("running"), waittest.State("archiving"),
	), named("report-export-2026-11-29-01", 86400))
	failures, _ := inboxtest.Asked(t, shared, "exp_72a", waittest.Script(waittest.State("queued"), busy("1"), busy("2")), named("tax-run-q3", 3000), func(spec *wire.Spec) {
		business := time.Now().Add(5 * time.Minute)
		spec.BusinessDeadlineAt = &business
	})
	denied, _ := inboxtest.Asked(t, shared, "exp_73b", waittest.Script(waittest.State("running"), waittest.Status(http.StatusUnauthorized)), named("payroll-export", 12000))
	inboxtest.Asked(t, shared, "exp_74d", waittest.Script(waittest.State("awaiting_review")), named("upload-review", 600000))
	polling := started("nightly-export", "exp_75e", waittest.Script(waittest.State("queued"), waittest.State("running").PollAfter(300)))
	done := started("orders-2026-11", "exp_76f", waittest.Script(waittest.State("queued"), waittest.Succeeded("https://files.example.com/exp_76f.csv?signature=x")))
	failed := started("orders-2026-10", "exp_77g", waittest.Script(waittest.State("running"), waittest.Failed("E42", "the table to export was dropped")))
	extended, open := inboxtest.Asked(t, shared, "exp_78h", waittest.Script(
		waittest.State("running"), waittest.State("archiving"), waittest.State("running").PollAfter(2), waittest.State("running").PollAfter(400),
	), named("ledger-export", 86400))
	_, err := shared.Decide(t.Context(), extended, wire.Decision{
		Kind: wire.DecisionTreatAsPending, DecisionID: "d-1", EscalationID: open.ID, DecidedBy: "ben@example.com",
		Comment: "archiving is the last step of an export", RawState: "archiving", StatusRequests: 4, Seconds: 1800,
	})
	require.NoError(t, err)

	g.add("decide", g.inbox.URL, "upload-review")
	g.add("waiting", g.inbox.URL+"/waiting", "nightly-export")
	g.add("closed", g.inbox.URL+"/closed", "orders-2026-10")
	g.add("empty", g.inbox.URL+"/?reason=history_reset", "No wait passes this filter.")
	g.add("question", g.inbox.Page(unknown), "Your answer", func(p *tab) { p.choose("treat_as_pending") })
	g.add("failures", g.inbox.Page(failures), "Your answer", func(p *tab) { p.choose("extend") })
	g.add("credential", g.inbox.Page(denied), "Your answer", func(p *tab) { p.choose("use_credential") })
	g.add("refused", g.inbox.Page(unknown), "Your answer", func(p *tab) {
		p.choose("extend")
		p.write(field("extend.requests"), "20000")
		p.write(comment, "as much as it takes")
		p.click(send)
		p.until("Your answer was refused")
	})
	g.addOthers(t)
	g.add("polling", g.inbox.Page(polling), "next request")
	g.add("extended", g.inbox.Page(extended)+"?decision=d-1", "The answer was applied")
	g.add("succeeded", g.inbox.Page(done), "succeeded")
	g.add("failed", g.inbox.Page(failed), "the table to export was dropped")
	g.add("nowhere", g.inbox.URL+"/nowhere", "There is no such page")
	return g
}

// addOthers adds the questions that do not come of an answer about a job, and what is told of people who could not be told.
func (g *gallery) addOthers(t *testing.T) {
	t.Helper()
	require.NoError(t, shared.Provider.TakeSubmissions(waittest.SubmitScript{
		Job: waittest.Script(waittest.State("running")), Steps: []waittest.SubmitStep{{Answer: waittest.Hangup()}},
	}))
	lost, _ := inboxtest.Submitted(t, shared, "quarter-report-2026-q3", func(spec *wire.SubmitSpec) { spec.Account = galleryAccount })
	stop, err := shared.Work(bed.WorkerOptions{TaskQueue: "gallery", Credentials: inboxtest.Ruled(shared), Notifier: &inboxtest.Pager{}})
	require.NoError(t, err)
	t.Cleanup(stop)
	ruled := inboxtest.StartOn(t, shared, "gallery", "exp_79i", waittest.Script(waittest.State("running")), named("bank-statement", 86400), func(spec *wire.Spec) {
		spec.CredentialRef = string(wire.ApprovalPerRequest)
	})
	inboxtest.Escalated(t, shared, ruled)
	proposed := inboxtest.Start(t, shared, "exp_80j", waittest.Script(waittest.State("running").PollAfter(300)), named("image-batch-7", 86400))
	inboxtest.Propose(t, shared, proposed, wire.ExtensionRequest{
		RequestID: "r-1", RequestedBy: "agent-7", Seconds: 1800, StatusRequests: 4, ExpectedEffect: "80 % of the images are done; the rest takes about half an hour",
	})
	g.add("attach", g.inbox.Page(lost.GetID()), "Your answer", func(p *tab) { p.choose("attach") })
	g.add("approval", g.inbox.Page(ruled), "the pager is down; attempt ", func(p *tab) { p.choose("approve_request") })
	g.add("proposal", g.inbox.Page(proposed), "agent-7 asks for more", func(p *tab) { p.choose("extend") })
}

// Each page, in both colour schemes, wide and narrow, can be used by everybody; with -shots they can be looked at.
func TestPages(t *testing.T) {
	t.Parallel()
	g := makeGallery(t)
	for _, width := range []int64{1100, 400} {
		g.ana.do(chromedp.EmulateViewport(width, 900))
		for _, scheme := range []string{"light", "dark"} {
			g.ana.scheme(scheme)
			for _, page := range g.pages {
				g.ana.open(page.address)
				g.ana.until(page.until) // visibility is a moment behind
				if page.before != nil {
					page.before(g.ana)
				}
				require.Empty(t, evaluate[[]string](g.ana, accessible), "%s, %s, %d wide", page.name, scheme, width)
				require.LessOrEqual(t, evaluate[int64](g.ana, "document.documentElement.scrollWidth"), width, page.name)
				g.picture(t, page.name, scheme, width)
			}
		}
	}
}

func (g *gallery) picture(t *testing.T, name, scheme string, width int64) {
	t.Helper()
	if *shots == "" {
		return
	}
	require.NoError(t, os.MkdirAll(*shots, 0o755))
	picture, err := chromedp.Run(g.ana.ctx, chromedp.FullScreenshot(100))
	require.NoError(t, err)
	size := "wide"
	if width < 600 {
		size = "narrow"
	}
	require.NoError(t, os.WriteFile(filepath.Join(*shots, name+"-"+size+"-"+scheme+".png"), picture, 0o644))
}

// The check itself sees what it is for.
func TestAccessCheckComplains(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.open(`data:text/html,<body><h1>One</h1><h3>Three</h3><p style="color:%23999;background:%23fff">faint</p><input><img src="data:,"><p id=a></p><p id=a></p><svg width=9 height=9></svg>`)
	got := strings.Join(evaluate[[]string](p, accessible), "\n")
	for _, want := range []string{
		"contrast 2.85", "no name: <input>", "no alt: <img", "id a", "a heading is left out before: <h3>", "not one main", "no language", "no name: <svg",
	} {
		require.Contains(t, got, want)
	}
}
