package access

import (
	"crypto/rand"
	"crypto/sha256"
	"sync"
	"time"
)

const (
	// maxSessions bounds those that are kept; past it the one that ends first ends at once. maxOfPerson bounds one person's.
	maxSessions, maxOfPerson = 10_000, 20
)

// sessions are those who are signed in. They are kept by this process: signing out ends one for good, and a restart ends all.
type sessions struct {
	life time.Duration
	now  func() time.Time

	mu   sync.Mutex
	open map[sessionKey]session
}

// sessionKey is the hash of what the cookie holds.
type sessionKey [sha256.Size]byte

func keyOf(token string) sessionKey { return sha256.Sum256([]byte(token)) }

type session struct {
	person Person
	ends   time.Time
	// over is closed when the session ends, in whatever way.
	over chan struct{}
}

func newSessions(life time.Duration, now func() time.Time) *sessions {
	return &sessions{life: life, now: now, open: map[sessionKey]session{}}
}

// begin signs a person in. What it returns is for the cookie and is kept nowhere else.
func (s *sessions) begin(person Person) (token string) {
	token = rand.Text() + rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.makeRoom(person.Name)
	s.open[keyOf(token)] = session{person: person, ends: s.now().Add(s.life), over: make(chan struct{})}
	time.AfterFunc(s.life, func() { s.end(token) })
	return token
}

// makeRoom drops what is over, and what is too many.
func (s *sessions) makeRoom(name string) {
	own := 0
	for key, one := range s.open {
		if !one.ends.After(s.now()) {
			s.close(key)
		} else if one.person.Name == name {
			own++
		}
	}
	if own >= maxOfPerson {
		s.dropFirst(func(one session) bool { return one.person.Name == name })
	}
	if len(s.open) >= maxSessions {
		s.dropFirst(func(session) bool { return true })
	}
}

func (s *sessions) dropFirst(among func(session) bool) {
	var first sessionKey
	var ends time.Time
	for key, one := range s.open {
		if among(one) && (ends.IsZero() || one.ends.Before(ends)) {
			first, ends = key, one.ends
		}
	}
	s.close(first)
}

// close ends a session, if it is one.
func (s *sessions) close(key sessionKey) {
	if one, ok := s.open[key]; ok {
		delete(s.open, key)
		close(one.over)
	}
}

// of is who signed in with a token, while the session lasts.
func (s *sessions) of(token string) (Person, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.open[keyOf(token)]
	return one.person, ok && one.ends.After(s.now())
}

// over is closed when the session ends. Nil: there is none.
func (s *sessions) over(token string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[keyOf(token)].over
}

// end signs out.
func (s *sessions) end(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.close(keyOf(token))
}
