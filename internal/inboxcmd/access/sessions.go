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
	open map[[sha256.Size]byte]session // by the hash of what the cookie holds
}

type session struct {
	person Person
	ends   time.Time
}

func newSessions(life time.Duration, now func() time.Time) *sessions {
	return &sessions{life: life, now: now, open: map[[sha256.Size]byte]session{}}
}

// begin signs a person in. What it returns is for the cookie and is kept nowhere else.
func (s *sessions) begin(person Person) (token string, ends time.Time) {
	token = rand.Text() + rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.makeRoom(person.Name)
	ends = s.now().Add(s.life)
	s.open[sha256.Sum256([]byte(token))] = session{person: person, ends: ends}
	return token, ends
}

// makeRoom drops what is over, and what is too many.
func (s *sessions) makeRoom(name string) {
	own := 0
	for key, one := range s.open {
		if !one.ends.After(s.now()) {
			delete(s.open, key)
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
	var first [sha256.Size]byte
	var ends time.Time
	for key, one := range s.open {
		if among(one) && (ends.IsZero() || one.ends.Before(ends)) {
			first, ends = key, one.ends
		}
	}
	delete(s.open, first)
}

// of is who signed in with a token, while the session lasts.
func (s *sessions) of(token string) (Person, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.open[sha256.Sum256([]byte(token))]
	return one.person, ok && one.ends.After(s.now())
}

// end signs out.
func (s *sessions) end(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, sha256.Sum256([]byte(token)))
}
