package timeline

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// scale puts times on the axis, in stretches with a measure each: in the time that people are asked nothing is sent, and it
// may be a hundred times what went before; what lies ahead may be days.
type scale struct {
	start, now, end time.Time
	stretches       []stretch
}

// stretch is a part of the axis with one measure.
type stretch struct {
	from, to time.Time
	x1, x2   float64
	// asked says that people are asked in it, ahead that it has not come yet.
	asked, ahead bool
}

func (s stretch) length() time.Duration { return s.to.Sub(s.from) }

func scaleOf(in Input) scale {
	s := scale{start: in.Entries[0].At, now: in.Entries[len(in.Entries)-1].At}
	if in.Open && in.Now.After(s.now) {
		s.now = in.Now
	}
	if s.now.Sub(s.start) < time.Second {
		s.now = s.start.Add(time.Second)
	}
	s.end = s.now
	for _, at := range []time.Time{in.DeadlineAt, in.BusinessDeadlineAt, in.WindowEndsAt, in.NextPollAt} {
		if in.Open && at.After(s.end) {
			s.end = at
		}
	}
	middle := float64(right)
	if s.end.After(s.now) {
		middle = left + part*(right-left)
	}
	s.stretches = measured(pastOf(in.Entries, s.start, s.now), left, middle)
	if s.end.After(s.now) {
		s.stretches = append(s.stretches, stretch{from: s.now, to: s.end, x1: middle, x2: right, ahead: true})
	}
	return s
}

// pastOf cuts the past where people began and ended to be asked.
func pastOf(entries []wire.Entry, start, now time.Time) []stretch {
	var out []stretch
	asked, from := false, start
	cut := func(at time.Time, next bool) {
		if at.After(from) {
			out = append(out, stretch{from: from, to: at, asked: asked})
			from = at
		}
		asked = next
	}
	for _, e := range entries {
		switch e.Event { //nolint:exhaustive // the others neither begin nor end a question
		case wire.EventEscalated:
			cut(e.At, true)
		case wire.EventDecisionApplied, wire.EventClosed:
			cut(e.At, false)
		}
	}
	cut(now, asked)
	return out
}

// askedPart is the most that all questions together take of the past.
const askedPart = 0.35

// measured gives each stretch its place: by its length, though questions share at most their part.
func measured(stretches []stretch, from, to float64) []stretch {
	var busy, asked time.Duration
	for _, s := range stretches {
		if s.asked {
			asked += s.length()
		} else {
			busy += s.length()
		}
	}
	forAsked := share(asked, asked+busy)
	if busy > 0 {
		forAsked = min(forAsked, askedPart)
	}
	x := from
	for i := range stretches {
		s := &stretches[i]
		of, all := 1-forAsked, busy
		if s.asked {
			of, all = forAsked, asked
		}
		s.x1, s.x2 = x, x+(to-from)*of*share(s.length(), all)
		x = s.x2
	}
	return stretches
}

// x is where a time is; what lies outside is put at the edge.
func (s scale) x(at time.Time) float64 {
	x := float64(left)
	for _, stretch := range s.stretches {
		if at.Before(stretch.from) {
			break
		}
		part := min(share(at.Sub(stretch.from), stretch.length()), 1)
		if stretch.ahead { // minutes beside days stay apart
			part = math.Sqrt(part)
		}
		x = stretch.x1 + (stretch.x2-stretch.x1)*part
	}
	return math.Round(x*10) / 10
}

func share(of, whole time.Duration) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(of) / float64(whole)
}

// steps are the distances that an axis may be marked in.
var steps = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	24 * time.Hour, 48 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour, 365 * 24 * time.Hour,
}

const (
	// mostTicks is how many labels there would be if all stretches had one measure.
	mostTicks = 8
	// tickRoom is what a label takes.
	tickRoom = 60
)

// ticks mark the past, as far as their labels have room.
func (s scale) ticks() []Tick {
	var busy time.Duration
	for _, stretch := range s.stretches {
		if !stretch.asked && !stretch.ahead {
			busy += stretch.length()
		}
	}
	step := stepFor(busy)
	var out []Tick
	for _, stretch := range s.stretches {
		if stretch.ahead || stretch.asked {
			continue
		}
		for at := stretch.from.UTC().Truncate(step).Add(step); !at.After(stretch.to); at = at.Add(step) {
			x := s.x(at)
			fits := x >= tickRoom/2 && x <= width-tickRoom/2
			if fits && (len(out) == 0 || x-out[len(out)-1].X >= tickRoom) {
				out = append(out, Tick{X: x, Label: at.Format(layoutFor(step))})
			}
		}
	}
	return out
}

func stepFor(span time.Duration) time.Duration {
	for _, step := range steps {
		if span/step < mostTicks {
			return step
		}
	}
	return steps[len(steps)-1]
}

func layoutFor(step time.Duration) string {
	switch {
	case step < time.Minute:
		return "15:04:05"
	case step < 24*time.Hour:
		return "15:04"
	default:
		return "2 Jan"
	}
}

// lines are the times that matter, their labels in rows that do not meet.
func (d *drawer) lines() {
	for _, line := range []struct {
		name, label string
		at          time.Time
	}{
		{"deadline", "deadline", d.in.DeadlineAt},
		{"business", "business deadline", d.in.BusinessDeadlineAt},
		{"window", "answer before", d.in.WindowEndsAt},
		{"next", "next request", d.in.NextPollAt},
	} {
		if line.at.IsZero() || line.at.After(d.scale.end) || line.at.Before(d.scale.start) {
			continue
		}
		label := line.label + " " + clock(line.at)
		if d.in.Open {
			label += " (" + away(d.in.Now, line.at) + ")"
		}
		d.out.Lines = append(d.out.Lines, Line{X: d.scale.x(line.at), Name: line.name, Label: label})
	}
	if d.in.Open {
		d.out.Lines = append(d.out.Lines, Line{X: d.scale.x(d.scale.now), Name: "now", Label: "now " + clock(d.scale.now)})
	}
	slices.SortStableFunc(d.out.Lines, func(a, b Line) int { return cmp.Compare(a.X, b.X) })
	placeLabels(d.out.Lines)
}

func away(now, at time.Time) string {
	if at.Before(now) {
		return operation.Span(now.Sub(at)) + " ago"
	}
	return "in " + operation.Span(at.Sub(now))
}

// placeLabels gives each label the first row in which it meets no other.
func placeLabels(lines []Line) {
	type taken struct{ from, to float64 }
	rows := make([][]taken, rowsOfLabels)
	for i := range lines {
		line := &lines[i]
		size := float64(len(line.Label)) * letter
		line.End = line.X+size > width-4
		span := taken{line.X, line.X + size + 8}
		if line.End {
			span = taken{line.X - size - 8, line.X}
		}
		row := 0
		for row < rowsOfLabels-1 && slices.ContainsFunc(rows[row], func(t taken) bool { return t.from < span.to && span.from < t.to }) {
			row++
		}
		rows[row] = append(rows[row], span)
		line.Y = float64(laneLabels + row*labelHeight)
	}
}
