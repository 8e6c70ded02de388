// Package timeline lays a wait out as a drawing: each request as a mark by kind of answer, each delay with its source,
// questions to people, deadlines and now. It gives lengths and words; how they look is the page's. Pure: values in, values
// out.
package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// The drawing is width by height units; the lanes are at these heights.
const (
	width, height = 860, 204

	left, right = 14, 846
	// laneLabels is the first of rowsOfLabels rows for the names of lines.
	laneLabels, labelHeight, rowsOfLabels = 14, 14, 4
	lanePeople, laneRequests, laneDelays  = 92, 124, 148
	laneAxis, laneTicks                   = 172, 190

	// part is how much of the width the past takes while something lies ahead.
	part = 0.7
	// near is how close two marks of one kind are drawn as one.
	near = 7
	// letter is about how wide a letter of a label is.
	letter = 6.3
)

// Input is what a drawing shows.
type Input struct {
	Entries []wire.Entry
	Now     time.Time
	// Open says that the wait goes on: what lies ahead is drawn, too.
	Open bool
	// DeadlineAt, BusinessDeadlineAt and WindowEndsAt are lines; zero ones are not drawn.
	DeadlineAt, BusinessDeadlineAt, WindowEndsAt time.Time
	// NextPollAt is when the next request is planned; zero: none is.
	NextPollAt time.Time
}

// Drawing is what to draw.
type Drawing struct {
	// Summary says in words what is drawn.
	Summary string
	Marks   []Mark
	Delays  []Delay
	Asked   []Span
	People  []Person
	Lines   []Line
	Ticks   []Tick
	// Kinds are those of the marks, in the order of AllKinds.
	Kinds []Kind
	// Sources are those of the delays, in the order of their first.
	Sources []wire.DelaySource
}

// Kind is what the answer to a request was, as it is drawn.
type Kind string

// The kinds.
const (
	KindPending Kind = "pending"
	KindSuccess Kind = "success"
	KindEnded   Kind = "ended"   // the job is over in another way, or in a state that stops the wait
	KindLimited Kind = "limited" // 429
	KindFailure Kind = "failure" // 5xx or no answer
	KindRefused Kind = "refused" // 401, 403, 404, or what cannot be read
	KindUnsent  Kind = "unsent"
)

// AllKinds are the kinds in the order of a legend.
func AllKinds() []Kind {
	return []Kind{KindPending, KindSuccess, KindEnded, KindLimited, KindFailure, KindRefused, KindUnsent}
}

// Mark is one request, or several that lie on each other.
type Mark struct {
	X     float64
	Kind  Kind
	Title string
	Count int
}

// Delay is the time between an answer and the request planned then.
type Delay struct {
	X1, X2 float64
	Source wire.DelaySource
	// Label is the source in words, empty where it has no room.
	Label, Title string
}

// Span is a time in which people were asked.
type Span struct {
	X1, X2 float64
	// Label is how long it was, empty where it has no room.
	Label, Title string
}

// Person is something that people, or the wait for them, did.
type Person struct {
	X     float64
	Event wire.Event
	Title string
}

// Line is a time that matters.
type Line struct {
	X float64
	// Name is "now", "deadline", "business" or "window".
	Name, Label string
	// Y is where its label stands; End lets the label end at the line.
	Y   float64
	End bool
}

// Tick is a time on the axis.
type Tick struct {
	X     float64
	Label string
}

// Draw lays a wait out. Without entries there is nothing to draw.
func Draw(in Input) *Drawing {
	if len(in.Entries) == 0 {
		return nil
	}
	d := &drawer{in: in, scale: scaleOf(in)}
	d.out.Ticks = d.scale.ticks()
	d.lines()
	for i, entry := range in.Entries {
		d.entry(i, entry)
	}
	if d.askedAt != nil {
		d.ask(*d.askedAt, d.scale.now)
	}
	for _, kind := range AllKinds() {
		if d.kinds[kind] > 0 {
			d.out.Kinds = append(d.out.Kinds, kind)
		}
	}
	d.out.Summary = d.summary()
	return &d.out
}

// drawer keeps what spans several entries.
type drawer struct {
	in    Input
	scale scale
	out   Drawing

	kinds map[Kind]int
	last  map[Kind]int // the last mark of a kind
	// askedAt is when the open question was asked.
	askedAt *wire.Entry
}

func (d *drawer) entry(i int, e wire.Entry) {
	switch e.Event { //nolint:exhaustive // the others leave no mark
	case wire.EventResponseReceived, wire.EventRequestLost, wire.EventRequestNotSent:
		d.mark(e)
	case wire.EventPollPlanned:
		d.delay(i, e)
	case wire.EventEscalated:
		d.askedAt = &d.in.Entries[i]
		d.person(e, "asked: "+e.Reason)
	case wire.EventDecisionApplied:
		d.answered(e.At)
		d.person(e, "decision "+e.Reason+by(e))
	case wire.EventCancelSent:
		d.person(e, "cancel sent: "+e.Detail)
	case wire.EventExtensionRequested, wire.EventProposalLapsed, wire.EventNudged:
		d.person(e, strings.ReplaceAll(string(e.Event), "_", " "))
	case wire.EventClosed:
		d.answered(e.At)
		d.person(e, "closed "+e.Reason)
	}
}

func by(e wire.Entry) string {
	decision, err := wire.DecodeDecision(e.Decision)
	if err != nil || decision.DecidedBy == "" {
		return ""
	}
	return " by " + decision.DecidedBy
}

