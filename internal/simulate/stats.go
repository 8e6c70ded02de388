package simulate

import (
	"math"
	"slices"
	"time"
)

// Spread is the middle and the upper end of many values.
type Spread struct{ P50, P90, P99, Mean float64 }

// spreadOf sorts the values in place. A percentile is the smallest value that so many do not exceed.
func spreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	slices.Sort(values)
	rank := func(part float64) float64 { return values[max(int(math.Ceil(part*float64(len(values))))-1, 0)] }
	sum := 0.0
	for _, value := range values {
		sum += value
	}
	return Spread{rank(0.5), rank(0.9), rank(0.99), sum / float64(len(values))}
}

// Load counts requests per second of a fleet.
type Load struct{ perSecond []int }

// Add counts one request.
func (l *Load) Add(at time.Time) {
	second := int(at.Sub(epoch) / time.Second)
	for len(l.perSecond) <= second {
		l.perSecond = append(l.perSecond, 0)
	}
	l.perSecond[second]++
}

// Between are the counts of the seconds from one up to another, those without requests included.
func (l *Load) Between(from, to int) []int {
	counts := make([]int, to-from)
	if from < len(l.perSecond) {
		copy(counts, l.perSecond[from:])
	}
	return counts
}

// peakAndMean are those of the counts of some seconds.
func peakAndMean(counts []int) (peak int, mean float64) {
	sum := 0
	for _, count := range counts {
		peak = max(peak, count)
		sum += count
	}
	return peak, float64(sum) / float64(len(counts))
}
