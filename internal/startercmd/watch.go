package startercmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jobwait/jobwait/internal/listing"
	"github.com/jobwait/jobwait/internal/plain"
	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

const (
	// watchEvery is how often the list is looked at, unless --every says otherwise; leastWatchEvery is the shortest.
	watchEvery      = 3 * time.Second
	leastWatchEvery = time.Second
)

// watch shows the list of open questions until somebody ends it. Listing asks the server alone; a wait itself is asked once for
// each question that it opens.
func (a *app) watch(ctx context.Context, limit int, every time.Duration, asJSON bool) error {
	switch {
	case limit < 1:
		return usagef("--limit %d: at least 1 is shown", limit)
	case every < leastWatchEvery:
		return usagef("--every %s: the list is looked at every %s at most", every, leastWatchEvery)
	}
	s, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	w := &watcher{app: a, server: s, limit: limit, show: a.viewer(asJSON)}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if err := w.round(ctx); err != nil {
			return ended(ctx, err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ended(ctx, ctx.Err())
		}
	}
}

// ended is the end of a watch by Ctrl-C, which is no error.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return outcomeError{exitDetached}
	}
	return err
}

// viewer shows a list on a terminal, and its changes, line by line, to whoever reads them otherwise.
func (a *app) viewer(asJSON bool) func(changes) error {
	switch {
	case asJSON:
		return (&jsonChanges{json.NewEncoder(a.out)}).show
	case isTerminal(a.out):
		return (&liveTable{out: a.out, name: a.name}).show
	default:
		return (&lineChanges{out: a.out}).show
	}
}

// changes are what a look at the list taught.
type changes struct {
	at time.Time
	// open are all open questions, the most urgent first.
	open []asked
	// opened and gone are those since the last look.
	opened, gone []asked
	// trouble says why the list may not be whole; empty: it is.
	trouble string
}

// watcher looks at the list again and again, and keeps what it knows of the questions.
type watcher struct {
	app    *app
	server *server
	limit  int
	show   func(changes) error

	// open are the questions of the last look, and told those that were said to open and not to be gone.
	open  []asked
	told  map[questionKey]asked
	began bool
}

// questionKey is one question: by its id, else by what visibility has of it. It stays the same when its wait goes on in another
// run.
type questionKey struct {
	workflowID string
	escalation string
	reason     wire.Reason
	decideBy   time.Time
}

func keyOf(row listing.Row) questionKey {
	return questionKey{workflowID: row.WorkflowID, reason: row.Reason, decideBy: row.DecideBy}
}

// round is one look. Trouble with the server is shown and may pass; only the first look has to succeed.
func (w *watcher) round(ctx context.Context) error {
	list := &escalationList{app: w.app, server: w.server, limit: w.limit, found: []asked{}, known: seen(slices.Collect(maps.Values(w.told))), quiet: true}
	err := list.collect(ctx)
	switch {
	case err != nil && (!w.began || ctx.Err() != nil):
		return err
	case err != nil:
		return w.show(changes{at: time.Now(), open: w.open, trouble: oneLine(err)})
	}
	found := w.compare(list)
	if err := list.incomplete(); err != nil {
		found.trouble = oneLine(err)
	}
	if list.more {
		found.trouble = fmt.Sprintf("there are more than the %d shown; see --limit", w.limit)
	}
	w.open, w.began = found.open, true
	return w.show(found)
}

// compare finds out what a look taught, and remembers it. What the list does not speak for is neither open anew nor gone.
func (w *watcher) compare(list *escalationList) changes {
	c := changes{at: time.Now(), open: list.found}
	told, listed := map[questionKey]asked{}, seen(list.found)
	for _, one := range list.found {
		told[one.told()] = one
		_, before := w.told[one.told()]
		if _, unasked := w.told[one.key]; !before && !unasked { // one that could not be asked has got its id
			c.opened = append(c.opened, one)
		}
	}
	for key, one := range w.told {
		_, still := told[key]
		_, asked := listed[key]
		switch silent := list.silentOn(one.WorkflowID); {
		case still || asked:
		case silent || list.mayHide(one):
			told[key] = one
			if silent {
				c.open = append(c.open, one)
			}
		default:
			c.gone = append(c.gone, one)
		}
	}
	w.told = told
	c.open, c.opened, c.gone = urgentFirst(c.open), urgentFirst(c.opened), urgentFirst(c.gone)
	return c
}

