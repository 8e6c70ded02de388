package simulate

import (
	"math/bits"
	"time"
)

// Fixed asks every interval, the first time after one interval.
func Fixed(interval time.Duration) Delays {
	always := func(At) time.Duration { return interval }
	return Delays{First: always, Pause: always}
}

// AWSWaiter is the AWS SDK for Go v2's waiter: it asks at once; the nth pause is drawn between the least delay and the least delay
// times 2^(n-1), and is the longest delay itself once the doubling has passed it. A pause that would leave no more than the
// least delay ends that much before the limit instead, for a last look. Retry-After is not read.
//
// Source: smithy-go, waiter/waiter.go, ComputeDelay.
func AWSWaiter(least, most time.Duration) Delays {
	doublings := bits.Len64(uint64(most/least)) - 1
	return Delays{Pause: func(at At) time.Duration {
		pause := most
		if n := at.Requests - 1; n <= doublings {
			pause = least << n
		}
		if pause > least {
			pause = least + time.Duration(at.Draw()*float64(pause-least))
		}
		if at.Left-pause <= least {
			pause = at.Left - least
		}
		if pause < 0 {
			return at.Left // the waiter gives up
		}
		return pause
	}}
}

// AzurePoller is azcore's PollUntilDone: it asks at once where the submission's answer had no Retry-After, then every
// frequency, and after exactly Retry-After where an answer has one.
//
// Source: azure-sdk-for-go, sdk/azcore/runtime/poller.go.
func AzurePoller(frequency time.Duration) Delays {
	return Delays{
		Pause: func(At) time.Duration { return frequency },
		Heeds: func(_ At, asked time.Duration) time.Duration { return asked },
	}
}

// StateChange is the waiting of Terraform's StateChangeConf: a first look after the delay, then pauses of 200 ms, 400 ms and so on
// up to 10 s, raised to the least time where there is one. A poll interval under three minutes replaces all of that.
//
// Source: terraform-plugin-sdk, helper/retry/state.go.
type StateChange struct {
	Delay, MinTimeout, PollInterval time.Duration
}

// Delays states the pauses.
func (s StateChange) Delays() Delays {
	return Delays{
		First: func(At) time.Duration { return s.Delay },
		Pause: func(at At) time.Duration {
			pause := 100 * time.Millisecond
			// From the eighth on they repeat: the same one, or two in turn where MinTimeout is above 10 s.
			for range min(at.Requests, 8+at.Requests%2) {
				pause = s.next(pause)
			}
			return pause
		},
	}
}

func (s StateChange) next(pause time.Duration) time.Duration {
	pause *= 2
	switch {
	case s.PollInterval > 0 && s.PollInterval < 3*time.Minute:
		return s.PollInterval
	case pause < s.MinTimeout:
		return s.MinTimeout
	default:
		return min(pause, 10*time.Second)
	}
}

// KubernetesPoll is wait.PollUntilContextTimeout with immediate false: a tick every interval, the time that a request takes
// included, so that only the rest of the interval is a pause.
//
// Source: k8s.io/apimachinery, pkg/util/wait/poll.go and loop.go.
func KubernetesPoll(interval, latency time.Duration) Delays {
	return Delays{
		First: func(At) time.Duration { return interval },
		Pause: func(At) time.Duration { return interval - latency },
	}
}

// KubernetesBackoff is wait.Backoff as its DelayFunc steps it: the nth pause is the duration times factor^(n-1) up to the
// cap, and a drawn part of up to jitter of it on top, at the cap as well.
//
// Source: k8s.io/apimachinery, pkg/util/wait/backoff.go.
type KubernetesBackoff struct {
	Duration, Cap  time.Duration
	Factor, Jitter float64
}

// Delays states the pauses; the first one comes before the first request.
func (k KubernetesBackoff) Delays() Delays {
	step := func(at At) time.Duration {
		duration := k.Duration
		for range at.Requests {
			duration = min(time.Duration(float64(duration)*k.Factor), k.Cap)
			if duration == k.Cap {
				break
			}
		}
		return duration + time.Duration(at.Draw()*k.Jitter*float64(duration))
	}
	return Delays{First: step, Pause: step}
}
