package simulate

import "time"

// Comparison says how one schedule did with the jobs of one workload.
type Comparison struct {
	Schedule string
	// Requests is the mean number of requests of a wait, those that found no end included.
	Requests float64
	// Lag is the time in seconds from the end of a job to the answer that told it; Relative is the same in parts of the
	// job's duration.
	Lag, Relative Spread
	// Unresolved is the part of the waits that reached the deadline first.
	Unresolved float64
	// Peak is the largest number of requests in one second, over all waits.
	Peak int
}

// Setting is what all schedules of a comparison share.
type Setting struct {
	Jobs int
	Seed uint64
	// Latency is the time from a request to its answer.
	Latency time.Duration
	// Window is the time over which the starts of the waits are spread.
	Window time.Duration
	Budget int
}

// Compare plays a fleet of one workload by one schedule.
func (s Setting) Compare(w Workload, schedule Schedule) Comparison {
	var load Load
	world := World{Latency: s.Latency, Sent: func(_ int, at time.Time) { load.Add(at) }}
	out, requests := Comparison{Schedule: schedule.Name}, 0
	var lags, relative []float64
	for i, duration := range w.Durations(s.Jobs, s.Seed) {
		wait := s.wait(w, i)
		jobEnd := wait.Start.Add(duration)
		seen := world.Play(schedule.Open(wait), wait.Start, jobEnd)
		requests += seen.Requests
		if seen.At.IsZero() {
			continue
		}
		lags = append(lags, seen.At.Sub(jobEnd).Seconds())
		relative = append(relative, float64(seen.At.Sub(jobEnd))/float64(duration))
	}
	out.Unresolved = 1 - float64(len(lags))/float64(s.Jobs)
	out.Requests = float64(requests) / float64(s.Jobs)
	out.Lag, out.Relative = spreadOf(lags), spreadOf(relative)
	out.Peak, _ = peakAndMean(load.perSecond)
	return out
}

// wait is the ith wait; starts are spread evenly and not drawn, so that the peak is the schedule's own.
func (s Setting) wait(w Workload, i int) Wait {
	start := epoch.Add(s.Window * time.Duration(i) / time.Duration(s.Jobs)).Truncate(time.Millisecond)
	return Wait{Seed: s.Seed, Index: i, Start: start, Deadline: start.Add(w.Deadline()), Budget: s.Budget}
}
