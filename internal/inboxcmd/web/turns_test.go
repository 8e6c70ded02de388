package web

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Somebody who follows many lists of their own does not slow down the one that others follow, even one they follow, too.
func TestLooksGoRoundAmongPeople(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		defer h.close()
		looks := map[string]int{}
		follow := func(who, list string) {
			_, leave := h.follow(who, subject{key: list, pause: listPause, turns: h.lists, probe: func(context.Context) (string, error) {
				h.mu.Lock()
				defer h.mu.Unlock()
				looks[list]++
				return "v", nil
			}})
			t.Cleanup(leave)
		}
		follow("ana", "shared")
		for i := range streamsAtOnce - 1 {
			follow("ana", fmt.Sprint("made up ", i))
		}
		follow("ben", "shared")
		follow("ben", "ben's")
		time.Sleep(2 * time.Minute)
		h.close()
		synctest.Wait()
		require.Greater(t, looks["shared"], 20, "%v", looks)
		require.Greater(t, looks["ben's"], 20, "%v", looks)
		require.Greater(t, looks["made up 0"], 1, "%v", looks)
		require.Empty(t, h.lists.lines, "who waits no more is forgotten")
	})
}
