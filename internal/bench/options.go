package bench

import (
	"fmt"
	"slices"
	"time"

	"github.com/jobwait/jobwait/internal/devserver"
)

// Phase is a part of a run.
type Phase string

// The phases, in their order.
const (
	PhaseCosts      Phase = "costs"      // events, bytes and actions of a poll
	PhaseSaturation Phase = "saturation" // polls a second, CPU of worker and server
	PhaseHalfLoad   Phase = "half-load"  // the same at half of that, and how late timers fire
	PhaseStarvation Phase = "starvation" // many new waits beside that
	PhaseMemory     Phase = "memory"     // resident memory of waits that wait
	PhaseReplay     Phase = "replay"     // how long replaying takes
)

// Phases are all of them.
func Phases() []Phase {
	return []Phase{PhaseCosts, PhaseSaturation, PhaseHalfLoad, PhaseStarvation, PhaseMemory, PhaseReplay}
}

// Options say how much is measured. Full and Short are the usual ones.
type Options struct {
	// Phases that run; the order does not matter.
	Phases []Phase
	// Rounds is how often both sides take their turn under load.
	Rounds int
	// Window is how long each turn is measured, after it has become steady.
	Window time.Duration
	// Busy is how many waits poll at the same time, a second and a half after their last answer on average, to saturate two cores.
	Busy int
	// NewWaits is how many waits are started at once beside half load.
	NewWaits int
	// Waiting are the numbers of waiting jobs at which memory is looked at, ascending.
	Waiting []int
	// DeepWaits is how many waits memory is looked at when each has asked DeepPolls times, every second.
	DeepWaits, DeepPolls int
	// Polls is how many polls the wait has that costs are counted of.
	Polls int
	// LongPolls is how many polls are replayed at most. Runs of that length take a second a poll to record.
	LongPolls int
	// Eager lets the server hand an activity out with the answer to the workflow task that asked for it. Servers of 1.29 do
	// that only when they are told to.
	Eager bool
	// Dir keeps logs and, with Profile, CPU profiles of the workers at saturation.
	Dir     string
	Profile bool
}

// Full is the measurement that the documentation shows; it takes about half an hour.
func Full() Options {
	return Options{
		Phases: Phases(), Rounds: 4, Window: 20 * time.Second, Busy: 300, NewWaits: 1000, Waiting: []int{1000, 10_000},
		DeepWaits: 50, DeepPolls: 100,
		Polls: 20, LongPolls: 1000,
	}
}

// Short counts what does not depend on the machine, in some seconds.
func Short() Options { return Options{Phases: []Phase{PhaseCosts}, Polls: 5} }

// Validate reports the first option that cannot be used.
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

// timerReads is how often a second the server reads its timers at most. Its own limit is 20 for each history shard, of which a
// development server has one: timers are then late long before the machine is full, and what is measured is the limit.
const timerReads = "history.timerProcessorMaxPollRPS=200"

func (o Options) server(executable devserver.Executable) devserver.Options {
	server := devserver.Options{Executable: executable, SearchAttributes: true, InMemory: true, DynamicConfig: []string{timerReads}}
	if o.Eager {
		server.DynamicConfig = append(server.DynamicConfig, "system.enableActivityEagerExecution=true")
	}
	return server
}
