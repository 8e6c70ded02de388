package web_test

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/inboxcmd/access"
	"github.com/jobwait/jobwait/internal/inboxcmd/inboxtest"
	"github.com/jobwait/jobwait/internal/inboxcmd/web"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// What another site has a browser send is refused, signed in or not.
func TestCrossSitePost(t *testing.T) {
	t.Parallel()
	inbox := inboxtest.Open(t, shared, inboxtest.Local("ana"), access.Everything("ana"))
	id, _ := inboxtest.Asked(t, shared, "crosssite", odd)
	ana := visit(t, inbox)
	form := ana.form(id, "close")
	for name, header := range map[string][]string{
		"cross-site":      {"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example.com"},
		"same-site":       {"Sec-Fetch-Site", "same-site", "Origin", "http://other.127.0.0.1.nip.io"},
		"another origin":  {"Sec-Fetch-Site", "", "Origin", "https://evil.example.com"},
		"another port":    {"Sec-Fetch-Site", "", "Origin", "http://127.0.0.1:1"},
		"no origin known": {"Sec-Fetch-Site", "", "Origin", "null"},
	} {
		page := ana.post(inbox.Page(id), form, header...)
		require.Equal(t, http.StatusForbidden, page.status, name)
	}
	applied, refused := decisions(t, id)
	require.Empty(t, applied)
	require.Empty(t, refused)
	require.Contains(t, inbox.Log.String(), `msg="refused a request from another site" origin=https://evil.example.com`)
}

// A name of somebody else's that leads to this machine is not served: its pages would count as the inbox's own.
func TestAnotherHost(t *testing.T) {
	t.Parallel()
	inbox := inboxtest.Open(t, shared, inboxtest.Local("ana"), access.Everything("ana"))
	for _, host := range []string{"evil.example.com", "evil.example.com:80", "127.0.0.1.evil.example.com", "10.0.0.1", "localhost"} {
		require.Equal(t, http.StatusMisdirectedRequest, visit(t, inbox).get(inbox.URL, "Host", host).status, host)
	}
	require.Equal(t, http.StatusOK, visit(t, inbox).get(inbox.URL+"/healthz", "Host", "container").status, "a health check needs no name")
}

// Whoever is not the proxy may say what they like.
func TestHeadersFromElsewhere(t *testing.T) {
	t.Parallel()
	inbox := inboxtest.Open(t, shared, inboxtest.Headers("10.1.2.3", "192.168.0.0/16", "::1"), policy)
	id, _ := inboxtest.Asked(t, shared, "elsewhere", odd)
	cyd := as(t, inbox, "cyd@example.com", "oncall")
	for _, address := range []string{inbox.URL, inbox.Page(id), inbox.URL + "/closed", inbox.URL + "/live/list/decide"} {
		page := cyd.get(address, "X-Forwarded-For", "10.1.2.3", "Forwarded", "for=10.1.2.3")
		require.Equal(t, http.StatusForbidden, page.status, address)
		require.Contains(t, page.plain(), "This request did not come by way of the proxy that signs people in.")
		require.NotContains(t, page.text, "op-elsewhere")
	}
	require.Equal(t, http.StatusForbidden, cyd.post(inbox.Page(id), url.Values{"kind": {"close"}, "comment": {"x"}}).status)
	require.Contains(t, inbox.Log.String(), `msg="refused a request of nobody known"`)
}

// The log has whom a trusted proxy names, and of everybody else who they are.
func TestForwardedFor(t *testing.T) {
	t.Parallel()
	for proxy, want := range map[string]string{"127.0.0.1/32": " remote=192.0.2.7\n", "10.1.2.3/32": " remote=127.0.0.1:"} {
		inbox := inboxtest.Open(t, shared, inboxtest.Headers("10.1.2.3"), policy, func(o *web.Options) {
			o.Proxies = access.Proxies{netip.MustParsePrefix(proxy)}
		})
		page := visit(t, inbox).get(inbox.URL, "X-Forwarded-For", "10.1.2.3, 192.0.2.7")
		require.Equal(t, http.StatusForbidden, page.status)
		require.Contains(t, inbox.Log.String(), want)
	}
}

