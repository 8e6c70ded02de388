package waittest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/waittest"
)

var noon = time.Date(2025, 4, 18, 12, 0, 0, 0, time.UTC)

func TestRequireNeverEarly(t *testing.T) {
	t.Parallel()
	const early = waittest.EarlyTolerance
	busy := entry(0, waittest.KindStatus, 30*time.Second)
	cases := map[string]struct {
		log  []waittest.LogEntry
		want string
	}{
		"nothing asked":         {log: []waittest.LogEntry{entry(0, waittest.KindStatus, 0), entry(1, waittest.KindStatus, 0)}},
		"in time":               {log: []waittest.LogEntry{busy, entry(30*time.Second, waittest.KindStatus, 0)}},
		"within the tolerance":  {log: []waittest.LogEntry{busy, entry(30*time.Second-early, waittest.KindStatus, 0)}},
		"early":                 {log: []waittest.LogEntry{busy, entry(30*time.Second-early-1, waittest.KindStatus, 0)}, want: `job "j" came 5.000001ms early`},
		"not only the next one": {log: []waittest.LogEntry{busy, entry(31*time.Second, waittest.KindStatus, 60*time.Second), entry(80*time.Second, waittest.KindStatus, 0)}, want: "early"},
		"an older longer one":   {log: []waittest.LogEntry{entry(0, waittest.KindStatus, 60*time.Second), entry(0, waittest.KindCancel, time.Second), entry(59*time.Second, waittest.KindStatus, 0)}, want: "early"},
		"another job":           {log: []waittest.LogEntry{busy, other(entry(time.Second, waittest.KindStatus, 0))}},
		"a cancel call":         {log: []waittest.LogEntry{busy, entry(time.Second, waittest.KindCancel, 0)}},
		"asked by a cancel":     {log: []waittest.LogEntry{entry(0, waittest.KindCancel, time.Minute), entry(time.Second, waittest.KindStatus, 0)}, want: "early"},
		"answer never written":  {log: []waittest.LogEntry{ended(busy, waittest.EndingClientGone), entry(time.Second, waittest.KindStatus, 0)}},
		"crossed the answer":    {log: []waittest.LogEntry{answeredAt(busy, 2*time.Second), entry(time.Second, waittest.KindStatus, 0)}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireComplaint(t, c.want, func(r *recorder) { waittest.RequireNeverEarly(r, c.log) })
		})
	}
}

func TestRequireWithinBudget(t *testing.T) {
	t.Parallel()
	three := []waittest.LogEntry{
		entry(0, waittest.KindStatus, 0), entry(1, waittest.KindCancel, 0), entry(2, waittest.KindStatus, 0),
		ended(entry(3, waittest.KindStatus, 0), waittest.EndingClientGone), other(entry(4, waittest.KindStatus, 0)),
	}
	requireComplaint(t, "", func(r *recorder) { waittest.RequireWithinBudget(r, three, 3) })
	requireComplaint(t, `job "j" was asked for its status 3 times; the budget is 2`, func(r *recorder) { waittest.RequireWithinBudget(r, three, 2) })
	requireComplaint(t, "no status request", func(r *recorder) { waittest.RequireWithinBudget(r, nil, 2) })
}

func TestRequireNoneFrom(t *testing.T) {
	t.Parallel()
	log := []waittest.LogEntry{entry(time.Second, waittest.KindStatus, 0), entry(9*time.Second, waittest.KindCancel, 0)}
	requireComplaint(t, "", func(r *recorder) { waittest.RequireNoneFrom(r, log, noon.Add(time.Second+1)) })
	requireComplaint(t, "0s after the deadline", func(r *recorder) { waittest.RequireNoneFrom(r, log, noon.Add(time.Second)) })
}

func TestAssertionsOnARealLog(t *testing.T) {
	t.Parallel()
	p := provider(t, waittest.ProviderOptions{})
	set(t, p, "j", waittest.Status(503).RetryAfter("60"), waittest.State("running"))
	get(t, p, "j")
	requireComplaint(t, "", func(r *recorder) { waittest.RequireNeverEarly(r, p.Log("")) })
	get(t, p, "j")
	requireComplaint(t, `the answer to request 1 (503, Retry-After ["60"])`, func(r *recorder) { waittest.RequireNeverEarly(r, p.Log("")) })
}

func TestReadLogNamesTheBadLine(t *testing.T) {
	t.Parallel()
	_, err := waittest.ReadLog(strings.NewReader("{\"seq\": 1}\n{\"seq\": \n"))
	require.ErrorContains(t, err, "log line 2")
}

// entry is a request about job j that was answered at once, some time after noon.
func entry(after time.Duration, kind waittest.RequestKind, retryAfter time.Duration) waittest.LogEntry {
	e := waittest.LogEntry{Job: "j", Kind: kind, ReceivedAt: noon.Add(after), AnsweredAt: noon.Add(after), Ending: waittest.EndingAnswered}
	if retryAfter > 0 {
		e.RetryAfter, e.NotBefore = []string{fmt.Sprint(retryAfter.Seconds())}, noon.Add(after+retryAfter)
	}
	return e
}

func other(e waittest.LogEntry) waittest.LogEntry { e.Job = "k"; return e }

func ended(e waittest.LogEntry, ending waittest.Ending) waittest.LogEntry {
	e.Ending = ending
	return e
}

func answeredAt(e waittest.LogEntry, after time.Duration) waittest.LogEntry {
	e.AnsweredAt = noon.Add(after)
	return e
}

// recorder is a test that notes how it fails.
type recorder struct {
	complaint string
	failed    bool
}

func (*recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) { r.complaint += fmt.Sprintf(format, args...) }

func (r *recorder) FailNow() { r.failed = true }

func requireComplaint(t *testing.T, want string, assert func(*recorder)) {
	t.Helper()
	var r recorder
	assert(&r)
	require.Equal(t, want != "", r.failed, r.complaint)
	if want == "" {
		require.Empty(t, r.complaint)
		return
	}
	require.Contains(t, r.complaint, want)
}
