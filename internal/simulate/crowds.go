package simulate

import (
	"fmt"
	"strings"
	"time"

	"github.com/jobwait/jobwait/internal/lanes"
)

// longestHold is that of a worker which is not told otherwise.
const longestHold = 10 * time.Minute

// Crowds are fleets of 50 and 1,000 with one interval, without a rate and with fitting ones, started together and after an
// outage.
func Crowds() []Crowd {
	var crowds []Crowd
	for _, c := range []struct {
		waits, processes int
		rate             float64 // of each process
	}{
		{1000, 1, 0}, {1000, 1, 50}, {1000, 2, 25}, {50, 1, 0}, {50, 1, 2.5}, {50, 1, 2.4}, {50, 2, 1.2}, {50, 2, 0.9},
	} {
		started := Crowd{
			Name: "started together", Waits: c.waits, Processes: c.processes, Schedule: CoreAt(30), Interval: 30 * time.Second,
			Limits: lanes.Limits{Rate: c.rate, MaxHold: longestHold}, Latency: latency, Late: time.Second, For: looked * 30 * time.Second,
		}
		outage := started
		outage.Name = "after 10 min without workers"
		outage.Down = Span{epoch.Add(5 * time.Minute), epoch.Add(15 * time.Minute)}
		outage.From = 15 * time.Minute
		crowds = append(crowds, started, outage)
	}
	return crowds
}

// CrowdRow is how evenly crowds of a kind ask.
type CrowdRow struct {
	Crowd
	Mean float64
	Peak Spread
	// Under is the part of the crowds with a peak under 1.5, Held that of the requests which waited for their turn.
	Under, Held float64
	// Waited is how many seconds those waited, Returns how often they were sent away.
	Waited  Spread
	Returns float64
}

// Measure plays so many crowds of one kind.
func (c Crowd) Measure(times int, seed uint64) CrowdRow {
	row := CrowdRow{Crowd: c}
	var peaks, waited []float64
	requests, held, returns := 0, 0, 0
	for i := range times {
		played := c.Play(seed + uint64(i))
		peak, mean := played.Peak(c.For)
		peaks, waited = append(peaks, float64(peak)/mean), append(waited, played.Waited...)
		row.Mean += mean / float64(times)
		if float64(peak) < 1.5*mean {
			row.Under += 1 / float64(times)
		}
		for _, n := range played.Load.perSecond {
			requests += n
		}
		held, returns = held+played.Held, returns+played.Returns
	}
	row.Peak, row.Waited = spreadOf(peaks), spreadOf(waited)
	row.Held, row.Returns = float64(held)/float64(requests), float64(returns)/float64(max(held, 1))
	return row
}

// CrowdTable says how evenly crowds ask.
func CrowdTable(rows []CrowdRow) string {
	var out strings.Builder
	out.WriteString("\n| fleet, 30 s | waits | workers | rate of each | mean/s | peak/mean, median fleet | 9 in 10 | under 1.5 | waited for a turn | for, median | 9 in 10 | away and back |\n")
	out.WriteString("| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |\n")
	for _, r := range rows {
		fmt.Fprintf(&out, "| %s | %d | %d | %s | %.2f | %.2f | %.2f | %s | %s | %s | %s | %.1f |\n", r.Name, r.Waits, r.Processes, rate(r.Limits.Rate), r.Mean,
			r.Peak.P50, r.Peak.P90, percent(r.Under), percent(r.Held), lag(r.Waited.P50), lag(r.Waited.P90), r.Returns)
	}
	return out.String()
}

func rate(perSecond float64) string {
	if perSecond == 0 {
		return "none"
	}
	return fmt.Sprintf("%g/s", perSecond)
}

// A closed provider answers 429 from five minutes on for one minute, with the rest of it as Retry-After.
var closed = Span{epoch.Add(5 * time.Minute), epoch.Add(6 * time.Minute)} //nolint:gochecknoglobals // a constant in all but the language

func closing() func(at time.Time) Answer {
	return func(at time.Time) Answer {
		if at.Before(closed.From) || !at.Before(closed.To) {
			return Answer{}
		}
		return Answer{Limited: true, RetryAfter: closed.To.Sub(at)}
	}
}

// overloaded is a provider that takes so many requests a second and answers 429 to the others, without a Retry-After.
func overloaded(perSecond float64) func() func(at time.Time) Answer {
	return func() func(at time.Time) Answer {
		tokens, last := perSecond, epoch
		return func(at time.Time) Answer {
			tokens = min(tokens+at.Sub(last).Seconds()*perSecond, perSecond)
			last = at
			if tokens < 1 {
				return Answer{Limited: true}
			}
			tokens--
			return Answer{}
		}
	}
}

// Throttles are 1,000 waits at a provider that closes for a minute, and at one that takes half of what they ask, each with
// and without lanes that hold back.
func Throttles() []Crowd {
	var crowds []Crowd
	for _, provider := range []struct {
		name string
		make func() func(at time.Time) Answer
		rate float64
	}{{"closed for a minute", closing, 0}, {"takes 20 requests/s", overloaded(20), 18}} {
		for _, c := range []struct {
			how       string
			processes int
			limits    lanes.Limits
		}{
			{"nobody is held back", 1, lanes.Limits{}},
			{"held back, one worker", 1, lanes.Limits{MaxHold: longestHold}},
			{"held back, four workers", 4, lanes.Limits{MaxHold: longestHold}},
			{"and a rate of 18/s", 1, lanes.Limits{MaxHold: longestHold, Rate: provider.rate}},
		} {
			if c.how == "and a rate of 18/s" && provider.rate == 0 {
				continue
			}
			crowds = append(crowds, Crowd{
				Name: provider.name + "; " + c.how, Waits: 1000, Processes: c.processes, Schedule: CoreAt(30), Interval: 30 * time.Second,
				Limits: c.limits, Latency: latency, Late: time.Second, Provider: provider.make, For: 20 * time.Minute,
			})
		}
	}
	return crowds
}

// ThrottleTable says what a provider that says 429 sees of 1,000 waits.
func ThrottleTable(crowds []Crowd, seed uint64) string {
	var out strings.Builder
	out.WriteString("\n| provider | requests/s before | in the minute of the 429 | of them 429 | largest second in the ten minutes after | waited, median | 9 in 10 | longest |\n| --- | --: | --: | --: | --: | --: | --: | --: |\n")
	second := func(at time.Time) int { return int(at.Sub(epoch) / time.Second) }
	for _, c := range crowds {
		played := c.Play(seed)
		_, before := peakAndMean(played.Load.Between(second(closed.From)-120, second(closed.From)))
		peak, _ := peakAndMean(played.Load.Between(second(closed.To), second(closed.To)+600))
		from, to := second(closed.From), second(closed.To)
		longest := 0.0
		for _, waited := range played.Waited {
			longest = max(longest, waited)
		}
		waited := spreadOf(played.Waited)
		fmt.Fprintf(&out, "| %s | %.1f | %d | %d | %d | %s | %s | %s |\n", c.Name, before,
			sum(played.Load.Between(from, to)), sum(played.Limited.Between(from, to)), peak, lag(waited.P50), lag(waited.P90), lag(longest))
	}
	return out.String()
}

func sum(counts []int) (n int) {
	for _, count := range counts {
		n += count
	}
	return n
}
