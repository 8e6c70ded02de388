package simulate

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// epoch is when every fleet begins; only differences to it matter.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Schedule is a way of deciding when the status requests of a wait go out.
type Schedule struct {
	// Name is what tables and plots call it.
	Name string
	// Open begins one wait.
	Open func(Wait) Pacer
}

// Wait is one wait of a fleet: its identity, for draws of its own, and the limits that hold for every schedule.
type Wait struct {
	Seed  uint64
	Index int
	// Start is when the wait begins; the job was submitted at that moment.
	Start time.Time
	// Deadline is when the wait gives up: no request leaves at it or after it.
	Deadline time.Time
	// Budget is how many requests may be sent.
	Budget int
	// Failures is how many answers may be failures; 0: one ends the wait.
	Failures int
}

// ID names the wait. Waits of other seeds have other names, and so other draws.
func (w Wait) ID() string { return fmt.Sprintf("sim-%d-%d", w.Seed, w.Index) }

// random is the wait's own source of chance: the order in which waits are played does not matter.
func (w Wait) random() *rand.Rand { return rand.New(rand.NewPCG(w.Seed, uint64(w.Index))) }

// Pacer paces one wait. Time is a value: it is asked what to do now, and told of answers.
type Pacer interface {
	Next(now time.Time) Step
	Answered(now time.Time, answer Answer)
}

// Step is what a pacer does next.
type Step struct {
	Do Action
	// Until is when a Sleep ends.
	Until time.Time
}

// Action is the kind of a Step.
type Action int

// The actions of a pacer.
const (
	// Sleep lets time pass.
	Sleep Action = iota
	// Send sends one status request.
	Send
	// End ends the wait: the job has ended, or a limit was reached.
	End
)

// Answer is what a status request is answered with.
type Answer struct {
	// Done says that the job has ended.
	Done bool
	// Limited says that it is a 429.
	Limited bool
	// RetryAfter is how long the provider asks to be left alone; 0: it says nothing.
	RetryAfter time.Duration
}

// World is what surrounds the waits of a fleet.
type World struct {
	// Latency is the time from a request to its answer. The provider looks at the job when the request leaves.
	Latency time.Duration
	// RetryAfter is what the nth request of a wait, counted from 1, is told; nil: nothing.
	RetryAfter func(n int, at time.Time) time.Duration
	// Down are times during which no worker runs: what falls into them happens at their end.
	Down []Span
	// Sent is told of every request; nil: nobody.
	Sent func(n int, at time.Time)
}

// Span is the time from From up to To.
type Span struct{ From, To time.Time }

// Seen is what became of one wait.
type Seen struct {
	Requests int
	// At is when the answer came that told the end of the job; zero if none did.
	At time.Time
}

// Play plays one wait for a job that ends at jobEnd.
func (w World) Play(pacer Pacer, start, jobEnd time.Time) Seen {
	seen, now := Seen{}, w.awake(start)
	for {
		step := pacer.Next(now)
		switch step.Do {
		case Sleep:
			now = w.awake(step.Until)
		case Send:
			seen.Requests++
			answer := w.ask(seen.Requests, now, jobEnd)
			now = w.awake(now.Add(w.Latency))
			if answer.Done {
				seen.At = now
			}
			pacer.Answered(now, answer)
		case End:
			return seen
		}
	}
}

func (w World) ask(n int, at, jobEnd time.Time) Answer {
	if w.Sent != nil {
		w.Sent(n, at)
	}
	answer := Answer{Done: !at.Before(jobEnd)}
	if w.RetryAfter != nil && !answer.Done {
		answer.RetryAfter = w.RetryAfter(n, at)
	}
	return answer
}

// awake is when something that is due at the given time is taken up.
func (w World) awake(at time.Time) time.Time {
	for _, down := range w.Down {
		if !at.Before(down.From) && at.Before(down.To) {
			at = down.To
		}
	}
	return at
}
