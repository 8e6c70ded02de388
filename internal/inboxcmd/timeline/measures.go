package timeline

import (
	"slices"

	"github.com/jobwait/jobwait/wire"
)

// Size are the heights that a template needs.
type Size struct {
	Width, Height, Top, People, Requests, Axis, TickEnd, Ticks, DelayTop, DelayText, AskedHeight int
}

// Size are the heights of the lanes.
func (d *Drawing) Size() Size {
	top := lanePeople - 14
	for _, line := range d.Lines {
		top = min(top, int(line.Y)-labelHeight)
	}
	return Size{
		Width: width, Height: height - top, Top: top, People: lanePeople, Requests: laneRequests, Axis: laneAxis, TickEnd: laneAxis + 5, Ticks: laneTicks + 4,
		DelayTop: laneDelays - 12, DelayText: laneDelays + 8, AskedHeight: laneAxis - lanePeople,
	}
}

// Width is how long the span is.
func (s Span) Width() float64 { return max(s.X2-s.X1, 1) }

// Middle is where its label stands.
func (s Span) Middle() float64 { return (s.X1 + s.X2) / 2 }

// Width is how long the delay is.
func (d Delay) Width() float64 { return d.X2 - d.X1 }

// Middle is where its label stands.
func (d Delay) Middle() float64 { return (d.X1 + d.X2) / 2 }

// TextX and TextY are where the label of a line begins, or ends.
func (l Line) TextX() float64 {
	if l.End {
		return l.X - 4
	}
	return l.X + 4
}

// TextY is the base of the label.
func (l Line) TextY() float64 { return l.Y + 4 }

// Signs are the events among the people's, each once, in the order of their first.
func (d *Drawing) Signs() []wire.Event {
	var out []wire.Event
	for _, person := range d.People {
		if !slices.Contains(out, person.Event) {
			out = append(out, person.Event)
		}
	}
	return out
}
