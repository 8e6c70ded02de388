package listing

import (
	"sync"
	"time"
)

// maxSpans bounds what is remembered of searches; past it the book begins anew.
const maxSpans = 1000

// spans remember where searches ended, because a list is read again and again and changes little.
type spans struct {
	mu     sync.Mutex
	untils map[string]time.Time
}

func newSpans() *spans { return &spans{untils: map[string]time.Time{}} }

func (s *spans) get(search string) (time.Time, bool) {
	if s == nil {
		return time.Time{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	until, ok := s.untils[search]
	return until, ok
}

func (s *spans) put(search string, until time.Time) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.untils) >= maxSpans {
		clear(s.untils)
	}
	s.untils[search] = until
}
