package simulate

import (
	"math"
	"math/rand/v2"
	"time"
)

// Workload is a kind of job: how long it takes.
type Workload struct {
	Name string
	// Says is where the distribution comes from.
	Says string
	// Quantile is the duration that the given part of the jobs does not exceed.
	Quantile func(part float64) time.Duration
}

// Typical is what the schedule that knows typical durations is told.
type Typical struct{ P50, P90 time.Duration }

// Typical are the workload's true quantiles.
func (w Workload) Typical() Typical { return Typical{w.Quantile(0.5), w.Quantile(0.9)} }

// Deadline is how long a wait for such a job may last: four times what nine in ten need.
func (w Workload) Deadline() time.Duration { return 4 * w.Quantile(0.9) }

// Durations are those of n jobs, the same for every schedule.
func (w Workload) Durations(n int, seed uint64) []time.Duration {
	random := rand.New(rand.NewPCG(seed, 0x6a6f6273))
	durations := make([]time.Duration, n)
	for i := range durations {
		durations[i] = w.Quantile(random.Float64()).Round(time.Millisecond)
	}
	return durations
}

// z90 is the 90th percentile of the standard normal distribution.
const z90 = 1.2815515655446004

// LogNormal is the log-normal distribution with these quantiles.
func LogNormal(p50, p90 time.Duration) func(float64) time.Duration {
	sigma := math.Log(float64(p90)/float64(p50)) / z90
	return func(part float64) time.Duration {
		return time.Duration(float64(p50) * math.Exp(sigma*math.Sqrt2*math.Erfinv(2*part-1)))
	}
}

// LogUniform has logarithms that are spread evenly between those of the shortest and the longest.
func LogUniform(shortest, longest time.Duration) func(float64) time.Duration {
	span := math.Log(float64(longest) / float64(shortest))
	return func(part float64) time.Duration {
		return time.Duration(float64(shortest) * math.Exp(span*part))
	}
}

// Either is fast for the given share of the jobs, and slow for the others; every fast job is shorter than every slow one
// for the purpose of quantiles.
func Either(share float64, fast, slow func(float64) time.Duration) func(float64) time.Duration {
	return func(part float64) time.Duration {
		if part < share {
			return fast(part / share)
		}
		return slow((part - share) / (1 - share))
	}
}

// Constant is one duration for all.
func Constant(d time.Duration) func(float64) time.Duration {
	return func(float64) time.Duration { return d }
}

// Workloads are the compared kinds of jobs.
func Workloads() []Workload {
	const assumed = "assumed: log-normal"
	return []Workload{
		{"short export", assumed, LogNormal(40*time.Second, 3*time.Minute)},
		{"CI run", assumed, LogNormal(6*time.Minute, 20*time.Minute)},
		{"batch, published", "OpenRouter: median 7 min, 90 % within an hour; log-normal through both", LogNormal(7*time.Minute, time.Hour)},
		{"batch, slow", assumed, LogNormal(2*time.Hour, 10*time.Hour)},
		{"cluster job, published", "Downey: log-uniform, 6 s to 37 h", LogUniform(6*time.Second, 37*time.Hour)},
		{"fast or slow", "assumed: 70 % log-normal around 20 s, 30 % around 30 min", Either(
			0.7, LogNormal(20*time.Second, 40*time.Second), LogNormal(30*time.Minute, 45*time.Minute),
		)},
		{"nightly report", assumed, LogNormal(20*time.Minute, 24*time.Minute)},
		{"constant", "assumed", Constant(10*time.Minute + 17*time.Second)},
	}
}
