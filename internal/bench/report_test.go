package bench

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTargets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name           string
		want           target
		jobwait, ratio float64
		met            bool
	}{
		{"below", ratioBelow(2), 0, 1.99, true},
		{"not below", ratioBelow(2), 0, 2, false},
		{"at most", ratioAtMost(1.02), 0, 1.02, true},
		{"more", ratioAtMost(1.02), 0, 1.021, false},
		{"at least", ratioAtLeast(0.9), 0, 0.9, true},
		{"less", ratioAtLeast(0.9), 0, 0.899, false},
		{"equal", equal(), 0, 1, true},
		{"unequal", equal(), 0, 1.001, false},
		{"under", under(60), 59.9, 9, true},
		{"over", under(60), 60, 0.1, false},
		{"all", all(100), 100, 0.1, true},
		{"not all", all(100), 99.9, 9, false},
	} {
		require.Equal(t, c.met, c.want.met(c.jobwait, c.ratio), c.name)
	}
}

func TestReportShowsMediansAndWhatIsMissed(t *testing.T) {
	t.Parallel()
	r := newReport("1.29.1")
	for _, value := range []float64{90, 110, 100} {
		r.add("polls", roleBare, value)
		r.add("polls", roleJobwait, value/2)
	}
	r.add("bytes", roleBare, 1043)
	r.add("bytes", roleJobwait, 1805)
	r.figure("polls", "1/s", ratioAtLeast(0.9))
	r.figure("bytes", "", target{})
	r.figure("nobody measured this", "", equal())

	require.Equal(t, []string{"polls"}, r.Missed())
	table := r.Markdown()
	require.Contains(t, table, "| polls, 1/s | 100 (90 to 110) | 50 (45 to 55) | 0.50 | at least 0.9 times | missed |\n")
	require.Contains(t, table, "| bytes | 1,043 | 1,805 | 1.73 |  |  |\n")
	require.NotContains(t, table, "nobody")
	page, err := r.Insert("# Page\n\n" + beginMark + "old\n" + endMark + "\nend\n")
	require.NoError(t, err)
	require.Equal(t, "# Page\n\n"+beginMark+"\n"+table+"\n"+endMark+"\nend\n", page)
	_, err = r.Insert("# Page\n")
	require.Error(t, err)
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for value, want := range map[float64]string{
		0: "0", 11: "11", 0.954: "0.95", 3.128: "3.13", 13.46: "13.5", 99.94: "99.9", 1043: "1,043", 1234567: "1,234,567", 250.6: "251",
	} {
		require.Equal(t, want, number(value))
	}
	require.Equal(t, "1,000", thousands(1000))
	require.Equal(t, "-1,000", thousands(-1000))
}

func TestInParallelDoesEachOnceAndStopsAtAnError(t *testing.T) {
	t.Parallel()
	seen := make([]int, 100)
	require.NoError(t, inParallel(t.Context(), len(seen), func(_ context.Context, i int) error { seen[i]++; return nil }))
	for i, n := range seen {
		require.Equal(t, 1, n, i)
	}
	wrong := errors.New("wrong")
	begun := make(chan int, 1000)
	err := inParallel(t.Context(), cap(begun), func(ctx context.Context, i int) error {
		begun <- i
		if i == 0 {
			return wrong
		}
		<-ctx.Done()
		return nil
	})
	require.ErrorIs(t, err, wrong)
	require.Less(t, len(begun), 2*starters)
}
