package simulate

import (
	"container/heap"
	"math/rand/v2"
	"time"

	"github.com/jobwait/jobwait/internal/lanes"
)

// hop is the time that a request takes through a task queue.
const hop = 40 * time.Millisecond

// Crowd is many waits that start in the same second and share the lanes of their workers, for jobs that do not end while one
// looks. The lanes are the real ones: package lanes decides, as it does inside a worker.
type Crowd struct {
	Name     string
	Waits    int
	Schedule Schedule
	// Interval is the raw delay between two requests.
	Interval time.Duration
	// Processes are the workers; each request, and each return of one that was held back, comes to any of them.
	Processes int
	Limits    lanes.Limits
	Latency   time.Duration
	// Late is how much later than it was told to a request comes back, at most.
	Late time.Duration
	// Provider is made for each play, and says what a request is answered that arrives at a time; nil: the job goes on.
	Provider func() func(at time.Time) Answer
	// Down is when no worker runs. Those that come afterwards know nothing of the lanes before.
	Down Span
	// From is when counting begins, For how long one looks from when every wait has sent two requests since.
	From, For time.Duration
}

// Crowded is what became of a crowd.
type Crowded struct {
	// Load counts the requests of each second that reached the provider, Limited those that it answered 429.
	Load, Limited Load
	// Returns is how often a request was held back, Held how many requests were, and Waited how long they waited for their turn
	// in all, in seconds.
	Returns, Held int
	Waited        []float64
	// Second is when the last wait has sent its second request since From.
	Second time.Time
}

// moment is something that happens at a time: a wait wakes, a request comes to a worker, or an answer comes.
type moment struct {
	at   time.Time
	turn int
	run  func(now time.Time)
}

type moments []moment

func (m moments) Len() int { return len(m) }
func (m moments) Less(i, j int) bool {
	return m[i].at.Before(m[j].at) || m[i].at.Equal(m[j].at) && m[i].turn < m[j].turn
}
func (m moments) Swap(i, j int) { m[i], m[j] = m[j], m[i] }
func (m *moments) Push(x any)   { *m = append(*m, x.(moment)) }
func (m *moments) Pop() any {
	old := *m
	last := old[len(old)-1]
	*m = old[:len(old)-1]
	return last
}

// crowd is a Crowd that is being played.
type crowd struct {
	Crowd
	Crowded
	random   *rand.Rand
	queue    moments
	turns    int
	workers  []*lanes.Set
	answer   func(at time.Time) Answer
	since    []int // requests of each wait since From
	unsecond int   // how many waits have not sent two
	end      time.Time
}

// Play plays the crowd until it has been looked at for long enough.
func (c Crowd) Play(seed uint64) *Crowded {
	p := &crowd{Crowd: c, random: rand.New(rand.NewPCG(seed, 1)), since: make([]int, c.Waits), unsecond: c.Waits}
	p.answer = func(time.Time) Answer { return Answer{} }
	if c.Provider != nil {
		p.answer = c.Provider()
	}
	p.hire()
	if !c.Down.To.IsZero() {
		p.when(c.Down.To, func(time.Time) { p.hire() })
	}
	for i := range c.Waits {
		wait := Wait{
			Seed: seed, Index: i, Start: epoch, Deadline: epoch.Add(1000 * time.Hour), Budget: 1_000_000, Failures: 1_000_000,
		}
		pacer := c.Schedule.Open(wait)
		p.when(epoch, func(now time.Time) { p.wake(i, pacer, now) })
	}
	for len(p.queue) > 0 && (p.end.IsZero() || p.queue[0].at.Before(p.end)) {
		next := heap.Pop(&p.queue).(moment)
		next.run(next.at)
	}
	return &p.Crowded
}

// hire has new workers begin.
func (p *crowd) hire() {
	p.workers = nil
	for range p.Processes {
		p.workers = append(p.workers, lanes.NewSet(func(string) lanes.Limits { return p.Limits }))
	}
}

// when has something happen at a time, or when there is a worker again.
func (p *crowd) when(at time.Time, run func(now time.Time)) {
	if !at.Before(p.Down.From) && at.Before(p.Down.To) {
		at = p.Down.To
	}
	p.turns++
	heap.Push(&p.queue, moment{at, p.turns, run})
}

func (p *crowd) wake(i int, pacer Pacer, now time.Time) {
	switch step := pacer.Next(now); step.Do {
	case Sleep:
		p.when(step.Until, func(now time.Time) { p.wake(i, pacer, now) })
	case Send:
		p.come(now.Add(hop), &errand{wait: i, pacer: pacer})
	case End:
	}
}

// errand is one request on its way.
type errand struct {
	wait  int
	pacer Pacer
	ask   lanes.Request
	came  time.Time
	first time.Time // when it was held back for the first time
}

// come brings a request to any worker.
func (p *crowd) come(at time.Time, e *errand) {
	p.when(at, func(now time.Time) {
		e.came = now
		p.ask(p.workers[p.random.IntN(len(p.workers))], e, now)
	})
}

func (p *crowd) ask(worker *lanes.Set, e *errand, now time.Time) {
	e.ask.Slept, e.ask.Wait = now.Sub(e.came), Wait{Index: e.wait}.ID()
	verdict := worker.Ask(now, lanes.Key{}, e.ask)
	if verdict.Do != lanes.Go && e.first.IsZero() {
		e.first = now
		p.Held++
	}
	switch verdict.Do {
	case lanes.Go:
		p.send(worker, e, verdict.Probe, now)
	case lanes.Sleep:
		e.ask.Ticket = verdict.Ticket
		p.when(now.Add(verdict.For), func(now time.Time) { p.ask(worker, e, now) })
	case lanes.Back:
		p.Returns++
		e.ask.Ticket = verdict.Ticket
		late := time.Duration(p.random.Float64() * float64(p.Late))
		p.come(now.Add(verdict.For+hop+late), e)
	case lanes.Refuse:
		panic("simulate: a request was refused that has a thousand hours")
	}
}

func (p *crowd) send(worker *lanes.Set, e *errand, probe bool, now time.Time) {
	p.note(e, now)
	answer := p.answer(now)
	if answer.Limited {
		p.Limited.Add(now)
	}
	p.when(now.Add(p.Latency), func(then time.Time) {
		told := lanes.Answer{Kind: lanes.Answered, Went: now, Probe: probe, Wait: Wait{Index: e.wait}.ID()}
		if answer.Limited {
			told.Kind, told.RetryAfter = lanes.Limited, answer.RetryAfter
		}
		worker.Done(then, lanes.Key{}, told)
		e.pacer.Answered(then, answer)
		p.wake(e.wait, e.pacer, then)
	})
}

// note counts a request, and sees when every wait has sent two.
func (p *crowd) note(e *errand, now time.Time) {
	p.Load.Add(now)
	if !e.first.IsZero() {
		p.Waited = append(p.Waited, now.Sub(e.first).Seconds())
	}
	if now.Before(epoch.Add(p.From)) {
		return
	}
	if p.since[e.wait]++; p.since[e.wait] == 2 {
		if p.unsecond--; p.unsecond == 0 {
			p.Second, p.end = now, now.Add(p.For+2*time.Second)
		}
	}
}

// Peak is the largest number of requests in one second and the mean, from when every wait has sent its second request on.
func (p *Crowded) Peak(looked time.Duration) (peak int, mean float64) {
	from := int(p.Second.Sub(epoch)/time.Second) + 1
	return peakAndMean(p.Load.Between(from, from+int(looked/time.Second)))
}
