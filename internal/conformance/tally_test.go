package conformance_test

import (
	"flag"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// tally keeps on which tables each of several things was tried.
type tally struct {
	mu    sync.Mutex
	tried map[string]map[string]bool
}

func (c *tally) count(what string, on table) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tried == nil {
		c.tried = map[string]map[string]bool{}
	}
	if c.tried[what] == nil {
		c.tried[what] = map[string]bool{}
	}
	c.tried[what][on.table.Provider()] = true
}

// requireTables wants each thing to have been tried on as many tables as there were when the number was written: one that it is
// tried on no more is noticed, one that is new may raise it. Where -run chose among the tables nothing can be said.
func (c *tally) requireTables(t *testing.T, want map[string]int) {
	t.Helper()
	if strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		return
	}
	got := map[string]int{}
	for what, tables := range c.tried {
		got[what] = len(tables)
	}
	require.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)), "what was tried: %v", got)
	for what, least := range want {
		require.GreaterOrEqual(t, got[what], least, "%s is tried on %d tables, and was on %d", what, got[what], least)
	}
}
