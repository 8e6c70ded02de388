package web

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// People click; programs have the starter. A page with its style, script and live updates counts once or twice.
	pagesPerSecond, pagesAtOnce = 10, 60
	// answersEvery is one answer of a person, after the first few.
	answersEvery, answersAtOnce = 3 * time.Second, 10
	// maxKnown bounds the people that are remembered; past it the books begin anew.
	maxKnown = 10_000
	// streamsAtOnce are the live updates of one person: tabs.
	streamsAtOnce = 20
)

// limits bound what one person may do.
type limits struct {
	mu     sync.Mutex
	people map[string]*allowance
}

type allowance struct {
	pages, answers *rate.Limiter
	streams        int
}

func newLimits() *limits { return &limits{people: map[string]*allowance{}} }

func (l *limits) of(name string) *allowance {
	a := l.people[name]
	if a == nil {
		if len(l.people) >= maxKnown {
			clear(l.people)
		}
		a = &allowance{pages: rate.NewLimiter(pagesPerSecond, pagesAtOnce), answers: rate.NewLimiter(rate.Every(answersEvery), answersAtOnce)}
		l.people[name] = a
	}
	return a
}

// page is how long to wait before the next page may be asked for; 0: it may be.
func (l *limits) page(name string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return due(l.of(name).pages)
}

// answer is the same for answers.
func (l *limits) answer(name string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return due(l.of(name).answers)
}

func due(limiter *rate.Limiter) time.Duration {
	if limiter.Allow() {
		return 0
	}
	return max(time.Duration(float64(time.Second)/float64(limiter.Limit())), time.Second)
}

// stream takes one of a person's live updates; end gives it back. It is nil when all are taken.
func (l *limits) stream(name string) (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.of(name)
	if a.streams >= streamsAtOnce {
		return nil
	}
	a.streams++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		a.streams--
	}
}
