package simulate

import (
	"math"
	"time"

	"github.com/jobwait/jobwait/operation"
)

// Point is what a schedule costs and how late it sees an end: the mean requests of a wait, the mean lag in seconds.
type Point struct{ Lag, Requests float64 }

// Frontiers are points of three schedules at many settings, from short to long delays.
type Frontiers struct {
	// Plain is the core's backoff from 5 s with any max_delay; Even has a base_delay of the same length, and so no early looks.
	Plain, Even []Point
	// Knowing is Plain told the typical durations, KnowingEven is Even told them.
	Knowing, KnowingEven []Point
}

// Frontiers plays them.
func (s Setting) Frontiers(w Workload) Frontiers {
	var f Frontiers
	typical := w.Typical()
	for delay := max(4*time.Second, typical.P50/100); delay <= max(typical.P50, 2*time.Minute); delay = delay * 3 / 2 {
		whole := delay.Round(time.Second) // as a spec has them
		base := min(5*time.Second, whole)
		knows := Expecting(Knowing(int(base/time.Second), int(whole/time.Second), typical))
		f.Plain = append(f.Plain, s.point(w, Plain{Base: base, Max: whole}.Delays()))
		f.Even = append(f.Even, s.point(w, Plain{Base: whole, Max: whole}.Delays()))
		f.Knowing = append(f.Knowing, s.point(w, Plain{Base: base, Max: whole, Expects: &knows}.Delays()))
		f.KnowingEven = append(f.KnowingEven, s.point(w, Plain{Base: whole, Max: whole, Expects: &knows}.Delays()))
	}
	return f
}

func (s Setting) point(w Workload, delays Delays) Point {
	c := s.Compare(w, delays.Named(""))
	return Point{c.Lag.Mean, c.Requests}
}

// requestsAt is how many requests a frontier needs for a lag, between its points on logarithmic axes; 0 outside of them.
func requestsAt(frontier []Point, lag float64) float64 {
	for i := 1; i < len(frontier); i++ {
		a, b := frontier[i-1], frontier[i]
		if a.Lag <= lag && lag < b.Lag {
			part := math.Log(lag/a.Lag) / math.Log(b.Lag/a.Lag)
			return a.Requests * math.Pow(b.Requests/a.Requests, part)
		}
	}
	return 0
}

// Gain is what each schedule needs for one mean lag in seconds.
type Gain struct{ Lag, Plain, Knowing, Even, KnowingEven float64 }

// Gains are those at lags of some parts of the median duration, where all have points.
func (f Frontiers) Gains(w Workload) []Gain {
	var gains []Gain
	for _, part := range []float64{0.02, 0.05, 0.1, 0.3} {
		lag := part * w.Typical().P50.Seconds()
		gain := Gain{lag, requestsAt(f.Plain, lag), requestsAt(f.Knowing, lag), requestsAt(f.Even, lag), requestsAt(f.KnowingEven, lag)}
		if min(gain.Plain, gain.Knowing, gain.Even, gain.KnowingEven) > 0 {
			gains = append(gains, gain)
		}
	}
	return gains
}

// Mistold is the core told quantiles that are off by a factor; of 0, told nothing.
func (s Setting) Mistold(w Workload, name string, factor float64) Comparison {
	if factor == 0 {
		return s.Compare(w, Core(name, Backoff(operation.DefaultBaseDelaySeconds, operation.DefaultMaxDelaySeconds)))
	}
	times := func(d time.Duration) time.Duration { return time.Duration(factor * float64(d)) }
	told := Typical{times(w.Typical().P50), times(w.Typical().P90)}
	return s.Compare(w, Core(name, Knowing(operation.DefaultBaseDelaySeconds, operation.DefaultMaxDelaySeconds, told)))
}
