package faults

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Fault is one thing that is done to a process at a time from the start of the run.
type Fault struct {
	At time.Duration
	Do Action
	// Worker is the place of the worker, for actions on workers.
	Worker int
	// Build is the binary that a worker is started from.
	Build Build
	// FullDisk makes a worker that is started write its log to a device without space.
	FullDisk bool
}

// Action is what a fault does.
type Action string

// The actions.
const (
	KillWorker    Action = "kill worker"    // SIGKILL
	StopWorker    Action = "stop worker"    // SIGTERM; it may finish its requests
	FreezeWorker  Action = "freeze worker"  // SIGSTOP
	ThawWorker    Action = "thaw worker"    // SIGCONT
	StartWorker   Action = "start worker"   // in place of one that was killed or stopped
	FinishUpgrade Action = "finish upgrade" // SIGTERM to every old worker, while a new one starts
	KillServer    Action = "kill server"    // SIGKILL
	StopServer    Action = "stop server"    // SIGINT
	StartServer   Action = "start server"   // at the same port, with the same file
	CrashDatabase Action = "crash database" // SIGQUIT, as pg_ctl stop -m immediate: the next start recovers
	KillDatabase  Action = "kill database"  // SIGKILL of its first process
	StartDatabase Action = "start database" // at the same port, with the same data
	StopProvider  Action = "stop provider"  // SIGTERM, so that its log is complete; open requests are cut off
	StartProvider Action = "start provider" // at the same address, with every job in the state that it was in
)

// FullLog is counted in addition to StartWorker if the worker's log is on a full disk.
const FullLog = "log on a full disk"

// Build is one of the two worker binaries.
type Build string

// The builds: before and after an upgrade.
const (
	Old Build = "old"
	New Build = "new"
)

// drawFaults draws a fault every 2 to 8 seconds, more often in short runs, until the last tenth of the run. Whatever is broken is
// repaired later.
func drawFaults(r *rand.Rand, options Options) []Fault {
	d := faultDraw{Rand: r, options: options, free: map[string]time.Duration{}}
	least, most := min(2*time.Second, options.For/16), min(8*time.Second, options.For/8)
	for at := 3 * time.Second; at < options.For*9/10; at += between(r, least, most) {
		d.one(at)
	}
	if options.Upgrades() {
		d.out = append(d.out, Fault{At: options.For * rolloutUntil / 10, Do: FinishUpgrade})
	}
	slices.SortStableFunc(d.out, func(a, b Fault) int { return int(a.At - b.At) })
	return d.out
}

// An upgrade is rolled out from the fourth to the sixth tenth of the run. Before that all workers are old, after it all are new.
const rolloutFrom, rolloutUntil = 4, 6

// build draws the binary of a worker. Without an upgrade both are used throughout.
func (d *faultDraw) build(at time.Duration) Build {
	drawn := []Build{Old, New}[d.IntN(2)]
	switch tenth := 10 * at / d.options.For; {
	case !d.options.Upgrades() || tenth >= rolloutFrom && tenth < rolloutUntil:
		return drawn
	case tenth < rolloutFrom:
		return Old
	default:
		return New
	}
}

// faultDraw draws faults. free is when each process may be broken again.
type faultDraw struct {
	*rand.Rand
	options Options
	free    map[string]time.Duration
	out     []Fault
}

func (d *faultDraw) one(at time.Duration) {
	worker := d.IntN(d.options.places())
	switch n := d.IntN(100); {
	case n < 35:
		d.worker(at, worker, KillWorker, between(d.Rand, 0, 6*time.Second))
	case n < 60:
		d.worker(at, worker, StopWorker, 0)
	case n < 70:
		d.freeze(at, worker)
	case n < 73:
		for each := range d.options.places() {
			d.worker(at, each, KillWorker, between(d.Rand, 5*time.Second, 12*time.Second))
		}
	case n < 81:
		d.outage(at, "server", KillServer, StartServer, 5*time.Second)
	case n < 84:
		d.outage(at, "server", StopServer, StartServer, 5*time.Second)
	case n < 92 && d.options.Cluster == ClusterPostgres:
		end := []Action{CrashDatabase, KillDatabase}[d.IntN(2)]
		d.outage(at, "server", end, StartDatabase, 5*time.Second) // without a database, the server would not start
	default:
		d.outage(at, "provider", StopProvider, StartProvider, 8*time.Second)
	}
}

// worker draws the end of a worker and the start of its replacement.
func (d *faultDraw) worker(at time.Duration, worker int, end Action, after time.Duration) {
	if !d.take(workerName(worker), at, at+after+3*time.Second) {
		return
	}
	replacement := Fault{At: at + after, Do: StartWorker, Worker: worker, Build: d.build(at + after), FullDisk: d.IntN(6) == 0}
	d.out = append(d.out, Fault{At: at, Do: end, Worker: worker}, replacement)
}

func (d *faultDraw) freeze(at time.Duration, worker int) {
	thaw := at + between(d.Rand, 2*time.Second, 12*time.Second)
	if d.take(workerName(worker), at, thaw+time.Second) {
		d.out = append(d.out, Fault{At: at, Do: FreezeWorker, Worker: worker}, Fault{At: thaw, Do: ThawWorker, Worker: worker})
	}
}

func (d *faultDraw) outage(at time.Duration, what string, end, begin Action, most time.Duration) {
	back := at + between(d.Rand, time.Second, most)
	if d.take(what, at, back+5*time.Second) {
		d.out = append(d.out, Fault{At: at, Do: end}, Fault{At: back, Do: begin})
	}
}

// take reserves a process for a time, unless it is broken already.
func (d *faultDraw) take(what string, from, until time.Duration) bool {
	if from < d.free[what] {
		return false
	}
	d.free[what] = until
	return true
}
