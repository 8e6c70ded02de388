package web_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/jobwait/jobwait/internal/inboxcmd/inboxtest"
	"github.com/jobwait/jobwait/wire"
)

// visitor is a person who loads pages and sends forms, as a browser without scripts does.
type visitor struct {
	t      *testing.T
	inbox  *inboxtest.Inbox
	header http.Header
	client *http.Client
}

func visit(t *testing.T, inbox *inboxtest.Inbox, header ...string) *visitor {
	t.Helper()
	v := &visitor{t: t, inbox: inbox, header: http.Header{}, client: &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	for i := 0; i < len(header); i += 2 {
		v.header.Set(header[i], header[i+1])
	}
	return v
}

// as is a visitor whom the proxy names.
func as(t *testing.T, inbox *inboxtest.Inbox, name, groups string) *visitor {
	t.Helper()
	return visit(t, inbox, "X-Name", name, "X-Groups", groups)
}

// seenPage is a page as it came.
type seenPage struct {
	t      *testing.T
	status int
	header http.Header
	text   string
}

func (v *visitor) do(method, address, body string, header ...string) seenPage {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), inboxtest.Longest)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	require.NoError(v.t, err)
	request.Header = v.header.Clone()
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Origin", v.inbox.URL)
		request.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			request.Host = header[i+1]
			continue
		}
		request.Header.Set(header[i], header[i+1])
	}
	answer, err := v.client.Do(request)
	require.NoError(v.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(v.t, err)
	return seenPage{v.t, answer.StatusCode, answer.Header, string(text)}
}

func (v *visitor) get(address string, header ...string) seenPage {
	v.t.Helper()
	return v.do(http.MethodGet, address, "", header...)
}

func (v *visitor) post(address string, form url.Values, header ...string) seenPage {
	v.t.Helper()
	return v.do(http.MethodPost, address, form.Encode(), header...)
}

// answerTo loads a wait's page and sends its form with an answer.
func (v *visitor) answerTo(workflowID string, kind wire.DecisionKind, fields ...string) seenPage {
	v.t.Helper()
	return v.post(v.inbox.Page(workflowID), v.form(workflowID, kind, fields...))
}

// form is the form of a wait's page, filled in.
func (v *visitor) form(workflowID string, kind wire.DecisionKind, fields ...string) url.Values {
	v.t.Helper()
	page := v.get(v.inbox.Page(workflowID))
	require.Equal(v.t, http.StatusOK, page.status, page.text)
	form := url.Values{"about": {page.field("about")}, "kind": {string(kind)}, "comment": {"because"}}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return form
}

// nodes are the elements of a page.
func (p seenPage) nodes() []*html.Node {
	p.t.Helper()
	root, err := html.Parse(strings.NewReader(p.text))
	require.NoError(p.t, err)
	var out []*html.Node
	for node := range root.Descendants() {
		if node.Type == html.ElementNode {
			out = append(out, node)
		}
	}
	return out
}

func attribute(node *html.Node, name string) string {
	for _, a := range node.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// field is what stands in a field of the page.
func (p seenPage) field(name string) string {
	p.t.Helper()
	for _, node := range p.nodes() {
		if node.Data == "input" && attribute(node, "name") == name {
			return attribute(node, "value")
		}
	}
	require.Fail(p.t, "no field "+name, p.text)
	return ""
}

// plain is the page as it is read: its texts without the elements.
func (p seenPage) plain() string {
	p.t.Helper()
	root, err := html.Parse(strings.NewReader(p.text))
	require.NoError(p.t, err)
	var out strings.Builder
	for node := range root.Descendants() {
		if node.Type == html.TextNode {
			out.WriteString(node.Data)
		}
	}
	return strings.Join(strings.Fields(out.String()), " ")
}