func (d *drawer) answered(at time.Time) {
	if d.askedAt != nil {
		d.ask(*d.askedAt, at)
		d.askedAt = nil
	}
}

func (d *drawer) ask(e wire.Entry, until time.Time) {
	span := Span{X1: d.scale.x(e.At), X2: d.scale.x(until)}
	took := operation.Span(until.Sub(e.At))
	span.Title = fmt.Sprintf("waited %s for a decision: %s", took, e.Reason)
	if float64(len(took))*letter < span.Width() {
		span.Label = took
	}
	d.out.Asked = append(d.out.Asked, span)
}

func (d *drawer) person(e wire.Entry, title string) {
	x := d.scale.x(e.At)
	if n := len(d.out.People); n > 0 && d.out.People[n-1].Event == e.Event && x-d.out.People[n-1].X < near {
		return // a row of the same is one to the eye; the story has each
	}
	d.out.People = append(d.out.People, Person{X: x, Event: e.Event, Title: clock(e.At) + " " + title})
}

func (d *drawer) mark(e wire.Entry) {
	if d.kinds == nil {
		d.kinds, d.last = map[Kind]int{}, map[Kind]int{}
	}
	kind, x := kindOf(e), d.scale.x(e.At)
	d.kinds[kind]++
	if i, ok := d.last[kind]; ok && x-d.out.Marks[i].X < near {
		d.out.Marks[i].Count++
		d.out.Marks[i].Title = fmt.Sprintf("%d requests until %s: %s", d.out.Marks[i].Count, clock(e.At), kind)
		return
	}
	d.last[kind] = len(d.out.Marks)
	d.out.Marks = append(d.out.Marks, Mark{X: x, Kind: kind, Count: 1, Title: clock(e.At) + " " + answerText(e)})
}

// kindOf sorts answers by what they mean for the wait.
func kindOf(e wire.Entry) Kind {
	switch e.Event { //nolint:exhaustive // the third, an answer, is looked into
	case wire.EventRequestNotSent:
		return KindUnsent
	case wire.EventRequestLost:
		return KindFailure
	}
	switch wire.Answer(e.Reason) {
	case wire.AnswerRead:
		return kindOfCategory(e.Category)
	case wire.AnswerRateLimited:
		return KindLimited
	case wire.AnswerServerError, wire.AnswerTransportFailure:
		return KindFailure
	case wire.AnswerDenied, wire.AnswerNotFound, wire.AnswerUnexpected, wire.AnswerMalformed:
		return KindRefused
	default:
		return KindRefused
	}
}

func kindOfCategory(category wire.Category) Kind {
	switch {
	case category.Waits():
		return KindPending
	case category == wire.CategorySuccess:
		return KindSuccess
	default:
		return KindEnded
	}
}

func answerText(e wire.Entry) string {
	switch {
	case e.Event == wire.EventRequestNotSent:
		return "not sent: " + e.Reason
	case e.Event == wire.EventRequestLost:
		return "no answer: " + e.Detail
	case e.Reason == string(wire.AnswerRead):
		return fmt.Sprintf("%d, state %s (%s)", e.HTTPStatus, e.RawState, e.Category)
	default:
		return strings.TrimSpace(fmt.Sprintf("%d %s %s", e.HTTPStatus, e.Reason, e.Detail))
	}
}

var sources = map[wire.DelaySource]string{
	wire.DelayProviderRetryAfter: "Retry-After",
	wire.DelayProviderPollHint:   "hint",
	wire.DelayLocalBackoff:       "backoff",
	wire.DelayRateLimitBackoff:   "429 backoff",
	wire.DelayManualExtension:    "extension",
	wire.DelayNudge:              "nudge",
	wire.DelayFinalLook:          "final look",
	wire.DelayCatchUp:            "catch-up",
}

// SourceText is a delay source in a word or two.
func SourceText(source wire.DelaySource) string {
	return cmp.Or(sources[source], strings.ReplaceAll(string(source), "_", " "))
}

// delay is drawn to the planned time, or to where another plan took its place.
func (d *drawer) delay(i int, e wire.Entry) {
	if e.NextPollAt == nil {
		return
	}
	end := *e.NextPollAt
	for _, later := range d.in.Entries[i+1:] {
		if later.Event == wire.EventPollPlanned || later.Event == wire.EventRequestReserved || later.Event == wire.EventEscalated || later.Event == wire.EventClosed {
			if later.At.Before(end) {
				end = later.At
			}
			break
		}
	}
	drawn := Delay{X1: d.scale.x(e.At), X2: d.scale.x(end), Source: e.DelaySource}
	if drawn.X2-drawn.X1 < 2 {
		return // too short to be seen
	}
	name := SourceText(e.DelaySource)
	drawn.Title = fmt.Sprintf("%s from %s to %s", e.DelaySource, clock(e.At), clock(end))
	if float64(len(name))*letter < drawn.X2-drawn.X1 {
		drawn.Label = name
	}
	d.out.Delays = append(d.out.Delays, drawn)
	if !slices.Contains(d.out.Sources, e.DelaySource) {
		d.out.Sources = append(d.out.Sources, e.DelaySource)
	}
}

func (d *drawer) summary() string {
	var parts []string
	total := 0
	for _, kind := range d.out.Kinds {
		parts = append(parts, fmt.Sprintf("%d %s", d.kinds[kind], kind))
		total += d.kinds[kind]
	}
	text := fmt.Sprintf("%d requests from %s on", total, clock(d.scale.start))
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	for _, line := range d.out.Lines {
		text += "; " + line.Label
	}
	return text
}

func clock(at time.Time) string { return at.UTC().Format("15:04:05") }
