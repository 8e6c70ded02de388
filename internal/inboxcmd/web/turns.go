package web

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
)

// turns bound the looks of all people together, and go round among them: who follows much waits for themselves, and nobody else
// does.
type turns struct {
	limit *rate.Limiter

	mu    sync.Mutex
	lines map[string]*line
}

// line is where the looks of one person stand. Its first stands among those of the others.
type line struct {
	first  *semaphore.Weighted
	length int
}

func newTurns(perSecond int) *turns {
	return &turns{limit: rate.NewLimiter(rate.Limit(perSecond), perSecond), lines: map[string]*line{}}
}

// take waits for a turn of one of the people who follow the same thing.
func (t *turns) take(ctx context.Context, people []string) error {
	name, line := t.join(people)
	defer t.leave(name)
	if err := line.first.Acquire(ctx, 1); err != nil {
		return err
	}
	defer line.first.Release(1)
	return t.limit.Wait(ctx)
}

// join takes the shortest of their lines.
func (t *turns) join(people []string) (string, *line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	name := ""
	for i, one := range people {
		if i == 0 || t.length(one) < t.length(name) {
			name = one
		}
	}
	if t.lines[name] == nil {
		t.lines[name] = &line{first: semaphore.NewWeighted(1)}
	}
	t.lines[name].length++
	return name, t.lines[name]
}

func (t *turns) length(name string) int {
	if line := t.lines[name]; line != nil {
		return line.length
	}
	return 0
}

func (t *turns) leave(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lines[name].length--; t.lines[name].length == 0 {
		delete(t.lines, name)
	}
}