func TestProxyWithoutAName(t *testing.T) {
	t.Parallel()
	inbox := inboxtest.Open(t, shared, inboxtest.Headers("127.0.0.1"), policy)
	for _, name := range []string{"", "  ", strings.Repeat("x", 257), "ana\u202e@example.com"} {
		page := as(t, inbox, name, "oncall").get(inbox.URL)
		require.Equal(t, http.StatusForbidden, page.status, name)
	}
	require.Equal(t, http.StatusForbidden, visit(t, inbox).get(inbox.URL).status)
}

// More than a form holds is not read.
func TestOversizedBody(t *testing.T) {
	t.Parallel()
	inbox := inboxtest.Open(t, shared, inboxtest.Local("ana"), access.Everything("ana"))
	id, _ := inboxtest.Asked(t, shared, "oversized", odd)
	ana := visit(t, inbox)
	form := ana.form(id, "close", "comment", strings.Repeat("x", 100_000))
	page := ana.post(inbox.Page(id), form)
	require.Equal(t, http.StatusRequestEntityTooLarge, page.status)
	require.Contains(t, page.plain(), "Your answer is too long A comment has at most 4096 characters.")
	require.Equal(t, http.StatusBadRequest, ana.do(http.MethodPost, inbox.Page(id), "%zz=1&about=%").status)
	applied, _ := decisions(t, id)
	require.Empty(t, applied)
}

// Whatever a provider or a caller writes stays text.
func TestScriptsAreInert(t *testing.T) {
	t.Parallel()
	inbox := inboxtest.Open(t, shared, inboxtest.Local("ana"), access.Everything("ana"))
	const bad, shownBad = `"><script>alert(1)</script><img src=x onerror=alert(2)>'{{.}}` + "\u202e", `"><script>alert(1)</script><img src=x onerror=alert(2)>'{{.}}\u202e`
	id, _ := inboxtest.Asked(t, shared, bad, waittest.Script(waittest.State(bad), waittest.Failed(bad, bad)), func(spec *wire.Spec) { spec.OperationID = bad })
	failed := inboxtest.Start(t, shared, bad+"2", waittest.Script(waittest.Failed("E1", bad)))
	_, err := shared.Outcome(t.Context(), shared.Client.GetWorkflow(t.Context(), failed, ""))
	require.NoError(t, err)
	ana := visit(t, inbox)
	sent := ana.answerTo(id, "extend", "extend.requests", bad, "comment", bad)
	require.Equal(t, http.StatusUnprocessableEntity, sent.status)
	pages := map[string]seenPage{
		"question": ana.get(inbox.Page(id)), "wrong number": sent, "failed": ana.get(inbox.Page(failed)),
		"list": ana.get(inbox.URL + "/?provider=demo-export"), "closed": ana.get(inbox.URL + "/closed?provider=demo-export"),
		"filter": ana.get(inbox.URL + "/closed?provider=" + url.QueryEscape(bad) + "&account=" + url.QueryEscape(bad)),
		"reason": ana.get(inbox.URL + "/closed?reason=" + url.QueryEscape(bad)), "id": ana.get(inbox.URL + "/waits/" + url.PathEscape(bad)),
		"run": ana.get(inbox.Page(id) + "?run=" + url.QueryEscape(bad) + "&decision=" + url.QueryEscape(bad)),
	}
	for name, page := range pages {
		requireInert(t, name, page)
	}
	require.Contains(t, pages["question"].plain(), shownBad, "and it can be read")
	require.Contains(t, pages["failed"].plain(), shownBad)
	require.Contains(t, pages["wrong number"].plain(), bad, "what was typed is typed on")
}

// A name that turns the direction of writing does so on no page.
func TestNamesDoNotTurnTheirLine(t *testing.T) {
	t.Parallel()
	inbox := inboxtest.Open(t, shared, inboxtest.Local("ana"), access.Everything("ana"))
	id, open := inboxtest.Asked(t, shared, "turned", odd)
	ctx, cancel := context.WithTimeout(t.Context(), inboxtest.Longest)
	defer cancel()
	const name = "ben\u202emoc.elpmaxe@"
	require.NoError(t, shared.Client.SignalWorkflow(ctx, id, "", wire.SignalDecide, wire.Decision{
		Kind: wire.DecisionClose, DecisionID: "d-1", EscalationID: open.ID, DecidedBy: name, Comment: "\u2066done",
	}))
	_, err := shared.Outcome(ctx, shared.Client.GetWorkflow(ctx, id, ""))
	require.NoError(t, err)
	page := visit(t, inbox).get(inbox.Page(id))
	requireInert(t, "turned", page)
	require.Contains(t, page.plain(), `ben\u202emoc.elpmaxe@ answered Stop waiting`)
	require.Contains(t, page.plain(), `\u2066done`)
}

