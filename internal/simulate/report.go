package simulate

import (
	"fmt"
	"strings"
	"time"
)

// ResultTables are the comparisons as Markdown, one table a workload.
func ResultTables(studies []Study) string {
	var out strings.Builder
	for _, study := range studies {
		typical := study.Workload.Typical()
		fmt.Fprintf(&out, "\n### %s\n\np50 %s, p90 %s. %s. Deadline %s after the start; %.1f %% of the jobs last longer.\n\n",
			study.Workload.Name, human(typical.P50), human(typical.P90), study.Workload.Says, human(study.Workload.Deadline()), 100*study.Results[0].Unresolved)
		out.WriteString("| schedule | requests per job | lag mean | p50 | p90 | p99 | of the duration p50 | p90 | p99 | peak/s |\n")
		out.WriteString("| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |\n")
		for _, c := range study.Results {
			fmt.Fprintf(&out, "| %s | %.1f | %s | %s | %s | %s | %s | %s | %s | %d |\n", c.Schedule, c.Requests,
				lag(c.Lag.Mean), lag(c.Lag.P50), lag(c.Lag.P90), lag(c.Lag.P99),
				percent(c.Relative.P50), percent(c.Relative.P90), percent(c.Relative.P99), c.Peak)
		}
	}
	return out.String()
}

// GainTable compares the schedules of the frontiers at equal mean lags.
func GainTable(studies []Study) string {
	var out strings.Builder
	out.WriteString("\n| jobs | mean lag of all | requests, from 5 s | knows p50, p90 | | base = max | knows p50, p90 | |\n| --- | --: | --: | --: | --: | --: | --: | --: |\n")
	for _, study := range studies {
		for _, g := range study.Frontiers.Gains(study.Workload) {
			fmt.Fprintf(&out, "| %s | %s | %.1f | %.1f | %s | %.1f | %.1f | %s |\n", study.Workload.Name, lag(g.Lag),
				g.Plain, g.Knowing, change(g.Knowing/g.Plain), g.Even, g.KnowingEven, change(g.KnowingEven/g.Even))
		}
	}
	return out.String()
}

// MistoldTable is what wrong expectations cost.
func MistoldTable(results map[string][]Comparison, names []string) string {
	var out strings.Builder
	out.WriteString("\n| jobs | expectation | requests per job | lag mean | p90 | p99 |\n| --- | --- | --: | --: | --: | --: |\n")
	for _, name := range names {
		for _, c := range results[name] {
			fmt.Fprintf(&out, "| %s | %s | %.1f | %s | %s | %s |\n", name, c.Schedule, c.Requests, lag(c.Lag.Mean), lag(c.Lag.P90), lag(c.Lag.P99))
		}
	}
	return out.String()
}

// HerdTable says how evenly fleets ask.
func HerdTable(herds []Herd) string {
	var out strings.Builder
	out.WriteString("\n| fleet | waits | mean/s | peak/mean, median fleet | 9 in 10 | under 1.5 | chance averaged out |\n| --- | --: | --: | --: | --: | --: | --: |\n")
	for _, h := range herds {
		fmt.Fprintf(&out, "| %s | %d | %.2f | %.2f | %.2f | %s | %.2f |\n", h.Fleet, h.Waits, h.Mean, h.Peak.P50, h.Peak.P90, percent(h.Under), h.Expected)
	}
	return out.String()
}

// ReturnTable says how a fleet comes back from outages.
func ReturnTable(returns []Return) string {
	var out strings.Builder
	out.WriteString("\n| outage | mean/s before | first second after | largest in the first interval | of the mean |\n| --- | --: | --: | --: | --: |\n")
	for _, r := range returns {
		fmt.Fprintf(&out, "| %s | %.1f | %d | %d | %.2f |\n", human(r.Outage), r.Mean, r.First, r.Peak, float64(r.Peak)/r.Mean)
	}
	return out.String()
}

func lag(seconds float64) string {
	if seconds < 60 {
		return fmt.Sprintf("%.1f s", seconds)
	}
	return human(time.Duration(seconds * float64(time.Second)))
}

// change is a ratio as what it adds or saves.
func change(ratio float64) string { return fmt.Sprintf("%+.0f %%", 100*(ratio-1)) }

func percent(part float64) string {
	switch {
	case part >= 0.0995:
		return fmt.Sprintf("%.0f %%", 100*part)
	default:
		return fmt.Sprintf("%.1f %%", 100*part)
	}
}

// human is a duration in its two largest units.
func human(d time.Duration) string {
	switch {
	case d >= time.Hour:
		d = d.Round(time.Minute)
		return strings.TrimSuffix(fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute), " 0 min")
	case d >= time.Minute:
		d = d.Round(time.Second)
		return strings.TrimSuffix(fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second), " 0 s")
	default:
		return fmt.Sprintf("%.3g s", d.Seconds())
	}
}

// Replace puts text between the marks of a block, `<!-- name -->` and `<!-- /name -->`.
func Replace(page, name, text string) (string, error) {
	begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
	before, rest, ok := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", fmt.Errorf("simulate: the page has no block %q: write %q and %q into it", name, strings.TrimSpace(begin), end)
	}
	return before + begin + text + "\n" + end + after, nil
}
