package access

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What lasts longer than a page hears of the end of its session, in whatever way it comes.
func TestSessionsAreOver(t *testing.T) {
	t.Parallel()
	ended := func(t *testing.T, over <-chan struct{}) {
		t.Helper()
		select {
		case <-over:
		case <-time.After(time.Minute):
			require.FailNow(t, "it goes on")
		}
	}
	ana := Person{Name: "ana"}
	t.Run("signed out", func(t *testing.T) {
		t.Parallel()
		s := newSessions(time.Hour, time.Now)
		token := s.begin(ana)
		other := s.begin(ana)
		over, others := s.over(token), s.over(other)
		s.end(token)
		s.end(token)
		ended(t, over)
		select {
		case <-others:
			require.FailNow(t, "the other session is over, too")
		default:
		}
		_, known := s.of(token)
		require.False(t, known)
	})
	t.Run("expired", func(t *testing.T) {
		t.Parallel()
		s := newSessions(50*time.Millisecond, time.Now)
		token := s.begin(ana)
		over := s.over(token)
		require.NotNil(t, over)
		ended(t, over)
	})
	t.Run("too many", func(t *testing.T) {
		t.Parallel()
		s := newSessions(time.Hour, time.Now)
		token := s.begin(ana)
		over := s.over(token)
		for i := range maxOfPerson {
			s.begin(Person{Name: fmt.Sprint("ana", i)})
			s.begin(ana)
		}
		ended(t, over)
	})
	require.Nil(t, newSessions(time.Hour, time.Now).over("none"))
}