// requireInert wants a page whose scripts are ours, and that runs no other.
func requireInert(t *testing.T, name string, page seenPage) {
	t.Helper()
	require.Contains(t, page.header.Get("Content-Security-Policy"), "default-src 'none'; style-src 'self'; script-src 'self'", name)
	require.NotContains(t, page.header.Get("Content-Security-Policy"), "unsafe", name)
	require.Equal(t, "text/html; charset=utf-8", page.header.Get("Content-Type"), name)
	require.Equal(t, "nosniff", page.header.Get("X-Content-Type-Options"), name)
	require.Equal(t, "no-store", page.header.Get("Cache-Control"), name)
	require.Equal(t, -1, strings.IndexFunc(page.text, func(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) }), name)
	for _, node := range page.nodes() {
		for _, a := range node.Attr {
			require.False(t, strings.HasPrefix(a.Key, "on") || a.Key == "style", "%s: attribute %s=%q", name, a.Key, a.Val)
			require.False(t, strings.HasPrefix(strings.ToLower(strings.TrimSpace(a.Val)), "javascript:"), "%s: %s=%q", name, a.Key, a.Val)
		}
		switch node.Data {
		case "script":
			require.Regexp(t, `^/static/[0-9a-f]{16}/live\.js$`, attribute(node, "src"), name)
			require.Nil(t, node.FirstChild, name)
		case "img":
			require.Regexp(t, `^/static/[0-9a-f]{16}/icon\.svg$`, attribute(node, "src"), name)
		case "style", "iframe", "object", "embed", "base", "template":
			require.Fail(t, "an element that no page has", "%s: %s", name, node.Data)
		}
	}
}

// Answers come at the pace of people.
func TestRateLimit(t *testing.T) {
	t.Parallel()
	inbox := inboxtest.Open(t, shared, inboxtest.Headers("127.0.0.1"), policy)
	id, _ := inboxtest.Asked(t, shared, "ratelimit", odd)
	ana := as(t, inbox, "ana@example.com", "oncall")
	var last seenPage
	for range 12 {
		last = ana.post(inbox.Page(id), url.Values{"kind": {"extend"}})
	}
	require.Equal(t, http.StatusTooManyRequests, last.status)
	require.NotEmpty(t, last.header.Get("Retry-After"))
	ben := as(t, inbox, "ben@example.com", "oncall")
	require.Equal(t, http.StatusConflict, ben.post(inbox.Page(id), url.Values{"kind": {"extend"}}).status, "each has their own")
	for range 70 {
		if last = ben.get(inbox.URL + "/closed"); last.status == http.StatusTooManyRequests {
			break
		}
	}
	require.Equal(t, http.StatusTooManyRequests, last.status)
}

// Nothing is answered to methods and paths that are not there, and nothing is listed.
func TestOtherPaths(t *testing.T) {
	t.Parallel()
	inbox := inboxtest.Open(t, shared, inboxtest.Local("ana"), access.Everything("ana"))
	ana := visit(t, inbox)
	for address, want := range map[string]int{
		"/nothing": http.StatusNotFound, "/static/x/../../server.go": http.StatusNotFound, "/static/x/none.js": http.StatusNotFound,
		"/waits/": http.StatusNotFound, "/waits/jobwait/demo-export/acct-42/never-was": http.StatusNotFound, "/live/list/none": http.StatusBadRequest,
		"/?account=acct-42": http.StatusBadRequest, "/?from=%25%25": http.StatusSeeOther, "/closed?from=AAAA": http.StatusSeeOther,
	} {
		page := ana.get(inbox.URL + address)
		if page.status == http.StatusTemporaryRedirect || page.status == http.StatusMovedPermanently {
			page = ana.get(inbox.URL + page.header.Get("Location"))
		}
		require.Equal(t, want, page.status, address)
	}
	require.Equal(t, http.StatusMethodNotAllowed, ana.do(http.MethodDelete, inbox.URL+"/closed", "", "Sec-Fetch-Site", "same-origin").status)
}