// seen are questions by what visibility has of them.
func seen(open []asked) map[questionKey]asked {
	found := map[questionKey]asked{}
	for _, one := range open {
		found[one.key] = one
	}
	return found
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// urgentFirst puts the most urgent first.
func urgentFirst(all []asked) []asked {
	slices.SortFunc(all, func(a, b asked) int {
		return cmp.Or(a.before().Compare(b.before()), cmp.Compare(a.WorkflowID, b.WorkflowID))
	})
	return all
}

// before is when the window of a question ends, as far as anybody knows.
func (o asked) before() time.Time {
	switch {
	case o.Escalation != nil:
		return o.Escalation.WindowEndsAt
	case o.DecideBy != nil:
		return *o.DecideBy
	default:
		return time.Time{}
	}
}

// lineChanges writes a line for each question that opens or is gone.
type lineChanges struct {
	out     io.Writer
	trouble string
}

func (l *lineChanges) show(c changes) error {
	var text strings.Builder
	for _, one := range c.opened {
		row := cells([][]string{one.row()})[0]
		fmt.Fprintf(&text, "%s  open  %s  %s  answer before %s  %s\n", clock(c.at), row[0], row[1], row[2], row[3])
	}
	for _, one := range c.gone {
		fmt.Fprintf(&text, "%s  gone  %s  %s\n", clock(c.at), plain.Cell(one.row()[0]), plain.Cell(one.row()[1]))
	}
	if c.trouble != l.trouble && c.trouble != "" {
		fmt.Fprintf(&text, "%s  %s\n", clock(c.at), plain.Cell(c.trouble))
	}
	l.trouble = c.trouble
	_, err := io.WriteString(l.out, text.String())
	return err
}

// jsonChanges writes one JSON object a line.
type jsonChanges struct{ encoder *json.Encoder }

// jsonChange is one of them.
type jsonChange struct {
	// Event is open or gone.
	Event string    `json:"event"`
	At    time.Time `json:"at"`
	asked
}

func (j *jsonChanges) show(c changes) error {
	var errs []error
	for _, one := range c.opened {
		errs = append(errs, j.encoder.Encode(jsonChange{"open", c.at.UTC(), one}))
	}
	for _, one := range c.gone {
		errs = append(errs, j.encoder.Encode(jsonChange{"gone", c.at.UTC(), one}))
	}
	return errors.Join(errs...)
}

// liveTable draws the list over the one before.
type liveTable struct {
	out   io.Writer
	name  string
	drawn bool
}

const (
	// What a terminal is told: to begin at the top, to clear the rest of a line, to clear what is below.
	cursorHome, clearLine, clearBelow = "\x1b[H", "\x1b[K", "\x1b[J"
	clearScreen                       = "\x1b[2J"
)

func (l *liveTable) show(c changes) error {
	var table strings.Builder
	if err := l.write(&table, c, width(l.out)); err != nil {
		return err
	}
	_, err := io.WriteString(l.out, l.screen(table.String(), height(l.out), width(l.out)))
	return err
}

// screen draws text from the top; what has no room is counted. A line that is wider than the terminal takes several of its rows.
func (l *liveTable) screen(text string, rows, columns int) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if rows > 2 {
		lines = fitting(lines, rows-1, columns)
	}
	var screen strings.Builder
	if !l.drawn {
		screen.WriteString(clearScreen)
	}
	l.drawn = true
	screen.WriteString(cursorHome)
	for _, line := range lines {
		screen.WriteString(line + clearLine + "\n")
	}
	screen.WriteString(clearBelow)
	return screen.String()
}

// fitting are the first lines that have room in so many rows; the last of them says how many have none.
func fitting(lines []string, rows, columns int) []string {
	used, room := 0, 0 // room is how many lines leave a row for the last
	for i, line := range lines {
		if used += rowsOf(line, columns); used < rows {
			room = i + 1
		}
	}
	if used <= rows {
		return lines
	}
	return append(slices.Clone(lines[:room]), fmt.Sprintf("... %d more lines", len(lines)-room))
}

// rowsOf is how many rows of a terminal a line takes at most: what is not ASCII may be two columns wide.
func rowsOf(line string, columns int) int {
	if columns == 0 {
		return 1
	}
	wide := 0
	for _, r := range line {
		wide++
		if r >= utf8.RuneSelf {
			wide++
		}
	}
	return max(1, (wide+columns-1)/columns)
}

func (l *liveTable) write(to io.Writer, c changes, columns int) error {
	_, _ = fmt.Fprintf(to, "%s  %s; Ctrl-C ends\n\n", clock(c.at), openText(len(c.open)))
	rows := [][]string{{"ESCALATION", "REASON", "LEFT", "OPTIONS"}}
	for _, one := range c.open {
		row := one.row()
		row[2] = leftText(one.before(), c.at)
		rows = append(rows, row)
	}
	if len(c.open) > 0 {
		if err := alignRows(to, narrow(cells(rows), columns)); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(to, "\n`%s decide ID` answers one\n", l.name)
	}
	if c.trouble != "" {
		_, _ = fmt.Fprintf(to, "\n%s\n", wrap(plain.Cell(c.trouble), columns))
	}
	return nil
}

func openText(n int) string {
	switch n {
	case 0:
		return "nothing waits for an answer"
	case 1:
		return "1 question is open"
	default:
		return fmt.Sprintf("%d questions are open", n)
	}
}

func leftText(until, now time.Time) string {
	switch left := until.Sub(now); {
	case until.IsZero():
		return "?"
	case left <= 0:
		return "none"
	default:
		return operation.Span(left)
	}
}
