package simulate

import (
	"encoding/xml"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSpreadOf(t *testing.T) {
	t.Parallel()
	require.Equal(t, Spread{P50: 5, P90: 9, P99: 10, Mean: 5.5}, spreadOf([]float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}))
	require.Zero(t, spreadOf(nil))
}

func TestLoadCountsSeconds(t *testing.T) {
	t.Parallel()
	var load Load
	for _, at := range []time.Duration{999 * time.Millisecond, time.Second, 1999 * time.Millisecond, 4 * time.Second} {
		load.Add(epoch.Add(at))
	}
	require.Equal(t, []int{2, 0, 0, 1, 0, 0}, load.Between(1, 7))
	require.Equal(t, []int{0}, load.Between(9, 10))
	peak, mean := peakAndMean(load.Between(0, 6))
	require.Equal(t, 2, peak)
	require.InDelta(t, 4./6, mean, 1e-9)
}

func TestRequestsBetweenPoints(t *testing.T) {
	t.Parallel()
	frontier := []Point{{Lag: 1, Requests: 100}, {Lag: 100, Requests: 1}}
	require.InDelta(t, 10, requestsAt(frontier, 10), 1e-9)
	require.Zero(t, requestsAt(frontier, 0.5))
	require.Zero(t, requestsAt(frontier, 200))
}

func TestReplace(t *testing.T) {
	t.Parallel()
	page := "a\n<!-- x -->\nold\n<!-- /x -->\nb"
	got, err := Replace(page, "x", "new\n")
	require.NoError(t, err)
	require.Equal(t, "a\n<!-- x -->\nnew\n\n<!-- /x -->\nb", got)
	_, err = Replace(page, "y", "new")
	require.ErrorContains(t, err, `no block "y"`)
}

func TestHuman(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		1500 * time.Millisecond: "1.5 s", time.Minute: "1 min", 90 * time.Second: "1 min 30 s",
		2 * time.Hour: "2 h", 59*time.Minute + 59*time.Second + 600*time.Millisecond: "60 min", 2*time.Hour + 30*time.Minute: "2 h 30 min",
	} {
		require.Equal(t, want, human(d))
	}
}

// The pictures are XML with a title, and name every schedule.
func TestFiguresAreWellFormed(t *testing.T) {
	t.Parallel()
	setting := Setting{Jobs: 10, Seed: 1, Latency: latency, Window: time.Minute, Budget: 1000}
	studies := []Study{setting.Study(Workloads()[0])}
	cost := CostFigure(studies)
	for _, svg := range []string{cost, LoadFigure(1)} {
		decoder := xml.NewDecoder(strings.NewReader(svg))
		var err error
		for err == nil {
			_, err = decoder.Token()
		}
		require.ErrorIs(t, err, io.EOF)
		require.Contains(t, svg, "prefers-color-scheme: dark")
		require.NotContains(t, svg, "NaN")
	}
	for _, result := range studies[0].Results {
		require.Contains(t, cost, ">"+result.Schedule+"<")
		require.Contains(t, ResultTables(studies), "| "+result.Schedule+" |")
	}
}

// The committed page has the kinds of jobs and the fleets that the code compares.
func TestPageIsOfThisCode(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/schedules.md")
	require.NoError(t, err)
	for _, workload := range Workloads() {
		require.Contains(t, string(page), "### "+workload.Name+"\n\np50 "+human(workload.Typical().P50))
	}
	for _, fleet := range Fleets() {
		require.Contains(t, string(page), "| "+fleet.Name+" | 1000 |")
	}
}
