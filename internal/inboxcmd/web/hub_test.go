package web

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// Whoever follows what cannot be looked at any more is told so after some looks, and again once it can be.
func TestNewsGoStale(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		defer h.close()
		looks := 0
		about := subject{key: "wait", pause: waitPause, turns: h.waits, probe: func(context.Context) (string, error) {
			if looks++; looks > 1 && looks <= 1+looksUntilStale {
				return "", errors.New("the server is away")
			}
			return "v1", nil
		}}
		heard, leave := h.follow("ana", about)
		defer leave()
		require.Equal(t, news{version: "v1"}, <-heard)
		require.Equal(t, news{version: "v1", stale: true}, <-heard)
		require.Equal(t, 1+looksUntilStale, looks)
		late, end := h.follow("ana", about)
		defer end()
		require.Equal(t, news{version: "v1", stale: true}, <-late, "who comes later is told, too")
		require.Equal(t, news{version: "v1"}, <-heard, "and it is taken back, although nothing has changed")
	})
}

// What nobody could ever look at is stale, too.
func TestNewsOfNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		defer h.close()
		heard, leave := h.follow("ana", subject{key: "list", pause: listPause, turns: h.lists, probe: func(context.Context) (string, error) {
			return "", errors.New("the server is away")
		}})
		defer leave()
		require.Equal(t, news{stale: true}, <-heard)
	})
}
