package listing

import (
	"context"
	"slices"
	"time"

	"go.temporal.io/api/workflowservice/v1"

	"github.com/jobwait/jobwait/wire"
)

const (
	// maxPage is how many rows the server is asked for at once.
	maxPage = 1000
	// slack is how many times the wanted number of rows may be read and sorted here, in place of a narrower question.
	slack = 4
	// finest is the shortest span of time that is cut in two. What lapses within it, by thousands, is read up to maxPage.
	finest = time.Millisecond
	// maxCuts bounds the questions of one search; what it has found by then is a wider span than wished for.
	maxCuts = 40
	// near is how far ahead the first count looks: where many ask, a page of them lapses within it.
	near = time.Hour
	// never is later than any decision window, and than the deadline of any proposal worth listing.
	never = 100 * 365 * 24 * time.Hour
)

// Urgent lists the waits that ask for a decision, those that lapse first first. Visibility refuses to sort, so the list is
// found by time: counting by JobWaitDecideBy narrows a span down until it holds a page and not much more, and that is read
// and sorted here. While all of them fit into few pages, which is the rule, it takes one question.
func (l Lister) Urgent(ctx context.Context, f Filter, now time.Time, place string, size int) (Page, error) {
	from, err := l.places.after(place)
	if err != nil {
		return Page{}, err
	}
	rows, err := l.atSameTime(ctx, f, from)
	if err != nil || len(rows) > size {
		return l.cut(rows, size, false), err
	}
	s := search{lister: l, filter: f, from: from.at, want: size}
	later, more, err := s.earliest(ctx, now)
	page := l.cut(append(rows, later...), size, more)
	if err == nil && !more && place == "" {
		page.Whole = int64(len(later))
	}
	return page, err
}

// atSameTime are the rows behind a place that lapse at its very time.
func (l Lister) atSameTime(ctx context.Context, f Filter, from after) ([]Row, error) {
	if from.at.IsZero() {
		return nil, nil
	}
	rows, _, err := l.list(ctx, f.query(deciding)+" AND "+wire.AttributeDecideBy+" = "+quotedTime(from.at), nil, maxPage)
	return slices.DeleteFunc(rows, func(row Row) bool { return row.WorkflowID <= from.id }), err
}

// cut takes a page out of rows that are the earliest of those left; more says that they are not all.
func (l Lister) cut(rows []Row, size int, more bool) Page {
	rows = Sorted(rows)
	if len(rows) <= size && !more || len(rows) == 0 {
		return Page{Rows: rows, Whole: -1}
	}
	rows = rows[:min(size, len(rows))]
	last := rows[len(rows)-1]
	return Page{Rows: rows, Next: l.places.encode(after{at: last.DecideBy, id: last.WorkflowID}.token()), Whole: -1}
}

// search finds the earliest span that holds as many rows as are wanted.
type search struct {
	lister Lister
	filter Filter
	// from is the time behind which it begins; zero: with the first.
	from time.Time
	want int
}

// earliest reads the earliest rows, at least as many as are wanted if there are so many; more says that there are others
// behind them. The span that the same search came to the last time is tried first, then all, then spans that are cut down.
func (s search) earliest(ctx context.Context, now time.Time) (rows []Row, more bool, err error) {
	if until, ok := s.lister.spans.get(s.query(time.Time{})); ok {
		rows, over, err := s.read(ctx, until)
		if err != nil || len(rows) >= s.want && !over {
			return rows, true, err
		}
	}
	rows, more, err = s.read(ctx, time.Time{})
	if err != nil || !more {
		return rows, false, err
	}
	until, err := s.span(ctx, now)
	if err != nil {
		return nil, false, err
	}
	s.lister.spans.put(s.query(time.Time{}), until)
	rows, _, err = s.read(ctx, until)
	return rows, true, err
}

// span is the end of a span that holds at least the wanted rows, and not many more if it can be cut so. It begins with what lapses
// soon and looks on in growing steps: forwards, or backwards where that is too much.
func (s search) span(ctx context.Context, now time.Time) (time.Time, error) {
	begin := now.Add(near)
	if s.from.After(now) {
		begin = s.from.Add(near)
	}
	n, err := s.count(ctx, begin)
	if err != nil || n >= int64(s.want) && n <= s.most() {
		return begin, err
	}
	b := bracket{begin, begin, n, n}
	look, step := b.forth, 4*near
	if n >= int64(s.want) {
		look, step = b.back, -near
	}
	for ; !b.holds(s.want); step *= 4 {
		if err := look(ctx, s, begin.Add(step)); err != nil {
			return begin, err
		}
		if step.Abs() > never {
			break
		}
	}
	return s.cutDown(ctx, b)
}

// most is how many rows a span may hold without being cut.
func (s search) most() int64 { return int64(s.want * slack) }

// bracket are two times, and how many rows lie before each.
type bracket struct {
	low, high    time.Time
	below, above int64
}

// holds reports whether the wanted row lies between the two times.
func (b bracket) holds(want int) bool { return b.below < int64(want) && int64(want) <= b.above }

func (b *bracket) back(ctx context.Context, s search, to time.Time) (err error) {
	b.high, b.above = b.low, b.below
	b.low = to
	b.below, err = s.count(ctx, to)
	return err
}

func (b *bracket) forth(ctx context.Context, s search, to time.Time) (err error) {
	b.low, b.below = b.high, b.above
	b.high = to
	b.above, err = s.count(ctx, to)
	return err
}

func (s search) cutDown(ctx context.Context, b bracket) (time.Time, error) {
	for range maxCuts {
		if b.above <= s.most() || b.high.Sub(b.low) <= finest {
			break
		}
		middle := b.middle(s.most() / 2)
		n, err := s.count(ctx, middle)
		if err != nil {
			return b.high, err
		}
		if n >= int64(s.want) {
			b.high, b.above = middle, n
		} else {
			b.low, b.below = middle, n
		}
	}
	return b.high, nil
}

// middle is where the wished number of rows would be if they lay evenly, at least a sixteenth from either end.
func (b bracket) middle(wish int64) time.Time {
	width := b.high.Sub(b.low)
	part := 0.5
	if b.above > b.below {
		part = float64(wish-b.below) / float64(b.above-b.below)
	}
	part = min(max(part, 1.0/16), 15.0/16)
	return b.low.Add(time.Duration(float64(width) * part))
}

func (s search) query(until time.Time) string {
	query := s.filter.query(deciding)
	if !s.from.IsZero() {
		query += " AND " + wire.AttributeDecideBy + " > " + quotedTime(s.from)
	}
	if !until.IsZero() {
		query += " AND " + wire.AttributeDecideBy + " < " + quotedTime(until)
	}
	return query
}

func quotedTime(at time.Time) string { return quoted(at.UTC().Format(time.RFC3339Nano)) }

// read reads a span; more says that it holds further rows.
func (s search) read(ctx context.Context, until time.Time) (rows []Row, more bool, err error) {
	most := s.want * slack
	if !until.IsZero() {
		most = maxPage // many may lapse within the finest span
	}
	rows, next, err := s.lister.list(ctx, s.query(until), nil, most)
	return rows, len(next) > 0, err
}

func (s search) count(ctx context.Context, until time.Time) (int64, error) {
	answer, err := s.lister.Visibility.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: s.query(until)})
	if err != nil {
		return 0, explain(err, false)
	}
	return answer.GetCount(), nil
}

// Deciding counts the waits that ask for a decision.
func (l Lister) Deciding(ctx context.Context, f Filter) (int64, error) {
	return search{lister: l, filter: f}.count(ctx, time.Time{})
}
