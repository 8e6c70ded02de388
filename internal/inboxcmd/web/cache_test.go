package web

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// slowly reads the number of its readings, each of which takes three seconds.
type slowly struct{ times int }

func (s *slowly) read(context.Context) (int, error) {
	time.Sleep(3 * time.Second)
	s.times++
	return s.times, nil
}

// What was read a moment ago is shown while it is read anew, and nobody waits for that.
func TestCacheShowsWhatItHas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache[int](), &slowly{}
		show := func() (value int, waited time.Duration) {
			began := time.Now()
			value, err := c.usable(t.Context(), "list", s.read)
			require.NoError(t, err)
			return value, time.Since(began)
		}
		expect := func(value int, waited time.Duration) {
			t.Helper()
			got, took := show()
			require.Equal(t, value, got)
			require.Equal(t, waited, took)
		}
		expect(1, 3*time.Second) // there is nothing yet
		time.Sleep(fresh - 1)
		expect(1, 0)
		synctest.Wait()
		require.Equal(t, 1, s.times, "what is fresh is not read")
		time.Sleep(fresh)
		for range 5 {
			expect(1, 0) // read anew once, behind their backs
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.Equal(t, 2, s.times)
		expect(2, 0)
		time.Sleep(usable)
		expect(3, 3*time.Second) // too long ago
		c.forget()
		expect(4, 3*time.Second)

		// Live updates take nothing that is old.
		time.Sleep(fresh)
		value, err := c.get(t.Context(), "list", s.read)
		require.NoError(t, err)
		require.Equal(t, 5, value)
	})
}

// A reading that fails leaves what there is until it is too old.
func TestCacheOutlivesAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCache[int]()
		away := errors.New("away")
		fails := func(context.Context) (int, error) { return 0, away }
		_, err := c.usable(t.Context(), "list", fails)
		require.ErrorIs(t, err, away)
		value, err := c.usable(t.Context(), "list", func(context.Context) (int, error) { return 7, nil })
		require.NoError(t, err)
		require.Equal(t, 7, value)
		time.Sleep(usable - time.Second)
		value, err = c.usable(t.Context(), "list", fails)
		require.NoError(t, err)
		require.Equal(t, 7, value)
		time.Sleep(time.Second)
		_, err = c.usable(t.Context(), "list", fails)
		require.ErrorIs(t, err, away)
	})
}
