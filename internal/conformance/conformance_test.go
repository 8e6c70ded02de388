package conformance_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// table is a shipped table with all that the tests want of it.
type table struct {
	set      *statetables.Set
	table    *statetables.Table
	file     statetables.File
	examples []statetables.Example
}

// everyTable runs a check for each table that is shipped, the demonstration's included, and returns when all are done.
func everyTable(t *testing.T, check func(*testing.T, table)) {
	t.Helper()
	all, err := shipped()
	require.NoError(t, err)
	t.Run("table", func(t *testing.T) {
		for _, known := range all {
			t.Run(known.table.Provider(), func(t *testing.T) {
				t.Parallel()
				check(t, known)
			})
		}
	})
}

// shipped reads the tables once for all tests.
var shipped = sync.OnceValues(func() ([]table, error) {
	sources := []statetables.Source{{FS: statetables.Builtin()}, {Name: "demo", FS: statetables.Demo()}}
	set, err := statetables.Load(sources...)
	if err != nil {
		return nil, err
	}
	var all []table
	for _, source := range sources {
		files, err := statetables.Files(source)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			examples, err := file.Examples()
			if err != nil {
				return nil, err
			}
			found, _ := set.Table(file.Table.Provider)
			all = append(all, table{set, found, file, examples})
		}
	}
	return all, nil
})

// at runs a check in a bubble whose clock shows the given time; connections are real all the same.
func at(t *testing.T, now time.Time, check func(*testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(now))
		check(t)
	})
}

// secretFor is the secret as a request carries it.
func secretFor(request statetables.Request) string {
	if request.Auth.Needed() {
		return secret
	}
	return ""
}

// R13: a partial success is one where the spec takes it, and a person's question where it does not.
func TestPartialExamplesAreTakenWhereTheSpecSaysSo(t *testing.T) {
	t.Parallel()
	var tried tally
	everyTable(t, func(t *testing.T, known table) {
		t.Helper()
		p := newProvider(t)
		for _, example := range known.examples {
			if example.Want.Category != string(wire.CategoryPartial) || example.Want.OtherJob {
				continue
			}
			tried.count("partial", known)
			w := waitFor(t, known.table, example, func(spec *wire.Spec) { spec.AcceptPartial = true })
			p.give(answering(example.Response))
			at(t, w.now, func(t *testing.T) {
				t.Helper()
				end := requireEnd(t, w.decide(w.poll(t, p, known.set)))
				require.Equal(t, wire.StatusSucceeded, end.Status, example.Name)
				require.True(t, end.Partial)
			})
		}
	})
	tried.requireTables(t, map[string]int{"partial": 27})
}

// R4: a caller that accepts another state alone is asked about this one.
func TestSuccessInAnotherStateThanExpected(t *testing.T) {
	t.Parallel()
	var tried tally
	everyTable(t, func(t *testing.T, known table) {
		t.Helper()
		for _, example := range known.examples {
			other := another(known.table.SuccessStates(), example.Want.RawState)
			if example.Want.Category != string(wire.CategorySuccess) || len(example.Want.Unproven) > 0 || example.Want.OtherJob || other == "" {
				continue
			}
			tried.count("two successes", known)
			w := waitFor(t, known.table, example, func(spec *wire.Spec) { spec.ExpectedStates = []string{other} })
			w.decide(known.table.Classify(w.request.Target, w.request.Reading, example.Response))
			requireAsks(t, w, wire.ReasonContradictoryResponse, wire.DetailUnexpectedSuccessState)
		}
	})
	tried.requireTables(t, map[string]int{"two successes": 34})
}

func another(states []string, than string) string {
	for _, state := range states {
		if !strings.EqualFold(state, than) {
			return state
		}
	}
	return ""
}
