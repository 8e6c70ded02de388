package simulate

import (
	"math"
	"time"
)

// leastSigma is how certain an expectation is at most: even a constant duration has a start that is seen late.
const leastSigma = 0.03

// leastDelay keeps an unset Delay from asking for jobs of seconds more often than anybody needs.
const leastDelay = 10 * time.Second

// Expected is the proposed schedule that knows how long such jobs typically take.
//
// A wait that asks with the density n(t) sends the integral of n(t)*S(t) requests, where S is the part of the jobs that last
// longer than t, and sees an end of density f late by the integral of f(t)/(2*n(t)). The product is least where n is
// proportional to the root of f/S, the hazard: ask often when the job, if it has lasted so far, is likely to end now.
type Expected struct {
	Typical
	// Delay is the raw delay at the median duration, by which all others are scaled; 0: a tenth of the median, or less where
	// the durations are closer together, and at least 10 s.
	Delay time.Duration
	// Longest bounds every delay; 0: nothing does.
	Longest time.Duration
}

// Delays states the pauses, jittered as the core's are.
func (e Expected) Delays() Delays {
	pause := func(at At) time.Duration {
		raw := e.Raw(at.Age)
		return max(raw/2+time.Duration(at.Draw()*float64(raw-raw/2)), time.Second)
	}
	return Delays{First: pause, Pause: pause}
}

// Raw is the delay at an age of the wait, before jitter: the longest one that the hazard at its end allows, and never more
// than three times the age or the delay at the median, so that a job which ends unexpectedly early is not seen much too late.
func (e Expected) Raw(age time.Duration) time.Duration {
	short, long := time.Duration(0), max(3*age, e.delay()).Round(time.Second)
	if e.Longest > 0 {
		long = min(long, e.Longest)
	}
	if long <= e.allowed(age+long) {
		return long
	}
	for long-short > time.Second/2 {
		if middle := (short + long) / 2; middle <= e.allowed(age+middle) {
			short = middle
		} else {
			long = middle
		}
	}
	return long.Round(time.Second)
}

// allowed is the delay that suits the hazard at an age.
func (e Expected) allowed(age time.Duration) time.Duration {
	ratio := e.hazard(e.P50) / e.hazard(age)
	return time.Duration(float64(e.delay()) * math.Sqrt(min(ratio, 1e6)))
}

// hazard is that of the log-normal distribution through both quantiles, up to a constant factor.
func (e Expected) hazard(age time.Duration) float64 {
	z := math.Log(float64(age)/float64(e.P50)) / e.sigma()
	if z > 6 {
		return z / float64(age) // where the exact form is 0/0
	}
	return math.Exp(-z*z/2) / math.Sqrt(math.Pi/2) / (float64(age) * math.Erfc(z/math.Sqrt2))
}

func (e Expected) sigma() float64 {
	return max(math.Log(float64(e.P90)/float64(e.P50))/z90, leastSigma)
}

// delay is the one given, or an eighth of the time between the 10th and the 90th percentile, a tenth of the median at most.
func (e Expected) delay() time.Duration {
	if e.Delay > 0 {
		return e.Delay
	}
	p10 := float64(e.P50) * math.Exp(-z90*e.sigma())
	p90 := float64(e.P50) * math.Exp(z90*e.sigma())
	return max(min(e.P50/10, time.Duration(p90-p10)/8), leastDelay)
}
