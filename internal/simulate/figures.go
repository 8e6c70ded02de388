package simulate

import (
	"fmt"
	"slices"
	"time"
)

// Study is what was found of one workload.
type Study struct {
	Workload  Workload
	Results   []Comparison
	Frontiers Frontiers
}

// Study compares all schedules on one workload.
func (s Setting) Study(w Workload) Study {
	study := s.StudyFrontiers(w)
	for _, schedule := range append(Ours(w), Others()...) {
		study.Results = append(study.Results, s.Compare(w, schedule))
	}
	return study
}

// StudyFrontiers is a study without results, of fewer jobs.
func (s Setting) StudyFrontiers(w Workload) Study {
	s.Jobs = min(s.Jobs, 2000)
	return Study{Workload: w, Frontiers: s.Frontiers(w)}
}

// CostFigure plots what each schedule costs against how late it is, one panel a workload.
func CostFigure(studies []Study) string {
	const columns, width, height, top = 2, 480, 280, 178
	rows := (len(studies) + columns - 1) / columns
	d := &drawing{width: columns*width + 10, height: top + rows*height}
	costLegend(d, studies[0].Results)
	for i, study := range studies {
		x, y := float64(i%columns*width+66), float64(top+i/columns*height+24)
		study.panel(d, x, y, width-86, height-76)
	}
	return d.svg("Requests and lag of schedules", "For each kind of job, the mean number of requests of a wait over the mean time from the end of the job to the answer that tells it. The tables have the same figures.")
}

func costLegend(d *drawing, results []Comparison) {
	d.text(24, 30, "title", "start", "What a wait costs, and how late it sees the end: lower and further left is better")
	for i, result := range results {
		x, y := float64(32+i%3*310), float64(54+i/3*22)
		class, number := dotClass(i)
		d.put(`<circle class="%s" cx="%.1f" cy="%.1f" r="7.5"/>`, class, x, y-4)
		d.put(`<text class="number %s" x="%.1f" y="%.1f">%d</text>`, number, x, y-.5, i+1)
		d.text(x+14, y, "", "start", result.Schedule)
	}
	for i, name := range []string{"jobwait from 5 s, any max_delay", "jobwait, base_delay = max_delay", "from 5 s, knows p50 and p90"} {
		x := 32 + 310*i
		d.put(`<path class="line %s" d="M%d 140h18"/>`, []string{"plain", "other", "proposed"}[i], x-8)
		d.text(float64(x+14), 144, "", "start", name)
	}
}

// dotClass sets ours apart from the others.
func dotClass(i int) (dot, number string) {
	switch i {
	case 0:
		return "ours", "inverse"
	case 1:
		return "new", "inverse"
	default:
		return "dot", ""
	}
}

func (s Study) panel(d *drawing, left, top, width, height float64) {
	x := axis{log: true, from: left, to: left + width, label: "mean lag, seconds"}
	y := axis{log: true, from: top + height, to: top, label: "requests per job"}
	var lags, requests []float64
	for _, point := range s.points() {
		lags, requests = append(lags, point.Lag), append(requests, point.Requests)
	}
	x.least, x.most, x.ticks = decades(slices.Min(lags), slices.Max(lags))
	y.least, y.most, y.ticks = decades(slices.Min(requests), slices.Max(requests))
	typical := s.Workload.Typical()
	p := d.panel(fmt.Sprintf("%s: p50 %s, p90 %s", s.Workload.Name, human(typical.P50), human(typical.P90)), x, y)
	p.line("other", pairs(s.Frontiers.Even))
	p.line("plain", pairs(s.Frontiers.Plain))
	p.line("proposed", pairs(s.Frontiers.Knowing))
	for i, result := range slices.Backward(s.Results) {
		class, number := dotClass(i)
		p.dot(class, number, result.Lag.Mean, result.Requests, i+1)
	}
}

func (s Study) points() []Point {
	points := slices.Concat(s.Frontiers.Plain, s.Frontiers.Even, s.Frontiers.Knowing)
	for _, result := range s.Results {
		points = append(points, Point{result.Lag.Mean, result.Requests})
	}
	return points
}

func pairs(points []Point) [][2]float64 {
	var out [][2]float64
	for _, point := range points {
		out = append(out, [2]float64{point.Lag, point.Requests})
	}
	return out
}

// LoadFigure plots the requests per second of fleets of 1,000, beside those of a schedule without jitter.
func LoadFigure(seed uint64) string {
	const width, height, top = 970, 220, 92
	rows := loadRows()
	d := &drawing{width: width, height: top + len(rows)*height}
	d.text(24, 30, "title", "start", "Requests per second of 1,000 waits that started in the same second")
	for i, name := range []string{"jobwait", "proposal", "without jitter: every wait in the same second"} {
		d.put(`<path class="line %s" d="M%d 50h18"/>`, []string{"plain", "proposed", "other"}[i], 24+130*i)
		d.text(float64(48+130*i), 54, "", "start", name)
	}
	for i, row := range rows {
		row.draw(d, float64(top+i*height+20), seed)
	}
	return d.svg("Load of a fleet over time", "Requests per second after a common start, after ten minutes without workers, and with Retry-After. The fleet's own schedule spreads within a few polls; where every answer has the same Retry-After it stays in waves.")
}

type loadRow struct {
	title            string
	fleet            Fleet
	other, proposed  Schedule
	from, to, height float64
}

func loadRows() []loadRow {
	always := AlwaysThrottled("", CoreAt(30))
	return []loadRow{
		{title: "one interval of 30 s", fleet: Started(30), other: Fixed(30 * time.Second).Named(""), from: 0, to: 400, height: 150},
		{title: "ten minutes without workers, from 300 s to 900 s", fleet: AfterOutage(30), other: Fixed(30 * time.Second).Named(""), from: 800, to: 1200, height: 150},
		{
			title: "Retry-After of 60 s with every answer", fleet: always, other: AzurePoller(30 * time.Second).Named(""),
			proposed: Plain{Base: 30 * time.Second, Max: 30 * time.Second, FirstSpread: 1}.Delays().Named(""), from: 0, to: 800, height: 150,
		},
	}
}

func (r loadRow) draw(d *drawing, top float64, seed uint64) {
	x := axis{least: r.from, most: r.to, from: 66, to: 950, label: "seconds"}
	y := axis{least: 0, most: r.height, from: top + 144, to: top, ticks: []float64{0, 50, 100, 150}, label: "requests/s"}
	for tick := r.from; tick <= r.to; tick += (r.to - r.from) / 8 {
		x.ticks = append(x.ticks, tick)
	}
	p := d.panel(r.title, x, y)
	for i, schedule := range []Schedule{r.other, r.proposed, r.fleet.Schedule} {
		if schedule.Open == nil {
			continue
		}
		fleet := r.fleet
		fleet.Schedule = schedule
		counts := fleet.counts(fleet.requests(1000, seed)).Between(int(r.from), int(r.to))
		p.line([]string{"other", "proposed", "plain"}[i], steps(counts, r.from))
	}
}

func steps(counts []int, from float64) [][2]float64 {
	var out [][2]float64
	for i, count := range counts {
		out = append(out, [2]float64{from + float64(i), float64(count)})
	}
	return out
}
