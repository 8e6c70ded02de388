package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/jobwait/jobwait/internal/inboxcmd/access"
	"github.com/jobwait/jobwait/internal/listing"
	"github.com/jobwait/jobwait/wire"
)

// tab is one of the three lists.
type tab string

const (
	tabDecide  tab = "decide"
	tabWaiting tab = "waiting"
	tabClosed  tab = "closed"
)

var tabs = []struct {
	tab         tab
	path, title string
}{
	{tabDecide, "/", "Waiting for a decision"},
	{tabWaiting, "/waiting", "Waiting for providers"},
	{tabClosed, "/closed", "Closed"},
}

// ask is what one page of a list is to show.
type ask struct {
	tab    tab
	filter listing.Filter
	// nothing says that no wait that may be seen passes the filter.
	nothing                          bool
	provider, account, reason, place string
}

// maxField bounds what a filter may name; ids have 256 characters.
const maxField = 1024

var reasonWord = regexp.MustCompile(`^[a-z_]{1,64}$`)

// ask reads a filter and narrows it to what the person may see.
func (s *Server) ask(r *http.Request, t tab, who access.Person) (ask, error) {
	query := r.URL.Query()
	a := ask{
		tab: t, provider: strings.TrimSpace(query.Get("provider")), account: strings.TrimSpace(query.Get("account")),
		reason: query.Get("reason"), place: query.Get("from"),
	}
	switch {
	case t != tabDecide && t != tabWaiting && t != tabClosed:
		return ask{}, fmt.Errorf("%q is not a list", t)
	case len(a.provider) > maxField || len(a.account) > maxField:
		return ask{}, errors.New("the provider or the account is too long")
	case a.account != "" && a.provider == "":
		return ask{}, errors.New("an account is one at a provider: name the provider, too")
	case a.reason != "" && !reasonWord.MatchString(a.reason):
		return ask{}, fmt.Errorf("%q is not a reason", a.reason)
	}
	a.filter = listing.Filter{Reason: wire.Reason(a.reason)}
	a.filter.Prefixes, a.nothing = narrowed(s.options.Policy.ScopeOf(who), a.prefix())
	return a, nil
}

// prefix begins the workflow ids of the filter; empty: any.
func (a ask) prefix() string {
	switch {
	case a.provider == "":
		return ""
	case a.account == "":
		return access.ProviderPrefix(a.provider)
	default:
		return access.AccountPrefix(a.provider, a.account)
	}
}

// narrowed is what both a scope and a prefix let through.
func narrowed(scope access.Scope, prefix string) (prefixes []string, nothing bool) {
	switch {
	case scope.All && prefix == "":
		return nil, false
	case scope.All:
		return []string{prefix}, false
	}
	for _, one := range scope.Prefixes {
		switch {
		case strings.HasPrefix(one, prefix):
			prefixes = append(prefixes, one)
		case strings.HasPrefix(prefix, one):
			prefixes = append(prefixes, prefix)
		}
	}
	return prefixes, len(prefixes) == 0
}

// key is the same for those who see the same list. No prefixes are all of them for one, and none of them for another.
func (a ask) key() string {
	return strings.Join([]string{string(a.tab), strconv.FormatBool(a.nothing), a.reason, a.place, strings.Join(a.filter.Prefixes, "\n")}, "\x00")
}

