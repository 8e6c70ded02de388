package simulate

import "time"

// Delays is a schedule that is a pause after each answer. The deadline and the budget hold as they do for the core.
type Delays struct {
	// First is the delay of the first request from the start of the wait; nil: none.
	First func(At) time.Duration
	// Pause is the delay of the next request from an answer that does not end the wait.
	Pause func(At) time.Duration
	// Heeds is the delay after an answer that asks for one; nil: the schedule does not look at Retry-After.
	Heeds func(at At, asked time.Duration) time.Duration
}

// At is what a pause may depend on.
type At struct {
	// Requests is how many were sent so far.
	Requests int
	// Asked is how many answers in a row, before the last one, asked for a delay.
	Asked int
	// Age is the time since the wait began, Left the time until its deadline.
	Age, Left time.Duration
	// Draw is a fraction in [0, 1), another one with each call.
	Draw func() float64
}

// Named is the schedule with its name.
func (d Delays) Named(name string) Schedule {
	return Schedule{Name: name, Open: func(w Wait) Pacer {
		p := &paced{delays: d, wait: w, draw: w.random().Float64, at: w.Start}
		if d.First != nil {
			p.at = w.Start.Add(d.First(p.situation(w.Start)))
		}
		return p
	}}
}

type paced struct {
	delays   Delays
	wait     Wait
	draw     func() float64
	requests int
	asked    int
	at       time.Time
	done     bool
}

func (p *paced) Next(now time.Time) Step {
	switch {
	case p.done, !now.Before(p.wait.Deadline), p.requests >= p.wait.Budget:
		return Step{Do: End}
	case !p.at.Before(p.wait.Deadline):
		return Step{Do: Sleep, Until: p.wait.Deadline}
	case now.Before(p.at):
		return Step{Do: Sleep, Until: p.at}
	default:
		p.requests++
		return Step{Do: Send}
	}
}

func (p *paced) Answered(now time.Time, answer Answer) {
	p.done = answer.Done
	pause := p.delays.Pause
	if heeds := p.delays.Heeds; heeds != nil && answer.RetryAfter > 0 {
		pause = func(at At) time.Duration { return heeds(at, answer.RetryAfter) }
	}
	p.at = now.Add(pause(p.situation(now)))
	if p.asked++; answer.RetryAfter == 0 {
		p.asked = 0
	}
}

func (p *paced) situation(now time.Time) At {
	return At{
		Requests: p.requests, Asked: p.asked, Age: now.Sub(p.wait.Start), Left: p.wait.Deadline.Sub(now), Draw: p.draw,
	}
}
