package lanes

import (
	"sync"
	"time"
)

// maxLanes bounds how many lanes are remembered; idleLane is how long one is that nobody uses.
const (
	maxLanes = 10_000
	idleLane = 10 * time.Minute
)

// Key names a lane.
type Key struct{ Origin, Credential string }

// Set is the lanes of one process. It is safe for concurrent use.
type Set struct {
	limits func(origin string) Limits

	mu    sync.Mutex
	lanes map[Key]*Lane
}

// NewSet makes an empty set, whose lanes have the limits that the function gives for their origin.
func NewSet(limits func(origin string) Limits) *Set {
	return &Set{limits: limits, lanes: map[Key]*Lane{}}
}

// Ask decides on one request for a lane.
func (s *Set) Ask(now time.Time, key Key, r Request) Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lane(now, key).Ask(now, r)
}

// Done tells a lane what came of a request that it let go. It reports whether a hold began or became longer, and its end.
func (s *Set) Done(now time.Time, key Key, a Answer) (until time.Time, held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lane := s.lane(now, key)
	held = lane.Done(now, a)
	return lane.hold.until, held
}

// Held is how many lanes are held at that time.
func (s *Set) Held(now time.Time) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, lane := range s.lanes {
		if now.Before(lane.hold.until) {
			n++
		}
	}
	return n
}

func (s *Set) lane(now time.Time, key Key) *Lane {
	lane := s.lanes[key]
	if lane == nil {
		s.makeRoom(now)
		lane = New(s.limits(key.Origin))
		s.lanes[key] = lane
	}
	return lane
}

// makeRoom forgets lanes that a new one would be no different from. Should all of them be in use, any has to do: origins
// may be as many as the specs of a worker like to name.
func (s *Set) makeRoom(now time.Time) {
	if len(s.lanes) < maxLanes {
		return
	}
	for key, lane := range s.lanes {
		if lane.unused(now) {
			delete(s.lanes, key)
		}
	}
	for key, lane := range s.lanes {
		if len(s.lanes) < maxLanes {
			return
		}
		if lane.underWay == 0 {
			delete(s.lanes, key)
		}
	}
}

func (l *Lane) unused(now time.Time) bool {
	return l.underWay == 0 && now.Sub(latest(l.left, l.hold.until, l.tail)) > idleLane
}
