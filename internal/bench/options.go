package bench

import (
	"fmt"
	"slices"
	"time"

	"github.com/jobwait/jobwait/internal/devserver"
)

// Phase is a part of a run.
type Phase string

// The phases, in the order in which they run.
const (
	PhaseCosts      Phase = "costs"      // events, bytes and actions of a poll
	PhaseSaturation Phase = "saturation" // polls per second, CPU of worker and server
	PhaseHalfLoad   Phase = "half-load"  // the same at half that load, and how late timers fire
	PhaseStarvation Phase = "starvation" // many new waits in addition to half load
	PhaseMemory     Phase = "memory"     // resident memory of sleeping waits
	PhaseReplay     Phase = "replay"     // duration of a replay
)

// Phases returns all phases.
func Phases() []Phase {
	return []Phase{PhaseCosts, PhaseSaturation, PhaseHalfLoad, PhaseStarvation, PhaseMemory, PhaseReplay}
}

// Options say what is measured, and for how long. Full and Short return the usual ones.
type Options struct {
	// Phases are the phases to run, in any order.
	Phases []Phase
	// Rounds is how often each side takes its turn under load.
	Rounds int
	// Window is how long each turn is measured, once its load is steady.
	Window time.Duration
	// Busy is how many waits poll at the same time, to saturate two cores; each pauses for a second and a half on average.
	Busy int
	// NewWaits is how many waits are started at once in addition to half load.
	NewWaits int
	// Waiting lists the numbers of waiting jobs at which memory is measured, ascending.
	Waiting []int
	// DeepWaits is the number of waits whose memory is measured after each has polled DeepPolls times, once a second.
	DeepWaits, DeepPolls int
	// Polls is the number of polls of the wait whose costs are counted.
	Polls int
	// LongPolls is the number of polls of the longest replay, at least 100. Recording it takes a second per poll.
	LongPolls int
	// Eager lets the server hand out an activity with the answer to the workflow task that scheduled it. Servers of 1.29 do so only if
	// configured to.
	Eager bool
	// Dir receives logs and, with Profile, CPU profiles of the workers at saturation.
	Dir     string
	Profile bool
}

// Full returns the options of the measurement in the documentation, which takes about half an hour.
func Full() Options {
	return Options{
		Phases: Phases(), Rounds: 4, Window: 20 * time.Second, Busy: 300, NewWaits: 1000, Waiting: []int{1000, 10_000},
		DeepWaits: 50, DeepPolls: 100,
		Polls: 20, LongPolls: 1000,
	}
}

// Short returns options that only count what does not depend on the machine, in a few seconds.
func Short() Options { return Options{Phases: []Phase{PhaseCosts}, Polls: 5} }

// Validate returns an error for the first option that cannot be used.
func (o Options) Validate() error {
	for _, phase := range o.Phases {
		if !slices.Contains(Phases(), phase) {
			return fmt.Errorf("bench: phase %q is none of %q", phase, Phases())
		}
	}
	loaded := o.runs(PhaseSaturation) || o.runs(PhaseHalfLoad) || o.runs(PhaseStarvation)
	switch {
	case len(o.Phases) == 0:
		return fmt.Errorf("bench: no phase is chosen; there are %q", Phases())
	case o.Dir == "":
		return fmt.Errorf("bench: no directory for logs is given")
	case o.runs(PhaseCosts) && o.Polls < 3:
		return fmt.Errorf("bench: %d polls tell nothing of one; give 3 or more", o.Polls)
	case loaded && (o.Rounds < 1 || o.Window < time.Second || o.Busy < 1):
		return fmt.Errorf("bench: %d rounds of %s with %d waits: each is at least 1", o.Rounds, o.Window, o.Busy)
	case o.runs(PhaseStarvation) && o.NewWaits < 1:
		return fmt.Errorf("bench: %d new waits; give 1 or more", o.NewWaits)
	case o.runs(PhaseMemory) && (len(o.Waiting) == 0 || !slices.IsSorted(o.Waiting) || o.Waiting[0] < 1):
		return fmt.Errorf("bench: memory at %d waiting jobs: give numbers above 0, ascending", o.Waiting)
	case o.runs(PhaseMemory) && (o.DeepWaits < 1 || o.DeepPolls < 1):
		return fmt.Errorf("bench: memory of %d waits after %d polls: each is at least 1", o.DeepWaits, o.DeepPolls)
	case o.runs(PhaseReplay) && o.LongPolls < 100:
		return fmt.Errorf("bench: replays of %d polls; give 100 or more", o.LongPolls)
	}
	return nil
}

func (o Options) runs(phase Phase) bool { return slices.Contains(o.Phases, phase) }

// timerReads is how often per second the server may read its timers. Its default is 20 for each history shard, and a development
// server has one shard: timers would be late long before the machine is busy, and the benchmark would measure that limit.
const timerReads = "history.timerProcessorMaxPollRPS=200"

func (o Options) server(executable devserver.Executable) devserver.Options {
	server := devserver.Options{Executable: executable, SearchAttributes: true, InMemory: true, DynamicConfig: []string{timerReads}}
	if o.Eager {
		server.DynamicConfig = append(server.DynamicConfig, "system.enableActivityEagerExecution=true")
	}
	return server
}
