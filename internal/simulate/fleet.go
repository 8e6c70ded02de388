package simulate

import (
	"slices"
	"time"
)

// Fleet is many waits that start in the same second, for jobs that do not end while one looks.
type Fleet struct {
	Name     string
	Schedule Schedule
	// Interval is the raw delay between two requests, the unit in which a fleet is looked at.
	Interval time.Duration
	// Spread is the time over which the starts are drawn; 0: all start at once.
	Spread time.Duration
	World  World
	// From is when counting begins; the window opens when every wait has sent two requests since.
	From time.Duration
}

// looked is how many intervals a fleet is looked at.
const looked = 20

// requests are the seconds in which each of n waits sends, up to the end of the look.
func (f Fleet) requests(n int, seed uint64) [][]int {
	end := epoch.Add(f.From + f.Spread + (looked+5)*f.Interval)
	for _, down := range f.World.Down {
		end = end.Add(down.To.Sub(down.From))
	}
	all := make([][]int, n)
	for i := range all {
		world := f.World
		world.Sent = func(_ int, at time.Time) { all[i] = append(all[i], int(at.Sub(epoch)/time.Second)) }
		wait := Wait{Seed: seed, Index: i, Start: epoch, Deadline: end.Add(time.Hour), Budget: 1_000_000}
		wait.Start = epoch.Add(time.Duration(wait.random().Float64() * float64(f.Spread)))
		world.Play(until{f.Schedule.Open(wait), end}, wait.Start, wait.Deadline)
	}
	return all
}

// until ends a wait that nobody looks at any more.
type until struct {
	Pacer
	end time.Time
}

func (u until) Next(now time.Time) Step {
	if now.Before(u.end) {
		return u.Pacer.Next(now)
	}
	return Step{Do: End}
}

// Herd says how evenly a fleet asks: the largest number of requests in one second, in parts of the mean.
type Herd struct {
	Fleet string
	Waits int
	// Mean is the mean number of requests per second.
	Mean float64
	// Peak is that of many fleets: the median one's, and that of the ninth in ten.
	Peak Spread
	// Under is the part of the fleets with a peak under 1.5.
	Under float64
	// Expected is the peak of the mean of all fleets: what remains of the common start when chance is averaged out.
	Expected float64
}

// Measure plays a pool of waits once, and looks at it as fleets of each size.
func (f Fleet) Measure(pool int, seed uint64, sizes ...int) []Herd {
	all := f.requests(pool, seed)
	var herds []Herd
	for _, size := range sizes {
		herd := Herd{Fleet: f.Name, Waits: size}
		var peaks []float64
		for fleet := range slices.Chunk(all, size) {
			peak, mean := f.peak(fleet)
			peaks = append(peaks, peak)
			herd.Mean += mean
			if peak < 1.5 {
				herd.Under++
			}
		}
		herd.Mean /= float64(len(peaks))
		herd.Under /= float64(len(peaks))
		herd.Peak = spreadOf(peaks)
		herd.Expected, _ = f.peak(all)
		herds = append(herds, herd)
	}
	return herds
}

// peak is the largest count of a second in parts of the mean, from when every wait has sent its second request on.
func (f Fleet) peak(fleet [][]int) (peak, mean float64) {
	from := f.secondRequests(fleet) + 1
	most, mean := peakAndMean(f.counts(fleet).Between(from, from+looked*int(f.Interval/time.Second)))
	return float64(most) / mean, mean
}

func (f Fleet) counts(fleet [][]int) *Load {
	var load Load
	for _, wait := range fleet {
		for _, second := range wait {
			load.Add(epoch.Add(time.Duration(second) * time.Second))
		}
	}
	return &load
}

// secondRequests is the second in which the last wait sends its second request since From.
func (f Fleet) secondRequests(fleet [][]int) int {
	from, last := int((f.From+f.Spread)/time.Second), 0
	for _, wait := range fleet {
		first, _ := slices.BinarySearch(wait, from)
		last = max(last, wait[min(first+1, len(wait)-1)])
	}
	return last
}

// Return says how a fleet comes back from an outage.
type Return struct {
	Outage time.Duration
	// First is the number of requests in the second in which the workers are back, Peak the largest one in the interval
	// after it.
	First, Peak int
	// Mean is the mean number of requests per second before the outage.
	Mean float64
}

// Returns are those of a fleet of the given size from outages of some lengths.
func Returns(waits int, seed uint64, seconds int, outages ...time.Duration) []Return {
	var returns []Return
	for _, outage := range outages {
		fleet := Started(seconds)
		from := 10 * fleet.Interval
		back := int((from + outage) / time.Second)
		fleet.From = from + outage
		fleet.World.Down = []Span{{epoch.Add(from), epoch.Add(from + outage)}}
		load := fleet.counts(fleet.requests(waits, seed))
		after := load.Between(back, back+seconds)
		peak, _ := peakAndMean(after)
		_, mean := peakAndMean(load.Between(back-int(outage/time.Second)-5*seconds, back-int(outage/time.Second)))
		returns = append(returns, Return{outage, after[0], peak, mean})
	}
	return returns
}