// link is the address of this list with another place or another tab.
func (a ask) link(path, place string) string {
	query := url.Values{}
	for name, value := range map[string]string{"provider": a.provider, "account": a.account, "reason": a.reason, "from": place} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// found is a list as the server has it.
type found struct {
	page     listing.Page
	totals   listing.Totals
	deciding int64
	// unregistered says that nobody knows which waits ask.
	unregistered bool
}

// find reads a list and counts the others, with as few questions as it takes: a namespace answers few of them a second.
func (s *Server) find(ctx context.Context, a ask) (found, error) {
	if a.nothing {
		return found{}, nil
	}
	var f found
	var listed error
	counts := s.countsDeciding(a)
	deciding := listing.Filter{Prefixes: a.filter.Prefixes}
	group, within := errgroup.WithContext(ctx)
	group.Go(func() error {
		f.page, listed = s.page(within, a)
		return unlessUnregistered(listed)
	})
	group.Go(func() (err error) {
		f.totals, err = s.lister.Totals(within, a.filter)
		return unlessUnregistered(err)
	})
	if counts {
		group.Go(func() (err error) {
			f.deciding, err = s.lister.Deciding(within, deciding)
			return unlessUnregistered(err)
		})
	}
	err := group.Wait()
	f.unregistered = errors.Is(listed, listing.ErrUnregistered)
	if err != nil || f.unregistered {
		return f, err
	}
	if counts {
		return f, nil
	}
	if f.deciding = f.page.Whole; f.deciding < 0 {
		f.deciding, err = s.lister.Deciding(ctx, deciding)
	}
	return f, err
}

// countsDeciding reports whether a list may not tell by itself how many waits ask, so that they are counted beside it and not
// after it.
func (s *Server) countsDeciding(a ask) bool {
	before, _, known := s.lists.last(a.key())
	return a.tab != tabDecide || a.reason != "" || !known || before.page.Whole < 0
}

func unlessUnregistered(err error) error {
	if errors.Is(err, listing.ErrUnregistered) {
		return nil
	}
	return err
}

// page reads a page. Some stores of visibility, that of a development server among them, take A for a: what only looks as if it
// began so is left out here. The counts have it.
func (s *Server) page(ctx context.Context, a ask) (listing.Page, error) {
	page, err := s.read(ctx, a)
	page.Rows = slices.DeleteFunc(page.Rows, func(row listing.Row) bool { return !a.shows(row) })
	return page, err
}

// shows reports whether a row passes the prefixes, letter by letter.
func (a ask) shows(row listing.Row) bool {
	account := access.AccountPrefix(row.Provider, row.Account)
	return len(a.filter.Prefixes) == 0 || slices.ContainsFunc(a.filter.Prefixes, func(prefix string) bool { return strings.HasPrefix(account, prefix) })
}

func (s *Server) read(ctx context.Context, a ask) (listing.Page, error) {
	switch a.tab {
	case tabWaiting:
		return s.lister.Waiting(ctx, a.filter, a.place, pageSize)
	case tabClosed:
		return s.lister.Closed(ctx, a.filter, a.place, pageSize)
	case tabDecide:
		return s.lister.Urgent(ctx, a.filter, time.Now(), a.place, pageSize)
	default:
		return listing.Page{}, fmt.Errorf("%q is not a list", a.tab)
	}
}

// reader reads a list.
func (s *Server) reader(a ask) func(context.Context) (found, error) {
	return func(ctx context.Context) (found, error) { return s.find(ctx, a) }
}

// probeList tells versions of a list.
func (s *Server) probeList(a ask) probe {
	return func(ctx context.Context) (string, error) {
		f, err := s.lists.get(ctx, a.key(), s.reader(a)) // at most once in a while for all who look at it
		return f.version(), err
	}
}

// version changes with what a page shows.
func (f found) version() string {
	sum := sha256.New()
	_, _ = fmt.Fprintln(sum, f.totals, f.deciding, f.unregistered, f.page.Next == "")
	for _, row := range f.page.Rows {
		_, _ = fmt.Fprintln(sum, row.WorkflowID, row.RunID, row.Phase, row.Reason, row.DecideBy.UnixMilli(), row.Status)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// showList draws one of the lists.
func (s *Server) showList(t tab) page {
	return func(w http.ResponseWriter, r *http.Request, who access.Person) {
		ctx, cancel := context.WithTimeout(r.Context(), pageTimeout)
		defer cancel()
		a, err := s.ask(r, t, who)
		if err != nil {
			s.fail(w, r, who, http.StatusBadRequest, "That filter cannot be used", err.Error())
			return
		}
		f, err := s.lists.usable(ctx, a.key(), s.reader(a))
		switch {
		case errors.Is(err, listing.ErrPlace):
			http.Redirect(w, r, a.link(r.URL.Path, ""), http.StatusSeeOther) // the list is another by now
		case err != nil:
			s.failure(w, r, who, "The list cannot be read", err)
		default:
			s.render(w, r, http.StatusOK, "list", s.listPage(r, who, a, f))
		}
	}
}
