package operation

import (
	"math"
	"time"

	"github.com/jobwait/jobwait/wire"
)

const (
	// z90 is the 90th percentile of the standard normal distribution.
	z90 = 1.2815515655446004
	// leastSigma is how certain an expectation is at most: even a constant duration has a start that is seen late.
	leastSigma = 0.03
	// leastTypicalDelay keeps the delay around a short median from being shorter than anybody needs.
	leastTypicalDelay = 10
	// pastAge bounds a delay by the age of the job, so that one that ends much too early is not seen much too late.
	pastAge = 3
)

// ExpectedDelay returns the undrawn delay at an age of the job that its typical durations suggest: the longest whole number of
// seconds d that is at most three times the age (or the typical delay), at most the median (or max_delay), and at most
//
//	typical_delay * sqrt(h(p50) / h(age + d))
//
// where h is the hazard of the log-normal distribution through p50 and p90. A wait that asks with the density n sends the
// integral of n*S requests, where S is the part of the jobs that last longer, and sees an end of density f late by the
// integral of f/2n; the product is least where n goes with the root of f/S. Zero where nothing is expected.
//
// Whole seconds hide the last bits in which exponential functions may differ between processors: a replay has to come to
// the same delay.
func ExpectedDelay(pace wire.Pace, age time.Duration) time.Duration {
	if pace.ExpectedP50Seconds == 0 {
		return 0
	}
	law := lawOf(pace)
	since := max(age.Seconds(), 0)
	low, high := int64(0), law.longest(pace, since)
	if law.allows(since, high) {
		return seconds(high)
	}
	for high-low > 1 {
		if middle := (low + high) / 2; law.allows(since, middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return seconds(low)
}

// law is the distribution of durations that a wait expects, with the delay at its median.
type law struct{ median, sigma, delay float64 }

func lawOf(pace wire.Pace) law {
	return law{
		median: float64(pace.ExpectedP50Seconds), sigma: sigmaOf(pace.ExpectedP50Seconds, pace.ExpectedP90Seconds),
		delay: float64(pace.TypicalDelaySeconds),
	}
}

func sigmaOf(p50, p90 int) float64 {
	return max(math.Log(float64(p90)/float64(p50))/z90, leastSigma)
}

// longest bounds a delay at an age, whatever is expected.
func (l law) longest(pace wire.Pace, age float64) int64 {
	most := max(int64(pastAge*min(age, longestDelay.Seconds())), int64(pace.TypicalDelaySeconds))
	most = min(most, int64(max(pace.ExpectedP50Seconds, pace.MaxDelaySeconds)))
	if limit := int64(pace.CapSeconds); limit > 0 {
		most = min(most, limit)
	}
	return most
}

// allows reports whether the hazard at the end of a delay is low enough for it.
func (l law) allows(age float64, delay int64) bool {
	ratio := l.hazard(l.median) / l.hazard(age+float64(delay))
	return float64(delay) <= l.delay*math.Sqrt(min(ratio, 1e6))
}

// hazard is that of the log-normal distribution, up to a constant factor.
func (l law) hazard(age float64) float64 {
	z := math.Log(age/l.median) / l.sigma
	if z > 6 {
		return z / age // where the exact form is 0/0
	}
	return math.Exp(-z*z/2) / math.Sqrt(math.Pi/2) / (age * math.Erfc(z/math.Sqrt2))
}

// typicalDelay is the delay at the median: a tenth of it, or an eighth of the time between the 10th and the 90th percentile
// where that is less, at least 10 s, and never more than max_delay, which stays the length of a delay when the job is due.
func typicalDelay(p50, p90, maxDelay int) int {
	sigma := sigmaOf(p50, p90)
	between := float64(p50) * (math.Exp(z90*sigma) - math.Exp(-z90*sigma))
	return min(max(int(math.Round(min(float64(p50)/10, between/8))), leastTypicalDelay), maxDelay)
}
