package web

import (
	"net/http"
	"net/url"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/jobwait/jobwait/internal/inboxcmd/access"
	"github.com/jobwait/jobwait/internal/listing"
	"github.com/jobwait/jobwait/wire"
)

// listPage is what the template of a list is drawn from.
type listPage struct {
	Frame frame
	Tab   tab
	// Groups are the rows under their headings.
	Groups []rowGroup
	Filter filterForm
	// First is the address of the list's beginning where this page is a later part, Next that of the next part.
	First, Next string
	// Unregistered says that nobody knows which waits ask.
	Unregistered bool
	// Empty says why there is nothing to show.
	Empty string
}

type rowGroup struct {
	Title  string
	Urgent bool
	Rows   []rowView
}

type rowView struct {
	Link, Name             string
	Provider, Account, Job string
	Submission             bool // whose Job is its id
	Reason                 wire.Reason
	State                  string
	Tone                   string
	At                     time.Time
	AtLabel                string
}

type filterForm struct {
	Path                      string
	Provider, Account, Reason string
	Providers                 []string
	Reasons                   []wire.Reason
	Used                      bool
}

func (s *Server) listPage(r *http.Request, who access.Person, a ask, f found) listPage {
	p := listPage{Frame: s.frame(who, ""), Tab: a.tab, Unregistered: f.unregistered, Filter: s.filterForm(who, a)}
	p.Frame.Live, p.Frame.Version = a.link("/live/list/"+string(a.tab), a.place), f.version()
	for i, t := range tabs {
		link := &p.Frame.Tabs[i]
		link.Path, link.Current = a.link(t.path, ""), t.tab == a.tab
		if link.Count = f.count(t.tab); link.Current {
			p.Frame.Title, p.Filter.Path = t.title, t.path
		}
	}
	if a.place != "" {
		p.First = a.link(r.URL.Path, "")
	}
	if f.page.Next != "" {
		p.Next = a.link(r.URL.Path, f.page.Next)
	}
	p.Groups = grouped(a.tab, f.page.Rows, time.Now())
	if len(f.page.Rows) == 0 {
		p.Empty = emptyText(a)
	}
	return p
}

func (f found) count(t tab) int64 {
	switch {
	case t == tabClosed:
		return f.totals.Closed
	case f.unregistered && t == tabDecide:
		return -1
	case t == tabDecide:
		return f.deciding
	default:
		return max(f.totals.Open-f.deciding, 0)
	}
}

func emptyText(a ask) string {
	switch {
	case a.provider != "" || a.reason != "":
		return "No wait passes this filter."
	case a.tab == tabDecide:
		return "Nothing waits for a decision."
	case a.tab == tabWaiting:
		return "No wait is open."
	default:
		return "No wait has been closed within the namespace's retention."
	}
}

func (s *Server) filterForm(who access.Person, a ask) filterForm {
	form := filterForm{Provider: a.provider, Account: a.account, Reason: a.reason, Used: a.provider != "" || a.account != "" || a.reason != ""}
	form.Providers = s.options.Policy.ProvidersOf(who)
	if a.tab != tabWaiting {
		form.Reasons = append(wire.Reasons(), wire.ReasonExtensionRequested)
	}
	return form
}

// urgencies are the headings over what waits for a decision, by the time that is left.
var urgencies = []struct {
	within time.Duration
	title  string
	urgent bool
}{
	{0, "Past their window: they close as soon as a worker is there", true},
	{time.Hour, "Within the hour", true},
	{4 * time.Hour, "Within four hours", false},
	{24 * time.Hour, "Within a day", false},
	{72 * time.Hour, "Within three days", false},
	{1<<63 - 1, "Later", false},
}

func grouped(t tab, rows []listing.Row, now time.Time) []rowGroup {
	if t != tabDecide {
		var group rowGroup
		for _, row := range rows {
			group.Rows = append(group.Rows, viewOf(t, row))
		}
		return []rowGroup{group}
	}
	var groups []rowGroup
	for _, row := range rows {
		title, urgent := urgency(row.DecideBy.Sub(now))
		if len(groups) == 0 || groups[len(groups)-1].Title != title {
			groups = append(groups, rowGroup{Title: title, Urgent: urgent})
		}
		last := &groups[len(groups)-1]
		last.Rows = append(last.Rows, viewOf(t, row))
	}
	return groups
}

func urgency(left time.Duration) (string, bool) {
	for _, u := range urgencies[:len(urgencies)-1] {
		if left < u.within {
			return u.title, u.urgent
		}
	}
	last := urgencies[len(urgencies)-1]
	return last.title, last.urgent
}

func viewOf(t tab, row listing.Row) rowView {
	view := rowView{
		Link: waitPath(row.WorkflowID), Name: row.OperationID, Provider: row.Provider, Account: row.Account, Job: row.Job,
		Submission: isSubmission(row.WorkflowID),
		Reason:     row.Reason, State: phaseText(row.Phase), Tone: "quiet", At: row.StartedAt, AtLabel: "since",
	}
	if view.Name == "" {
		view.Name = row.Job
	}
	switch t {
	case tabDecide:
		view.At, view.AtLabel, view.Tone = row.DecideBy, "answer due", "ask"
	case tabClosed:
		view.At, view.AtLabel = row.ClosedAt, "closed"
		view.State, view.Tone = ended(row)
		view.Link += "?run=" + url.QueryEscape(row.RunID)
	case tabWaiting:
	}
	return view
}

// ended is how a wait ended, as far as visibility knows it: status and reason, no outcome.
func ended(row listing.Row) (state, tone string) {
	switch {
	case row.Status == enumspb.WORKFLOW_EXECUTION_STATUS_FAILED:
		return "could not be run", "bad"
	case row.Status != enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return "stopped from outside", "bad"
	}
	switch row.Reason { //nolint:exhaustive // the others end as whoever decided, or nobody, would have it
	case "":
		return "succeeded", "good"
	case wire.ReasonProviderFailure:
		return "failed", "bad"
	case wire.ReasonProviderCancelled:
		return "cancelled", "quiet"
	case wire.ReasonProviderExpired:
		return "expired", "bad"
	default:
		return "closed", "quiet"
	}
}

// waitPath is the page of a wait: its workflow id as one segment.
func waitPath(workflowID string) string { return "/waits/" + url.PathEscape(workflowID) }
