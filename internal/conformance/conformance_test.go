package conformance_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
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

// everyTable runs a check for each table that is shipped, the demonstration's included.
func everyTable(t *testing.T, check func(*testing.T, table)) {
	t.Helper()
	all, err := shipped()
	require.NoError(t, err)
	for _, known := range all {
		t.Run(known.table.Provider(), func(t *testing.T) {
			t.Parallel()
			check(t, known)
		})
	}
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

// R1, R3, R4, R10, R12, R16: every example of every table, served over HTTP, is read as it wants and decided as the rules
// have it.
func TestEveryExampleOverHTTP(t *testing.T) {
	t.Parallel()
	everyTable(t, func(t *testing.T, known table) {
		t.Helper()
		p := newProvider(t)
		for _, example := range known.examples {
			w := waitFor(t, known.table, example, nil)
			requireContext(t, example, w.request)
			p.give(answering(example.Response))
			at(t, w.now, func(t *testing.T) {
				t.Helper()
				seen := w.poll(t, p, known.set)
				require.Empty(t, example.Differences(seen), example.Name)
				require.Equal(t, w.now, *seen.ReceivedAt)
				requireOneRequest(t, p, w, known.set)
				requireNoSecret(t, seen)
				requireDecided(t, w, example, seen)
			})
		}
	})
}

// R10: the core has an answer read in the context of the example. A cancel follows an answer that allowed it.
func requireContext(t *testing.T, example statetables.Example, request wire.PollRequest) {
	t.Helper()
	want, got := example.Reading, request.Reading
	want.Answered = want.Answered || want.CancelSent
	require.True(t, want.SubmittedAt.Equal(got.SubmittedAt), example.Name)
	want.SubmittedAt = got.SubmittedAt
	require.Equal(t, want, got, example.Name)
}

// R2, R51: one request, a GET, to the URL that the table makes, with its headers and no others.
func requireOneRequest(t *testing.T, p *provider, w *wait, set *statetables.Set) {
	t.Helper()
	requests := p.got()
	require.Len(t, requests, 1)
	table, _ := set.Table(w.request.Provider)
	want, err := table.StatusRequest(w.request.Target)
	require.NoError(t, err)
	want = want.Authorize(secretFor(want))
	address := w.address(t, set)
	require.Equal(t, http.MethodGet, requests[0].Method)
	require.Equal(t, address.Host, requests[0].Host)
	require.Equal(t, want.URL, address.Scheme+"://"+requests[0].Host+requests[0].RequestURI)
	header := requests[0].Header.Clone()
	for name, value := range want.Header {
		require.Equal(t, value, header.Get(name), name)
		header.Del(name)
	}
	for name := range header {
		require.Contains(t, []string{"User-Agent", "Accept", "Connection"}, name)
	}
}

// secretFor is the secret as a request carries it.
func secretFor(request statetables.Request) string {
	if request.Auth.Needed() {
		return secret
	}
	return ""
}

// R50: the credential is in no observation.
func requireNoSecret(t *testing.T, seen wire.Observation) {
	t.Helper()
	text, err := json.Marshal(seen)
	require.NoError(t, err)
	require.NotContains(t, string(text), secret)
	require.NotContains(t, string(text), base64.StdEncoding.EncodeToString([]byte(secret)))
}

// R13: a partial success is one where the spec takes it, and a person's question where it does not.
func TestPartialExamplesAreTakenWhereTheSpecSaysSo(t *testing.T) {
	t.Parallel()
	everyTable(t, func(t *testing.T, known table) {
		t.Helper()
		p := newProvider(t)
		for _, example := range known.examples {
			if example.Want.Category != string(wire.CategoryPartial) || example.Want.OtherJob {
				continue
			}
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
}

// R4: a caller that accepts another state alone is asked about this one.
func TestSuccessInAnotherStateThanExpected(t *testing.T) {
	t.Parallel()
	everyTable(t, func(t *testing.T, known table) {
		t.Helper()
		for _, example := range known.examples {
			other := another(known.table.SuccessStates(), example.Want.RawState)
			if example.Want.Category != string(wire.CategorySuccess) || len(example.Want.Unproven) > 0 || example.Want.OtherJob || other == "" {
				continue
			}
			w := waitFor(t, known.table, example, func(spec *wire.Spec) { spec.ExpectedStates = []string{other} })
			w.decide(known.table.Classify(w.request.Target, w.request.Reading, example.Response))
			requireAsks(t, w, wire.ReasonContradictoryResponse, wire.DetailUnexpectedSuccessState)
		}
	})
}

func another(states []string, than string) string {
	for _, state := range states {
		if !strings.EqualFold(state, than) {
			return state
		}
	}
	return ""
}
