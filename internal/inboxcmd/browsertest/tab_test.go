package browsertest_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/inboxcmd/inboxtest"
)

// tab is a person before a browser of their own.
type tab struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // the life of the tab

	mu         sync.Mutex
	complaints []string
}

// person opens a browser in which the proxy names somebody.
func person(t *testing.T, name, groups string) *tab {
	t.Helper()
	p := newTab(t)
	p.do(call(network.Enable, network.EnableParams{}), call(network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{
		Headers: network.Headers{"X-Name": name, "X-Groups": groups},
	}))
	return p
}

// newTab opens a browser that knows nothing, and ends the test red when a page complains: of a script that failed, of
// something that the content security policy kept from happening.
func newTab(t *testing.T) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	ctx, stop := context.WithTimeout(ctx, 3*inboxtest.Longest)
	t.Cleanup(stop)
	p := &tab{t: t, ctx: ctx}
	require.NoError(t, chromedp.Listen(ctx, p.listen))
	p.do(call(log.Enable, cdp.Empty{}), call(runtime.Enable, cdp.Empty{}))
	t.Cleanup(func() { require.Empty(t, p.complained()) })
	return p
}

func (p *tab) listen(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError && !strings.Contains(e.Entry.Text, "the server responded with a status of 4") {
			p.complaints = append(p.complaints, e.Entry.Text)
		}
	case *runtime.EventExceptionThrown:
		p.complaints = append(p.complaints, e.ExceptionDetails.Text)
	}
}

func (p *tab) complained() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.complaints
}

// call is a command of the browser's protocol as a step.
func call[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	require.NoError(p.t, chromedp.Do(p.ctx, steps...))
}

// open loads a page.
func (p *tab) open(address string) {
	p.t.Helper()
	p.do(chromedp.Navigate(address))
}

// evaluate asks the page.
func evaluate[T any](p *tab, expression string) T {
	p.t.Helper()
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	require.NoError(p.t, err, expression)
	return value
}

// text is what can be read.
func (p *tab) text() string {
	p.t.Helper()
	return strings.Join(strings.Fields(evaluate[string](p, "document.body.innerText")), " ")
}

// until waits until something can be read.
func (p *tab) until(text string) {
	p.t.Helper()
	p.untilTrue(fmt.Sprintf("document.body && document.body.innerText.replace(/\\s+/g, ' ').includes(%s)", strconv.Quote(text)))
}

func (p *tab) untilTrue(expression string) {
	p.t.Helper()
	last := ""
	require.Eventually(p.t, func() bool {
		value, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](expression))
		if err == nil && !value {
			last, _ = chromedp.Run(p.ctx, chromedp.Evaluate[string]("location.href + ' ' + document.body.innerText"))
		}
		return err == nil && value
	}, inboxtest.Longest, 100*time.Millisecond, "%s; last: %s", expression, lastOf{&last})
}

// lastOf is printed when it is looked at.
type lastOf struct{ text *string }

func (l lastOf) String() string { return *l.text }

// mark leaves a note in the page that a reload loses.
func (p *tab) mark() { evaluate[int](p, "window.marked = 1") }

// unreloaded wants the page to be the one that was marked.
func (p *tab) unreloaded() {
	p.t.Helper()
	require.True(p.t, evaluate[bool](p, "window.marked === 1"), "the page was loaded again")
}

// click clicks on what a selector finds first.
func (p *tab) click(selector string) {
	p.t.Helper()
	p.do(chromedp.Click(chromedp.CSS(selector)))
}

// write types into a field in place of what is in it.
func (p *tab) write(selector, text string) {
	p.t.Helper()
	p.do(chromedp.Focus(chromedp.CSS(selector)))
	evaluate[bool](p, "document.activeElement.select() || true")
	p.do(chromedp.SendKeys(chromedp.CSS(selector), text))
}

// press types keys where the focus is.
func (p *tab) press(keys string) {
	p.t.Helper()
	p.do(chromedp.KeyEvent(keys))
}

// without switches the scripts of pages off.
func (p *tab) withoutScripts() {
	p.t.Helper()
	p.do(call(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
}

// scheme is light or dark.
func (p *tab) scheme(scheme string) {
	p.t.Helper()
	p.do(call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	}))
}

// choose chooses an option of the form.
func (p *tab) choose(kind string) {
	p.t.Helper()
	p.click(`input[name=kind][value="` + kind + `"]`)
}

// field is a field of an option.
func field(name string) string { return `[name="` + name + `"]` }

const (
	comment = "textarea[name=comment]"
	send    = "button.main"
)
