package simulate

import (
	"fmt"
	"time"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

const latency = 200 * time.Millisecond

// Others are the compared schedules of other libraries, with their defaults where they have any.
func Others() []Schedule {
	return []Schedule{
		AWSWaiter(15*time.Second, 2*time.Minute).Named("AWS waiter, 15 to 120 s"),
		AzurePoller(30 * time.Second).Named("azcore poller, 30 s"),
		StateChange{}.Delays().Named("Terraform StateChangeConf, to 10 s"),
		KubernetesPoll(10*time.Second, latency).Named("Kubernetes poll, 10 s"),
		KubernetesBackoff{Duration: 5 * time.Second, Factor: 2, Jitter: 0.1, Cap: 2 * time.Minute}.Delays().Named("Kubernetes Backoff, 5 to 120 s"),
		Fixed(5 * time.Second).Named("fixed, 5 s"),
		Fixed(30 * time.Second).Named("fixed, 30 s"),
		Fixed(time.Minute).Named("fixed, 60 s"),
	}
}

// Ours are the core with its defaults, and the same told how long the jobs of a workload take.
func Ours(w Workload) []Schedule {
	return []Schedule{
		Core("jobwait, 5 to 120 s", Backoff(operation.DefaultBaseDelaySeconds, operation.DefaultMaxDelaySeconds)),
		Core("jobwait, knows p50 and p90", Knowing(operation.DefaultBaseDelaySeconds, operation.DefaultMaxDelaySeconds, w.Typical())),
	}
}

// Fleets are the fleets that start in the same second, and those that they are held against.
func Fleets() []Fleet {
	var fleets []Fleet
	for _, interval := range []int{2, 5, 30, 120} {
		fleets = append(fleets, Started(interval), Independent(interval))
	}
	thirty := Plain{Base: 30 * time.Second, Max: 30 * time.Second, FirstSpread: 1}
	half := thirty
	half.FirstSpread = 0.5
	apart := AlwaysThrottled("the same, started independently", CoreAt(30))
	apart.Spread = looked * apart.Interval
	return append(
		fleets,
		AfterOutage(5), AfterOutage(30),
		throttled("Retry-After of 60 s, first answer", CoreAt(30), once),
		throttled("Retry-After of 60 s, first answer; initial delay 0", coreAtOnce(), once),
		throttled("the same, first one spread by all of it", proposedAtOnce(), once),
		AlwaysThrottled("Retry-After of 60 s, every answer", CoreAt(30)),
		apart,
		AlwaysThrottled("the same, first one spread by half of it", half.Delays().Named("half")),
		AlwaysThrottled("the same, first one spread by all of it", thirty.Delays().Named("proposed")),
		withMinimum("minimum 7 s, base and max 5 s", Core("core", wire.Schedule{BaseDelaySeconds: new(5), MaxDelaySeconds: new(5), MinDelaySeconds: new(7)})),
		withMinimum("the same, jitter cut off by the minimum", Plain{
			Base: 5 * time.Second, Max: 5 * time.Second, Min: 7 * time.Second, CutJitter: true,
		}.Delays().Named("before")),
	)
}

// CoreAt is the core with one interval.
func CoreAt(seconds int) Schedule {
	return Core(fmt.Sprintf("jobwait, %d s", seconds), Backoff(seconds, seconds))
}

func coreAtOnce() Schedule {
	return Core("jobwait, 30 s, at once", wire.Schedule{
		InitialDelaySeconds: new(0), BaseDelaySeconds: new(30), MaxDelaySeconds: new(30),
	})
}

func proposedAtOnce() Schedule {
	delays := Plain{Base: 30 * time.Second, Max: 30 * time.Second, FirstSpread: 1}.Delays()
	delays.First = nil
	return delays.Named("proposed")
}

// Started is a fleet of the core's with one interval.
func Started(seconds int) Fleet {
	return Fleet{
		Name: fmt.Sprintf("started together, %d s", seconds), Schedule: CoreAt(seconds),
		Interval: time.Duration(seconds) * time.Second, World: World{Latency: latency},
	}
}

// Independent is the same fleet with starts that have nothing to do with each other: what chance alone does.
func Independent(seconds int) Fleet {
	fleet := Started(seconds)
	fleet.Name = fmt.Sprintf("started independently, %d s", seconds)
	fleet.Spread = looked * fleet.Interval
	return fleet
}

// AfterOutage is the same fleet, whose workers are gone for ten minutes after ten intervals.
func AfterOutage(seconds int) Fleet {
	fleet := Started(seconds)
	fleet.Name = fmt.Sprintf("after 10 min without workers, %d s", seconds)
	from := epoch.Add(10 * fleet.Interval)
	fleet.World.Down = []Span{{from, from.Add(10 * time.Minute)}}
	fleet.From = 10*fleet.Interval + 10*time.Minute
	return fleet
}

func once(n int, _ time.Time) time.Duration {
	if n == 1 {
		return time.Minute
	}
	return 0
}

func throttled(name string, schedule Schedule, retryAfter func(int, time.Time) time.Duration) Fleet {
	return Fleet{
		Name: name, Schedule: schedule, Interval: 30 * time.Second,
		World: World{Latency: latency, RetryAfter: retryAfter},
	}
}

// AlwaysThrottled is a fleet that is told to stay away for a minute by every answer.
func AlwaysThrottled(name string, schedule Schedule) Fleet {
	fleet := throttled(name, schedule, func(int, time.Time) time.Duration { return time.Minute })
	fleet.Interval = time.Minute
	return fleet
}

func withMinimum(name string, schedule Schedule) Fleet {
	return Fleet{Name: name, Schedule: schedule, Interval: 7 * time.Second, World: World{Latency: latency}}
}
